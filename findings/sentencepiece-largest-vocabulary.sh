#!/usr/bin/env bash
# The same text and the same options, three releases of SentencePiece. Expected: a patch release trains the same model, and refuses the same
# sizes. Seen: the largest vocabulary that the unigram trainer accepts is 607 pieces in 0.2.1, 650 in 0.2.2 and 502 in 0.2.3, so that a
# command that works with one release is refused by the next; and a unigram model of 300 pieces has other pieces in each of them. The BPE
# model is the same in all three. Who trains a tokenizer again "with the same settings" needs the version as one of the settings.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >train.py <<'P'
import hashlib, random, re
import sentencepiece as sp

draw = random.Random(1)
syllables = [a + b for a in 'bdfgklmnprst' for b in 'aeiou']
words = [''.join(draw.choice(syllables) for _ in range(draw.randint(1, 4))) for _ in range(3000)]
lines = [' '.join(words[min(2999, int(draw.paretovariate(0.7)))] for _ in range(12)) for _ in range(4000)]
open('text', 'w').write('\n'.join(lines) + '\n')
common = dict(input='text', minloglevel=2)
try:
    sp.SentencePieceTrainer.train(model_prefix='large', model_type='unigram', vocab_size=20000, **common)
    largest = 'none'
except RuntimeError as error:
    largest = re.search(r'<= (\d+)', str(error)).group(1)
said = [sp.__version__, largest]
for kind in ('unigram', 'bpe'):
    sp.SentencePieceTrainer.train(model_prefix=kind, model_type=kind, vocab_size=300, **common)
    model = sp.SentencePieceProcessor(model_file=kind + '.model')
    pieces = [model.id_to_piece(i) for i in range(300)]
    said.append(hashlib.sha256(repr(pieces).encode()).hexdigest()[:8])
print(*said)
P
echo "version, largest unigram vocabulary, hash of the 300 pieces of a unigram and of a BPE model:"
for version in 0.2.1 0.2.2 0.2.3; do
  python3 -m venv "v$version"
  "v$version/bin/pip" -q --disable-pip-version-check install "sentencepiece==$version"
  "v$version/bin/python" train.py | tee -a said
done
[ "$(cut -d' ' -f2 said | tr '\n' ' ')" = "607 650 502 " ] || { echo "changed: the largest vocabularies are others"; exit 1; }
[ "$(cut -d' ' -f3 said | sort -u | wc -l)" = 3 ] || { echo "changed: unigram models agree between releases"; exit 1; }
[ "$(cut -d' ' -f4 said | sort -u | wc -l)" = 1 ] || { echo "changed: BPE models differ between releases"; exit 1; }
echo "as described at the top of this file"
