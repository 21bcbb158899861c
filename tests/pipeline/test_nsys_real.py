#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The nsys stage on a real Nsight Systems: the built-in model's ranges, no GPU needed. Prints TAP; skipped where none is on PATH.

Seen to pass with 2022.4.2 (Debian's nsight-systems), whose importer does not start by itself."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

ON = ["pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false", "pipeline.native.enable=false", "pipeline.torch_profiler.enable=false",
      "pipeline.nsys.enable=true", "pipeline.nsys.trace=[nvtx,osrt]", "run.repeats=2", "run.warmup=0",
      "infer.max_new_tokens=3", "infer.prompt_tokens=4", "model.layers=1"]
GATED = ["pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decode"]
CAPTURE = "pipeline.nsys.capture."


class Nsys(LpoCase):
    def nsys_stage(self, *words: str, code: int = 0) -> dict:
        done = self.lpo("run", "hydra.run.dir=run", *ON, *words, timeout=200)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.stage("nsys")

    def server(self, *words: str) -> dict:
        """The built-in server and its client, nothing else than nsys."""
        on = [w for w in ON if not w.startswith("model.")]
        done = self.lpo("run", "hydra.run.dir=run", *on, "workload=server", "model=toy", "model.layers=1", "model.hidden=64", *words,
                        timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.stage("nsys")

    def reports(self) -> list[str]:
        return sorted(f for f in os.listdir(self.path("nsys")) if f.endswith(".sqlite"))

    def visits(self, name: str) -> dict[str, int]:
        """Visits of each region of an export."""
        done = self.lpo("regions", "--json", os.path.join("run", "nsys", name))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {r["path"]: r["visits"] for r in json.loads(done.stdout)["scopes"][0]["regions"]}

    def test_the_whole_program(self) -> None:
        stage = self.nsys_stage("pipeline.nsys.gating_nvtx=false")
        self.assertEqual((stage["state"], stage["notes"]), ("done", []))
        visits = self.visits("run.sqlite")
        self.assertEqual((visits["prefill"], visits["decode"]), (2, 2))
        with open(os.path.join(self.temp.name, "run", "nsys", "summary_nvtx_sum.csv"), encoding="utf-8") as f:
            self.assertTrue(f.readline().startswith("Time (%),"))

    def test_gated_on_a_range(self) -> None:
        self.nsys_stage(*GATED)
        visits = self.visits("run.sqlite")
        self.assertEqual(visits["decode"], 1)
        self.assertNotIn("prefill", visits)

    def test_a_repeat_makes_a_report_for_each(self) -> None:
        self.nsys_stage(*GATED, "pipeline.nsys.capture_range_end=repeat:2")
        for name in ("run.1.sqlite", "run.2.sqlite"):
            self.assertEqual(self.visits(name)["decode"], 1)

    def test_a_range_that_never_came(self) -> None:
        stage = self.nsys_stage("pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decod", code=1)
        self.assertIn("'decod' was never entered", stage["message"])

    def test_the_shared_words_all_calls_of_a_range(self) -> None:
        self.nsys_stage(CAPTURE + "range=decode", "run.repeats=3")
        self.assertEqual([self.visits(name)["decode"] for name in self.reports()], [1, 1, 1])
        self.assertEqual(self.json("report.json")["scopes"][0]["regions"][0]["visits"], 3)

    def test_the_shared_words_later_calls(self) -> None:
        stage = self.nsys_stage(CAPTURE + "range=decode", CAPTURE + "calls=2-3", "run.repeats=4")
        self.assertEqual(self.reports(), ["run.2.sqlite", "run.3.sqlite"])
        self.assertEqual(stage["notes"], ["only these calls of 'decode' were recorded: 2-3"])

    def test_the_shared_words_calls_that_never_came(self) -> None:
        stage = self.nsys_stage(CAPTURE + "range=decode", CAPTURE + "calls=5-6", code=1)
        self.assertIn("no report of call 5 or later", stage["message"])

    def test_the_shared_words_a_time(self) -> None:
        # far more repeats than a second has: what was recorded is a part whatever the machine's speed
        self.nsys_stage(CAPTURE + "after=1s", CAPTURE + "for=1s", "run.repeats=20000")
        visits = self.visits("run.sqlite")
        self.assertNotIn("load", visits)
        self.assertTrue(0 < visits["decode"] < 20000, visits)

    def test_the_shared_words_a_time_after_the_end(self) -> None:
        stage = self.nsys_stage(CAPTURE + "after=600s", code=1)
        self.assertIn("the program ended before the 600 s", stage["message"])

    def test_the_shared_words_one_call_in_so_many(self) -> None:
        stage = self.nsys_stage(CAPTURE + "range=decode", CAPTURE + "calls=1-4", CAPTURE + "every=2", "run.repeats=4")
        self.assertEqual(self.reports(), ["run.1.sqlite", "run.3.sqlite"])
        self.assertEqual(stage["notes"], ["only these calls of 'decode' were recorded: 1-4, one in 2 of them"])

    def switched(self, *words: str) -> subprocess.Popen:
        """The built-in model again and again, until the file `end` is there; `done` has a line for each time."""
        toy = os.path.join(os.path.dirname(LPO), "workloads", "toy_llm")
        program = (f"i=0; while [ ! -e end ] && [ $i -lt 600 ]; do {toy} --layers 1 --hidden 64 --max-new-tokens 2 --repeats 1 --warmup 0 >&2; "
                   "echo >>done; i=$((i+1)); sleep 0.05; done; exit 0")
        run = self.lpo_start(*(w for w in ON if not w.startswith("model.")), *words, "--", "sh", "-c", program)
        self.wait_for(lambda: self.times() > 0)
        return run

    def times(self) -> int:
        with open(os.path.join(self.cwd, "done"), encoding="utf-8") as f:
            return len(f.readlines())

    def twice_more(self) -> None:
        """What was begun after now has been run whole."""
        before = self.times()
        self.wait_for(lambda: self.times() >= before + 2)

    def ctl(self, word: str) -> dict:
        done = self.lpo("ctl", self.run_dir, word, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["processes"][0]

    def end(self, run: subprocess.Popen) -> None:
        self.write("end", "")
        out, err = run.communicate(timeout=200)
        self.assertEqual(run.returncode, 0, out + err)

    def test_windows_by_lpo_ctl(self) -> None:
        run = self.switched(CAPTURE + "control=true", CAPTURE + "wait=true")
        self.ctl("start")
        self.twice_more()
        self.assertEqual(self.ctl("stop")["windows"], 1)
        self.twice_more()  # in none
        self.ctl("start")
        self.twice_more()
        self.end(run)
        self.assertEqual(self.reports(), ["run.1.sqlite", "run.2.sqlite"])
        visits = [self.visits(name)["decode"] for name in self.reports()]
        self.assertTrue(min(visits) >= 1 and sum(visits) < self.times(), (visits, self.times()))

    def test_a_window_by_a_signal(self) -> None:
        run = self.switched(CAPTURE + "signal=USR1")  # open from the start
        self.twice_more()
        os.kill(self.ctl("status")["pid"], signal.SIGUSR1)
        self.wait_for(lambda: not self.ctl("status")["recording"])
        self.twice_more()
        self.end(run)
        self.assertEqual(self.reports(), ["run.1.sqlite"])
        visits = self.visits("run.1.sqlite")["decode"]
        self.assertTrue(1 <= visits < self.times(), (visits, self.times()))

    def test_a_server_under_load(self) -> None:
        self.assertEqual(self.server("pipeline.nsys.gating_nvtx=false")["notes"], [])
        visits = self.visits("run.sqlite")
        self.assertNotIn("load", visits)  # the model was loaded before the window
        self.assertEqual(visits["step/prefill"], 32)

    def test_calls_of_a_range_under_load(self) -> None:
        self.server(CAPTURE + "range=decode", CAPTURE + "calls=2")
        self.assertEqual(self.reports(), ["run.2.sqlite"])
        self.assertEqual(self.visits("run.2.sqlite")["decode"], 1)

    def test_the_whole_life_of_a_server(self) -> None:
        self.server("pipeline.nsys.gating_nvtx=false", "workload.server.window.over=all")
        self.assertIn("load", self.visits("run.sqlite"))


def reason_to_skip() -> str | None:
    if not shutil.which("nsys"):
        return "no nsys on PATH"
    with open(LPO, "rb") as f:  # nsys loads itself before a sanitizer's runtime, which does not bear it
        return "a sanitizer build cannot run under nsys" if b"__asan_init" in f.read() else None


if __name__ == "__main__":
    WHY = reason_to_skip()
    if WHY:
        print(f"1..0 # SKIP {WHY}")
        sys.exit(0)
    tap.main()
