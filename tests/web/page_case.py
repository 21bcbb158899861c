# SPDX-License-Identifier: Apache-2.0
"""Pages of traces, real and made up, open in a browser: what the tests of report.html share."""
import gzip
import json
import os
import pathlib

import browser
from lpo_case import LpoCase

ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
SHARED = ROOT.parent / "shared/data"
TRACES = [
    ROOT / "tests/data/nsys/h200_ranges.sqlite.gz",
    ROOT / "tests/data/kineto/mi250_train.json.gz",
    SHARED / "traces/kineto/h100_qwen1.5-0.5b.json.gz",
    SHARED / "traces/kineto/mi300_sglang_qwen3-8b_decode_graph.json.gz",
    SHARED / "traces/kineto/v100_ddp_rank1_of2.json.gz",
    SHARED / "traces/nsys/h100_2gpu_fastvideo_infer.sqlite.gz",
]
HOSTILE = ["<script>window.hacked=1</script>", "</script><img src=x onerror='window.hacked=2'>", "a\u202eb\u2066c",
           "k" * 4096, "&lt;b&gt;", "{{constructor}}", "\"'`"]


class PageCase(LpoCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def make(self, trace):
        done = self.lpo("report", str(trace), "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = pathlib.Path(self.cwd) / "out"
        self.trace = str(trace)
        return str(out / "report.html"), json.loads((out / "report.json").read_text())

    def kineto(self, ranges, kernels, more=()):
        """A trace of ranges (name, us, us) and kernels (name, launched at, us)."""
        events = [{"ph": "X", "cat": "user_annotation", "name": n, "pid": 1, "tid": 1, "ts": ts, "dur": dur}
                  for n, ts, dur in ranges]
        for i, (n, ts, dur) in enumerate(kernels):
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts,
                        "dur": 5, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": ts + 10, "dur": dur,
                        "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
        trace = pathlib.Path(self.cwd) / "t.json.gz"
        trace.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": [*events, *more]}).encode()))
        return self.make(trace)

    def families(self):
        """Twelve steps of four layers, each a little longer than the one before."""
        ranges, kernels = [], []
        for step in range(12):
            ranges.append((f"step{step}", 10000 * step, 9000))
            for layer in range(4):
                ranges.append((f"layer{layer}", 10000 * step + 2000 * layer, 1900))
                kernels.append((f"gemm_{layer % 2}", 10000 * step + 2000 * layer + 10, 1000 + step))
        return self.kineto(ranges, kernels)

    def ranks(self):
        """Four ranks of one job, the last of which computes longer; each ends with an all-reduce."""
        files = []
        for rank in range(4):
            events = []
            for i, (name, ts, dur, args) in enumerate([("gemm", 0, 3000 + 2000 * (rank == 3), {}),
                                                       ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 6000, 1000,
                                                        {"Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20,
                                                         "Group size": 4, "dtype": "BFloat16"})]):
                events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9 + rank, "tid": 1, "ts": ts, "dur": 5, "args": {"correlation": i + 1}},
                           {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts + 10, "dur": dur,
                            "args": {"device": 0, "stream": 7, "correlation": i + 1, **args}}]
            path = pathlib.Path(self.cwd) / f"r{rank}.json"
            path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "distributedInfo": {"rank": rank, "world_size": 4}, "traceEvents": events}))
            files.append(str(path))
        done = self.lpo("report", *files, "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = pathlib.Path(self.cwd) / "out"
        return str(out / "report.html"), json.loads((out / "report.json").read_text())

    def hostile(self):
        return self.kineto([(n, 1000 * i, 900) for i, n in enumerate(HOSTILE)],
                           [(n, 1000 * i + 10, 300) for i, n in enumerate(HOSTILE)])

    def long_evidence(self):
        """Findings name a kernel without a place to break its name."""
        return self.kineto([("step", 0, 20000)], [("ncclDevKernel_" + "Sum" * 60, 1000 * i, 900) for i in range(20)])
