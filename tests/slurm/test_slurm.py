#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sweep on a cluster: `hydra/launcher=slurm` on a real Slurm of two nodes that this test starts and ends. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from cluster import Cluster, missing  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

SLURM = ["hydra/launcher=slurm", "hydra.launcher.poll_s=1", "hydra.launcher.partition=gpu"]
FAST = ["-m", "-o", "out", "--only", "direct_inference", "run.repeats=1,2", "run.warmup=0,1"]  # four jobs


class Sweep(LpoCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = Cluster().__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cluster.__exit__()

    def tearDown(self) -> None:
        self.cluster.say("scancel", "-u", "root")
        super().tearDown()

    def environment(self) -> dict[str, str]:
        return self.cluster.env

    def lpo(self, *words: str, env: dict[str, str] | None = None, timeout: float = 300) -> subprocess.CompletedProcess:
        return super().lpo(*words, env=env, timeout=timeout)

    def sweep(self, *words: str, program: str, want: int = 0) -> str:
        done = self.lpo("run", *FAST, *SLURM, *words, "--", "sh", "-c", program)
        self.assertEqual(done.returncode, want, done.stdout + done.stderr + self.cluster.logs())
        return done.stdout + done.stderr

    def jobs(self) -> list[dict]:
        with open(os.path.join(self.cwd, "out", "multirun.json"), encoding="utf-8") as f:
            return json.load(f)["jobs"]

    def arrays(self) -> list[str]:
        with open(os.path.join(self.cwd, "out", ".sweep", "plan.json"), encoding="utf-8") as f:
            return [a["id"] for a in json.load(f)["arrays"]]

    def submit(self, *words: str, program: str) -> subprocess.Popen:
        return subprocess.Popen([LPO, "run", *FAST, *SLURM, *words, "--", "sh", "-c", program], cwd=self.cwd, text=True,
                                env=os.environ | self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def wait_for(self, what: str, ready) -> None:
        self.cluster.wait_for(what, ready)

    def pids_of_job(self, num: int) -> list[int]:
        """The lpo that runs a job of this test's sweep."""
        out = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if words[1:6] == ["run", "--resume", os.path.join(self.cwd, "out"), "--job", str(num)]:
                out.append(int(pid))
        self.assertEqual(len(out), 1, out)
        return out

    def text_of(self, name: str) -> str:
        try:
            with open(os.path.join(self.cwd, name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def test_one_array_job_and_a_summary(self) -> None:
        out = self.sweep("hydra.launcher.time=2h", "hydra.launcher.array_parallelism=2", "hydra.launcher.comment=of lpo",
                         "+hydra.launcher.additional_parameters.nice=7", "hydra.launcher.setup=['export SAID=setup']",
                         program="echo $SAID $SLURM_ARRAY_JOB_ID >> $LPO_CALL/seen; sleep 0.3".replace("$LPO_CALL", self.cwd))
        self.assertEqual([(j["num"], j["state"], j["exit_code"]) for j in self.jobs()], [(i, "ran", 0) for i in range(4)])
        for j in self.jobs():
            self.assertEqual(os.path.dirname(j["run_dir"]), os.path.join(self.cwd, "out"))
            self.assertTrue(os.path.exists(os.path.join(j["run_dir"], "report.json")))
            self.assertTrue(j["host"])
        array, = self.arrays()
        self.assertIn(f"array job {array} submitted", out)
        self.assertEqual({line for line in self.text_of("seen").splitlines()}, {f"setup {array}"})
        self.assertIn("jobs of the sweep", out)
        self.assertEqual(len(re.findall(r"\b\d+ +done ", out)), 4)
        known = self.cluster.say("scontrol", "-o", "show", "job", f"{array}_0")
        self.assertIn("TimeLimit=02:00:00", known)
        self.assertIn("Comment=of lpo", known)
        self.assertIn("Nice=7", known)
        self.assertIn("ArrayTaskThrottle=2", self.cluster.say("scontrol", "-o", "show", "job", array))

    def test_resume_submits_what_is_missing(self) -> None:
        """Two jobs fail until a file is there; the others are not run again."""
        program = f"echo x >> {self.cwd}/runs; case $PWD in *) test -e {self.cwd}/ready || test $REPEATS = 1;; esac"
        self.sweep("+workload.env.REPEATS='${run.repeats}'", program=program, want=1)
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0, 0, 1, 1])
        runs = self.text_of("runs").count("x")
        open(os.path.join(self.cwd, "ready"), "w", encoding="utf-8").close()
        done = self.lpo("run", "--resume", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0, 0, 0, 0])
        self.assertEqual(len(self.arrays()), 2)
        with open(os.path.join(self.cwd, "out", ".sweep", "sbatch-2.sh"), encoding="utf-8") as f:
            self.assertIn("--array=2-3%", f.read())
        self.assertEqual(sorted(os.listdir(os.path.join(self.cwd, "out")))[1:5], ["0", "1", "2", "3"])  # the same folders
        again = self.lpo("run", "--resume", "out")
        self.assertEqual((again.returncode, len(self.arrays())), (0, 2))
        self.assertGreater(self.text_of("runs").count("x"), runs)

    def test_an_interrupt_cancels_the_array(self) -> None:
        """Two of four jobs run when Ctrl-C comes: they end as interrupted, the others never begin, and --resume runs all four."""
        lpo = self.submit("hydra.launcher.array_parallelism=2",
                          program=f"echo x >> {self.cwd}/began; test -e {self.cwd}/ready || sleep 100")
        self.wait_for("two jobs did not begin", lambda: self.text_of("began").count("x") == 2)
        lpo.send_signal(signal.SIGINT)
        out = lpo.communicate(timeout=240)[0]
        self.assertEqual(lpo.returncode, 130, out)
        array, = self.arrays()
        self.assertIn(f"array job {array} is cancelled", out)
        self.assertIn("lpo run --resume out runs the 4 that are not done", out)
        self.wait_for("the array is still there", lambda: not self.cluster.say("squeue", "-h", "-o", "%i"))
        states = sorted((j["state"], j["exit_code"]) for j in self.jobs() if j["state"] == "ran")
        self.assertEqual(states, [("ran", 130), ("ran", 130)])
        self.assertEqual([j["state"] for j in self.jobs()].count("pending"), 2)
        self.assertEqual(self.text_of("began").count("x"), 2)
        open(os.path.join(self.cwd, "ready"), "w", encoding="utf-8").close()
        done = self.lpo("run", "--resume", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0, 0, 0, 0])

    def test_submit_and_come_back(self) -> None:
        out = self.sweep("hydra.launcher.wait=false", program=f"while ! test -e {self.cwd}/ready; do sleep 0.2; done")
        self.assertIn("not waiting", out)
        array, = self.arrays()
        self.wait_for("no job runs", lambda: "RUNNING" in self.cluster.say("squeue", "-h", "-r", "-o", "%T"))
        open(os.path.join(self.cwd, "ready"), "w", encoding="utf-8").close()
        done = self.lpo("run", "--resume", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.arrays(), [array])  # those on their way are not submitted again
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0, 0, 0, 0])

    def test_a_job_that_vanishes_is_lost_and_the_rest_is_reported(self) -> None:
        """As when its node dies: no last word."""
        lpo = self.submit(program=f"echo $SLURM_ARRAY_TASK_ID $PPID >> {self.cwd}/began; "
                                  f"case $SLURM_ARRAY_TASK_ID in 1) sleep 100;; esac")
        self.wait_for("job 1 did not begin", lambda: re.search(r"^1 ", self.text_of("began"), re.M))
        for pid in self.pids_of_job(1):
            os.kill(pid, signal.SIGKILL)
        out = lpo.communicate(timeout=240)[0]
        self.assertEqual(lpo.returncode, 1, out)
        self.assertEqual([j["state"] for j in self.jobs()], ["ran", "lost", "ran", "ran"])
        self.assertIn("Slurm ended it: ", self.jobs()[1]["error"])
        self.assertIn("runs the 1 that", out)

    def test_a_sweep_larger_than_an_array(self) -> None:
        """Two array jobs of two; task k of the second is job 2 + k."""
        self.sweep("hydra.launcher.array_size=2", program=f"echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID >> {self.cwd}/seen")
        first, second = self.arrays()
        self.assertEqual(sorted(self.text_of("seen").splitlines()), sorted(f"{a} {t}" for a in (first, second) for t in (0, 1)))
        self.assertEqual([(j["num"], j["exit_code"]) for j in self.jobs()], [(i, 0) for i in range(4)])

    def test_a_controller_that_is_away_for_a_while(self) -> None:
        """squeue fails meanwhile. The jobs go on, none is called lost, and their results are found."""
        lpo = self.submit(program=f"echo x >> {self.cwd}/began; until test -e {self.cwd}/ready; do sleep 0.2; done")
        self.wait_for("the jobs did not begin", lambda: self.text_of("began").count("x") == 4)
        self.cluster.stop_controller()
        time.sleep(6)  # several polls; whatever they see must do no harm
        open(os.path.join(self.cwd, "ready"), "w", encoding="utf-8").close()
        self.cluster.start_controller()
        out = lpo.communicate(timeout=240)[0]
        self.assertEqual(lpo.returncode, 0, out + self.cluster.logs())
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0, 0, 0, 0])

    def test_a_job_that_slurm_starts_again(self) -> None:
        """As after a node failed: its first end is no result, it goes on in its folder, and the sweep waits for it."""
        lpo = self.submit(program=f"echo $SLURM_ARRAY_TASK_ID >> {self.cwd}/began; "
                                  f"test $SLURM_ARRAY_TASK_ID != 2 || test -e {self.cwd}/ready || sleep 100")
        self.wait_for("job 2 did not begin", lambda: "2" in self.text_of("began").split())
        open(os.path.join(self.cwd, "ready"), "w", encoding="utf-8").close()
        self.cluster.say("scontrol", "requeue", f"{self.arrays()[0]}_2")
        out = lpo.communicate(timeout=240)[0]
        self.assertEqual(lpo.returncode, 0, out + self.cluster.logs())
        self.assertEqual([(j["state"], j["exit_code"]) for j in self.jobs()], [("ran", 0)] * 4)
        self.assertEqual(self.text_of("began").split().count("2"), 2)
        self.assertEqual(os.path.basename(self.jobs()[2]["run_dir"]), "2")

    def test_an_array_whose_number_was_never_told(self) -> None:
        """sbatch submits and fails before it has said so, as when it is interrupted or too slow."""
        tools = os.path.join(self.cwd, "tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "sbatch"), "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\n/usr/bin/sbatch "$@" >/dev/null\nexit 1\n')
        os.chmod(os.path.join(tools, "sbatch"), 0o755)
        done = self.lpo("run", *FAST, *SLURM, "--", "sleep", "100", env={"PATH": tools + ":" + self.cluster.env["PATH"]})
        self.assertEqual(done.returncode, 1)
        self.assertIn("is cancelled", done.stderr)
        self.wait_for("the array is still there", lambda: not self.cluster.say("squeue", "-h", "-o", "%i"))

    def test_what_sbatch_refuses_is_said(self) -> None:
        out = self.sweep("hydra.launcher.partition=nowhere", program="true", want=1)
        self.assertIn("the jobs could not be submitted", out)
        self.assertIn("Invalid partition", out)


class Via(LpoCase):
    """`lpo report --via slurm`: an array job makes the digests, and a trace that cannot be read is named."""

    def test_digests(self) -> None:
        sys.path.insert(0, os.path.join(HERE, "..", "analysis"))
        import rank_causes

        traces = os.path.join(self.cwd, "traces")
        rank_causes.make(traces, "slow", 1)
        os.remove(os.path.join(traces, "truth.json"))
        with Cluster() as cluster:
            done = self.lpo("report", "--via", "slurm", "traces", "-o", "out", "--json", env=cluster.env, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr + cluster.logs())
            plain = self.lpo("report", "traces", "--json")
            joined, whole = json.loads(done.stdout), json.loads(plain.stdout)
            self.assertEqual(joined["ladder"], whole["ladder"])
            self.assertEqual(joined["ranks"], whole["ranks"])
            with open(os.path.join(traces, "rank0.json"), "r+b") as f:
                f.truncate(100)
            done = self.lpo("report", "--via", "slurm", *(os.path.join("traces", f"rank{i}.json") for i in range(3)), "-o", "out2", env=cluster.env,
                            timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr + cluster.logs())
            self.assertIn("rank0.json", done.stderr)

    def test_words(self) -> None:
        done = self.lpo("report", "--via", "pbs", "x.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("slurm", done.stderr)


if __name__ == "__main__":
    why = missing()
    if why:
        tap.skip_all(why)
    tap.main()
