#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps on this machine: several jobs at once, resumed, interrupted, killed; and what is refused. Prints TAP."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

FOUR = ["-m", "-o", "out", "--only", "direct_inference", "run.repeats=1,2", "run.warmup=0,1"]
TWO_AT_ONCE = ["hydra/launcher=local", "hydra.launcher.n_jobs=2"]


class Sweep(LpoCase):
    def words(self, *words: str, program: str) -> list[str]:
        return [LPO, "run", *FOUR, *words, "--", "sh", "-c", program.replace("CWD", self.cwd)]

    def sweep(self, *words: str, program: str, want: int = 0, env: dict | None = None) -> str:
        done = subprocess.run(self.words(*words, program=program), cwd=self.cwd, text=True, capture_output=True, timeout=300,
                              env=os.environ | (env or {}))
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def begin(self, *words: str, program: str) -> subprocess.Popen:
        return subprocess.Popen(self.words(*words, program=program), cwd=self.cwd, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def jobs(self) -> list[dict]:
        with open(os.path.join(self.cwd, "out", "multirun.json"), encoding="utf-8") as f:
            return json.load(f)["jobs"]

    def lines(self, name: str) -> list[str]:
        try:
            with open(os.path.join(self.cwd, name), encoding="utf-8") as f:
                return f.read().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def touch(self, name: str) -> None:
        open(os.path.join(self.cwd, name), "w", encoding="utf-8").close()

    def wait_for(self, what: str, ready) -> None:
        end = time.monotonic() + 180
        while not ready():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def test_two_at_once(self) -> None:
        """Each job waits for a second one to run beside it, and none ever sees a third."""
        out = self.sweep(*TWO_AT_ONCE, program="""
            echo + >> CWD/log
            until test $(grep -c + CWD/log) -ge 2; do sleep 0.05; done
            test $(($(grep -c + CWD/log) - $(grep -c - CWD/log))) -le 2 || exit 9
            echo - >> CWD/log""")
        self.assertEqual([(j["num"], j["state"], j["exit_code"]) for j in self.jobs()], [(i, "ran", 0) for i in range(4)])
        self.assertEqual(sorted(os.listdir(os.path.join(self.cwd, "out"))), [".sweep", "0", "1", "2", "3", "multirun.json"])
        self.assertEqual(out.count("): done in"), 4)
        self.assertIn("run.repeats=2 run.warmup=1", out)
        with open(os.path.join(self.cwd, "out", ".sweep", "3.log"), encoding="utf-8") as f:
            self.assertIn("direct_inference: done", f.read())
        self.assertNotIn("direct_inference: done", out)  # the output of four jobs is not mixed on the terminal

    def test_a_gpu_for_each(self) -> None:
        self.sweep("hydra/launcher=local", "hydra.launcher.gpus=[3,5]", program="echo $CUDA_VISIBLE_DEVICES >> CWD/gpus")
        self.assertEqual(set(self.lines("gpus")), {"3", "5"})

    def test_resume_runs_what_is_not_done(self) -> None:
        for launcher in (TWO_AT_ONCE, []):
            with self.subTest(launcher):
                for name in ("ready", "runs"):
                    if os.path.exists(os.path.join(self.cwd, name)):
                        os.remove(os.path.join(self.cwd, name))
                out = self.sweep(*launcher, "+workload.env.R='${run.repeats}'", "-o", "out" + str(len(launcher)), want=1,
                                 program="echo $R >> CWD/runs; test -e CWD/ready || test $R = 1")
                folder = f"out{len(launcher)}"
                self.assertIn(f"lpo run --resume {folder} runs the 2 that are not done", out)
                self.touch("ready")
                before = len(self.lines("runs"))
                done = self.lpo("run", "--resume", folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(set(self.lines("runs")[before:]), {"2"})
                self.assertEqual([n for n in sorted(os.listdir(os.path.join(self.cwd, folder))) if n.isdigit()], ["0", "1", "2", "3"])
                before = len(self.lines("runs"))
                self.assertEqual(self.lpo("run", "--resume", folder).returncode, 0)
                self.assertEqual(len(self.lines("runs")), before)

    def test_an_interrupt_ends_the_jobs(self) -> None:
        lpo = self.begin(*TWO_AT_ONCE, program="echo $$ >> CWD/began; test -e CWD/ready || exec sleep 100")
        self.wait_for("two jobs did not begin", lambda: len(self.lines("began")) == 2)
        lpo.send_signal(signal.SIGINT)
        out = lpo.communicate(timeout=180)[0]
        self.assertEqual(lpo.returncode, 130, out)
        for pid in self.lines("began"):
            self.assertFalse(os.path.exists(f"/proc/{pid}"), "a program is still there")
        self.assertEqual(sorted(j["exit_code"] or 0 for j in self.jobs()), [0, 0, 130, 130])
        self.assertEqual([j["state"] for j in self.jobs()].count("pending"), 2)
        self.assertEqual(len(self.lines("began")), 2)
        self.touch("ready")
        done = self.lpo("run", "--resume", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0] * 4)

    def test_an_lpo_that_is_killed_leaves_nothing_behind(self) -> None:
        lpo = self.begin(*TWO_AT_ONCE, program="echo $$ >> CWD/began; test -e CWD/ready || exec sleep 100")
        self.wait_for("two jobs did not begin", lambda: len(self.lines("began")) == 2)
        lpo.kill()
        lpo.communicate()
        self.wait_for("programs are still there", lambda: not any(os.path.exists(f"/proc/{p}") for p in self.lines("began")))
        self.touch("ready")
        self.wait_for("the jobs still hold their folders", lambda: self.lpo("run", "--resume", "out").returncode == 0)
        self.assertEqual([j["exit_code"] for j in self.jobs()], [0] * 4)

    def test_two_on_one_sweep(self) -> None:
        lpo = self.begin(*TWO_AT_ONCE, program="echo x >> CWD/began; until test -e CWD/ready; do sleep 0.05; done")
        self.wait_for("no job began", lambda: self.lines("began"))
        second = self.lpo("run", "--resume", "out")
        self.assertEqual(second.returncode, 2)
        self.assertIn("another lpo is at work", second.stderr)
        self.touch("ready")
        self.assertEqual(lpo.wait(timeout=180), 0)
        lpo.stdout.close()

    def test_one_job_by_hand(self) -> None:
        self.sweep(program="echo $R >> CWD/runs; test -e CWD/ready", want=1)
        self.touch("ready")
        done = self.lpo("run", "--resume", "out", "--job", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([self.lpo("run", "--resume", "out", "--job", n).returncode for n in ("4", "-1", "x", "99999999999999999999")], [2] * 4)
        self.assertIn("is done", self.lpo("run", "--resume", "out", "--job", "2").stdout)
        self.assertEqual(self.lpo("run", "--job", "2").returncode, 2)

    def test_a_second_sweep_in_the_same_folder(self) -> None:
        self.sweep(*TWO_AT_ONCE, program="exit 1", want=1)
        self.sweep(*TWO_AT_ONCE, program="exit 0")
        self.assertEqual([os.path.basename(j["run_dir"]) for j in self.jobs()], ["0-2", "1-2", "2-2", "3-2"])

    def test_secrets_stay_out_of_files(self) -> None:
        secret = "workload.env.HF_TOKEN=hf_abcdefghij"
        out = self.sweep("+" + secret, *TWO_AT_ONCE, program="true", want=2)
        self.assertIn("holds a secret", out)
        self.assertNotIn("hf_abcdefghij", out)
        self.sweep("+" + secret, program="test ${#HF_TOKEN} = 13")  # one after the other nothing is needed in a file
        self.assertFalse(os.path.exists(os.path.join(self.cwd, "out", ".sweep")))
        done = self.lpo("run", "--resume", "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a sweep without a plan", done.stderr)
        self.sweep("+workload.env.HF_TOKEN='${oc.env:HF_TOKEN}'", *TWO_AT_ONCE, program="test ${#HF_TOKEN} = 13",
                   env={"HF_TOKEN": "hf_abcdefghij"})
        for folder, _, files in os.walk(self.cwd):
            for name in files:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(b"hf_abcdefghij", f.read(), name)

    def test_wrong_settings(self) -> None:
        for words, said in ((["hydra/launcher=local", "+hydra.launcher.n_job=2"], "did you mean 'n_jobs'"),
                            (["hydra/launcher=local", "hydra.launcher.n_jobs=0"], "above 0"),
                            (["hydra/launcher=local", "hydra.launcher.gpus=3"], "a list"),
                            (["hydra.launcher._target_=ray.Launcher"], "lpo has hydra/launcher=basic, local and slurm"),
                            (["hydra/launcher=slrum"], "Did you mean 'slurm'")):
            with self.subTest(words):
                self.assertIn(said, self.sweep(*words, program="true", want=2))
        self.assertFalse(os.path.exists(os.path.join(self.cwd, "out")))

    def test_names_of_hydras_own_launchers(self) -> None:
        self.sweep("hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "+hydra.launcher.verbose=10", program="true")
        out = self.lpo("run", *FOUR, "-n", "hydra/launcher=submitit_slurm", "hydra.launcher.timeout_min=90", "hydra.launcher.mem_gb=4",
                       "+hydra.launcher.max_num_timeout=3", "--", "true").stdout
        self.assertIn('#SBATCH "--time=90"', out)
        self.assertIn('#SBATCH "--mem=4G"', out)

    def test_a_damaged_plan(self) -> None:
        self.sweep(program="true")
        plan = os.path.join(self.cwd, "out", ".sweep", "plan.json")
        with open(plan, encoding="utf-8") as f:
            good = json.load(f)
        for bad in ("{", "[]", json.dumps(good | {"schema": "lpo.sweep/9"}), json.dumps(good | {"jobs": 3}),
                    json.dumps(good | {"cwd": None}), json.dumps(good | {"jobs": [{"num": -1, "overrides": []}]})):
            with open(plan, "w", encoding="utf-8") as f:
                f.write(bad)
            done = self.lpo("run", "--resume", "out")
            self.assertIn(done.returncode, (1, 2), bad)
            self.assertIn("plan of the sweep", done.stderr)


if __name__ == "__main__":
    tap.main()
