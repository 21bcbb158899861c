# SPDX-License-Identifier: Apache-2.0
"""The ranks of tests/gpu/ranks.sh: `job` is one of them, `check` looks at the folder that lpo left."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time

STEPS = 20
LATE_RANK, LATE_S = 1, 0.02  # this rank comes late to every collective


def job(backend: str) -> None:
    import torch
    import torch.distributed as dist

    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", 0) if cuda else torch.device("cpu")
    dist.init_process_group(backend, **({"device_id": device} if backend == "nccl" else {}))
    x = torch.ones(512, 512, device=device)
    numbers = torch.ones(1024, device=device if backend == "nccl" else "cpu")
    push, pop = (torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop) if cuda else (lambda name: None, lambda: None)
    for _ in range(STEPS):
        push("step")
        push("compute")
        for _ in range(4):
            x = torch.mm(x, x) * 1e-3
        if cuda:
            torch.cuda.synchronize()
        if rank == LATE_RANK:
            time.sleep(LATE_S)
        pop()
        push("all_reduce")
        dist.all_reduce(numbers)
        pop()
        pop()
    numbers /= float(count) ** STEPS
    assert abs(numbers[0].item() - 1) < 1e-3, numbers[0]
    dist.destroy_process_group()
    with open(f"ended.{rank}", "w", encoding="utf-8") as f:
        f.write("all steps\n")


class Check:
    def __init__(self, lpo: str, folder: str) -> None:
        self.lpo, self.folder, self.failed = lpo, folder, 0
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
            self.stages = {s["name"]: s for s in json.load(f)["stages"]}

    def that(self, what: str, ok: bool, seen: object = "") -> None:
        print(f"{'ok' if ok else 'FAILED'}: {what}{'' if ok else f': {seen}'}")
        self.failed += not ok

    def files(self, stage: str, ending: str) -> list[str]:
        folder = os.path.join(self.folder, stage)
        return sorted(n for n in os.listdir(folder) if n.endswith(ending)) if os.path.isdir(folder) else []

    def stage(self, name: str, ending: str, count: int) -> None:
        s = self.stages[name]
        self.that(f"{name} is done without notes about ranks", s["state"] == "done" and not any("rank" in n for n in s["notes"]), s)
        names = [f"rank{i}{ending}" for i in range(count)]
        self.that(f"{name} has one file for each rank", set(names) <= set(self.files(name, ending)), self.files(name, ending))

    def regions(self, stage: str, ending: str, count: int, cuda: bool) -> None:
        paths = [os.path.join(self.folder, stage, f"rank{i}{ending}") for i in range(count)]
        done = subprocess.run([self.lpo, "regions", "--json", *paths], capture_output=True, text=True, check=False)
        scopes = {s["scope"]: s for s in json.loads(done.stdout)["scopes"]} if done.returncode == 0 else {}
        ranks = [scopes.get(f"rank:{i}") for i in range(count)]
        self.that(f"{stage} has every rank as a scope", count == 1 or all(ranks), sorted(scopes))
        if not cuda or (count > 1 and not all(ranks)):
            return
        aggregate = scopes["aggregate"]
        visits = [r["visits"] for r in aggregate["regions"] if r["path"] == "step"]
        self.that(f"{stage} has every step of every rank", visits == [STEPS * count], visits)
        if count > 1:
            launches = [s["launches"] for s in ranks]
            self.that(f"{stage} sees the same launches in every rank", len(set(launches)) == 1 and launches[0] > 0, launches)
            self.that(f"the ranks of {stage} add up", aggregate["gpu_ns"] == sum(s["gpu_ns"] for s in ranks), aggregate["gpu_ns"])

    def report(self, count: int, cuda: bool) -> None:
        with open(os.path.join(self.folder, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        if cuda:
            wanted = {f"rank:{i}/device:0" for i in range(count)}
            scopes = {row["scope"] for row in report["wall"]}
            self.that("the report has the wall time of every rank", wanted <= scopes, scopes)


def check(lpo: str, part: str, folder: str) -> int:
    try:
        import torch

        cuda = torch.cuda.is_available()
    except ImportError:
        cuda = False
    count = {"two": 2, "four": 4, "nccl": 1, "inside": 2, "ncu": 2}[part]
    c = Check(lpo, folder)
    ended = sorted(n for n in os.listdir(os.path.dirname(os.path.abspath(folder))) if n.startswith("ended."))
    c.that("every rank did all its steps", ended == [f"ended.{i}" for i in range(count)], ended)
    if part == "ncu":
        s = c.stages["ncu"]
        c.that("ncu is done", s["state"] == "done", s)
        c.that("ncu left one report", c.files("ncu", ".ncu-rep") == ["run.ncu-rep"], c.files("ncu", ".ncu-rep"))
        done = subprocess.run([lpo, "top", "--json", os.path.join(folder, "ncu", "run.ncu-rep")], capture_output=True, text=True, check=False)
        c.that("its report has kernels", done.returncode == 0 and bool(json.loads(done.stdout)["kernels"]), done.stderr)
        return c.failed
    if cuda:  # without CUDA the program calls no NVTX, and there is no native trace
        c.stage("native", ".lpot", count)
        c.regions("native", ".lpot", count, cuda)
    if part == "two":
        c.stage("torch_profiler", ".trace.json.gz", count)
        c.regions("torch_profiler", ".trace.json.gz", count, cuda)
    c.report(count, cuda)
    return c.failed


if __name__ == "__main__":
    if sys.argv[1] == "job":
        job(sys.argv[2])
    else:
        sys.exit(1 if check(*sys.argv[2:]) else 0)
