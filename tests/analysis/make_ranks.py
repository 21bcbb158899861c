#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of many ranks with known clocks, known skew and a known latecomer, as Kineto traces.

    make_ranks.py OUT RANKS [--steps N] [--late RANK] [--offsets NS] [--named NAME] [--drift PPM]     rank0.json … and truth.json

Every step a rank computes, then all of them meet in an all-reduce and an all-gather: a kernel starts when its rank
arrives and ends on all of them at the same true moment. The clock of each rank is off by a constant, and by a drift where one is asked for.
"""
from __future__ import annotations

import argparse
import json
import os
import random


def kernel(name: str, start: int, end: int, stream: int, correlation: int, **args) -> list[dict]:
    """Times in ns; Kineto writes microseconds with three digits."""
    common = {"External id": correlation, "correlation": correlation}
    return [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": (start - 5000) / 1000, "dur": 3.0,
         "args": common},
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start / 1000, "dur": (end - start) / 1000,
         "args": {"device": 0, "stream": stream, "grid": [1, 1, 1], "block": [64, 1, 1], **common, **args}},
    ]


def make(ranks: int, steps: int, late: int, offset: int, seed: int = 1, drop: int = 0, named: str = "",
         late_steps: range | None = None, drift: float = 0, gap: int = 10_000) -> tuple[list[dict], dict]:
    """`named`: each step is a range of that name, "%" being its number; `late_steps`: `late` is late only in those.
    `drift`: clocks gain or lose up to so many ppm; `gap`: ns between steps."""
    rng = random.Random(seed)
    begins, table = [], []  # of each step: its moment, and of each rank compute, exposed communication, time on the GPU
    offsets = [0] + [rng.randrange(-offset, offset + 1) for _ in range(ranks - 1)]
    drifts = [0.0] + [rng.uniform(-drift, drift) for _ in range(ranks - 1)]

    def clock(r: int, ns: int) -> int:
        """what the clock of a rank shows at a true moment"""
        return ns + offsets[r] + round(drifts[r] * 1e-6 * (ns - 1_000_000_000))

    events: list[list[dict]] = [[] for _ in range(ranks)]
    waiting = [0] * ranks
    delay = {r: 0 for r in range(ranks)}
    lates = {r: 0 for r in range(ranks)}
    now, correlation = 1_000_000_000, 0
    for step in range(steps):
        free = [now] * ranks
        slow = late if late_steps is None or step in late_steps else -1
        begins.append(now - 6000)
        table.append([[0, 0, -now] for _ in range(ranks)])
        for kind, count in (("allreduce", 1 << 20), ("_allgather_base", 1 << 16)):
            for r in range(ranks):
                work = 400_000 + rng.randrange(20_000) + (300_000 if r == slow and kind == "allreduce" else 0)
                correlation += 1
                name = "slow_kernel(float*)" if r == slow and kind == "allreduce" else "compute_kernel(float*)"
                events[r] += kernel(name, clock(r, free[r]), clock(r, free[r] + work), 7, correlation)
                table[step][r][0] += work
                free[r] += work + 1000
            order = sorted(range(ranks), key=lambda r: free[r])
            end = free[order[-1]] + 150_000 + rng.randrange(5000)
            if free[order[-1]] - free[order[-2]] > 2000:
                delay[order[-1]] += free[order[-1]] - free[order[-2]]
                lates[order[-1]] += 1
            for r in range(ranks):
                correlation += 1
                waiting[r] += free[order[-1]] - free[r]
                table[step][r][1] += end - free[r]
                events[r] += kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)" if kind == "allreduce" else
                                    "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", clock(r, free[r]), clock(r, end), 20, correlation,
                                    **{"Collective name": kind, "In msg nelems": count, "Out msg nelems": count * (1 if kind == "allreduce" else ranks),
                                       "Group size": ranks, "dtype": "Float", "Process Group Name": "0"})
            free = [end + 2000] * ranks
        for r in range(ranks):
            table[step][r][2] += end
        now = free[0] + gap
    traces = []
    walls = [b - a for a, b in zip(begins, begins[1:])] + [now - begins[-1]]
    for r in range(ranks):
        if named:
            events[r] += [{"ph": "X", "cat": "user_annotation", "name": named.replace("%", str(i)), "pid": 7, "tid": 7,
                           "ts": clock(r, begin) / 1000, "dur": (walls[i] - (1 if i + 1 < steps else 0)) / 1000} for i, begin in enumerate(begins)]
        cut = sorted(events[r], key=lambda e: e["ts"])
        if drop and r % 2:  # such a rank began to record later
            cut = cut[drop:]
        traces.append({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": r, "world_size": ranks},
                       "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85 << 30, "numSms": 132}],
                       "baseTimeNanoseconds": 0, "traceEvents": cut})
    best = max(delay, key=lambda r: delay[r])
    return traces, {"offsets": offsets, "drifts": drifts, "clock": clock, "waiting": waiting, "delay": delay, "late": lates, "latest": best if delay[best] else None, "walls": walls,
                    "steps": table}


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("ranks", type=int)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--late", type=int, default=-1)
    p.add_argument("--offsets", type=int, default=3_600_000_000_000)
    p.add_argument("--named", default="", help="each step is a range of that name, %% being its number")
    p.add_argument("--drift", type=float, default=0)
    words = p.parse_args()
    traces, truth = make(words.ranks, words.steps, words.late, words.offsets, named=words.named, drift=words.drift)
    os.makedirs(words.out, exist_ok=True)
    for r, trace in enumerate(traces):
        with open(os.path.join(words.out, f"rank{r}.json"), "w", encoding="utf-8") as f:
            f.write(json.dumps(trace))
    del truth["clock"]
    with open(os.path.join(words.out, "truth.json"), "w", encoding="utf-8") as f:
        json.dump(truth, f)


if __name__ == "__main__":
    main()
