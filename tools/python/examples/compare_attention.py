#!/usr/bin/env python3
"""Time and memory of bpt.attention beside PyTorch's attention under a dense mask, and FlexAttention, on this CPU.

    compare_attention.py [--n 8192] [--k 4] [--heads 4] [--head-dim 64] [--rounds 3] [--threads 0] [--flex]

Each contender runs in a process of its own, which says its peak memory, masks and what compiles them included; the rounds go by turns, so that
all see the same moments of a busy machine. Forward, and forward with backward (FlexAttention has no backward on CPUs). The numbers are held
against those of bpt.
"""
import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

CONTENDERS = ("bpt", "mask", "flex")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("n", 8192), ("k", 4), ("heads", 4), ("head-dim", 64), ("rounds", 3), ("threads", 0)):
        p.add_argument(f"--{name}", type=int, default=default, help=f"[{default}]")
    p.add_argument("--flex", action="store_true", help="FlexAttention too (it compiles, which takes a minute)")
    p.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    return p.parse_args()


def attention_of(name, graph, o):
    import torch

    import bpt

    if name == "bpt":
        return lambda q, k, v: bpt.attention(q, k, v, graph=graph, threads=o.threads)
    mask = torch.from_numpy(graph.mask())
    if name == "mask":
        return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    block = create_block_mask(lambda b, h, i, j: mask[i, j], None, None, graph.nodes, graph.nodes, device="cpu")
    compiled = torch.compile(flex_attention)
    return lambda q, k, v: compiled(q, k, v, block_mask=block)


def contend(o):
    """Waits for lines on standard input, and answers each with seconds and peak memory."""
    import torch

    import bpt

    torch.manual_seed(0)
    if o.threads:
        torch.set_num_threads(o.threads)
    graph = bpt.BPT(n=o.n, k=o.k)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attend = attention_of(o.contender, graph, o)
    q, k, v = (torch.randn(1, o.heads, graph.nodes, o.head_dim) for _ in range(3))
    for _ in sys.stdin:
        begin = time.perf_counter()
        with torch.no_grad():
            out = attend(q, k, v)
        answer = {"forward": time.perf_counter() - begin, "sum": float(out.double().abs().sum())}
        if o.contender != "flex":
            x = [t.detach().requires_grad_() for t in (q, k, v)]
            begin = time.perf_counter()
            grads = torch.autograd.grad(attend(*x).square().sum(), x)
            answer.update(both=time.perf_counter() - begin, gradients=float(sum(g.double().abs().sum() for g in grads)))
        answer["mib"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(json.dumps(answer), flush=True)


def main():
    o = arguments()
    if o.contender:
        contend(o)
        return
    names = [name for name in CONTENDERS if name != "flex" or o.flex]
    children = {name: subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--contender", name], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True) for name in names}
    answers = {name: [] for name in names}
    for _ in range(o.rounds + 1):  # the first one makes things ready
        for name, child in children.items():
            child.stdin.write("go\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if not line:
                sys.exit(f"compare_attention: {name} ended with status {child.wait()}")
            answers[name].append(json.loads(line))
    print(f"n = {o.n}, k = {o.k}, {o.heads} heads of {o.head_dim}, f32, all nodes; medians of {o.rounds} rounds by turns")
    for name, given in answers.items():
        columns = [f"{key} {np.median([a[key] for a in given[1:]]):8.3f} s" for key in ("forward", "both") if key in given[0]]
        print(f"{name:5} {'  '.join(columns)}  more memory {given[-1]['mib']:7.0f} MiB")
        for key in ("sum", "gradients"):
            wanted = answers["bpt"][0][key]
            if key in given[0] and abs(given[0][key] - wanted) > 1e-3 * max(1, abs(wanted)):
                sys.exit(f"compare_attention: {name} and bpt differ: {key} {given[0][key]} and {wanted}")
    for child in children.values():
        child.stdin.close()
        child.wait()


if __name__ == "__main__":
    main()
