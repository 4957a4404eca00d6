"""Attention and its gradient by a dense matrix of scores, in double: what the op is held against."""
import numpy as np


def times_read(graph):
    """How often each query reads each key [Q, K]: more than once where ranges of a table overlap."""
    if not hasattr(graph, "_words"):
        return graph.mask().astype(float)
    count = np.zeros((graph.queries, graph.keys))
    for query, ranges in enumerate(graph._words[0]):
        for begin, end in ranges[:, :2]:
            count[query, begin:end] += 1
    return count


def attention(q, k, v, count, scale=None, dout=None, bias=None):
    """[.., Q, D] and gradients for a count [.., Q, K]. bias: [.., Q, K], added to the scores before they are scaled."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    scores = scale * (q @ k.swapaxes(-1, -2) + (0 if bias is None else bias))
    weights = count * np.exp(scores - scores.max(axis=-1, keepdims=True))
    sums = weights.sum(axis=-1, keepdims=True)
    share = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    out = share @ v
    if dout is None:
        return out
    dshare = np.asarray(dout, dtype=np.float64) @ v.swapaxes(-1, -2)
    dscores = scale * share * (dshare - (share * dshare).sum(axis=-1, keepdims=True))
    return out, dscores @ k, dscores.swapaxes(-1, -2) @ q, share.swapaxes(-1, -2) @ dout
