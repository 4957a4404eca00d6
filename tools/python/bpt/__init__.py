"""bpt for Python: sparse graph attention and the models that are made of it, on CPUs and GPUs.

    import bpt

    with bpt.open("runs/quickstart") as model:                    # a run of `bpt train`, or a model file
        for piece in model.generate("// The ", temperature=0.8):
            print(piece, end="", flush=True)

    graph = bpt.BPT(n=4096, k=4)                                  # the op, for models of your own
    out = bpt.attention(q, k, v, graph=graph)                     # [batch, heads, graph.nodes, head_dim]; NumPy or PyTorch, with gradients

`python -m bpt` is the program. What bpt cannot do is a bpt.Error with one sentence.
"""
from __future__ import annotations

import json
import subprocess
from typing import Any, Dict, List

from ._attention import attention, attention_backward, release
from ._graphs import BPT, NO_ROW, Dense, Graph, SegTree, Sparse, Table, Window
from ._library import Error, program
from ._model import Classes, MicroBatch, Model, States, Tagging, TrainResult, Translation, create, open

__version__ = "0.1.0"
__all__ = ["BPT", "Classes", "Dense", "Error", "Graph", "MicroBatch", "Model", "NO_ROW", "SegTree", "Sparse", "States", "Table", "Tagging", "TrainResult",
           "Translation", "Window", "attention", "attention_backward", "create", "devices", "open", "program", "release"]


def devices() -> List[Dict[str, Any]]:
    """Every backend and its devices, and why one cannot be used: what `bpt devices --json` says. Drivers run in processes of their own."""
    done = subprocess.run([program(), "devices", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Error(done.stderr.strip() or f"bpt devices ended with status {done.returncode}", "unavailable")
    return json.loads(done.stdout)
