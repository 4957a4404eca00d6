#!/usr/bin/env bash
# An array of bfloat16 or float8 in NumPy (by ml_dtypes, as JAX and readers of models give them), with some NaN in it, sorted. Expected: as
# NumPy says of all kinds of numbers, and does for float16 and float32, NaN come last and the rest is in order. Seen (ml_dtypes 0.6.0, NumPy
# 2.4.6): NaN stay among the numbers, and numbers on both sides of one stay out of order. Of a hundred arrays of a thousand numbers with ten NaN
# each, nearly all are not sorted, have repeated numbers in `unique` and a number for a median in place of NaN, and in some the ten numbers
# that argsort puts last are not the ten largest. With one NaN, most are not sorted. The maximum is NaN, as it should be, and without NaN
# all is right. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install ml_dtypes==0.6.0 numpy==2.4.6
cat >sort.py <<'P'
import warnings

import ml_dtypes
import numpy as np

warnings.filterwarnings('ignore')  # float32 says that there is a NaN
print('ml_dtypes', ml_dtypes.__version__, 'NumPy', np.__version__)
for kind in np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
    for nan in 0, 1, 10:
        draw = np.random.default_rng(0)
        wrong = dict.fromkeys(('sort', 'median', 'largest ten', 'unique', 'max'), 0)
        for _ in range(100):
            x = draw.standard_normal(1000).astype(kind)
            x[draw.choice(1000, nan, replace=False)] = np.nan
            wide = x.astype(np.float32)
            ordered = wide[np.argsort(x)]
            known = np.sort(x).astype(np.float32)
            known = known[~np.isnan(known)]
            wrong['sort'] += bool((np.diff(known) < 0).any())
            wrong['median'] += bool(np.isnan(np.float32(np.median(x)))) != (nan > 0)
            wrong['largest ten'] += not np.array_equal(np.sort(ordered[~np.isnan(ordered)][-10:]), np.sort(wide[~np.isnan(wide)])[-10:])
            wrong['unique'] += len(np.unique(x)) != len(np.unique(wide))
            wrong['max'] += not np.array_equal(np.float32(x.max()), wide.max(), equal_nan=True)
        print(np.dtype(kind).name, 'with', nan, 'NaN, wrong of 100:', ', '.join(f'{name} {count}' for name, count in wrong.items()))
x = np.array([3, np.nan, 1, 2, np.nan, 0, -1], ml_dtypes.bfloat16)
print('sorted', *np.sort(x), 'median', np.median(x))
P
venv/bin/python sort.py | tee said
expect() { grep -qE "^$1\$" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "ml_dtypes 0.6.0 NumPy 2.4.6"
right="sort 0, median 0, largest ten 0, unique 0, max 0"
for kind in float32 float16; do for nan in 0 1 10; do expect "$kind with $nan NaN, wrong of 100: $right"; done; done
for kind in bfloat16 float8_e4m3fn float8_e5m2; do expect "$kind with 0 NaN, wrong of 100: $right"; done
expect "bfloat16 with 1 NaN, wrong of 100: sort [3-9][0-9], median (9[0-9]|100), largest ten [0-9]+, unique [0-9]+, max 0"
expect "bfloat16 with 10 NaN, wrong of 100: sort (9[0-9]|100), median (9[0-9]|100), largest ten [1-9][0-9]*, unique (9[0-9]|100), max 0"
for kind in float8_e4m3fn float8_e5m2; do expect "$kind with 10 NaN, wrong of 100: sort [1-9][0-9]+, median [1-9][0-9]+, .*, max 0"; done
expect "sorted 3 nan 1 2 nan -1 0 median 2"
echo "as described at the top of this file"
