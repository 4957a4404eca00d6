#!/usr/bin/env bash
# The library `tokenizers`, trained four times by one program on one text, in one thread. Expected: four times the same tokenizer. Seen: BPE is
# the same each time; WordPiece has (nearly) the same 400 pieces with other numbers each time, so that a model trained with one of them reads
# nonsense through another, which splits texts alike; Unigram has other scores each time, and some texts may be split otherwise. There is no
# seed to set: the order is that of hash tables. A tokenizer has to be kept with its model; it cannot be made again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >train.py <<'P'
import hashlib, json, random
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

draw = random.Random(1)
syllables = [a + b for a in 'bdfgklmnprst' for b in 'aeiou']
words = [''.join(draw.choice(syllables) for _ in range(draw.randint(1, 4))) for _ in range(3000)]
lines = [' '.join(words[min(2999, int(draw.paretovariate(0.7)))] for _ in range(12)) for _ in range(4000)]
digest = lambda value: hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]
for name, model, trainer in (('bpe', models.BPE, trainers.BpeTrainer), ('wordpiece', models.WordPiece, trainers.WordPieceTrainer),
                             ('unigram', models.Unigram, trainers.UnigramTrainer)):
    tokenizer = Tokenizer(model())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(lines, trainer(vocab_size=400, show_progress=False))
    numbers = tokenizer.get_vocab()
    print(name, digest(sorted(numbers)), digest(sorted(numbers.items())), digest(json.loads(tokenizer.to_str())['model']['vocab']))
P
version=0.23.3
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install "tokenizers==$version"
for _ in 1 2 3 4; do RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false v/bin/python train.py >>said; done
different() { grep "^$1 " said | cut -d' ' -f"$2" | sort -u | wc -l; }
echo "tokenizers $version, four trainings: different sets of pieces, numbers of pieces, models"
for kind in bpe wordpiece unigram; do echo "$kind $(different $kind 2) $(different $kind 3) $(different $kind 4)"; done
[ "$(different bpe 4)" = 1 ] || { echo "changed: BPE differs"; exit 1; }
[ "$(different wordpiece 3)" -gt 1 ] || { echo "changed: WordPiece's numbers repeat"; exit 1; }
[ "$(different unigram 4)" -gt 1 ] || { echo "changed: Unigram repeats itself"; exit 1; }
echo "as described at the top of this file"
