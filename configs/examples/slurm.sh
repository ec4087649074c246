#!/usr/bin/env bash
# A job of N processes as two Slurm arrays and a merge that waits for them:
#
#   N=64 LOGS=/data/logs OUT=/data/report configs/examples/slurm.sh
#
# The steps are one script, which sbatch is given three times. /data must be the
# same file system on all nodes. A process that fails is put into the queue again, takes
# its own place, and doubles nothing.
#SBATCH --job-name=iopathy
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=2G
#SBATCH --requeue
set -euo pipefail

N=${N:-8}
LOGS=${LOGS:-/data/logs}
OUT=${OUT:-/data/report}
PARTS=${PARTS:-$OUT.parts}
export N LOGS OUT PARTS

parts=()
for ((i = 0; i < N; i++)); do parts+=("$PARTS/part-$i"); done

case "${1:-submit}" in
submit)
	read=$(sbatch --parsable --array=0-$((N - 1)) "$0" read)
	fold=$(sbatch --parsable --array=0-$((N - 1)) --dependency=afterok:"$read" "$0" fold)
	sbatch --dependency=afterok:"$fold" "$0" merge
	;;
read) iopathy run "$LOGS" --shard "$SLURM_ARRAY_TASK_ID/$N" --out "$PARTS/part-$SLURM_ARRAY_TASK_ID" ;;
fold) iopathy features "${parts[@]}" --shard "$SLURM_ARRAY_TASK_ID/$N" ;;
merge) iopathy merge "${parts[@]}" --out "$OUT" ;;
*)
	echo "$0: $1 is none of read, fold, merge" >&2
	exit 2
	;;
esac
