#!/usr/bin/env bash
# Sixty texts translated by CTranslate2 with coverage_penalty, each alone and each in a batch with one longer text (a small Transformer with random
# weights). Expected: the same translation, as padding is masked, and as it is without the penalty. Seen (CTranslate2 4.8.5): with a penalty
# of 0.1 eleven of sixty translations are others, and the scores differ by ten and more, because the sum over the positions of a
# text goes over those that pad it to the longest of its batch too, which no step attends to: each costs as a word that is not
# translated at all. So a translation depends on what else is in its batch, on max_batch_size and on the order of the texts, and scores
# of texts of different batches cannot be compared, as for filtering or for a pool of models. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install ctranslate2==4.8.5 numpy==2.4.6
cat >translate.py <<'P'
import os
import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec

width, vocabulary = 64, 120
draw = np.random.default_rng(3)
normal = lambda *shape: draw.standard_normal(shape).astype(np.float32)
def fill_linear(layer, outputs, inputs=width):
    layer.weight, layer.bias = normal(outputs, inputs) * np.float32(inputs ** -0.5), 0.1 * normal(outputs)
def fill_norm(layer): layer.gamma, layer.beta = np.ones(width, np.float32), np.zeros(width, np.float32)
def fill_attention(layer, *widths):
    fill_norm(layer.layer_norm)
    for part, outputs in zip(layer.linear, widths): fill_linear(part, outputs)

spec = transformer_spec.TransformerSpec.from_config((2, 2), 4)
spec.encoder.embeddings[0].weight, spec.decoder.embeddings.weight = normal(vocabulary, width), normal(vocabulary, width)
for side in spec.encoder, spec.decoder:
    for layer in side.layer:
        fill_attention(layer.self_attention, 3 * width, width)
        if side is spec.decoder: fill_attention(layer.attention, width, 2 * width, width)
        fill_norm(layer.ffn.layer_norm)
        fill_linear(layer.ffn.linear_0, 4 * width)
        fill_linear(layer.ffn.linear_1, width, 4 * width)
    fill_norm(side.layer_norm)
fill_linear(spec.decoder.projection, vocabulary)
spec.decoder.projection.weight *= 3
spec.decoder.projection.bias[2] += 5  # the end is likely, or no translation ends
words = [f'w{i}' for i in range(vocabulary - 3)]
spec.register_source_vocabulary(['<unk>', '<s>', '</s>'] + words)
spec.register_target_vocabulary(['<unk>', '<s>', '</s>'] + words)
spec.validate()
spec.optimize()
os.mkdir('model')
spec.save('model')

translator = ctranslate2.Translator('model', inter_threads=1, intra_threads=1, compute_type='float32')
texts = [list(draw.choice(words, n)) for n in draw.integers(3, 20, 60)]
longer = ['w1'] * 40
for penalty in 0, 0.1, 0.5:
    options = dict(beam_size=4, max_decoding_length=40, coverage_penalty=penalty, length_penalty=0, return_scores=True)
    translate = lambda *batch: translator.translate_batch(batch, **options)[0]
    alone, again = ([translate(text) for text in texts] for _ in range(2))
    together = [translate(text, longer) for text in texts]
    others = lambda left, right: sum(a.hypotheses != b.hypotheses for a, b in zip(left, right))
    print(ctranslate2.__version__, 'penalty', penalty, 'alone and again:', others(alone, again), 'alone and with a longer text:', others(alone, together),
          'largest difference of scores:', round(max(abs(a.scores[0] - b.scores[0]) for a, b in zip(alone, together)), 1))
P
v/bin/python translate.py | tee said
grep -qxE '4.8.5 penalty 0 alone and again: 0 alone and with a longer text: 0 largest difference of scores: 0.0' said ||
  { echo "changed: without a penalty"; exit 1; }
for penalty in 0.1 0.5; do
  grep -qxE "4.8.5 penalty $penalty alone and again: 0 alone and with a longer text: [1-9][0-9]* largest difference of scores: [1-9][0-9]+\.[0-9]" said ||
    { echo "changed: with a penalty of $penalty"; exit 1; }
done
echo "as described at the top of this file"
