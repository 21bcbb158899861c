#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The PyTorch profiler in the ranks of one job: Debian's torchrun with gloo, and a launcher of ours. Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "workloads")]
import tap  # noqa: E402
import torch_python  # noqa: E402
from launch import VARIABLES  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

PYTHON = torch_python.find()
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
WORDS = ["workload=command", "pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false",
         "pipeline.native.enable=false", "pipeline.counters.enable=false"]
ALONE = "import torch; torch.ones(8, 8).mm(torch.ones(8, 8))"
TOGETHER = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.full((4,), float(dist.get_rank() + 1))
dist.all_reduce(x)
assert x[0].item() == 3, x
dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@unittest.skipUnless(PYTHON, torch_python.REASON)
class Torch(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        for names in VARIABLES.values():
            for name in names:
                os.environ.pop(name, None)

    def go(self, *words: str, code: int = 0) -> None:
        done = self.lpo_run(*WORDS, *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def traces(self) -> list[str]:
        return sorted(n for n in os.listdir(self.path("torch_profiler")) if n.endswith(".json.gz"))

    def rank_of(self, name: str) -> dict:
        with gzip.open(self.path("torch_profiler", name)) as f:
            return json.load(f)["distributedInfo"]

    def test_a_trace_for_each_rank(self) -> None:
        self.go("--", *LAUNCH, "openmpi", "2", PYTHON, "-c", ALONE)
        self.assertEqual(self.traces(), ["rank0.trace.json.gz", "rank1.trace.json.gz"])
        self.assertEqual([self.rank_of(n) for n in self.traces()], [{"rank": 0, "world_size": 2}, {"rank": 1, "world_size": 2}])

    def test_chosen_ranks(self) -> None:
        self.go("run.ranks=[1]", "--", *LAUNCH, "slurm", "3", PYTHON, "-c", ALONE)
        self.assertEqual(self.traces(), ["rank1.trace.json.gz"])

    def test_one_per_node(self) -> None:
        self.go("run.ranks=one per node", "--", *LAUNCH, "--nodes", "2", "deepspeed", "4", PYTHON, "-c", ALONE)
        self.assertEqual(self.traces(), ["rank0.trace.json.gz", "rank2.trace.json.gz"])

    def test_further_processes_of_a_rank(self) -> None:
        script = f"import subprocess, sys\n{ALONE}\nsys.exit(subprocess.call([sys.executable, '-c', {ALONE!r}]))"
        self.go("--", *LAUNCH, "torchrun", "1", PYTHON, "-c", script)
        names = self.traces()
        self.assertEqual(len(names), 2)
        self.assertEqual(names[0].split(".")[0], "rank0")
        self.assertEqual({n.split(".")[0] for n in names}, {"rank0"})
        self.assertIn("rank0.trace.json.gz", names)

    @unittest.skipUnless(PYTHON == "/usr/bin/python3" and shutil.which("torchrun"), "torchrun is not installed (Debian: python3-torch)")
    def test_torchrun(self) -> None:
        self.write("job.py", TOGETHER)
        # torchrun of 1.13 under Python 3.11 fails where -r and -t are not given for single ranks
        self.go("--", "torchrun", "-r", "0:1", "-t", "0:1,1:1", "--nproc_per_node=2", "--master_addr=127.0.0.1", f"--master_port={free_port()}", "job.py")
        self.assertEqual(self.traces(), ["rank0.trace.json.gz", "rank1.trace.json.gz"])
        self.assertEqual([self.rank_of(n)["rank"] for n in self.traces()], [0, 1])
        self.assertEqual(self.stage("torch_profiler").get("notes", []), [])


if __name__ == "__main__":
    tap.main()
