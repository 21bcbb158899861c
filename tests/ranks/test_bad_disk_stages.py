#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bad disk, and a rank that dies or hangs, under each stage that starts a tool: the PyTorch profiler (Debian's torch), nsys and ncu (stand-ins).
What is there is reported, what is lost is said, nothing hangs, nothing is overwritten. Prints TAP."""
from __future__ import annotations

import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "workloads")]
import tap  # noqa: E402
import torch_python  # noqa: E402
from bad_disk_case import WORDS, BadDiskCase, some  # noqa: E402

TOOLS = os.path.join(HERE, "..", "pipeline", "tools")
PYTHON = torch_python.find()
ALONE = "import torch; torch.ones(8, 8).mm(torch.ones(8, 8))"
PLAIN = "pass"
# Of each stage: its settings, what the program does, the file of a rank.
STAGES = {
    "nsys": (["pipeline.nsys.enable=true", f"pipeline.nsys.program={TOOLS}/nsight/target-linux-x64/nsys"], PLAIN,
             ("nsys/run.sqlite", "ranks/rank{}/nsys/run.sqlite")),
    "ncu": (["pipeline.ncu.enable=true", f"pipeline.ncu.program={TOOLS}/ncu", "pipeline.ncu.ncu_cli.nvtx.include=null"], PLAIN,
            ("ncu/run.ncu-rep", None)),
}
if PYTHON:
    STAGES["torch_profiler"] = (["pipeline.torch_profiler.enable=true"], ALONE, ("torch_profiler/rank0.trace.json.gz", "torch_profiler/rank{}.trace.json.gz"))


class Stages(BadDiskCase):
    words = [*WORDS, "pipeline.native.enable=false"]

    def setUp(self) -> None:
        super().setUp()
        self.bad = os.path.join(self.cwd, "bad")
        os.environ["XDG_CACHE_HOME"] = os.path.join(self.cwd, "cache")

    def begin(self, name: str, env: dict[str, str], *words: str, rank: int | None = None, before: str = ":"):
        """`before` is what the program of each rank does first, in shell."""
        self.again()
        keys, script, _ = STAGES[name]
        off: list[str] = [] if name == "torch_profiler" else ["pipeline.torch_profiler.enable=false"]
        program = ["sh", "-c", before.replace("BAD", self.bad) + '; exec "$@"', "sh", PYTHON or sys.executable, "-c", script]
        if "LPO_BAD_DISK_WHEN" in env:
            env = env | {"LPO_BAD_DISK_WHEN": self.bad}
        return self.start(env, *off, *keys, *words, rank=rank, program=program)

    def file_of(self, name: str, rank: int) -> str | None:
        first, others = STAGES[name][2]
        return first if rank == 0 else others and others.format(rank)

    def check(self, name: str, job, *, there: tuple[int, ...], lost: tuple[int, ...] = (), code: int = 0) -> str:
        """The files of the ranks `there`; a word about each of the `lost`, in the manifest and in the report."""
        output = self.end(job)
        self.assertEqual(job.returncode, code, output)
        for rank in there:
            if self.file_of(name, rank):
                self.has(self.file_of(name, rank))
        notes = " ".join([*self.stage(name)["notes"], *([f"rank 0: {self.stage(name)['message']}"] if self.stage(name)["message"] else [])])
        self.assertEqual(tuple(r for r in range(3) if f"rank {r}: " in notes), lost, output)
        report = self.text("report.md")
        for rank in lost:
            self.assertIn(f"rank {rank}: " if rank else f"The run failed in {name}: ", report)
        return output

    def test_a_disk_that_loses_no_more_than_time(self) -> None:
        for name in STAGES:
            for rules in some("open:ESTALE:7,read:ESTALE:5,write:ESTALE:9", "*:3", "stat:ESTALE:6,list:ESTALE:2,rename:ESTALE:5"):
                with self.subTest(f"{name} {rules}"):
                    self.check(name, self.begin(name, {"LPO_BAD_DISK_RULES": rules}), there=(0, 1, 2))
                    if name == "nsys":  # every rank read whole: the stand-in leaves 13 kernels for each
                        launches = sum(k["launches"] for k in self.json("report.json")["kernels"])
                        self.assertEqual(launches, 39)

    def test_a_disk_that_fills_up(self) -> None:
        """For all of them: nothing can be said in the folder, so it is said to who waits. When there is space again the rest is reported."""
        for name in STAGES:
            with self.subTest(name):
                job = self.begin(name, {"LPO_BAD_DISK_RULES": "write:ENOSPC", "LPO_BAD_DISK_WHEN": ""}, "run.ranks_wait=3s", before="touch BAD")
                output = self.end(job)
                self.assertEqual(job.returncode, 1, output)
                self.assertIn("No space left on device", output)
                os.unlink(self.bad)
                self.assertEqual(self.lpo("report", self.run_dir).returncode, 0)
                self.has("report.md")

    def test_one_rank_cannot_write(self) -> None:
        """Half a minute of waiting each: the other stages in `make torture`."""
        for name in some(*STAGES):
            for rules in some("write:ENOSPC", "*:EIO", "rename:stop"):
                with self.subTest(f"{name} {rules}"):
                    # Rank 2 must come in this time however busy the machine is, and rank 1 is waited for as long.
                    job = self.begin(name, {"LPO_BAD_DISK_RULES": rules, "LPO_BAD_DISK_WHEN": ""}, "run.ranks_wait=30s", rank=1,
                                     before="[ $RANK != 1 ] || touch BAD")
                    if rules.endswith("stop"):
                        self.wait_for(lambda: self.manifest()["state"] == "failed" and os.path.exists(self.path("report.html")))
                        os.kill(self.manifest(self.path("ranks", "rank1"))["pid"], signal.SIGKILL)
                    self.check(name, job, there=(0, 2), lost=(1,), code=1)

    def test_a_rank_that_dies(self) -> None:
        for name in STAGES:
            for rank in (1, 0):
                with self.subTest(f"{name} rank {rank}"):
                    there = tuple(r for r in range(3) if r != rank)
                    self.check(name, self.begin(name, {}, before=f"[ $RANK != {rank} ] || kill -9 $$"), there=there, lost=(rank,), code=1)

    def test_a_rank_that_hangs(self) -> None:
        for name in STAGES:
            with self.subTest(name):
                job = self.begin(name, {}, f"pipeline.{name}.timeout=LIMIT", before="[ $RANK != 1 ] || exec sleep 1000")
                self.check(name, job, there=(0, 2), lost=(1,), code=1)
                self.assertIn("time limit of", " ".join(self.stage(name)["notes"]))


if __name__ == "__main__":
    tap.main()
