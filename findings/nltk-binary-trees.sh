#!/usr/bin/env bash
# Trees of the Penn Treebank, made binary by NLTK for a parser or a model of trees, and made back to what they were afterwards. Expected: as the
# documentation of un_chomsky_normal_form says, the original structure. Seen (NLTK 3.10.4): a node whose label has a | is gone, and its children
# hang one level higher. The treebank has such labels: ADVP|PRT and PRT|ADVP, where its annotators could not decide, and NN|NNS and the like
# above words; where unary chains were collapsed as well, the word below is left without any label. A tag with a +, such as PPSS+BER of the
# Brown corpus, comes back as two nodes, one above the other. Both letters mark what NLTK itself adds, and what was there is not told from it.
# Nothing is said; a score of parses counts such trees as wrong.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install nltk==3.10.4
cat >trees.py <<'P'
import nltk
from nltk import Tree

print('NLTK', nltk.__version__)
for text in ('(S (NP (NNS Prices)) (VP (VBD rose) (ADVP (RB back)) (PP (IN in) (NP (NNP May)))) (. .))',
             '(S (NP (NNS Prices)) (VP (VBD rose) (ADVP|PRT (RB back)) (PP (IN in) (NP (NNP May)))) (. .))',
             '(S (NP (DT the) (NN|NNS data)) (VP (VBD rose)) (. .))',
             '(S (PPSS+BER They\'re) (VP (VBN gone)) (. .))'):
    tree = Tree.fromstring(text)
    back = tree.copy(deep=True)
    back.chomsky_normal_form()
    back.un_chomsky_normal_form()
    print('binary and back:', 'the same' if back == tree else 'other', back.pformat(margin=10000))
    back = tree.copy(deep=True)
    back.collapse_unary(collapsePOS=True)
    back.chomsky_normal_form()
    back.un_chomsky_normal_form()
    print('collapsed too:', 'the same' if back == tree else 'other', back.pformat(margin=10000))
P
v/bin/python trees.py | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "NLTK 3.10.4"
same="the same (S (NP (NNS Prices)) (VP (VBD rose) (ADVP (RB back)) (PP (IN in) (NP (NNP May)))) (. .))"
expect "binary and back: $same"
expect "collapsed too: $same"
expect "binary and back: other (S (NP (NNS Prices)) (VP (VBD rose) (RB back) (PP (IN in) (NP (NNP May)))) (. .))"
expect "collapsed too: other (S (NP (NNS Prices)) (VP (VBD rose) back (PP (IN in) (NP (NNP May)))) (. .))"
expect "binary and back: other (S (NP (DT the) data) (VP (VBD rose)) (. .))"
expect "binary and back: other (S (PPSS (BER They're)) (VP (VBN gone)) (. .))"
echo "as described at the top of this file"
