"""Attention graphs: which keys each query reads, as rules and as tables of ranges."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._library import check, ffi, lib, need, number

NO_ROW = 0xFFFFFFFF  # a range of a table without relative positions


class Graph:
    """A graph that follows from numbers. Rows of arrays are its nodes: the n leaves first, then its spans, level by level.

    Attributes:
        n: leaves.
        nodes: rows of keys and values, and of queries unless they are the leaves alone.
        rel_rows: rows of the table of relative positions; 0: there is none.
    """

    _kind: str
    _fields: Dict[str, str] = {}  # of the library's description, by our attributes
    n: int

    def __post_init__(self) -> None:
        self._intervals  # noqa: B018 - a graph that is none is refused where it is written

    @cached_property
    def _intervals(self) -> Any:
        graph = ffi.new("bpt_intervals_t *")
        graph.kind = getattr(lib, f"BPT_INTERVALS_{self._kind}")
        for theirs, ours in {"n": "n", "causal": "causal", "rel_levels": "rel_levels", **self._fields}.items():
            try:
                setattr(graph, theirs, getattr(self, ours))
            except (TypeError, OverflowError) as problem:
                need(False, f"{ours} of a graph is {getattr(self, ours)!r}: {problem}")
        check(lib.bpt_intervals_check(graph))
        return graph

    @cached_property
    def nodes(self) -> int:
        return int(lib.bpt_node_count(self._intervals))

    @cached_property
    def rel_rows(self) -> int:
        return int(lib.bpt_rel_rows(self._intervals))

    def ranges(self, query: int, length: Optional[int] = None) -> List[Tuple[int, int]]:
        """The keys that a node reads, as ranges [begin, end), in a sequence of `length` leaves (default: n)."""
        length = self.n if length is None else length
        need(1 <= length <= self.n, f"the graph is for 1 to {self.n} leaves, not {length}")
        slots = ffi.new("bpt_slot_t[]", lib.BPT_MAX_SLOTS)
        count = lib.bpt_intervals_keys(self._intervals, length, query, slots)
        return [(slots[i].begin, slots[i].end) for i in range(count)]

    def mask(self, length: Optional[int] = None) -> np.ndarray:
        """The graph as a dense matrix, bool [nodes, nodes]: row i is what node i reads. For pictures and checks."""
        mask = np.zeros((self.nodes, self.nodes), dtype=bool)
        for query in range(self.nodes):
            for begin, end in self.ranges(query, length):
                mask[query, begin:end] = True
        return mask


@dataclass(frozen=True)
class BPT(Graph):
    """BP-Transformer (Ye et al. 2019, section 3.2): a leaf reads about k nodes a side on each level of a binary tree over n leaves, a
    span its leaves.

    Args:
        n: leaves (tokens) of a sequence; shorter ones by `lengths` of the op.
        k: nodes a level and side, at least 1.
        causal: leaves read what lies on their left alone.
        reference_rule: the ranges of the authors' released code instead of the paper's.
        trimmed: with causal: without the spans that no leaf reads.
        rel_levels: levels that the table of relative positions tells apart; it has 1 + 2 rel_levels (k + 1) rows. 0: no table.
    """

    n: int
    k: int
    causal: bool = False
    reference_rule: bool = False
    trimmed: bool = False
    rel_levels: int = 0
    _kind = "BPT"
    _fields = {"k": "k", "reference_rule": "reference_rule", "trimmed": "trimmed"}


@dataclass(frozen=True)
class SegTree(Graph):
    """SegTree-Transformer (Ye et al. 2019): a leaf reads its neighbours and the fewest spans that cover the rest, a span its leaves (and
    with span_self itself)."""

    n: int
    causal: bool = False
    span_self: bool = False
    trimmed: bool = False
    rel_levels: int = 0
    _kind = "SEGTREE"
    _fields = {"span_self": "span_self", "trimmed": "trimmed"}


@dataclass(frozen=True)
class Window(Graph):
    """Leaves read the leaves at a distance of at most `window`. root: one more node, number n, that reads every leaf.

    rel_levels: the largest distance that the table of relative positions tells apart; it has 1 + 2 rel_levels rows.
    """

    n: int
    window: int
    causal: bool = False
    root: bool = False
    rel_levels: int = 0
    _kind = "WINDOW"
    _fields = {"window": "window", "root": "root"}


@dataclass(frozen=True)
class Dense(Graph):
    """Leaves read all leaves (causal: those before, and themselves). root, rel_levels: as of Window."""

    n: int
    causal: bool = False
    root: bool = False
    rel_levels: int = 0
    _kind = "DENSE"
    _fields = {"root": "root"}


@dataclass(frozen=True)
class Sparse(Graph):
    """The fixed pattern of Child et al. 2019: leaves read their block of `stride` leaves and the last `tail` of the blocks before."""

    n: int
    stride: int
    tail: int
    causal: bool = False
    root: bool = False
    rel_levels: int = 0
    _kind = "SPARSE"
    _fields = {"stride": "stride", "tail": "tail", "root": "root"}


class Table:
    """Any other graph, also between rows of different arrays: what each query reads, as ranges of keys.

    Args:
        ranges: integers [Q, S, 2] = begin, end of the S ranges of a query (begin = end: an empty one), or [B, Q, S, 2], a table for each
            sequence. With 4 in place of 2: also the row of `rel` of the first key (NO_ROW: none), and the step from a key's row to that of
            the next one. Ranges of a query may overlap, unless there is a `rel`: a key then counts as often as it is read.
        keys: K, rows of keys.
        rel_rows: rows of the table of relative positions; 0: there is none.

    Row numbers are below 2^31. Results do not change when the array that was given is written to later.
    """

    def __init__(self, ranges: Any, keys: int, rel_rows: int = 0) -> None:
        given = np.asarray(ranges)
        need(given.dtype.kind in "iu", f"ranges have numbers of type {given.dtype}; they must be integers")
        need(given.ndim in (3, 4) and given.shape[-1] in (2, 4),
             f"ranges have the shape {list(given.shape)}; [queries, slots, 2 or 4] or [batch, queries, slots, 2 or 4] is needed")
        need(given.size, "ranges are empty; a query that reads nothing has one range from 0 to 0")
        bounds = given[..., :2]
        need(bounds.min() >= 0 and bounds.max() < 1 << 31, "a range begins or ends below 0 or above 2^31")
        words = np.empty((*given.shape[:-1], 4), dtype=np.uint32)
        words[..., :2] = bounds
        words[..., 2:] = (NO_ROW, 0) if given.shape[-1] == 2 else given[..., 2:].astype(np.int64) & NO_ROW
        self._words = np.ascontiguousarray(words if given.ndim == 4 else words[None])
        self.keys = number(int, keys, "keys")
        self.rel_rows = number(int, rel_rows, "rel_rows")
        self.tables, self.queries, self.slots = self._words.shape[:3]

    @classmethod
    def from_mask(cls, mask: Any) -> "Table":
        """The table of a dense mask, bool [Q, K]: query i reads key j where mask[i, j]."""
        dense = np.asarray(mask)
        need(dense.dtype == bool and dense.ndim == 2 and dense.size, "a mask is an array of bool [queries, keys]")
        edges = np.diff(np.pad(dense.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        rows, begins = np.nonzero(edges == 1)
        ends = np.nonzero(edges == -1)[1]
        counts = np.bincount(rows, minlength=len(dense))
        ranges = np.zeros((len(dense), max(1, counts.max()), 2), dtype=np.int64)
        slots = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        ranges[rows, slots] = np.stack([begins, ends], axis=1)
        return cls(ranges, dense.shape[1])

    def mask(self) -> np.ndarray:
        """The table as a dense matrix, bool [Q, K] (the first table, where each sequence has one)."""
        mask = np.zeros((self.queries, self.keys), dtype=bool)
        for query, ranges in enumerate(self._words[0]):
            for begin, end in ranges[:, :2]:
                mask[query, begin:end] = True
        return mask
