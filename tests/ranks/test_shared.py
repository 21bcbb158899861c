#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One lpo in each task of a job (`srun lpo run -- …`), one run folder. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "slurm")]
import cluster  # noqa: E402
import tap  # noqa: E402
from launch import VARIABLES  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

CLIENT = os.path.join(os.environ["LPO_BUILD_ROOT"], "tests", "collect", "nvtx_client")
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
WORDS = ["workload=command", "pipeline.direct_inference.enable=false", "pipeline.torch_profiler.enable=false",
         "pipeline.static_analysis.enable=false", "pipeline.counters.enable=false"]
SHARED = [LPO, "run", "hydra.run.dir=run", *WORDS]
FAKE_NCU = """#!/bin/sh
# an ncu that only starts the program: its words end at the first that is a path
while [ $# -gt 0 ]; do case "$1" in /*nvtx_client) break;; esac; shift; done
exec "$@"
"""


class Shared(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        for names in VARIABLES.values():
            for name in names:
                os.environ.pop(name, None)

    def go(self, *words: str, code: int = 0, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(words, cwd=self.cwd, env=os.environ | (env or {}), text=True, capture_output=True, timeout=120)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, output)
        self.assertNotIn("Sanitizer", output)
        return output

    def traces(self) -> list[str]:
        return sorted(n for n in os.listdir(self.path("native")) if n.endswith(".lpot"))

    def check_three(self, folder: str = "run") -> None:
        self.run_dir = os.path.join(self.cwd, folder)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"])
        self.assertEqual(self.manifest()["state"], "done")
        self.assertEqual(self.stage("native")["notes"], [])
        self.assertLessEqual({f"native/rank{i}.lpot" for i in range(3)}, set(self.stage("native")["files"]))
        for rank in (1, 2):
            self.assertEqual(self.manifest(self.path("ranks", f"rank{rank}"))["state"], "done")
        done = self.lpo("regions", "--json", *(self.path("native", n) for n in self.traces()))
        regions = json.loads(done.stdout)["scopes"][0]["regions"]
        self.assertEqual([r["visits"] for r in regions if r["path"] == "decode"], [3])

    def test_one_folder(self) -> None:
        self.go(*LAUNCH, "slurm", "3", *SHARED, "--", CLIENT, "plain")
        self.check_three()
        self.has("report.md", "report.json")
        self.assertEqual(sorted(os.listdir(self.path("ranks"))), ["rank1", "rank2"])
        self.assertFalse(os.path.exists(self.path("ranks", "rank1", "report.md")))

    def test_the_default_folder_is_that_of_the_job(self) -> None:
        env = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "3"}
        self.go(*LAUNCH, "slurm", "3", LPO, "run", *WORDS, "--", CLIENT, "plain", env=env)
        self.check_three("tmp/profile-output/job-77.3")

    def test_a_program_that_fails_in_one_rank(self) -> None:
        script = f'if [ "$RANK" = 1 ]; then exec {CLIENT} killed; else exec {CLIENT} plain; fi'
        self.go(*LAUNCH, "torchrun", "3", *SHARED, "--", "sh", "-c", script, code=1)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"])
        note, = self.stage("native")["notes"]
        self.assertTrue(note.startswith("rank 1: failed: "), note)
        self.assertIn("rank 1: failed", self.text("report.md"))

    def test_an_lpo_that_is_killed(self) -> None:
        """Its manifest says that it runs; nobody holds its folder."""
        pid = """$(sed -n 's/^  "pid": \\([0-9]*\\).*/\\1/p' run/ranks/rank2/run.json)"""
        script = f'if [ "$RANK" = 2 ]; then kill -9 {pid}; sleep 100; fi; exec {CLIENT} plain'
        done = self.go(*LAUNCH, "torchrun", "3", *SHARED, "--", "sh", "-c", script, code=1)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot"], done)
        self.assertTrue(any(n.startswith("rank 2: its lpo ended in the middle") for n in self.stage("native")["notes"]), self.stage("native"))

    def test_a_rank_that_never_starts(self) -> None:
        self.go(*LAUNCH, "--absent", "1", "torchrun", "3", *SHARED, "run.ranks_wait=2s", "--", CLIENT, "plain", code=1)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank2.lpot"])
        note, = self.stage("native")["notes"]
        self.assertIn("rank 1: nothing of it is here", note)

    def test_rank_0_never_starts(self) -> None:
        """The program must run all the same; each rank keeps and reports its own."""
        output = self.go(*LAUNCH, "--absent", "0", "torchrun", "2", *SHARED, "run.ranks_wait=1s", "--", CLIENT, "plain", code=1)
        self.assertIn("rank 1 does not see the run folder", output)
        self.run_dir += "-rank1"
        self.has("native/rank1.lpot", "report.md")

    def test_two_jobs_in_one_folder(self) -> None:
        self.go(*LAUNCH, "torchrun", "2", *SHARED, "--", CLIENT, "plain", env={"LPO_JOB_ID": "first"})
        before = self.text("run.json"), self.traces()
        output = self.go(*LAUNCH, "torchrun", "2", *SHARED, "--", CLIENT, "plain", env={"LPO_JOB_ID": "second"}, code=1)
        self.assertIn("holds another run", output)
        self.assertIn("belongs to another job", output)
        self.assertEqual((self.text("run.json"), self.traces()), before)

    def test_ncu_on_one_rank(self) -> None:
        self.write("ncu", FAKE_NCU)
        os.chmod(os.path.join(self.cwd, "ncu"), 0o755)
        words = ["pipeline.native.enable=false", "pipeline.ncu.enable=true", f"pipeline.ncu.program={self.cwd}/ncu"]
        subprocess.run([*LAUNCH, "torchrun", "2", *SHARED, *words, "--", CLIENT, "across"], cwd=self.cwd, capture_output=True, timeout=120, check=False)
        member = self.manifest(self.path("ranks", "rank1"))
        ncu = next(s for s in member["stages"] if s["name"] == "ncu")
        self.assertEqual((ncu["state"], [s["label"] for s in ncu["steps"]]), ("done", ["unprofiled"]))
        self.assertNotIn("unprofiled", [s["label"] for s in self.stage("ncu")["steps"]])

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed (Debian: openmpi-bin)")
    def test_mpirun(self) -> None:
        self.go("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", *SHARED, "--", CLIENT, "plain")
        self.check_three()

    @unittest.skipIf(cluster.missing() or not shutil.which("srun"), cluster.missing() or "srun is not installed (Debian: slurm-client)")
    def test_srun(self) -> None:
        with cluster.Cluster() as c:
            self.go("srun", "-n", "3", "--overcommit", *SHARED, "--", CLIENT, "plain", env=c.env)
        self.check_three()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tap.main()
