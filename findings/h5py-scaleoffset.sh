#!/usr/bin/env bash
# Numbers that are saved by h5py with scaleoffset=3, HDF5's own compression that keeps three digits behind the point, and among them a NaN or an
# infinite number, as measurements, losses and scores of empty texts have them. Expected: NaN and infinity come back as such; or, as the
# documentation has it that NaN are not kept, as some number; or an error when they are saved. Seen, in float32:
#   NaN that is not the first of its chunk     h5py 3.16.0 (HDF5 2.0.0) and 3.14.0 (HDF5 1.14.6): the smallest number of the chunk
#   NaN as the first of its chunk              both: saved without a word, and nothing of the chunk can be read any more
#   a NaN first, in float64                    3.16.0: as it was; 3.14.0: the chunk cannot be read
#   infinity anywhere                          3.16.0: as it was; 3.14.0: the chunk cannot be read
# The numbers are in the file: a chunk with infinity that 3.14.0 cannot read again, though it wrote it, is read by 3.16.0. A dataset of ten
# thousand numbers, one NaN in a hundred, in chunks of a thousand, cannot be read whole if one of its chunks begins with a NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for version in 3.16.0 3.14.0; do
  python3 -m venv "v$version"
  "v$version/bin/pip" -q --disable-pip-version-check install "h5py==$version" numpy==2.4.6
done
cat >save.py <<'P'
import sys

import h5py
import numpy as np

nan, inf = np.nan, np.inf
draw = np.random.default_rng(0)
many = draw.standard_normal(10000)
many[draw.random(10000) < 0.01] = nan
many[3000] = nan
cases = {'later NaN': [1.5, nan, -2.125, 3], 'first NaN': [nan, 1.5, -2.125, 3], 'infinity': [1, inf, 2, 3], 'no NaN': [1.5, 2, -2.125, 3], 'many': many}
saved = h5py.version.version if sys.argv[1] == 'save' else sys.argv[1]
if sys.argv[1] == 'save':
    with h5py.File(saved + '.h5', 'w') as file:
        for name, numbers in cases.items():
            for kind in 'float32', 'float64':
                file.create_dataset(name + kind, data=np.array(numbers, kind), chunks=(min(len(numbers), 1000),), scaleoffset=3)
with h5py.File(saved + '.h5') as file:
    for name, numbers in cases.items():
        for kind in 'float32', 'float64':
            try:
                read = file[name + kind][:]
                says = ' '.join('%g' % x for x in read) if len(read) < 10 else f'{len(read)} numbers'
            except OSError as error:
                says = 'error: ' + str(error)
            print(f'saved by h5py {saved}, read by {h5py.version.version} (HDF5 {h5py.version.hdf5_version}): {name}, {kind}: {says}')
P
{ v3.16.0/bin/python save.py save; v3.14.0/bin/python save.py save; v3.14.0/bin/python save.py 3.16.0; v3.16.0/bin/python save.py 3.14.0; } | tee said
new='3.16.0 \(HDF5 2.0.0\)' old='3.14.0 \(HDF5 1.14.6\)'
expect() { grep -qE "^saved by h5py 3.1[46].0, read by $1: $2\$" said || { echo "changed: not \"$1: $2\""; exit 1; }; }
for library in "$new" "$old"; do
  expect "$library" "no NaN, float32: 1.5 2 -2.125 3"
  for kind in float32 float64; do expect "$library" "later NaN, $kind: 1.5 -2.125 -2.125 3"; done
  for name in "first NaN" many; do expect "$library" "$name, float32: error: .*read.*"; done
done
expect "$new" "first NaN, float64: nan 1.5 -2.125 3"
expect "$old" "first NaN, float64: error: .*read.*"
for kind in float32 float64; do
  expect "$new" "infinity, $kind: 1 inf 2 3"
  expect "$old" "infinity, $kind: error: .*read.*"
done
[ "$(grep -c 'saved by h5py 3.14.0, read by 3.16.0 .*infinity, float..: 1 inf 2 3$' said)" = 2 ] ||
  { echo "changed: the newer does not read the older's file"; exit 1; }
echo "as described at the top of this file"
