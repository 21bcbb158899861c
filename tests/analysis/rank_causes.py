#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of many ranks with one fault each, as Kineto traces, and the check that lpo names its cause first.

    rank_causes.py make OUT KIND SEED           the files of one job, and truth.json
    rank_causes.py try LPO [KIND…] [-n SEEDS]   makes and checks them; prints those that differ
    rank_causes.py table LPO [KIND…] [-n SEEDS] the same, and a table of how far off each kind is (docs/many-ranks.md)

Each rank runs a program of its own on one true clock: a host that launches, a stream that computes, a stream for each group. Ranks meet in
collectives and nowhere else. The same job is simulated again without its fault, with the same noise: the difference of the two is what the
fault costs. Then each rank writes what its own clock shows, which is off by up to an hour and drifts."""
from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

EPOCH = 1_750_000_000_000_000_000
HOUR = 3_600_000_000_000
MS = 1_000_000
NAMES = {"allreduce": "AllReduce_Sum_bf16_RING_LL", "_allgather_base": "AllGather_RING_LL", "_reduce_scatter_base": "ReduceScatter_Sum_bf16_RING_LL",
         "all_to_allv": "SendRecv", "send": "SendRecv", "recv": "SendRecv"}


class Job:
    """Programs are lists of operations per rank; run() gives each of them its time."""

    def __init__(self, seed: int, ranks: int, noise: float = 0.01) -> None:
        self.seed, self.ranks, self.noise = seed, ranks, noise
        self.programs: list[list[tuple]] = [[] for _ in range(ranks)]
        self.meets: dict = {}   # key -> members
        self.counts: dict = {}

    # --- the program; `faulty` of a time is what the fault adds -------------------------------------------------------------------------

    def step(self, n: int) -> None:
        for p in self.programs:
            p.append(("step", n))

    def host(self, r: int, name: str, ns: float, faulty: float = 0) -> None:
        self.programs[r].append(("host", name, ns, faulty))

    def kernel(self, r: int, name: str, ns: float, faulty: float = 0) -> None:
        self.programs[r].append(("kernel", name, ns, faulty))

    def meet(self, kind: str, group: str, members, nbytes: float, rate: float = 100e9, slow: float = 1, behind: bool = False, counts: dict | None = None) -> None:
        members = list(members)
        number = self.counts[group] = self.counts.get(group, 0) + 1
        send = 15_000 + nbytes / rate * 1e9
        self.meets[group, number] = {"members": members, "send": send, "faulty": send * (slow - 1), "kind": kind}
        for r in members:
            self.programs[r].append(("meet", kind, group, number, nbytes, behind, (counts or {}).get(r, nbytes)))

    def send(self, a: int, b: int, nbytes: float, tag: str) -> None:
        """Posted by both in their own order: see post()."""
        number = self.counts[a, b, tag] = self.counts.get((a, b, tag), 0) + 1
        self.meets[(a, b, tag), number] = {"members": [a, b], "send": 10_000 + nbytes / 50e9 * 1e9, "faulty": 0, "kind": "send"}

    def post(self, r: int, a: int, b: int, tag: str, number: int, nbytes: float) -> None:
        self.programs[r].append(("meet", "send" if r == a else "recv", (a, b, tag), number, nbytes, r == a, nbytes))

    def join(self, r: int) -> None:
        self.programs[r].append(("join",))

    def sync(self, r: int) -> None:
        self.programs[r].append(("sync",))

    # --- its times -----------------------------------------------------------------------------------------------------------------------

    def run(self, fault: bool, free_sends: bool = False):
        """Rows of each rank: (what, name, start, end, more). `free_sends`: a receive waits for nobody."""
        rngs = [random.Random(f"{self.seed} {r}") for r in range(self.ranks)]
        send_rng = {k: random.Random(f"{self.seed} {k}").uniform(1, 1 + self.noise) for k in self.meets}
        host, gpu = [EPOCH] * self.ranks, [EPOCH] * self.ranks
        at = [0] * self.ranks
        rows: list[list[list]] = [[] for _ in range(self.ranks)]
        lines: dict = {}              # (rank, stream) -> last end or None while it is open
        queue: dict = {}              # (rank, stream) -> posted ones that have not arrived
        arrived: dict = {}
        ends: dict = {}
        open_joins: list[set] = [set() for _ in range(self.ranks)]

        def settle() -> bool:
            moved = False
            for (r, stream), posted in queue.items():
                while posted and lines.get((r, stream), EPOCH) is not None:
                    key, ready, row = posted.pop(0)
                    row[2] = max(ready, lines.get((r, stream), EPOCH) + 500)
                    lines[r, stream] = None
                    arrived.setdefault(key, {})[r] = row
                    meet = self.meets[key]
                    moved = True
                    alone = free_sends and meet["kind"] == "send"
                    if alone or len(arrived[key]) == len(meet["members"]):
                        took = round((meet["send"] + (meet["faulty"] if fault else 0)) * send_rng[key])
                        last = max(x[2] for x in arrived[key].values())
                        for m, x in ([(r, row)] if alone else arrived[key].items()):
                            x[3] = (row[2] if alone else last) + took
                            lines[m, x[4]["stream"]] = x[3]
                            ends[key, m] = x[3]
            return moved

        moved = True
        while moved:
            moved = settle()
            for r in range(self.ranks):
                while at[r] < len(self.programs[r]):
                    op = self.programs[r][at[r]]
                    if op[0] == "step":
                        rows[r].append(["step", f"ProfilerStep#{op[1]}", host[r], 0, {}])
                    elif op[0] == "host":
                        took = round(op[2] * rngs[r].uniform(1, 1 + self.noise) + (op[3] if fault else 0))
                        rows[r].append(["host", op[1], host[r], host[r] + took, {}])
                        host[r] += took + 1000
                    elif op[0] == "kernel":
                        took = round((op[2] + (op[3] if fault else 0)) * rngs[r].uniform(1 - self.noise, 1 + self.noise))
                        start = max(gpu[r] + 1000, host[r] + 6000)
                        rows[r].append(["kernel", op[1], start, start + took, {"stream": 7, "launch": host[r]}])
                        gpu[r] = start + took
                        host[r] += 5000
                    elif op[0] == "meet":
                        _, kind, group, number, nbytes, behind, count = op
                        stream = 20 + sum(map(ord, str(group))) % 97
                        row = ["nccl", kind, 0, 0, {"stream": stream, "launch": host[r], "group": group, "number": number, "bytes": nbytes, "count": count}]
                        queue.setdefault((r, stream), []).append(((group, number), max(gpu[r] + 1000, host[r] + 6000), row))
                        rows[r].append(row)
                        open_joins[r].add((group, number))
                        host[r] += 5000
                        if not behind:
                            self.programs[r].insert(at[r] + 1, ("wait", group, number)) if (len(self.programs[r]) == at[r] + 1 or self.programs[r][at[r] + 1] != ("wait", group, number)) else None
                    elif op[0] == "wait":
                        settle()
                        if ((op[1], op[2]), r) not in ends:
                            break
                        gpu[r] = max(gpu[r], ends[(op[1], op[2]), r])
                        open_joins[r].discard((op[1], op[2]))
                    elif op[0] == "join":
                        settle()
                        if any((k, r) not in ends for k in open_joins[r]):
                            break
                        gpu[r] = max([gpu[r], *(ends[k, r] for k in open_joins[r])])
                        open_joins[r].clear()
                    elif op[0] == "sync":
                        rows[r].append(["call", "cudaStreamSynchronize", host[r], max(host[r], gpu[r]) + 2000, {}])
                        host[r] = max(host[r], gpu[r]) + 3000
                    at[r] += 1
                    moved = True
        assert all(a == len(p) for a, p in zip(at, self.programs)), "the programs wait for each other"
        for r in range(self.ranks):
            steps = [x for x in rows[r] if x[0] == "step"]
            for x, y in zip(steps, steps[1:] + [None]):
                x[3] = y[2] if y else host[r]
        return rows

    def wall(self, rows) -> int:
        return max(x[3] for mine in rows for x in mine) - min(x[2] for mine in rows for x in mine)


# --- programs ---------------------------------------------------------------------------------------------------------------------------------


def layer(job: Job, r: int, ms: float, faulty: float = 0, slow_kernel: str = "") -> None:
    """faulty: a share of all kernels, or of one"""
    for name, share in (("gemm_bf16_kernel(float*, int)", 0.6), ("flash_fwd_kernel(Params)", 0.3), ("elementwise_kernel(float*)", 0.1)):
        more = faulty if not slow_kernel or slow_kernel in name else 0
        job.kernel(r, name, ms * MS * share, ms * MS * share * more)


def ddp(job: Job, steps: int, data=lambda r, s: 0, slow=lambda r, s: 0, hiccup=lambda r, s: 0, kernel: str = "", ms: float = 4) -> None:
    """Gradients in three buckets behind the backward pass, joined before the optimizer; the loss is fetched every step."""
    everyone = range(job.ranks)
    for s in range(steps):
        job.step(s)
        for r in everyone:
            job.host(r, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 200_000, data(r, s))
            for _ in range(3):
                layer(job, r, ms, slow(r, s), kernel)
            if hiccup(r, s):
                job.host(r, "", 10_000, hiccup(r, s))
        for _ in range(3):
            for r in everyone:
                layer(job, r, ms * 1.5, slow(r, s), kernel)
            job.meet("allreduce", "0", everyone, 100e6, behind=True)
        for r in everyone:
            job.join(r)
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS, 0.8 * MS * (slow(r, s) if not kernel else 0))
            job.sync(r)


def tensor(job: Job, steps: int, size: int = 4, slow=lambda r, s: 0, link=lambda g: 1, dp_link=lambda g: 1) -> None:
    """Tensor parallel groups in order, data parallel groups across them."""
    inner = [range(i, i + size) for i in range(0, job.ranks, size)]
    outer = [range(i, job.ranks, size) for i in range(size)]
    for s in range(steps):
        job.step(s)
        for r in range(job.ranks):
            job.host(r, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 100_000)
        for _ in range(6):
            for r in range(job.ranks):
                layer(job, r, 2, slow(r, s))
            for i, g in enumerate(inner):
                job.meet("allreduce", f"{1 + i}", g, 60e6, slow=link(i))
        for i, g in enumerate(outer):
            job.meet("allreduce", f"{100 + i}", g, 80e6, slow=dp_link(i))
        for r in range(job.ranks):
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS)
            job.sync(r)


def experts(job: Job, steps: int, more=lambda r: 0) -> None:
    everyone = range(job.ranks)
    for s in range(steps):
        job.step(s)
        for _ in range(4):
            for r in everyone:
                layer(job, r, 2)
            counts = {r: round(4e6 * (1 + more(r))) for r in everyone}
            job.meet("all_to_allv", "0", everyone, 16e6, counts=counts)
            for r in everyone:
                job.kernel(r, "grouped_gemm_kernel(float*)", 3 * MS, 3 * MS * more(r))
            job.meet("all_to_allv", "0", everyone, 16e6, counts=counts)
        for r in everyone:
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS)
            job.sync(r)


def pipeline(job: Job, steps: int, batches: int = 4, slow=lambda r: 0) -> None:
    """GPipe, a stage on each rank; a small all-reduce closes the step."""
    last = job.ranks - 1
    for s in range(steps):
        job.step(s)
        for m in range(batches):
            for tag in ("fwd", "bwd"):
                for a in range(last):
                    job.send(*((a, a + 1) if tag == "fwd" else (a + 1, a)), 8e6, tag)
        for r in range(job.ranks):
            number = lambda m: s * batches + m + 1
            for m in range(batches):
                if r:
                    job.post(r, r - 1, r, "fwd", number(m), 8e6)
                layer(job, r, 2, slow(r))
                if r < last:
                    job.post(r, r, r + 1, "fwd", number(m), 8e6)
            for m in range(batches):
                if r < last:
                    job.post(r, r + 1, r, "bwd", number(m), 8e6)
                layer(job, r, 4, slow(r))
                if r:
                    job.post(r, r, r - 1, "bwd", number(m), 8e6)
            job.join(r)
        job.meet("allreduce", "0", range(job.ranks), 1e6)
        for r in range(job.ranks):
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS)
            job.sync(r)


def sharded(job: Job, steps: int, slow=lambda r, s: 0) -> None:
    """Weights are gathered before each layer, and gradients sent behind it, on one stream."""
    everyone = range(job.ranks)
    for s in range(steps):
        job.step(s)
        for r in everyone:
            job.host(r, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 150_000)
        for ms in (2, 4):
            for _ in range(6):
                job.meet("_allgather_base", "0", everyone, 40e6)
                for r in everyone:
                    layer(job, r, ms, slow(r, s))
                if ms == 4:
                    job.meet("_reduce_scatter_base", "0", everyone, 40e6, behind=True)
        for r in everyone:
            job.join(r)
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS)
            job.sync(r)


def expert_groups(job: Job, steps: int, link=lambda g: 1) -> None:
    half = job.ranks // 2
    for s in range(steps):
        job.step(s)
        for _ in range(4):
            for r in range(job.ranks):
                layer(job, r, 2)
            for back in range(2):
                for g in range(2):
                    job.meet("all_to_allv", f"{g + 1}", range(g * half, (g + 1) * half), 32e6, slow=link(g))
                for r in range(job.ranks) if not back else ():
                    job.kernel(r, "grouped_gemm_kernel(float*)", 3 * MS)
        job.meet("allreduce", "0", range(job.ranks), 20e6)
        for r in range(job.ranks):
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS)
            job.sync(r)


# --- kinds: a job, and what must be said first ----------------------------------------------------------------------------------------------


def make_job(kind: str, seed: int):
    rng = random.Random(f"{kind} {seed}")
    ranks = rng.choice([8, 8, 16]) if seed < 10 else 64
    bad = rng.randrange(ranks)
    job = Job(seed, ranks)
    want: dict = {"kind": kind, "rank": bad}
    if kind == "data":
        ddp(job, 10, data=lambda r, s: 30 * MS if r == bad and s % 5 == 2 else 0)
        want |= {"id": "late-host", "words": ["DataLoader"]}
    elif kind == "data-steady":
        ddp(job, 8, data=lambda r, s: 12 * MS if r == bad else 0)
        want |= {"id": "late-host", "words": ["DataLoader"]}
    elif kind == "hiccup":
        when = rng.randrange(2, 8)
        ddp(job, 10, hiccup=lambda r, s: 50 * MS if r == bad and s == when else 0, ms=2)
        want |= {"id": "rank-pause"}
    elif kind == "slow":
        ddp(job, 8, slow=lambda r, s: 0.07 if r == bad else 0)
        want |= {"id": "slow-rank"}
    elif kind == "slow-tensor":
        tensor(job, 6, slow=lambda r, s: 0.07 if r == bad else 0)
        want |= {"id": "slow-rank"}
    elif kind == "slow-kernel":
        ddp(job, 8, slow=lambda r, s: 0.8 if r == bad else 0, kernel="flash")
        want |= {"id": "slow-rank", "words": ["flash_fwd"]}
    elif kind == "slow-later":
        ddp(job, 10, slow=lambda r, s: 0.3 if r == bad and s >= 5 else 0)
        want |= {"id": "slow-rank"}
    elif kind == "link":
        group = bad // 4
        tensor(job, 6, link=lambda g: 2 if g == group else 1)
        want |= {"id": "slow-link", "rank": None, "words": [f"{group * 4}"]}
    elif kind == "link-data":
        tensor(job, 6, dp_link=lambda g: 3 if g == bad % 4 else 1)
        want |= {"id": "slow-link", "rank": None, "words": [f"{bad % 4}"]}
    elif kind == "expert":
        experts(job, 6, more=lambda r: 1 if r == bad else 0)
        want |= {"id": "uneven-experts", "words": ["grouped_gemm"]}
    elif kind == "bubbles":
        job = Job(seed, 4)
        pipeline(job, 5, rng.choice([4, 8]))
        want |= {"id": "pipeline-bubbles", "rank": None}
    elif kind == "stage":
        job = Job(seed, 4)
        pipeline(job, 5, 8, slow=lambda r: 0.6 if r == bad % 4 else 0)
        want |= {"id": "slow-rank", "rank": bad % 4}
    elif kind == "absent":
        ddp(job, 8, slow=lambda r, s: 0.2 if r == bad else 0)
        want |= {"id": "slow-rank", "absent": rng.sample([r for r in range(ranks) if r != bad], 2)}
    elif kind == "absent-cause":
        ddp(job, 8, slow=lambda r, s: 0.2 if r == bad else 0)
        want |= {"absent": [bad], "silent": True}
    elif kind == "sharded":
        sharded(job, 6, slow=lambda r, s: 0.08 if r == bad else 0)
        want |= {"id": "slow-rank"}
    elif kind == "turns":
        ddp(job, 10, slow=lambda r, s: 0.3 if r == s * 5 % ranks else 0)
        want |= {"id": "uneven-ranks", "rank": None}
    elif kind == "link-experts":
        expert_groups(job, 6, link=lambda g: 2.5 if g == bad * 2 // ranks else 1)
        want |= {"id": "slow-link", "rank": None}
    elif kind == "windows":  # schedule(repeat=2): each rank has two files, an hour apart
        ddp(job, 8, slow=lambda r, s: 0.07 if r == bad else 0)
        want |= {"id": "slow-rank", "windows": True}
    elif kind == "other-run":
        ddp(job, 8, slow=lambda r, s: 0.2 if r == bad else 0)
        want |= {"id": "slow-rank", "other": (bad + 1 + rng.randrange(ranks - 1)) % ranks}
    elif kind == "noisy":
        job.noise = 0.05
        rng.choice([ddp, tensor, experts, sharded])(job, 6)
        want |= {"silent": True}
    elif kind == "noise":
        rng.choice([ddp, tensor, experts])(job, 6)
        want |= {"silent": True}
    elif kind == "small":
        ddp(job, 8, slow=lambda r, s: 0.006 if r == bad else 0)
        want |= {"silent": True}
    elif kind == "unnamed":  # an older PyTorch: the names of the kernels are all there is
        tensor(job, 6, slow=lambda r, s: 0.1 if r == bad else 0)
        want |= {"id": "slow-rank", "unnamed": True}
    else:
        raise SystemExit(f"unknown kind '{kind}'")
    rows = job.run(True)
    wall = job.wall(rows)
    want |= {"wall": wall, "ranks": job.ranks,
             "saving": wall - job.wall(job.run(False, free_sends=kind == "bubbles"))}
    return job, rows, want, rng


KINDS = {
    "data": "one rank's data comes 30 ms late in every fifth step",
    "data-steady": "one rank's data comes 12 ms late in every step",
    "hiccup": "the host of one rank stops for 50 ms, once",
    "slow": "one rank computes 7 % longer",
    "slow-tensor": "the same with tensor and data parallel groups",
    "slow-kernel": "one kernel takes 80 % longer on one rank",
    "slow-later": "one rank computes 30 % longer in the second half",
    "sharded": "one rank computes 8 % longer, weights are gathered and gradients scattered",
    "turns": "another rank is slow in each step",
    "link": "one tensor parallel group sends half as fast",
    "link-data": "one data parallel group sends a third as fast",
    "link-experts": "one expert parallel group sends 2.5 times as long",
    "expert": "one rank's expert has twice the tokens",
    "bubbles": "a pipeline without a fault",
    "stage": "one stage of a pipeline computes 60 % longer",
    "absent": "files of two ranks are missing",
    "absent-cause": "the file of the slow rank is missing",
    "windows": "each rank has two files, an hour apart",
    "other-run": "one file is of another run of the same program",
    "unnamed": "kernels without their NCCL arguments, several groups",
    "noise": "nothing is wrong, kernels differ by 1 %",
    "noisy": "nothing is wrong, kernels differ by 5 %",
    "small": "one rank computes 0.6 % longer",
}


# --- files ------------------------------------------------------------------------------------------------------------------------------------


def us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def collective_args(job: Job, r: int, row: list) -> dict:
    more, kind = row[4], row[1]
    group, members = more["group"], job.meets[more["group"], more["number"]]["members"]
    count = round(more["count"] / 2)
    out = {"Collective name": kind, "In msg nelems": count, "Out msg nelems": count * (len(members) if kind == "_allgather_base" else 1),
           "Group size": len(members), "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]"}
    if kind in ("send", "recv"):
        out |= {"Process Group Name": "pp", "Process Group Description": "pp", "Group size": job.ranks, "Process Group Ranks": str(list(range(job.ranks))),
                "Dst Rank" if kind == "send" else "Src Rank": group[1] if kind == "send" else group[0]}
    else:
        out |= {"Process Group Name": group, "Process Group Description": "default_pg" if group == "0" else group, "Process Group Ranks": str(members),
                "Seq": more["number"]}
    return out


def write(job: Job, rows, out: str, want: dict, rng: random.Random) -> None:
    os.makedirs(out, exist_ok=True)
    offset, drift = rng.choice([5000, HOUR]), rng.choice([0, 20])
    want["clocks"] = {}
    for r in range(job.ranks):
        off, ppm = rng.randrange(-offset, offset + 1), rng.uniform(-drift, drift)
        want["clocks"][r] = (off, ppm)
        if r in want.get("absent", []):
            continue
        clock = lambda t, off=off, ppm=ppm: t + off + round(ppm * 1e-6 * (t - EPOCH))
        lines = []

        def event(cat: str, name: str, start: int, end: int, pid: int, tid: int, args: dict) -> None:
            a, b = clock(start), clock(end)
            lines.append(f'{{"ph":"X","cat":"{cat}","name":{json.dumps(name)},"pid":{pid},"tid":{tid},"ts":{us(a)},"dur":{us(b - a)},"args":{json.dumps(args)}}}')

        for i, row in enumerate(rows[r], 1):
            what, name, start, end, more = row
            if what in ("step", "host") and name:
                event("user_annotation", name, start, end, 7, 7, {"External id": i})
            elif what == "call":
                event("cuda_runtime", name, start, end, 7, 7, {"correlation": 100000 + i})
            elif what in ("kernel", "nccl"):
                args = {"device": 0, "stream": more["stream"], "correlation": i, "External id": i, "grid": [132, 1, 1], "block": [128, 1, 1]}
                if what == "nccl" and not want.get("unnamed"):
                    args |= collective_args(job, r, row)
                event("kernel", f"ncclDevKernel_{NAMES[name]}(ncclDevKernelArgsStorage<4096ul>)" if what == "nccl" else name, start, end, 0, more["stream"], args)
                event("cuda_runtime", "cudaLaunchKernel", more["launch"], more["launch"] + 3000, 7, 7, {"correlation": i, "External id": i})
        head = (f'{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85899345920,"numSms":132}}],'
                f'"distributedInfo":{{"backend":"nccl","rank":{r},"world_size":{job.ranks}}},"baseTimeNanoseconds":0,"traceEvents":[\n')
        with open(os.path.join(out, f"rank{r}.json"), "w", encoding="utf-8") as f:
            f.write(head + ",\n".join(lines) + "\n]}\n")
    with open(os.path.join(out, "truth.json"), "w", encoding="utf-8") as f:
        json.dump(want, f)


def later(text: str, ns: int) -> str:
    """The same program again, so much later."""

    def moved(m) -> str:
        return f'"ts":{us(int(m[1]) * 1000 + int(m[2]) + ns)}'

    text = re.sub(r'"ts":(\d+)\.(\d+)', moved, text)
    text = re.sub(r'"Seq": (\d+)', lambda m: f'"Seq": {int(m[1]) + 10_000}', text)
    return re.sub(r"ProfilerStep#(\d+)", lambda m: f"ProfilerStep#{int(m[1]) + 20}", text)


def make(out: str, kind: str, seed: int) -> dict:
    job, rows, want, rng = make_job(kind, seed)
    write(job, rows, out, want, rng)
    if "other" in want:  # the same program on another day
        with tempfile.TemporaryDirectory(prefix="rank-cause-") as elsewhere:
            again, rows, _, _ = make_job(kind, seed)
            again.seed += 1000
            write(again, again.run(True), elsewhere, {"wall": 0}, rng)
            shutil.copy(os.path.join(elsewhere, f"rank{want['other']}.json"), out)
    if want.get("windows"):
        for r in range(job.ranks):
            path = os.path.join(out, f"rank{r}.json")
            with open(path, encoding="utf-8") as f, open(path[:-5] + ".2.json", "w", encoding="utf-8") as to:
                to.write(later(f.read(), HOUR))
    return want


# --- the check --------------------------------------------------------------------------------------------------------------------------------

OF_RANKS = ("slow-rank", "late-host", "rank-pause", "slow-link", "uneven-experts", "uneven-ranks", "pipeline-bubbles")


def report(lpo: str, out: str) -> dict:
    files = sorted(os.path.join(out, n) for n in os.listdir(out) if n.startswith("rank"))
    done = subprocess.run([lpo, "report", "--json", *files], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr[-300:]}")
    return json.loads(done.stdout)


def check(lpo: str, out: str, want: dict) -> list[str]:
    document = report(lpo, out)
    return check_cause(document, want) + check_clocks(document, want)


def check_cause(document: dict, want: dict) -> list[str]:
    findings = document["findings"]
    shown = [(f["id"], f["title"], f["saving_ns"]) for f in findings[:3]]
    if want.get("silent"):
        return [f"nothing should be said of ranks: {f['id']}: {f['title']}" for f in findings if f["id"] in OF_RANKS]
    if want.get("unnamed") and not any(f["id"] in OF_RANKS for f in findings):
        return []  # it may be refused
    if not findings or findings[0]["id"] != want["id"]:
        return [f"first is {shown}, not {want['id']} of rank {want['rank']} ({want['saving']} ns of {want['wall']})"]
    first, wrong = findings[0], []
    text = first["title"] + " " + " ".join(e["text"] for e in first["evidence"])
    if want["rank"] is not None and f"Rank {want['rank']} " not in first["title"] + " " and f"rank {want['rank']} " not in first["title"] + " ":
        wrong.append(f"rank {want['rank']} is not in: {first['title']}")
    wrong += [f"'{w}' is not in: {text}" for w in want.get("words", []) if w not in text]
    if saving_off(document, want) > 0.1:
        wrong.append(f"saves {first['saving_ns']}, truth {want['saving']} of {want['wall']}")
    return wrong


def saving_off(document: dict, want: dict) -> float:
    """How far the first finding's saving is from the truth, as a share of it."""
    return abs(document["findings"][0]["saving_ns"] - want["saving"]) / want["saving"]


def clocks_off(document: dict, want: dict) -> dict:
    """Per rank: how far its clock is off at most, in ns; None: it has none."""
    rows = {row["rank"]: row for row in (document.get("ranks") or {"rows": []})["rows"]}
    clocks = {int(r): c for r, c in want["clocks"].items()}
    if not rows:
        return {}
    first = clocks[min(r for r in rows if r != want.get("other"))]
    shows = lambda c, t: t + c[0] + round(c[1] * 1e-6 * (t - EPOCH))

    def off(r: int, row: dict, t: int) -> float:
        mine = shows(clocks[r], t)
        return abs(mine - (row["offset_ns"] + row["drift_ppm"] * 1e-6 * (mine - row["offset_at_ns"])) - shows(first, t))

    return {r: None if row["offset_ns"] is None else max(off(r, row, t) for t in (EPOCH, EPOCH + want["wall"])) for r, row in rows.items()}


def check_clocks(document: dict, want: dict) -> list[str]:
    wrong = []
    for r, ns in clocks_off(document, want).items():
        if r == want.get("other"):
            wrong += [] if ns is None else [f"rank {r}: the file of another run has a clock"]
        elif ns is None:
            wrong += [] if want.get("unnamed") else [f"rank {r}: no clock"]
        elif ns > 10_000:
            wrong.append(f"rank {r}: its clock is off by {round(ns)} ns")
    return wrong


def try_kind(lpo: str, kind: str, seeds: range) -> tuple[list[str], str]:
    """What differs, and a row of the table."""
    bad, first, off, clocks = [], 0, [], []
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="rank-cause-") as out:
            want = make(out, kind, seed)
            document = report(lpo, out)
        cause, clock = check_cause(document, want), check_clocks(document, want)
        bad += ["\n    ".join([f"{kind} {seed}", *(cause + clock)[:4]])] if cause or clock else []
        first += not cause
        if not want.get("silent") and document["findings"] and document["findings"][0]["id"] == want["id"]:
            off.append(saving_off(document, want))
        clocks += [ns for r, ns in clocks_off(document, want).items() if ns is not None and r != want.get("other")]
    right = f"{first} of {len(seeds)} {'silent' if want.get('silent') else 'first' if off else 'refused'}"
    saving = f"{max(off) * 100:.1f} %" if off else "n/a"
    return bad, f"| {kind} | {KINDS[kind]} | {right} | {saving} | {max(clocks, default=0) / 1000:.1f} us |"


def main() -> int:
    if sys.argv[1] == "make":
        print(make(sys.argv[2], sys.argv[3], int(sys.argv[4])))
        return 0
    words, seeds = sys.argv[3:], 1
    if "-n" in words:
        at = words.index("-n")
        seeds = int(words[at + 1])
        del words[at:at + 2]
    bad = 0
    for kind in words or KINDS:
        wrong, row = try_kind(sys.argv[2], kind, range(seeds))
        bad += len(wrong)
        print(*wrong, *([row] if sys.argv[1] == "table" else []), sep="\n", flush=True, end="\n" if wrong or sys.argv[1] == "table" else "")
    print(f"{bad} jobs differ", file=sys.stderr)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
