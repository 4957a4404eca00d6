#!/usr/bin/env bash
# Rows with NaN (a loss, a score, a feature) looked for by pyarrow's filters, in a table in memory and in the same table as a Parquet file. Expected:
# the same rows. Seen (pyarrow 26.0.1), for columns of three numbers:
#   1, 1, NaN        is_nan, x != x, x != 1 and not is_finite find one row in memory, and none in the file
#   0.5, 0.7, NaN    is_nan finds it in both; ~(x <= 1) and is_null(nan_is_null=True) find it in memory, and not in the file
#   with a null too  all of them find it in both
# The file says of each group of rows between which numbers they lie, which leaves NaN out, and the reader takes that for all of them: where a
# filter is false for the numbers, it skips the group, or it takes what is true of them for true of all. So a check for NaN says that there is none,
# by what else is in the group, and the file of a run that went wrong passes it. Nothing is said. A file of Feather, and one that is
# written with write_statistics=False, gives all rows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install pyarrow==26.0.1
cat >look.py <<'P'
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq

x, nan = pc.field('x'), float('nan')
filters = {
    'is_nan': pc.is_nan(x),
    'x != x': x != x,
    'x != 1': x != 1,
    'not is_finite': ~pc.is_finite(x),
    'not x <= 1': ~(x <= 1),
    'null or NaN': x.is_null(nan_is_null=True),
}
for numbers in [1.0, 1.0, nan], [0.5, 0.7, nan], [0.5, 0.7, nan, None]:
    table = pa.table({'x': pa.array(numbers, pa.float64())})
    pq.write_table(table, 'with.parquet')
    pq.write_table(table, 'without.parquet', write_statistics=False)
    pa.feather.write_feather(table, 'file.feather')
    for name, filter in filters.items():
        feather = pa.dataset.dataset('file.feather', format='feather').to_table(filter=filter)
        parquet, without = (pq.read_table(kind + '.parquet', filters=filter).num_rows for kind in ('with', 'without'))
        print(pa.__version__, numbers, name + ':', table.filter(filter).num_rows, 'in memory,', parquet, 'in Parquet,', without, 'without statistics,',
              feather.num_rows, 'in Feather')
P
venv/bin/python look.py | tee said
expect() { # numbers, filter, rows in memory and elsewhere, rows in Parquet
  local line="26.0.1 [$1] $2: $3 in memory, $4 in Parquet, $3 without statistics, $3 in Feather"
  grep -qxF "$line" said || { echo "changed: no line \"$line\""; exit 1; }
}
for filter in 'is_nan' 'x != x' 'x != 1' 'not is_finite' 'not x <= 1' 'null or NaN'; do expect "1.0, 1.0, nan" "$filter" 1 0; done
for filter in 'is_nan' 'x != x' 'not is_finite'; do expect "0.5, 0.7, nan" "$filter" 1 1; done
for filter in 'not x <= 1' 'null or NaN'; do expect "0.5, 0.7, nan" "$filter" 1 0; done
for filter in 'is_nan' 'x != x' 'not is_finite' 'not x <= 1'; do expect "0.5, 0.7, nan, None" "$filter" 1 1; done
expect "0.5, 0.7, nan, None" "null or NaN" 2 2
echo "as described at the top of this file"
