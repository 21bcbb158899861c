#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One lpo in each task, and in one of them the disk is full, the handle is stale, or lpo is killed at some call: the others are
reported, the loss is said, nothing hangs.

The library counts every allocation, so it cannot be loaded into a program with sanitizers: the plain lpo is taken that `make test`
leaves in build/ first (bad_disk.c is for both). Prints TAP."""
from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
import tap  # noqa: E402
from launch import VARIABLES  # noqa: E402
from lpo_case import LPO as BUILT  # noqa: E402
from lpo_case import LpoCase  # noqa: E402


def plain_program() -> str | None:
    """The first lpo that was built without sanitizers."""
    for path in (BUILT, os.path.join(os.environ.get("LPO_SOURCE_ROOT", "."), "build", "lpo")):
        if os.path.exists(path):
            with open(path, "rb") as program:
                if b"__asan_init" not in program.read():
                    return os.path.abspath(path)
    return None


LPO = plain_program() or BUILT
FAULTS = os.environ["LPO_FAULTS"]
TOY = [os.path.join(os.path.dirname(LPO), "workloads", "toy_llm"), "--layers", "1", "--prompt-tokens", "4", "--max-new-tokens", "2",
       "--repeats", "1", "--warmup", "0"]
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
WORDS = ["workload=command", "pipeline.direct_inference.enable=false", "pipeline.torch_profiler.enable=false",
         "pipeline.static_analysis.enable=false", "pipeline.counters.enable=false", "run.ranks_wait=3s", "hydra.run.dir=run"]
# The call, the first one that fails, and how. Of a few hundred calls of each kind these are early, in the middle and late.
ROWS = [("write", 1, "ENOSPC"), ("write", 6, "ENOSPC"), ("rename", 1, "kill"), ("rename", 4, "kill"), ("open", 5, "ESTALE"),
        ("fsync", 2, "EIO"), ("mkdir", 1, "ENOSPC"), ("mkdir", 4, "ENOSPC"), ("flock", 1, "ENOLCK"), ("spawn", 1, "EIO")]


class Faults(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        for names in VARIABLES.values():
            for name in names:
                os.environ.pop(name, None)

    def job(self, rank: int, call: str, at: int, what: str) -> subprocess.CompletedProcess:
        broken = f"export LD_PRELOAD={FAULTS} LPO_FAULT_CALL={call} LPO_FAULT_AT={at} LPO_FAULT={what}"
        script = f'if [ "$RANK" = {rank} ]; then {broken}; fi; exec "$@"'
        return subprocess.run([*LAUNCH, "torchrun", "3", "sh", "-c", script, "sh", LPO, "run", *WORDS, "--", *TOY], cwd=self.cwd,
                              text=True, capture_output=True, timeout=100, env=os.environ | {"LPO_JOB_ID": "1"}, check=False)

    def test_a_fault_in_one_rank(self) -> None:
        lost = 0
        for call, at, what in ROWS:
            with self.subTest(f"{what} at {call} {at}"):
                self.tearDown()
                self.setUp()
                done = self.job(1, call, at, what)
                output = done.stdout + done.stderr
                self.has("report.md", "run.json")
                traces = os.listdir(self.path("native"))
                self.assertLessEqual({"rank0.lpot", "rank2.lpot"}, set(traces), output)
                notes = " ".join(self.stage("native")["notes"])
                if "rank1.lpot" not in traces:
                    lost += 1
                    self.assertIn("rank 1: ", notes, output)
                    self.assertEqual(done.returncode, 1, output)
                self.assertNotIn("rank 2: ", notes)
        self.assertGreaterEqual(lost, 3, "the faults do nothing")

    def test_a_fault_in_rank_0(self) -> None:
        """Without its folder the others keep their own; with it, what they wrote is in it."""
        for call, at, what in (("mkdir", 1, "ENOSPC"), ("rename", 1, "kill"), ("rename", 6, "kill")):
            with self.subTest(f"{what} at {call} {at}"):
                self.tearDown()
                self.setUp()
                done = self.job(0, call, at, what)
                found = [name for _, _, names in os.walk(self.cwd) for name in names if name.endswith(".lpot")]
                self.assertEqual(sorted(set(found) & {"rank1.lpot", "rank2.lpot"}), ["rank1.lpot", "rank2.lpot"],
                                 done.stdout + done.stderr)


if __name__ == "__main__":
    if not plain_program():
        tap.skip_all("there is no lpo without sanitizers: make leaves one in build/")
    tap.main()
