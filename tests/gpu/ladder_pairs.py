# SPDX-License-Identifier: Apache-2.0
"""One program with a fault and without it, in turn: traces of PyTorch's profiler and steps timed without any profiler.

    ladder_pairs.py OUT [NAME…]    OUT/NAME_{before,after}.json.gz, OUT/steps.json

A report of NAME_before promises what mending the fault saves; steps.json says what it saved.
"""
import gzip
import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F

HEADS, WIDTH, LAYERS, TOKENS, BATCH = 16, 1024, 8, 512, 8
PROFILED, TIMED = 6, 30
device = os.environ.get("DEVICE", "cuda:0")


class Layer(torch.nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)

    def attention(self, q, k, v):
        if self.how.get("attention") != "separate":
            return F.scaled_dot_product_attention(q, k, v)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ v

    def gelu(self, x):
        if self.how.get("gelu") != "separate":
            return F.gelu(x, approximate="tanh")
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (p.view(b, t, HEADS, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(b, t, WIDTH))
        for _ in range(self.how.get("repeat", 1)):
            h = self.down(self.gelu(self.up(self.norm2(x))))
        if self.how.get("casts"):
            h = h.float().to(x.dtype)
        x = x + h
        if self.how.get("sync"):
            float(x[0, 0, 0])
        return x


class Model(torch.nn.Module):
    def __init__(self, how):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer({**how, "repeat": 3} if how.get("slow_layer") == i else how) for i in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def prepare_on_host(seconds):
    end = time.perf_counter() + seconds
    n = 0
    while time.perf_counter() < end:
        n += len(str(n))


def make_step(how):
    """A function that runs one step, and what it needs."""
    torch.manual_seed(0)
    dtype = how.get("dtype", torch.bfloat16)
    batch, tokens = how.get("batch", BATCH), how.get("tokens", TOKENS)
    model = Model(how).to(device, dtype).eval()
    x = torch.randn(batch, tokens, WIDTH, device=device, dtype=dtype)
    host = torch.randn(64, 1 << 20)
    if how.get("pinned"):
        host = host.pin_memory()
    graph = None

    def step():
        if how.get("load"):
            with torch.profiler.record_function("preprocess"):
                prepare_on_host(how["load"])
        if "pinned" in how:
            host.to(device, non_blocking=True)
        if how.get("allocator"):
            torch.cuda.empty_cache()
        if graph is not None:
            graph.replay()
        else:
            model(x)

    with torch.no_grad():
        for _ in range(3):
            model(x)
        torch.cuda.synchronize()
        if how.get("graph"):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model(x)
    return step


PAIRS = {
    "sync": ({"sync": True, "batch": 1, "tokens": 128}, {"batch": 1, "tokens": 128}),
    "fp32": ({"dtype": torch.float32}, {"dtype": torch.bfloat16}),
    "attention": ({"attention": "separate", "tokens": 2048, "batch": 4}, {"tokens": 2048, "batch": 4}),
    "gelu": ({"gelu": "separate"}, {}),
    "pageable": ({"pinned": False}, {"pinned": True}),
    "graph": ({"batch": 1, "tokens": 16}, {"batch": 1, "tokens": 16, "graph": True}),
    "load": ({"load": 0.02}, {}),
    "allocator": ({"allocator": True}, {}),
    "slow_layer": ({"slow_layer": 5}, {}),
    "casts": ({"casts": True}, {}),
}


def time_steps(step):
    took = []
    for _ in range(TIMED):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    for _ in range(TIMED):
        step()
    torch.cuda.synchronize()
    return {"alone_ns": int(statistics.median(took) * 1e9), "in_a_row_ns": int((time.perf_counter() - begin) / TIMED * 1e9)}


def profile_steps(step, path):
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    schedule = torch.profiler.schedule(wait=0, warmup=2, active=PROFILED, repeat=1)

    def save(p):
        plain = path + ".json"
        p.export_chrome_trace(plain)
        with open(plain, "rb") as f, gzip.open(path + ".json.gz", "wb") as g:
            g.write(f.read())
        os.remove(plain)

    with torch.profiler.profile(activities=kinds, schedule=schedule, record_shapes=True, on_trace_ready=save) as p:
        for _ in range(2 + PROFILED):
            step()
            p.step()


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    figures = {}
    with torch.no_grad():
        for name in sys.argv[2:] or PAIRS:
            for side, how in zip(("before", "after"), PAIRS[name]):
                step = make_step(how)
                figures.setdefault(name, {})[side] = time_steps(step)
                profile_steps(step, f"{out}/{name}_{side}")
                figures[name][side + "_again"] = time_steps(step)
                del step
                torch.cuda.empty_cache()
            print(name, json.dumps(figures[name]), flush=True)
    with open(f"{out}/steps.json", "w") as f:
        json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "pairs": figures}, f, indent=1)


main()
