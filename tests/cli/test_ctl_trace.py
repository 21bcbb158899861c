#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo ctl PID trace against a stand-in of Kineto's on-demand protocol: SIGUSR2, its config file, a trace
under the name that Kineto makes of it. Prints TAP."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402

TRACE = os.path.join(SOURCE, "tests", "data", "kineto", "h200_llama8.json.gz")
# What libkineto does, as its ConfigLoader.cpp and Config.cpp say.
STAND_IN = """
import gzip, os, signal, sys, time
conf, trace, how = sys.argv[1:]
def asked(number, frame):
    keys = dict(line.split("=", 1) for line in open(conf).read().split())
    print(keys, flush=True)
    log = keys["ACTIVITIES_LOG_FILE"].replace(".json", f"_{os.getpid()}.json")
    text = gzip.open(trace).read()
    if how == "dies":
        os._exit(0)
    if how != "silent":
        with open(log, "wb") as f:
            for at in range(0, len(text), len(text) // 3):
                f.write(text[at:at + len(text) // 3])
                f.flush()
                time.sleep(0.3)
if how != "deaf":
    signal.signal(signal.SIGUSR2, asked)
print("ready", flush=True)
while True:
    time.sleep(1)
"""


class Trace(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.conf = os.path.join(self.scratch.name, "libkineto.conf")
        self.out = os.path.join(self.scratch.name, "out")
        self.program: subprocess.Popen | None = None

    def tearDown(self) -> None:
        if self.program:
            self.program.kill()
            self.program.communicate()
        self.scratch.cleanup()

    def start(self, how: str) -> int:
        self.program = subprocess.Popen([sys.executable, "-c", STAND_IN, self.conf, TRACE, how], stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.program.stdout.readline(), "ready\n")
        return self.program.pid

    def ctl(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([os.environ["LPO_BIN"], "ctl", *words, "-o", self.out], text=True, capture_output=True, timeout=60,
                              env={**os.environ, "LPO_KINETO_CONF": self.conf})

    def test_a_trace_and_its_report(self) -> None:
        for words, keys in ((("--steps", "3"), {"ACTIVITIES_ITERATIONS": "3", "PROFILE_START_ITERATION_ROUNDUP": "1"}),
                            (("--seconds", "2"), {"ACTIVITIES_DURATION_MSECS": "2000"})):
            with self.subTest(words=words):
                pid = self.start("answers")
                done = self.ctl(str(pid), "trace", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                asked = eval(self.program.stdout.readline())
                self.assertEqual({k: asked.get(k) for k in keys}, keys)
                self.assertEqual(done.stdout.split("\n")[0], os.path.join(self.out, f"kineto_{pid}.json"))
                with open(os.path.join(self.out, "lpo-report", "report.json"), encoding="utf-8") as f:
                    self.assertTrue(json.load(f)["wall"])
                self.assertFalse(os.path.exists(self.conf))
                self.program.kill()

    def test_who_does_not_listen_is_not_killed(self) -> None:
        pid = self.start("deaf")
        done = self.ctl(str(pid), "trace")
        self.assertEqual(done.returncode, 3)
        self.assertIn("ENABLE_SIGUSR2=YES", done.stderr)
        self.assertIsNone(self.program.poll())

    def test_no_answer(self) -> None:
        for how, says in (("silent", "wrote no trace"), ("dies", "ended before")):
            with self.subTest(how=how):
                pid = self.start(how)
                waiter = subprocess.Popen([os.environ["LPO_BIN"], "ctl", str(pid), "trace", "--steps", "1", "--wait", "2", "-o", self.out],
                                          text=True, stderr=subprocess.PIPE, env={**os.environ, "LPO_KINETO_CONF": self.conf})
                if how == "dies":
                    self.program.wait()  # reaped: the process is gone
                said = waiter.communicate(timeout=30)[1]
                self.assertEqual(waiter.returncode, 1, said)
                self.assertIn(says, said)
                self.assertFalse(os.path.exists(self.conf))
                self.program.kill()

    def test_what_is_there_already_is_left(self) -> None:
        pid = self.start("answers")
        victim = os.path.join(self.scratch.name, "victim")
        os.symlink(victim, self.conf)
        done = self.ctl(str(pid), "trace")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another request", done.stderr)
        self.assertFalse(os.path.exists(victim))

    def test_wrong_words(self) -> None:
        for words, code in ((("99999999", "trace"), 1), ((str(os.getpid()), "trace", "--steps", "1", "--seconds", "1"), 2)):
            self.assertEqual(self.ctl(*words).returncode, code, words)


if __name__ == "__main__":
    tap.main()
