#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rocprofv3's JSON: kernels, copies, calls and ROCTx ranges of a file that is made here, and the sums of a public one by a second
reading. Prints TAP."""
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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
REAL = sorted(glob.glob(os.path.join(HERE, "..", "..", "..", "shared", "data", "traces", "rocprof", "*.json.gz")))


def at(start: int, end: int, correlation: int, **more) -> dict:
    return {"size": 9, "thread_id": 7, "correlation_id": {"internal": correlation, "external": 0}, "start_timestamp": start,
            "end_timestamp": end} | more


def dispatch(start: int, end: int, correlation: int, kernel: int) -> dict:
    return at(start, end, correlation, kind=3, operation=2, stream_id={"handle": 5}, dispatch_info={
        "agent_id": {"handle": 20}, "queue_id": {"handle": 1}, "kernel_id": kernel, "group_segment_size": 64,
        "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 2, "z": 1}})


MADE = {"rocprofiler-sdk-tool": [{
    "metadata": {"pid": 908, "command": ["private"]},
    "agents": [{"id": {"handle": 10}, "type": 1, "product_name": "a CPU"},
               {"id": {"handle": 20}, "type": 2, "product_name": "AMD Instinct MI350X", "cu_count": 256, "logical_node_type_id": 3}],
    "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
                                   {"kind": "MARKER", "operations": ["roctxMarkA", "roctxRangePushA"]}],
                "marker_api": [{"key": 50, "value": "step/1"}, {"key": 51, "value": "a mark"}]},
    "kernel_symbols": [{"kernel_id": 8, "kernel_name": "_Z4axpyv", "formatted_kernel_name": "axpy()", "arch_vgpr_count": 32}],
    "buffer_records": {
        "kernel_dispatch": [dispatch(1000, 1400, 1, 8), dispatch(2000, 2100, 2, 8), dispatch(9000, 9050, 3, 99)],
        "hip_api": [at(900, 950, 1, kind=1, operation=0), at(1900, 1950, 2, kind=1, operation=0), at(2200, 2300, 4, kind=1, operation=1)],
        "memory_copy": [at(2500, 2600, 4, kind=2, operation=1, bytes=4096, src_agent_id={"handle": 10}, dst_agent_id={"handle": 20})],
        "marker_api": [at(800, 1800, 50, kind=2, operation=1), at(1000, 1000, 51, kind=2, operation=0)]}}]}


class Rocprof(unittest.TestCase):
    def ask(self, command: str, content: bytes | str) -> dict:
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            if isinstance(content, bytes):
                f.write(content)
                f.flush()
            done = subprocess.run([LPO, command, f.name if isinstance(content, bytes) else content, "--json"], capture_output=True,
                                  text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_kernels_and_copies(self) -> None:
        kernels = {k["name"]: (k["launches"], k["gpu_ns"]) for k in self.ask("top", json.dumps(MADE).encode())["kernels"]}
        self.assertEqual(kernels["axpy()"], (2, 500))
        self.assertEqual(kernels["(kernel without a name)"], (1, 50))

    def test_ranges_by_the_launch(self) -> None:
        regions = {r["path"]: r for r in self.ask("regions", json.dumps(MADE).encode())["scopes"][0]["regions"]}
        self.assertEqual((regions["step\\/1"]["launches"], regions["step\\/1"]["gpu_ns_inclusive"]), (1, 400))
        self.assertEqual(len([p for p in regions if "mark" in p]), 0)

    def test_cut(self) -> None:
        whole = json.dumps(MADE).encode()
        for length in range(30, len(whole), 53):
            with tempfile.NamedTemporaryFile(suffix=".json") as f:
                f.write(whole[:length])
                f.flush()
                done = subprocess.run([LPO, "regions", f.name], capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    @unittest.skipUnless(REAL, "needs ../shared/data/traces/rocprof")
    def test_public_files(self) -> None:
        for path in REAL:
            want: dict[str, int] = collections.defaultdict(int)
            with gzip.open(path) as f:
                for process in json.load(f)["rocprofiler-sdk-tool"]:
                    names = {k["kernel_id"]: k["formatted_kernel_name"] for k in process["kernel_symbols"]}
                    for r in process["buffer_records"]["kernel_dispatch"]:
                        want[names[r["dispatch_info"]["kernel_id"]]] += r["end_timestamp"] - r["start_timestamp"]
            self.assertEqual({k["name"]: k["gpu_ns"] for k in self.ask("top", path)["kernels"]}, want)


if __name__ == "__main__":
    tap.main()
