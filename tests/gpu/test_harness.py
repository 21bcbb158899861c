#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that measure on a GPU, without one: windows_bench.py around a program with NVTX ranges, hour.py around made-up memory.
Prints TAP."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "collect"), str(ROOT / "bench/gpu")]
import hour  # noqa: E402
import tap  # noqa: E402
import windows_bench  # noqa: E402
from lpot import Trace  # noqa: E402

LIBRARY = Path(os.environ["LPO_BUILD_ROOT"]) / "src/collect/liblpo-collect.so"
STEPS = 16
SANITIZED = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}  # Python itself is not

# In place of a model: a repeat has 16 ranges, or as many as the model. The collector is loaded in the children, each with its settings.
PROGRAM = """
import sys, time
sys.path[:0] = sys.argv[1:3]
del sys.argv[1:3]
import collect_bench, windows_bench

def serve(_, commands, answers):
    import lpo
    lpo.mark("up")
    print("ready", file=answers, flush=True)
    while commands.readline().strip() == "eager":
        start = time.perf_counter()
        for _ in range(collect_bench.TOKENS if "rows" in sys.argv else 16):
            with lpo.range("a step"):
                pass
        print(1e3 * (time.perf_counter() - start), file=answers, flush=True)

collect_bench.serve, collect_bench.imports = serve, lambda: None
sys.exit(windows_bench.main())
"""


class Windows(unittest.TestCase):
    def bench(self, *words: str) -> tuple[list[str], dict[str, int]]:
        """The lines of figures, and how many calls of the range each process has in its trace."""
        with tempfile.TemporaryDirectory() as out:
            words = [str(ROOT / "bench/gpu"), str(ROOT / "python"), "--library", str(LIBRARY), "--out", out, *words]
            done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=100, env=os.environ | SANITIZED)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            lines = (Path(out) / "figures.txt").read_text(encoding="utf-8").splitlines()
            calls = {p.name: sum(r[2] == "a step" for t in p.glob("*.lpot") for r in Trace(str(t)).ranges) for p in (Path(out) / "traces").iterdir()}
        return lines, calls

    def test_one_process_inside_and_outside(self) -> None:
        lines, calls = self.bench("--rounds", "3")
        self.assertEqual(len(lines), len(windows_bench.WINDOWS_FIGURES))
        self.assertTrue(all(line.endswith(" processes") for line in lines), lines)
        self.assertEqual(calls["whole-0"], 3 * STEPS)  # of six repeats
        self.assertEqual(calls["inside-0"], 3 * STEPS)
        self.assertEqual(calls["eighth-0"], 3 * STEPS // 8)
        self.assertEqual(calls["eighth_counted-0"], 3 * STEPS // 8)

    def test_rows_of_steps(self) -> None:
        lines, calls = self.bench("--what", "rows", "--rounds", "4")
        self.assertEqual(len(lines), len(windows_bench.ROWS_FIGURES))
        self.assertTrue(all(line.endswith(" processes") for line in lines), lines)
        self.assertEqual(calls, {f"rows-{i}": 4 * windows_bench.ROW for i in range(3)})  # one row in each round with windows

    def test_each_process_against_itself(self) -> None:
        lines, calls = self.bench("--what", "outside", "--rounds", "3")
        self.assertEqual(len(lines), len(windows_bench.OUTSIDE_FIGURES) + 1)
        self.assertTrue(all(line.endswith("6 and 6 processes") for line in lines), lines)
        self.assertEqual(calls, {f"inside-{i}": 3 * STEPS for i in range(6)})  # nothing of the first half

    def test_what_processes_change_by_themselves_is_taken_off(self) -> None:
        def process(name: str, before: list[float], after: list[float]) -> windows_bench.Process:
            p = windows_bench.Process.__new__(windows_bench.Process)
            p.name, p.by_mode = name, {windows_bench.BEFORE: before, False: after, True: []}
            return p

        # both become 10 % slower, that with a collector 2 % more; processes differ by half
        processes = [process("none", [10.0] * 4, [11.0] * 4), process("none", [15.0] * 4, [16.5] * 4),
                     process("inside", [10.0] * 4, [11.22] * 4), process("inside", [5.0] * 4, [5.61] * 4)]
        (line,) = windows_bench.of_halves(processes)
        self.assertIn("\t+2.00 %\t+2.00 … +2.00 %\tstandard error 0.00, 2 and 2", line)
        (line,) = windows_bench.of_halves(processes[:3])
        self.assertTrue(line.endswith("n/a"), line)

    def test_one_kind_of_process_alone(self) -> None:
        lines, calls = self.bench("--only", "none,inside", "--rounds", "1")
        self.assertEqual(set(calls), {"inside-0", "inside-1", "inside-2"})
        self.assertEqual(sum(line.endswith("n/a") for line in lines), len(lines) - 2)

    def test_a_process_that_cannot_be_switched(self) -> None:
        p = windows_bench.Process.__new__(windows_bench.Process)
        p.name, p.loaded, p.by_range, p.folder, p.pid, p.error, p.times = "whole", True, False, "/proc", 1, None, {"eager": []}
        p.one(True, 1)
        self.assertIsNotNone(p.error)


class Hour(unittest.TestCase):
    def test_a_step_is_no_growth_and_a_leak_is(self) -> None:
        flat = [(10 * i, 20000 * i, 500_000_000 + (1 << 25) * (i > 2), 900_000, 0) for i in range(60)]
        self.assertTrue(hour.growth(flat)[1])
        leak = [(10 * i, 20000 * i, 500_000_000 + 2 * 20000 * i, 900_000, 0) for i in range(60)]  # two bytes a launch
        lines, fine = hour.growth(leak)
        self.assertFalse(fine)
        self.assertIn("+2000.00 bytes per 1,000 launches", lines[0])
        host = [(10 * i, 20000 * i, 500_000_000, 900_000 + 40 * i, 0) for i in range(60)]  # 2 KiB for 1,000
        self.assertFalse(hour.growth(host)[1])
        self.assertTrue(hour.growth(host, known=2)[1])

    def test_rows_are_written_as_time_goes(self) -> None:
        done = []
        hour.EVERY_S, hour.PAUSE_S = 0, 0
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "t.tsv"
            rows = hour.run(0, out, lambda: done.append(1), lambda: 7)
            self.assertEqual([len(line.split("\t")) for line in out.read_text().splitlines()], [5] * len(rows))
        self.assertEqual((rows[-1][2], rows[-1][1]), (7, 1000 * len(done)))


if __name__ == "__main__":
    tap.main()
