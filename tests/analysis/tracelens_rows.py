#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo operators --json` beside what TraceLens reports about its own traces (AMD-AGI/TraceLens, tests/traces/h100, MIT): calls are
equal, GPU time and FLOPs within 0.5 %. TraceLens counts the bias of a product, which is less than that. The traces are not part of
this repository: without them the test is skipped. Prints TAP."""
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
TRACES = os.path.join(HERE, "..", "..", "..", "shared", "data", "traces", "kineto")

# name, shapes of the tensors, calls, GFLOP of a call, GPU time of all of them in us
ROWS = {
    "h100_bert_small": [
        ("aten::addmm", [[512], [141, 512], [512, 512]], 17, 0.0739968, 98.718),
        ("aten::addmm", [[30522], [141, 512], [512, 30522]], 1, 4.41119205, 41.28),
        ("aten::addmm", [[512], [141, 2048], [2048, 512]], 4, 0.295770624, 33.089),
        ("aten::addmm", [[2048], [141, 512], [512, 2048]], 4, 0.2959872, 24.511),
        ("aten::_scaled_dot_product_flash_attention", [[1, 8, 141, 64]] * 3, 4, 0.040716288, 37.408),
        ("aten::_flash_attention_forward", [[1, 141, 8, 64]] * 3, 4, 0.040716288, 37.408),
    ],
    "h100_owlv2_large": [
        ("aten::convolution", [[1, 3, 1008, 1008], [1024, 3, 14, 14]], 5, 6.242697216, 1350.804),
    ],
    "h100_qwen1.5-0.5b": [
        ("aten::mm", [[8944, 1024], [1024, 2816]], 48, 51.581550592, 4055.252),
        ("aten::mm", [[8944, 2816], [2816, 1024]], 24, 51.581550592, 1835.287),
        ("aten::addmm", [[1024], [8944, 1024], [1024, 1024]], 72, 18.766086144, 2329.076),
        ("aten::_scaled_dot_product_flash_attention", [[16, 16, 559, 64]] * 3, 24, 10.239377408, 2722.704),
        ("aten::copy_", [[16, 16, 559, 64]] * 2, 72, None, 2108.188),
        ("aten::cat", [[[16, 16, 559, 32], [16, 16, 559, 32]]], 48, None, 2014.327),
        ("aten::add", [[16, 16, 559, 64]] * 2, 48, None, 1671.096),
        ("aten::mul", [[16, 559, 1024], [16, 559, 1]], 49, None, 1608.922),
    ],
}

# GPU time that operators of one name launched themselves, in us
SUMS = {
    "h100_owlv2_large": {
        "aten::_softmax": 262538.216, "aten::bmm": 229703.849, "aten::addmm": 28590.304, "aten::copy_": 22153.834,
        "aten::mul": 10195.417, "aten::native_layer_norm": 4242.812, "aten::sigmoid": 4102.414, "aten::add": 2831.952,
        "aten::cudnn_convolution": 1350.804, "aten::index_select": 249.694, "aten::cat": 219.806, "aten::gelu": 176.769,
        "aten::div": 98.878, "aten::linalg_vector_norm": 72.383, "aten::mm": 60.028, "aten::index": 22.176, "aten::add_": 22.144,
        "aten::argmax": 18.527, "aten::where": 14.657, "aten::masked_fill_": 14.587, "aten::arange": 13.280, "aten::fill_": 12.992,
        "aten::lt": 10.687, "aten::eq": 10.048, "aten::gt": 9.247, "aten::elu": 8.479, "aten::exp": 8.447, "aten::sub": 7.040,
    },
}

# the same of another report, with the calls that launched something
CALLS = {
    "h100_qwen1.5-0.5b": {
        "aten::mul": (6752.900, 220), "aten::mm": (6668.682, 96), "aten::copy_": (5101.935, 197),
        "aten::_flash_attention_forward": (2722.704, 24), "aten::add": (2607.515, 145), "aten::addmm": (2329.076, 72),
        "aten::cat": (2017.783, 49), "aten::pow": (1300.795, 49), "aten::silu": (925.115, 24), "aten::mean": (743.327, 49),
        "aten::neg": (587.327, 48), "aten::rsqrt": (79.076, 49), "aten::index_select": (51.776, 1), "aten::all": (4.128, 1),
        "aten::bmm": (3.520, 1), "aten::_local_scalar_dense": (2.368, 1), "aten::cos": (2.080, 1), "aten::sin": (2.016, 1),
        "aten::eq": (1.856, 1), "aten::arange": (1.504, 1),
    },
}


def operators(trace):
    out = subprocess.run([LPO, "operators", "--json", os.path.join(TRACES, trace + ".json.gz")], capture_output=True, text=True,
                         check=True).stdout
    return json.loads(out)["operators"]


class TraceLens(unittest.TestCase):
    def close(self, got, want, what):
        self.assertLessEqual(abs(got - want), 0.005 * want, f"{what}: {got} is not {want}")

    def rows(self, trace):
        """Each row: calls, FLOPs, GPU time."""
        found = operators(trace)
        for name, shapes, calls, gflop, gpu_us in ROWS[trace]:
            mine = [o for o in found if o["name"] == name and [s for s in o["shapes"] if s] == shapes]
            self.assertEqual(len(mine), 1, (name, shapes))
            self.assertEqual(mine[0]["calls"], calls, (name, shapes))
            self.close(mine[0]["gpu_ns_total"] / 1e3, gpu_us, (name, shapes))
            if gflop is not None:
                self.close(mine[0]["flops"] / 1e9, gflop, (name, shapes))

    def test_bert(self):
        self.rows("h100_bert_small")

    def test_owlv2(self):
        self.rows("h100_owlv2_large")

    def test_qwen(self):
        self.rows("h100_qwen1.5-0.5b")

    def test_owlv2_by_name(self):
        found = operators("h100_owlv2_large")
        sums = {}
        for o in found:
            sums[o["name"]] = sums.get(o["name"], 0) + o["gpu_ns_self"] / 1e3
        self.assertEqual({n for n, us in sums.items() if us}, set(SUMS["h100_owlv2_large"]))
        for name, us in SUMS["h100_owlv2_large"].items():
            self.close(sums[name], us, name)

    def test_qwen_by_name(self):
        sums = {}
        for o in operators("h100_qwen1.5-0.5b"):
            if o["gpu_ns_self"]:
                us, calls = sums.get(o["name"], (0, 0))
                sums[o["name"]] = us + o["gpu_ns_self"] / 1e3, calls + o["calls"]
        want = CALLS["h100_qwen1.5-0.5b"]
        self.assertEqual({n: calls for n, (_, calls) in sums.items()}, {n: calls for n, (_, calls) in want.items()})
        for name, (us, _) in want.items():
            self.close(sums[name][0], us, name)


if __name__ == "__main__":
    if not os.path.exists(os.path.join(TRACES, "h100_owlv2_large.json.gz")):
        tap.skip_all("the traces of TraceLens are not here")
    tap.main()
