#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs of many ranks whose truth is known, as Kineto traces, and the check of a report against it.

    rank_sets.py make OUT SEED [RANKS]       the files of one set, and truth.json
    rank_sets.py try LPO FIRST LAST [RANKS]  makes and checks the sets with these seeds; prints those that differ

A job is simulated on one true clock: ranks compute, with a skew of their own, and meet in collectives of the whole job, of groups, of pairs;
in order or behind computing. Each rank then writes what its own clock shows, which is off by up to an hour and drifts. Some ranks begin to
record later, some are missing, some files do not say their rank. The truth is computed from what was written, without lpo's code:
every kernel's time, the parts of the wall time, the clocks, and who was last at complete collectives."""
from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

HOUR = 3_600_000_000_000
EPOCH = 1_750_000_000_000_000_000
REAL = os.path.join(os.environ.get("LPO_SOURCE_ROOT", "."), "..", "shared", "data", "traces", "kineto")
REAL_FILES = ["a100_nccl_rank0_of2", "a100_train_rank3_of8", "sampled_rank0_of128", "sampled_rank1_of128", "v100_ddp_rank1_of2"]
NAMES = {"allreduce": "AllReduce_Sum_f32_RING_LL", "_allgather_base": "AllGather_RING_LL", "_reduce_scatter_base": "ReduceScatter_Sum_bf16_RING_LL",
         "all_to_allv": "SendRecv", "send": "SendRecv", "recv": "SendRecv", "broadcast": "Broadcast_RING_LL"}
WAITS = ("allreduce", "_allgather_base", "_reduce_scatter_base", "all_to_allv")  # each rank waits for all


class Kernel:
    """On the true clock, of one rank."""

    def __init__(self, name: str, stream: int, start: int, end: int, args: dict | None = None, meet: int = -1) -> None:
        self.name, self.stream, self.start, self.end, self.args, self.meet = name, stream, start, end, args or {}, meet


class Job:
    """The simulation: `free` is when a rank's compute stream is, `lines` when that of a group is."""

    def __init__(self, rng: random.Random, ranks: int) -> None:
        self.rng, self.ranks = rng, ranks
        self.kernels: list[list[Kernel]] = [[] for _ in range(ranks)]
        self.free = [EPOCH] * ranks
        self.lines: dict = {}
        self.meets: list[dict] = []  # of each collective: its members, whether each waits for all, its arrivals
        self.seq: dict = {}
        self.slow = rng.randrange(ranks) if rng.random() < 0.7 else -1
        self.slowness = rng.choice([1.05, 1.2, 2.0])
        self.scatter = rng.choice([0, 0, 500, 2000])  # ns, by which ends of one collective differ
        self.detail = rng.choice(["seq", "seq", "members", "members", "group", "kind"])

    def compute(self, ranks, ns: int, name: str = "gemm_kernel(float*, int)") -> None:
        for r in ranks:
            work = round(ns * self.rng.uniform(0.97, 1.03) * (self.slowness if r == self.slow else 1))
            self.free[r] += self.rng.randrange(500, 4000)
            self.kernels[r].append(Kernel(name, 7, self.free[r], self.free[r] + work))
            self.free[r] += work

    def args(self, kind: str, group: str, members, r: int, counts: tuple[int, int], seq: int) -> dict:
        if self.detail == "kind":  # an older PyTorch: the name of the kernel is all there is
            return {}
        out = {"Collective name": kind, "In msg nelems": counts[0], "Out msg nelems": counts[1], "Group size": len(members), "dtype": "Float",
               "In split size": "[]", "Out split size": "[]"}
        out |= {"Process Group Name": group, "Process Group Description": "default_pg" if group == "0" else group}
        if self.detail in ("seq", "members"):
            shown = list(members)
            out["Process Group Ranks"] = str(shown) if len(shown) <= 32 else f"[{', '.join(map(str, shown[:30]))}, ..., {shown[-1]}]"
        if self.detail == "seq":
            out["Seq"] = seq
        return out

    def meet(self, kind: str, group: str, members, count: int, behind: bool = False) -> int:
        """All of them take part; it ends for all when the last has come and the data was sent. Returns its end."""
        rng, stream = self.rng, 20 + sum(map(ord, group)) % 50
        arrivals = {}
        for r in members:
            arrivals[r] = max(self.free[r] + rng.randrange(1000, 3000), self.lines.get((r, group), 0) + 500)
        end = max(arrivals.values()) + round(20_000 + count / 50) + rng.randrange(3000)
        number = self.seq[group] = self.seq.get(group, 0) + 1
        self.meets.append({"members": list(members), "waits": kind in WAITS and (kind, self.detail) != ("all_to_allv", "kind"), "arrivals": arrivals})
        for r in members:
            sizes = (count + (r * 977) % 5000, count - (r * 31) % 500) if kind == "all_to_allv" else \
                (count, count * len(members)) if kind == "_allgather_base" else (count * len(members), count) if kind == "_reduce_scatter_base" else (count, count)
            mine = end + (rng.randrange(self.scatter) if self.scatter else 0)
            self.kernels[r].append(Kernel(f"ncclDevKernel_{NAMES[kind]}(ncclDevKernelArgsStorage<4096ul>)", stream, arrivals[r], mine,
                                          self.args(kind, group, members, r, sizes, number), len(self.meets) - 1))
            self.lines[r, group] = mine
            if not behind:
                self.free[r] = mine
        return end

    def join(self, ranks) -> None:
        """The compute stream waits for what runs behind it."""
        for r in ranks:
            self.free[r] = max([self.free[r], *(t for (k, _), t in self.lines.items() if k == r)])

    def send(self, a: int, b: int, count: int) -> None:
        start = {r: max(self.free[r] + self.rng.randrange(1000, 2000), self.lines.get((r, "pp"), 0) + 500) for r in (a, b)}
        end = max(start.values()) + 15_000 + self.rng.randrange(1000)
        number = self.seq[a, b] = self.seq.get((a, b), 0) + 1
        self.meets.append({"members": [a, b], "waits": False, "arrivals": start})
        for r, kind, peer in ((a, "send", b), (b, "recv", a)):
            args = self.args(kind, "pp", list(range(self.ranks)), r, (count, count), number) | ({} if self.detail == "kind" else {"Dst Rank" if kind == "send" else "Src Rank": peer})
            mine = end + (self.rng.randrange(self.scatter) if self.scatter else 0)
            self.kernels[r].append(Kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 19, start[r], mine, args, len(self.meets) - 1))
            self.lines[r, "pp"] = mine
            if kind == "recv":
                self.free[r] = mine

    # --- programs ------------------------------------------------------------------------------------------------------------------------

    def ddp(self, steps: int) -> None:
        """Gradients in buckets behind the backward pass, then the optimizer."""
        everyone = range(self.ranks)
        buckets = [self.rng.randrange(1 << 16, 1 << 22) for _ in range(self.rng.randrange(2, 5))]
        for _ in range(steps):
            self.compute(everyone, 400_000)
            for count in buckets:
                self.compute(everyone, 150_000)
                self.meet("allreduce", "0", everyone, count, behind=True)
            self.join(everyone)
            self.compute(everyone, 80_000, "adam_kernel(float*)")

    def fsdp(self, steps: int) -> None:
        everyone = range(self.ranks)
        for _ in range(steps):
            for count in (1 << 18, 1 << 18, 1 << 18):
                self.meet("_allgather_base", "0", everyone, count, behind=True)
                self.compute(everyone, 200_000)
            self.join(everyone)
            for count in (1 << 18, 1 << 18):
                self.compute(everyone, 300_000)
                self.meet("_reduce_scatter_base", "0", everyone, count, behind=True)
            self.join(everyone)

    def groups(self, steps: int) -> None:
        """Tensor parallel pairs or quads in order, data parallel groups across them; no group of all."""
        size = self.rng.choice([s for s in (2, 4, 8) if s < self.ranks and self.ranks % s == 0] or [self.ranks])
        inner = [range(i, i + size) for i in range(0, self.ranks, size)]
        outer = [range(i, self.ranks, size) for i in range(size)]
        for _ in range(steps):
            for _ in range(4):
                self.compute(range(self.ranks), 120_000)
                for i, g in enumerate(inner):
                    self.meet("allreduce", f"{1 + i}", g, 1 << 18)
            for i, g in enumerate(outer):
                if len(g) > 1:
                    self.meet("allreduce", f"{100 + i}", g, 1 << 21, behind=self.rng.random() < 0.5)
            self.join(range(self.ranks))

    def moe(self, steps: int) -> None:
        everyone = range(self.ranks)
        for step in range(steps):
            self.compute(everyone, 150_000)
            self.meet("all_to_allv", "0", everyone, 40_000 + 1000 * (step % 7))
            self.compute(everyone, 250_000, "grouped_gemm(float*)")
            self.meet("all_to_allv", "0", everyone, 40_000 + 1000 * (step % 5))
            if step % 2:
                self.meet("allreduce", "0", everyone, 1 << 20)

    def pipeline(self, steps: int) -> None:
        """Stages of a few ranks that send to the next stage; the ranks of a stage share a group."""
        stages = self.rng.choice([s for s in (2, 4, 8) if self.ranks % s == 0])
        width = self.ranks // stages
        with_all = self.rng.random() < 0.5
        for _ in range(steps):
            for _ in range(3):
                for s in range(stages):
                    mine = range(s * width, (s + 1) * width)
                    self.compute(mine, 200_000)
                    if width > 1:
                        self.meet("allreduce", f"{1 + s}", mine, 1 << 17)
                    if s + 1 < stages:
                        for r in mine:
                            self.send(r, r + width, 1 << 16)
            if with_all:
                self.join(range(self.ranks))
                self.meet("allreduce", "0", range(self.ranks), 4096)


def real_job(rng: random.Random, ranks: int) -> Job:
    """A real trace of one rank, stretched on each rank by a monotonous map that puts the ends of collectives at the same true moments.
    What is between them comes earlier or later from rank to rank."""
    job = Job(rng, ranks)
    job.scatter = 0
    with gzip.open(os.path.join(REAL, rng.choice(REAL_FILES) + ".json.gz")) as f:
        events = [e for e in json.load(f, parse_float=str)["traceEvents"] if e.get("cat") == "kernel"]
    ns = lambda text: round(float(text) * 1000) if "." not in str(text) else int(str(text).split(".")[0]) * 1000 + int((str(text).split(".")[1] + "000")[:3])
    rows = sorted((ns(e["ts"]), ns(e["dur"]), e) for e in events if int(e["args"].get("device", 0)) >= 0)[:1500 if ranks <= 16 else 400]
    first = rows[0][0]
    meets = [i for i, (_, _, e) in enumerate(rows) if "nccl" in e["name"].lower()]
    ends = sorted(rows[i][0] + rows[i][1] - first for i in meets)
    if len(ends) < 3:
        return None
    last = max(t + d for t, d, _ in rows) - first
    common = sorted(set([0, *ends, last]))
    for r in range(ranks):
        knots = []  # (in the trace, true)
        for a, b in zip(common, common[1:]):
            knots.append((a, a))
            if b - a > 100_000:
                bend = rng.uniform(-0.1, 0.1) + (0.25 if r == job.slow else 0)
                middle = a + (b - a) // 2
                knots.append((middle, round(middle + bend * (b - a))))
        knots.append((common[-1], common[-1]))
        at = 0

        def warp(t: int) -> int:
            nonlocal at
            while at and t < knots[at][0]:
                at -= 1
            while at + 2 < len(knots) and t >= knots[at + 1][0]:
                at += 1
            (x0, y0), (x1, y1) = knots[at], knots[at + 1]
            return EPOCH + y0 + round((t - x0) * (y1 - y0) / (x1 - x0))

        for i, (t, d, e) in enumerate(rows):
            start, end = warp(t - first), warp(t - first + d)
            args = {k: v for k, v in e["args"].items() if k.startswith(("Collective", "In ", "Out ", "Process", "dtype"))}
            nccl = "nccl" in e["name"].lower()
            if nccl:
                for key in ("In msg nelems", "Out msg nelems"):
                    args[key] = int(args.get(key, 1000))
                args |= {"Group size": ranks} if "Collective name" in args else {}
                args.pop("Process Group Ranks", None)
                if "Collective name" not in args:
                    args = {}
            job.kernels[r].append(Kernel(e["name"], int(e["args"]["stream"]), start, max(end, start), args if nccl else {}, meets.index(i) if nccl else -1))
    kinds = [rows[i][2]["name"].lower() for i in meets]
    job.meets = [{"members": list(range(ranks)), "waits": "allreduce" in k or "allgather" in k or "reducescatter" in k or "alltoall" in k,
                  "arrivals": {r: next(x.start for x in job.kernels[r] if x.meet == n) for r in range(ranks)}} for n, k in enumerate(kinds)]
    return job


# --- what is written, and its truth -------------------------------------------------------------------------------------------------------


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[list[int]] = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return [(a, b) for a, b in out]


def length(spans: list[tuple[int, int]]) -> int:
    return sum(b - a for a, b in union(spans))


def us(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


def write_trace(path: str, rank: int, world: int, named: bool, base: int, kernels: list[tuple[int, int, Kernel]]) -> None:
    lines = []
    for i, (start, end, k) in enumerate(kernels):
        args = json.dumps({"device": 0, "stream": k.stream, "correlation": i + 1, "External id": i + 1, "grid": [8, 1, 1], "block": [128, 1, 1], **k.args})
        lines.append(f'{{"ph":"X","cat":"kernel","name":{json.dumps(k.name)},"pid":0,"tid":{k.stream},"ts":{us(start - base)},"dur":{us(end - start)},"args":{args}}}')
        lines.append(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":{us(start - base - 5000)},"dur":2.000,'
                     f'"args":{{"correlation":{i + 1},"External id":{i + 1}}}}}')
    head = '"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85899345920,"numSms":132}],'
    if not named:
        head += f'"distributedInfo":{{"backend":"nccl","rank":{rank},"world_size":{world}}},'
    text = "{" + head + f'"baseTimeNanoseconds":{base},"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"
    with (gzip.open(path, "wt", compresslevel=1) if path.endswith(".gz") else open(path, "w", encoding="utf-8")) as f:
        f.write(text)


def make(out: str, seed: int, ranks: int | None = None) -> dict:
    rng = random.Random(seed)
    ranks = ranks or rng.choice([8, 8, 8, 64])
    program = rng.choice(["ddp", "fsdp", "groups", "moe", "pipeline", "real"])
    program = os.environ.get("RANK_SETS_PROGRAM", program)
    job = real_job(rng, ranks) if program == "real" else None
    if job is None:
        program = "ddp" if program == "real" else program
        job = Job(rng, ranks)
        if program in ("groups", "pipeline") and job.detail == "kind":
            job.detail = "group"  # nothing could tell them apart
        getattr(job, program)(rng.choice([6, 12, 30]) if ranks == 8 else 6)
    offset = rng.choice([0, 20_000, 5_000_000, HOUR])
    drift = rng.choice([0, 0, 5, 50])
    clocks = [(rng.randrange(-offset, offset + 1), rng.uniform(-drift, drift)) for _ in range(ranks)]
    begin = {r: EPOCH for r in range(ranks)}
    span = max(k.end for k in job.kernels[0]) - EPOCH
    if rng.random() < 0.4:  # some began to record later
        for r in rng.sample(range(ranks), rng.randrange(1, max(2, ranks // 2))):
            begin[r] = EPOCH + round(span * rng.uniform(0.05, 0.5))
    missing = set(rng.sample(range(ranks), rng.randrange(1, ranks // 4 + 1))) if rng.random() < 0.3 else set()
    named, packed, base = rng.random() < 0.3, rng.random() < 0.5, rng.choice([0, EPOCH - HOUR * 2])
    here = [r for r in range(ranks) if r not in missing]
    truth: dict = {"seed": seed, "program": program, "ranks": ranks, "here": here, "detail": job.detail, "offset": offset, "drift": drift, "scatter": job.scatter,
                   "late_begin": sum(b > EPOCH for b in begin.values()), "rows": {}, "span": span}

    def clock(r: int, t: int) -> int:
        return t + clocks[r][0] + round(clocks[r][1] * 1e-6 * (t - EPOCH))

    os.makedirs(out, exist_ok=True)
    seen: dict[int, dict[int, int]] = {}
    for r in here:
        kernels = sorted(((clock(r, k.start), clock(r, k.end), k) for k in job.kernels[r] if k.start >= begin[r]), key=lambda x: x[0])
        write_trace(os.path.join(out, f"trace_rank{r}.json" + (".gz" if packed else "")), r, ranks, named, base, kernels)
        comm = [(a, b) for a, b, k in kernels if "nccl" in k.name.lower()]
        work = [(a, b) for a, b, k in kernels if "nccl" not in k.name.lower()]
        first, last = min(a for a, _, _ in kernels), max(b for _, b, _ in kernels)
        truth["rows"][r] = {"gpu_ns": sum(b - a for a, b, _ in kernels), "kernels": len(kernels), "span_ns": last - first, "compute_ns": length(work),
                            "exposed_communication_ns": length(work + comm) - length(work), "idle_ns": last - first - length(work + comm),
                            "clock": clocks[r], "true": [min(k.start for _, _, k in kernels), max(k.end for _, _, k in kernels)]}
        for _, _, k in kernels:
            if k.meet >= 0:
                seen.setdefault(k.meet, {})[r] = k.start
    delay = {r: 0 for r in here}
    for number, arrivals in seen.items():
        meet = job.meets[number]
        if meet["waits"] and len(arrivals) == len(meet["members"]) > 1:
            order = sorted(arrivals, key=lambda r: arrivals[r])
            delay[order[-1]] += max(0, arrivals[order[-1]] - arrivals[order[-2]] - 2000)
    truth["delay"] = delay
    joined = {here[0]}  # ranks that something leads to from the first; the others can have no clock
    for _ in range(len(here)):
        for arrivals in seen.values():
            if joined & arrivals.keys():
                joined |= arrivals.keys()
    truth["joined"] = sorted(joined)
    with open(os.path.join(out, "truth.json"), "w", encoding="utf-8") as f:
        json.dump(truth, f)
    return truth


def check(lpo: str, out: str, truth: dict) -> list[str]:
    files = sorted(os.path.join(out, n) for n in os.listdir(out) if n.startswith("trace_"))
    done = subprocess.run([lpo, "report", "--json", *files], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr[-300:]}"]
    document, wrong = json.loads(done.stdout), []
    wall = {w["scope"]: w for w in document["wall"]}
    for r, row in truth["rows"].items():
        have = wall.get(f"rank:{r}/device:0")
        if not have:
            wrong.append(f"rank {r}: no wall time")
            continue
        for key in ("span_ns", "compute_ns", "exposed_communication_ns", "idle_ns"):
            if have[key] != row[key]:
                wrong.append(f"rank {r}: {key} {have[key]}, truth {row[key]}")
    launches = sum(row["kernels"] for row in truth["rows"].values())
    if sum(k["launches"] for k in document["kernels"]) != launches:
        wrong.append("kernels are missing")
    return wrong + check_clocks(document, truth)


def check_clocks(document: dict, truth: dict) -> list[str]:
    rows = {row["rank"]: row for row in (document.get("ranks") or {"rows": []})["rows"]}
    wrong, here = [], truth["here"]
    first = here[0]
    if set(rows) != set(here):
        return [f"ranks {sorted(rows)}"]
    f_off, f_drift = truth["rows"][first]["clock"]
    for r in here[1:]:
        row = rows[r]
        if row["offset_ns"] is None or r not in truth["joined"]:
            wrong += [f"rank {r}: {'no' if r in truth['joined'] else 'a'} clock"] if (row["offset_ns"] is None) == (r in truth["joined"]) else []
            continue
        off, drift = truth["rows"][r]["clock"]
        for t in truth["rows"][r]["true"]:
            shows = lambda o, d: t + o + round(d * 1e-6 * (t - EPOCH))
            mine = shows(off, drift)
            said = mine - (row["offset_ns"] + row["drift_ppm"] * 1e-6 * (mine - row["offset_at_ns"]))
            if abs(said - shows(f_off, f_drift)) > 10_000:
                wrong.append(f"rank {r}: its clock is off by {round(said - shows(f_off, f_drift))} ns")
                break
    delay = truth["delay"]
    order = sorted(delay, key=lambda r: -delay[r])
    if delay[order[0]] > 100_000 and delay[order[0]] > 1.5 * delay[order[1]]:
        named = (document["ranks"].get("latest") or {"rank": None})["rank"]
        if named != order[0]:
            wrong.append(f"the straggler is {order[0]} ({delay[order[0]]} ns, then {delay[order[1]]}), said: {named}")
    return wrong


def main() -> int:
    if sys.argv[1] == "make":
        truth = make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
        print({k: v for k, v in truth.items() if k not in ("rows", "delay")})
        return 0
    bad = 0
    for seed in range(int(sys.argv[3]), int(sys.argv[4]) + 1):
        with tempfile.TemporaryDirectory(prefix="rank-set-") as out:
            truth = make(out, seed, int(sys.argv[5]) if len(sys.argv) > 5 else None)
            wrong = check(sys.argv[2], out, truth)
        if wrong:
            bad += 1
            print(seed, {k: v for k, v in truth.items() if k not in ("rows", "delay", "here", "joined")}, f"missing {truth['ranks'] - len(truth['here'])}",
                  f"{len(wrong)} wrong:", *wrong[:4], sep="\n    ", flush=True)
    print(f"{bad} sets differ")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
