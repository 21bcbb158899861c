#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo operators` where the work of a call is not in its shapes alone but in its "Concrete Inputs": operators of libraries, reductions, and
operators of the user's own by `--rule`. Every number is worked out by hand. As TAP."""
from __future__ import annotations

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

HALF = "c10::Half"


def call(name, ts, dims, types, values):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5,
            "args": {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}}


QUERY = [2, 8, 4, 32]
ATTENTION = ([QUERY] * 3 + [[]] * 3, [HALF] * 3 + ["Scalar"] * 3)
CALLS = [
    call("_C::gptq_marlin_gemm", 0, [[8, 32], [2, 32], [4, 16], [64], [], [], []], [HALF, "int", HALF, "int"] + ["Scalar"] * 3,
         ["", "", "", "", "8", "16", "32"]),
    call("aten::sum", 10, [[8, 4, 16], [], [], []], ["float", "ScalarList", "Scalar", ""], ["", "[-1, 0]", "False", ""]),
    call("my::attention_of_ours", 20, *ATTENTION, ["", "", "", "0.", "0.1", "True"]),
    call("my::see_all", 30, *ATTENTION, ["", "", "", "0.", "0.1", "False"]),
    call("my::see_before", 40, *ATTENTION, ["", "", "", "0.", "0.1", "True"]),
]


class Values(LpoCase):
    def operators(self, *words):
        path = pathlib.Path(self.cwd) / "trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": CALLS}))
        done = self.lpo("operators", str(path), "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {o["name"]: o for o in json.loads(done.stdout)["operators"]}

    def test_operators_of_libraries_and_reductions(self) -> None:
        ops = self.operators()
        self.assertEqual(ops["_C::gptq_marlin_gemm"]["flops"], 2 * 8 * 16 * 32)
        self.assertEqual(ops["aten::sum"]["bytes"], 4 * (512 + 4))
        self.assertIsNone(ops["my::see_all"]["flops"])

    def test_operators_of_the_user(self) -> None:
        ops = self.operators("--rule", "flash_attn::_flash_attn_forward=my::*")
        whole = 4 * 2 * 4 * 8 * 8 * 32
        self.assertEqual({n: o["flops"] for n, o in ops.items() if n.startswith("my::")},
                         {"my::attention_of_ours": whole // 2, "my::see_all": whole, "my::see_before": whole // 2})


if __name__ == "__main__":
    tap.main()
