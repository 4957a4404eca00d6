#!/usr/bin/env bash
# A row of a table in bfloat16 that a batch reads a thousand times, as the embedding of a frequent word or a node with many edges, on the
# processor. Its gradient is a sum of a thousand ones. Expected: one result, whichever function of PyTorch reads the rows. Seen (PyTorch 2.15.0):
#   table[ids], F.embedding, F.embedding_bag           256: the sum is kept in bfloat16, where 256 and one are 256
#   table.index_select(0, ids), table.gather(0, ..)    1,000
# It goes on like that forward: index_add_ gives 1,000 for a tensor of one column and 256 for the same numbers without the column, index_put_
# and a sparse COO matrix 256, scatter_add_ and torch.sparse.mm of a CSR matrix 1,000. Nothing is said, and in float32 all of them agree. Two
# programs that differ in table[ids] and index_select alone do not train alike: one cuts off what is frequent.
# (This installs PyTorch from PyPI with all that it requires for CUDA: six gigabytes.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install torch==2.15.0 numpy==2.4.6
cat >show.py <<'P'
import torch
import torch.nn.functional as F

print('PyTorch', torch.__version__.split('+')[0])
n = 1000
ids = torch.zeros(n, dtype=torch.long)
for kind in torch.bfloat16, torch.float32:
    ones, column = torch.ones(n, dtype=kind), torch.ones(n, 1, dtype=kind)
    def gradient(read):
        table = torch.ones(3, 8, dtype=kind, requires_grad=True)
        read(table).float().sum().backward()
        return table.grad[0, 0]
    sparse = torch.sparse_coo_tensor(torch.stack([ids, torch.arange(n)]), ones, (1, n))
    sums = {
        'table[ids]': gradient(lambda table: table[ids]),
        'embedding': gradient(lambda table: F.embedding(ids, table)),
        'embedding_bag': gradient(lambda table: F.embedding_bag(ids[None], table, mode='sum')),
        'index_select': gradient(lambda table: table.index_select(0, ids)),
        'gather': gradient(lambda table: table.gather(0, ids[:, None].expand(n, 8))),
        'index_add': torch.zeros(3, dtype=kind).index_add_(0, ids, ones)[0],
        'index_add of a column': torch.zeros(3, 1, dtype=kind).index_add_(0, ids, column)[0, 0],
        'index_put': torch.zeros(3, 1, dtype=kind).index_put_((ids,), column, accumulate=True)[0, 0],
        'scatter_add': torch.zeros(3, dtype=kind).scatter_add_(0, ids, ones)[0],
        'COO': (sparse @ column)[0, 0],
        'CSR': torch.sparse.mm(sparse.to_sparse_csr(), column, 'sum')[0, 0],
    }
    for name, value in sums.items(): print(str(kind).split('.')[1], name, int(value))
P
v/bin/python -W ignore show.py | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
for name in 'table[ids]' embedding embedding_bag index_add index_put COO; do expect "bfloat16 $name 256"; done
for name in index_select gather 'index_add of a column' scatter_add CSR; do expect "bfloat16 $name 1000"; done
[ "$(grep -c '^float32 .* 1000$' said)" = 11 ] || { echo "changed: float32"; exit 1; }
echo "as described at the top of this file"
