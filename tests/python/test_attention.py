"""bpt.attention on arrays of NumPy: numbers, gradients, layouts, types, and what is refused."""
import threading

import dense
import numpy as np
import pytest

import bpt

B, H, D = 2, 3, 8
GRAPHS = [
    bpt.BPT(n=37, k=2),
    bpt.BPT(n=64, k=4, causal=True),
    bpt.BPT(n=64, k=2, causal=True, reference_rule=True),
    bpt.BPT(n=50, k=2, causal=True, trimmed=True),
    bpt.SegTree(n=33),
    bpt.SegTree(n=33, causal=True, span_self=True),
    bpt.Window(n=40, window=3),
    bpt.Window(n=40, window=3, causal=True, root=True),
    bpt.Dense(n=20),
    bpt.Sparse(n=40, stride=8, tail=2, causal=True),
    bpt.Table([[[0, 3], [5, 7]], [[1, 2], [0, 0]], [[0, 0], [9, 9]], [[0, 9], [4, 6]]], keys=9),
    bpt.Table.from_mask(np.random.default_rng(1).random((30, 21)) < 0.3),
]


def rows(graph):
    return (graph.queries, graph.keys) if isinstance(graph, bpt.Table) else (graph.nodes, graph.nodes)


def arrays(graph, dtype=np.float32, seed=0):
    rng, (queries, keys) = np.random.default_rng(seed), rows(graph)
    q, dout = (rng.standard_normal((B, H, queries, D)).astype(dtype) for _ in range(2))
    k, v = (rng.standard_normal((B, H, keys, D)).astype(dtype) for _ in range(2))
    return q, k, v, dout


@pytest.mark.parametrize("backend", ["cpu", "ref"])
@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_the_op_is_dense_attention_under_a_mask(graph, backend):
    q, k, v, dout = arrays(graph)
    out, lse = bpt.attention(q, k, v, graph=graph, return_lse=True, backend=backend)
    got = (out, *bpt.attention_backward(q, k, v, out, lse, dout, graph=graph, backend=backend))
    want = dense.attention(q, k, v, dense.times_read(graph), dout=dout)
    for x, y in zip(got, want):
        assert x.dtype == np.float32 and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


def test_gradients_are_differences():
    graph = bpt.BPT(n=6, k=1)
    q, k, v, dout = (x[:1, :1] for x in arrays(graph))
    out, lse = bpt.attention(q, k, v, graph=graph, return_lse=True)
    gradients = bpt.attention_backward(q, k, v, out, lse, dout, graph=graph)
    for which, gradient in enumerate(gradients):
        for at in np.ndindex(gradient.shape):
            loss = []
            for step in (-1, 1):
                moved = [q.copy(), k.copy(), v.copy()]
                moved[which][at] += step * 1e-2
                loss.append(np.sum(bpt.attention(*moved, graph=graph).astype(np.float64) * dout))
            assert (loss[1] - loss[0]) / 2e-2 == pytest.approx(gradient[at], abs=3e-3)


def test_relative_positions():
    graph = bpt.Window(n=12, window=2, rel_levels=2)
    q, k, v, dout = arrays(graph)
    rel = np.random.default_rng(5).standard_normal((graph.rel_rows, D)).astype(np.float32)
    assert graph.rel_rows == 5
    row = np.zeros((12, 12), dtype=int)
    for i in range(12):
        for j in range(12):
            d = min(abs(i - j), 2)
            row[i, j] = 0 if not d else 2 * d - 1 if j < i else 2 * d
    bias = np.einsum("bhid,ijd->bhij", q.astype(np.float64), rel[row])
    out, lse = bpt.attention(q, k, v, graph=graph, rel=rel, return_lse=True)
    np.testing.assert_allclose(out, dense.attention(q, k, v, dense.times_read(graph), bias=bias), rtol=2e-4, atol=2e-5)
    drel = bpt.attention_backward(q, k, v, out, lse, dout, graph=graph, rel=rel)[3]
    moved, loss = rel.copy(), []
    for step in (-1, 1):
        moved[3, 4] = rel[3, 4] + step * 1e-2
        loss.append(np.sum(bpt.attention(q, k, v, graph=graph, rel=moved).astype(np.float64) * dout))
    assert (loss[1] - loss[0]) / 2e-2 == pytest.approx(drel[3, 4], rel=1e-2, abs=1e-2)


def test_a_table_with_relative_positions():
    graph = bpt.Table([[[0, 3, 1, 1], [5, 7, bpt.NO_ROW, 0]], [[4, 9, 4, -1], [0, 1, 0, 0]]], keys=9, rel_rows=5)
    q, k, v, _ = arrays(graph)
    rel = np.random.default_rng(5).standard_normal((5, D)).astype(np.float32)
    row = np.full((2, 9), -1)
    row[0, :3], row[1, 4:9], row[1, 0] = [1, 2, 3], [4, 3, 2, 1, 0], 0
    bias = np.einsum("bhid,ijd->bhij", q.astype(np.float64), np.where(row[..., None] < 0, 0, rel[row]))
    out = bpt.attention(q, k, v, graph=graph, rel=rel)
    np.testing.assert_allclose(out, dense.attention(q, k, v, dense.times_read(graph), bias=bias), rtol=2e-4, atol=2e-5)


def test_leaves_alone_lengths_and_one_sequence():
    graph = bpt.BPT(n=37, k=2)
    q, k, v, _ = arrays(graph)
    whole = bpt.attention(q, k, v, graph=graph)
    np.testing.assert_allclose(bpt.attention(q[:, :, :37], k, v, graph=graph, queries="leaves"), whole[:, :, :37], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(bpt.attention(q[1], k[1], v[1], graph=graph), whole[1], rtol=1e-5, atol=1e-6)
    short = bpt.attention(q, k, v, graph=graph, lengths=[37, 9])
    np.testing.assert_allclose(short[0], whole[0], rtol=1e-5, atol=1e-6)
    mask = graph.mask(9)
    np.testing.assert_allclose(short[1], dense.attention(q[1], k[1], v[1], mask.astype(float)), rtol=2e-4, atol=2e-5)
    assert not short[1][:, ~mask.any(axis=1)].any()


def test_any_order_of_dimensions_gives_the_same_bits():
    graph = bpt.BPT(n=64, k=4)
    q, k, v, dout = arrays(graph)
    out, lse = bpt.attention(q, k, v, graph=graph, return_lse=True)
    grads = bpt.attention_backward(q, k, v, out, lse, dout, graph=graph)
    turn = lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)  # noqa: E731
    backwards = lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1]  # noqa: E731
    columns = lambda x: np.asfortranarray(x)  # noqa: E731
    for change in (turn, backwards, columns):
        again, lse2 = bpt.attention(change(q), change(k), change(v), graph=graph, return_lse=True)
        assert np.array_equal(again, out) and np.array_equal(lse, lse2)
        other = bpt.attention_backward(change(q), change(k), change(v), change(out), lse, change(dout), graph=graph)
        assert all(np.array_equal(x, y) for x, y in zip(other, grads))
    assert bpt.attention(turn(q), k, v, graph=graph).swapaxes(1, 2).flags.c_contiguous  # q's order, without a copy to a matrix


def test_what_speaks_dlpack():
    class Speaks:
        def __init__(self, array, device=(1, 0)):
            self.array, self.device = array, device

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.device

    graph = bpt.Window(n=20, window=2)
    q, k, v, _ = arrays(graph)
    out = bpt.attention(q, k, v, graph=graph)
    assert np.array_equal(bpt.attention(Speaks(q), Speaks(k), v, graph=graph), out)
    assert np.array_equal(np.from_dlpack(out), out)
    with pytest.raises(bpt.Error, match="k is not in the memory of the host"):
        bpt.attention(q, Speaks(k, (2, 0)), v, graph=graph)


def test_half_precision():
    graph = bpt.BPT(n=40, k=2)
    q, k, v, _ = arrays(graph, np.float16)
    out = bpt.attention(q, k, v, graph=graph)
    assert out.dtype == np.float16
    np.testing.assert_allclose(out, dense.attention(q, k, v, graph.mask().astype(float)), atol=4e-3)


def test_many_threads_and_many_graphs():
    results = {}

    def work(n):
        graph = bpt.BPT(n=n, k=2)
        q, k, v, _ = arrays(graph)
        results[n] = all(np.array_equal(bpt.attention(q, k, v, graph=graph), bpt.attention(q, k, v, graph=graph)) for _ in range(3))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(10, 40)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(results) == 30 and all(results.values())
    bpt.release()
    work(50)
    assert results[50]


def test_the_interpreter_is_free_meanwhile():
    graph = bpt.BPT(n=8192, k=16)
    q = np.zeros((1, 4, graph.nodes, 64), dtype=np.float32)
    running, turns = threading.Event(), 0
    thread = threading.Thread(target=lambda: (running.set(), bpt.attention(q, q, q, graph=graph, threads=1)))
    thread.start()
    running.wait()
    while thread.is_alive():
        turns += 1
        thread.join(0.001)
    assert turns > 3


def test_masks_and_tables():
    graph = bpt.BPT(n=23, k=2)
    table = bpt.Table.from_mask(graph.mask())
    assert np.array_equal(table.mask(), graph.mask())
    q, k, v, _ = arrays(graph)
    np.testing.assert_allclose(bpt.attention(q, k, v, graph=table), bpt.attention(q, k, v, graph=graph), rtol=1e-5, atol=1e-6)
    each = bpt.Table([[[[0, 2]]], [[[1, 3]]]], keys=3)
    q, k, v, _ = arrays(each)
    np.testing.assert_allclose(bpt.attention(q, k, v, graph=each)[1], dense.attention(q[1], k[1], v[1], [[0, 1, 1]]), rtol=2e-4, atol=2e-5)


G = bpt.Window(n=8, window=1)
X = np.zeros((1, 1, 8, 4), dtype=np.float32)
REL = bpt.Window(n=8, window=1, rel_levels=1)


def nan(x):
    x = x.copy()
    x[0, 0, 5, 1] = np.nan
    return x


@pytest.mark.parametrize("call, message", [
    (lambda: bpt.attention([1.0], X, X, graph=G), "q is list; give an array of NumPy, a tensor of PyTorch"),
    (lambda: bpt.attention(X.astype(np.float64), X, X, graph=G), "q has numbers of type float64; float32, float16 and bfloat16 are possible"),
    (lambda: bpt.attention(X, X.astype(np.float16), X, graph=G), "q has numbers of type float32 and k of type float16"),
    (lambda: bpt.attention(X, X, X.astype(">f4"), graph=G), "v has numbers of type"),
    (lambda: bpt.attention(X[0, 0], X, X, graph=G), r"q has the shape \[8, 4\]; \[batch, heads, rows, head_dim\]"),
    (lambda: bpt.attention(X, X[:, :, :7], X, graph=G), r"k has the shape \[1, 1, 7, 4\], and with this graph and q \[1, 1, 8, 4\]"),
    (lambda: bpt.attention(X, X, X, graph="bpt"), "graph is str; give bpt.BPT"),
    (lambda: bpt.attention(X, X, X, graph=bpt.BPT(n=8, k=0)), "k"),
    (lambda: bpt.attention(X, X, X, graph=bpt.BPT(n=8, k="two")), "k of a graph is 'two'"),
    (lambda: bpt.attention(X, X, X, graph=G, backend="abacus"), "backend abacus is not built into this library"),
    (lambda: bpt.attention(X, X, X, graph=G, device=77), "device"),
    (lambda: bpt.attention(X, X, X, graph=G, queries="roots"), "queries is 'roots'"),
    (lambda: bpt.attention(X, X, X, graph=G, lengths=[9]), "sequence 0 has 9 leaves, and the graph is for 1 to 8"),
    (lambda: bpt.attention(X, X, X, graph=G, lengths=[1, 2]), r"lengths must be integers \[1\]"),
    (lambda: bpt.attention(X, X, nan(X), graph=G), "v holds a number that is not finite, in row 5 of sequence 0"),
    (lambda: bpt.attention(X, X, X, graph=REL), "3 rows of relative positions; give them as rel"),
    (lambda: bpt.attention(X, X, X, graph=G, rel=X[0, 0]), "the graph has no relative positions"),
    (lambda: bpt.attention(X, X, X, graph=REL, rel=X[0, 0]), r"rel has the shape \[8, 4\], and with this graph and q \[3, 4\]"),
    (lambda: bpt.attention(X, X, X, graph=G, scale=0), "the scale is 0"),
    (lambda: bpt.attention(X, X, X, graph=bpt.Table([[[0, 9]]] * 8, keys=8)), "query 0 reads keys 0 to 9, and there are 8"),
    (lambda: bpt.Table([[0, 1]], keys=2), r"ranges have the shape \[1, 2\]"),
    (lambda: bpt.Table([[[0.5, 1]]], keys=2), "they must be integers"),
    (lambda: bpt.Table([[[-1, 1]]], keys=2), "begins or ends below 0"),
    (lambda: bpt.Table([[[0, 1]]], keys="x"), "keys is 'x'; a whole number is needed"),
    (lambda: bpt.BPT(n="a", k=1), "n of a graph is 'a'"),
    (lambda: bpt.BPT(n=8, k=0), "k is 0"),
    (lambda: bpt.attention(X, X, X, graph=G, threads="a"), "threads is 'a'; a whole number is needed"),
    (lambda: bpt.attention(X, X, X, graph=G, device=1.5), "device is 1.5; a whole number is needed"),
    (lambda: bpt.attention(X, X, X, graph=G, scale="a"), "scale is 'a'; a number is needed"),
    (lambda: bpt.attention_backward(X, X, X, X, X, X, graph=G), r"lse must be float32 \[1, 8, 1\]"),
    (lambda: bpt.attention_backward(X, X, X, X, np.zeros((1, 8, 1), np.float32), X[:, :, :3], graph=G), "dout has the shape"),
])
def test_what_does_not_fit_is_refused_in_one_sentence(call, message):
    with pytest.raises(bpt.Error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and caught.value.status in ("usage", "numeric", "unavailable")
