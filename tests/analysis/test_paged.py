#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo operators` and attention over a paged cache: the names of the steps around the calls say how much of it is read. As TAP."""
from __future__ import annotations

import json
import pathlib
import sys
import unittest  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

HEADS, SIZE = 8, 16


def step(ts, keys):
    return {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": ts, "dur": 50,
            "name": f"execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk{keys}sqsq4sqsk{keys})"}


def call(ts, i):
    dims = [[4, HEADS, SIZE], [4, 2, SIZE], [4, 2, SIZE], [4, HEADS, SIZE], []]
    return [{"ph": "X", "cat": "cpu_op", "name": "vllm::unified_attention_with_output", "pid": 1, "tid": 1, "ts": ts, "dur": 8,
             "args": {"Input Dims": dims, "Input type": ["c10::Half"] * 4 + [""]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts + 1, "dur": 2,
             "args": {"correlation": i}},
            {"ph": "X", "cat": "kernel", "name": "kernel_unified_attention_2d", "pid": 0, "tid": 7, "ts": ts + 5, "dur": 4,
             "args": {"correlation": i, "device": 0, "stream": 7}}]


class PagedCase(LpoCase):
    def attention(self, events):
        path = pathlib.Path(self.cwd) / "trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        done = self.lpo("operators", str(path), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["operators"][0]

    def test_each_call_goes_by_its_step(self) -> None:
        row = self.attention([step(0, 100), *call(10, 1), step(100, 300), *call(110, 2)])
        self.assertEqual((row["calls"], row["gpu_ns_total"]), (2, 8000))
        self.assertEqual(row["flops"], 4 * HEADS * SIZE * (100 + 300) / 2)  # the mean of a call
        self.assertEqual(row["bytes"], 2 * 2 * SIZE * (4 * HEADS + 2 * 200))
        self.assertAlmostEqual(row["flops_per_second"], 4 * HEADS * SIZE * 400 / 8e-6)

    def test_without_lengths_nothing_is_known(self) -> None:
        self.assertIsNone(self.attention(call(10, 1))["flops"])
        self.assertIsNone(self.attention([step(0, 100), *call(10, 1), *call(110, 2)])["flops"])


if __name__ == "__main__":
    tap.main()
