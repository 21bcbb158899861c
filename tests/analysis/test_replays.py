#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo operators CAPTURE REPLAY`: kernels of CUDA graphs get the operators of the warm-up, or of the capture, in another file.
Every number is worked out by hand, or by a second reading of the traces. As TAP."""
from __future__ import annotations

import gzip
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "kineto"


def kernel(name, ts, corr, dur=5, grid=1):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": 7, "correlation": corr, "grid": [grid, 1, 1], "block": [32, 1, 1]}}


def launch(ts, corr, name="cudaLaunchKernel"):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 2, "args": {"correlation": corr}}


def operator(name, ts, dims):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 8,
            "args": {"Input Dims": dims, "Input type": ["float"] * len(dims)}}


MM = ("aten::mm", "gemm", [[4, 8], [8, 16]], 3)
ADD = ("aten::add", "add", [[4, 16], [4, 16]], 1)
MUL = ("aten::mul", "add", [[4, 16], [4, 16]], 1)  # another operator with the same kernel


def warm_up(*calls):
    events = []
    for i, (name, k, dims, grid) in enumerate(calls):
        events += [operator(name, 100 * i, dims), launch(100 * i + 2, i + 1), kernel(k, 100 * i + 20, i + 1, 50, grid)]
    return events


def replays(times, *calls):
    events = []
    for i in range(times):
        events.append(launch(1000 * i, 900 + i, "cudaGraphLaunch"))
        events += [kernel(k, 1000 * i + 20 + 10 * n, 900 + i, 4 + n, grid) for n, (_, k, _, grid) in enumerate(calls)]
    return events


def capture(*calls, at=5000, names=False):
    """Launches that did not run, between the calls that begin and end a capture."""
    events = [launch(at, at, "cudaStreamBeginCapture")]
    for i, (name, k, dims, _) in enumerate(calls):
        call = launch(at + 10 + 10 * i, at + i + 1)
        if names:
            call["args"]["kernel"] = k
        events += [operator(name, at + 9 + 10 * i, dims), call]
    return events + [launch(at + 10 + 10 * len(calls), at + 900, "cudaStreamEndCapture")]


class ReplaysCase(LpoCase):
    def operators(self, first, *others):
        files = []
        for i, events in enumerate((first, *others)):
            path = pathlib.Path(self.cwd) / f"{i}.json"
            path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 10 ** 18 + i * 10 ** 9, "traceEvents": events}))
            files.append(str(path))
        done = self.lpo("operators", *files, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        doc = json.loads(done.stdout)
        return {o["name"]: o for o in doc["operators"]}, doc.get("replays"), files

    def test_a_graph_gets_the_operators_of_its_warm_up(self) -> None:
        ops, replays_, files = self.operators(warm_up(MM, ADD), replays(3, MM, ADD))
        self.assertEqual(replays_, {"launches": 3, "kernels": 6, "gpu_ns": 3 * 9000, "joined_launches": 3, "joined_kernels": 6,
                                    "joined_gpu_ns": 3 * 9000, "captured_launches": 0, "ambiguous_launches": 0})
        mm = ops["aten::mm"]
        self.assertEqual((mm["calls"], mm["gpu_ns_total"], mm["flops"]), (1, 50000, 2 * 4 * 8 * 16))  # as without graphs
        self.assertEqual({k: mm["replayed"][k] for k in ("calls", "gpu_ns_self", "gpu_ns_total")},
                         {"calls": 3, "gpu_ns_self": 12000, "gpu_ns_total": 12000})
        self.assertAlmostEqual(mm["replayed"]["flops_per_second"], 2 * 4 * 8 * 16 / 4e-6)
        self.assertEqual(ops["aten::add"]["replayed"]["gpu_ns_self"], 15000)
        text = self.lpo("operators", *files).stdout
        self.assertIn("In CUDA graphs", text)
        self.assertIn("100.0 % of the time", text)

    def test_the_same_operators_twice_are_one_answer(self) -> None:
        ops, replays_, _ = self.operators(warm_up(MM, ADD, MM, ADD), replays(2, MM, ADD))
        self.assertEqual((replays_["joined_kernels"], replays_["ambiguous_launches"]), (4, 0))
        self.assertEqual((ops["aten::mm"]["calls"], ops["aten::mm"]["replayed"]["calls"]), (2, 2))

    def test_other_operators_with_the_same_kernels_are_none(self) -> None:
        ops, replays_, _ = self.operators(warm_up(MM, ADD, MM, MUL), replays(2, MM, ADD))
        self.assertEqual((replays_["joined_kernels"], replays_["ambiguous_launches"]), (0, 2))
        self.assertFalse(any("replayed" in o for o in ops.values()))

    def test_order_grid_and_all_kernels_must_agree(self) -> None:
        larger = ("aten::add", "add", [[4, 16], [4, 16]], 2)
        for graph in ((ADD, MM), (MM, larger), (MM, ADD, ADD)):
            _, replays_, _ = self.operators(warm_up(MM, ADD), replays(1, *graph))
            self.assertEqual(replays_["joined_kernels"], 0, graph)

    def test_one_file_may_have_both_and_a_part_of_the_warm_up_is_enough(self) -> None:
        late = [e | {"ts": e["ts"] + 5000} for e in replays(1, ADD, MM)]
        _, replays_, _ = self.operators(warm_up(MM, ADD, MM, ADD) + late)
        self.assertEqual(replays_["joined_kernels"], 2)

    def test_a_capture_gives_operators_by_its_order(self) -> None:
        ops, replays_, files = self.operators(capture(MM, ADD, MM), replays(3, MM, ADD, MM))
        self.assertEqual(replays_, {"launches": 3, "kernels": 9, "gpu_ns": 3 * 15000, "joined_launches": 3, "joined_kernels": 9,
                                    "joined_gpu_ns": 3 * 15000, "captured_launches": 3, "ambiguous_launches": 0})
        mm = ops["aten::mm"]
        self.assertEqual((mm["calls"], mm["gpu_ns_total"], mm["flops"]), (2, 0, 2 * 4 * 8 * 16))
        self.assertEqual({k: mm["replayed"][k] for k in ("calls", "gpu_ns_self", "gpu_ns_total")},
                         {"calls": 6, "gpu_ns_self": 30000, "gpu_ns_total": 30000})
        self.assertAlmostEqual(mm["replayed"]["flops_per_second"], 2 * 4 * 8 * 16 / 5e-6)
        self.assertEqual(ops["aten::add"]["replayed"]["gpu_ns_self"], 15000)
        text = self.lpo("operators", *files).stdout
        self.assertIn("In CUDA graphs", text)
        self.assertIn("3 of 3 launches of graphs are joined with a capture", " ".join(text.split()))

    def test_one_operator_has_one_kernel_or_the_order_is_another(self) -> None:
        other = ("aten::mm", "gemm2", MM[2], 3)
        _, replays_, _ = self.operators(capture(MM, ADD, MM), replays(1, MM, ADD, other))
        self.assertEqual((replays_["joined_kernels"], replays_["ambiguous_launches"]), (0, 0))

    def test_a_capture_has_as_many_launches_as_its_graph(self) -> None:
        for graph in ((MM,), (MM, ADD, ADD)):
            _, replays_, _ = self.operators(capture(MM, ADD), replays(1, *graph))
            self.assertEqual(replays_["joined_kernels"], 0, graph)

    def test_captures_with_other_operators_are_ambiguous(self) -> None:
        wide = ("aten::mm", "gemm", [[8, 8], [8, 16]], 3)
        _, replays_, files = self.operators(capture(MM, ADD), capture(wide, ADD, at=9000), replays(2, MM, ADD))
        self.assertEqual((replays_["joined_kernels"], replays_["ambiguous_launches"]), (0, 2))
        self.assertIn("2 of 2 launches of graphs fit several", " ".join(self.lpo("operators", *files).stdout.split()))
        _, replays_, _ = self.operators(capture(MM, ADD), capture(MM, ADD, at=9000), replays(2, MM, ADD))
        self.assertEqual((replays_["joined_kernels"], replays_["ambiguous_launches"]), (4, 0))

    def test_names_of_kernels_decide_where_the_profiler_has_them(self) -> None:
        swapped = (ADD, MM)
        _, replays_, _ = self.operators(capture(*swapped, names=True), replays(1, MM, ADD))
        self.assertEqual(replays_["joined_kernels"], 0)
        ops, replays_, _ = self.operators(capture(*swapped, names=True), capture(MM, ADD, at=9000, names=True), replays(1, MM, ADD))
        self.assertEqual((replays_["joined_kernels"], replays_["ambiguous_launches"]), (2, 0))
        self.assertEqual(ops["aten::mm"]["replayed"]["gpu_ns_self"], 4000)

    def test_a_warm_up_counts_before_the_capture(self) -> None:
        ops, replays_, _ = self.operators(warm_up(MM, ADD) + capture(MM, MUL), replays(1, MM, ADD))
        self.assertEqual((replays_["joined_kernels"], replays_["captured_launches"]), (2, 0))
        self.assertIn("replayed", ops["aten::add"])

    def test_launches_outside_of_a_capture_are_none_of_it(self) -> None:
        before = [operator("aten::mm", 1000, MM[2]), launch(1002, 77)]  # its kernel was not recorded
        _, replays_, _ = self.operators(before + capture(MM, ADD), replays(1, MM, ADD))
        self.assertEqual(replays_["joined_kernels"], 2)

    def test_without_graphs_nothing_is_said(self) -> None:
        ops, replays_, files = self.operators(warm_up(MM, ADD))
        self.assertIsNone(replays_)
        self.assertNotIn("CUDA graphs", self.lpo("operators", *files).stdout)

    def test_attention_over_a_paged_cache_goes_by_the_steps_of_the_replays(self) -> None:
        """Captured with no request at all; replayed in two steps of 4 requests, which see 40 and 44 tokens."""
        def attention(ts):
            return operator("vllm::unified_attention_with_output", ts, [[4, 8, 16], [4, 2, 16], [4, 2, 16], [4, 8, 16]])

        made = [launch(5000, 1, "cudaStreamBeginCapture"), attention(5009), launch(5010, 2), operator("aten::mm", 5019, MM[2]), launch(5020, 3),
                launch(5030, 4, "cudaStreamEndCapture")]
        ran = replays(2, ("", "paged", None, 1), MM)
        for i, keys in enumerate((40, 44)):
            name = f"execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk{keys}sqsq4sqsk{keys})"
            ran.append({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 1000 * i - 1, "dur": 500})
        ops, replays_, files = self.operators(made, ran)
        self.assertEqual(replays_["captured_launches"], 2)
        paged = ops["vllm::unified_attention_with_output"]
        self.assertEqual((paged["flops"], paged["replayed"]["calls"], paged["replayed"]["gpu_ns_self"]), (None, 2, 8000))
        self.assertEqual(paged["replayed"]["flops"], 4 * 8 * 16 * (40 + 44) / 2)
        self.assertEqual(paged["replayed"]["bytes"], 4 * 2 * (4 * 8 * 16 + 42 * 2 * 16))
        self.assertAlmostEqual(paged["replayed"]["flops_per_second"], 4 * 8 * 16 * 84 / 8e-6)
        self.assertEqual(ops["aten::mm"]["replayed"]["flops"], 2 * 4 * 8 * 16)
        self.assertIn("In CUDA graphs", self.lpo("operators", *files).stdout)
        ops, _, _ = self.operators(made, ran[:-1])  # one launch lies in no step
        self.assertIsNone(ops["vllm::unified_attention_with_output"]["replayed"]["flops"])


class RealGraph(LpoCase):
    """Four layers on an H200: two eager runs, the capture and five replays, each in a trace of its own (tests/gpu/capture_replay.sh)."""

    @staticmethod
    def events(part):
        with gzip.open(DATA / f"h200_graph_{part}.json.gz") as f:
            return [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]

    def by_hand(self):
        """The kernels of a replay in the order of their starts are those of one eager run: the same names, in the order of launches. Each
        counts for the innermost operator around its launch."""
        events = self.events("warmup")
        ops = [e for e in events if e["cat"] == "cpu_op"]
        calls = sorted((e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")), key=lambda e: e["ts"])
        kernels = {e["args"]["correlation"]: e for e in events if e["cat"] == "kernel"}
        launched = [(c, kernels[c["args"]["correlation"]]["name"]) for c in calls if c["args"]["correlation"] in kernels]
        half = len(launched) // 2
        self.assertEqual([n for _, n in launched[:half]], [n for _, n in launched[half:]])
        owner = []
        for call, _ in launched[:half]:
            around = [o for o in ops if o["ts"] <= call["ts"] and o["ts"] + o["dur"] >= call["ts"] + call["dur"]]
            inner = min(around, key=lambda o: o["dur"])
            owner.append((inner["name"], json.dumps(inner["args"]["Input Dims"])))
        replays_ = {}
        for e in self.events("replay"):
            if e["cat"] == "kernel":
                replays_.setdefault(e["args"]["correlation"], []).append(e)
        sums = {}
        for graph in replays_.values():
            graph.sort(key=lambda e: e["ts"])
            self.assertEqual([e["name"] for e in graph], [n for _, n in launched[:half]])
            for key, e in zip(owner, graph):
                sums[key] = sums.get(key, 0) + round(e["dur"] * 1000)
        return sums, len(replays_)

    def replayed(self, part):
        files = [str(DATA / f"h200_graph_{p}.json.gz") for p in (part, "replay")]
        done = self.lpo("operators", *files, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        doc = json.loads(done.stdout)
        return {(o["name"], json.dumps(o["shapes"])): o["replayed"] for o in doc["operators"] if "replayed" in o}, doc["replays"]

    def test_the_capture_alone_says_what_the_warm_up_says(self) -> None:
        sums, graphs = self.by_hand()
        warm, by_warm_up = self.replayed("warmup")
        captured, by_capture = self.replayed("capture")
        self.assertEqual({k: r["gpu_ns_self"] for k, r in warm.items() if r["gpu_ns_self"]}, sums)
        self.assertEqual(captured, warm)
        self.assertEqual((graphs, by_warm_up["joined_launches"], by_capture["captured_launches"]), (5, 5, 5))
        self.assertEqual((by_warm_up["captured_launches"], by_capture["joined_gpu_ns"]), (0, sum(sums.values())))

    def test_the_report_has_their_time_in_graphs(self) -> None:
        sums, _ = self.by_hand()
        files = [str(DATA / f"h200_graph_{p}.json.gz") for p in ("capture", "replay")]
        done = self.lpo("report", *files, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        section = next(s for s in json.loads(done.stdout)["sections"] if s["id"] == "operators")
        rows = next(i["rows"] for i in section["items"] if "replayed_self_ns" in str(i.get("columns")))
        names = {name for name, _ in sums}
        most = max(names, key=lambda n: sum(ns for (name, _), ns in sums.items() if name == n))
        self.assertEqual(rows[0]["operator"], most)
        self.assertEqual({r["operator"]: r["replayed_self_ns"] for r in rows if r["replayed_self_ns"]},
                         {n: sum(ns for (name, _), ns in sums.items() if name == n) for n in names})


if __name__ == "__main__":
    tap.main()
