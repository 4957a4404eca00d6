"""Arrays of NumPy, PyTorch and whatever speaks DLPack, as memory that the library reads and writes, without copies."""
from __future__ import annotations

import sys
from typing import Any, NamedTuple, Tuple

import numpy as np

from ._library import Error, ffi, lib, need

DTYPES = {"float32": lib.BPT_F32, "float16": lib.BPT_F16, "bfloat16": lib.BPT_BF16}
_CPU = 1  # DLPack's number of the memory of the host


class View(NamedTuple):
    """An array of numbers in the memory of the host."""

    array: np.ndarray  # bfloat16, which NumPy lacks, as uint16
    dtype: str  # a key of DTYPES


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of PyTorch; does not import it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _of_tensor(x: Any, name: str) -> Tuple[np.ndarray, str]:
    import torch

    need(x.device.type == "cpu",
         f"{name} is on {x.device}, and arrays are read from the memory of the host; give {name}.cpu(), and name a GPU by backend=")
    need(x.layout == torch.strided, f"{name} is a sparse tensor; give {name}.to_dense()")
    x, dtype = x.detach(), str(x.dtype).rpartition(".")[2]
    return np.from_dlpack(x.view(torch.int16) if dtype == "bfloat16" else x), dtype


def _of_dlpack(x: Any, name: str) -> np.ndarray:
    try:
        need(x.__dlpack_device__()[0] == _CPU, f"{name} is not in the memory of the host; copy it there, and name a GPU by backend=")
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise Error(f"{name} cannot be read by DLPack: {problem}") from problem


def view(x: Any, name: str) -> View:
    """x as an array of NumPy that shares its memory. Refuses other types of numbers, and other places than the memory of the host."""
    if is_tensor(x):
        array, dtype = _of_tensor(x, name)
    elif isinstance(x, np.ndarray):
        array, dtype = x, x.dtype.name
    elif hasattr(x, "__dlpack__"):
        array = _of_dlpack(x, name)
        dtype = array.dtype.name
    else:
        raise Error(f"{name} is {type(x).__name__}; give an array of NumPy, a tensor of PyTorch, or another array that speaks DLPack")
    need(dtype in DTYPES and (array.dtype.isnative or dtype == "bfloat16"),
         f"{name} has numbers of type {dtype}; float32, float16 and bfloat16 are possible, such as {name}.astype('float32')")
    if dtype == "bfloat16":
        array = array.view(np.uint16)
    return View(array, dtype)


def empty_like(x: Any, shape: Tuple[int, ...]) -> Any:
    """A new array of x's library and type, its last dimension dense and the others ordered in memory as x's: a tensor for a tensor, else
    an array of NumPy."""
    if is_tensor(x):
        import torch

        new = torch.empty_like(x.detach()) if tuple(x.shape) == shape else x.detach().new_empty(shape)
        return new if new.stride(-1) == 1 else torch.empty_like(x.detach(), memory_format=torch.contiguous_format)
    new = np.empty_like(x if isinstance(x, np.ndarray) else view(x, "the array").array, shape=shape)
    return new if new.strides[-1] == new.itemsize else np.empty(shape, dtype=new.dtype)


def strided(v: View, dimensions: int) -> Tuple[Any, np.ndarray]:
    """The library's description of [B, H, rows, head_dim] (or without B), and the array that owns the memory.

    The last dimension must be dense: where it is not, the array is a copy, so this is for arrays that are read.
    """
    array, size = v.array, v.array.itemsize
    if (array.shape[-1] > 1 and array.strides[-1] != size) or any(s % size for s in array.strides):
        array = np.ascontiguousarray(array)
    strides = [s // size for s in array.strides]
    batch, (heads, rows) = (strides[0] if dimensions == 4 else 0), strides[-3:-1]
    return {"data": ffi.cast("void *", array.ctypes.data), "stride": [batch, rows, heads]}, array


def pointer(kind: str, array: np.ndarray) -> Any:
    """A pointer to the first number of a dense array, such as pointer("float *", x). The array must live as long as it is used."""
    return ffi.cast(kind, array.ctypes.data)
