"""CPU seconds and peak memory of iopathy's linkage against scikit-learn's, on
the same points in the same run.

    go test -c -o linkage.test ./cluster
    python3 cluster/testdata/linkage/peer.py ./linkage.test

Both are measured as processes, start included; what Python takes to start with
its imports stands beside it. The points are those of BenchmarkLinkage: the
generator of the tests, around 8 axes in 12 coordinates.
"""

import os
import subprocess
import sys

POINTS, DIMS = 20000, 12


def points():
    import numpy as np

    rows, x = np.empty((POINTS, DIMS)), 12345
    for i in range(POINTS):
        for k in range(DIMS):
            x = (1103515245 * x + 12345) % (1 << 31)
            rows[i, k] = x / (1 << 31) - 0.5 + (k == i % 8)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def measure(command):
    """CPU seconds, peak MiB and output of a child. This process stays small:
    a child's peak is at least its parent's when it starts."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command}: status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said.strip()


def main():
    if sys.argv[1] == "start":
        import sklearn.cluster

        points()
        print(sklearn.__version__)
        return
    if sys.argv[1] == "fit":
        from sklearn.cluster import AgglomerativeClustering

        AgglomerativeClustering(n_clusters=8, metric="cosine", linkage="average").fit(points())
        return

    def ours(what):
        return [sys.argv[1], "-test.run=^$", "-test.benchtime=1x", "-test.bench=" + what]

    peer, peer_mib, _ = measure([sys.executable, __file__, "fit"])
    start, start_mib, version = measure([sys.executable, __file__, "start"])
    peer -= start
    print(f"scikit-learn {version}, {POINTS} points: {peer:.2f} CPU s, {peer_mib:.0f} MiB (beside Python's start with the points: {start:.2f} s, {start_mib:.0f} MiB)")
    for what, name in [
        ("20,000 points", f"Linkage/points={POINTS}/dims={DIMS}$"),
        ("100,000 points", f"Linkage/points=100000/dims={DIMS}$"),
        ("1,000,000 points by representatives", "Representatives"),
    ]:
        cpu, mib, _ = measure(ours(name))
        print(f"iopathy, {what}: {cpu:.2f} CPU s, {mib:.0f} MiB; scikit-learn's over it {peer / cpu:.1f}")


main()
