#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One lpo in each task on a network disk that is slow, returns stale handles, or fills up; a machine that vanishes; clocks an hour
apart; two jobs at the same moment. What is there is reported, what is lost is said, nothing hangs, nothing is overwritten. Prints TAP."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
import tap  # noqa: E402
from bad_disk_case import BUILD, CLIENT, LAUNCH, LIMIT, PRELOAD, WORDS, BadDiskCase, some  # noqa: E402
from lpo_case import LPO  # noqa: E402

FAKE_NVML = os.path.join(BUILD, "tests", "pipeline", "fake_nvml.so")
ONE_STAGE = [*WORDS, "pipeline.torch_profiler.enable=false"]


class BadDisk(BadDiskCase):
    words = ONE_STAGE

    def test_a_disk_that_loses_no_more_than_time(self) -> None:
        """Slow, or with a handle that is stale now and then: everything is there in the end, and exact."""
        for rules in some("*:3", "open:ESTALE:7,read:ESTALE:5", "lock:ENOLCK,link:EPERM,unlink:ESTALE:2", "open:10,fsync:60,rename:60,lock:20",
                          "open:ESTALE:7", "stat:ESTALE:6", "read:ESTALE:5,list:ESTALE:2", "write:ESTALE:9", "fsync:ESTALE:4,rename:ESTALE:5", short=3):
            with self.subTest(rules):
                self.again()
                job = self.start({"LPO_BAD_DISK_RULES": rules}, program=["sh", "-c", f"unset LD_PRELOAD; exec {CLIENT} plain"])
                output = self.end(job)
                self.assertEqual(job.returncode, 0, output)
                self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"], output)
                self.assertEqual((self.manifest()["state"], self.stage("native")["state"], self.stage("native")["notes"]),
                                 ("done", "done", []), output)
                self.assertIsNone(self.stage("native")["message"])
                self.assertEqual(self.decode_calls(), 3)
                self.has("report.md", "report.json", "report.html")

    def test_every_stage_that_writes(self) -> None:
        """The built-in model with its stages inside lpo, beside it and around the program, on two machines of one rank. The collector in the
        program tries again what it could not write."""
        words = ["run.repeats=1", "run.warmup=0", "infer.max_new_tokens=2", "infer.prompt_tokens=4", "model.layers=1", "workload.toy.cuda=false",
                 "pipeline.counters.enable=false", "pipeline.nvml.enable=true", "pipeline.nvml.interval_ms=20", "hydra.run.dir=shared/run"]
        for rules in some("write:ESTALE:9,rename:ESTALE:5,mkdir:ESTALE:3,fsync:ESTALE:4", "open:ESTALE:7,stat:ESTALE:11", "read:ESTALE:5,list:ESTALE:2"):
            with self.subTest(rules):
                self.again()
                env = PRELOAD | {"LPO_BAD_DISK": self.shared, "LPO_BAD_DISK_RULES": rules, "LPO_NVML": FAKE_NVML, "FAKE_NVML": "", "LPO_JOB_ID": "1"}
                exports = " ".join(f"{k}='{v}'" for k, v in env.items())
                job = subprocess.Popen([*LAUNCH, "--nodes", "2", "torchrun", "2", "sh", "-c", f'export {exports}; exec "$@"', "sh", LPO, "run", *words],
                                       cwd=self.cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
                output = self.end(job)
                self.assertEqual(job.returncode, 0, output)
                for name in ("static_analysis", "direct_inference", "native", "nvml"):
                    self.assertEqual(self.stage(name)["state"], "done", output)
                self.assertEqual(self.stage("native")["notes"], [])
                self.has("report.md", "report.json", "report.html", "static_analysis/static_compute.md", "ranks/rank1/nvml/samples.csv",
                         "workload/direct_inference/metrics.json")

    def test_reports_are_begun_again(self) -> None:
        """The write that finds a stale handle may be that of the first report, which has none before it to wait for."""
        for each in range(3, 17):
            with self.subTest(f"write:ESTALE:{each}"):
                self.again()
                job = self.start({"LPO_BAD_DISK_RULES": f"write:ESTALE:{each}"}, count=1, program=["sh", "-c", f"unset LD_PRELOAD; exec {CLIENT} plain"])
                output = self.end(job)
                self.assertEqual(job.returncode, 0, output)

    def test_the_output_of_the_program_is_kept(self) -> None:
        """Each second write finds a stale handle while the program runs."""
        bad = os.path.join(self.cwd, "bad")
        lines = "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.05; done"
        program = ["sh", "-c", f"unset LD_PRELOAD; touch {bad}; {lines}; rm {bad}; exec {CLIENT} plain"]
        job = self.start({"LPO_BAD_DISK_RULES": "write:ESTALE:2", "LPO_BAD_DISK_WHEN": bad}, count=1, program=program)
        output = self.end(job)
        self.assertEqual((job.returncode, self.stage("native")["notes"]), (0, []), output)
        self.assertEqual(self.text("workload", "native", "stdout.log"), "".join(f"line {i}\n" for i in range(1, 9)))

    def test_a_disk_that_fills_up_while_the_program_runs(self) -> None:
        """Each program makes the file that makes the disk bad, so no trace can be begun after that."""
        bad = os.path.join(self.cwd, "bad")
        program = ["sh", "-c", f"touch {bad}; exec {CLIENT} plain || true"]
        job = self.start({"LPO_BAD_DISK_RULES": "write:ENOSPC", "LPO_BAD_DISK_WHEN": bad}, "run.ranks_wait=5s", program=program)
        output = self.end(job)
        self.assertEqual(job.returncode, 1, output)
        self.assertIn("No space left on device", output)
        os.unlink(bad)
        self.assertEqual(self.lpo("report", self.run_dir).returncode, 0)
        self.has("report.md")

    def test_a_disk_that_is_full_from_the_start(self) -> None:
        job = self.start({"LPO_BAD_DISK_RULES": "write:ENOSPC"}, "run.ranks_wait=2s")
        output = self.end(job)
        self.assertEqual(job.returncode, 1, output)
        self.assertEqual(output.count("No space left on device"), 3, output)
        self.assertEqual(os.listdir(self.shared), [], "half of a run folder is left")

    def test_one_rank_cannot_write(self) -> None:
        for rules in some("*:EIO", "write:EDQUOT", "rename:EIO"):
            with self.subTest(rules):
                self.again()
                bad = os.path.join(self.cwd, "bad")
                program = ["sh", "-c", f'[ "$RANK" != 1 ] || touch {bad}; exec {CLIENT} plain || true']
                env = {"LPO_BAD_DISK_RULES": rules, "LPO_BAD_DISK_WHEN": bad}
                job = self.start(env, "run.ranks_wait=5s", rank=1, program=program)
                output = self.end(job)
                self.assertEqual(job.returncode, 1, output)
                self.assertLessEqual({"rank0.lpot", "rank2.lpot"}, set(self.traces()))
                notes = " ".join(self.stage("native")["notes"])
                self.assertIn("rank 1: ", notes)
                self.assertNotIn("rank 2: ", notes)
                self.assertIn("rank 1: ", self.text("report.md"))

    def test_a_rank_without_locks_is_waited_for(self) -> None:
        """Another machine's, whose locks rank 0 does not see. It works longer than rank 0, and starts while the others sweep."""
        program = ["sh", "-c", f'[ "$RANK" != 1 ] || sleep 3; exec {CLIENT} plain']
        job = self.start({"LPO_BAD_DISK_RULES": "lock:ENOLCK,rename:100", "LPO_HOST_NAME": "another"}, rank=1, program=program)
        output = self.end(job)
        self.assertEqual((job.returncode, self.stage("native")["notes"]), (0, []), output)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"])

    def test_a_machine_that_vanishes(self) -> None:
        """Its lpo is gone and its lock is still held, as a server of NFS does for a while: silence says it."""
        pid = """$(sed -n 's/^  "pid": \\([0-9]*\\).*/\\1/p' shared/run/ranks/rank2/run.json)"""
        lock = "shared/run/ranks/rank2/.lpo-lock"
        keep = f"import fcntl, sys, time; f = open(\"{lock}\"); fcntl.flock(f, fcntl.LOCK_EX); time.sleep(60)"
        program = ["sh", "-c", f"if [ $RANK = 2 ]; then kill -9 {pid}; sleep 100; fi; exec {CLIENT} plain"]
        job = self.start({"LPO_HOST_NAME": "another"}, rank=2, program=program)
        self.wait_for(lambda: os.path.exists(self.path("ranks", "rank2", ".lpo-alive")))
        holder = subprocess.Popen([sys.executable, "-c", keep], cwd=self.cwd)
        begin = time.monotonic()
        try:
            output = self.end(job)
        finally:
            holder.kill()
            holder.wait()
        self.assertLess(time.monotonic() - begin, 60, "it was the lock that was waited for")
        self.assertEqual(job.returncode, 1, output)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot"], output)
        self.assertTrue(any(n.startswith("rank 2: its lpo ended in the middle") for n in self.stage("native")["notes"]), self.stage("native"))

    def test_a_rank_whose_disk_does_not_answer(self) -> None:
        """Its lpo hangs in a call; rank 0 waits for it as long as it was told, and reports the others."""
        bad = os.path.join(self.cwd, "bad")
        program = ["sh", "-c", f'[ "$RANK" != 1 ] || touch {bad}; exec {CLIENT} plain || true']
        job = self.start({"LPO_BAD_DISK_RULES": "rename:stop", "LPO_BAD_DISK_WHEN": bad}, "run.ranks_wait=3s", rank=1, program=program)
        try:
            self.wait_for(lambda: self.manifest()["state"] == "failed" and os.path.exists(self.path("report.html")))
            self.assertIn("rank0.lpot", self.traces())
            self.assertIn("rank2.lpot", self.traces())
            self.assertTrue(any(n.startswith("rank 1: ") for n in self.stage("native")["notes"]), self.stage("native"))
            self.assertFalse(any("rank 2: " in n for n in self.stage("native")["notes"]), self.stage("native"))
        finally:
            os.kill(self.manifest(self.path("ranks", "rank1"))["pid"], signal.SIGKILL)
            self.end(job)

    def test_lpo_outside_and_a_disk_that_fills_up(self) -> None:
        """One lpo before the launcher: what the ranks had recorded is reported, and every rank runs to its end."""
        bad = os.path.join(self.cwd, "bad")
        script = f'[ "$RANK" != 1 ] || {{ touch {bad}; }}; {CLIENT} plain || true; touch {self.cwd}/ended.$RANK'
        env = PRELOAD | {"LPO_BAD_DISK": os.path.join(self.run_dir, "native"), "LPO_BAD_DISK_RULES": "write:ENOSPC", "LPO_BAD_DISK_WHEN": bad}
        exports = " ".join(f"{k}='{v}'" for k, v in env.items())
        inner = f'[ "$RANK" != 1 ] || export {exports}; {script}'
        done = subprocess.run([LPO, "run", *ONE_STAGE, "--", *LAUNCH, "torchrun", "3", "sh", "-c", inner], cwd=self.cwd, text=True, capture_output=True,
                              timeout=LIMIT)
        output = done.stdout + done.stderr
        self.assertEqual(sorted(n for n in os.listdir(self.cwd) if n.startswith("ended.")), ["ended.0", "ended.1", "ended.2"], output)
        self.assertEqual(self.traces(), ["rank0.lpot", "rank2.lpot"], output)
        self.assertTrue(any("No space left on device" in n for n in self.stage("native")["notes"]), self.stage("native"))
        self.assertTrue(any("rank 1 of 3: no trace" in n for n in self.stage("native")["notes"]), self.stage("native"))
        self.has("report.md")

    def test_clocks_an_hour_apart(self) -> None:
        for offset in some("3600", "-3600"):
            with self.subTest(offset):
                self.again()
                job = self.start({"LPO_CLOCK_OFFSET_S": offset}, rank=1)
                output = self.end(job)
                self.assertEqual((job.returncode, self.stage("native")["notes"]), (0, []), output)
                self.assertEqual(self.traces(), ["rank0.lpot", "rank1.lpot", "rank2.lpot"])
                apart = self.manifest(self.path("ranks", "rank1"))["started_unix_ns"] - self.manifest()["started_unix_ns"]
                self.assertAlmostEqual(apart / 1e9, int(offset), delta=100)
                self.assertEqual(self.decode_calls(), 3)

    def test_two_jobs_at_the_same_moment(self) -> None:
        """Both see an empty place; one of them has it in the end, whole, and the other one says so."""
        slow = {"LPO_BAD_DISK_RULES": "rename:150,fsync:30"}
        jobs = [self.start(slow, "run.ranks_wait=20s", count=2, job=name) for name in ("first", "second")]
        outputs = [self.end(job) for job in jobs]
        self.assertEqual(sorted(job.returncode for job in jobs), [0, 1], outputs)
        lost = outputs[0] if jobs[0].returncode else outputs[1]
        self.assertRegex(lost, "holds another run|another run was put at")
        self.assertIn("belongs to another job", lost)
        self.assertEqual(os.listdir(self.shared), ["run"])
        self.assertEqual((self.manifest()["state"], self.traces()), ("done", ["rank0.lpot", "rank1.lpot"]))


if __name__ == "__main__":
    tap.main()
