"""The op for tensors of PyTorch, with gradients (imported only where a tensor was given)."""
from __future__ import annotations

from typing import Any, Tuple

import torch
from torch.autograd.function import once_differentiable

from ._arrays import empty_like
from ._attention import Operands


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, rel: Any, operands: Any) -> Any:
        out = empty_like(q, operands.shape)
        lse = torch.from_numpy(operands.forward(out))
        ctx.save_for_backward(q, k, v, rel, out, lse)
        ctx.settings = operands.settings  # and no array: hooks may put saved tensors elsewhere
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Any, _: Any) -> Any:
        q, k, v, rel, out, lse = ctx.saved_tensors  # which also finds out whether one was written to meanwhile
        operands = Operands(q, k, v, rel, *ctx.settings)
        wanted = {name: empty_like(x, tuple(x.shape)) for name, x, need in zip("qkv", (q, k, v), ctx.needs_input_grad) if need}
        drel = operands.empty_rel() if ctx.needs_input_grad[3] else None
        operands.backward(out, lse.numpy(), dout, wanted, drel)
        gradients = [wanted.get(name) for name in "qkv"]
        return (*gradients, None if drel is None else torch.from_numpy(drel).to(rel.dtype), None)


def attention(q: Any, k: Any, v: Any, rel: Any, operands: Any) -> Tuple[Any, Any]:
    """The op on tensors that Operands has looked at."""
    tensors = [x if x is None or isinstance(x, torch.Tensor) else torch.from_dlpack(x) for x in (q, k, v, rel)]
    return _Attention.apply(*tensors, operands)
