#!/usr/bin/env bash
# NumPy arrays that are not contiguous in memory, such as a transposed weight or every second column, saved by safetensors.numpy.save_file.
# Expected: the numbers of the array, or a refusal, as safetensors.torch.save_file refuses such tensors. Seen (safetensors 0.8.0): the shape is
# that of the array, and the numbers are those that lie in memory one after the other from its first on, without a word. A transposed
# array comes back with its rows mixed, every second column as the first half of the columns. 0.7.0 saves both rightly. A square weight
# has the same shape either way round, so that nothing notices before results are bad.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >show.py <<'P'
import numpy as np
import safetensors
from safetensors.numpy import load_file, save_file

square = np.arange(9, dtype=np.float32).reshape(3, 3)
wide = np.arange(12, dtype=np.float32).reshape(2, 6)
for name, array in ('transposed', square.T), ('columns', wide[:, ::2]), ('rows', square[1:]), ('copied', np.ascontiguousarray(square.T)):
    save_file({'x': array}, 'file')
    print(safetensors.__version__, name, array.astype(int).tolist(), '->', load_file('file')['x'].astype(int).tolist())
P
for version in 0.7.0 0.8.0; do
  python3 -m venv "v$version"
  "v$version/bin/pip" -q --disable-pip-version-check install "safetensors==$version" numpy==2.4.6
  "v$version/bin/python" show.py | tee -a said
done
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "0.7.0 transposed [[0, 3, 6], [1, 4, 7], [2, 5, 8]] -> [[0, 3, 6], [1, 4, 7], [2, 5, 8]]"
expect "0.7.0 columns [[0, 2, 4], [6, 8, 10]] -> [[0, 2, 4], [6, 8, 10]]"
expect "0.8.0 transposed [[0, 3, 6], [1, 4, 7], [2, 5, 8]] -> [[0, 1, 2], [3, 4, 5], [6, 7, 8]]"
expect "0.8.0 columns [[0, 2, 4], [6, 8, 10]] -> [[0, 1, 2], [3, 4, 5]]"
expect "0.8.0 rows [[3, 4, 5], [6, 7, 8]] -> [[3, 4, 5], [6, 7, 8]]"
expect "0.8.0 copied [[0, 3, 6], [1, 4, 7], [2, 5, 8]] -> [[0, 3, 6], [1, 4, 7], [2, 5, 8]]"
echo "as described at the top of this file"
