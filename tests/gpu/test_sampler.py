#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo sample-counters` on a driver and a libcupti of ours: samples, losses, and every way to be refused. Prints TAP."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
import lpoc  # noqa: E402
import tap  # noqa: E402

LPO = os.environ["LPO_BIN"]
FAKE = os.path.join(os.environ["LPO_BUILD_ROOT"], "tests", "gpu", "libfake-pm.so")
T0 = 1794755025000000000
OVERFLOW, GAP, LIMIT = 1, 3, 4


class Sampler(unittest.TestCase):
    def sample(self, modes: str = "", *words: str, rounds: int = 5, **environment: str) -> str:
        """Runs it until the library ends it; leaves what it wrote in self.facts, .metrics, .items, .samples, .losses."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpu0.lpoc")
            env = dict(os.environ, LPO_LIBCUDA=FAKE, LPO_LIBCUPTI=FAKE, FAKE_PM=modes, FAKE_PM_ROUNDS=str(rounds))
            env.update(environment)
            done = subprocess.run([LPO, "sample-counters", "-o", path, "--period-ms", "1", "--seconds", "60", *words],
                                  env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
            self.assertNotIn("Sanitizer", done.stderr)
            self.code = done.returncode
            self.written = os.path.exists(path)
            if self.written:
                with open(path, "rb") as f:
                    self.data = f.read()
                self.facts, self.metrics, self.items = lpoc.read(self.data)
                self.samples = [i[1:] for i in self.items if i[0] == "sample"]
                self.losses = [i[1:] for i in self.items if i[0] == "loss"]
                self.notes = [i[1] for i in self.items if i[0] == "note"]
        return done.stdout

    def test_every_sample_is_there_once_with_its_values(self) -> None:
        said = self.sample()
        self.assertEqual(self.code, 0, said)
        self.assertTrue(said.startswith("ready GH100, 9 metrics, every 50 us, CUPTI 130000\ndone samples=520 lost=0 "), said)
        self.assertEqual(self.facts["chip"], "GH100")
        self.assertEqual(self.facts["trigger"], "time")
        self.assertEqual(self.facts["interval_ns"], "50000")
        self.assertEqual(self.facts["device.index"], "0")
        self.assertEqual(self.facts["device.name"], "Fake GPU 0")
        self.assertEqual(self.facts["device.uuid"], "a0" * 16)
        self.assertEqual([m[0] for m in self.metrics][:2], ["dram__bytes_read.sum", "dram__bytes_write.sum"])
        # the record of the time before the start is not there
        self.assertEqual([(s[0], s[1]) for s in self.samples],
                         [(T0 + n * 50000, T0 + (n + 1) * 50000) for n in range(520)])
        for n, (_, _, values) in enumerate(self.samples):
            self.assertEqual(values, [1000.0 * n + k for k in range(len(self.metrics))])
        self.assertEqual(self.losses, [])
        self.assertEqual(self.items[-1][0], "end")
        self.assertEqual((self.items[-1][1][1], self.items[-1][1][6]), (520, 1))

    def test_another_interval_and_device(self) -> None:
        said = self.sample("", "--interval-ns", "100000", "--device", "1")
        self.assertEqual(self.code, 0, said)
        self.assertEqual(self.facts["device.name"], "Fake GPU 1")
        self.assertEqual(self.samples[3][:2], (T0 + 300000, T0 + 400000))

    def test_an_image_that_is_full_again_and_again(self) -> None:
        self.sample("small_image")
        self.assertEqual([s[0] for s in self.samples], [T0 + n * 50000 for n in range(520)])

    def test_a_late_round_finds_room_for_all_its_samples(self) -> None:
        said = self.sample("late", "--period-ms", "5")  # 100 samples a round, and once 200
        self.assertIn("done samples=620 lost=0 ", said)
        self.assertEqual([s[0] for s in self.samples], [T0 + n * 50000 for n in range(620)])

    def test_a_backlog_at_the_stop_is_read_to_its_end(self) -> None:
        said = self.sample("backlog")
        self.assertIn("done samples=5500 lost=0 ", said)
        self.assertEqual([s[0] for s in self.samples], [T0 + n * 50000 for n in range(5500)])

    def test_an_overflow_is_counted_and_its_time_marked(self) -> None:
        said = self.sample("overflow")
        self.assertEqual(self.code, 0, said)
        begin = T0 + 210 * 50000
        self.assertEqual(self.losses, [(begin, begin + 40 * 50000, 40, OVERFLOW)])
        times = [s[0] for s in self.samples]
        self.assertEqual(times[:210], [T0 + n * 50000 for n in range(210)])
        self.assertEqual(times[210], begin + 40 * 50000)  # it goes on by itself
        self.assertEqual(len(times), 210 + 2 * 100 + 20)
        self.assertIn("lost=40 lost_ns=2000000 ", said)
        kinds = [i[0] for i in self.items]
        self.assertEqual(kinds.index("loss"), 210)  # where it belongs in time

    def test_an_overflow_that_cannot_be_restarted_keeps_what_there_is(self) -> None:
        said = self.sample("overflow,no_restart", rounds=3)
        self.assertEqual(self.code, 0, said)
        self.assertNotIn("failed", said)
        self.assertIn("done samples=210 ", said)
        self.assertEqual(len(self.samples), 210)
        self.assertEqual([(loss[0], loss[3]) for loss in self.losses], [(self.samples[-1][1], OVERFLOW)])  # until the end
        self.assertEqual(self.items[-1][1][6], 1)
        self.assertIn("sampling ended when the hardware's buffer was full: ", self.notes[-1])
        self.assertIn("CUPTI_ERROR_UNKNOWN (999)", self.notes[-1])

    def test_a_gap_between_samples_is_a_loss(self) -> None:
        self.sample("gap")
        begin = T0 + 200 * 50000
        self.assertEqual(self.losses, [(begin, begin + 7 * 50000, 7, GAP)])
        self.assertEqual(len(self.samples), 520)

    def test_a_record_over_a_long_time_is_a_loss_and_no_sample(self) -> None:
        self.sample("long_record")
        begin = T0 + 200 * 50000
        self.assertEqual(self.losses, [(begin, begin + 20 * 50000, 20, GAP)])
        self.assertEqual(len(self.samples), 520)
        self.assertTrue(all(e - s == 50000 for s, e, _ in self.samples))

    def test_decoding_that_fails_keeps_what_was_read(self) -> None:
        said = self.sample("decode_error")
        self.assertEqual(self.code, 3)
        self.assertIn("failed: cuptiPmSamplingDecodeData returned CUPTI_ERROR_UNKNOWN (999)", said)
        self.assertEqual(len(self.samples), 200)
        self.assertEqual(self.items[-1][1][6], 4)

    def test_what_cupti_does_not_know_is_unknown_and_not_0(self) -> None:
        self.sample("nan")
        self.assertEqual(self.samples[4][2][:3], [4000.0, None, 4002.0])
        self.sample("no_values")
        self.assertEqual(set(self.samples[13][2]), {None})
        self.assertEqual(self.samples[14][2][0], 14000.0)

    def test_the_size_limit(self) -> None:
        said = self.sample("", "--max-mb", "1", rounds=100000)
        self.assertEqual(self.code, 0, said)
        self.assertIn("ended_by=2", said)
        self.assertLess(len(self.data), 1000000)
        self.assertGreater(len(self.data), 900000)
        self.assertEqual(self.losses[-1][3], LIMIT)
        self.assertEqual(self.losses[-1][0], self.samples[-1][1])
        self.assertEqual(self.items[-1][1][1], len(self.samples))

    def test_metrics_that_do_not_fit_are_left_out_and_named(self) -> None:
        self.sample("few_counters")
        self.assertEqual([m[1] for m in self.metrics], [1, 2, 9])
        self.assertIn("lts__t_bytes.sum (no counter is free for it in the one pass)", self.notes[0])
        self.sample("no_nvlink")
        self.assertEqual([m[1] for m in self.metrics], [1, 2, 9, 10, 4, 5, 6])
        self.assertIn("nvlrx__bytes.sum (this GPU does not have it)", self.notes[0])

    def test_interval_and_metrics_are_what_can_be_kept_up_with(self) -> None:
        cases = (  # modes, words, interval in us, meanings
            ("", [], 50, [1, 2, 9, 10, 4, 5, 6, 7, 8]),
            ("heavy", [], 100, [1, 2, 9, 10, 4]),  # the four that matter most decide, others fill up
            ("heavy", ["--interval-ns", "50000"], 50, [1, 2]),
            ("heavy", ["--interval-ns", "1000000"], 1000, [1, 2, 9, 10, 4, 5, 6, 7, 8]),
            ("heavy", ["--least-ns", "200000"], 200, [1, 2, 9, 10, 4, 5, 6, 7, 8]),
            ("h200,no_nvlink", [], 100, [1, 2, 9, 10, 4, 5, 6]),  # 44 % of a core there
            ("h200,no_nvlink", ["--interval-ns", "50000"], 50, [1, 2, 9]),
            ("", ["--least-ns", "100000"], 100, [1, 2, 9, 10, 4, 5, 6, 7, 8]),
            ("no_size", [], 100, [1, 2, 9, 10]),  # nobody says what a sample costs: be careful
            ("heavy", [w for k in range(30) for w in ("--metric", f"own__{k}.sum")], 1000, [0] * 30),
            ("heavy", ["--interval-ns", "10000", "--metric", "own__1.sum"], 10, [0]),  # both asked for
        )
        for modes, words, interval, meanings in cases:
            with self.subTest(f"{modes} {' '.join(words)[:40]}"):
                said = self.sample(modes, *words)
                self.assertEqual(self.code, 0, said)
                self.assertIn(f"every {interval} us", said)
                self.assertEqual(self.facts["interval_ns"], str(interval * 1000))
                self.assertEqual([m[1] for m in self.metrics], meanings)
                self.assertEqual(self.samples[1][:2], (T0 + interval * 1000, T0 + 2 * interval * 1000))
                if modes == "heavy" and interval == 100:
                    self.assertIn("pcie__read_bytes.sum (the sampler could not keep up at this interval)", self.notes[0])

    def test_a_share_of_a_core(self) -> None:
        # the estimate decides where it begins; what becomes of it is tested with the fake's own clocks (test_sampler_budget.c)
        cases = (  # modes, millionths, words, interval in us; rounds of 1 ms cost more than a core
            ("h200,no_nvlink", 1000000, [], 100),
            ("h200,no_nvlink", 500000, [], 400),
            ("h200,no_nvlink", 200000, [], 1600),
            ("h200,no_nvlink", 30000, [], 6400),
            ("h200,no_nvlink", 10000, [], 10000),
            ("h200,no_nvlink", 30000, ["--interval-ns", "100000"], 100),
        )
        for modes, core, words, interval in cases:
            with self.subTest(f"{core} {' '.join(words)}"):
                said = self.sample(modes, "--core-millionths", str(core), "--period-ms", "1", *words)
                self.assertEqual(self.code, 0, said)
                self.assertEqual(self.facts["interval_ns"], str(interval * 1000))
                self.assertIn(f"interval_ns={interval * 1000} lengthened=0", said)  # five rounds decide nothing
                totals = self.items[-1][1]
                self.assertIn(f"cpu_ns={totals[4]} wall_ns={totals[7]} ", said)
                if not words:
                    self.assertEqual(len(self.metrics), 7)  # the interval gives way, not the metrics

    def test_numbers_that_are_none(self) -> None:
        for word in ("0", "9999", "1000001", "half", ""):
            said = self.sample("", "--core-millionths", word)
            self.assertIn(f"failed: --core-millionths must be a number from 10000 to 1000000, not '{word}'", said)
            self.assertFalse(self.written)

    def test_other_spellings(self) -> None:
        self.sample("op_names")
        self.assertEqual(self.metrics[0][:2], ("dram__bytes_op_read.sum", 1))
        self.assertEqual(self.notes, [])

    def test_metrics_of_the_user(self) -> None:
        self.sample("", "--metric", "dram__bytes_write.sum", "--metric", "my__own.avg.pct", "--metric", "unheard_of",
                    "--metric", "dram__bytes_write.sum")
        self.assertEqual(self.metrics, [("dram__bytes_write.sum", 2, 1, 1, "byte"), ("my__own.avg.pct", 0, 2, 10000, "%")])
        self.assertIn("unheard_of (this GPU does not have it)", self.notes[0])
        said = self.sample("", "--metric", "unheard_of")
        self.assertEqual(self.code, 3)
        self.assertIn("GH100 has none of the metrics: unheard_of", said)

    def test_chips_without_a_trigger_by_time(self) -> None:
        self.sample("turing")
        self.assertEqual(self.code, 0)
        self.assertEqual((self.facts["trigger"], self.facts["interval_clocks"]), ("sysclk", "70000"))
        self.assertEqual(self.samples[1][:2], (T0 + 50000, T0 + 100000))

    def test_cuda_12_6_has_a_shorter_struct(self) -> None:
        self.sample("cuda12_6")
        self.assertEqual((self.code, len(self.samples)), (0, 520))

    def test_a_context_is_made_only_where_it_is_needed(self) -> None:
        self.assertIn(", with a context", self.sample("context"))
        self.assertEqual(len(self.samples), 520)

    def test_refusals(self) -> None:
        cases = {
            "no_permission": "NVreg_RestrictProfilingToAdminUsers=0",
            "mig": "only while MIG is off",
            "virtual": "this is a virtual GPU",
            "vgpu_off": "profiling is not switched on for this virtual GPU",
            "confidential": "confidential computing is on",
            "busy": "another program holds the GPU's counters (ncu, nsys with GPU metrics, DCGM, another lpo)",
            "volta": "(GV100) is older than Turing",
            "unknown_chip": "this libcupti does not know the chip",
            "no_host_library": "libnvperf_host.so is not beside",
            "old_driver": "install a newer driver",
            "unknown_error": "cuptiPmSamplingGetCounterAvailability returned CUPTI_ERROR_UNKNOWN (999)",
            "no_gpu": "the NVIDIA driver finds no GPU (cuInit gave 100)",
        }
        for modes, words in cases.items():
            with self.subTest(modes):
                said = self.sample(modes)
                self.assertEqual(self.code, 3)
                self.assertTrue(said.startswith("failed: "), said)
                self.assertEqual(said.count("\n"), 1)
                self.assertIn(words, said)
                self.assertFalse(self.written)  # no file that would look like a damaged one

    def test_what_is_not_here(self) -> None:
        self.assertIn("there is no NVIDIA driver here", self.sample(LPO_LIBCUDA="/nonexistent"))
        self.assertIn("libcupti was not found: /nonexistent", self.sample(LPO_LIBCUPTI="/nonexistent"))
        self.assertIn("there is no GPU 7: CUDA sees 2 here", self.sample("", "--device", "7"))
        self.assertIn("is older than CUDA 12.6", self.sample(LPO_LIBCUPTI="libc.so.6"))
        self.assertEqual(self.code, 3)

    def test_the_file_is_whole_whenever_it_is_killed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpu0.lpoc")
            env = dict(os.environ, LPO_LIBCUDA=FAKE, LPO_LIBCUPTI=FAKE, FAKE_PM="", FAKE_PM_ROUNDS="0")
            with subprocess.Popen([LPO, "sample-counters", "-o", path, "--period-ms", "1"], env=env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
                self.assertIn("ready", child.stdout.readline())
                while os.path.getsize(path) < 50000:
                    pass
                child.kill()
            with open(path, "rb") as f:
                _, _, items = lpoc.read(f.read())
        self.assertEqual({i[0] for i in items}, {"sample"})
        self.assertEqual([i[1] for i in items], [T0 + n * 50000 for n in range(len(items))])
        self.assertGreater(len(items), 500)

    def test_it_ends_when_its_parent_is_gone(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpu0.lpoc")
            env = dict(os.environ, LPO_LIBCUDA=FAKE, LPO_LIBCUPTI=FAKE, FAKE_PM="", FAKE_PM_ROUNDS="0")
            with subprocess.Popen([LPO, "sample-counters", "-o", path, "--period-ms", "1"], env=env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
                self.assertIn("ready", child.stdout.readline())
                child.stdin.close()
                self.assertIn("ended_by=3", child.stdout.read())
                self.assertEqual(child.wait(60), 0)


if __name__ == "__main__":
    tap.main()
