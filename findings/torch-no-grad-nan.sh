#!/usr/bin/env bash
# Self-attention of PyTorch (nn.MultiheadAttention, in eval mode, float32, on the processor) over a text of which the mask leaves nothing, as it
# stands in a batch that is filled up with empty texts. Expected: NaN, or zeros, but one of them, as it is one layer with one mask. Seen (PyTorch
# 2.15.0): zeros with need_weights=False as long as gradients are recorded, and NaN under torch.no_grad(); with need_weights=True NaN
# in both. Without gradients, and with the weights, other code computes the same layer. So a model that trains and is tested with
# gradients on gives NaN for such texts when it is used without, and the switch that saves memory changes the result.
# (This installs PyTorch from PyPI with all that it requires for CUDA: six gigabytes.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install torch==2.15.0 numpy==2.4.6
cat >show.py <<'P'
import torch

print('PyTorch', torch.__version__.split('+')[0])
torch.manual_seed(0)
layer = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
texts = torch.randn(2, 3, 16)
hidden = torch.tensor([[False, False, True], [True, True, True]])
for weights in False, True:
    for gradients in True, False:
        with torch.set_grad_enabled(gradients):
            out = layer(texts, texts, texts, key_padding_mask=hidden, need_weights=weights)[0].detach()
        kind = lambda x: 'NaN' if bool(x.isnan().all()) else 'zeros' if bool((x == 0).all()) else 'numbers' if bool(x.isfinite().all()) else 'mixed'
        print(f'need_weights {weights}, gradients {gradients}: first text {kind(out[0])}, text without keys {kind(out[1])}')
P
v/bin/python show.py | tee said
expect() { grep -qxF "need_weights $1: first text numbers, text without keys $2" said || { echo "changed: not \"$1: $2\""; exit 1; }; }
expect "False, gradients True" zeros
expect "False, gradients False" NaN
expect "True, gradients True" NaN
expect "True, gradients False" NaN
echo "as described at the top of this file"
