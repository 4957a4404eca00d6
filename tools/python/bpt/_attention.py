"""The op: sparse attention over a graph, with its gradient, on arrays in the memory of the host."""
from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._arrays import DTYPES, View, empty_like, is_tensor, pointer, strided, view
from ._graphs import Graph, Table
from ._library import check, ffi, lib, need, number

_MOST_OPS = 16  # that a device keeps ready


class _Device:
    """An open device with the ops that were used last. The library wants one thread at a time."""

    def __init__(self, backend: str, device: int, threads: int) -> None:
        name = ffi.new("char[]", backend.encode())
        options = ffi.new("bpt_attention_device_t *",
                          {"version": lib.BPT_ATTENTION_VERSION, "device": device, "backend": name, "threads": threads})
        out = ffi.new("struct bpt_device **")
        check(lib.bpt_attention_open_device(options, out))
        self.handle, self.lock, self.ops = out[0], threading.Lock(), OrderedDict()  # type: ignore[var-annotated]

    def op(self, key: Any, call: "_Call") -> Any:
        op = self.ops.pop(key, None) or call.create(self.handle)
        self.ops[key] = op
        if len(self.ops) > _MOST_OPS:
            lib.bpt_attention_op_destroy(self.ops.popitem(last=False)[1])
        return op

    def close(self) -> None:
        for op in self.ops.values():
            lib.bpt_attention_op_destroy(op)
        self.ops.clear()
        lib.bpt_attention_close_device(self.handle)


_devices: Dict[Tuple[str, int, int], _Device] = {}
_opening = threading.Lock()


def _device(backend: str, device: int, threads: int) -> _Device:
    key = (backend, device, threads)
    with _opening:
        if key not in _devices:
            _devices[key] = _Device(*key)
        return _devices[key]


def release() -> None:
    """Gives back the devices that bpt.attention has opened, with their memory and threads. The next call opens them again."""
    with _opening:
        while _devices:
            device = _devices.popitem()[1]
            with device.lock:
                device.close()


class _Call(NamedTuple):
    """What is computed, apart from the numbers: the key of an op that is ready."""

    graph: Union[Graph, Table]
    batch: int
    heads: int
    head_dim: int
    dtype: str
    leaves: bool
    scale: float
    device: Tuple[str, int, int]

    def create(self, device: Any) -> Any:
        spec = ffi.new("bpt_attention_spec_t *", {"version": lib.BPT_ATTENTION_VERSION, "dtype": DTYPES[self.dtype], "batch": self.batch,
                                                  "heads": self.heads, "head_dim": self.head_dim, "leaves": self.leaves,
                                                  "scale": self.scale})
        if isinstance(self.graph, Table):
            t = self.graph
            table = ffi.new("bpt_attention_table_t *",
                            {"queries": t.queries, "keys": t.keys, "slots": t.slots, "tables": t.tables, "rel_rows": t.rel_rows,
                             "ranges": pointer("uint32_t *", t._words)})
            spec.table = table
        else:
            spec.graph = self.graph._intervals[0]
        out = ffi.new("bpt_attention_op_t **")
        check(lib.bpt_attention_op_create(device, spec, out))
        return out[0]

    def rows(self) -> Tuple[int, int]:
        """Rows of queries and of keys of a sequence."""
        if isinstance(self.graph, Table):
            return self.graph.queries, self.graph.keys
        return (self.graph.n if self.leaves else self.graph.nodes), self.graph.nodes


class Operands:
    """The arrays of a call, looked at and found to fit together, and what is computed with them."""

    def __init__(self, q: Any, k: Any, v: Any, rel: Any, graph: Any, lengths: Any, queries: str, scale: Optional[float], backend: str,
                 device: int, threads: int) -> None:
        self.settings = (graph, lengths, queries, scale, backend, device, threads)
        views = {"q": view(q, "q"), "k": view(k, "k"), "v": view(v, "v")}
        shape = views["q"].array.shape
        need(isinstance(graph, (Graph, Table)), f"graph is {type(graph).__name__}; give bpt.BPT(n, k), another rule, or a bpt.Table")
        need(len(shape) in (3, 4), f"q has the shape {list(shape)}; [batch, heads, rows, head_dim] or [heads, rows, head_dim] is needed")
        need(queries in ("all", "leaves"), f"queries is {queries!r}; 'all' and 'leaves' are possible")
        need(queries == "all" or isinstance(graph, Graph), "a table has no leaves; it says itself what its queries are")
        scale = 0.0 if scale is None else number(float, scale, "scale")
        need(scale != 0 or self.settings[3] is None, "the scale is 0")
        self.dimensions = len(shape)
        self.call = _Call(graph, shape[0] if len(shape) == 4 else 1, shape[-3], shape[-1], views["q"].dtype, queries == "leaves",
                          scale, (str(backend), number(int, device, "device"), number(int, threads, "threads")))
        self._check_shapes(views, shape)
        self.views = views
        self.rel = self._rel(rel, graph)
        self.lengths = self._lengths(lengths)
        self.shape, self.lse_shape = shape, (*shape[:-3], shape[-2], shape[-3])

    def _check_shapes(self, views: Dict[str, View], shape: Tuple[int, ...]) -> None:
        rows = dict(zip("qkv", (self.call.rows()[0], self.call.rows()[1], self.call.rows()[1])))
        for name, v in views.items():
            wanted = (*shape[:-2], rows[name], shape[-1])
            need(v.array.shape == wanted, f"{name} has the shape {list(v.array.shape)}, and with this graph and q {list(wanted)} is needed")
            need(v.dtype == self.call.dtype, f"q has numbers of type {self.call.dtype} and {name} of type {v.dtype}; they must be the same")

    def _rel(self, rel: Any, graph: Any) -> Optional[np.ndarray]:
        if rel is None:
            need(not graph.rel_rows, f"the graph has {graph.rel_rows} rows of relative positions; give them as rel, or a graph without")
            return None
        v, wanted = view(rel, "rel"), (graph.rel_rows, self.call.head_dim)
        need(graph.rel_rows, "rel is there, and the graph has no relative positions; give the graph rel_levels (a table: rel_rows)")
        need(v.array.shape == wanted, f"rel has the shape {list(v.array.shape)}, and with this graph and q {list(wanted)} is needed")
        need(v.dtype == self.call.dtype, f"q has numbers of type {self.call.dtype} and rel of type {v.dtype}; they must be the same")
        return np.ascontiguousarray(v.array)

    def _lengths(self, lengths: Any) -> Optional[np.ndarray]:
        if lengths is None:
            return None
        array = np.asarray(lengths)
        need(array.dtype.kind in "iu" and array.shape == (self.call.batch,),
             f"lengths must be integers [{self.call.batch}], the leaves of each sequence")
        need(array.min() >= 0 and array.max() < 1 << 31, "a length is below 0 or above 2^31")
        return np.ascontiguousarray(array, dtype=np.uint32)

    def _given(self) -> Tuple[Any, Any]:
        arrays = {name: strided(v, self.dimensions) for name, v in self.views.items()}
        fields = {name: array for name, (array, _) in arrays.items()}
        if self.rel is not None:
            fields["rel"] = pointer("void *", self.rel)
        if self.lengths is not None:
            fields["lengths"] = pointer("uint32_t *", self.lengths)
        return ffi.new("bpt_attention_operands_t *", fields), arrays

    def _array(self, x: Any, name: str, shape: Tuple[int, ...]) -> Tuple[Any, np.ndarray]:
        v = view(x, name)
        need(v.array.shape == shape, f"{name} has the shape {list(v.array.shape)}, and {list(shape)} is needed")
        need(v.dtype == self.call.dtype, f"q has numbers of type {self.call.dtype} and {name} of type {v.dtype}; they must be the same")
        array, owner = strided(v, self.dimensions)
        return ffi.new("bpt_attention_array_t *", array), owner

    def forward(self, out: Any) -> np.ndarray:
        """Fills `out`, of q's shape. Returns the log-sum-exp of the scores, f32 [batch, rows, heads]."""
        lse = np.empty(self.lse_shape, dtype=np.float32)
        given, owners = self._given()
        to, _ = self._array(out, "out", self.shape)
        device = _device(*self.call.device)
        with device.lock:
            check(lib.bpt_attention_forward(device.op(self.call, self.call), given, to, pointer("float *", lse)))
        del owners
        return lse

    def backward(self, out: Any, lse: np.ndarray, dout: Any, gradients: Dict[str, Any], rel: Optional[np.ndarray]) -> None:
        """Fills the gradients of q, k, v that are there, and of rel, f32."""
        given, owners = self._given()
        o, o_owner = self._array(out, "out", self.shape)
        d, d_owner = self._array(dout, "dout", self.shape)
        need(lse.shape == self.lse_shape and lse.dtype == np.float32, f"lse must be float32 {list(self.lse_shape)}, as attention returned it")
        lse = np.ascontiguousarray(lse)
        wanted = ffi.new("bpt_attention_gradients_t *",
                         {name: strided(view(x, name), self.dimensions)[0] for name, x in gradients.items()})
        if rel is not None:
            wanted.rel = pointer("float *", rel)
        device = _device(*self.call.device)
        with device.lock:
            op = device.op(self.call, self.call)
            check(lib.bpt_attention_backward(op, given, o, pointer("float *", lse), d, wanted))
        del owners, o_owner, d_owner

    def empty_rel(self) -> Optional[np.ndarray]:
        return None if self.rel is None else np.empty(self.rel.shape, dtype=np.float32)


def attention(q: Any, k: Any, v: Any, *, graph: Union[Graph, Table], rel: Any = None, lengths: Any = None, queries: str = "all",
              scale: Optional[float] = None, return_lse: bool = False, backend: str = "cpu", device: int = 0, threads: int = 0) -> Any:
    """Sparse attention over a graph: softmax(scale q k^T) v, where each query reads the keys that the graph says, and no others.

    Args:
        q: [B, H, Q, D], or [H, Q, D] for one sequence: float32, float16 or bfloat16; an array of NumPy, a tensor of PyTorch in the memory
            of the host, or another array that speaks DLPack. It is read in place, in any order of dimensions: for arrays [B, rows, H, D]
            give x.swapaxes(1, 2). Tensors that require gradients get them.
        k, v: [B, H, K, D], of the same type. A graph with a rule has K = graph.nodes rows: its leaves, then its spans.
        graph: bpt.BPT, bpt.SegTree, bpt.Window, bpt.Dense, bpt.Sparse, or a bpt.Table of ranges.
        rel: [graph.rel_rows, D], of graphs with relative positions: a score is then scale (q . k + q . rel[row of the edge]).
        lengths: integers [B], leaves of each sequence. Rows beyond read nothing, are read by nobody, and are zero.
        queries: "all": Q = graph.nodes; "leaves": Q = graph.n.
        scale: default 1 / sqrt(D).
        return_lse: also return the log of the sum of the exponentials of the scores, float32 [B, Q, H], for attention_backward.
        backend, device: where it is computed, as `bpt devices` lists them; never another one than the one that is named.
        threads: of the cpu backend; 0: all.

    Returns:
        [B, H, Q, D], of q's type and library, with q's order of dimensions in memory; with return_lse a pair.

    Raises:
        Error: arrays that do not fit, a number that is not finite, a backend that is not there.

    Sums are float32. The same arrays on the same device give the same bits. The interpreter's lock is released meanwhile.
    """
    operands = Operands(q, k, v, rel, graph, lengths, queries, scale, backend, device, threads)
    if is_tensor(q):
        from ._torch import attention as of_tensors

        out, lse = of_tensors(q, k, v, rel, operands)
    else:
        out = empty_like(q, operands.shape)
        lse = operands.forward(out)
    return (out, lse) if return_lse else out


def attention_backward(q: Any, k: Any, v: Any, out: Any, lse: Any, dout: Any, *, graph: Union[Graph, Table], rel: Any = None,
                       lengths: Any = None, queries: str = "all", scale: Optional[float] = None, backend: str = "cpu", device: int = 0,
                       threads: int = 0) -> Any:
    """The gradients of attention, for arrays of NumPy. (Tensors of PyTorch get theirs by backward().)

    Args:
        out, lse: what attention(..., return_lse=True) gave for the same arguments.
        dout: [B, H, Q, D], the gradient of a number with respect to out.

    Returns:
        (dq, dk, dv), of the shapes of q, k, v; with rel (dq, dk, dv, drel), drel float32.
    """
    operands = Operands(q, k, v, rel, graph, lengths, queries, scale, backend, device, threads)
    gradients = {name: empty_like(x, operands.views[name].array.shape) for name, x in zip("qkv", (q, k, v))}
    drel = operands.empty_rel()
    operands.backward(out, np.asarray(lse), dout, gradients, drel)
    result = (gradients["q"], gradients["k"], gradients["v"])
    return result if drel is None else (*result, drel)
