#!/usr/bin/env bash
# A file of word vectors that has a word twice (published files have that). Expected: gensim keeps the first vector and has two words, or
# refuses. Seen (gensim 4.4.0): it warns in its log and keeps the first, but its table has three rows: the last one has the key None and zeros,
# and turns up in most_similar as (None, nan). When the table is saved, the first line announces three vectors and two follow, and
# gensim itself then refuses its own file ("unexpected end of input; is count incorrect or file otherwise damaged?"). So a file whose first
# line is off by one need not be cut off.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install gensim==4.4.0 numpy==2.4.6
cat >show.py <<'P'
import gensim
from gensim.models import KeyedVectors

open('twice.txt', 'w').write('3 3\na 1 2 3\na 4 5 6\nc 7 8 9\n')
table = KeyedVectors.load_word2vec_format('twice.txt')
print('gensim', gensim.__version__, 'keys', table.index_to_key, 'rows', table.vectors.tolist())
table.save_word2vec_format('saved.txt')
print('saved', repr(open('saved.txt').read()))
try:
    KeyedVectors.load_word2vec_format('saved.txt')
    print('read back')
except EOFError as error:
    print('refused:', error)
P
v/bin/python show.py | tee said
grep -q "keys \['a', 'c', None\] rows \[\[1.0, 2.0, 3.0\], \[7.0, 8.0, 9.0\], \[0.0, 0.0, 0.0\]\]" said || { echo "changed: the table is another one"; exit 1; }
grep -qF "saved '3 3\na 1.0" said || { echo "changed: the saved first line is another one"; exit 1; }
grep -q '^refused: ' said || { echo "changed: the saved file is read back"; exit 1; }
echo "as described at the top of this file"
