#!/usr/bin/env bash
# BigBird reads long texts by blocks: each block sees the first and the last one, its neighbours, and some random ones (three, if nothing else is
# said). Expected: a model that was trained so is used so, with these or other random blocks; with dropout 0, training mode and eval mode
# compute the same. Seen (transformers 5.24.0, PyTorch 2.15.0): in eval mode every random block is the first block of the text, which is there
# already, and it is counted again each time. Where all keys are alike, the first block gets 1/8 of the attention of a block in the middle in
# training mode, and 4/8 in eval mode. The first and the last block themselves see everything, the same in both modes. So losses and answers in
# eval mode are those of another attention than was trained. Nothing is said: each query is documented to attend to as many random blocks as
# `num_random_blocks` says.
# (This installs PyTorch from PyPI with all that it requires for CUDA: six gigabytes.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install torch==2.15.0 transformers==5.24.0 numpy==2.4.6
cat >look.py <<'P'
import torch
import transformers
from transformers import BigBirdConfig, BigBirdModel

transformers.logging.set_verbosity_error()
print('transformers', transformers.__version__, 'PyTorch', torch.__version__.split('+')[0])
block = 64
text = torch.randint(5, 100, (1, 2048))


def shares(random_blocks, mode):
    """The share of attention that the first block gets from each block, where queries are zeros, and values are 1 in the first block alone."""
    model = BigBirdModel(BigBirdConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                                       max_position_embeddings=4096, num_random_blocks=random_blocks, block_size=block,
                                       attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0))
    layer = model.encoder.layer[0].attention.self
    seen = []
    layer.query.register_forward_hook(lambda module, args, out: torch.zeros_like(out))
    layer.value.register_forward_hook(lambda module, args, out: torch.zeros_like(out).index_fill_(1, torch.arange(block), 1))
    layer.register_forward_hook(lambda module, args, out: seen.append(out[0][0, :, 0].view(-1, block).mean(1)))
    model.train(mode == 'train')
    with torch.no_grad():
        model(input_ids=text)
    return seen[0]


for random_blocks in 1, 3:
    for mode in 'train', 'eval':
        share = shares(random_blocks, mode)
        print(f'random blocks {random_blocks}, {mode}: attention to the first block, from the first {share[0]:.3f}, from the middle {share[16]:.3f}')
torch.manual_seed(0)
model = BigBirdModel(BigBirdConfig(vocab_size=100, hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128,
                                   max_position_embeddings=4096, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0))
for parameter in model.parameters():
    if parameter.dim() > 1:
        torch.nn.init.normal_(parameter, std=0.15)
with torch.no_grad():
    model.train()
    first, second = (model(input_ids=text).last_hidden_state for _ in range(2))
    model.eval()
    third = model(input_ids=text).last_hidden_state
print('random weights, dropout 0: training mode twice', 'the same' if torch.equal(first, second) else 'other',
      'and eval mode', 'the same' if (first - third).abs().max() < 1e-4 else 'other')
P
v/bin/python look.py 2>/dev/null | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "transformers 5.24.0 PyTorch 2.15.0"
expect "random blocks 1, train: attention to the first block, from the first 0.031, from the middle 0.167"
expect "random blocks 1, eval: attention to the first block, from the first 0.031, from the middle 0.333"
expect "random blocks 3, train: attention to the first block, from the first 0.031, from the middle 0.125"
expect "random blocks 3, eval: attention to the first block, from the first 0.031, from the middle 0.500"
expect "random weights, dropout 0: training mode twice the same and eval mode other"
echo "as described at the top of this file"
