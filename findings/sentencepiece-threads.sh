#!/usr/bin/env bash
# SentencePiece trained on one text with other numbers of threads. Expected: threads change the time, as with the BPE trainer, whose model is the
# same with one and with sixteen. Seen: the unigram trainer (the default) makes another vocabulary: sums of its expectations are added in another
# order, small differences decide which pieces are dropped, and some of 4,000 differ (the text: a part of NumPy's sources). The default is 16 threads, whatever the machine
# has, so that the same number gives the same model again. Who trains a tokenizer "with the same settings" has to know this one too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >train.py <<'P'
import glob, io, os
import numpy
import sentencepiece as sp

lines = []
for path in sorted(glob.glob(os.path.dirname(numpy.__file__) + '/[c-m]*/*.py')):
    lines += [line.strip() for line in open(path, encoding='utf-8') if len(line) > 50]

def pieces(kind, threads):
    model = io.BytesIO()
    sp.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=4000, model_type=kind, num_threads=threads,
                                  minloglevel=2)
    processor = sp.SentencePieceProcessor(model_proto=model.getvalue())
    return {processor.id_to_piece(i) for i in range(processor.get_piece_size())}

for kind in ('unigram', 'bpe'):
    one, again, sixteen = pieces(kind, 1), pieces(kind, 1), pieces(kind, 16)
    print(kind, 'same' if one == again else 'other', len(one - sixteen))
P
version=0.2.3
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install "sentencepiece==$version" numpy==2.2.6
echo "SentencePiece $version: trainer, twice with one thread, pieces that sixteen threads do not find"
v/bin/python train.py | tee said
read -r _ again others < <(grep unigram said)
[ "$again" = same ] || { echo "changed: one thread does not repeat itself"; exit 1; }
[ "$others" -gt 0 ] || { echo "changed: the unigram trainer finds the same pieces with sixteen threads"; exit 1; }
grep -qx 'bpe same 0' said || { echo "changed: threads change the BPE model"; exit 1; }
echo "as described at the top of this file"
