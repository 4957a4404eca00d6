"""The configuration of a model that `bpt export --format hf` wrote.

config.json has the model part of bpt's own configuration under `bpt`, with the same keys; the rest is what transformers asks of every model.
"""
from types import SimpleNamespace

from transformers import PretrainedConfig

# What a key is where the file is silent about it.
DEFAULTS = dict(causal=False, rule="paper", span_self=False, attention="dense", window=0, stride=0, tail=0, rel_levels=0, max_positions=0,
                embed_scale=False, norm="layer", ffn="relu", tied=False, pool="root", ring=True, radical=True, classes=0, d_mlp=0,
                crf=False, dropout_input=0.0, dropout_hidden=0.0, dropout_attention=0.0, dropout_head=0.0)


class BptConfig(PretrainedConfig):
    """`bpt`: the keys of bpt's configuration (`model`, `layers`, `d_model`, ..). `shape` has them as attributes, defaults included."""

    model_type = "bpt"

    def __init__(self, bpt=None, **kwargs):
        self.bpt = dict(bpt or {})
        for name, key in (("vocab_size", "vocab"), ("hidden_size", "d_model"), ("num_hidden_layers", "layers"),
                          ("num_attention_heads", "heads"), ("max_position_embeddings", "max_positions")):
            if key in self.bpt:
                kwargs[name] = self.bpt[key]
        kwargs.setdefault("tie_word_embeddings", False)  # a tied model has one matrix, not two that are tied
        kwargs.setdefault("use_cache", False)
        super().__init__(**kwargs)

    @property
    def shape(self):
        """The keys of bpt as attributes."""
        keys = {**DEFAULTS, **self.bpt}
        keys.setdefault("d_embed", keys["d_model"])
        keys.setdefault("head_dim", keys["d_model"] // keys["heads"])
        return SimpleNamespace(**keys)
