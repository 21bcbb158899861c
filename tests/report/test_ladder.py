#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ladder: small traces with one fault of known size, what the rungs of every real trace must hold, and what an expert says first. Prints TAP."""
from __future__ import annotations

import glob
import json
import os
import sys
import tempfile
import unittest

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

SHARED = os.path.join(SOURCE, "..", "shared", "data")


class Trace:
    """A program that launches kernels; times are microseconds. The GPU takes an operation 5 us after its launch, or 2 us after the one before."""

    def __init__(self) -> None:
        self.events: list[dict] = []
        self.now = self.gpu = 0.0
        self.number = 0

    def host(self, cat: str, name: str, ts: float, dur: float, **args) -> None:
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args})

    def launch(self, name: str, us: float, cost: float = 8, cat: str = "kernel", stream: int = 7, wait: bool = False, **args) -> None:
        self.number += 1
        self.now += cost
        start = max(self.gpu + 2, self.now + 5)
        self.gpu = start + us
        end = self.gpu + 4 if wait else self.now + 4
        self.host("cuda_runtime", "cudaMemcpyAsync" if cat == "gpu_memcpy" else "cudaLaunchKernel", self.now, end - self.now, correlation=self.number)
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": us,
                            "args": {"correlation": self.number, "device": 0, "stream": stream, **args}})
        self.now = end

    def work(self, us: float, name: str = "", cat: str = "cpu_op") -> None:
        if name:
            self.host(cat, name, self.now + 1, us - 2)
        self.now += us

    def sync(self, name: str = "cudaDeviceSynchronize", op: str = "") -> None:
        end = max(self.now, self.gpu) + 3
        if op:
            self.host("cpu_op", op, self.now - 1, end - self.now + 2)
        self.number += 1
        self.host("cuda_runtime", name, self.now, end - self.now, correlation=self.number)
        self.now = end


def program(fault: str) -> tuple[Trace, float]:
    """Eight steps of 40 kernels, the GPU the slower side; and what the fault costs, by hand."""
    t, cost = Trace(), 0.0
    for step in range(8):
        begin = t.now
        for layer in range(10):
            for k in range(4):
                us = 60.0
                name = ("ampere_bf16_s16816gemm_bf16_128x128", "void layer_norm_kernel", "ampere_bf16_s16816gemm_bf16_128x64", "flash_fwd_kernel")[k]
                if fault == "slow layer" and layer == 7 and k in (0, 2):
                    us, cost = 180.0, cost + 120
                t.launch(name, us, grid=[64, 1, 1], block=[128, 1, 1])
                if fault == "sync" and k == 3:
                    t.sync("cudaStreamSynchronize", "aten::item")
        if fault == "copy":
            t.launch("Memcpy HtoD (Pageable -> Device)", 800, cat="gpu_memcpy", wait=True, bytes=4 << 20)
        t.sync()
        if fault == "data":
            t.work(900, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
            cost += 900
        if fault == "host":
            t.work(700, "write_log")
            cost += 700
        if fault == "pause" and step in (2, 5):
            t.work(2500, "gc.collect")
            cost += 2500
        if fault == "compile" and step == 4:
            t.work(6000, "_compile.compile_inner (dynamo_timed)", "user_annotation")
            cost += 6000
        if fault == "allocator":
            for name in ("cudaMalloc", "cudaMalloc"):
                t.host("cuda_runtime", name, t.now + 1, 300)
                t.now += 302
            cost += 600
        t.host("user_annotation", f"ProfilerStep#{step + 3}", begin, t.now - begin - 1)
    return t, cost


FAULTS = [("slow layer", "slow-sibling"), ("sync", "blocked-in-call"), ("data", "data-loading"), ("host", "host-work"), ("pause", "pause"),
          ("compile", "recompilation"), ("allocator", "allocator"), ("copy", "pageable-copies")]


class LadderCase(LpoCase):
    def report(self, path: str) -> dict:
        done = self.lpo("report", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def of(self, t: Trace, gpu: str = "NVIDIA A100-SXM4-80GB") -> dict:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": gpu, "computeMajor": 9, "computeMinor": 0}],
                       "traceEvents": t.events}, f)
            f.flush()
            return self.report(f.name)

    def holds(self, r: dict) -> None:
        """What every ladder holds."""
        ladder, left = r["ladder"], r["ladder"]["window_ns"]
        for x in ladder["rungs"]:
            left -= x["saving_ns"]
            self.assertGreater(x["saving_ns"], 0)
            self.assertEqual(left, x["after_ns"])
            self.assertTrue(x["evidence"] and x["advice"] and x["where"])
        self.assertEqual([(x["id"], x["saving_ns"]) for x in ladder["rungs"]], [(x["id"], x["saving_ns"]) for x in r["findings"]])
        self.assertLessEqual(ladder["window_ns"], r["window"]["wall_ns"])
        self.assertLessEqual(ladder["floor_ns"], max(left, ladder["floor_ns"]))


class Ladder(LadderCase):
    def test_without_a_fault_there_is_no_rung_of_one(self) -> None:
        r = self.of(program("")[0])
        self.holds(r)
        self.assertEqual((r["window"]["steps"], r["window"]["basis"]), (8, "steps"))
        self.assertFalse({x["id"] for x in r["findings"]} & {kind for _, kind in FAULTS})

    def test_a_fault_is_the_rung_with_its_size(self) -> None:
        for fault, kind in FAULTS:
            with self.subTest(fault=fault):
                base, bad = self.of(program("")[0]), self.of(program(fault)[0])
                cost = bad["window"]["wall_ns"] - base["window"]["wall_ns"]
                self.holds(bad)
                self.assertEqual(bad["findings"][0]["id"], kind)
                if kind != "pageable-copies":  # the copy itself stays
                    self.assertAlmostEqual(bad["findings"][0]["saving_ns"] / cost, 1, delta=0.1)

    def test_faults_that_no_one_waits_for_save_nothing(self) -> None:
        t = Trace()
        for _ in range(200):  # the host works for 20 us, the GPU for 60
            t.work(20, "write_log")
            t.launch("gemm", 60)
        t.sync()
        self.assertEqual([x["id"] for x in self.of(t)["findings"]], [])

    def test_every_ladder_adds_up(self) -> None:
        data = os.path.join(SOURCE, "tests", "data")
        shared = os.path.join(SHARED, "traces")
        paths = [p for d in (data, shared) for k in ("kineto", "nsys") for p in sorted(glob.glob(os.path.join(d, k, "*.gz")))]
        seen = 0
        for path in paths:
            with self.subTest(trace=os.path.basename(path)):
                r = self.report(path)
                if r.get("ladder"):
                    seen += 1
                    self.holds(r)
        self.assertGreater(seen, 10)


# A product that is in the reference of the H200 (8192 x 8192 x 8192 in bf16), and an all-reduce of 16 MiB between 8 of them.
SIDE, MESSAGE = 8192, 16 << 20


class Best(LadderCase):
    """Against the best measured times: said where an operator is slower, by that much, and nowhere else."""

    def best(self, kind: str, **shape: object) -> float:
        done = self.lpo("reference", "h200_sxm", kind, *(f"{k}={v}" for k, v in shape.items()), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["best_us"]

    def product(self, us: float, dtype: str = "c10::BFloat16") -> Trace:
        t = Trace()
        for step in range(8):
            begin = t.now
            for _ in range(4):
                start = t.now
                t.launch("nvjet_tst_128x256", us, grid=[132, 1, 1], block=[128, 1, 1])
                t.host("cpu_op", "aten::mm", start - 2, t.now - start + 4,
                       **{"Input Dims": [[SIDE, SIDE], [SIDE, SIDE]], "Input type": [dtype, dtype], "Concrete Inputs": ["", ""]})
                t.now += 5
            t.sync()
            t.host("user_annotation", f"ProfilerStep#{step + 3}", begin, t.now - begin - 1)
        return t

    def test_a_product(self) -> None:
        best = self.best("gemm", gemm_dtype="bfloat16", m=SIDE, n=SIDE, k=SIDE)
        for factor, named in ((1.5, True), (1.0, False), (0.8, False)):
            with self.subTest(factor=factor):
                r = self.of(self.product(best * factor), "NVIDIA H200")
                self.holds(r)
                rungs = [x for x in r["findings"] if x["id"] == "operator-below-best"]
                self.assertEqual(len(rungs), named)
                self.assertNotIn("operator-below-roof", [x["id"] for x in r["findings"]])
                if named:
                    self.assertEqual(rungs[0]["basis"], "reference")
                    self.assertAlmostEqual(rungs[0]["saving_ns"] / (8 * 4 * 500 * best), 1, delta=0.02)
                    self.assertAlmostEqual(rungs[0]["evidence"][0]["value"], best * 1000, delta=1)

    def test_what_nobody_measured_is_not_said(self) -> None:
        for dtype, gpu in (("float", "NVIDIA H200"), ("c10::BFloat16", "NVIDIA RTX 9999")):
            with self.subTest(dtype=dtype, gpu=gpu):
                r = self.of(self.product(3000, dtype), gpu)
                self.assertNotIn("operator-below-best", [x["id"] for x in r["findings"]])

    def test_a_collective(self) -> None:
        best = self.best("nccl", op_name="all_reduce", nccl_dtype="half", num_gpus=8, message_size=MESSAGE // 2)
        for factor, named in ((6, True), (1.1, False)):
            with self.subTest(factor=factor):
                t = Trace()
                for step in range(8):
                    begin = t.now
                    for _ in range(4):
                        t.launch("gemm", 2000, grid=[64, 1, 1], block=[128, 1, 1])
                        t.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", best * factor, **{
                            "Collective name": "allreduce", "In msg nelems": MESSAGE // 2, "Out msg nelems": MESSAGE // 2,
                            "Group size": 8, "dtype": "BFloat16"})
                    t.sync()
                    t.host("user_annotation", f"ProfilerStep#{step + 3}", begin, t.now - begin - 1)
                r = self.of(t, "NVIDIA H200")
                said = [e for x in r["findings"] for e in x["evidence"] if e["value"] == MESSAGE]
                self.assertEqual(bool(said), named, r["findings"])

    def test_links_of_gpus_without_a_reference(self) -> None:
        path = os.path.join(SHARED, "traces", "kineto", "mi300_resnet_ckpt_rank0_of8.json.gz")
        if not os.path.exists(path):
            self.skipTest("the traces are not here")
        self.assertIn("collective-below-best", [x["id"] for x in self.report(path)["findings"]])
def streams(fault: str) -> Trace:
    """Eight steps: ten layers that compute for 240 us, each with an all-reduce of 150 us beside the next one; on the stream of the computing, or all at the end."""
    t = Trace()
    for step in range(8):
        begin, sent = t.now, 0.0

        def send() -> None:
            nonlocal sent
            computed, t.gpu = t.gpu, max(sent, t.gpu)
            t.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 150, stream=20)
            sent, t.gpu = t.gpu, computed

        for layer in range(10):
            for _ in range(4):
                t.launch("ampere_bf16_s16816gemm_bf16_128x128", 60, grid=[64, 1, 1], block=[128, 1, 1])
            if fault == "one stream":
                t.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 150)
            elif not fault:
                send()
        for _ in range(10 if fault == "late" else 0):
            send()
        t.gpu = max(t.gpu, sent)
        t.sync()
        t.host("user_annotation", f"ProfilerStep#{step + 3}", begin, t.now - begin - 1)
    return t


class Never(LadderCase):
    """What is no rung, whatever the trace."""

    def ids(self, r: dict) -> list[str]:
        return [x["id"] for x in r["findings"]]

    def cautions(self, r: dict) -> list[str]:
        return [x["id"] for x in r["cautions"]]

    def test_communication_on_the_stream_of_the_computing(self) -> None:
        base = self.of(streams(""))
        for fault, kind in (("one stream", "same-stream"), ("late", "exposed-communication")):
            with self.subTest(fault=fault):
                bad = self.of(streams(fault))
                self.holds(bad)
                cost = bad["window"]["wall_ns"] - base["window"]["wall_ns"]
                self.assertEqual(self.ids(bad)[0], kind)
                self.assertAlmostEqual(bad["findings"][0]["saving_ns"] / cost, 1, delta=0.12)  # the last of ten has nothing beside it
        self.assertNotIn("same-stream", self.ids(base))

    def test_waiting_for_work_from_before_the_capture(self) -> None:
        t = Trace()
        t.host("cuda_runtime", "cudaStreamSynchronize", 1, 20000, correlation=999)
        t.now = 20005
        for _ in range(200):
            t.launch("ampere_bf16_s16816gemm", 100)
        t.sync()
        r = self.of(t)
        self.assertIn("work-before-capture", self.cautions(r))
        self.assertNotIn("blocked-in-call", self.ids(r))

    def test_kernels_that_are_waited_for_one_by_one_still_count(self) -> None:
        t = Trace()
        for _ in range(200):
            t.launch("ampere_sgemm_128x64_nn", 300)
            t.sync()
        r = self.of(t)
        found = {x["id"]: x["saving_ns"] for x in r["findings"]}
        self.assertAlmostEqual(found["no-tensor-cores"] / (200 * 300e3 * 0.6), 1, delta=0.05)

    def test_a_gap_is_divided_among_the_calls_that_share_it(self) -> None:
        t = Trace()
        for _ in range(20):
            t.launch("ampere_bf16_s16816gemm", 500)
            t.sync()
            for name, us in (("cudaMalloc", 400), ("cuModuleLoadData", 700)):
                t.host("cuda_runtime", name, t.now + 1, us)
                t.now += us + 2
        found = {x["id"]: x["saving_ns"] for x in self.of(t)["findings"]}
        self.assertAlmostEqual(found["allocator"] / (20 * 400e3), 1, delta=0.1)
        self.assertAlmostEqual(found["first-calls"] / (20 * 700e3), 1, delta=0.1)

    def test_one_cause_of_many_lengths_is_one_rung(self) -> None:
        t = Trace()
        for i in range(60):
            t.launch("ampere_bf16_s16816gemm", 300)
            t.sync()
            t.work(150 + 10 * i, "write_log")
        rungs = [x for x in self.of(t)["findings"] if "write_log" in x["title"]]
        self.assertEqual(len(rungs), 1)
        self.assertAlmostEqual(rungs[0]["saving_ns"] / sum((150 + 10 * i) * 1e3 for i in range(60)), 1, delta=0.05)

    def test_figures_that_cannot_be(self) -> None:
        t = Trace()
        for _ in range(50):  # a product of 8192 in 3 us
            t.host("cpu_op", "aten::mm", t.now, 20, **{"Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"]})
            t.launch("ampere_bf16_s16816gemm", 3000 / 1000)
            t.now += 20
        self.assertNotIn("operator-below-roof", self.ids(self.of(t)))

    def test_what_the_capture_itself_did(self) -> None:
        for path, caution, never in (
                (os.path.join(SOURCE, "tests", "data", "kineto", "h200_graph_capture.json.gz"), "graph-capture", ""),
                (os.path.join(SHARED, "traces", "kineto", "a100_cupti_counters.json.gz"), "counters-recorded", "launch-bound"),
                (os.path.join(SHARED, "traces", "kineto", "mi300_sglang_qwen3-8b_prefilldecode.json.gz"), "busy-before-capture", "blocked-in-call"),
                (os.path.join(SHARED, "traces", "kineto", "mi300_vllm_decode_graph.json.gz"), "busy-before-capture", "host-work"),
                (os.path.join(SHARED, "traces", "kineto", "a100_rank0_of16_5streams.json.gz"), "unrecorded-graph-nodes", ""),
                (os.path.join(SHARED, "diagnoses", "bc_small_fwd_A100.sqlite.gz"), "profiler-cost", "")):
            if os.path.exists(path):
                with self.subTest(trace=os.path.basename(path)):
                    r = self.report(path)
                    self.assertIn(caution, self.cautions(r))
                    self.assertNotIn(never, self.ids(r))


def attention(slow: int = -1) -> Trace:
    """Twelve layers of attention in pieces, with their operators and shapes; the products of one layer may take twice as long."""
    t = Trace()
    for layer in range(12):
        begin = t.now
        for name, dims, kernel, us in (("aten::bmm", [[96, 3137, 64], [96, 64, 3137]], "ampere_bf16_s16816gemm_bf16_128x128_tn", 1900),
                                       ("aten::_softmax", [[96, 3137, 3137], [], []], "cunn_SoftMaxForward", 5700),
                                       ("aten::bmm", [[96, 3137, 3137], [96, 3137, 64]], "ampere_bf16_s16816gemm_bf16_128x64_nn", 1700)):
            t.host("cpu_op", name, t.now, 24, **{"Input Dims": dims, "Input type": ["c10::BFloat16"] * 2 + [""]})
            t.launch(kernel, us * (2 if layer == slow and name == "aten::bmm" else 1), grid=[64, 1, 1], block=[128, 1, 1])
            t.now += 20
        for _ in range(3):
            t.launch("ampere_bf16_s16816gemm_bf16_256x128_tn", 900)
        t.host("user_annotation", f"layer_{layer}", begin, t.now - begin)
    t.sync()
    return t


class Pieces(LadderCase):
    """Attention in pieces is one rung, however many operators it is made of."""

    def test_its_products_are_part_of_it(self) -> None:
        r = self.of(attention())
        self.holds(r)
        self.assertEqual([x["id"] for x in r["findings"]], ["unfused-attention"])
        flops = 2 * 96 * 3137 * 3137 * 64 * 2
        fused = flops / (0.4 * 312e12) * 1e9  # an A100, and 40 % of its peak
        self.assertAlmostEqual(r["findings"][0]["saving_ns"] / (12 * (9300e3 - fused)), 1, delta=0.02)
        self.assertEqual(r["findings"][0]["basis"], "reference")

    def test_a_slow_layer_keeps_its_rung(self) -> None:
        found = self.of(attention(slow=7))["findings"]
        self.assertEqual([x["id"] for x in found], ["slow-sibling", "unfused-attention"])
        self.assertAlmostEqual(found[0]["saving_ns"] / 3600e3, 1, delta=0.02)


class Grids(LadderCase):
    """Launch shapes alone: few blocks for many SMs."""

    def grids(self, blocks: int, beside: bool = False) -> dict:
        t = Trace()
        for _ in range(40):
            t.launch("ampere_bf16_s16816gemm", 200, grid=[512, 1, 1], block=[128, 1, 1])
            start = max(t.gpu + 2, t.now + 13)
            t.launch("scan_kernel", 100, grid=[blocks, 1, 1], block=[128, 1, 1])
            if beside:
                end, t.gpu = t.gpu, start - 2
                t.launch("ampere_bf16_s16816gemm_64x64", 100, stream=20, grid=[512, 1, 1], block=[128, 1, 1])
                t.gpu = max(t.gpu, end)
        t.sync()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}], "traceEvents": t.events}, f)
            f.flush()
            return self.report(f.name)

    def test_few_blocks(self) -> None:
        found = {x["id"]: x for x in self.grids(4)["findings"]}
        self.assertIn("scan_kernel", found["small-grid"]["title"])
        self.assertAlmostEqual(found["small-grid"]["saving_ns"] / (40 * 100e3 * (1 - 8 / 108)), 1, delta=0.02)

    def test_enough_blocks_or_other_work_beside(self) -> None:
        for blocks, beside in ((54, False), (108, False), (4, True)):
            with self.subTest(blocks=blocks, beside=beside):
                self.assertNotIn("small-grid", [x["id"] for x in self.grids(blocks, beside)["findings"]])

    def test_copies_within_the_gpu_are_no_link(self) -> None:
        for name, kind in (("Memcpy DtoD (Device -> Device)", "layout-copies"), ("Memcpy HtoD (Pinned -> Device)", "exposed-copies")):
            with self.subTest(copy=name):
                t = Trace()
                for _ in range(40):
                    t.launch("ampere_bf16_s16816gemm", 200)
                    t.launch(name, 100, cat="gpu_memcpy", bytes=64 << 20)
                self.assertEqual([x["id"] for x in self.of(t)["findings"]], [kind])


class Words(LadderCase):
    """What is said fits what ran, and is said once."""

    def waits(self, op: str) -> Trace:
        t = Trace()
        for _ in range(200):
            t.launch("ampere_bf16_s16816gemm", 300)
            t.sync("cudaStreamSynchronize_v3020", op)
            t.work(90, op)
        return t

    def test_advice_is_for_the_framework_that_ran(self) -> None:
        for op, says, never in (("aten::item", ".item()", "np.asarray"), ("PjitFunction(step)", "block_until_ready", ".item()"), ("", "events", ".item()")):
            with self.subTest(operator=op), tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                json.dump({"traceEvents": self.waits(op).events}, f)
                f.flush()
                advice = next(x["advice"] for x in self.report(f.name)["findings"] if x["id"] == "blocked-in-call")
                if op:  # a Kineto trace without an operator is still one of PyTorch
                    self.assertIn(says, advice)
                    self.assertNotIn(never, advice)

    def test_names_are_as_a_person_writes_them(self) -> None:
        title = next(x["title"] for x in self.of(self.waits("aten::item"))["findings"] if x["id"] == "blocked-in-call")
        self.assertIn("cudaStreamSynchronize (aten::item)", title)

    def test_a_place_is_said_once(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": program("data")[0].events}, f)
            f.flush()
            text = " ".join(self.lpo("report", f.name, "--findings").stdout.split())
        self.assertNotIn("(device:0)", text)
        self.assertIn("__next__: ", text)

    def test_a_saving_that_needs_others_says_so(self) -> None:
        for path in (os.path.join(SHARED, "traces", "kineto", "v100_resnet50_workers0_oldschema.json.gz"),):
            if not os.path.exists(path):
                self.skipTest("the traces are not here")
            for x in self.report(path)["ladder"]["rungs"]:
                texts = " ".join(e["text"] for e in x["evidence"])
                self.assertEqual("By itself it would save" in texts, x["alone_ns"] * 2 < x["saving_ns"] or x["alone_ns"] > 2 * x["saving_ns"])


class Explained(LadderCase):
    """What an operation waited for, where neither its launch nor its stream says it."""

    def test_the_capture_begins_while_the_gpu_is_busy(self) -> None:
        t = Trace()
        t.gpu = 9000.0  # what was launched before the capture ends then
        for _ in range(200):
            t.launch("ampere_bf16_s16816gemm", 100)
        t.sync()
        r = self.of(t)
        self.assertEqual([c["id"] for c in r["cautions"]], ["busy-before-capture"])
        self.assertEqual((r["window"]["before_gpu_ns"], r["ladder"]["unexplained_ns"]), (0, 0))
        self.assertAlmostEqual(r["window"]["wall_ns"] / (200 * 102e3), 1, delta=0.01)

    def crossing(self, between: int) -> Trace:
        """Ten times: a message of 10 ms on a stream of its own beside many short kernels, and then a kernel that takes what was sent."""
        t = Trace()
        for _ in range(10):
            sent = max(t.gpu + 2, t.now + 13) + 10000
            computed, t.gpu = t.gpu, max(t.gpu, t.now)
            t.launch("ncclDevKernel_SendRecv", 10000, stream=20)
            t.gpu = computed
            for _ in range(between):
                t.launch("layer_norm_kernel", 10, cost=2)
            t.gpu = max(t.gpu, sent)
            t.launch("ampere_bf16_s16816gemm", 100)
        t.sync()
        return t

    def test_another_stream_however_much_ran_between(self) -> None:
        for between in (5, 300):
            with self.subTest(between=between):
                r = self.of(self.crossing(between))
                self.assertLess(r["ladder"]["unexplained_ns"], 0.01 * r["window"]["wall_ns"])
                self.assertIn("exposed-communication", [x["id"] for x in r["findings"]])

    def test_no_room_until_another_kernel_ends(self) -> None:
        for grid, explained in (([4096, 1, 1], True), ([8, 1, 1], False)):
            with self.subTest(grid=grid[0]):
                t = Trace()
                for _ in range(10):
                    start = max(t.gpu + 2, t.now + 13)
                    t.launch("embedding_backward_kernel", 5000, grid=grid, block=[256, 1, 1])
                    end, t.gpu = t.gpu, start + 4900
                    t.launch("permute_kernel", 500, stream=20, grid=[64, 1, 1], block=[256, 1, 1])
                    t.gpu = end + 400
                    t.sync()
                with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                    json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}], "traceEvents": t.events}, f)
                    f.flush()
                    r = self.report(f.name)
                self.assertEqual(r["ladder"]["unexplained_ns"] < 0.02 * r["window"]["wall_ns"], explained)


class Roof(LadderCase):
    """Operators at a tenth of their roof on an A100 (2.04 TB/s, 312 TFLOP/s): which roof, and why."""

    ROWS = (("aten::mm", [[4096, 4096], [4096, 4096]], "c10::BFloat16", 4400, "compute", ""), ("aten::mm", [[256, 65536], [65536, 256]], "c10::BFloat16", 420, "memory", "too few tiles"),
            ("aten::mm", [[131072, 32], [32, 32]], "c10::Half", 82, "memory", "tall and skinny"), ("aten::add", [[8192, 8192], [8192, 8192], []], "float", 3950, "memory", ""),
            ("aten::native_layer_norm", [[16384, 4096], [], [4096], [4096], []], "c10::BFloat16", 1320, "memory", ""), ("aten::_softmax", [[64, 1024, 1024], [], []], "c10::BFloat16", 1320, "memory", ""),
            ("aten::embedding", [[32000, 4096], [65536]], "c10::BFloat16", 5300, "memory", ""), ("aten::convolution", [[32, 512, 56, 56], [512, 1, 3, 3]], "c10::BFloat16", 1010, "memory", "depthwise"),
            ("aten::_flash_attention_forward", [[1, 8192, 32, 256]] * 3, "c10::BFloat16", 70000, "compute", "large heads"))

    def test_an_operator_far_below_its_roof(self) -> None:
        for name, dims, kind, us, roof, why in self.ROWS:
            with self.subTest(operator=name, shape=str(dims[0])):
                t = Trace()
                for _ in range(20):
                    types = [kind] * len(dims)
                    if name == "aten::embedding":
                        types[1] = "long int"
                    t.host("cpu_op", name, t.now, 24, **{"Input Dims": dims, "Input type": types, "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "512"]})
                    t.launch("some_kernel", us)
                    t.now += 20
                t.sync()
                first = self.of(t)["findings"][0]
                self.assertIn(first["id"], ("operator-below-roof", "operator-below-best"))  # the second where such shapes were measured
                self.assertIn(why, first["title"])
                if first["id"] == "operator-below-roof":
                    self.assertIn(roof, first["title"])
                    self.assertLess(first["evidence"][0]["value"], 0.2)


# What an expert says first of traces of ../shared/data/diagnoses: the ids that say it, and how far down they may stand.
ANSWERS = {
    "tl-gemm-few-tiles": ("operator-below-roof", 1), "tl-gemm-tall-skinny": ("operator-below-roof", 1), "tl-sdpa-head-256": ("operator-below-roof", 1),
    "tl-elem-add": ("operator-below-roof", 1), "tl-conv-depthwise": ("operator-below-roof", 1), "tl-moe-many-experts-few-tokens": ("operator-below-roof", 1),
    "tl-moe-tiny-batch-many-experts": ("launch-bound", 1), "kineto-workers0-a": ("data-loading", 1), "lz-cold-start": ("first-calls", 1),
    "na-same-stream": ("same-stream", 1), "bc-forward-fp32": ("no-tensor-cores", 1), "bc-attention-4096": ("unfused-attention", 1),
    "mem-forward": ("memory-peak", 1), "mem-optimizer": ("memory-peak", 1), "ncu-sgemm-naive": ("kernel-limit", 1), "fault-recompile": ("recompilation", 1),
    "fault-upcast": ("no-tensor-cores", 3), "fault-slow-layer": ("slow-sibling", 5), "jh-dataloader": ("data-loading", 1),
}
# Of pairs: what one side has alone, and how large.
PAIRS = {
    "kineto-workers-diff": ("data-loading", "a only", 353.9e6), "fault-recompile-diff": ("recompilation", "b only", 311.8e6),
    "fault-upcast-diff": ("no-tensor-cores", "b only", 19.3e6), "fault-one-stream-diff": ("same-stream", "b only", 112.7e6),
}


class Expert(LadderCase):
    def test_what_an_expert_says_first(self) -> None:
        path = os.path.join(SHARED, "diagnoses")
        if not os.path.exists(os.path.join(path, "cases.json")):
            self.skipTest("the diagnoses are not here")
        with open(os.path.join(path, "cases.json"), encoding="utf-8") as f:
            cases = {c["id"]: c for c in json.load(f)["cases"]}
        for name, (kind, change, saving) in PAIRS.items():
            with self.subTest(case=name):
                done = self.lpo("diff", *(os.path.join(path, x) for x in cases[name]["files"]), "--json")
                found = [x for x in json.loads(done.stdout)["findings"] if (x["id"], x["kind"]) == (kind, change)]
                self.assertEqual(len(found), 1)
                self.assertAlmostEqual((found[0]["a_saving_ns"] or found[0]["b_saving_ns"]) / saving, 1, delta=0.02)
        for name, (kind, most) in ANSWERS.items():
            with self.subTest(case=name):
                found = [x["id"] for x in self.report(os.path.join(path, cases[name]["files"][0]))["findings"]]
                self.assertIn(kind, found[:most])
        healthy = self.report(os.path.join(path, cases["na-healthy-small-gaps"]["files"][0]))
        self.assertEqual(healthy["findings"], [])
        workers = self.report(os.path.join(path, cases["kineto-workers4"]["files"][0]))
        self.assertNotIn("data-loading", [x["id"] for x in workers["findings"]])


if __name__ == "__main__":
    tap.main()
