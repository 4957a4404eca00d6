#!/usr/bin/env python3
"""notebook.py FILE OUT: executes a notebook; a cell that fails is an error. OUT: the notebook with its results and pictures."""
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
pictures = sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
if not pictures:
    sys.exit(f"{sys.argv[1]} has no picture")
nbformat.write(notebook, sys.argv[2])
print(f"{sys.argv[1]}: {len(notebook.cells)} cells, {pictures} pictures")
