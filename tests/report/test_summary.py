#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stakeholder_summary.md: what it counts, and what it says where there is little to say. Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

UNIT = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}


def ns(text: str) -> float:
    number, unit = text.split()
    return float(number) * UNIT[unit]


def range_of(name: str, start: int, end: int) -> dict:
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": end - start}


def launch(number: int, at: int, start: int, end: int, name: str = "gemm") -> list[dict]:
    """A kernel and the call that launched it; times in microseconds."""
    return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1,
             "args": {"correlation": number}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": end - start,
             "args": {"correlation": number, "device": 0, "stream": 7}}]


class Summary(LpoCase):
    def report(self) -> str:
        self.report_md = self.lpo_report()
        return self.text("stakeholder_summary.md")

    def of_trace(self, *events: dict) -> str:
        self.put("torch_profiler/1.trace.json", {"schemaVersion": 1, "traceEvents": list(events)})
        return self.report()

    def fact(self, pattern: str, text: str) -> float:
        found = re.search(pattern, text)
        self.assertIsNotNone(found, f"{pattern} is not in:\n{text}")
        return ns(found[1])


class GettingReady(Summary):
    """load 0…2000, warmup 2000…10000, decode 10000…11000 us: 300 us of work and 200 us of waiting that count."""

    def steps(self, first: str = "load", second: str = "warmup") -> str:
        return self.of_trace(
            range_of(first, 0, 2000), *launch(1, 100, 110, 200, "fill_elementwise_kernel"),
            range_of(second, 2000, 10000), *launch(2, 2100, 2110, 2200, "add_elementwise_kernel"),
            *launch(3, 9000, 9010, 9900, "add_elementwise_kernel"),
            range_of("decode", 10000, 11000), *launch(4, 10100, 10110, 10210), *launch(5, 10300, 10310, 10410),
            *launch(6, 10500, 10510, 10610))

    def test_a_real_trace_promises_what_prefill_and_decode_hold(self) -> None:
        os.makedirs(os.path.join(self.run_dir, "native"))
        shutil.copy(os.path.join(SOURCE, "tests", "data", "native", "llama8.lpot"), os.path.join(self.run_dir, "native"))
        text = self.report()
        rows = {r["path"]: r for r in json.loads(self.text("report.json"))["scopes"][0]["regions"]}
        waited = rows["decode"]["host_ns"] + rows["prefill"]["host_ns"]
        # launch records alone do not show whether the host was late or waited in a call
        self.assertNotIn("Launch kernels earlier", text)
        self.assertIn("of that time the trace does not show why", text)
        self.assertLess(self.fact(r"was idle for \d+ % of the time \(\S+ \S+ of (\S+ \S+)\)", text), 1.1 * waited)
        work = rows["decode"]["gpu_ns_inclusive"] + rows["prefill"]["gpu_ns_inclusive"]
        self.assertAlmostEqual(self.fact(r"work together takes \S+ \S+: kernels (\S+ \S+), copies", text), work, delta=0.001 * work)
        self.assertLess(self.fact(r"half of that, (\S+ \S+), is", text), work / 2)
        self.assertNotIn('part called "warmup"', text)
        self.assertIn('Loading and warm-up ("warmup", "load": 3.090 s) are left out', text)

    def test_only_the_rest_is_counted(self) -> None:
        text = self.steps()
        self.assertIn("All GPU work together takes 300 us.", text)
        self.assertIn("was idle for 40 % of the time (200 us of 500 us)", text)
        self.assertIn("up to 200 us of idle time could be saved", text)
        self.assertIn('"decode" takes 100 % of it (300 us)', text)
        self.assertIn('("warmup", "load": 10 ms)', text)
        self.assertNotIn("Fuse small kernels", text)  # all of them were in load and warmup

    def test_names_that_get_ready_and_names_that_do_not(self) -> None:
        for first, second, left_out in (("Loading", "warm-up 3", 2), ("load_weights", "warm up", 2), ("model_load", "WARMUP_0", 2),
                                        ("loader", "warmup", 1), ("load_balance", "preload", 0), ("upload", "warmups of x", 0)):
            with self.subTest(first=first, second=second):
                text = self.steps(first, second)
                shown = re.search(r"Loading and warm-up \((.*): ", text)
                self.assertEqual(shown[1].count('"') // 2 if shown else 0, left_out, text)

    def test_nothing_but_a_warm_up_is_said_to_be_so(self) -> None:
        text = self.of_trace(range_of("warmup", 0, 1000), *launch(1, 10, 20, 30), *launch(2, 500, 520, 530))
        self.assertIn("Nothing else was recorded", text)
        self.assertIn("Let the program do some of its real work", text)
        for word in ("was idle for", "Launch kernels earlier", "Look at", "takes 1"):
            self.assertNotIn(word, text)

    def test_the_host_alone_is_ranked_by_the_same_rule(self) -> None:
        text = self.of_trace(range_of("warmup", 0, 9000), range_of("prefill", 9000, 9300), range_of("decode", 9300, 10000))
        self.assertIn('"decode" takes 70 % of it (700 us)', text)
        self.assertNotIn('part called "warmup"', text)


def shared(name: str) -> str:
    return os.path.join(SOURCE, "..", "shared", "data", "traces", name)


class RealTraces(Summary):
    """Sentences that were wrong about traces of public projects."""

    def of_shared(self, name: str) -> str:
        if not os.path.exists(shared(name)):
            self.skipTest(f"{name} is not here")
        if name.endswith(".json.gz"):
            os.makedirs(os.path.join(self.run_dir, "torch_profiler"))
            shutil.copy(shared(name), os.path.join(self.run_dir, "torch_profiler", "trace.json.gz"))
        else:
            os.makedirs(os.path.join(self.run_dir, "nsys"))
            with gzip.open(shared(name)) as f, open(os.path.join(self.run_dir, "nsys", "run.sqlite"), "wb") as to:
                shutil.copyfileobj(f, to)
        text = self.report()
        self.json = json.loads(self.text("report.json"))
        return text

    def test_an_idle_copy_stream_is_not_the_hosts_fault(self) -> None:
        """Gaps of five streams add up to more than the GPU was idle: none of that is in the summary."""
        text = self.of_shared("kineto/a100_train_rank3_of8.json.gz")
        wall, = self.json["wall"]
        streams = sum(g["ns"] for d in self.json["devices"] for g in d["gaps"].values())
        self.assertGreater(streams, wall["idle_ns"])
        self.assertAlmostEqual(self.fact(r"up to (\S+ \S+) of idle time", text), wall["idle"]["host_ns"], delta=1e5)

    def test_a_call_that_blocks_needs_no_cuda_graphs(self) -> None:
        text = self.of_shared("kineto/mi300_sglang_qwen3-8b_decode_graph.json.gz")
        self.assertNotIn("CUDA graphs", text)
        self.assertNotIn("too late", text)
        self.assertIn("1. Find out what the program waits for in hipMemcpyWithStream: the GPU was idle for 463.3 ms", text)

    def test_two_gpus_are_not_one_clock(self) -> None:
        text = self.of_shared("nsys/h100_2gpu_fastvideo_train_before.sqlite.gz")
        self.assertIn("GPU 0, of 2 the one that was in use longest, was idle for 9 % of the time (26.03 ms of 299.8 ms)", text)
        self.assertIn("- Exposed communication, with no computing beside it, took 17.17 ms", text)
        self.assertIn("does not show whether it was sending or waiting", text)

    def test_idle_time_by_region_adds_up(self) -> None:
        """Each gap is in one row, and the rows of steps are folded."""
        self.of_shared("kineto/a100_train_rank3_of8.json.gz")
        tables = [i for s in self.json["sections"] for i in s["items"] if i.get("id") == "region_idle"]
        rows, wall = tables[0]["rows"], self.json["wall"][0]
        self.assertEqual(len(rows), tables[0].get("total_rows", len(rows)))
        for part in ("blocked", "host", "queued", "unknown"):
            self.assertEqual(sum(r[part + "_ns"] for r in rows), wall["idle"][part + "_ns"])
        self.assertEqual(sum(r["idle_ns"] for r in rows), wall["idle_ns"])
        self.assertIn("ProfilerStep#*/## backward ##", [r["region"] for r in rows])

    def test_copies_are_work(self) -> None:
        text = self.of_shared("nsys/h100_2gpu_fastvideo_infer.sqlite.gz")
        self.assertIn("All GPU work of 2 GPUs together takes 1.926 s: kernels 44.83 ms, copies and memsets 1.881 s.", text)
        self.assertIn("Copying data with nothing beside it took 940.5 ms (97 % of the time)", text)
        self.assertIn("Copies, memsets", self.report_md)


STAGE = {"message": None, "started_unix_ns": 1, "wall_ns": 1, "steps": [], "notes": [], "files": []}


class Endings(Summary):
    def run_of(self, state: str, **stages: tuple[str, str | None]) -> None:
        rows = [STAGE | {"name": name, "state": how, "message": why, "started_unix_ns": int(how not in ("skipped", "pending"))}
                for name, (how, why) in stages.items()]
        self.put("run.json", {"schema": 1, "state": state, "stages": rows})

    def test_a_run_that_was_killed(self) -> None:
        self.run_of("running", direct_inference=("running", None), native=("pending", None))
        text = self.report()
        self.assertIn("The run was cut short in direct_inference: lpo was killed, or is still running.", text)
        self.assertIn("Not started: native.", text)
        self.assertIn("lpo run --resume", text)

    def test_what_is_missing_is_named(self) -> None:
        self.run_of("missing", nsys=("missing", "'nsys' is not on PATH"))
        text = self.report()
        self.assertIn("Something is missing for nsys: 'nsys' is not on PATH", text)
        self.assertIn("nsys: 'nsys' is not on PATH", self.report_md)
        self.assertIn("lpo doctor", text.split("## What to do first")[1])

    def test_a_failure_beside_a_trace_does_not_hide_what_was_recorded(self) -> None:
        self.run_of("failed", native=("done", None), nsys=("failed", "nsys made no report; see /a b/run/workload/nsys/stderr.log"))
        text = self.of_trace(range_of("decode", 0, 900))
        self.assertIn("The run failed in nsys: nsys made no report; see ", text)
        self.assertIn('"decode" takes 100 %', text)

    def test_a_trace_that_was_taken_away_is_not_a_stage_that_never_ran(self) -> None:
        self.run_of("done", native=("done", None))
        self.report()
        self.assertIn("native: its trace is not in the folder.", self.report_md)

    def test_a_trace_that_cannot_be_read_is_named_once(self) -> None:
        self.run_of("done", native=("done", None))
        self.put("native/1.lpot", "broken")
        text = self.report()
        self.assertIn("native/1.lpot cannot be read", text)
        self.assertNotIn("native: native", text)
        self.assertNotIn("NVTX", text)

    def test_a_folder_without_a_manifest(self) -> None:
        self.put("workload/native/metrics.json", {"aggregate": {}, "samples": []})
        self.report()
        self.assertIn("This folder holds no trace that lpo can read", self.report_md)
        self.assertTrue(self.report_md.startswith("# Profile\n"))

    def test_the_program_is_named_by_what_it_runs(self) -> None:
        for argv, name in ((["/usr/bin/python3", "/x/my.py", "-v"], "my.py"), (["python", "-m", "vllm.bench"], "vllm.bench"),
                           (["python3", "-c", "1"], "python3"), (["./bench"], "bench"), ([], None)):
            with self.subTest(argv=argv):
                self.put("config.yaml", "model: {name: none}\nworkload: {kind: command, argv: " + json.dumps(argv) + "}\n")
                self.put("workload/native/metrics.json", {"aggregate": {}, "samples": []})
                text = self.report()
                self.assertTrue(self.report_md.startswith(f"# Profile of {name}\n" if name else "# Profile\n"), self.report_md[:40])
                self.assertIn(f"The program {name}." if name else "A program.", text)


if __name__ == "__main__":
    tap.main()
