#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts one fault of known size into a trace of PyTorch's profiler by running it again: the host's events keep their order and gaps, GPU operations start after
their launch and after the one before them on the stream, calls that waited return after what they waited for. Written apart from lpo's own replay."""
from __future__ import annotations

import bisect
import gzip
import json
import random
import statistics

GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
MS = 1000.0  # of the trace's microseconds


class Program:
    """A trace, and how it runs. `longer`, `rename` and `extra` are the fault."""

    def __init__(self, path: str) -> None:
        with gzip.open(path) as f:
            self.doc = json.load(f)
        x = [e for e in self.doc["traceEvents"] if e.get("ph") == "X" and "dur" in e]
        self.gpu = sorted((e for e in x if e.get("cat") in GPU), key=lambda e: e["ts"])
        self.host = [e for e in x if e.get("cat") not in GPU and not str(e.get("cat", "")).startswith("gpu_")]
        calls = {e["args"]["correlation"]: e for e in self.host if str(e.get("cat", "")).startswith("cuda_") and "correlation" in e.get("args", {})}
        self.call = [calls.get(e["args"].get("correlation")) for e in self.gpu]
        self.steps = sorted((e for e in self.host if e["name"].startswith("ProfilerStep")), key=lambda e: e["ts"])
        self.tid = (self.steps[0]["pid"], self.steps[0]["tid"])
        self.number = 10_000_000
        self.longer: dict[int, float] = {}  # of the GPU operation with that number
        self.rename: dict[int, str] = {}
        self.extra: list[dict] = []  # host work: at, us, slices; with `copy` or `kernel` it launches, with `wait` it waits
        self._previous()

    def _previous(self) -> None:
        last: dict[tuple, int] = {}
        self.before: list[int | None] = []
        for i, e in enumerate(self.gpu):
            key = (e["args"].get("device"), e["args"].get("stream"))
            self.before.append(last.get(key))
            last[key] = i
        lags, gaps = [], []
        for i, e in enumerate(self.gpu):
            a, b = self._lags(i)
            if a is not None and (b is None or a <= b):
                lags.append(a)
            elif b is not None:
                gaps.append(b)
        self.lag = max(0.0, statistics.median(lags)) if lags else 5.0
        self.gap = max(0.0, statistics.median(gaps)) if gaps else 1.0

    def _lags(self, i: int) -> tuple[float | None, float | None]:
        e, c, p = self.gpu[i], self.call[i], self.before[i]
        a = None if c is None else e["ts"] - (c["ts"] + c["dur"] if c["ts"] + c["dur"] <= e["ts"] else c["ts"])
        return a, None if p is None else e["ts"] - self.gpu[p]["ts"] - self.gpu[p]["dur"]

    def _blocks(self, c: dict) -> bool:
        """A copy that its call waits for."""
        i = self.copies.get(c["args"].get("correlation")) if "emcpy" in c["name"] else None
        return i is not None and c["dur"] > 30 and self.gpu[i]["ts"] + self.gpu[i]["dur"] <= c["ts"] + c["dur"] + 60

    def _waited(self, c: dict) -> int | None:
        """What a call that waits waited for: the last operation that ended in it."""
        if "emcpy" in c["name"]:
            return self.copies[c["args"]["correlation"]]
        k = bisect.bisect_right(self.ends, (c["ts"] + c["dur"], len(self.gpu))) - 1
        return self.ends[k][1] if k >= 0 and self.ends[k][0] > c["ts"] else None

    def run(self) -> dict:
        """The trace with the fault in it."""
        self.ends = sorted((e["ts"] + e["dur"], i) for i, e in enumerate(self.gpu))
        self.copies = {e["args"].get("correlation"): i for i, e in enumerate(self.gpu) if e["cat"] == "gpu_memcpy"}
        order: list[tuple] = [(c["ts"], 1, i) for i, c in enumerate(self.call) if c is not None]
        order += [(c["ts"] + c["dur"], 2, c) for c in self.host if str(c.get("cat")).startswith("cuda_") and ("Synchronize" in c["name"] or self._blocks(c))]
        # a launch that takes long with that many before it waits for a place in the queue
        order += [(c["ts"] + c["dur"], 2, c) for i, c in enumerate(self.call)
                  if c is not None and c["dur"] >= 100 and "aunch" in c["name"] and i - bisect.bisect_right(self.ends, (c["ts"], -1)) >= 500]
        order += [(x["at"], 0, n) for n, x in enumerate(self.extra)]
        order.sort(key=lambda o: (o[0], o[1]))
        times, delays, new = [-1e30], [0.0], {}
        out: list[dict] = []
        streams: dict[tuple, float] = {}  # end of the last operation, as it runs now
        late = 0.0

        def set_delay(at: float, us: float) -> None:
            nonlocal late
            late = us
            times.append(at)
            delays.append(us)

        def place(i: int, launched: float) -> None:
            e, (a, b) = self.gpu[i], self._lags(i)
            key = (e["args"].get("device"), e["args"].get("stream"))
            by_launch = b is None or (a is not None and a <= b)
            start = launched + (a if by_launch else min(a, self.lag)) if a is not None else e["ts"]
            if key in streams:
                start = max(start, streams[key] + (min(b, self.gap) if by_launch or b is None else b) if b is not None else streams[key])
            new[i] = (start, self.longer.get(i, e["dur"]))
            streams[key] = start + new[i][1]

        for _, kind, what in order:
            if kind == 1:
                c, e = self.call[what], self.gpu[what]
                end = c["ts"] + c["dur"]
                place(what, (end if end <= e["ts"] else c["ts"]) + late)
            elif kind == 2:
                i = self._waited(what)
                end = what["ts"] + what["dur"]
                if i is not None and i in new:
                    over = new[i][0] + new[i][1] + end - self.gpu[i]["ts"] - self.gpu[i]["dur"]
                    own = min(what["dur"], end - min(end, self.gpu[i]["ts"] + self.gpu[i]["dur"]) + 1)
                    set_delay(end, max(over, what["ts"] + late + own) - end)
            else:
                x = self.extra[what]
                now = x["at"] + late
                for name, cat, a, b in x.get("slices", []):
                    out.append({"ph": "X", "cat": cat, "name": name, "pid": x.get("thread", self.tid)[0], "tid": x.get("thread", self.tid)[1],
                                "ts": now + a, "dur": b, "args": {}})
                us = x["us"]
                if "gpu" in x:
                    cat, name, stream, dur, args = x["gpu"]
                    self.number += 1
                    key = (0, stream)
                    start = max(now + 6 + self.lag, streams.get(key, 0) + self.gap)
                    out.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": dur,
                                "args": {"correlation": self.number, "device": 0, "stream": stream, **args}})
                    streams[key] = start + dur
                    us = max(us, start + dur + 4 - now) if x.get("blocking") else us
                    out.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync" if cat == "gpu_memcpy" else "cudaLaunchKernel",
                                "pid": self.tid[0], "tid": self.tid[1], "ts": now + 1, "dur": us - 2 if x.get("blocking") else 5, "args": {"correlation": self.number}})
                elif x.get("wait"):
                    us = max(6.0, max(streams.values(), default=now) + 4 - now)
                    self.number += 1
                    out.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": self.tid[0], "tid": self.tid[1], "ts": now + 2,
                                "dur": us - 4, "args": {"correlation": self.number}})
                    out.append({"ph": "X", "cat": "cpu_op", "name": "aten::item", "pid": self.tid[0], "tid": self.tid[1], "ts": now + 1, "dur": us - 2, "args": {}})
                set_delay(x["at"], late + us)

        def moved(t: float) -> float:
            return t + delays[bisect.bisect_right(times, t) - 1]

        for e in self.host:
            start = moved(e["ts"])
            out.append({**e, "ts": start, "dur": max(0.0, moved(e["ts"] + e["dur"]) - start)})
        for i, e in enumerate(self.gpu):
            start, dur = new.get(i, (e["ts"], e["dur"]))
            out.append({**e, "ts": start, "dur": dur, "name": self.rename.get(i, e["name"])})
        return {**{k: v for k, v in self.doc.items() if k != "traceEvents"}, "traceEvents": out}

    # --- places in it

    def quiet(self, step: dict, rng: random.Random) -> float:
        """A moment of a step between two calls of the main thread."""
        calls = sorted((c["ts"], c["ts"] + c["dur"]) for c in self.host if (c["pid"], c["tid"]) == self.tid and str(c.get("cat")).startswith("cuda_")
                       and step["ts"] < c["ts"] < step["ts"] + 0.8 * step["dur"])
        return rng.choice([a[1] + 1 for a, b in zip(calls, calls[1:]) if b[0] - a[1] > 3])

    def begin(self, step: dict) -> float:
        return step["ts"] + 0.5


def pause(p: Program, rng: random.Random) -> str:
    us = rng.uniform(0.3, 0.6) * p.steps[1]["dur"] + 60 * MS
    p.extra.append({"at": p.quiet(rng.choice(p.steps[1:-1]), rng), "us": us, "slices": [("gc.collect", "user_annotation", 0, us - 1)]})
    return "pause"


def recompile(p: Program, rng: random.Random) -> str:
    us = rng.uniform(150, 400) * MS
    p.extra.append({"at": p.quiet(rng.choice(p.steps[1:-1]), rng), "us": us, "slices": [("_compile.compile_inner (dynamo_timed)", "user_annotation", 0, us - 1)]})
    return "recompilation"


def preprocess(p: Program, rng: random.Random) -> str:
    us = rng.uniform(0.6, 1.2) * p.steps[1]["dur"] + 20 * MS
    for s in p.steps:
        p.extra.append({"at": p.begin(s), "us": us, "slices": [("image_preprocess", "user_annotation", 0, us - 1)]})
    return "data-loading"


def allocator(p: Program, rng: random.Random) -> str:
    us = rng.uniform(0.5, 0.9) * p.steps[1]["dur"]
    for s in p.steps:
        p.extra.append({"at": p.begin(s), "us": 2 * us + 4, "slices": [("cudaMalloc", "cuda_runtime", 1, us), ("cudaMalloc", "cuda_runtime", us + 2, us)]})
    return "allocator"


def sync(p: Program, rng: random.Random) -> str:
    """A wait in front of so much host work that the GPU runs dry."""
    for s in p.steps:
        for _ in range(rng.randint(15, 25)):
            at = p.quiet(s, rng)
            p.extra.append({"at": at, "us": 0, "wait": True})
    return "blocked-in-call"


def pageable(p: Program, rng: random.Random, pinned: bool) -> str:
    size = rng.randint(200, 400) << 20
    for s in p.steps:
        rate = 12.5e3 if pinned else 4e3  # bytes a microsecond
        p.extra.append({"at": p.quiet(s, rng), "us": 10, "blocking": not pinned, "slices": [("aten::copy_", "cpu_op", 0.5, 9)],
                        "gpu": ("gpu_memcpy", f"Memcpy HtoD ({'Pinned' if pinned else 'Pageable'} -> Device)", 7, size / rate, {"bytes": size})})
    return "pageable-copies"


def tiny_kernels(p: Program, rng: random.Random) -> str:
    names = ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >", "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float> >",
             "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_kernel>")
    count, us = rng.randint(300, 500), rng.uniform(6, 9)
    for s in p.steps:
        at = p.quiet(s, rng)
        for i in range(count):
            p.extra.append({"at": at + i * 1e-4, "us": 7, "gpu": ("kernel", names[i % 3], 7, us, {"grid": [64, 1, 1], "block": [256, 1, 1]})})
    return "unfused-kernels"


def slow_layer(p: Program, rng: random.Random, prefix: str = "nn.Module: TimesformerLayer_") -> str:
    name = f"{prefix}{rng.randint(1, 10)}"
    layer = next(e for e in p.host if e["name"] == name)
    times = rng.uniform(2.5, 4)
    for i, c in enumerate(p.call):
        if c and layer["ts"] <= c["ts"] < layer["ts"] + layer["dur"] and ("gemm" in p.gpu[i]["name"] or "nvjet" in p.gpu[i]["name"]):
            p.longer[i] = p.gpu[i]["dur"] * times
    return "slow-sibling"


def upcast(p: Program, rng: random.Random) -> str:
    """Half of the products of one kind, on the ordinary units."""
    by_name: dict[tuple, list[int]] = {}
    for i, e in enumerate(p.gpu):
        if "gemm" in e["name"]:
            by_name.setdefault((e["name"], tuple(e["args"].get("grid", ()))), []).append(i)
    group = rng.choice([g for g in by_name.values() if 6 <= len(g) <= 40 and sum(p.gpu[i]["dur"] for i in g) > 1.5 * MS])
    times = rng.uniform(5, 10)
    for i in group[::2]:
        p.longer[i] = p.gpu[i]["dur"] * times
        p.rename[i] = "ampere_sgemm_128x128_tn"
    return "no-tensor-cores"
