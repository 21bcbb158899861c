#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ncu on one rank of a job with lpo outside the launcher: a stand-in for ncu, real and stand-in launchers. Prints TAP."""
from __future__ import annotations

import os
import shutil
import socket
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "workloads")]
import tap  # noqa: E402
import torch_python  # noqa: E402
from launch import VARIABLES  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

LAUNCH = os.path.join(HERE, "launch.py")
NCU = os.path.join(HERE, "..", "pipeline", "tools", "ncu")
OFF = ["static_analysis", "direct_inference", "torch_profiler", "counters", "native"]
WORDS = ["workload=command", *(f"pipeline.{name}.enable=false" for name in OFF), "pipeline.ncu.enable=true", f"pipeline.ncu.program={NCU}",
         "pipeline.ncu.ncu_cli.nvtx.include=null"]
# Each rank leaves a file: is it under ncu, what it was given, and what it is told about waiting.
PROGRAM = """
import os, sys
rank = next(os.environ[n] for n in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID") if n in os.environ)
with open("/proc/%d/cmdline" % os.getppid()) as f:
    parent = f.read().split("\\0")
with open("rank" + rank, "w") as f:
    f.write(f"{len(parent) > 1 and os.path.basename(parent[1]) == 'ncu'} {sys.argv[1:]} {os.environ.get('TORCH_NCCL_ENABLE_MONITORING')} {os.environ.get('LPO_RANK_TOOL')}")
"""


class Ncu(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        for names in VARIABLES.values():
            for name in names:
                os.environ.pop(name, None)
        self.write("job.py", PROGRAM)
        self.calls = os.path.join(self.cwd, "calls")

    def environment(self) -> dict[str, str]:
        return {"PATH": self.cwd + os.pathsep + os.environ["PATH"], "XDG_CACHE_HOME": os.path.join(self.cwd, "cache"),
                "FAKE_NCU_CALLS": self.calls}

    def stand_in(self, name: str, kind: str, count: int, *before: str) -> None:
        """A launcher of that name in front of PATH, which starts each rank as the real one does."""
        words = " ".join((sys.executable, LAUNCH, kind, str(count), *before))
        self.write(name, f'#!/bin/sh\n[ "$1" != launch ] || shift\n[ "$1" != -n ] || shift 2\nexec {words} "$@"\n')
        os.chmod(os.path.join(self.cwd, name), 0o755)

    def go(self, *words: str, code: int = 0) -> str:
        done = self.lpo_run(*WORDS, *words)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, output)
        self.assertNotIn("Sanitizer", output)
        return output

    def ranks(self, count: int) -> list[str]:
        found = []
        for rank in range(count):
            with open(os.path.join(self.cwd, f"rank{rank}"), encoding="utf-8") as f:
                found.append(f.read())
            os.unlink(f.name)
        return found

    def captures(self) -> int:
        with open(self.calls, encoding="utf-8") as f:
            return sum("--export" in line for line in f)

    def check(self, count: int, measured: int) -> None:
        self.assertEqual(self.ranks(count), [f"{rank == measured} ['a', 'b c'] 0 None" for rank in range(count)])
        self.assertEqual(self.captures(), 1)
        self.assertEqual(self.stage("ncu")["state"], "done")
        self.has("ncu/run.ncu-rep", "ncu/raw.csv", "ncu/cmd.txt")

    def test_launchers_that_start_python(self) -> None:
        for name in ("torchrun", "accelerate", "deepspeed"):
            with self.subTest(name):
                self.tearDown()
                self.setUp()
                self.stand_in(name, "torchrun", 3, sys.executable, "-u")
                words = ["launch", "job.py"] if name == "accelerate" else ["job.py"]
                self.go("--", name, *words, "a", "b c")
                self.check(3, 0)

    def test_another_rank(self) -> None:
        self.stand_in("torchrun", "torchrun", 3, sys.executable)
        self.go("run.ranks=[2,0]", "--", "torchrun", "job.py", "a", "b c")
        self.check(3, 2)

    def test_launchers_with_the_program_among_their_words(self) -> None:
        for name, kind in (("mpirun", "openmpi"), ("srun", "slurm")):
            with self.subTest(name):
                self.tearDown()
                self.setUp()
                self.stand_in(name, kind, 3)
                self.go("--", name, "-n", "3", sys.executable, "job.py", "a", "b c")
                self.check(3, 0)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed (Debian: openmpi-bin)")
    def test_mpirun(self) -> None:
        self.go("--", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "job.py", "a", "b c")
        self.check(2, 0)

    @unittest.skipUnless(torch_python.find() == "/usr/bin/python3" and shutil.which("torchrun"), "torchrun is not installed (Debian: python3-torch)")
    def test_torchrun(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        # torchrun of 1.13 under Python 3.11 fails where -r and -t are not given for single ranks
        self.go("--", "torchrun", "-r", "0:1", "-t", "0:1,1:1", "--nproc_per_node=2", "--master_addr=127.0.0.1", f"--master_port={port}",
                "job.py", "a", "b c")
        self.check(2, 0)

    def test_a_program_that_is_not_python(self) -> None:
        """torchrun --no-python: there is nobody to start ncu, and that is said."""
        self.stand_in("torchrun", "torchrun", 2)
        output = self.go("--", "torchrun", "/bin/true", code=1)
        self.assertIn("ncu was not started: torchrun started no Python program of rank 0; start lpo in each task", output)

    def test_words_that_are_not_understood(self) -> None:
        self.stand_in("mpirun", "openmpi", 2)
        output = self.go("--", "mpirun", "--unheard-of", "1", "2", code=1)
        self.assertIn("could not be found among the words of mpirun", output)
        self.assertFalse(os.path.exists(self.calls) and self.captures())

    def test_collectives_are_left_out(self) -> None:
        """Replayed in one rank alone they would not end. The stage before, here a trace that the program itself writes, names them."""
        events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 + 10 * i, "dur": 5, "args": {"device": 0, "stream": 7}}
                  for i, name in enumerate(("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "axpy(float*, int)"))]
        self.write("trace.json", {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events})
        program = "import os, shutil\nif os.environ.get('LPO_TORCH_PROFILE'): shutil.copy('trace.json', 'run/torch_profiler/rank0.trace.json')"
        self.write("job.py", program)
        self.stand_in("torchrun", "torchrun", 2, sys.executable)
        self.go("pipeline.torch_profiler.enable=true", "--", "torchrun", "job.py")
        with open(self.calls, encoding="utf-8") as f:
            capture, = (line.split("\t") for line in f if "--export" in line)
        self.assertEqual(capture[capture.index("--kernel-name") + 1], "regex:^(axpy)$")
        self.assertTrue(any("collectives are not measured" in n for n in self.stage("ncu")["notes"]))

    def test_a_dry_run_shows_it(self) -> None:
        self.stand_in("mpirun", "openmpi", 2)
        done = self.lpo("run", "--dry-run", *WORDS, "--", "mpirun", "-n", "2", "true")
        self.assertIn(" __rank 0 ", done.stdout)


if __name__ == "__main__":
    tap.main()
