#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run of `lpo run` with stage counters on an H200: an 8-layer Llama, prefill of 512 and 16 tokens, three repeats,
samples of 200 us. What its weights must move and what ncu measured of the same kernels stand here as bounds. Prints TAP."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
DATA = os.path.join(HERE, "..", "data", "counters")
STEPS, PREFILLS, LAYERS = 45, 3, 8
LAYER = 2 * (1024 * 1024 * 2 + 1024 * 512 * 2 + 1024 * 2816 * 3)  # bytes of weights
LM_HEAD = 2 * 1024 * 32000

# kernel, grid: bytes of a launch by ncu
GEMMS = {
    ("nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT", (2, 63, 1)): 67.97e6,  # lm_head
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", (4, 11, 1)): 5.785e6,  # gate and up
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", (4, 8, 1)): 5.789e6,  # down
    ("nvjet_sm90_tst_8x64_64x16_2x1_v_bz_TNN", (2, 64, 1)): 2.117e6,  # q and o
    ("nvjet_sm90_tst_8x64_64x16_4x1_v_bz_TNN", (4, 16, 1)): 1.068e6,  # k and v
}


class Sampled(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        words = [LPO, "report", "--json", os.path.join(DATA, "llama8.lpot.gz"), os.path.join(DATA, "llama8.lpoc.gz")]
        cls.report = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout)
        cls.gpu = cls.report["counters"]["gpus"][0]
        cls.regions = {r["path"]: r for r in cls.report["scopes"][0]["regions"]}

    def metric(self, path: str, name: str) -> float:
        found = self.regions[path]["metrics"][name]
        self.assertEqual(found["how"], "sampled")
        return found["value"]

    def near(self, value: float, want: float, share: float) -> None:
        self.assertLess(abs(value / want - 1), share, f"{value} is not {want} within {share:.1%}")

    def test_all_of_the_gpu_time_is_covered_and_nothing_lost_in_it(self) -> None:
        self.assertEqual(self.gpu["covered_ns"], self.gpu["gpu_ns"])
        self.assertEqual(self.gpu["lost_ns"], 0)  # the losses of this file lie before the first kernel
        self.assertTrue(self.gpu["clock"]["sure"])

    def test_a_decode_step_reads_its_weights(self) -> None:
        # the rest of the 0.264 GB is the cache of keys and values and what small kernels read
        step = self.metric("decode/step", "dram_bytes_read") / STEPS
        self.near(step, LAYERS * LAYER + LM_HEAD, 0.10)
        self.assertGreater(step, LAYERS * LAYER + LM_HEAD)
        written = self.metric("decode/step", "dram_bytes_written") / STEPS
        self.near(step + written, 0.2735e9, 0.015)  # what two other runs moved

    def test_lm_head_and_layers_of_a_step(self) -> None:
        self.near(self.metric("decode/step/lm_head", "dram_bytes_read") / STEPS, LM_HEAD, 0.02)
        for k in range(LAYERS):
            self.near(self.metric(f"decode/step/layer{k}", "dram_bytes_read") / STEPS, LAYER, 0.12)

    def test_a_prefill_reads_its_weights_and_uses_tensor_cores(self) -> None:
        self.near(self.metric("prefill", "dram_bytes_read") / PREFILLS, LAYERS * LAYER + LM_HEAD, 0.05)
        self.assertGreater(self.metric("prefill", "tensor_active"), 10 * self.metric("decode", "tensor_active"))

    def test_gemms_are_what_ncu_measured(self) -> None:
        found = {(k["name"], tuple(k.get("grid", ()))): k["metrics"]["dram_bytes_both"] for k in self.gpu["kernels"]}
        for key, want in GEMMS.items():
            with self.subTest(key[0]):
                self.near(found[key]["value"], want, 0.07)
                self.assertLess(found[key]["error"], 0.1 * want)


if __name__ == "__main__":
    tap.main()
