#!/usr/bin/env bash
# BigBird (block-sparse attention for long texts) trained by PyTorch, in a program that draws random numbers of NumPy for something else: which
# texts come next, which words are left out, where a text is cut. Expected: the model draws from a generator of its own, and the other numbers are
# random. Seen (transformers 5.24.0): in training, each layer of each step calls np.random.seed with a constant and then draws, so that whatever
# the program draws after a step is the same number in every step, and the same order in every epoch, and no seed that the program has set changes
# it. The random blocks of the model themselves are also the same in every step. In eval mode nothing of this happens. Nothing is said.
# (This installs PyTorch from PyPI with all that it requires for CUDA: six gigabytes.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install torch==2.15.0 transformers==5.24.0 numpy==2.4.6
cat >draw.py <<'P'
import numpy as np
import torch
import transformers
from transformers import BigBirdConfig, BigBirdModel

transformers.logging.set_verbosity_error()
print('transformers', transformers.__version__, 'PyTorch', torch.__version__.split('+')[0], 'NumPy', np.__version__)
torch.manual_seed(0)
model = BigBirdModel(BigBirdConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                   max_position_embeddings=1024, block_size=16, num_random_blocks=2))
text = torch.randint(5, 100, (1, 512))
for mode in 'train', 'eval':
    model.train(mode == 'train')
    drawn = set()
    for seed in 1, 2:
        np.random.seed(seed)
        for step in range(5):
            with torch.set_grad_enabled(mode == 'train'):
                model(input_ids=text)
            drawn.add((int(np.random.randint(1000000)), tuple(np.random.permutation(8).tolist())))
    print(mode, 'two seeds, five steps each, different draws:', len(drawn))
P
v/bin/python draw.py 2>/dev/null | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "transformers 5.24.0 PyTorch 2.15.0 NumPy 2.4.6"
expect "train two seeds, five steps each, different draws: 1"
expect "eval two seeds, five steps each, different draws: 10"
echo "as described at the top of this file"
