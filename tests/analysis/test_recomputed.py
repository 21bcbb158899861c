#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo operators --json`: calls that a backward pass did again (activation checkpointing). The trace is read a second time: operators that
only a forward pass calls, on the thread of autograd. As TAP."""
from __future__ import annotations

import gzip
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

TRACE = pathlib.Path(__file__).resolve().parent.parent / "data" / "kineto" / "h200_train_checkpoint.json.gz"
FORWARD = ("aten::linear", "aten::layer_norm", "aten::native_layer_norm", "aten::gelu", "aten::scaled_dot_product_attention",
           "aten::_scaled_dot_product_cudnn_attention", "aten::_cudnn_attention_forward")


def inside(e, o):
    return o["tid"] == e["tid"] and o["ts"] <= e["ts"] and o["ts"] + o["dur"] >= e["ts"] + e["dur"]


class Recomputed(LpoCase):
    def operators(self, path):
        done = self.lpo("operators", str(path), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["operators"]

    def test_calls_and_time_of_what_was_done_again(self) -> None:
        with gzip.open(TRACE) as f:
            events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
        ops = [e for e in events if e["cat"] == "cpu_op"]
        autograd = {e["tid"] for e in ops if e["args"].get("Fwd thread id")}
        again = [o for o in ops if o["tid"] in autograd and o["name"] in FORWARD]  # the last linear is begun, and then given up
        gpu = {}
        for e in events:
            if e["cat"] in ("kernel", "gpu_memset", "gpu_memcpy"):
                gpu[e["args"]["correlation"]] = gpu.get(e["args"]["correlation"], 0) + round(e["dur"] * 1000)
        launches = [e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver") and e["args"].get("correlation") in gpu and e["tid"] in autograd]
        want = {}
        for o in (o for o in again if any(inside(e, o) for e in launches)):
            mine = [e for e in launches if inside(e, o) and not any(p is not o and inside(p, o) and inside(e, p) for p in ops)]
            calls, ns = want.get(o["name"], (0, 0))
            want[o["name"]] = calls + 1, ns + sum(gpu[e["args"]["correlation"]] for e in mine)
        got = {}
        for o in self.operators(TRACE):
            if "recomputed" in o and o["name"] in FORWARD:
                calls, ns = got.get(o["name"], (0, 0))
                got[o["name"]] = calls + o["recomputed"]["calls"], ns + o["recomputed"]["gpu_ns_self"]
        self.assertEqual((len(want), len(again) - sum(calls for calls, _ in want.values())), (len(FORWARD), 1))
        self.assertEqual(got, want)

    def test_a_training_without_it_has_none(self) -> None:
        self.assertFalse(any("recomputed" in o for o in self.operators(TRACE.with_name("mi250_train.json.gz"))))


if __name__ == "__main__":
    tap.main()
