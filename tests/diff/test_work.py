#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo diff by unit of work: which unit, whether a change is real, and its cause first, on made and on real pairs. Prints TAP."""
from __future__ import annotations

import json
import os
import random
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402
from traces import Kernel, Program, Region  # noqa: E402

SHARED = os.path.join(HERE, "..", "..", "..", "shared", "data", "diagnoses")


class WorkCase(LpoCase):
    def file(self, name: str, program: Program) -> str:
        return program.write(os.path.join(self.cwd, name))

    def diff(self, a: str, b: str, *words: str, want: int = 0) -> dict:
        done = self.lpo("diff", a, b, "--json", *words)
        self.assertEqual(done.returncode, want, done.stderr + done.stdout[:300])
        out = json.loads(done.stdout)
        if out["wall"]["a_ns"] is not None and out["causes"]:  # every cause is in the list, or in its rest
            by = out["wall"]["b_step_ns"] - out["wall"]["a_step_ns"]
            self.assertAlmostEqual(sum(c["delta_ns"] for c in out["causes"]), by, delta=2 + 1e-6 * abs(out["wall"]["a_step_ns"]))
        return out

    def pair(self, a: Program, b: Program, *words: str, want: int = 0) -> dict:
        return self.diff(self.file("a.json", a), self.file("b.json", b), *words, want=want)


def attention_only(ns: int) -> Region:
    return Region("none", [Kernel("flash_fwd_kernel", ns)])


def products(rows: int, us: float) -> dict:
    """Eight steps of ten products whose operator has shapes."""
    events: list[dict] = []
    at = 0.0
    for step in range(8):
        begin = at
        for k in range(10):
            number = step * 10 + k + 1
            common = {"ph": "X", "pid": 1, "tid": 1}
            events += [{**common, "cat": "cpu_op", "name": "aten::mm", "ts": at, "dur": 18,
                        "args": {"Input Dims": [[rows, 1024], [1024, 1024]], "Input type": ["c10::BFloat16"] * 2}},
                       {**common, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 2, "dur": 5, "args": {"correlation": number}},
                       {"ph": "X", "cat": "kernel", "name": "gemm_bf16", "pid": 0, "tid": 7, "ts": at + 10, "dur": us - 2 + (number % 3) * 0.5,
                        "args": {"correlation": number, "device": 0, "stream": 7}}]
            at += us
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step + 3}", "pid": 1, "tid": 1, "ts": begin, "dur": at - begin - 1})
    return {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}


class OtherWork(WorkCase):
    def test_twice_the_rows_are_compared_per_flop(self) -> None:
        for name, rows, us in (("a.json", 4096, 100), ("b.json", 8192, 198)):
            with open(os.path.join(self.cwd, name), "w", encoding="utf-8") as f:
                json.dump(products(rows, us), f)
        out = self.diff("a.json", "b.json")
        self.assertIn("aten::mm [[4096,1024],[1024,1024]] in A, aten::mm [[8192,1024],[1024,1024]] in B", out["sentence"])
        self.assertIn("GPU time for each TFLOP of its operators", out["sentence"])
        per_flop = [float(x) for x in out["sentence"].split("TFLOP of its operators: ")[1].replace(" in B", "").split(" ms")[0:1]]
        self.assertAlmostEqual(per_flop[0] / (98.5e-3 / (2 * 4096 * 1024 * 1024 / 1e12)), 1, delta=0.01)
        self.assertNotIn("TFLOP", self.diff("a.json", "a.json")["sentence"])


class Units(WorkCase):
    def test_captures_of_one_length(self) -> None:
        """68 and 60 units in the same time: the span is equal, and each unit takes 13 % more."""
        a, b = (Program(steps=n, make=lambda ns=300_000_000 // n - 10_000: attention_only(ns)) for n in (68, 60))
        a.ranges = b.ranges = False
        out = self.pair(a, b, "--fail-over", "3%", want=4)
        self.assertAlmostEqual(out["wall"]["a_ns"], out["wall"]["b_ns"], delta=2e6)
        self.assertEqual((out["unit"]["kind"], round(out["unit"]["a"]), round(out["unit"]["b"])), ("launch", 68, 60))
        self.assertAlmostEqual(out["wall"]["change"], 68 / 60 - 1, delta=0.002)
        self.assertEqual((out["verdict"], out["causes"][0]["b"]["name"]), ("slower", "flash_fwd_kernel"))

    def test_work_that_was_cut_off_at_the_ends(self) -> None:
        """Kernels that do not come at exactly one rate: the same program in 40 and 33 layers of it."""
        def cut(steps: int, drop: int) -> Program:
            p = Program(steps=steps)
            p.ranges = False
            p.steps[0].inside = p.steps[0].inside[drop:]
            return p
        out = self.pair(cut(10, 1), cut(8, 2), "--fail-over", "2%")
        self.assertEqual((out["unit"]["kind"], out["verdict"]), ("launch", "no change"))
        self.assertEqual([k["name"] for k in out["kernels"] if k["significant"]], [])

    def test_calls_of_a_region_where_there_are_no_steps(self) -> None:
        a, b = Program(steps=12), Program(steps=9).scaled("flash_fwd_kernel", 1.5)
        a.marked = b.marked = False
        out = self.pair(a.jittered(0.01, 1), b.jittered(0.01, 2), "--fail-over", "3%", want=4)
        self.assertEqual((out["unit"]["kind"], out["unit"]["name"]), ("call", "forward"))
        self.assertEqual(out["causes"][0]["b"]["name"], "flash_fwd_kernel")


class Real(WorkCase):
    def steps(self, n: int, factor: float, seed: int, noise: float = 0.01) -> Program:
        rng = random.Random(seed)
        p = Program(steps=n)
        for s in p.steps:
            by = factor * rng.gauss(1, noise)
            for k in p.kernels(s):
                k.ns = round(k.ns * by)
        return p

    def test_twenty_clean_steps_are_evidence(self) -> None:
        out = self.pair(self.steps(20, 1, 1), self.steps(20, 1.04, 2), "--fail-over", "1%", want=4)
        self.assertEqual((out["verdict"], out["unsure"], out["wall"]["basis"]), ("slower", False, "steps"))
        self.assertTrue(out["wall"]["change_low"] < 0.04 < out["wall"]["change_high"])
        self.assertGreater(out["wall"]["visible"], 0)
        self.assertTrue(out["wall"]["change_low"] <= out["regression"] < 0.04)
        self.pair(self.steps(20, 1, 1), self.steps(20, 1.04, 2), "--fail-over", "4%")

    def test_three_steps_prove_nothing(self) -> None:
        out = self.pair(self.steps(3, 1, 1), self.steps(3, 1.1, 2).scaled("flash_fwd_kernel", 1.5), "--fail-over", "3%", want=4)
        self.assertEqual((out["verdict"], out["unsure"], out["wall"]["significant"]), ("unsure", True, False))
        self.assertEqual(out["causes"][0]["b"]["name"], "flash_fwd_kernel")
        out = self.pair(self.steps(3, 1, 3), self.steps(3, 1.005, 4), "--fail-over", "0%")
        self.assertEqual((out["verdict"], out["unsure"]), ("no change", False))

    def test_one_step_that_took_longer_is_named_as_such(self) -> None:
        a = self.steps(10, 1, 1)
        b = self.steps(10, 1, 2).waiting("cpu_op", "garbage_collect", 8_000_000, 6)
        out = self.pair(a, b, "--fail-over", "5%", want=4)
        self.assertEqual((out["verdict"], out["unsure"]), ("unsure", True))
        self.assertEqual([out["wall"]["pauses"][s]["count"] for s in "ab"], [0, 1])
        self.assertAlmostEqual(out["wall"]["pauses"]["b"]["ns"], 8e6, delta=3e5)
        self.assertEqual((out["causes"][0]["kind"], out["causes"][0]["b"]["name"]), ("idle", "garbage_collect"))
        self.assertAlmostEqual(out["causes"][0]["delta_ns"], 8e5, delta=2e4)


class Causes(WorkCase):
    def first(self, out: dict) -> dict:
        self.assertNotEqual(out["causes"][0]["kind"], "rest")
        return out["causes"][0]

    def test_a_wait_in_a_call_and_the_idle_time_behind_it_are_one_row(self) -> None:
        b = Program().waiting("cuda_runtime", "cudaStreamSynchronize", 300_000)
        for a, b, sign in ((Program(), b, 1), (b, Program(), -1)):
            out = self.pair(a, b, "--fail-over", "3%", want=4 if sign > 0 else 0)
            cause = self.first(out)
            self.assertEqual((cause["kind"], cause["b"]["name"]), ("idle", "cudaStreamSynchronize"))
            self.assertAlmostEqual(cause["delta_ns"], sign * 300_000, delta=10_000)
            self.assertEqual([c["kind"] for c in out["causes"][1:] if abs(c["delta_ns"]) > 10_000], [])

    def test_kernels_that_gave_way_to_others_are_one_row(self) -> None:
        b = Program().fused("norm", "triton_fused_norm", 30021)
        cause = self.first(self.pair(Program(), b))
        self.assertEqual(cause["kind"], "kernels")
        self.assertIn("triton_fused_norm", cause["b"]["name"])
        self.assertAlmostEqual(cause["delta_ns"], (b.gpu_ns() - Program().gpu_ns()) / 10, delta=2)

    def test_one_of_four_equal_layers(self) -> None:
        b = Program()
        for region in b.regions("layer2"):
            for k in b.kernels(region):
                k.ns = round(k.ns * 1.4)
        out = self.pair(Program(), b, "--fail-over", "3%", want=4)
        self.assertEqual({c["member"].split("/")[-2] for c in out["causes"] if c["member"]}, {"layer2"})
        self.assertTrue(self.first(out)["member"])

    def test_a_kernel_is_launched_more_often(self) -> None:
        b = Program()
        for region in b.regions("mlp"):
            region.kernels += [Kernel("silu_mul_kernel", 9013)] * 3
        cause = self.first(self.pair(Program(), b))
        self.assertEqual((cause["b"]["name"], cause["a"]["count"], cause["b"]["count"]), ("silu_mul_kernel", 4, 16))

    def test_all_kernels_slower_are_one_row(self) -> None:
        """As under another clock: no kernel is named alone."""
        a = Program().jittered(0.002, 1)
        out = self.pair(a, a.scaled(None, 1.08), "--fail-over", "3%", want=4)
        cause = self.first(out)
        self.assertIn("nearly all kernels", cause["b"]["name"])
        self.assertGreater(cause["delta_ns"], 0.9 * 0.08 * a.gpu_ns() / 10)
        self.assertEqual([c["kind"] for c in out["causes"]], ["kernel", "rest"])

    def test_nothing_is_new_because_it_crossed_a_line(self) -> None:
        """The same idle time on both sides is no cause, whatever share of the window it is."""
        a = Program().waiting("cpu_op", "load", 20_000)
        out = self.pair(a, a.scaled("flash_fwd_kernel", 3))
        self.assertEqual([c["kind"] for c in out["causes"] if abs(c["delta_ns"]) > 1000], ["kernel"])


@unittest.skipUnless(os.path.isdir(SHARED), "real pairs are in ../shared/data/diagnoses")
class Pairs(WorkCase):
    """Pairs whose cause an expert named: it is the first one here."""

    def test_real_pairs(self) -> None:
        for a, b, kind, name, least, most in (
                ("tlc_test02_attention_both_unfused_1.json.gz", "tlc_test02_attention_both_unfused_2.json.gz", "kernels", "xmma", -1e5, -7e4),
                ("tlc_test06_conv_gap_exceeds_roofline_1.json.gz", "tlc_test06_conv_gap_exceeds_roofline_2.json.gz", "kernels", "conv", -2e6, -1.9e6),
                ("kineto_workers0_a.json.gz", "kineto_workers4_a.json.gz", "idle", "DataLoader", -6e7, -5e7),
                ("jh_num-workers-0-batch-size-16.json.gz", "jh_num-workers-8-batch-size-16.json.gz", "idle", "__next__", -2.5e5, -2.4e5),
                ("mem_forward_memory_snapshot_200.pickle", "mem_forward_memory_snapshot_200_mixed_precision.pickle", "memory", "softmax", None, None),
                ("ncu_rms_v1.ncu-rep", "ncu_rms_v2.ncu-rep", "kernel", "rms_norm", -1.2e5, -1.18e5),
                ("fault_resnet.json.gz", "fault_recompile.json.gz", "idle", "_compile.compile_inner (dynamo_timed)", 6.2e7, 6.4e7),
                ("fault_timesformer.json.gz", "fault_upcast.json.gz", "kernels", "ampere_sgemm", 1.92e7, 1.93e7),
                ("fault_dualpipe.json.gz", "fault_one_stream.json.gz", "exposed", "", 1.06e8, 1.08e8),
                ("fault_timesformer.json.gz", "fault_slow_layer.json.gz", "kernel", "cutlass", 3.5e6, 3.7e6)):
            with self.subTest(b):
                out = self.diff(os.path.join(SHARED, a), os.path.join(SHARED, b))
                cause = out["causes"][0]
                self.assertEqual(cause["kind"], kind)
                self.assertIn(name, cause["b"]["name"] + (cause["a"]["name"] or ""))
                if least is not None:
                    self.assertTrue(least <= cause["delta_ns"] <= most, cause["delta_ns"])
                if "memory_snapshot" in b:
                    self.assertEqual(out["verdict"], "less memory")
                    self.diff(os.path.join(SHARED, b), os.path.join(SHARED, a), "--fail-over", "3%", want=4)
                if "slow_layer" in b:
                    self.assertTrue(cause["member"].endswith("TimesformerLayer_7"))


if __name__ == "__main__":
    tap.main()
