# SPDX-License-Identifier: Apache-2.0
"""Traces whose difference is known: a small program as a list of steps, changed in one way, written as Kineto JSON,
as an export of nsys or as a file of the collector.

    base = Program(steps=10)
    base.write("a.json")
    base.scaled("gemm", 1.3).write("b.json")

Times are whole microseconds times 1,000 plus a rest, so that sums are exact in nanoseconds.
"""
from __future__ import annotations

import copy
import dataclasses
import json
import random

from formats import write_native, write_nsys

GPU = "NVIDIA H200"
LAUNCH_NS, BETWEEN_NS, RANGE_NS = 2000, 500, 1000


@dataclasses.dataclass
class Kernel:
    name: str
    ns: int
    grid: tuple = (128, 1, 1)


@dataclasses.dataclass
class Region:
    """A range, what it launches itself, then what is inside it."""
    name: str
    kernels: list
    inside: list = dataclasses.field(default_factory=list)


def layer(number: int) -> Region:
    attention = Region("attn", [Kernel("ampere_bf16_gemm_qkv", 40123), Kernel("flash_fwd_kernel", 61007)])
    mlp = Region("mlp", [Kernel("ampere_bf16_gemm_up", 80211), Kernel("silu_mul_kernel", 9013),
                         Kernel("ampere_bf16_gemm_down", 79507, (64, 2, 1))])
    norm = Region("norm", [Kernel("pow_kernel", 3011), Kernel("mean_kernel", 3517), Kernel("rsqrt_kernel", 2003),
                           Kernel("mul_kernel", 3019)])
    return Region(f"layer{number}", [], [norm, attention, mlp])


def step() -> Region:
    return Region("forward", [Kernel("embedding_kernel", 5003)],
                  [layer(i) for i in range(4)] + [Region("head", [Kernel("ampere_bf16_gemm_head", 120011)])])


class Program:
    def __init__(self, steps: int = 10, rank: int | None = None, gpu: str = GPU, make=step) -> None:
        self.steps = [make() for _ in range(steps)]
        self.rank, self.gpu = rank, gpu
        self.ranges = True
        self.window = False  # native: recorded in a window
        self.marked = True  # each step is a range of the profiler
        self.waits: dict = {}  # step: (category, name, ns) of what the host does before it launches

    # --- walks -----------------------------------------------------------------------------------

    def kernels(self, region: Region | None = None):
        for r in self.steps if region is None else [region]:
            yield from r.kernels
            for inner in r.inside:
                yield from self.kernels(inner)

    def regions(self, name: str, inside: Region | None = None):
        for r in self.steps if inside is None else inside.inside:
            if r.name == name:
                yield r
            yield from self.regions(name, r)

    def gpu_ns(self, name: str | None = None) -> int:
        return sum(k.ns for k in self.kernels() if name in (None, k.name))

    # --- changes: each gives a new program ---------------------------------------------------------

    def copy(self) -> Program:
        return copy.deepcopy(self)

    def scaled(self, name: str | None, factor: float) -> Program:
        p = self.copy()
        for k in p.kernels():
            if name in (None, k.name):
                k.ns = round(k.ns * factor)
        return p

    def waiting(self, category: str, name: str, ns: int, *steps: int) -> Program:
        """The host is in something at the beginning of these steps, or of all, and the GPU waits."""
        p = self.copy()
        p.waits = {i: (category, name, ns) for i in steps or range(len(p.steps))}
        return p

    def jittered(self, share: float, seed: int, normal: bool = False) -> Program:
        """Every call on its own, up to `share` longer or shorter (or with that standard deviation)."""
        p, rng = self.copy(), random.Random(seed)
        for k in p.kernels():
            by = rng.gauss(0, share) if normal else rng.uniform(-share, share)
            k.ns = max(1, round(k.ns * (1 + by)))
        return p

    def fused(self, region: str, name: str, ns: int) -> Program:
        """All kernels that a region launches itself become one."""
        p = self.copy()
        for r in p.regions(region):
            r.kernels = [Kernel(name, ns)]
        return p

    def reordered(self, seed: int) -> Program:
        p, rng = self.copy(), random.Random(seed)

        def shuffle(r: Region) -> None:
            rng.shuffle(r.kernels)
            for inner in r.inside:
                shuffle(inner)
        for s in p.steps:
            shuffle(s)
        rng.shuffle(p.steps)
        return p

    def dropped(self, name: str) -> Program:
        p = self.copy()

        def drop(r: Region) -> None:
            r.kernels = [k for k in r.kernels if k.name != name]
            for inner in r.inside:
                drop(inner)
        for s in p.steps:
            drop(s)
        return p

    # --- files: .json is Kineto's, .sqlite nsys's, .lpot the collector's ----------------------------

    def write(self, path: str) -> str:
        events = Events(self)
        for i, s in enumerate(self.steps):
            events.step(i, s)
        if path.endswith(".sqlite"):
            write_nsys(path, events.all, self.gpu)
            return path
        if path.endswith(".lpot"):
            write_native(path, events.all, self.gpu, self.rank, self.window)
            return path
        properties = [{"id": 0, "name": self.gpu, "totalGlobalMem": 1 << 30}] if self.gpu else []
        trace = {"schemaVersion": 1, "deviceProperties": properties, "traceEvents": events.all}
        if self.rank is not None:
            trace["distributedInfo"] = {"rank": self.rank, "world_size": 2, "backend": "nccl"}
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(trace))
        return path


class Events:
    """A host that launches ahead of a GPU that is never idle for long."""

    def __init__(self, program: Program) -> None:
        self.program, self.all = program, []
        self.host_ns, self.gpu_ns, self.number = 1_000_000, 1_010_000, 0

    def add(self, category: str, name: str, start: int, end: int, where: tuple, **args) -> None:
        pid, tid = where
        self.all.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start / 1000,
                         "dur": (end - start) / 1000, "args": args})

    def launch(self, k: Kernel) -> None:
        self.number += 1
        start = self.host_ns
        self.host_ns += LAUNCH_NS
        self.add("cuda_runtime", "cudaLaunchKernel", start, self.host_ns, (100, 100), correlation=self.number)
        begin = max(self.gpu_ns, self.host_ns) + BETWEEN_NS
        self.gpu_ns = begin + k.ns
        self.add("kernel", k.name, begin, self.gpu_ns, (0, 7), correlation=self.number, device=0, stream=7,
                 grid=list(k.grid), block=[256, 1, 1])

    def region(self, r: Region) -> None:
        start = self.host_ns
        self.host_ns += RANGE_NS
        for k in r.kernels:
            self.launch(k)
        for inner in r.inside:
            self.region(inner)
        self.host_ns += RANGE_NS
        if self.program.ranges:
            self.add("user_annotation", r.name, start, self.host_ns, (100, 100))

    def step(self, number: int, r: Region) -> None:
        start = self.host_ns
        self.host_ns += RANGE_NS
        if number in self.program.waits:
            category, name, ns = self.program.waits[number]
            self.add(category, name, self.host_ns, self.host_ns + ns, (100, 100))
            self.host_ns += ns
        self.region(r)
        self.host_ns = max(self.host_ns, self.gpu_ns) + RANGE_NS  # the host waits for the GPU
        if self.program.ranges and self.program.marked:
            self.add("user_annotation", f"ProfilerStep#{number}", start, self.host_ns, (100, 100))
