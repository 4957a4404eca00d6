#!/usr/bin/env bash
# A treebank (CoNLL-U) that is read by the library conllu, changed or not, and written again by it. Expected: the same file but for the
# change. Seen (conllu 6.0.0): in the last column, MISC, everything from the second = on is lost: an address loses its query, the letter = of
# `Translit==` becomes _. Of the comments before a sentence, those without = are lost, and of two with one name the first; CoNLL-U allows any
# comments. Already what is read lacks all this. pyconll 3.3.1 keeps the values (in another order) and the comments without =, and loses the
# first of two comments of one name as well. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install conllu==6.0.0 pyconll==3.3.1
cat >trip.py <<'P'
from importlib.metadata import version

import conllu
import pyconll

sentence = '\n'.join([
    '# sent_id = 1', '# text = See = there', '# checked by two people', '# note = first', '# note = second',
    '\t'.join('1 See see VERB VB Mood=Imp 0 root 0:root Ref=http://example.org/?page=7&line=3'.split()),
    '\t'.join('2 = = SYM SYM _ 3 punct 3:punct Translit==|Gloss=equals'.split()),
    '\t'.join('3 there there ADV RB _ 1 advmod 1:advmod _'.split()), '', ''])
print('conllu', version('conllu'), 'pyconll', version('pyconll'))
print('conllu reads', conllu.parse(sentence)[0][0]['misc'])
written = {'conllu': ''.join(s.serialize() for s in conllu.parse(sentence)), 'pyconll': pyconll.load_from_string(sentence).conll()}
for name, text in written.items():
    old, new = ([line.split('\t')[-1] for line in t.split('\n') if line] for t in (sentence, text))
    for line in old:
        if line not in new:
            print(f'{name} loses: {line}')
    for line in new:
        if line not in old:
            print(f'{name} has: {line}')
P
v/bin/python trip.py | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "conllu 6.0.0 pyconll 3.3.1"
expect "conllu reads {'Ref': 'http://example.org/?page'}"
expect "conllu has: Ref=http://example.org/?page"
expect "conllu has: Translit=_|Gloss=equals"
expect "conllu loses: # checked by two people"
expect "conllu loses: # note = first"
expect "pyconll loses: # note = first"
expect "pyconll has: Gloss=equals|Translit=="
if grep -qE "^pyconll loses: (Ref|# checked)" said; then echo "changed: pyconll loses more"; exit 1; fi
echo "as described at the top of this file"
