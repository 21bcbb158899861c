#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How a run of `lpo run` ends: what its reports say of it, interrupts, resuming. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

QUIET = ["pipeline.static_analysis.enable=false", "pipeline.torch_profiler.enable=false"]
TOY = os.path.join(os.path.dirname(LPO), "workloads", "toy_llm")
TRACE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "native", "toy.lpot")
ONLY_DIRECT = [*QUIET, "pipeline.native.enable=false"]


class Inherited(LpoCase):
    """What the program that starts lpo passes on without meaning to."""

    def spoil(self) -> None:
        for sig in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGXFSZ):
            signal.signal(sig, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))

    def test_signals_ignored_and_blocked(self) -> None:
        for words in (["doctor"], ["run", "hydra.run.dir=out", *ONLY_DIRECT, "--", "true"]):
            with self.subTest(words[0]):
                done = subprocess.run([LPO, *words], cwd=self.cwd, capture_output=True, preexec_fn=self.spoil, timeout=60,
                                      env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})  # of libraries that doctor loads
                self.assertIn(done.returncode, (0, 3), done.stderr)

    def answer_garbage(self, server: socket.socket) -> None:
        self.connection, _ = server.accept()  # kept: closed before it is asked, it would only be gone
        self.connection.sendall(b"garbage\n\n")
        self.connection.shutdown(socket.SHUT_WR)

    def test_an_answer_that_is_not_the_collectors(self) -> None:
        path = os.path.join(self.cwd, "7.ctl")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(path)
            server.listen()
            threading.Thread(target=self.answer_garbage, args=(server,), daemon=True).start()
            done = subprocess.run([LPO, "ctl", ".", "status"], cwd=self.cwd, capture_output=True, text=True, timeout=60)
        self.assertIn("not lpo's collector", done.stdout + done.stderr)
        self.assertNotIn("another user", done.stdout + done.stderr)

    def test_an_interrupt_that_was_blocked(self) -> None:
        child = subprocess.Popen([LPO, "run", "hydra.run.dir=out", *ONLY_DIRECT, "--", "sleep", "60"], cwd=self.cwd,
                                 stderr=subprocess.PIPE, preexec_fn=self.spoil)
        self.wait_for(lambda: os.path.exists(os.path.join(self.cwd, "out", "workload", "direct_inference", "stdout.log")))
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130)


class Told(LpoCase):
    """What the reports of a run say where something did not go as it should."""

    def summary(self) -> str:
        return self.text("stakeholder_summary.md")

    def test_a_failed_run_says_so_with_its_command(self) -> None:
        done = self.lpo_run("pipeline.torch_profiler.enable=false", "--", sys.executable, "nofile.py", "--size", "3")
        self.assertEqual(done.returncode, 1)
        name = os.path.basename(sys.executable)
        for page in (self.summary(), self.text("report.md")):
            self.assertIn(f"{name} nofile.py --size 3", page)
            self.assertIn("The run failed in direct_inference: direct inference: exit code 2; its last line: ", page)
            self.assertIn("(see workload/direct_inference/stderr.log)", page)
            self.assertNotIn(self.run_dir, page)
            self.assertNotIn("none", page)
        self.assertTrue(self.text("report.md").startswith("# Profile of nofile.py\n"))
        self.assertIn("Make the run succeed first", self.summary())
        self.assertNotIn("enable a stage", self.summary())
        self.assertNotIn("has run", self.text("report.md"))

    def test_an_interrupted_run_says_so_and_how_to_go_on(self) -> None:
        child = self.lpo_start(*QUIET, "--", "sleep", "60")
        self.wait_for(lambda: self.stage("direct_inference")["state"] == "running")
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=300)
        self.assertEqual(child.returncode, 130)
        self.assertTrue(self.text("report.md").startswith("# Profile of sleep\n"))
        for page in (self.summary(), self.text("report.md")):
            self.assertIn("The run was interrupted in direct_inference.", page)
            self.assertIn("Not started: native.", page)
        self.assertIn("lpo run --resume", self.summary().split("## What to do first")[1])

    def test_a_stage_that_recorded_nothing_says_so_everywhere(self) -> None:
        done = self.lpo_run("--", "echo", "hi")
        self.assertEqual(done.returncode, 0, done.stderr)
        says = "no trace: the workload called neither NVTX nor CUDA"
        self.assertEqual((self.stage("native")["state"], self.stage("native")["message"]), ("done", says))
        self.assertRegex(done.stdout, f"native +done +[^ ]+ .s  {says}")
        self.assertIn(f"| {says} |", self.text("report.md"))
        self.assertIn(f"This run holds no trace that can be read. native: {says}; torch_profiler: the workload is not a "
                      "Python program.", self.text("report.md"))
        self.assertIn(says, self.summary())
        for page in (self.summary(), self.text("report.md")):
            self.assertNotIn("enable a stage", page)
            self.assertNotIn("has run", page)
        for words in (["regions"], ["top"], ["operators"], ["diff", self.run_dir]):
            with self.subTest(words=words):
                done = self.lpo(*words, self.run_dir)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"This run holds no trace that can be read. native: {says}; ", done.stderr)

    def as_nobody(self, *before: str) -> list[str]:
        """A program that runs as another user, which may read the collector but not write into the run folder."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv to run a program as another user")
        built = os.path.dirname(LPO)
        os.chmod(self.cwd, 0o755)
        for name in ("src/collect/liblpo-collect.so", "workloads/toy_llm"):
            shutil.copy(os.path.join(built, name), self.cwd)
        return [*QUIET, f"pipeline.native.library={self.cwd}/liblpo-collect.so", "--", *before, "setpriv", "--reuid=65534",
                "--clear-groups", f"{self.cwd}/toy_llm", "--repeats", "1", "--max-new-tokens", "2"]

    def test_a_program_of_another_user_that_may_not_write_is_named(self) -> None:
        done = self.lpo_run(*self.as_nobody())
        self.assertEqual(done.returncode, 0, done.stderr)
        says = "no trace: the workload could not write into the run folder"
        self.assertEqual(self.stage("native")["message"], says)
        self.assertRegex(self.stage("native")["notes"][0], r"process \d+ of user 65534 is not recorded: .*Permission denied")
        self.assertIn("of user 65534 is not recorded", self.text("report.md"))

    def test_one_process_of_another_user_beside_others_is_named(self) -> None:
        words = self.as_nobody("sh", "-c", '"$1" --repeats 1 --max-new-tokens 2 && shift && exec "$@"', "sh")
        words.insert(words.index("setpriv"), f"{self.cwd}/toy_llm")
        done = self.lpo_run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("no trace", self.stage("native")["message"] or "")
        self.assertEqual(len([n for n in self.stage("native")["notes"] if "of user 65534" in n]), 1)

    def test_a_report_of_a_folder_that_is_not_mine_goes_to_my_own(self) -> None:
        """read-only, or writable by everybody: of traces and of a run"""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv to run lpo as another user")
        self.assertEqual(self.lpo_run(*QUIET, "--", "/bin/true").returncode, 0)
        os.chmod(self.cwd, 0o755)
        home = os.path.join(self.cwd, "home")
        for name, mode in (("locked", 0o755), ("shared", 0o1777), ("home", 0o755)):
            os.mkdir(os.path.join(self.cwd, name))
            os.chmod(os.path.join(self.cwd, name), mode)
            if name != "home":
                shutil.copy(TRACE, os.path.join(self.cwd, name))
        os.chown(home, 65534, 65534)
        subprocess.run(["chmod", "-R", "a+rX", self.cwd], check=True)
        for given in ("locked", "shared", "locked/toy.lpot", "run"):
            with self.subTest(given=given):
                done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", LPO, "report", os.path.join(self.cwd, given)],
                                      cwd=home, env=dict(os.environ, HOME=home), capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("'./lpo-report'", done.stderr)
                self.assertEqual(os.listdir(home), ["lpo-report"])
                self.assertIn("report.md", os.listdir(os.path.join(home, "lpo-report")))
                shutil.rmtree(os.path.join(home, "lpo-report"))
        self.assertEqual(os.listdir(os.path.join(self.cwd, "shared")), ["toy.lpot"])

    def test_where_no_stage_records_the_advice_is_to_enable_one(self) -> None:
        self.assertEqual(self.lpo_run(*ONLY_DIRECT, "--", "true").returncode, 0)
        self.assertIn("enable a stage that traces", self.summary())
        self.assertIn("no stage that records one", self.text("report.md"))

    def test_a_profiler_that_was_not_there_added_nothing_known(self) -> None:
        done = self.lpo_run("pipeline.torch_profiler.enable=true", "--", "sh", "-c",  # which might start Python
                            '"$0" --layers 1 --prompt-tokens 4 --max-new-tokens 4 --repeats 1 --metrics "${LPO_SETTINGS%/*}/metrics.json"',
                            TOY)
        self.assertEqual(done.returncode, 0, done.stderr)
        says = "no trace: the workload is not a Python program that imports torch"
        self.assertIn(says, self.stage("torch_profiler")["message"])
        self.assertIn(says, self.text("operators.md"))
        self.assertNotIn("enable=true", self.text("operators.md"))
        report = json.loads(self.text("report.json"))
        rows = {r["stage"]: r for section in report["sections"] for item in section["items"]
                if item["type"] == "table" and item["id"] == "overhead" for r in item["rows"]}
        self.assertIsNone(rows["torch_profiler"]["prefill_ratio"])
        self.assertIsNone(rows["torch_profiler"]["decode_ratio"])
        self.assertIsNotNone(rows["torch_profiler"]["prefill_ns"])
        self.assertIsNotNone(rows["native"]["prefill_ratio"])

    def test_a_program_without_python_is_passed_over(self) -> None:
        for words in ([], ["--", "true"]):
            with self.subTest(words):
                done = self.lpo_run("pipeline.static_analysis.enable=false", "run.repeats=1", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                stage = self.stage("torch_profiler")
                self.assertEqual((stage["state"], stage["message"]), ("skipped", "the workload is not a Python program"))
                self.assertIn("torch_profiler: the workload is not a Python program", self.text("operators.md"))
                self.assertFalse(os.path.exists(self.path("torch_profiler")))
                self.assertFalse(os.path.exists(self.path("workload", "torch_profiler")))
                shutil.rmtree(self.path())

    def test_regions_of_the_torch_profiler_alone_are_printed(self) -> None:
        """The program writes what torch's profiler would have: one range."""
        self.write("my.py", "import gzip, json, os\n"
                   "if 'LPO_TORCH_PROFILE' in os.environ:\n"
                   "    out = json.load(open(os.environ['LPO_TORCH_PROFILE']))['out_dir']\n"
                   "    event = dict(ph='X', cat='user_annotation', name='think', pid=1, tid=1, ts=0, dur=900)\n"
                   "    json.dump(dict(schemaVersion=1, traceEvents=[event]), gzip.open(out + '/1.trace.json.gz', 'wt'))\n")
        done = self.lpo_run("pipeline.torch_profiler.enable=true", "--", sys.executable, "my.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(self.stage("torch_profiler")["message"])
        self.assertRegex(done.stdout, r"(?m)^think +1 +900 us")
        self.assertIn("| think |", self.text("report.md"))

    def test_what_is_private_in_a_command_stays_out(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "--", "true", "/home/alice/data", "--out=/home/alice/x", "--api-key", "sekrit6",
                        "--hub_token=sekrit7", "--max-new-tokens", "8", "test -e '/home/alice/a b' || x >/home/alice/y; curl https://host/z")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("report.md", "report.json", "stakeholder_summary.md"):
            self.assertNotRegex(self.text(name), "alice|sekrit", name)
        self.assertIn("true data --out=x --api-key … '--hub", self.text("stakeholder_summary.md"))
        self.assertIn("--max-new-tokens 8", self.text("stakeholder_summary.md"))
        self.assertIn("x >y; curl https://host/z", json.loads(self.text("report.json"))["sections"][0]["items"][1]["value"])
        subprocess.run([LPO, "report", self.run_dir, "report.private=true"], check=True, stdout=subprocess.DEVNULL)
        self.assertIn("/home/alice/data", self.text("report.md"))


class Interrupts(LpoCase):
    def pids(self, command: str) -> str:
        """Processes with just this command line: not those that carry it as a word."""
        return subprocess.run(["pgrep", "-xf", command], text=True, capture_output=True).stdout.strip()

    def test_an_interrupt_is_passed_on_and_leaves_nobody(self) -> None:
        nap = f"sleep 1{os.getpid()}"  # a length of our own: other runs of this test do not count
        child = self.lpo_start(*QUIET, "--", "sh", "-c", f"setsid {nap} & {nap}")
        self.wait_for(lambda: self.pids(nap))
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=300)
        self.assertEqual(child.returncode, 130)
        self.assertEqual(self.manifest()["state"], "interrupted")
        self.assertEqual(self.stage("native")["state"], "pending")
        self.wait_for(lambda: not self.pids(nap))

    def test_killed_with_9_the_folder_tells_and_the_run_can_go_on(self) -> None:
        flag = os.path.join(self.cwd, "go")
        nap = f"sleep 2{os.getpid()}"
        child = self.lpo_start(*QUIET, "--", "sh", "-c", f"test -e {flag} || {nap}")
        self.wait_for(lambda: self.stage("direct_inference")["state"] == "running" and self.pids(nap))
        child.kill()
        child.communicate()
        self.assertEqual(self.manifest()["state"], "running")
        self.wait_for(lambda: not self.pids(nap))
        with open(flag, "w", encoding="utf-8"):
            pass
        again = subprocess.run([LPO, "run", "--resume", self.run_dir], cwd="/", text=True, capture_output=True)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.manifest()["state"], "done")

    def test_resuming_keeps_what_is_done(self) -> None:
        flag = os.path.join(self.cwd, "go")
        count = os.path.join(self.cwd, "count")
        program = f"echo x >>{count}; test -z \"$NVTX_INJECTION64_PATH\" || test -e {flag}"
        self.assertEqual(self.lpo_run(*QUIET, "--", "sh", "-c", program).returncode, 1)
        with open(flag, "w", encoding="utf-8"):
            pass
        again = subprocess.run([LPO, "run", "--resume", "run"], cwd=self.cwd, text=True, capture_output=True)
        self.assertEqual(again.returncode, 0, again.stderr)
        with open(count, encoding="utf-8") as f:
            self.assertEqual(len(f.readlines()), 3)  # direct once, native twice


if __name__ == "__main__":
    tap.main()
