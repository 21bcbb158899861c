#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A JAX program on an H200, recorded by the collector: a jitted layer, called five times. XLA's ranges are regions of
domain TSL: modules and HLO ops by their names. A second reader of the format, written from its page, says what must be
in them. Prints TAP."""
from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "collect"))
import lpot  # noqa: E402
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
TRACE = os.path.join(HERE, "..", "data", "native", "jax_layer.lpot.gz")
LAYER = "TSL@jit_layer"


def readable(name: str) -> str:
    """TSL@Kind:#key=value,…# as docs/regions.md says it."""
    found = re.fullmatch(r"TSL@(\w+):#(.*)#", name)
    if not found:
        return name
    values = dict(re.findall(r"(?:^|,)([a-z_]+)=((?:(?!,[a-z_]+=).)*)", found[2]))
    if found[1] in ("XlaModule", "Thunk"):
        return "TSL@" + values[{"XlaModule": "hlo_module", "Thunk": "hlo_op"}[found[1]]]
    return f"TSL@{found[1]} {values.get('name') or values.get('module') or values['hlo_module']}"


class Jax(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        done = subprocess.run([LPO, "regions", "--json", TRACE], capture_output=True, text=True, timeout=120, check=True)
        cls.regions = {r["path"]: r for r in json.loads(done.stdout)["scopes"][0]["regions"]}

    def test_a_call_of_the_layer_is_its_four_kernels(self) -> None:
        self.assertEqual((self.regions[LAYER]["visits"], self.regions[LAYER]["launches"]), (5, 20))
        thunks = {}
        for path, r in self.regions.items():
            if r["parent"] == LAYER and r["launches"]:
                thunks[path.removeprefix(LAYER + "/TSL@")] = (r["visits"], [(k["name"], k["launches"]) for k in r["kernels"]])
        self.assertEqual(thunks, {
            "gemm_fusion_dot_general.2": (5, [("gemm_fusion_dot_general_2", 5)]),
            "triton_softmax.2": (5, [("triton_softmax_2", 5)]),
            "gemm_fusion_dot": (5, [("gemm_fusion_dot", 5)]),
            "loop_multiply_fusion": (5, [("loop_multiply_fusion", 5)]),
        })

    def test_programs_of_one_module_are_one_region(self) -> None:
        self.assertEqual([(p, r["visits"]) for p, r in self.regions.items() if p.startswith("TSL@jit_broadcast_in_dim")],
                         [("TSL@jit_broadcast_in_dim", 3), ("TSL@jit_broadcast_in_dim/TSL@wrapped_broadcast", 3)])

    def test_every_kernel_is_in_the_region_that_the_second_reader_finds(self) -> None:
        want: collections.Counter = collections.Counter()
        for work in lpot.Trace(TRACE).works:
            if work["kind"] == 3 and work["path"]:
                want["/".join(readable(name).replace("/", "\\/") for name in work["path"])] += work["end"] - work["start"]
        got = {path: r["gpu_ns_exclusive"] for path, r in self.regions.items() if r["gpu_ns_exclusive"] and r["kind"] != "outside"}
        self.assertGreater(len(want), 10)
        self.assertEqual(got, dict(want))


if __name__ == "__main__":
    tap.main()
