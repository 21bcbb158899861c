#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders as tools leave them: what `lpo report FOLDER` takes together, what it lists apart, what it says that it did not read.
Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
DATA = os.path.join(HERE, "..", "data")
DAY = 86400
T0 = 1_700_000_000


def lpo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LPO, *words], capture_output=True, text=True, timeout=60)


def kineto(rank: int | None, world: int, at: int) -> bytes:
    events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at * 1e6, "dur": 5,
               "args": {"correlation": 7}},
              {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": at * 1e6 + 9, "dur": 50,
               "args": {"correlation": 7, "device": 0, "stream": 7}}]
    info = {"distributedInfo": {"rank": rank, "world_size": world}} if rank is not None else {}
    return json.dumps({"schemaVersion": 1} | info | {"traceEvents": events}).encode()


# name: [(file, rank inside or None, world, start)], the groups that are expected: ranks of each, in order of their names
LAYOUTS = {
    "torchrun": ([(f"rank{r}.json", None, 0, T0) for r in range(4)], [4]),
    "ranks inside alone": ([(f"node{r // 2}_{100 + r}.pt.trace.json", r, 4, T0 + r) for r in range(4)], [4]),
    "vLLM": ([(f"dp{d}_pp0_tp{t}_dcp0_ep0_rank{d * 2 + t}.1700000{d}{t}00000000.pt.trace.json.gz", None, 0, T0)
              for d in range(2) for t in range(2)], [4]),
    "SGLang by stage": ([(f"1731730000.5-TP-{t}-{s}.trace.json.gz", None, 0, T0) for t in range(2) for s in ("DECODE", "EXTEND")],
                        [2, 2]),
    "SGLang, TP and DP": ([(f"1731730000.5-TP-{t}-DP-{d}.trace.json.gz", None, 0, T0) for t in range(2) for d in range(2)], [4]),
    "torchtitan": ([(f"iteration_{i}/rank{r}_trace.json", None, 0, T0 + i) for i in (10, 20) for r in range(2)], [2, 2]),
    "tensorboard, two cycles": ([(f"host_7.17000000{c}0{r}.pt.trace.json", r, 2, T0 + 60 * c) for c in range(2) for r in range(2)],
                                [2, 2]),
    "vLLM, its frontend beside the ranks": (
        [(f"dp0_pp0_tp{t}_dcp0_ep{t}_rank{t}.170000000{t}123456789.pt.trace.json.gz", t, 2, T0) for t in range(2)] +
        [("node1_4711.async_llm.1700000003123456789.pt.trace.json.gz", None, 0, T0)], [2, 1]),
    "SGLang, all that it names": ([(f"1731730000.5123-TP-{t}-DP-{d}-PP-{p}-EP-{t}-DECODE.trace.json.gz", None, 0, T0)
                                   for t in range(2) for d in range(2) for p in range(2)], [8]),
    "SGLang, with a prefix and moments of their own": (
        [(f"mine-17317300{t}.{51 + 700 * t}-TP-{t}-EXTEND.trace.json.gz", None, 0, T0) for t in range(3)], [3]),
    "Megatron": ([(f"torch_profile/rank-{r}.json.gz", None, 0, T0) for r in range(4)], [4]),
    "DeepSpeed, two nodes": ([(f"run/node-{r // 2}_{4000 + r}.17000000{r}0000000000.pt.trace.json", r, 4, T0) for r in range(4)], [4]),
    "torchtitan with torchft": ([(f"profile_trace/iteration_{i}/replica_{f}/rank{r}_trace.json.gz", None, 0, T0 + i)
                                 for i in (10, 20) for f in range(2) for r in range(2)], [4, 4]),
    "nsys -o %q{RANK}": ([(f"{r}.json", None, 0, T0) for r in range(4)], [4]),
    "nsys -o …_node_N_rank_N_local_N": ([(f"profile_node_{r // 2}_rank_{r}_local_{r % 2}.json", None, 0, T0) for r in range(4)], [4]),
    "nsys -o %q{SLURM_JOB_ID}-%q{SLURM_STEP_ID}-%q{RANK}-%p": ([(f"nsys-4711-0-{r}-{88213 + 5 * r}.json", None, 0, T0) for r in range(4)],
                                                               [4]),
    "nsys, two jobs": ([(f"nsys-{j}-0-{r}-{88213 + 5 * r + j}.json", None, 0, T0) for j in (4711, 4712) for r in range(2)], [2, 2]),
    "one rank a folder": ([(f"rank_{r}/node1_{900 + r}.1700000000{r}.pt.trace.json", None, 0, T0) for r in range(2)], [2]),
    "the same rank again": ([("a/trace.json", 0, 2, T0), ("b/trace.json", 0, 2, T0)], [1, 1]),
    "other worlds": ([("rank0.json", 0, 2, T0), ("rank1.json", 1, 4, T0)], [1, 1]),
    "other days": ([("rank0.json", None, 0, T0), ("rank1.json", None, 0, T0 + 3 * DAY)], [1, 1]),
    "unrelated": ([("bert.json", None, 0, T0), ("resnet50.json", None, 0, T0), ("resnet18.json", None, 0, T0)], [1, 1, 1]),
    "numbers that count something": ([(f"step_{i}.json", None, 0, T0) for i in range(3)], [1, 1, 1]),
    "sizes, one rank of each": ([(f"bs{128 * (r + 1)}_rank{r}.json", None, 0, T0) for r in range(2)], [1, 1]),
    "report1, report2": ([(f"report{i}.json", None, 0, T0) for i in (1, 2)], [1, 1]),
    "report_0, report_1": ([(f"report_{i}.json", None, 0, T0) for i in (0, 1)], [2]),
}


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def write(self, name: str, content: bytes) -> None:
        path = os.path.join(self.dir.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(gzip.compress(content) if name.endswith(".gz") else content)

    def report(self) -> dict:
        done = lpo("report", self.dir.name, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_list_has_a_report_and_a_verdict_each(self) -> None:
        for name in ("bert.json", "resnet.json"):
            self.write(name, kineto(None, 0, T0))
        self.write("notes.txt", b"remember")
        out = os.path.join(self.dir.name, "out")
        done = lpo("report", self.dir.name, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(out, "report.json")) as f:
            said = json.load(f)
        self.assertEqual((said["schema"], [t["name"] for t in said["traces"]], said["not_read"]),
                         ("lpo.folder/1", ["bert", "resnet"], ["notes.txt"]))
        for t in said["traces"]:
            self.assertTrue(t["verdict"])
            with open(os.path.join(out, os.path.dirname(t["report"]), "report.json")) as f:
                self.assertEqual(json.load(f)["kind"], "run")
        self.assertEqual(lpo("report", self.dir.name, "-o", out).returncode, 0)  # again, over itself

    def test_names_of_groups_tell_them_apart(self) -> None:
        for at in (1762000000, 1762000600):
            for rank in range(2):
                self.write(f"{at}.12/{at}.12-TP-{rank}.trace.json.gz", kineto(None, 0, at))
        self.assertEqual([t["name"] for t in self.report()["traces"]],
                         ["1762000000.12/1762000000.12-TP-*", "1762000600.12/1762000600.12-TP-*"])

    def test_one_that_cannot_be_read_leaves_the_others(self) -> None:
        self.write("bert.json", kineto(None, 0, T0))
        self.write("resnet.json", b'{"schemaVersion": 1, "traceEvents": 7')
        problems = {t["name"]: t["problem"] for t in self.report()["traces"]}
        self.assertIsNone(problems["bert"])

    def test_one_program_under_several_tools(self) -> None:
        with open(os.path.join(DATA, "nsys", "h200_ranges.nsys-rep"), "rb") as f:
            self.write("run.nsys-rep", f.read())
        self.write("trace.json", kineto(None, 0, T0))
        self.write("notes.txt", b"remember")
        said = self.report()
        self.assertEqual(said["kind"], "run")
        self.assertIn("notes.txt", json.dumps(said["sections"]))


def layout(files, groups):
    def test(self: Folders) -> None:
        for name, rank, world, at in files:
            self.write(name, kineto(rank, world, at))
        said = self.report()
        if len(groups) == 1:
            self.assertEqual(said["kind"], "run")
            self.assertEqual(len(said["wall"]), groups[0])
            self.assertTrue(all(w["scope"].startswith("rank:") for w in said["wall"]), said["wall"])
        else:
            self.assertEqual(sorted(len(t["files"]) for t in said["traces"]), sorted(groups))
    return test


for title, (files, groups) in LAYOUTS.items():
    setattr(Folders, "test_" + title.replace(" ", "_"), layout(files, groups))


if __name__ == "__main__":
    tap.main()
