#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stage nsys, switched from outside by `lpo ctl` or a signal, on a tool that replays what the real one was seen to do. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

NSYS = os.path.join(HERE, "..", "pipeline", "tools", "nsight", "target-linux-x64", "nsys")
ON = ["pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false", "pipeline.torch_profiler.enable=false",
      "pipeline.native.enable=false", "pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}"]
CAPTURE = "pipeline.nsys.capture."
# Ends when it is told to, or by itself when a test has failed.
PROGRAM = ["--", "sh", "-c", "echo begun; i=0; while [ ! -e end ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done; echo ended; exit ${CODE:-0}"]


class Switched(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        self.env: dict[str, str] = {}
        self.run_: subprocess.Popen | None = None

    def tearDown(self) -> None:
        self.write("end", "")
        if self.run_:
            self.run_.communicate(timeout=60)
        super().tearDown()

    def environment(self) -> dict[str, str]:
        return self.env

    def begin(self, *words: str, **env: str) -> None:
        self.env = env
        self.run_ = self.lpo_start(*ON, *words, *PROGRAM)
        self.wait_for(lambda: "begun" in self.text("workload/nsys/stdout.log"))

    def end(self, code: int = 0) -> dict:
        self.write("end", "")
        out, err = self.run_.communicate(timeout=60)
        self.assertEqual(self.run_.returncode, code, out + err)
        return self.stage("nsys")

    def ctl(self, *words: str, code: int = 0) -> dict:
        done = subprocess.run([LPO, "ctl", self.run_dir, *words, "--json"], text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        answers = json.loads(done.stdout)["processes"]
        self.assertEqual(len(answers), 1)
        return answers[0]

    def log(self) -> str:
        """What happened in which order, the session's name left out."""
        return re.sub(r" lpo-[0-9a-f]{16}", "", self.text("workload/nsys/stdout.log")).replace("\n", ", ")

    def test_two_windows(self) -> None:
        self.begin(CAPTURE + "control=true", CAPTURE + "wait=true", FAKE_NSYS="qdstrm")
        self.assertFalse(self.ctl("status")["recording"])
        self.assertTrue(self.ctl("start")["recording"])
        self.assertTrue(self.ctl("start")["recording"])  # it records already: nsys is not asked
        self.assertEqual(self.ctl("stop")["windows"], 1)
        self.ctl("stop")
        self.ctl("start")
        stage = self.end()
        self.assertEqual(self.log(), "begun, nsys start, nsys stop, nsys start, ended, nsys stop, ")
        self.has(*(f"nsys/run.{i}.{ending}" for i in (1, 2) for ending in ("nsys-rep", "sqlite")))
        self.assertEqual(stage["notes"], ["only the windows that were opened from outside were recorded"])
        self.assertFalse([f for f in os.listdir(self.path("nsys")) if f.endswith(".ctl")])

    def test_without_wait_the_first_window_opens_before_the_program(self) -> None:
        self.begin(CAPTURE + "control=true")
        self.assertTrue(self.ctl("status")["recording"])
        self.end()
        self.assertEqual(self.log(), "nsys start, begun, ended, nsys stop, ")
        self.has("nsys/run.1.sqlite")

    def test_a_signal(self) -> None:
        self.begin(CAPTURE + "signal=USR2", CAPTURE + "wait=true")
        for recording in (True, False, True):
            os.kill(self.ctl("status")["pid"], signal.SIGUSR2)
            self.wait_for(lambda: self.ctl("status")["recording"] == recording)
        self.end()
        self.assertEqual(self.log(), "begun, nsys start, nsys stop, nsys start, ended, nsys stop, ")

    def test_nobody_opened_a_window(self) -> None:
        self.begin(CAPTURE + "control=true", CAPTURE + "wait=true")
        self.assertIn("nobody opened a window while the program ran", self.end(code=1)["message"])

    def test_what_nsys_cannot_do(self) -> None:
        self.begin(CAPTURE + "control=true")
        self.assertIn("takes no marks", self.ctl("mark", "here", code=1)["error"])
        self.assertIn("keeps no ring", self.ctl("dump", code=1)["error"])
        self.end()

    def test_a_command_that_fails(self) -> None:
        self.begin(CAPTURE + "control=true", CAPTURE + "wait=true", FAKE_NSYS="refused")
        answer = self.ctl("start", code=1)
        self.assertEqual((answer["error"], answer["recording"]), ("nsys start failed: exit code 3", False))
        self.write("end", "")

    def test_a_stop_that_takes_long_is_waited_for(self) -> None:
        self.begin(CAPTURE + "control=true", FAKE_NSYS="slow")  # 7 s; lpo ctl gives up after 5 s without a sign of life
        self.assertEqual(self.ctl("stop")["windows"], 1)
        self.end()

    def test_who_asks_meanwhile_waits_too(self) -> None:
        self.begin(CAPTURE + "control=true", CAPTURE + "signal=USR1", FAKE_NSYS="slow")
        os.kill(self.ctl("status")["pid"], signal.SIGUSR1)
        self.wait_for(lambda: not self.ctl("status")["recording"])
        self.end()

    def test_the_end_of_the_program_is_passed_on(self) -> None:
        self.begin(CAPTURE + "control=true", CODE="7")
        self.assertIn("exit code 7", self.end(code=1)["message"])
        self.has("nsys/run.1.sqlite")

    def test_an_interrupt_reaches_the_program(self) -> None:
        self.begin(CAPTURE + "control=true", CAPTURE + "wait=true")
        self.run_.send_signal(signal.SIGINT)
        self.run_.communicate(timeout=60)
        self.assertEqual(self.run_.returncode, 130)
        self.assertNotIn("ended", self.log())

    def test_a_server_under_load_has_a_master_already(self) -> None:
        done = self.lpo_run(*ON, "workload=server", CAPTURE + "control=true", "workload.server.load.argv=[echo]", "--dry-run", "--", "sleep", "9")
        self.assertIn("set workload.server.window.over=all to switch by hand", done.stdout + done.stderr)


if __name__ == "__main__":
    tap.main()
