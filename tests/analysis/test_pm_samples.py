#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recorded run: samples of 50 us of an 8-layer Llama, GEMMs and copies on an H200, and the native trace of the same
process. What is known about it stands here as bounds: bytes that copies and weights must move, and what ncu measured of
the same kernels. Prints TAP."""
from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("LPO_SOURCE_ROOT", os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
import lpoc  # noqa: E402
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
SHARED = os.path.join(ROOT, "..", "shared", "data")
TRACE = os.path.join(SHARED, "pm", "llama8_50us.lpot.gz")
SAMPLES = os.path.join(SHARED, "pm", "llama8_50us.csv.gz")
NCU = os.path.join(SHARED, "ncu", "llm8_representative4_raw.csv.gz")
GIB = 1 << 30

# kernel, grid: most relative difference from ncu
GEMMS = {
    ("nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT", (2, 63, 1)): 0.02,  # lm_head
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", (4, 11, 1)): 0.07,  # gate and up
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", (4, 8, 1)): 0.07,  # down
    ("nvjet_sm90_tst_8x64_64x16_2x1_v_bz_TNN", (2, 64, 1)): 0.07,  # q and o
    ("nvjet_sm90_tst_8x64_64x16_4x1_v_bz_TNN", (4, 16, 1)): 0.07,  # k and v
}


def ncu_bytes() -> dict[tuple[str, tuple[int, ...]], float]:
    """The mean DRAM bytes of a launch, by kernel and grid, as ncu measured them."""
    with gzip.open(NCU, "rt") as f:
        head, _, *rows = csv.reader(f)
    name, grid, value = (head.index(c) for c in ("Kernel Name", "Grid Size", "dram__bytes.sum"))
    found: dict = {}
    for row in rows:
        key = row[name], tuple(int(n) for n in re.findall(r"\d+", row[grid]))
        found.setdefault(key, []).append(float(row[value].replace(",", "")))
    return {key: sum(values) / len(values) for key, values in found.items()}


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temp = tempfile.TemporaryDirectory(prefix="lpo-test-")
        cls.samples = os.path.join(cls.temp.name, "gpu0.lpoc")
        lpoc.from_csv(SAMPLES, cls.samples)
        done = subprocess.run([LPO, "report", TRACE, cls.samples, "--json"], capture_output=True, text=True, timeout=300,
                              check=True)
        cls.report = json.loads(done.stdout)
        cls.gpu = cls.report["counters"]["gpus"][0]
        cls.metrics = {m["name"]: m for m in cls.gpu["metrics"]}
        cls.regions = {r["path"]: r for r in cls.report["scopes"][0]["regions"]}

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temp.cleanup()

    def near(self, value: float, want: float, share: float) -> None:
        self.assertLess(abs(value / want - 1), share, f"{value} is not {want} within {share:.1%}")

    def dram(self, path: str, key: str = "metrics") -> float:
        m = self.regions[path][key]
        return m["dram_bytes_read"]["value"] + m["dram_bytes_written"]["value"]

    def test_each_call_moves_what_it_must(self) -> None:
        calls = {c["path"]: c for c in self.gpu["calls"]}
        self.assertEqual((calls["copy"]["calls"], calls["copy"]["calls_with_figures"]), (5, 5))
        self.assertEqual((calls["graph"]["calls"], calls["graph"]["calls_with_figures"]), (8, 8))
        for part in ("first", "min", "median", "max"):
            self.near(calls["copy"]["dram_bytes"][part], 2 * 100 * GIB, 0.001)  # read and written
            self.near(calls["graph"]["dram_bytes"][part], 524.28e9 / 8, 0.001)
        self.near(calls["copy"]["dram_rate"]["median"], calls["copy"]["dram_bytes"]["median"] * 5 * 1e9 / calls["copy"]["gpu_ns"], 0.01)
        # eager layers are alone in their samples, kernels of 2 us between them are not looked at one by one
        self.assertGreater(calls["decode/layer3"]["calls_with_figures"], 500)
        self.assertGreater(calls["gemm"]["tensor_active"]["min"], 90)

    def test_written_bytes_come_later_than_their_writer(self) -> None:
        """as docs/counters.md says: equal layers read the same, and the first of a step writes next to nothing"""
        read, written = ([self.regions[f"decode/layer{k}"]["metrics"][m]["value"] / 576 for k in range(8)]
                         for m in ("dram_bytes_read", "dram_bytes_written"))
        self.assertTrue(all(24.7e6 < r < 25.1e6 for r in read), read)
        self.near(written[0], 0.14e6, 0.05)
        self.assertTrue(all(1.05e6 < w < 1.28e6 for w in written[1:]), written)

    def test_the_least_squares_explain_the_samples(self) -> None:
        self.assertGreater(self.metrics["dram_bytes_read"]["r2"], 0.99)
        both = [self.metrics[n] for n in ("dram_bytes_read", "dram_bytes_written")]
        fitted = sum(m["total"] * m["fitted_share"] for m in both)
        self.near(fitted, sum(m["total"] for m in both), 0.005)

    def test_nothing_that_was_counted_is_lost(self) -> None:
        """regions that samples cover whole, and what ran outside of all, make the total"""
        top = [p for p, r in self.regions.items() if r["parent"] is None and "dram_bytes_read" in r["metrics"]]
        given = sum(self.dram(p) for p in top)
        total = sum(self.metrics[n]["total"] for n in ("dram_bytes_read", "dram_bytes_written"))
        # part of decode and prefill ran before sampling began, and counts as the rest does
        self.assertGreater(given, total * (1 - 0.0005))
        self.assertLess(given, total * 1.01)

    def test_copies_move_what_they_must(self) -> None:
        """500 copies of 1 GiB inside the device read and write each byte once"""
        self.near(self.dram("copy"), 500 * 2 * GIB, 0.005)

    def test_region_sums_are_those_of_the_trial(self) -> None:
        """DRAM bytes of graph replays and GEMMs as two samplers found them"""
        self.near(self.dram("graph"), 524.28e9, 0.001)
        self.near(self.dram("gemm") / self.regions["gemm"]["launches"] * 50, 69.6e9, 0.02)

    def test_a_decode_step_reads_its_weights(self) -> None:
        steps = self.regions["decode/layer3"]["visits"]
        self.near(self.dram("decode") / steps, 0.2735e9, 0.01)

    def test_layers_of_equal_work_get_equal_bytes(self) -> None:
        layers = [self.dram(f"decode/layer{i}") for i in range(1, 8)]
        for bytes_of_layer in layers:
            self.near(bytes_of_layer, sum(layers) / len(layers), 0.01)

    def test_layers_of_a_graph(self) -> None:
        """a replay runs 8 equal layers, whose weights each is read once; the rest is lm_head"""
        layers = []
        for i in range(8):
            m = self.regions[f"layer{i}"]["metrics_captured_here"]
            layers.append(m["dram_bytes_read"]["value"] + m["dram_bytes_written"]["value"])
        for bytes_of_layer in layers:
            self.near(bytes_of_layer, sum(layers) / 8, 0.02)
        self.near(sum(layers) / 8 / 2048, 23.73e6, 0.03)  # seven GEMMs, as ncu measured them

    def test_exclusive_is_inclusive_without_children(self) -> None:
        children = sum(self.dram(f"decode/layer{i}") for i in range(8))
        self.near(self.dram("decode", "metrics_exclusive"), self.dram("decode") - children, 1e-6)

    def test_tensor_cores(self) -> None:
        """a GEMM of 8192 keeps them busy, a decode step of one token does not"""
        active = {p: self.regions[p]["metrics"]["tensor_active"]["value"] for p in ("gemm", "decode", "copy")}
        self.assertGreater(active["gemm"], 90)
        self.assertLess(active["decode"], 2)
        self.assertLess(active["copy"], 0.1)

    def test_five_gemms_against_ncu(self) -> None:
        measured = ncu_bytes()
        sampled = {(k["name"], tuple(k.get("grid", ()))): k["metrics"]["dram_bytes_both"] for k in self.gpu["kernels"]}
        for key, share in GEMMS.items():
            with self.subTest(kernel=key):
                self.assertIsNotNone(sampled[key]["value"])
                self.near(sampled[key]["value"], measured[key], share)
                self.assertLess(sampled[key]["error"] / sampled[key]["value"], 0.15)

    def test_small_kernels_between_large_ones_have_no_figure(self) -> None:
        for k in self.gpu["kernels"]:
            if k["launches"] > 10000 and k["gpu_ns"] / k["launches"] < 1500:
                self.assertIsNone(k["metrics"]["dram_bytes_both"]["value"], k["name"])

    def test_the_clock_is_that_of_the_trace(self) -> None:
        self.assertTrue(self.gpu["clock"]["sure"])
        self.assertEqual(self.gpu["clock"]["offset_ns"], 0)
        self.assertTrue(0 < self.metrics["dram_bytes_read"]["ahead_ns"] < 2000)

    def test_nobody_else_was_there(self) -> None:
        self.assertLess(self.gpu["others_share"], 0.001)

    def test_the_chapter_is_in_the_report(self) -> None:
        section = next(s for s in self.report["sections"] if s["id"] == "counters")
        self.assertEqual({t["id"] for t in section["items"] if t.get("id")},
                         {"region_counters", "call_counters", "captured_counters", "kernel_counters"})

    def test_metrics_of_regions_as_text(self) -> None:
        done = subprocess.run([LPO, "regions", "--metrics", TRACE, self.samples], capture_output=True, text=True,
                              timeout=300, check=True)
        line = next(x for x in done.stdout.partition("Sampled counters")[2].splitlines() if x.startswith("copy "))
        self.assertIn("500.0 GiB", line)
        self.assertIn("4.228 TB/s", line)

    def test_ncu_beside_it(self) -> None:
        """both are shown, and how many differ"""
        done = subprocess.run([LPO, "report", TRACE, self.samples, NCU, "--json"], capture_output=True, text=True,
                              timeout=300, check=True)
        report = json.loads(done.stdout)
        kernels = {(k["name"], tuple(k.get("grid", ()))): k for k in report["counters"]["gpus"][0]["kernels"]}
        for key in GEMMS:
            self.near(kernels[key]["ncu_dram_bytes"], ncu_bytes()[key], 0.01)
        section = next(s for s in report["sections"] if s["id"] == "counters")
        self.assertTrue(any("have DRAM bytes by samples and by ncu" in i.get("text", "") for i in section["items"]))

    def test_counters_alone_are_refused(self) -> None:
        done = subprocess.run([LPO, "report", self.samples, "--json"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("give the trace of the same run too", done.stderr)


if __name__ == "__main__":
    if not os.path.exists(TRACE) or not os.path.exists(NCU):
        tap.skip_all("needs ../shared/data/pm")
    tap.main()
