#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo ctl and signals against a program that lives: `gpu_client serve` makes one call of "decode" for each line it reads."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import tap  # noqa: E402
from lpot import Trace  # noqa: E402

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

    def start(self, client: tuple = ("gpu_client", "serve"), **settings: str) -> None:
        library = str(BUILD / "src/collect/liblpo-collect.so")
        env = {**os.environ, "NVTX_INJECTION64_PATH": library, "CUDA_INJECTION64_PATH": library,
               "LPO_COLLECT_DIR": str(self.folder), "ASAN_OPTIONS": "detect_leaks=0", "LPO_COLLECT_CAPTURE_CONTROL": "1"}
        for name, value in settings.items():
            env["LPO_COLLECT_" + ("" if name.startswith(("RING", "SLOW", "BUFFER", "CALLS")) else "CAPTURE_") + name] = value
        self.program = subprocess.Popen([str(BUILD / "tests/collect" / client[0]), client[1]], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def test_what_cannot_be_done_says_why(self) -> None:
        self.start()
        for words, code, said in ((("dump",), 1, "capture.ring (LPO_COLLECT_RING_MS) is not set"),
                                  (("mark", ""), 2, "a mark needs a text"),
                                  (("mark", "x" * 600), 2, "less than 500 bytes")):
            done = subprocess.run([LPO, "ctl", str(self.folder), *words], text=True, capture_output=True)
            self.assertEqual(done.returncode, code)
            self.assertIn(said, done.stdout + done.stderr)

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
        return self.regions()

    def regions(self) -> dict:
        (trace,) = self.folder.glob("*.lpot")
        done = subprocess.run([LPO, "regions", str(trace), "--json"], text=True, capture_output=True, check=True)
        self.assertNotIn("damaged", done.stderr)
        return {r["path"]: r for r in json.loads(done.stdout)["scopes"][0]["regions"] if r["kind"] != "outside"}

    def test_figures_for_prometheus(self) -> None:
        def figures(*words: str) -> dict:
            done = subprocess.run([LPO, "ctl", str(self.folder), "status", "--prometheus", *words], text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [line for line in done.stdout.split("\n") if line and not line.startswith("#")]
            return dict(line.rsplit(" ", 1) for line in lines)
        self.start(WAIT="1")
        pid = f'{{pid="{self.program.pid}"}}'
        self.assertEqual(figures()["lpo_recording" + pid], "0")
        self.ctl("start")
        self.call()
        self.ctl("stop")
        found = figures()
        self.assertEqual((found["lpo_windows_total" + pid], found["lpo_lost_records_total"]), ("1", "0"))
        self.assertTrue(0 < float(found['lpo_gpu_busy_ratio{device="0"}']) <= 1, found)
        file = Path(self.scratch.name) / "lpo.prom"
        self.assertEqual(figures("-o", str(file)), {})
        self.assertIn("# TYPE lpo_windows_total counter", file.read_text())
        wrong = subprocess.run([LPO, "ctl", str(self.folder), "stop", "--prometheus"], text=True, capture_output=True)
        self.assertEqual(wrong.returncode, 2)

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
        (trace,) = self.folder.glob("*.lpot")
        subprocess.run([LPO, "report", str(trace), "-o", self.scratch.name + "/report", "report.formats=[perfetto]"], check=True, capture_output=True)
        self.assertIn('"after two calls"', (Path(self.scratch.name) / "report/timeline.perfetto.json").read_text())
        self.assertEqual(regions["serve/decode"]["visits"], 3)
        self.assertEqual(regions["serve/decode/layer"]["launches"], 6)
        self.assertEqual(regions["serve"]["visits"], 1)

    def test_a_forked_worker_listens_itself(self) -> None:
        self.start(("nvtx_client", "prefork"), WAIT="1", SIGNAL=str(int(signal.SIGUSR2)))
        self.call()
        for word, recording in (("start", True), ("stop", False)):
            done = subprocess.run([LPO, "ctl", str(self.folder), word, "--json"], text=True, capture_output=True)
            processes = json.loads(done.stdout)["processes"]
            self.assertEqual([p["recording"] for p in processes], [recording, recording], done.stdout)
            self.call()
        self.program.communicate()
        worker = next(p for p in self.folder.glob("*.lpot") if p.stem != str(self.program.pid))
        done = subprocess.run([LPO, "regions", str(worker), "--json"], text=True, capture_output=True, check=True)
        regions = {r["path"]: r["visits"] for r in json.loads(done.stdout)["scopes"][0]["regions"]}
        self.assertEqual(regions.get("decode"), 1, regions)
        self.assertNotIn("uses it itself", done.stdout + done.stderr)

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

    def test_any_folder_of_a_run(self) -> None:
        self.folder = self.folder.parent / "another"
        self.folder.mkdir()
        self.start(WAIT="1")
        self.assertTrue(self.ctl("start", folder=self.folder.parent)["recording"])
        self.call()
        self.assertEqual(self.end()["serve/decode"]["visits"], 1)

    def test_another_user_is_refused(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.start()
        for folder in (self.folder, *self.folder.parents):
            if str(folder).startswith(self.scratch.name):
                folder.chmod(0o755)
        for path in self.folder.glob("*.ctl"):
            path.chmod(0o777)
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

    def hangs_up(self, times: int) -> tuple[subprocess.CompletedProcess, int]:
        """lpo ctl, and a collector that is tired of waiting so often."""
        heard = 0
        folder = os.open(self.folder, os.O_PATH)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/7.ctl")
            listener.listen(8)
            os.close(folder)
            asks = subprocess.Popen([LPO, "ctl", str(self.folder), "start"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for i in range(times + 1):
                client, _ = listener.accept()
                with client:
                    if i < times:
                        continue
                    heard += client.recv(100) == b"start\n"
                    client.sendall(b"pid 7\nrecording 1\nwindows 0\nseen 0\nrecorded 0\n")
            out, err = asks.communicate()
        return subprocess.CompletedProcess([], asks.returncode, out, err), heard

    def test_it_asks_again_where_the_collector_hung_up(self) -> None:
        done, heard = self.hangs_up(2)
        self.assertEqual((done.returncode, heard), (0, 1), done.stderr)
        self.assertIn("process 7: recording", done.stdout)

    def test_nobody_listens(self) -> None:
        self.start()
        self.program.kill()
        self.program.communicate()
        done = subprocess.run([LPO, "ctl", str(self.folder), "status"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no collector listens", done.stderr)

    def windows(self, count: int) -> None:
        for _ in range(2000):
            if self.ctl("status")["windows"] == count:
                return
            time.sleep(0.01)
        self.fail("the ring was not written")

    def test_a_ring_is_written_when_asked(self) -> None:
        self.start(RING_MS="3600000")
        self.call()
        self.call()
        self.assertEqual(self.ctl("dump")["windows"], 1)
        self.call()
        self.ctl("dump")
        self.ctl("dump")
        self.call()  # never asked for
        regions = self.end()
        self.assertEqual(regions["serve"]["visits"], 1)
        self.assertEqual(regions["serve/decode"]["visits"], 3)
        self.assertEqual(regions["serve/decode/layer"]["launches"], 6)
        self.assertEqual(set(regions), {"serve", "serve/decode", "serve/decode/layer"})

    def test_a_ring_keeps_the_last(self) -> None:
        self.start(RING_MS="3600000", RING_MB="1")
        self.call("many")
        self.call()
        self.ctl("dump")
        regions = self.end()
        self.assertEqual(set(regions), {"serve", "serve/decode", "serve/decode/layer"})
        self.assertGreater(regions["serve/decode"]["visits"], 1000)
        (path,) = self.folder.glob("*.lpot")
        trace = Trace(str(path), check_crc=False)  # the second reader says the same
        self.assertEqual(sum(1 for r in trace.ranges if r[2] == "decode"), regions["serve/decode"]["visits"])
        inside = Counter("/".join(k["path"]) for k in trace.kernels() if k["path"] is not None)
        self.assertEqual(inside["serve/decode/layer"], regions["serve/decode/layer"]["launches"])
        self.assertLess(regions["serve/decode"]["visits"], 30001)

    def test_blocks_of_a_ring_may_begin_at_any_event(self) -> None:
        self.start(RING_MS="3600000", BUFFER_KB="16", CALLS="0")
        self.call("many")
        self.ctl("dump")
        regions = self.end()
        self.assertEqual(set(regions), {"serve", "serve/decode", "serve/decode/layer"})
        self.assertEqual([regions[p]["visits"] for p in sorted(regions)], [1, 30000, 30000])
        self.assertEqual(regions["serve/decode/layer"]["launches"], 60000)

    def test_a_ring_nobody_asks_for(self) -> None:
        self.start(RING_MS="3600000")
        self.call()
        self.assertEqual(self.end(), {})

    def test_a_slow_call_writes_the_ring(self) -> None:
        self.start(RING_MS="3600000", RANGE="decode", SLOW_MS="20")
        self.call()
        self.call("slow")
        self.windows(1)
        self.assertGreaterEqual(self.end()["serve/decode"]["visits"], 2)

    def test_a_signal_writes_the_ring(self) -> None:
        self.start(RING_MS="3600000", SIGNAL=str(int(signal.SIGUSR2)))
        self.call()
        self.program.send_signal(signal.SIGUSR2)
        self.windows(1)
        self.assertEqual(self.end()["serve/decode"]["visits"], 1)

    def test_a_crash_writes_the_ring(self) -> None:
        self.start(RING_MS="3600000")
        self.call()
        self.call()
        self.program.stdin.write("abort\n")
        self.program.stdin.flush()
        self.program.communicate()
        self.assertEqual(self.program.returncode, -signal.SIGABRT)
        regions = self.regions()
        self.assertEqual(regions["serve/decode"]["visits"], 2)
        self.assertEqual(regions["serve/decode/layer"]["launches"], 4)

    def test_wrong_words(self) -> None:
        for words in ([], ["."], [".", "begin"], [".", "mark"], [".", "stop", "now"]):
            done = subprocess.run([LPO, "ctl", *words], text=True, capture_output=True)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    tap.main()
