"""bpt.attention on tensors of PyTorch: gradients by backward(), without copies of the tensors, and what is refused."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import bpt  # noqa: E402

B, H, D = 2, 3, 8
GRAPHS = [bpt.BPT(n=37, k=2), bpt.BPT(n=64, k=4, causal=True), bpt.SegTree(n=33), bpt.Window(n=40, window=3), bpt.Dense(n=20),
          bpt.Table.from_mask(np.random.default_rng(1).random((30, 21)) < 0.3)]


def tensors(graph, dtype=torch.float32):
    torch.manual_seed(0)
    queries = graph.queries if isinstance(graph, bpt.Table) else graph.nodes
    keys = graph.keys if isinstance(graph, bpt.Table) else graph.nodes
    return [torch.randn(B, H, rows, D).to(dtype).requires_grad_() for rows in (queries, keys, keys)]


def masked(q, k, v, graph):
    """PyTorch's own attention in double under the graph's mask; queries without keys give zeros."""
    mask = torch.from_numpy(graph.mask())
    out = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=mask)
    return torch.where(mask.any(1)[:, None], out, torch.zeros((), dtype=torch.double))


def gradients(out, inputs):
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    return torch.autograd.grad((out.double() * weight).sum(), inputs)


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_gradients_are_those_of_a_dense_mask_in_double(graph):
    inputs = tensors(graph)
    out, want = bpt.attention(*inputs, graph=graph), masked(*inputs, graph)
    torch.testing.assert_close(out.double(), want, rtol=2e-4, atol=2e-5)
    for x, y in zip(gradients(out, inputs), gradients(want, inputs)):
        torch.testing.assert_close(x, y, rtol=2e-4, atol=2e-5)


def test_gradcheck():
    graph = bpt.BPT(n=5, k=1)
    inputs = [x[:1, :1, :, :4].detach().clone().requires_grad_() for x in tensors(graph)]
    f = lambda q, k, v: bpt.attention(q.float(), k.float(), v.float(), graph=graph).double()  # noqa: E731
    assert torch.autograd.gradcheck(f, [x.detach().double().requires_grad_() for x in inputs], eps=1e-2, atol=2e-3, rtol=2e-3, nondet_tol=0)


def test_memory_is_shared_by_dlpack():
    from bpt._arrays import view

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(2, 3, 5, 4).to(dtype).transpose(1, 2).requires_grad_()
        v = view(x, "x")
        assert v.array.ctypes.data == x.data_ptr() and v.dtype == str(dtype)[6:]
        assert [s // v.array.itemsize for s in v.array.strides] == list(x.stride())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits(dtype):
    graph = bpt.BPT(n=40, k=2)
    inputs = tensors(graph, dtype)
    out = bpt.attention(*inputs, graph=graph)
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), masked(*inputs, graph), rtol=0.02, atol=0.02)
    for x, y in zip(gradients(out, inputs), gradients(masked(*inputs, graph), inputs)):
        assert x.dtype == dtype
        torch.testing.assert_close(x.double(), y.double(), rtol=0.05, atol=0.05)


def test_relative_positions_and_some_gradients_alone():
    graph = bpt.BPT(n=16, k=2, rel_levels=3)
    q, k, v = tensors(graph)
    rel = torch.randn(graph.rel_rows, D, requires_grad=True)
    all_ = torch.autograd.grad(bpt.attention(q, k, v, graph=graph, rel=rel).square().sum(), [q, k, v, rel])
    alone = torch.autograd.grad(bpt.attention(q.detach(), k, v.detach(), graph=graph, rel=rel).square().sum(), [k, rel])
    torch.testing.assert_close(alone[0], all_[1])
    torch.testing.assert_close(alone[1], all_[3])
    step = torch.zeros_like(rel)
    step[3, 2] = 1e-2
    with torch.no_grad():
        loss = [bpt.attention(q, k, v, graph=graph, rel=rel + s * step).double().square().sum() for s in (-1, 1)]
    assert ((loss[1] - loss[0]) / 2e-2).item() == pytest.approx(all_[3][3, 2].item(), rel=2e-2, abs=2e-2)


def test_a_layer_learns():
    """Which leaf holds the mark? A layer of a model of one's own finds it through the spans."""
    torch.manual_seed(0)
    graph = bpt.BPT(n=32, k=2)
    embed, qkv, head = torch.nn.Embedding(2, 16), torch.nn.Linear(16, 48), torch.nn.Linear(16, 2)
    x = torch.randint(0, 2, (16, graph.nodes))
    target = x[:, :32].roll(1, 1)
    optimiser = torch.optim.Adam([*embed.parameters(), *qkv.parameters(), *head.parameters()], lr=0.03)
    position = torch.randn(graph.nodes, 16)
    losses = []
    for _ in range(60):
        q, k, v = ((qkv(embed(x) + position)).view(16, graph.nodes, 3, 2, 8).permute(2, 0, 3, 1, 4))
        states = bpt.attention(q, k, v, graph=graph).transpose(1, 2).reshape(16, graph.nodes, 16)
        loss = torch.nn.functional.cross_entropy(head(states[:, :32]).flatten(0, 1), target.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


def test_checkpointing_and_no_grad():
    from torch.utils.checkpoint import checkpoint

    graph = bpt.Window(n=30, window=2)
    inputs = tensors(graph)
    plain = bpt.attention(*inputs, graph=graph)
    again = checkpoint(lambda *x: bpt.attention(*x, graph=graph), *inputs, use_reentrant=False)
    for x, y in zip(gradients(again, inputs), gradients(plain, inputs)):
        assert torch.equal(x, y)
    with torch.no_grad():
        assert torch.equal(bpt.attention(*inputs, graph=graph), plain)


def test_what_does_not_fit_is_refused():
    graph = bpt.Window(n=8, window=1)
    x = torch.zeros(1, 1, 8, 4)
    for given, message in ((x.double(), "q has numbers of type float64"), (x.to("meta"), "q is on meta, and arrays are read from the memory of the"),
                           (x.to_sparse(), "sparse tensor")):
        with pytest.raises(bpt.Error, match=message):
            bpt.attention(given, x, x, graph=graph)
    q, k, v = (x.clone().requires_grad_() for _ in range(3))
    out = bpt.attention(q, k, v, graph=graph)
    with pytest.raises(RuntimeError, match="once_differentiable|twice|does not require grad|mark"):
        torch.autograd.grad(torch.autograd.grad(out.sum(), q, create_graph=True)[0].sum(), q)
    out = bpt.attention(q, k * 1, v, graph=graph)
    with pytest.raises(bpt.Error, match="dout holds a number that is not finite"):
        (out * float("nan")).sum().backward()
