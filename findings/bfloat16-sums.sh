#!/usr/bin/env bash
# A thousand ones in bfloat16 added by functions of JAX and NumPy, on the processor. Expected: 1,000, or nearly, from all functions of a library, as
# sums of 16-bit numbers are usually kept in float32. Seen (JAX 0.10.2, NumPy 2.4.6 with ml_dtypes 0.6.0): in JAX sum, mean, cumsum and dot give
# 1,000, and everything that adds by index stops at 256, where one more is rounded away: segment_sum, x.at[i].add, and a
# sparse matrix (BCOO, BCSR) times a vector, which is 256 where the same matrix in dense form gives 1,000. So is the gradient of a row of a
# table that a batch reads a thousand times, such as the embedding of a frequent word. In float16 they stop at 2,048.
# NumPy has no such sum in float32 for bfloat16 at all: the mean of the ones is 0.26 and their standard deviation 0.5 in place of 0, and that
# of 100,000 normal numbers is 0.2 in place of 1, so that a look at the weights of a model shows wrong numbers. In float16 the mean is
# right, and the standard deviation of the normal numbers is infinite; of this alone NumPy warns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 ml_dtypes==0.6.0
cat >add.py <<'P'
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.experimental import sparse

def jax_sums(kind, n):
    ones, row = jnp.ones(n, kind), jnp.zeros(n, int)
    dense = ones[None, :]
    return dict(sum=ones.sum(), mean=ones.mean() * n, cumsum=jnp.cumsum(ones)[-1], dense=(dense @ ones)[0],
                sparse=(sparse.BCOO.fromdense(dense) @ ones)[0], rows=(sparse.BCSR.fromdense(dense) @ ones)[0],
                segment_sum=jax.ops.segment_sum(ones, row, 1)[0], add=jnp.zeros(1, kind).at[row].add(ones)[0],
                gradient=jax.grad(lambda table: table[row].sum().astype(jnp.float32))(jnp.zeros(1, kind))[0])

print('JAX', jax.__version__, 'NumPy', np.__version__, 'ml_dtypes', ml_dtypes.__version__)
for kind, n in (jnp.bfloat16, 1000), (jnp.float16, 5000):
    print('JAX', kind.__name__, n, *(f'{name} {float(value):.0f}' for name, value in jax_sums(kind, n).items()))
normal = np.random.default_rng(0).standard_normal(100000)
for kind in ml_dtypes.bfloat16, np.float16:
    ones = np.ones(1000, kind)
    print('NumPy', kind.__name__, 'sum', float(ones.sum()), 'mean', round(float(ones.mean()), 2), 'deviation', round(float(ones.std()), 2),
          'of normal numbers', round(float(normal.astype(kind).std()), 1), 'in float32', round(float(normal.astype(kind).astype(np.float32).std()), 1))
P
JAX_PLATFORMS=cpu v/bin/python add.py 2>warnings | tee said
grep -o 'RuntimeWarning: .*' warnings
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
by_index() { echo "sparse $1 rows $1 segment_sum $1 add $1 gradient $1"; }
expect "JAX bfloat16 1000 sum 1000 mean 1000 cumsum 1000 dense 1000 $(by_index 256)"
expect "JAX float16 5000 sum 5000 mean 5000 cumsum 5000 dense 5000 $(by_index 2048)"
expect "NumPy bfloat16 sum 256.0 mean 0.26 deviation 0.5 of normal numbers 0.2 in float32 1.0"
expect "NumPy float16 sum 1000.0 mean 1.0 deviation 0.0 of normal numbers inf in float32 1.0"
echo "as described at the top of this file"
