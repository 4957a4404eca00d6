"""Texts, token numbers and vectors as the sequences that the library reads."""
from __future__ import annotations

from typing import Any, List

import numpy as np

from ._arrays import is_tensor, pointer, view
from ._library import ffi, need


def _is_text(x: Any) -> bool:
    return isinstance(x, (str, bytes))


def _is_one(model: Any, x: Any) -> bool:
    """Whether x is one sequence, and not a list of them."""
    if _is_text(x):
        return True
    if is_tensor(x) or isinstance(x, np.ndarray):
        return x.ndim == (2 if model.inputs else 1)
    return not model.inputs and len(x) > 0 and np.ndim(x[0]) == 0 and not _is_text(x[0])


class Sequences:
    """B sequences one behind the other.

    Attributes:
        count: B. total: tokens of all. struct: the library's `bpt_sequences_t *`, valid as long as this object.
    """

    def __init__(self, model: Any, given: Any) -> None:
        need(_is_text(given) or hasattr(given, "__len__"), f"sequences are {type(given).__name__}; give a text, token numbers, or a list")
        need(len(given), "there is no sequence")
        parts = [given] if _is_one(model, given) else list(given)
        if model.texts == 2:
            parts = self._of_pairs(parts)
        read = self._vector if model.inputs else self._tokens
        arrays = [read(model, part, i) for i, part in enumerate(parts)]
        self._lengths = np.array([len(a) for a in arrays], dtype=np.int64)
        self._numbers = np.ascontiguousarray(np.concatenate(arrays))
        self.count, self.total = len(arrays), int(self._lengths.sum())
        fields = {"lengths": pointer("int64_t *", self._lengths), "count": self.count}
        if model.inputs:
            fields["vectors"] = pointer("float *", self._numbers)
        else:
            fields["tokens"] = pointer("uint32_t *", self._numbers)
        self.struct = ffi.new("bpt_sequences_t *", fields)

    @staticmethod
    def _of_pairs(parts: List[Any]) -> List[Any]:
        if len(parts) == 2 and all(_is_text(p) for p in parts):
            parts = [parts]
        for i, pair in enumerate(parts):
            need(not _is_text(pair) and hasattr(pair, "__len__") and len(pair) == 2, f"example {i} is no pair, and the model reads pairs of texts")
        return [text for pair in parts for text in pair]

    @staticmethod
    def _tokens(model: Any, x: Any, i: int) -> np.ndarray:
        array = model.tokenize(x) if _is_text(x) else np.asarray(x)
        need(array.size, f"sequence {i} has no token")
        need(array.ndim == 1 and array.dtype.kind in "iu",
             f"sequence {i} is {array.dtype} {list(array.shape)}; a text or integers [tokens] are needed")
        need(array.min() >= 0 and array.max() < model.vocabulary or _is_text(x),
             f"sequence {i} has the token {int(array.min()) if array.min() < 0 else int(array.max())}; the vocabulary has {model.vocabulary}")
        return array.astype(np.uint32, copy=False)

    @staticmethod
    def _vector(model: Any, x: Any, i: int) -> np.ndarray:
        v = view(x, f"sequence {i}")
        need(v.dtype == "float32" and v.array.ndim == 2 and v.array.shape[1] == model.inputs and len(v.array),
             f"sequence {i} is {v.dtype} {list(v.array.shape)}; float32 [tokens, {model.inputs}] is needed")
        return v.array

    def split(self, rows: np.ndarray, left_out: int = 0) -> List[np.ndarray]:
        """Rows of all tokens as arrays of the sequences, which have so many rows less."""
        return np.split(rows, np.cumsum(self._lengths - left_out)[:-1])
