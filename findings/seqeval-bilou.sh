#!/usr/bin/env bash
# Tags of the scheme BILOU scored by seqeval, which names BILOU among the schemes that it supports. Expected: the same spans as for the same
# tags in BIOES, where L is E and U is S. Seen (seqeval 1.2.2): in the default mode, which needs no scheme, U and L are not known and nothing
# says so. Two spans of one token (U-A U-A) are one span; of two spans side by side (B-A L-A B-A L-A) the first is lost; and without types
# there is no span at all, so that a perfect answer has an F1 of 0. With mode="strict" and scheme=BILOU the spans are right. The same
# answer, one span of three missed, has an F1 of 0.5 in the default mode and 0.8 in the strict one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install seqeval==1.2.2 numpy==2.4.6 scikit-learn==1.9.1
cat >show.py <<'P'
from importlib.metadata import version
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU

print('seqeval', version('seqeval'))
for bilou in ('U-A U-A', 'B-A L-A B-A L-A', 'U U', 'B L'):
    bioes = bilou.replace('U', 'S').replace('L', 'E')
    print(bilou, get_entities(bilou.split()), '|', bioes, get_entities(bioes.split()))
bare = ['U U O B L'.split()]
print('perfect without types:', f1_score(bare, bare))
right, answer = ['U-A U-A O B-A L-A'.split()], ['U-A O O B-A L-A'.split()]
print('one of three missed:', round(f1_score(right, answer), 2), 'strict:', round(f1_score(right, answer, mode='strict', scheme=BILOU), 2))
P
v/bin/python -W ignore show.py | tee said
grep -qF "U-A U-A [('A', 0, 1)] | S-A S-A [('A', 0, 0), ('A', 1, 1)]" said || { echo "changed: neighbours of one token"; exit 1; }
grep -qF "B-A L-A B-A L-A [('A', 2, 3)]" said || { echo "changed: neighbours of two tokens"; exit 1; }
grep -qxF "perfect without types: 0.0" said || { echo "changed: tags without types"; exit 1; }
grep -qxF "one of three missed: 0.5 strict: 0.8" said || { echo "changed: the two modes"; exit 1; }
echo "as described at the top of this file"
