"""Who reads whom in bpt's attention graphs, for sequences of n tokens in a batch with `lengths` [B] tokens each.

Nodes are numbered level by level: the tokens 0 .. n - 1, then the spans of two tokens, of four, .. up to the root, which reads all. Span m of
level j covers the tokens m 2^j to (m + 1) 2^j - 1. A Transformer has no spans; where a state of the whole text is wanted, node n reads it.
"""
from collections import namedtuple

import torch

# Nodes first .. end - 1 read `keys` [queries or 1, W]: node numbers. `ok` [B, queries or 1, W] says which of them are there. `rows`: the
# row of each edge in the table of relative positions; None where they have none.
Reads = namedtuple("Reads", "first end keys rows ok")
# `roots` [B]: the node that has read the whole text; None: there is none.
Graph = namedtuple("Graph", "nodes reads roots")


def level_sizes(n):
    """Nodes of each level: n, ceil(n / 2), .., 1."""
    sizes = [n]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    return sizes


def bpt_level(c, i, j, size, right):
    """The nodes of level j that token i reads on one side: Ye et al. 2019 (BP-Transformer), section 3.2.2.

    i [n, 1], size [B, 1, 1] (nodes of the level). Returns nodes [n, W], which of them are there [B, n, W], ranks W of relative positions.
    k nodes from the near to the far, and one more where the sibling of the last one would be left over. `rule` reference: k slots, of which
    the first holds the sibling that the level below left over, as in the authors' released code.
    """
    k = c.k
    s = torch.arange(k + 1, device=i.device)
    if c.rule == "paper":
        if right:
            begin = ((i - k + 2**j) >> j) + k
            end = begin + k + ((begin + k) & 1)
            key = begin + s
            return key, (key < end) & (key < size), s
        nearest = ((i + k) >> j) - k - 1
        key = nearest - s
        begin = nearest + 1 - k - ((nearest + 1 - k) & 1)
        return key, ((key >= begin) & (key >= 0)).expand(len(size), -1, -1), s
    s = s[:k]
    regular = (s > 0) | ~left_over(k, i, j, right)
    if right:
        key = ((i + 1 - k) >> j) + k + s
        return key, (key < size) & regular, s
    key = ((i - 1 + k) >> j) - k - s
    return key, ((key >= 0) & regular).expand(len(size), -1, -1), s


def left_over(k, i, j, right):
    """Rule reference: whether slot 0 of level j holds a node of the level below, [n, 1]."""
    if j == 0:
        return torch.zeros_like(i, dtype=torch.bool)
    return (i + 1 - k) >> (j - 1) & 1 == 1 if right else (i - 1 + k) >> (j - 1) & 1 == 0


def bpt_residual(k, i, j, below, size, right):
    """Rule reference: the node of level j - 1 in slot 0 of level j > 0, where there is one. Released code of Ye et al. 2019."""
    there = left_over(k, i, j, right)
    if right:
        nearest = ((i + 1 - k) >> j) + k
        key = 2 * nearest + 1
        return key, there & (nearest < size) & (key < below)
    nearest = ((i - 1 + k) >> j) - k
    return 2 * nearest, (there & (nearest >= 0)).expand(len(size), -1, -1)


def segtree_level(c, i, j, size, length, right):
    """The nodes of level j in the smallest cover of the text that holds token i and its two neighbours: Ye et al. 2019 (SegTree)."""
    side = i + 1 if right else i - 1
    there = ((side < length) if right else (side >= 0)) & torch.ones_like(size, dtype=torch.bool)
    near = side >> j
    sibling = near + 1 if right else near - 1
    ok = there & ((near & 1 == 0) & (sibling < size) if right else (near & 1 == 1))
    if j:
        return sibling, ok
    return torch.cat([near, sibling], -1), torch.cat([there, ok], -1)


def tree_reads(c, n, lengths):
    """Edges of the tokens in graphs with spans: columns (keys [n, W], rows [n, W], ok [B, n, W]) of every level and side."""
    i = torch.arange(n, device=lengths.device)[:, None]
    length = lengths[:, None, None]
    columns = [(i, torch.zeros_like(i), (i < length))]
    width = c.k + 1 if c.model == "bpt" else 1
    offset = 0
    for j, nodes in enumerate(level_sizes(n)):
        size = ((length - 1) >> j) + 1
        for right in (False,) if c.causal else (False, True):
            row = 1 + (2 * min(j, c.rel_levels - 1) + right) * width
            if c.model == "segtree":
                key, ok = segtree_level(c, i, j, size, length, right)
                columns.append((offset + key, torch.full_like(key, row), ok))
                continue
            key, ok, rank = bpt_level(c, i, j, size, right)
            columns.append((offset + key, (row + rank).expand_as(key), ok))
            if c.rule == "reference" and j:
                below = level_sizes(n)[j - 1]
                key, ok = bpt_residual(c.k, i, j, ((length - 1) >> (j - 1)) + 1, size, right)
                columns.append((offset - below + key, torch.full_like(key, row), ok))
        offset += nodes
    return columns


def tree_graph(c, n, lengths):
    """Tokens read by the kind's rule, spans their tokens (SegTree's with span_self themselves too); the root is that of the true length."""
    sizes, device = level_sizes(n), lengths.device
    keys, rows, ok = (torch.cat(part, -1) for part in zip(*tree_reads(c, n, lengths)))
    relative = c.positions == "relative"
    reads = [Reads(0, n, keys.clamp(0, sum(sizes) - 1), rows if relative else None, ok)]
    offsets = [0, n]
    for j, nodes in enumerate(sizes[1:], 1):
        m = torch.arange(nodes, device=device)[:, None]
        keys = (m << j) + torch.arange(2**j, device=device)
        ok = keys < lengths[:, None, None]
        rows = None
        if c.span_self:
            rows = torch.full_like(keys, 2 * c.rel_levels + min(j, c.rel_levels))
            rows = torch.cat([torch.zeros_like(m), rows], 1) if relative else None
            ok = torch.cat([torch.ones_like(ok[..., :1]), ok], -1)
            keys = torch.cat([offsets[j] + m, keys.clamp(max=n - 1)], 1)
        reads.append(Reads(offsets[j], offsets[j] + nodes, keys.clamp(max=sum(sizes) - 1), rows, ok))
        offsets.append(offsets[j] + nodes)
    roots = torch.tensor([offsets[(int(length) - 1).bit_length()] if length > 1 else 0 for length in lengths.tolist()], device=device)
    return Graph(sum(sizes), reads, roots)


def flat_graph(c, n, lengths):
    """Each token reads all, those within `window`, or its block of `stride` tokens and the last `tail` of each earlier one (Child et al.
    2019). Relative positions are distances: row 2 d - 1 for d to the left, 2 d to the right, as far as the table goes."""
    i = torch.arange(n, device=lengths.device)
    distance = i[None, :] - i[:, None]
    ok = distance <= 0 if c.causal or c.attention == "sparse" else torch.ones_like(distance, dtype=torch.bool)
    if c.attention == "window":
        ok = ok & (distance.abs() <= c.window)
    if c.attention == "sparse":
        block = i // c.stride
        ok = ok & ((block[:, None] == block[None, :]) | (i % c.stride >= c.stride - c.tail)[None, :])
    rows = None
    if relative_rows(c):
        far = distance.abs().clamp(max=c.rel_levels)
        rows = torch.where(distance < 0, 2 * far - 1, 2 * far)
    there = i < lengths[:, None, None]
    reads = [Reads(0, n, i[None], rows, ok & there)]
    if c.task != "classify" or c.pool != "root":
        return Graph(n, reads, None)
    return Graph(n + 1, reads + [Reads(n, n + 1, i[None], None, there)], torch.full_like(lengths, n))


GRAPHS = {"bpt": tree_graph, "segtree": tree_graph, "transformer": flat_graph}


def relative_rows(c):
    """Rows of a layer's table of relative positions; 0: none. Row 0 is a node itself; levels past the table share its last rows."""
    if c.positions != "relative" or c.attention == "sparse":
        return 0
    if c.model == "bpt":
        return 1 + 2 * c.rel_levels * (c.k + 1)
    return 1 + (3 if c.span_self else 2) * c.rel_levels
