#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of jax.profiler (trace.json.gz, as XProf writes them): GPU time by HLO module and op, launches, steps. The trace is
made here, so that every number is known; the sums of a real one (tests/gpu/jax_trace.py on an H200) are compared with a
second reading. Prints TAP."""
from __future__ import annotations

import collections
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))


def meta(pid, name, tid=None):
    return {"ph": "M", "pid": pid, "name": "thread_name" if tid is not None else "process_name", "args": {"name": name}} | (
        {"tid": tid} if tid is not None else {})


def kernel(ts, dur, name, op, correlation, place=None, **more):
    return {"ph": "X", "pid": 1, "tid": 14, "ts": ts, "dur": dur, "name": name, "args": {
        "hlo_module": "jit_step", "hlo_op": op, "correlation_id": str(correlation), "name": f"jit(step)/{op}" if place is None else place, "program_id": "7",
        "kernel_details": "regs:40 static_shared:512 dynamic_shared:0 grid:8,2,1 block:128,1,1 occ_pct:50"} | more}


EVENTS = [
    meta(1, "/device:GPU:0"), meta(1, "Stream #14(Compute)", 14), meta(1, "Stream #15(MemcpyH2D)", 15), meta(1, "XLA Ops", 90),
    meta(701, "/host:CPU"), meta(701, "python", 7), meta(702, "/host:metadata"),
    kernel(100.125, 10.5, "gemm_fusion_dot_3", "gemm_fusion_dot.3", 11),
    kernel(120, 2.001, "loop_add_fusion", "loop_add_fusion", 12),
    kernel(200.125, 11.5, "gemm_fusion_dot_3", "gemm_fusion_dot.3", 21),
    {"ph": "X", "pid": 1, "tid": 14, "ts": 240, "dur": 1, "name": "ampere_sgemm_32x32", "args": {"correlation_id": "22"}},
    {"ph": "X", "pid": 1, "tid": 15, "ts": 90, "dur": 3, "name": "MemcpyH2D", "args": {
        "correlation_id": "10", "memcpy_details": "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}},
    {"ph": "X", "pid": 1, "tid": 15, "ts": 94, "dur": 0.5, "name": "Memset", "args": {"memset_details": "kind:device num_bytes:64 async:1"}},
    # derived from the streams: counted, it would be counted twice
    {"ph": "X", "pid": 1, "tid": 90, "ts": 100.125, "dur": 10.5, "name": "gemm_fusion_dot.3", "args": {"hlo_op": "gemm_fusion_dot.3"}},
    {"ph": "X", "pid": 701, "tid": 7, "ts": 80, "dur": 70, "name": "train", "args": {"step_num": "0"}},
    {"ph": "X", "pid": 701, "tid": 7, "ts": 180, "dur": 70, "name": "train", "args": {"step_num": "1"}},
    {"ph": "X", "pid": 701, "tid": 7, "ts": 85, "dur": 40, "name": "PjitFunction(step)"},
    {"ph": "X", "pid": 701, "tid": 7, "ts": 84, "dur": 45, "name": "$train.py:12 main"},
    *({"ph": "X", "pid": 701, "tid": 7, "ts": 86 + 100 * (i >= 21) + i % 10, "dur": 0.5, "name": "cuLaunchKernelEx",
       "args": {"correlation_id": str(i)}} for i in (10, 11, 12, 21, 22)),
    {},
]


class Xprof(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temp = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.temp.name, "host.trace.json.gz")
        with gzip.open(cls.path, "wt") as f:
            json.dump({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": EVENTS}, f)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temp.cleanup()

    def lpo(self, *words: str):
        done = subprocess.run([LPO, *words, "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_modules_and_ops_are_regions(self) -> None:
        regions = {r["path"]: (r["launches"], r["gpu_ns_inclusive"]) for r in self.lpo("regions", self.path)["scopes"][0]["regions"]
                   if r["launches"]}
        self.assertEqual(regions["TSL@jit_step"], (3, 24001))
        self.assertEqual(regions["TSL@jit_step/TSL@gemm_fusion_dot.3"], (2, 22000))
        self.assertEqual(regions["TSL@jit_step/TSL@loop_add_fusion"], (1, 2001))

    def test_scopes_of_the_program_stand_between_module_and_op(self) -> None:
        events = [e for e in EVENTS if e.get("ph") == "M"] + [
            kernel(100, 10, "gemm", "gemm.1", 11, "jit(step)/jvp(layer)/attn/dot_general"),
            kernel(120, 3, "gemm", "gemm.2", 12, "jit(step)/transpose(jvp(layer))/attn/dot_general"),
            kernel(130, 5, "add", "fusion.3", 13, "", tf_op="jit(step)/jvp(layer)/add:"),
            kernel(140, 7, "mul", "fusion.4", 14, "jit(step)/mul")]
        path = os.path.join(self.temp.name, "scopes.trace.json.gz")
        with gzip.open(path, "wt") as f:
            f.write(json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}))
        regions = {r["path"].replace("TSL@", ""): r["gpu_ns_inclusive"] for r in self.lpo("regions", path)["scopes"][0]["regions"]
                   if r["launches"]}
        self.assertEqual(regions, {
            "jit_step": 25000, "jit_step/layer": 15000, "jit_step/layer/attn": 10000, "jit_step/layer/attn/gemm.1": 10000,
            "jit_step/layer/fusion.3": 5000, "jit_step/layer (backward)": 3000, "jit_step/layer (backward)/attn": 3000,
            "jit_step/layer (backward)/attn/gemm.2": 3000, "jit_step/fusion.4": 7000})

    def test_every_kernel_counts_once(self) -> None:
        kernels = {k["name"]: (k["launches"], k["gpu_ns"]) for k in self.lpo("top", self.path)["kernels"]}
        self.assertEqual(kernels, {"gemm_fusion_dot_3": (2, 22000), "loop_add_fusion": (1, 2001), "ampere_sgemm_32x32": (1, 1000)})

    def test_the_report_has_wall_time_and_steps(self) -> None:
        doc = self.lpo("report", self.path)
        self.assertEqual(doc["wall"][0]["span_ns"], 151000)  # 90 to 241 us
        self.assertEqual(doc["wall"][0]["compute_ns"], 25001)
        self.assertEqual(doc["wall"][0]["exposed_copy_ns"], 3500)
        self.assertEqual(doc["scopes"][0]["copies"], {"count": 1, "ns": 3000, "bytes": 4096})
        self.assertEqual([(s["name"], s["wall_ns"]) for s in doc["steps"]["steps"]], [("step 0", 100000), ("step 1", 70000)])

    def test_the_report_says_whose_trace_it_is(self) -> None:
        out = os.path.join(self.temp.name, "out")
        subprocess.run([LPO, "report", self.path, "-o", out], capture_output=True, timeout=60, check=True)
        with open(os.path.join(out, "report.md"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn("jax.profiler", text)
        self.assertNotIn("PyTorch", text)

    def test_real_traces(self) -> None:
        paths = sorted(glob.glob(os.path.join(HERE, "..", "data", "jax", "*.json.gz")))
        self.assertTrue(paths)
        for path in paths:
            with gzip.open(path, "rt") as f:
                events = json.load(f, parse_float=Decimal, parse_int=Decimal)["traceEvents"]
            gpus = {e["pid"] for e in events if e.get("name") == "process_name" and e["args"]["name"].startswith("/device:GPU:")}
            streams = {(e["pid"], e["tid"]) for e in events if e.get("name") == "thread_name" and e["pid"] in gpus
                       and e["args"]["name"].startswith("Stream #")}
            want: collections.Counter = collections.Counter()
            works, graph = [], 0
            for e in events:
                args = e.get("args") or {}
                if e.get("ph") == "X" and (e["pid"], e["tid"]) in streams and args.get("hlo_module") and args.get("hlo_op") and \
                        not e["name"].startswith("Mem"):
                    ns = [int((x * 1000).to_integral_value()) for x in (e["ts"], e["dur"])]
                    want[f"TSL@{args['hlo_module']}/TSL@{args['hlo_op']}"] += ns[1]
                if e.get("ph") == "X" and (e["pid"], e["tid"]) in streams:
                    works.append(tuple(int((x * 1000).to_integral_value()) for x in (e["ts"], e["ts"] + e["dur"])))
                    graph += "cuda_graph_id" in args
            got = {r["path"]: r["gpu_ns_exclusive"] for r in self.lpo("regions", path)["scopes"][0]["regions"]
                   if r["gpu_ns_exclusive"] and r["depth"] == 1}
            self.assertTrue(want)
            self.assertEqual(got, dict(want), path)
            doc = self.lpo("report", path)
            self.assertEqual(doc["wall"][0]["span_ns"], max(w[1] for w in works) - min(w[0] for w in works))
            self.assertEqual(sum(k["launches"] for k in doc["kernels"]), len(works))
            self.assertEqual(doc["scopes"][0]["coverage"]["no_launch_record"]["launches"], 0)
            self.assertEqual(doc["steps"]["count"], sum("step_num" in (e.get("args") or {}) for e in events))
            self.assertEqual(doc["steps"]["groups"][0]["graph_operations"], graph)
            self.assertEqual(graph, 66)  # all of them: XLA runs the step as a command buffer
            self.assertEqual(doc["wall"][0]["blocked_calls"], [])  # a launch that is named by its kernel blocks nobody


if __name__ == "__main__":
    tap.main()
