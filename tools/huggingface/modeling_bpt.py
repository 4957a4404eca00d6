"""Models of bpt in plain PyTorch: BP-Transformer, SegTree-Transformer, Transformer and Star-Transformer as language models, classifiers and
taggers. Their numbers are those of bpt up to rounding. Texts of a batch may be padded on either side: `attention_mask` says where.

This is the plain formulation: it gathers the nodes that each node reads. For speed, long texts and small memory use bpt itself.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling, CausalLMOutput, SequenceClassifierOutput, TokenClassifierOutput

from .configuration_bpt import BptConfig
from .crf_bpt import Crf
from .graph_bpt import GRAPHS, level_sizes, relative_rows

LARGEST_GATHER = 1 << 24  # numbers of keys that are gathered at a time


def attend(q, k, v, ok, drop, extra=0):
    """softmax(q k^T / sqrt(d)) v of each head (Vaswani et al. 2017, equation 1), over the keys that are there.

    q [B, Q, H, d], k and v [B, Q or 1, W, H, d], ok [B, Q or 1, W], extra [B, Q, H, W] is added to q k^T. Returns [B, Q, H d].
    """
    score = (torch.einsum("bqhd,bqwhd->bqhw", q, k) + extra) / math.sqrt(q.shape[-1])
    score = score.masked_fill(~ok[:, :, None], torch.finfo(score.dtype).min)
    return torch.einsum("bqhw,bqwhd->bqhd", drop(score.softmax(-1)), v).flatten(2)


def norm(c):
    """LayerNorm, or RMSNorm without mean and bias (Zhang and Sennrich 2019)."""
    return nn.RMSNorm(c.d_model, eps=1e-5) if c.norm == "rms" else nn.LayerNorm(c.d_model)


def rotate(x, positions):
    """Rotary positions (Su et al. 2021): columns i and i + d / 2 of each head by the angle p / 10000^(2i / d). x [B, N, H, d], p [N]."""
    pairs = x.shape[-1] // 2
    angle = positions[:, None] * 10000 ** -(torch.arange(pairs, dtype=torch.float64, device=x.device) / pairs)
    cosine, sine = (f(angle).to(x.dtype)[None, :, None] for f in (torch.cos, torch.sin))
    a, b = x[..., :pairs], x[..., pairs:]
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1)


def node_positions(c, n, nodes, device):
    """Of a token its index, of a span the mean of its tokens' (whether they are there or not), of a Transformer's node that reads all 0."""
    tokens = torch.arange(n, dtype=torch.float64, device=device)
    if c.model == "transformer":
        return F.pad(tokens, (0, nodes - n))
    levels = [torch.arange(size, dtype=torch.float64, device=device) * 2**j + (2**j - 1) / 2 for j, size in enumerate(level_sizes(n))]
    return torch.cat(levels)[:nodes]


class Attention(nn.Module):
    """Self-attention over a graph; relative positions are added to keys: score = q (k + r) / sqrt(d) (Ye et al. 2019, section 3.3)."""

    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(c.d_model, c.d_model, bias=False) for _ in range(4))
        rows = relative_rows(c)
        self.rel_key = nn.Embedding(rows, c.d_model // c.heads) if rows else None
        self.drop = nn.Dropout(c.dropout_attention)

    def read(self, q, k, v, reads, first, end):
        """What nodes first .. end - 1 of those of `reads` take in."""
        q = q[:, reads.first + first : reads.first + end]
        shared = len(reads.keys) == 1  # all of them read the same keys
        keys = reads.keys if shared else reads.keys[first:end]
        ok = reads.ok if reads.ok.shape[1] == 1 else reads.ok[:, first:end]
        extra = 0
        if self.rel_key is not None and reads.rows is not None:
            rows = reads.rows[first:end][None, :, None].expand(*q.shape[:3], -1)
            extra = torch.einsum("bqhd,rd->bqhr", q, self.rel_key.weight).gather(3, rows)
        return attend(q, k[:, keys], v[:, keys], ok, self.drop, extra)

    def forward(self, x, graph, positions):
        q, k, v = (proj(x).unflatten(-1, (self.heads, -1)) for proj in (self.q_proj, self.k_proj, self.v_proj))
        if positions is not None:
            q, k = rotate(q, positions), rotate(k, positions)
        out = []
        for reads in graph.reads:
            count = reads.end - reads.first
            step = max(1, LARGEST_GATHER // (len(x) * reads.keys.shape[1] * x.shape[2]))
            out += [self.read(q, k, v, reads, first, min(first + step, count)) for first in range(0, count, step)]
        return self.out_proj(torch.cat(out, 1))


class FeedForward(nn.Module):
    """W_2 max(0, W_1 x + b_1) + b_2 (Vaswani et al. 2017, equation 2), or W_2 (swish(W_g x) * W_1 x) (Shazeer 2020, SwiGLU)."""

    def __init__(self, c):
        super().__init__()
        gated = c.ffn == "swiglu"
        self.gate = nn.Linear(c.d_model, c.d_ff, bias=False) if gated else None
        self.fc1, self.fc2 = nn.Linear(c.d_model, c.d_ff, bias=not gated), nn.Linear(c.d_ff, c.d_model, bias=not gated)
        self.drop = nn.Dropout(c.dropout_hidden)

    def forward(self, x):
        h = F.relu(self.fc1(x)) if self.gate is None else F.silu(self.gate(x)) * self.fc1(x)
        return self.fc2(self.drop(h))


class GraphLayer(nn.Module):
    """h = LN(h + W_o attention), h = LN(h + FFN(h)), of all nodes together."""

    def __init__(self, c):
        super().__init__()
        self.attn, self.attn_norm = Attention(c), norm(c)
        self.ffn, self.ffn_norm = FeedForward(c), norm(c)
        self.drop = nn.Dropout(c.dropout_hidden)

    def forward(self, x, graph, positions):
        x = self.attn_norm(x + self.drop(self.attn(x, graph, positions)))
        return self.ffn_norm(x + self.drop(self.ffn(x)))


class GraphStack(nn.ModuleList):
    """Layers over a graph of tokens and spans; spans, and the node that reads a whole text, begin as zeros (Ye et al. 2019, section 3)."""

    def __init__(self, c):
        super().__init__(GraphLayer(c) for _ in range(c.layers))
        self.shape, self.graph = c, GRAPHS[c.model]

    def forward(self, x, lengths):
        n = x.shape[1]
        graph = self.graph(self.shape, n, lengths)
        x = F.pad(x, (0, 0, 0, graph.nodes - n))
        positions = node_positions(self.shape, n, graph.nodes, x.device) if self.shape.positions == "rotary" else None
        for layer in self:
            x = layer(x, graph, positions)
        root = x[torch.arange(len(x), device=x.device), graph.roots] if graph.roots is not None else None
        return x[:, :n], root


class StarAttention(nn.Module):
    """Attention of queries over contexts of their own, with biases; A = heads * head_dim columns inside."""

    def __init__(self, c):
        super().__init__()
        self.heads, inner = c.heads, c.heads * c.head_dim
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(c.d_model, inner) for _ in range(3))
        self.out_proj = nn.Linear(inner, c.d_model)
        self.drop = nn.Dropout(c.dropout_attention)

    def forward(self, x, context, ok):
        """x [B, Q, d], context [B, Q, W, d], ok [B, Q, W]."""
        q, k, v = (proj(y).unflatten(-1, (self.heads, -1)) for proj, y in ((self.q_proj, x), (self.k_proj, context), (self.v_proj, context)))
        return self.out_proj(attend(q, k, v, ok, self.drop))


class StarCycle(nn.Module):
    """A cycle of Star-Transformer (Guo et al. 2019, equations 4 to 7): the satellites, then the relay, which reads the new ones."""

    def __init__(self, c):
        super().__init__()
        self.ring, self.star = StarAttention(c), StarAttention(c)
        self.ring_norm, self.star_norm = norm(c), norm(c)
        self.reads_ring, self.reads_relay = c.ring, c.radical

    def forward(self, h, relay, embedded, neighbours, there):
        """h, embedded [B, n, d], relay [B, 1, d], neighbours: two index tensors [B, n], there [B, n]."""
        near = [torch.take_along_dim(h, index[..., None], 1) for index in neighbours] if self.reads_ring else []
        context = near + [h, embedded] + ([relay.expand_as(h)] if self.reads_relay else [])
        context = torch.stack(context, 2)
        h = self.ring_norm(F.relu(self.ring(h, context, torch.ones_like(context[..., 0], dtype=torch.bool))))
        read = torch.cat([relay, h], 1)[:, None]
        ok = F.pad(there, (1, 0), value=True)[:, None]
        return h, self.star_norm(F.relu(self.star(relay, read, ok)))


class StarStack(nn.ModuleList):
    """Cycles; the relay begins as the mean of the embedded tokens. The ring of a text closes at its own length."""

    def __init__(self, c):
        super().__init__(StarCycle(c) for _ in range(c.layers))

    def forward(self, x, lengths):
        i, length = torch.arange(x.shape[1], device=x.device), lengths[:, None]
        there = i < length
        neighbours = ((i - 1) % length, (i + 1) % length)
        h, relay = x, mean(x, there)[:, None]
        for cycle in self:
            h, relay = cycle(h, relay, x, neighbours, there)
        return h, relay[:, 0]


STACKS = {**dict.fromkeys(GRAPHS, GraphStack), "star": StarStack}


def mean(x, there):
    """Of the tokens that are there: x [B, n, d], there [B, n]."""
    return (x * there[..., None]).sum(1) / there.sum(1, keepdim=True)


def largest(x, there):
    return x.masked_fill(~there[..., None], -math.inf).amax(1)


# The state of a whole text: `own` is that of the root or of the relay (Guo et al. 2019, section 3.3: relay + max).
POOLS = {"root": lambda own, x, there: own, "relay": lambda own, x, there: own, "mean": lambda own, x, there: mean(x, there),
         "max": lambda own, x, there: largest(x, there), "relay-max": lambda own, x, there: own + largest(x, there)}


def sinusoids(n, width, device):
    """Positions as sines and cosines by turns (Vaswani et al. 2017, section 3.5), [n, width]."""
    i = torch.arange(0, width, 2, dtype=torch.float64, device=device)
    angle = torch.arange(n, dtype=torch.float64, device=device)[:, None] * 10000 ** (-i / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width].float()


class Head(nn.Linear):
    """The output layer, behind a hidden layer where there is one. Tied, it has no matrix of its own."""

    def __init__(self, c, outputs):
        super().__init__(c.d_mlp or c.d_model, outputs)
        self.mlp = nn.Linear(c.d_model, c.d_mlp) if c.d_mlp else None
        self.drop = nn.Dropout(c.dropout_head)
        if c.tied:
            self.weight = None

    def forward(self, x, tied):
        x = self.drop(x)
        if self.mlp is not None:
            x = self.drop(F.relu(self.mlp(x)))
        return F.linear(x, tied if self.weight is None else self.weight, self.bias)


class BptPreTrainedModel(PreTrainedModel):
    """Embedding and layers; names of weights are those of bpt."""

    config_class = BptConfig
    base_model_prefix = ""
    _no_split_modules = ["GraphLayer", "StarCycle"]

    def __init__(self, config):
        super().__init__(config)
        c = self.shape = config.shape
        if c.model not in STACKS:
            raise ValueError(f"models of kind {c.model} are not among those that this file has: {', '.join(STACKS)}")
        self.embed = nn.Embedding(c.vocab, c.d_embed)
        self.embed_proj = nn.Linear(c.d_embed, c.d_model) if c.d_embed != c.d_model else None
        self.pos_embed = nn.Embedding(c.max_positions, c.d_model) if c.positions == "absolute" else None
        self.embed_norm = norm(c) if STACKS[c.model] is GraphStack else None
        self.drop = nn.Dropout(c.dropout_input)
        self.layers = STACKS[c.model](c)

    def get_input_embeddings(self):
        return self.embed

    def start(self, ids):
        """Tokens and their positions, [B, n, d_model]."""
        c, n = self.shape, ids.shape[1]
        x = self.embed(ids)
        x = x if self.embed_proj is None else self.embed_proj(x)
        x = x * math.sqrt(c.d_model) if c.embed_scale else x
        if self.pos_embed is not None:
            if n > c.max_positions:
                raise ValueError(f"{n} tokens are more than the model's {c.max_positions} positions; give fewer (truncation=True)")
            x = x + self.pos_embed.weight[:n]
        elif c.positions == "sinusoidal":
            x = x + sinusoids(n, c.d_model, x.device).to(x.dtype)
        x = self.drop(x)
        return x if self.embed_norm is None else self.embed_norm(x)

    def encode(self, input_ids, attention_mask=None):
        """The states of the tokens [B, n, d_model], zeros in the padding, and those of whole texts [B, d_model], if the task wants them."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        there = mask != 0
        if not bool(there.any(1).all()):
            raise ValueError("a text of the batch has no token")
        order = (~there).long().argsort(dim=1, stable=True)  # tokens to the front: positions and trees are those of the text alone
        lengths = there.sum(1)
        order = order[:, : int(lengths.max())]
        front = torch.arange(order.shape[1], device=order.device) < lengths[:, None]
        ids = input_ids.gather(1, order).masked_fill(~front, 0)
        x, own = self.layers(self.start(ids), lengths)
        pooled = POOLS[self.shape.pool](own, x, front) if self.shape.task == "classify" else None
        states = x.new_zeros(*input_ids.shape, x.shape[2])
        return states.scatter(1, order[..., None].expand_as(x), x * front[..., None]), pooled


class BptModel(BptPreTrainedModel):
    """The states behind the last layer, without a head."""

    _keys_to_ignore_on_load_unexpected = [r"^head\.", r"^crf\."]

    def __init__(self, config):
        super().__init__(config)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, **kwargs):
        states, pooled = self.encode(input_ids, attention_mask)
        return BaseModelOutputWithPooling(last_hidden_state=states, pooler_output=pooled)


class BptForCausalLM(BptPreTrainedModel, GenerationMixin):
    """A language model. It keeps no state between tokens, so `generate` computes the whole text for each one."""

    def __init__(self, config):
        super().__init__(config)
        self.head = Head(self.shape, self.shape.vocab)
        self.post_init()

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(self, input_ids, attention_mask=None, labels=None, **kwargs):
        """logits [B, n, vocab] of the token behind each. labels [B, n]: the tokens themselves, -100 where none counts; loss: the mean."""
        logits = self.head(self.encode(input_ids, attention_mask)[0], self.embed.weight)
        loss = None if labels is None else F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)


class BptForSequenceClassification(BptPreTrainedModel):
    """A classifier of whole texts."""

    def __init__(self, config):
        super().__init__(config)
        self.head = Head(self.shape, self.shape.classes)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, labels=None, **kwargs):
        """logits [B, classes]; labels [B]: classes, for the mean loss."""
        logits = self.head(self.encode(input_ids, attention_mask)[1], None)
        return SequenceClassifierOutput(loss=None if labels is None else F.cross_entropy(logits, labels), logits=logits)


class BptForTokenClassification(BptPreTrainedModel):
    """A tagger. With a CRF the logits are its scores of single tags, and `best_tags` has the most likely tags of the text together."""

    def __init__(self, config):
        super().__init__(config)
        self.head = Head(self.shape, self.shape.classes)
        self.crf = Crf(self.shape.classes) if self.shape.crf else None
        self.post_init()

    def best_tags(self, logits, attention_mask=None):
        """Tags [B, n] of logits [B, n, classes]; -100 in the padding."""
        there = torch.ones_like(logits[..., 0], dtype=torch.bool) if attention_mask is None else attention_mask != 0
        if self.crf is None:
            return logits.argmax(-1).masked_fill(~there, -100)
        tags = torch.full(there.shape, -100, device=logits.device)
        for text, mask, out in zip(logits, there, tags):
            out[mask] = self.crf.best(text[mask])
        return tags

    def forward(self, input_ids, attention_mask=None, labels=None, **kwargs):
        """logits [B, n, classes]; labels [B, n]: tags, -100 where none counts. loss: the mean over tags, with a CRF over texts."""
        logits = self.head(self.encode(input_ids, attention_mask)[0], None)
        loss = None
        if labels is not None and self.crf is None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        elif labels is not None:
            loss = torch.stack([self.crf.loss(text[tags >= 0], tags[tags >= 0]) for text, tags in zip(logits, labels)]).mean()
        return TokenClassifierOutput(loss=loss, logits=logits)
