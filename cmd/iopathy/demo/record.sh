#!/usr/bin/env bash
# Repeats the demo's recording: six loop devices, about a minute, two faults that begin at half time.
#
#   sudo ./record.sh OUTDIR [WORKDIR]
#
# OUTDIR receives recording.blkparse.txt.zst, devices.txt, inventory.csv, truth.csv and start_ns.txt. WORKDIR (default: a
# new folder under /var/tmp) holds 4.3 GiB of backing files while it runs, and should be on ext4 or xfs on a real disk.
#
# Needs Linux 5.15 or newer, root, bash 5, util-linux, e2fsprogs, fio with libaio, zstd, and the "blk" tracer of tracefs
# (CONFIG_BLK_DEV_IO_TRACE). The kernel prints the events itself, with the command names that it saved, and awk puts them
# into the columns of blkparse; so neither blktrace nor debugfs is needed, and a locked-down kernel does too.
set -euo pipefail

out=${1:?usage: record.sh OUTDIR [WORKDIR]}
work=${2:-$(mktemp -d /var/tmp/iopathy-demo.XXXXXX)}
seconds=60      # length of the recording, a multiple of the window
half=30         # the faults begin here
window=10       # the recording begins on a border of the window grid
mkdir -p "$out" "$work"

tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs nodev $tracing
grep -qw blk $tracing/available_tracers || { echo "record.sh: this kernel has no blk tracer" >&2; exit 1; }
[ "$(cat $tracing/current_tracer)" = nop ] || { echo "record.sh: $tracing is in use" >&2; exit 1; }

buffer=$(cut -d' ' -f1 $tracing/buffer_size_kb) cmdlines=$(cat $tracing/saved_cmdlines_size)
loops=() jobs_started=() cgroup=
cleanup() {
	set +e
	kill "${jobs_started[@]}" 2>/dev/null
	wait 2>/dev/null
	for dev in "${loops[@]}"; do echo 0 >"/sys/block/${dev#/dev/}/trace/enable"; done 2>/dev/null
	echo 0 >$tracing/options/blk_classic
	echo nop >$tracing/current_tracer
	echo local >$tracing/trace_clock
	echo >$tracing/trace
	echo "$buffer" >$tracing/buffer_size_kb
	echo "$cmdlines" >$tracing/saved_cmdlines_size
	umount "$work"/mnt-* 2>/dev/null
	for dev in "${loops[@]}"; do losetup -d "$dev"; done
	rm -rf "$work"/disk-* "$work"/mnt-* "$work"/bin "$work"/trace.txt "$work"/here
	[ -n "$cgroup" ] && rmdir "$cgroup"
	rmdir "$work" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# ---- devices: direct I/O on written files, so that reads reach the disk below
attach() { # name, MiB
	dd if=/dev/zero of="$work/disk-$1" bs=1M count="$2" status=none conv=fsync
	local dev
	dev=$(losetup --show -f --direct-io=on "$work/disk-$1")
	loops+=("$dev")
	eval "$1=$dev"
}
attach db 384         # random reads
attach scan 384       # a paced sequential scan
attach mail 256       # ext4: reads, writes, an fsync now and then
attach idle 128       # ext4: near idle
attach backup 2048    # FAULT 1: a stream under a ceiling that comes down
attach train 1024     # FAULT 2: bursts begin
for name in mail idle; do
	mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 "${!name}"
	mkdir -p "$work/mnt-$name"
	mount -o noatime "${!name}" "$work/mnt-$name"
done
dd if=/dev/urandom of="$work/mnt-idle/state" bs=1M count=32 status=none conv=fsync
mount -o remount,ro "$work/mnt-idle"

# ---- the ceiling: a block-cgroup limit on the disk below, for the stream's cgroup alone. The loop driver does its I/O
# in the name of the cgroup that asked, so the wait shows inside the loop device's requests, as behind a slow link.
disk=$(lsblk -no MAJ:MIN --nodeps "$(df --output=source "$work" | tail -1)" | tr -d ' ')
if [ -e "/sys/dev/block/$disk/partition" ]; then disk=$(cat "/sys/dev/block/$disk/../dev"); fi
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	cgroup=/sys/fs/cgroup/iopathy-demo
	echo +io >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p "$cgroup"
	ceiling() { echo "$disk rbps=$1" >"$cgroup/io.max"; }
else
	cgroup=/sys/fs/cgroup/blkio/iopathy-demo
	mkdir -p "$cgroup"
	ceiling() { echo "$disk $1" >"$cgroup/blkio.throttle.read_bps_device"; }
fi
ceiling $((400 * 1000 * 1000))

# ---- programs: fio under the names of the work it plays
mkdir -p "$work/bin" "$work/here"
load() { # command name, fio arguments
	local comm=$1
	shift
	ln -sf "$(command -v fio)" "$work/bin/$comm"
	(cd "$work/here" && exec "$work/bin/$comm" --name="$comm" --ioengine=libaio --direct=1 --time_based \
		--randseed=7 --output=/dev/null --thread=0 "$@") &
	jobs_started+=($!)
}
lead=8 # seconds the loads run before the recording begins

# ---- the tracer, with a clock in ns and room for all events, so that nothing is read while it records
echo 8192 >$tracing/saved_cmdlines_size
echo mono >$tracing/trace_clock
echo 65536 >$tracing/buffer_size_kb
echo blk >$tracing/current_tracer

now=$(date +%s)
start=$(((now + lead + window) / window * window))
at() { # sleep until second $1 of the recording
	local us=$(((start + $1) * 1000000 - ${EPOCHREALTIME/./}))
	[ $us -le 0 ] || sleep "$(printf '%d.%06d' $((us / 1000000)) $((us % 1000000)))"
}
at -$lead

run=$((lead + seconds + 1))
load postgres --filename="$db" --rw=randread --bs=8k --iodepth=2 --rate_iops=30 --rate_process=poisson --runtime=$run
load scanner --filename="$scan" --rw=read --bs=128k --iodepth=1 --rate_iops=25 --runtime=$run
load imapd --directory="$work/mnt-mail" --size=96m --rw=randrw --rwmixread=70 --bs=16k --iodepth=1 --rate_iops=16,8 \
	--fsync=60 --runtime=$run
( # a small program: one small read now and then, spread over a file
	cd "$work/here"
	for ((i = 0; ; i = (i + 997) % 4096)); do
		dd if="$work/mnt-idle/state" of=/dev/null bs=8k count=1 skip=$i iflag=direct status=none || exit 0
		sleep 0.7
	done
) &
jobs_started+=($!)
( # the stream asks for 30 MiB/s all the time; 32 requests of 512 KiB outstanding at most
	echo $BASHPID >"$cgroup/cgroup.procs"
	ln -sf "$(command -v fio)" "$work/bin/backup"
	cd "$work/here" && exec "$work/bin/backup" --name=backup --ioengine=libaio --direct=1 --time_based --output=/dev/null \
		--filename="$backup" --rw=read --bs=512k --iodepth=32 --rate=30m --runtime=$run
) &
jobs_started+=($!)
load dataloader --filename="$train" --rw=randread --bs=16k --iodepth=1 --rate_iops=20 --runtime=$((lead + half))

at -1
for dev in "${loops[@]}"; do
	echo 1 >"/sys/block/${dev#/dev/}/trace/enable"
done
at 0
echo "anchor ${EPOCHREALTIME/./}000" >$tracing/trace_marker
at $half
ceiling $((20 * 1024 * 1024))
load dataloader --filename="$train" --rw=randread --bs=128k --iodepth=128 --iodepth_batch_submit=128 \
	--iodepth_batch_complete_min=128 --thinktime=970ms --thinktime_blocks=128 --runtime=$((seconds - half + 1))
at $((seconds - 1)) # the loads end and drain just before the recording does
sleep 0.7
kill "${jobs_started[@]}" 2>/dev/null || :
at $seconds
for dev in "${loops[@]}"; do echo 0 >"/sys/block/${dev#/dev/}/trace/enable"; done
grep 'tracing_mark_write: anchor' $tracing/trace >"$work/trace.txt"
echo 1 >$tracing/options/blk_classic
cat $tracing/trace >>"$work/trace.txt"
for cpu in $tracing/per_cpu/cpu*; do grep -H overrun "$cpu/stats" | sed "s|$tracing/per_cpu/||" >&2; done

# ---- to blkparse's columns, second 0 being $start. A per-CPU sequence number as blkparse prints it; requests that were
# queued before second 0 keep their completion alone, as in any recording.
awk -v start="$start" -v seconds=$seconds '
	/^ .*tracing_mark_write: anchor/ {
		split($(NF - 3), t, /[.:]/); us = t[1] * 1000000 + t[2]
		off_us = us - ($NF / 1000 - start * 1000000)
		next
	}
	$1 ~ /^[0-9]+,[0-9]+$/ || $1 ~ /^[0-9]+,$/ { line[n++] = $0 }
	END {
		if (!off_us) { print "record.sh: no anchor in the trace" > "/dev/stderr"; exit 1 }
		off_s = int(off_us / 1000000); off_ns = (off_us % 1000000) * 1000
		for (i = 0; i < n; i++) {
			s = line[i]
			sub(/^ *[0-9]+, *[0-9]+ +/, "", s)
			dev = substr(line[i], 1, length(line[i]) - length(s)); gsub(/ /, "", dev)
			split(s, f, / +/); split(f[2], t, ".")
			sec = t[1] - off_s; ns = t[2] - off_ns
			if (ns < 0) { ns += 1000000000; sec-- }
			if (sec < 0 || sec >= seconds) continue
			tail = s; sub(/^ *[0-9]+ +[0-9.]+ +[0-9]+ +[A-Z]+ +[A-Z]+ /, "", tail)
			split(dev, d, ",")
			printf "%3d,%-3d %2d %8d %5d.%09d %5d %2s %3s %s\n", d[1], d[2], f[1], ++seq[f[1]], sec, ns, f[3], f[4], f[5], tail
		}
	}' "$work/trace.txt" >"$work/here/recording.txt"
zstd -q -19 -f -o "$out/recording.blkparse.txt.zst" "$work/here/recording.txt"

# ---- what was recorded
host=demo
cat /proc/partitions | awk -v l="${loops[*]}" 'BEGIN { n = split(l, a, " "); for (i = 1; i <= n; i++) { sub("/dev/", "", a[i]); keep[a[i]] = 1 } }
	NR <= 2 || $4 in keep' >"$out/devices.txt"
echo "${start}000000000" >"$out/start_ns.txt"
{
	echo host,device,model,rotational
	for dev in "${loops[@]}"; do echo "$host,${dev#/dev/},LOOP-EXT4,0"; done
} >"$out/inventory.csv"
row() { echo "$host,${1#/dev/},$2,$3,$4,$5"; }
{
	echo host,device,label,fault_start_ns,fault_end_ns,what
	row "$db" healthy "" "" "random 8 KiB reads at 30 a second"
	row "$scan" healthy "" "" "a paced sequential scan of 128 KiB reads"
	row "$mail" healthy "" "" "reads and writes on ext4 with an fsync now and then"
	row "$idle" healthy "" "" "ext4 near idle: one 8 KiB read every 0.7 s"
	row "$backup" bandwidth-saturation "$((start + half))000000000" "$((start + seconds))000000000" \
		"a sequential stream of 30 MiB/s under a block-cgroup limit that comes down to 20 MiB/s"
	row "$train" burst-congestion "$((start + half))000000000" "$((start + seconds))000000000" \
		"128 random reads at once about every second"
} >"$out/truth.csv"
ls -l "$out" >&2
