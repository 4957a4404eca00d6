#!/usr/bin/env bash
# One short text, read by an encoder of transformers alone, and in a batch with a longer text, filled up to its length, with the attention mask
# that says so. Expected: the same vectors, to six digits, as the mask hides what was filled up (FNet says that it has no mask). Seen (transformers
# 5.24.0, PyTorch 2.15.0, small models with random weights, float32): so it is for BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT, DeBERTa, MPNet,
# SqueezeBERT, XLNet, RoFormer, MobileBERT, ModernBERT and Longformer. In ConvBERT, Nystromformer, YOSO and CANINE the vectors of the text change
# by 0.1 to more than 1, where the largest are 1 (relative); in Nystromformer and YOSO otherwise for each length of the other text. Their
# convolutions, landmarks and sums of hashes also take in what was filled up. So vectors that are stored, compared or searched depend on the batch
# in which they were computed. Nothing is said; all four take a mask.
# (This installs PyTorch from PyPI with all that it requires for CUDA: six gigabytes.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install torch==2.15.0 transformers==5.24.0 numpy==2.4.6
cat >read.py <<'P'
import torch
import transformers
from transformers import AutoConfig, AutoModel

transformers.logging.set_verbosity_error()
print('transformers', transformers.__version__, 'PyTorch', torch.__version__.split('+')[0])
usual = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
small = dict(usual, embedding_size=32)
models = {
    'bert': usual, 'roberta': usual, 'electra': small, 'albert': small, 'deberta': usual, 'deberta-v2': usual, 'mpnet': usual, 'squeezebert': small,
    'roformer': small, 'longformer': dict(usual, attention_window=16),
    'distilbert': dict(vocab_size=100, dim=32, n_layers=2, n_heads=2, hidden_dim=64),
    'xlnet': dict(vocab_size=100, d_model=32, n_layer=2, n_head=2, d_inner=64),
    'mobilebert': dict(usual, embedding_size=16, true_hidden_size=16, intra_bottleneck_size=16, num_feedforward_networks=1),
    'modernbert': dict(usual, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2),
    'convbert': small, 'nystromformer': usual, 'yoso': usual, 'canine': usual,
}
length = 20
for name, sizes in models.items():
    torch.manual_seed(0)
    config = AutoConfig.for_model(name, **sizes)
    model = AutoModel.from_config(config).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    for part in model.modules():
        if isinstance(part, torch.nn.Embedding) and part.padding_idx is not None:
            torch.nn.init.zeros_(part.weight[part.padding_idx])
    text = torch.randint(5, 100, (1, length))
    off = []
    with torch.no_grad():
        alone = model(input_ids=text, attention_mask=torch.ones_like(text)).last_hidden_state[0, :length]
        for other in 40, 120:
            batch = torch.full((2, other), getattr(config, 'pad_token_id', 0) or 0)
            batch[0, :length], batch[1] = text, torch.randint(5, 100, (other,))
            mask = torch.ones_like(batch)
            mask[0, length:] = 0
            together = model(input_ids=batch, attention_mask=mask).last_hidden_state[0, :length]
            off.append((together - alone).abs().max().item() / alone.abs().max().item())
    print(name, 'off by', ' and '.join('%.1e' % x for x in off), 'of the largest:', 'the same' if max(off) < 1e-4 else 'other' if min(off) > 0.05 else 'hm')
P
v/bin/python -W ignore read.py 2>/dev/null | tee said
expect() { grep -qE "^$1\$" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "transformers 5.24.0 PyTorch 2.15.0"
for name in bert roberta electra albert deberta deberta-v2 mpnet squeezebert roformer longformer distilbert xlnet mobilebert modernbert; do
  expect "$name off by .*: the same"
done
for name in convbert nystromformer yoso canine; do expect "$name off by .*: other"; done
echo "as described at the top of this file"
