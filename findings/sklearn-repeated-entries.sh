#!/usr/bin/env bash
# Texts as a sparse matrix of counts, made as SciPy's documentation of csr_array does it, where a word that comes twice in a text is stored as two
# entries of 1 ("duplicate entries are summed together"); so are graphs with repeated edges. Expected: scikit-learn computes the same from this
# matrix as from the same one after sum_duplicates, as SciPy does, or refuses it. Seen (scikit-learn 1.9.1, SciPy 1.17.1):
#   normalize, TfidfTransformer        rows of length 1.41 in place of 1
#   cosine_similarity                  2 for a text with itself
#   euclidean_distances, neighbours    other distances, and so other kernels (rbf)
#   binarize, StandardScaler           other values
#   Lasso                              coefficients of 1e100 and more, or NaN; it warns that it has not converged
#   LogisticRegression, Ridge, MaxAbsScaler, manhattan_distances are right
# Each goes over the entries as if they were the cells of the matrix. Nothing but the Lasso says a word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
cat >texts.py <<'P'
import numpy as np
import scipy
import scipy.sparse
import sklearn
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, manhattan_distances, rbf_kernel
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, binarize, normalize

texts = ['b b c', 'a a', 'd', 'e f', 'e', 'a a']
classes = np.array([0, 1, 0, 1, 0, 1])


def counts():
    starts, columns = [0], []
    for text in texts:
        columns += ['abcdef'.index(word) for word in text.split()]
        starts.append(len(columns))
    return scipy.sparse.csr_array((np.ones(len(columns)), np.array(columns, np.int32), np.array(starts, np.int32)), shape=(6, 6))


repeated, summed = counts(), counts()
summed.sum_duplicates()
print('scikit-learn', sklearn.__version__, 'SciPy', scipy.__version__, 'entries', repeated.nnz, 'and', summed.nnz,
      'equal matrices' if np.array_equal(repeated.toarray(), summed.toarray()) else 'other matrices')
steps = {
    'SciPy itself: squares': lambda m: m.multiply(m),
    'normalize': normalize,
    'TfidfTransformer': TfidfTransformer().fit_transform,
    'cosine_similarity': cosine_similarity,
    'euclidean_distances': euclidean_distances,
    'NearestNeighbors': lambda m: NearestNeighbors(n_neighbors=3).fit(m).kneighbors(m)[0],
    'rbf_kernel': rbf_kernel,
    'binarize': lambda m: binarize(m, threshold=1.5),
    'StandardScaler': StandardScaler(with_mean=False).fit_transform,
    'Lasso': lambda m: Lasso(alpha=0.01).fit(m, classes).coef_,
    'LogisticRegression': lambda m: LogisticRegression().fit(m, classes).coef_,
    'Ridge': lambda m: Ridge().fit(m, classes).coef_,
    'MaxAbsScaler': MaxAbsScaler().fit_transform,
    'manhattan_distances': manhattan_distances,
}
for name, step in steps.items():
    both = []
    for matrix in repeated, summed:
        result = step(matrix.copy())
        both.append(result.toarray() if scipy.sparse.issparse(result) else np.asarray(result))
    same = np.allclose(*both, rtol=1e-4, atol=1e-6)
    print(name + ':', 'the same' if same else 'other, at most %.4g in place of %.4g' % tuple(np.abs(x).max() for x in both))
P
venv/bin/python texts.py 2>/dev/null | tee said
expect() { grep -qE "^$1\$" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "scikit-learn 1.9.1 SciPy 1.17.1 entries 11 and 8 equal matrices"
for name in normalize TfidfTransformer; do expect "$name: other, at most 1.414 in place of 1"; done
expect "cosine_similarity: other, at most 2 in place of 1"
expect "euclidean_distances: other, .*"
expect "NearestNeighbors: other, .*"
expect "binarize: other, at most 0 in place of 1"
expect "StandardScaler: other, .*"
expect "Lasso: other, at most ([0-9.]*e\+[0-9]{2,}|nan|inf) in place of 0\.[0-9]*"
for name in "SciPy itself: squares" LogisticRegression Ridge MaxAbsScaler manhattan_distances; do expect "$name: the same"; done
echo "as described at the top of this file"
