"""The figures that umap_test.go holds its map against: trustworthiness by
scikit-learn of the first two coordinates and of its TSNE's map, on the rows of
mapBlobs(400); and of umap-learn's map where that is installed.
"""

import numpy as np
import sklearn
from sklearn.manifold import TSNE, trustworthiness

N, D, K = 400, 12, 15
rows, x = np.empty((N, D)), 12345
for i in range(N):
    for k in range(D):
        x = (1103515245 * x + 12345) % (1 << 31)
        rows[i, k] = (x / (1 << 31) - 0.5) / 2
    rows[i, i % 8] += 2
print("scikit-learn", sklearn.__version__, "first two:", float(trustworthiness(rows, rows[:, :2], n_neighbors=K)))
print("TSNE, seed 0:", float(trustworthiness(rows, TSNE(random_state=0).fit_transform(rows), n_neighbors=K)))
try:
    import umap
except ImportError:
    raise SystemExit
for seed in range(3):
    at = umap.UMAP(n_neighbors=K, n_epochs=200, random_state=seed).fit_transform(rows)
    print("umap-learn", umap.__version__, "seed", seed, float(trustworthiness(rows, at, n_neighbors=K)))
