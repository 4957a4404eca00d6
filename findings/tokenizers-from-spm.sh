#!/usr/bin/env bash
# Models of SentencePiece read by `tokenizers` (SentencePieceUnigramTokenizer.from_spm), and the texts that they were trained on split by both.
# Expected: the same pieces, or a refusal of what it cannot do; the rules of a model stand in its file. Seen (tokenizers 0.23.3, SentencePiece
# 0.2.3): of the text's rules it takes the normalisation of characters, and goes by the defaults for all others, without a word.
#   add_dummy_prefix=false          every text begins with a space that the model does not put there
#   treat_whitespace_as_suffix      words fall into letters, as the model's pieces end in the space and the text's words begin with it
#   remove_extra_whitespaces=false  of two spaces one is lost
#   the defaults                    the same pieces, but for texts that end in a space, which becomes a piece
# A model that was trained with the one and is used through the other reads other pieces than it has learnt from.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
cp v/lib/python3*/site-packages/sentencepiece/sentencepiece_model_pb2.py .  # from_spm looks for it here
cat >compare.py <<'P'
import random
import sentencepiece as sp
from tokenizers.implementations import SentencePieceUnigramTokenizer

draw = random.Random(1)
syllables = [a + b for a in 'bdfgklmnprst' for b in 'aeiou']
words = [''.join(draw.choice(syllables) for _ in range(draw.randint(1, 4))) for _ in range(500)]
lines = [' '.join(words[min(499, int(draw.paretovariate(0.7)))] for _ in range(12)) for _ in range(3000)]
open('text', 'w').write('\n'.join(lines) + '\n')
plain, spaced, ended = lines[:100], [line.replace(' ', '  ') for line in lines[:100]], [line + ' ' for line in lines[:100]]
for name, options in (('defaults', {}), ('no prefix', dict(add_dummy_prefix=False)), ('suffix', dict(treat_whitespace_as_suffix=True)),
                      ('keep spaces', dict(remove_extra_whitespaces=False))):
    sp.SentencePieceTrainer.train(input='text', model_prefix='m', vocab_size=200, num_threads=1, minloglevel=2, **options)
    own, other = sp.SentencePieceProcessor(model_file='m.model'), SentencePieceUnigramTokenizer.from_spm('m.model')
    same = lambda texts: sum(own.encode(text) == other.encode(text).ids for text in texts)
    print(f'{name}: of 100 texts the same {same(plain)}, with two spaces {same(spaced)}, with a space at the end {same(ended)}')
    if name == 'suffix': print(own.encode(lines[2], out_type=str)[:4], other.encode(lines[2]).tokens[:6])
P
v/bin/python compare.py | tee said
expect() { grep -qxF "$1 of 100 texts the same $2, with two spaces $3, with a space at the end $4" said || { echo "changed: $1"; exit 1; }; }
expect "defaults:" 100 100 0
expect "no prefix:" 0 0 0
expect "suffix:" 0 0 0
expect "keep spaces:" 100 0 100
grep -qxF "['ge▁', 'pu▁', 'ge▁', 'ti▁'] ['▁', 'g', 'e', '▁', 'p', 'u']" said || { echo "changed: the pieces of a model with suffixes"; exit 1; }
echo "as described at the top of this file"
