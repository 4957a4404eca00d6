#!/usr/bin/env python3
"""Writes bpt/_native.py: the declarations of the library's public headers, as cffi reads them.

    declarations.py OUT INCLUDE_FOLDER MODEL_H

The headers stay the only description of the interface. Comments, macros and inline functions are left out; constants that are macros
become enumerators. No compiler is needed: the package opens the library at run time (cffi's ABI mode), so one wheel serves all Pythons.
"""
import re
import sys
from pathlib import Path

HEADERS = ("base.h", "status.h", "alloc.h", "dtype.h", "intervals.h", "attention.h")
MACROS = r"BPT_(?:API|MUST_USE|BEGIN_DECLS|END_DECLS)\b|BPT_PRINTF\([^)]*\)"


def without_bodies(text: str) -> str:
    """Leaves out `static inline` functions, which no library has."""
    while (at := text.find("static inline")) >= 0:
        end = text.index("{", at)
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        text = text[:at] + text[end:]
    return text


def declarations(header: str) -> str:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.S)
    constants = re.findall(r"^#define (BPT_\w+) +(0[xX][0-9a-fA-F]+|\d+)[uU]?[ \t]*$", text, flags=re.M)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)  # with lines that go on
    text = without_bodies(re.sub(MACROS, "", text))
    text = re.sub(r"^bpt_status_t bpt_(fail|context)\(.*?;", "", text.replace("  ", " "), flags=re.M | re.S)
    return "".join(f"#define {name} {value}\n" for name, value in constants) + text


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit("usage: declarations.py OUT INCLUDE_FOLDER MODEL_H")
    try:
        from cffi import FFI
    except ImportError:
        sys.exit("declarations.py: Python's package cffi was not found; install it: pip install cffi (Debian: python3-cffi)")
    out, include, model = map(Path, sys.argv[1:])
    ffi = FFI()
    for header in [include / "bpt" / name for name in HEADERS] + [model]:
        ffi.cdef(declarations(header.read_text(encoding="utf-8")))
    ffi.set_source("bpt._native", None)
    out.parent.mkdir(parents=True, exist_ok=True)
    ffi.emit_python_code(str(out))


if __name__ == "__main__":
    main()
