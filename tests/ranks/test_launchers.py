#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks of one job under `lpo run -- launcher …`: their names, their facts, which of them are profiled. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "collect")]
import lpot  # noqa: E402
import tap  # noqa: E402
from launch import SETS, VARIABLES  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

CLIENT = os.path.join(os.environ["LPO_BUILD_ROOT"], "tests", "collect", "nvtx_client")
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
WORDS = ["workload=command", "pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false",
         "pipeline.torch_profiler.enable=false", "pipeline.counters.enable=false"]
OF_LAUNCHERS = {name for names in VARIABLES.values() for name in names} | {"PMIX_RANK", "SLURM_STEP_ID", "ENVIRONMENT", "JOB_COMPLETION_INDEX"}


class Ranks(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        for name in OF_LAUNCHERS:  # those of whoever runs the tests
            os.environ.pop(name, None)

    def go(self, *words: str, code: int = 0, env: dict[str, str] | None = None) -> str:
        done = self.lpo_run(*WORDS, *words, env=env)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, output)
        self.assertNotIn("Sanitizer", output)
        return output

    def traces(self) -> list[str]:
        folder = self.path("native")
        return sorted(n for n in os.listdir(folder) if n.endswith(".lpot")) if os.path.isdir(folder) else []

    def facts(self, name: str) -> dict[str, str]:
        return lpot.Trace(self.path("native", name)).facts

    def scopes(self) -> list[str]:
        done = self.lpo("regions", "--json", *(self.path("native", n) for n in self.traces()))
        return [s["scope"] for s in json.loads(done.stdout)["scopes"]]

    def test_names_and_facts_of_every_launcher(self) -> None:
        for kind in VARIABLES:
            with self.subTest(kind):
                shutil.rmtree(self.run_dir, ignore_errors=True)
                self.go("--", *LAUNCH, kind, "3", CLIENT, "plain")
                self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"])
                for rank in range(3):
                    facts = self.facts(f"rank{rank}.lpot")
                    self.assertEqual((facts["rank"], facts["local_rank"], facts["world_size"]), (str(rank), str(rank), "3"))
                self.assertLessEqual({"rank:0", "rank:1", "rank:2"}, set(self.scopes()))
                self.assertEqual(self.stage("native").get("notes", []), [])

    def test_launchers_with_the_names_of_torchrun(self) -> None:
        """Each sets more than the three names; the one folder per node of two has the ranks 0 and 2."""
        for kind in SETS:
            with self.subTest(kind):
                shutil.rmtree(self.run_dir, ignore_errors=True)
                self.go("--", *LAUNCH, "--nodes", "2", kind, "4", CLIENT, "plain")
                self.assertEqual(self.traces(), [f"rank{i}.lpot" for i in range(4)])
                for rank in range(4):
                    facts = self.facts(f"rank{rank}.lpot")
                    self.assertEqual((facts["launcher"], facts["rank"], facts["world_size"]), ("torchrun", str(rank), "4"))
                    self.assertEqual(facts.get("local_rank"), None if kind == "kubeflow" else str(rank % 2))
                shutil.rmtree(self.run_dir, ignore_errors=True)
                self.go("run.ranks=one per node", "--", *LAUNCH, "--nodes", "2", kind, "4", CLIENT, "across")
                want = range(4) if kind == "kubeflow" else (0, 2)  # a launcher without local ranks: all
                self.assertEqual(self.traces(), [f"rank{i}.lpot" for i in want])

    def test_an_indexed_job_of_kubernetes(self) -> None:
        """It gives each pod a number and no more; torchrun in the pod counts for itself."""
        self.go("--", CLIENT, "plain", env={"JOB_COMPLETION_INDEX": "5"})
        self.assertEqual(self.traces(), ["rank5.lpot"])
        facts = self.facts("rank5.lpot")
        self.assertEqual((facts["launcher"], facts["rank"], facts.get("world_size")), ("Kubernetes", "5", None))
        shutil.rmtree(self.run_dir, ignore_errors=True)
        self.go("--", *LAUNCH, "torchrun", "2", CLIENT, "plain", env={"JOB_COMPLETION_INDEX": "5"})
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot"])

    def test_the_innermost_launcher_is_right(self) -> None:
        """torchrun under srun: SLURM_PROCID is the number of the node."""
        self.go("--", *LAUNCH, "slurm", "1", *LAUNCH, "torchrun", "2", CLIENT, "plain")
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot"])

    def test_a_batch_script_is_no_task(self) -> None:
        for env in ({"ENVIRONMENT": "BATCH"}, {"SLURM_STEP_ID": "4294967291"}):
            shutil.rmtree(self.run_dir, ignore_errors=True)
            self.go("--", CLIENT, "plain", env={"SLURM_PROCID": "0", "SLURM_NTASKS": "4"} | env)
            name, = self.traces()
            self.assertNotIn("rank", name)
            self.assertNotIn("rank", self.facts(name))

    def test_what_is_no_rank(self) -> None:
        for value in ("", "-1", "first", "12345678901234567890", "1/../../x"):
            shutil.rmtree(self.run_dir, ignore_errors=True)
            self.go("--", CLIENT, "plain", env={"RANK": value})
            name, = self.traces()
            self.assertTrue(name[:-5].isdigit(), name)

    def test_further_processes_of_a_rank(self) -> None:
        self.go("--", *LAUNCH, "torchrun", "2", CLIENT, "forks")
        names = self.traces()
        self.assertEqual(len(names), 8)
        for rank in range(2):
            own = [n for n in names if n.startswith(f"rank{rank}.")]
            self.assertIn(f"rank{rank}.lpot", own)
            pid = self.facts(f"rank{rank}.lpot")["pid"]
            workers = [self.facts(n) for n in own if n != f"rank{rank}.lpot"]
            self.assertEqual([(w["rank"], w["forked_from"]) for w in workers], [(str(rank), pid)] * 3)
        self.assertEqual([n for n in self.stage("native").get("notes", []) if "rank" in n], [])

    def test_chosen_ranks(self) -> None:
        rows = (("run.ranks=[0,3]", ["rank0", "rank3"]), ("run.ranks=2", ["rank2"]), ("run.ranks='1,2'", ["rank1", "rank2"]), ("run.ranks=one per node", ["rank0", "rank2"]),
                ("run.ranks=all", ["rank0", "rank1", "rank2", "rank3"]))
        for word, want in rows:
            with self.subTest(word):
                shutil.rmtree(self.run_dir, ignore_errors=True)
                self.go(word, "--", *LAUNCH, "--nodes", "2", "torchrun", "4", CLIENT, "across")
                self.assertEqual(self.traces(), [n + ".lpot" for n in want])
                self.assertEqual(self.stage("native").get("notes", []), [])

    def test_a_choice_that_cannot_be_read(self) -> None:
        for word in ("run.ranks=some", "run.ranks=[0,all]", "run.ranks=[-1]", "run.ranks=-1"):
            self.assertIn("run.ranks", self.go(word, "--", CLIENT, "plain", code=2))
            self.assertFalse(os.path.exists(self.run_dir))

    def test_a_rank_that_is_killed(self) -> None:
        self.go("--", *LAUNCH, "--kill", "1", "torchrun", "3", CLIENT, "plain", code=1)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"])
        note, = self.stage("native")["notes"]
        self.assertIn("rank 1 of 3: killed", note)
        self.assertIn("rank 1 of 3: killed", self.text("report.md"))
        self.assertLessEqual({"rank:0", "rank:1", "rank:2"}, set(self.scopes()))

    def test_a_rank_that_never_starts(self) -> None:
        self.go("--", *LAUNCH, "--absent", "2", "torchrun", "4", CLIENT, "plain", code=1)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank3.lpot"])
        note, = self.stage("native")["notes"]
        self.assertIn("rank 2 of 4: no trace", note)

    def test_a_trace_that_is_there_is_not_touched(self) -> None:
        folder = os.path.join(self.cwd, "traces")
        os.makedirs(folder)
        self.write("traces/rank0.lpot", "another job's")
        library = os.path.join(os.environ["LPO_BUILD_ROOT"], "src", "collect", "liblpo-collect.so")
        env = {"RANK": "0", "NVTX_INJECTION64_PATH": library, "LPO_COLLECT_DIR": folder}
        done = subprocess.run([CLIENT, "plain"], env=os.environ | env, check=False)
        self.assertEqual(done.returncode, 0)
        with open(os.path.join(folder, "rank0.lpot"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "another job's")
        self.assertEqual(len(os.listdir(folder)), 2)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed (Debian: openmpi-bin)")
    def test_mpirun(self) -> None:
        self.go("--", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", CLIENT, "plain")
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot"])
        facts = [self.facts(n) for n in self.traces()]
        self.assertEqual([(f["launcher"], f["rank"], f["local_rank"], f["world_size"]) for f in facts],
                         [("Open MPI", "0", "0", "2"), ("Open MPI", "1", "1", "2")])

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed (Debian: openmpi-bin)")
    def test_mpirun_and_a_killed_rank(self) -> None:
        """mpirun ends the whole job: what each had written is there."""
        script = f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec {CLIENT} killed; else exec {CLIENT} plain; fi'
        self.go("--", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "sh", "-c", script, code=1)
        self.assertIn("rank1.lpot", self.traces())
        self.assertTrue(any("rank" in n and "1" in n and "of 2: killed" in n for n in self.stage("native")["notes"]), self.stage("native"))


if __name__ == "__main__":
    tap.main()
