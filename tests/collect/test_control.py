#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo ctl and signals against a program that lives: `gpu_client serve` makes one call of "decode" for each line it reads."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
import tap  # noqa: E402

BUILD = Path(os.environ["LPO_BUILD_ROOT"])
LPO = os.environ["LPO_BIN"]


class Control(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        # longer than the address of a socket can be
        self.folder = Path(self.scratch.name) / ("long-" * 24) / "native"
        self.folder.mkdir(parents=True)
        self.folder.parent.parent.chmod(0o755)
        self.program = None

    def tearDown(self) -> None:
        if self.program and self.program.poll() is None:
            self.program.kill()
        if self.program:
            self.program.communicate()
        self.scratch.cleanup()

    def start(self, **settings: str) -> None:
        library = str(BUILD / "src/collect/liblpo-collect.so")
        env = {**os.environ, "NVTX_INJECTION64_PATH": library, "CUDA_INJECTION64_PATH": library,
               "LPO_COLLECT_DIR": str(self.folder), "ASAN_OPTIONS": "detect_leaks=0", "LPO_COLLECT_CAPTURE_CONTROL": "1"}
        for name, value in settings.items():
            env["LPO_COLLECT_CAPTURE_" + name] = value
        self.program = subprocess.Popen([str(BUILD / "tests/collect/gpu_client"), "serve"], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def call(self, line: str = "call") -> None:
        self.program.stdin.write(line + "\n")
        self.program.stdin.flush()
        self.assertEqual(self.program.stdout.readline(), "done\n")

    def ctl(self, *words: str, folder: Path = None) -> dict:
        done = subprocess.run([LPO, "ctl", str(folder or self.folder), *words, "--json"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        (process,) = json.loads(done.stdout)["processes"]
        self.assertEqual(process["pid"], self.program.pid)
        return process

    def until(self, recording: bool) -> None:
        for _ in range(12000):
            if self.ctl("status")["recording"] == recording:
                return
            time.sleep(0.01)
        self.fail("the recording was not switched")

    def end(self) -> dict:
        """The regions of the trace, by path."""
        self.program.communicate()
        self.assertEqual(self.program.returncode, 0)
        self.assertEqual(list(self.folder.glob("*.ctl")), [])
        (trace,) = self.folder.glob("*.lpot")
        done = subprocess.run([LPO, "regions", str(trace), "--json"], text=True, capture_output=True, check=True)
        return {r["path"]: r for r in json.loads(done.stdout)["scopes"][0]["regions"]}

    def test_start_and_stop_from_outside(self) -> None:
        self.start(WAIT="1")
        self.assertFalse(self.ctl("status")["recording"])
        self.call()
        self.assertTrue(self.ctl("start", folder=self.folder.parent)["recording"])  # the run folder
        self.call()
        self.call()
        self.ctl("mark", "after two calls")
        self.assertEqual(self.ctl("stop")["windows"], 1)
        self.call()
        self.ctl("start")
        self.call()
        regions = self.end()
        self.assertEqual(regions["serve/decode"]["visits"], 3)
        self.assertEqual(regions["serve/decode/layer"]["launches"], 6)
        self.assertEqual(regions["serve"]["visits"], 1)

    def test_a_signal_switches(self) -> None:
        self.start(SIGNAL=str(int(signal.SIGUSR2)), WAIT="1")
        self.call()
        self.program.send_signal(signal.SIGUSR2)
        self.until(True)
        self.call()
        self.program.send_signal(signal.SIGUSR2)
        self.until(False)
        self.call()
        self.assertEqual(self.end()["serve/decode"]["visits"], 1)

    def test_after_some_time(self) -> None:
        self.start(AFTER_MS="300", FOR_MS="1000")
        self.until(True)
        self.call()
        self.until(False)
        self.call()
        self.assertLessEqual(self.end()["serve/decode"]["visits"], 1)

    def test_a_range_inside_a_window(self) -> None:
        self.start(WAIT="1", RANGE="layer", EVERY="2")
        self.call()
        self.ctl("start")
        self.call()
        self.call()
        self.call()
        process = self.ctl("stop")
        self.assertEqual((process["calls_seen"], process["calls_recorded"]), (4, 1))
        self.assertEqual(self.end()["serve/decode/layer"]["visits"], 1)

    def test_a_program_that_closes_every_descriptor(self) -> None:
        self.start(WAIT="1")
        self.call("close")
        for _ in range(12000):  # the collector looks once a second
            done = subprocess.run([LPO, "ctl", str(self.folder), "start"], text=True, capture_output=True)
            if done.returncode == 0:
                break
            time.sleep(0.01)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.call()
        self.assertEqual(self.end()["serve/decode"]["visits"], 1)

    def test_another_user_is_refused(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.start()
        for folder in (self.folder, *self.folder.parents):
            if str(folder).startswith(self.scratch.name):
                folder.chmod(0o755)
        for socket in self.folder.glob("*.ctl"):
            socket.chmod(0o777)
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", """
import socket, sys
s = socket.socket(socket.AF_UNIX)
import os
os.chdir(sys.argv[1])
s.connect(sys.argv[2])
try:
    s.send(b"stop\\n")
    print(s.recv(100))
except (ConnectionResetError, BrokenPipeError):
    print(b"")
""", str(self.folder), next(self.folder.glob("*.ctl")).name], text=True, capture_output=True)
        self.assertEqual(done.stdout, "b''\n", done.stderr)
        self.assertTrue(self.ctl("status")["recording"])

    def test_nobody_listens(self) -> None:
        self.start()
        self.program.kill()
        self.program.communicate()
        done = subprocess.run([LPO, "ctl", str(self.folder), "status"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no collector listens", done.stderr)

    def test_wrong_words(self) -> None:
        for words in ([], ["."], [".", "begin"], [".", "mark"], [".", "stop", "now"]):
            done = subprocess.run([LPO, "ctl", *words], text=True, capture_output=True)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    tap.main()
