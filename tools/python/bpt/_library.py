"""Finding and opening libbpt, and its errors as exceptions."""
from __future__ import annotations

import ctypes
import operator
import os
import shutil
from pathlib import Path
from typing import Any

__all__ = ["Error", "check", "ffi", "lib", "need", "number", "program"]

_NATIVE = Path(__file__).parent / "native"
_NAMES = ("libbpt.so", "libbpt.so.0", "libbpt.dylib", "bpt.dll")


class Error(Exception):
    """What bpt says when it cannot do something: one sentence with the remedy.

    Attributes:
        status: the kind of failure: "usage" (the caller's mistake), "input" (damaged or wrong data), "io", "no memory", "unsupported",
            "unavailable" (no such backend, device or library), "device lost", "numeric" (a number that is not finite), "internal".
    """

    def __init__(self, message: str, status: str = "usage") -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.status)


try:
    from ._native import ffi
except ImportError as problem:
    what = "its declarations are missing: install the wheel, or run tools/python/declarations.py (tools/python/README.md)"
    if getattr(problem, "name", None) == "_cffi_backend":
        what = "it needs Python's package cffi: pip install cffi"
    raise ImportError(f"the package bpt cannot be used: {what}") from problem


def _open() -> Any:
    given = os.environ.get("BPT_LIBRARY")
    files = [given] if given else [str(_NATIVE / name) for name in _NAMES if (_NATIVE / name).exists()] + ["libbpt.so.0"]
    try:
        return ffi.dlopen(files[0])
    except OSError as problem:
        where = "named by BPT_LIBRARY" if given else "of this package" if len(files) > 1 else "of the system"
        remedy = "give the path of a libbpt.so" if given else "install the wheel again, or name the file by BPT_LIBRARY"
        raise ImportError(f"the library {where} cannot be opened: {str(problem).splitlines()[0]}; {remedy}") from problem


def _check_version(library: Any) -> None:
    options = ffi.new("bpt_model_options_t *")
    try:
        library.bpt_model_options_set(options)
        library.bpt_attention_op_create  # noqa: B018 - the newest function that the package calls
    except (AttributeError, ffi.error) as problem:
        raise ImportError(f"libbpt is older than this package: {problem}; install both of one version") from problem
    if options.version != library.BPT_MODEL_VERSION:
        raise ImportError(f"libbpt has version {options.version} of bpt/model.h, and this package is for {library.BPT_MODEL_VERSION}; "
                          "install both of one version")


def _give_signals_a_stack() -> None:
    """Python's signal handler runs on a stack of its own: oneDNN before 3.11.2 computes with the stack pointer in the heap."""
    class Stack(ctypes.Structure):
        _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

    if os.name != "posix" or os.uname().sysname != "Linux":
        return
    now, bytes_, disabled = Stack(), 1 << 16, 2
    libc = ctypes.CDLL(None)
    if libc.sigaltstack(None, ctypes.byref(now)) == 0 and now.flags & disabled:
        _give_signals_a_stack.memory = ctypes.create_string_buffer(bytes_)  # type: ignore[attr-defined]
        stack = Stack(ctypes.addressof(_give_signals_a_stack.memory), 0, bytes_)  # type: ignore[attr-defined]
        libc.sigaltstack(ctypes.byref(stack), None)


lib = _open()
_check_version(lib)
_give_signals_a_stack()


def check(status: int) -> None:
    """Raises Error with the library's message unless `status` is BPT_OK. To be called in the thread that made the call."""
    if status != lib.BPT_OK:
        message = ffi.string(lib.bpt_error_message()).decode("utf-8", "replace")
        raise Error(message, ffi.string(lib.bpt_status_name(status)).decode())


def need(condition: Any, message: str) -> None:
    """Raises Error, a mistake of the caller's, unless the condition holds."""
    if not condition:
        raise Error(message)


def number(kind: type, x: Any, name: str) -> Any:
    """x as an int or a float. Raises Error, with the argument's name, where it is none."""
    try:
        return operator.index(x) if kind is int else kind(x)
    except (TypeError, ValueError) as problem:
        raise Error(f"{name} is {x!r}; {'a whole number' if kind is int else 'a number'} is needed") from problem


def program() -> str:
    """The path of the program `bpt`: that of the package, else what BPT_PROGRAM names, else the one on PATH."""
    own = _NATIVE / "bpt"
    found = os.environ.get("BPT_PROGRAM") or (str(own) if own.exists() else shutil.which("bpt"))
    if not found:
        raise Error("the program bpt is neither in this package nor on PATH; install the wheel", "unavailable")
    return found
