#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a range for each module call costs a PyTorch program, without a GPU: modules that do nothing, in the shape of a Llama.

    modules_cost.py --library liblpo-collect.so [--depth 4] [--rounds 15] [FOLDER…]

FOLDER holds lpo_modules.py (workloads/lpo_sitecustomize where none is given; two folders compare two versions). Each is a
process of its own, beside one without ranges; they take turns on one core, and processor time counts. A figure is what is added to a call of a
module, of those that have a range and of those too deep for one; the median of the rounds, then their middle half.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "..", "workloads", "lpo_sitecustomize")
PROGRAM = """
import sys, time, torch
from torch import nn
class Leaf(nn.Module):
    def forward(self, x): return x
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = Leaf(), Leaf(), Leaf(), Leaf()
    def forward(self, x): return self.o_proj(self.v_proj(self.k_proj(self.q_proj(x))))
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj, self.act, self.down_proj = Leaf(), Leaf(), Leaf(), Leaf()
    def forward(self, x): return self.down_proj(self.act(self.up_proj(self.gate_proj(x))))
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp, self.input_layernorm, self.post_attention_layernorm = Attention(), MLP(), Leaf(), Leaf()
    def forward(self, x): return self.mlp(self.post_attention_layernorm(self.self_attn(self.input_layernorm(x))))
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens, self.layers, self.norm = Leaf(), nn.ModuleList(Layer() for _ in range(32)), Leaf()
    def forward(self, x):
        x = self.embed_tokens(x)
        for layer in self.layers: x = layer(x)
        return self.norm(x)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.lm_head = Inner(), Leaf()
    def forward(self, x): return self.lm_head(self.model(x))
net = Model().eval()
for _ in range(200): net(1)
print("ready", flush=True)
for line in sys.stdin:
    start = time.process_time_ns()
    for _ in range(100): net(1)
    print((time.process_time_ns() - start) / 100, flush=True)
"""
CALLS = {depth: sum(1 if d <= depth else 0 for d in
                    [1, 2, 2, 3, 3, *([3] + [4] * 4 + [5] * 8) * 32]) for depth in range(1, 10)}
ALL = CALLS[9]


class Process:
    def __init__(self, folder, args, work):
        env = dict(os.environ)
        if folder:
            os.makedirs(work, exist_ok=True)
            env.update(PYTHONPATH=os.path.abspath(folder), LPO_TORCH_MODULES=str(args.depth), LPO_COLLECT_DIR=work,
                       NVTX_INJECTION64_PATH=os.path.abspath(args.library), LPO_COLLECT_MAX_MB="64")
        self.name, self.times = folder or "no ranges", []
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self):
        return self.process.stdout.readline().strip()

    def repeat(self):
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        self.times.append(float(self.answer()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("folders", nargs="*", default=[OURS])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
        processes = [Process(folder, args, os.path.join(work, str(i))) for i, folder in enumerate([None, *args.folders])]
        for p in processes:
            if p.answer() != "ready":
                sys.exit(f"{p.name}: did not start")
        for _ in range(args.rounds):
            for p in processes:
                p.repeat()
        for p in processes:
            p.process.stdin.close()
            p.process.wait()
    plain = processes[0].times
    print(f"{ALL} calls of modules, {CALLS.get(args.depth, ALL)} with a range: {statistics.median(plain) / 1e3:.1f} us without ranges")
    for p in processes[1:]:
        added = sorted((a - b) / ALL for a, b in zip(p.times, plain))
        quarter = len(added) // 4
        print(f"{p.name}: {statistics.median(added):+.0f} ns a call ({added[quarter]:+.0f} … {added[-1 - quarter]:+.0f})")


if __name__ == "__main__":
    main()
