#!/usr/bin/env bash
# A data set read from a file and prepared by dataset.map and .filter of Hugging Face's datasets, whose steps are kept on disk and found again by a
# hash of the data and of the function. The function is changed and the program run again. Expected: the step is computed anew, as the hash is
# another one. Seen (datasets 5.2.0): it is, where the function stands in the program itself. Where the program imports it from a module of its own,
# as larger programs do, the old results come back, as of such a function only the module and the name are hashed; the same for a
# lambda that calls it, and for filter. Nothing is said: the hash is the same, and the training goes on with texts that were
# prepared by the code of last week. With load_from_cache_file=False the results are those of the new code.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install datasets==5.2.0 pyarrow==26.0.1 dill==0.4.1
cat >steps.py <<'P'
def times(row):
    return {'y': row['x'] * 2}
P
cat >prepare.py <<'P'
import datasets
import steps


def times(row):
    return {'y': row['x'] * 2}


datasets.disable_progress_bars()
data = datasets.load_dataset('csv', data_files='numbers.csv', split='train', cache_dir='cache')
say = lambda name, values: print('datasets', datasets.__version__, name + ':', *values)
say('own function', data.map(times)['y'])
say('imported function', data.map(steps.times)['y'])
say('lambda that calls it', data.map(lambda row: steps.times(row))['y'])
say('rows that a filter keeps', data.filter(lambda row: steps.times(row)['y'] > 4)['x'])
say('imported function, no cache', data.map(steps.times, load_from_cache_file=False)['y'])
P
printf 'x\n1\n2\n3\n' >numbers.csv
export HF_HOME=$PWD/home HF_HUB_OFFLINE=1
venv/bin/python prepare.py 2>/dev/null | sed 's/^/times 2, /' | tee said
rm -rf __pycache__
sed -i 's/\* 2/* 1000/' steps.py prepare.py
venv/bin/python prepare.py 2>/dev/null | sed 's/^/times 1000, /' | tee -a said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
for name in "own function" "imported function" "lambda that calls it" "imported function, no cache"; do
  expect "times 2, datasets 5.2.0 $name: 2 4 6"
done
expect "times 1000, datasets 5.2.0 own function: 1000 2000 3000"
expect "times 1000, datasets 5.2.0 imported function: 2 4 6"
expect "times 1000, datasets 5.2.0 lambda that calls it: 2 4 6"
expect "times 1000, datasets 5.2.0 rows that a filter keeps: 3"
expect "times 1000, datasets 5.2.0 imported function, no cache: 1000 2000 3000"
echo "as described at the top of this file"
