#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stakeholder_summary.md: what it counts, and what it says where there is little to say. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import shutil
import sys

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from summary_case import Summary, launch, range_of  # noqa: E402


class Parts(Summary):
    def test_a_part_of_less_than_one_percent_is_not_listed(self) -> None:
        text = self.of_trace(range_of("large", 0, 100), *launch(1, 10, 1000, 1989), range_of("edge", 100, 200), *launch(2, 110, 2000, 2010),
                             range_of("tiny", 200, 300), *launch(3, 210, 3000, 3001))
        self.assertIn('"large" takes 99 %', text)
        self.assertIn('"edge" takes 1 %', text)
        self.assertNotIn("tiny", text)


class Tables(Summary):
    def test_numbers_stand_below_the_sentences(self) -> None:
        self.of_trace(range_of("large", 0, 100), *launch(1, 10, 1000, 1989), range_of("edge", 100, 200), *launch(2, 110, 2000, 2010, "axpy"))
        heads = [line[3:] for line in self.summary.splitlines() if line.startswith("## ")]
        below = heads[heads.index("What to do first") + 1:]
        self.assertEqual([h for h in below if h not in ("How sure this is", "How far from the limit", "Speed", "Stages of the run")],
                         ["What ran", "Time of the parts", "Most expensive kernels"])
        self.assertIn("| large | 1 |", self.summary)
        self.assertRegex(self.summary, r"(?m)^\| 1 \| 10 us \|.*\| axpy \|$")


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
        self.assertNotIn("waits for the next launch", text)
        self.assertIn("the GPU was idle for a reason that this trace does not show", text)
        self.assertLess(self.fact(r"Of (\S+ \S+) \(15 steps\), the GPU computed for", text), 1.1 * waited)
        work = rows["decode"]["gpu_ns_inclusive"] + rows["prefill"]["gpu_ns_inclusive"]
        self.assertAlmostEqual(self.fact(r"work together takes \S+ \S+: kernels (\S+ \S+), copies", text), work, delta=0.001 * work)
        self.assertNotIn("usual", text)
        self.assertNotIn('part called "warmup"', text)
        self.assertIn('Loading and warm-up ("warmup", "load": 3.090 s) are left out', text)

    def test_only_the_rest_is_counted(self) -> None:
        text = self.steps()
        self.assertIn("All GPU work together takes 300 us.", text)
        self.assertIn("Of 1.100 ms, the GPU computed for 27.3 % and was idle for 72.7 %.", text)
        self.assertLess(text.index("Only 3 kernels were recorded"), text.index("Of 1.100 ms"))  # said before anything is said
        self.assertIn('"decode" takes 100 % of it (300 us)', text)
        self.assertIn('("warmup", "load": 10 ms)', text)
        self.assertNotIn("short kernels", text)  # all of them were in load and warmup

    def test_one_part_that_is_everything_says_what_is_inside(self) -> None:
        """step > forward > attn 6, mlp 3, lm_head 1: the first level that says something has three parts."""
        parts = (("attn", 0, 600), ("mlp", 600, 900), ("lm_head", 900, 1000))
        ranges = [range_of("step", 0, 2000), range_of("forward", 1, 1999)]
        work = []
        for i, (name, start, end) in enumerate(parts):
            ranges.append(range_of(name, 10 + 10 * i, 15 + 10 * i))
            work += launch(i + 1, 11 + 10 * i, 100 + start, 100 + end)
        text = self.of_trace(*ranges, *work)
        self.assertIn('- The part called "step" takes 100 % of it (1 ms).\n', text)
        self.assertRegex(text, r'- Inside it: "attn" 60 % \(600 us\), "mlp" 30 % \(300 us\), "lm\\?_head" 10 % \(100 us\)\.')

    def test_what_is_inside_is_not_said_where_it_explains_little(self) -> None:
        cases = (("it is nothing", []), ("it is a third", [range_of("part", 10, 15)]),
                 ("it is again everything", [range_of("part", 10, 35)]))
        for name, inner in cases:
            with self.subTest(name=name):
                work = [e for i in range(3) for e in launch(i + 1, 11 + 10 * i, 100 + 100 * i, 200 + 100 * i)]
                text = self.of_trace(range_of("step", 0, 2000), *inner, *work)
                self.assertIn('"step" takes 100 %', text)
                self.assertNotIn("Inside it", text)

    def test_two_parts_say_nothing_of_their_insides(self) -> None:
        text = self.of_trace(range_of("a", 0, 20), range_of("b", 20, 60), range_of("part", 1, 9), range_of("other", 10, 18),
                             *launch(1, 5, 100, 200), *launch(2, 15, 200, 300), *launch(3, 30, 300, 400))
        self.assertIn('"a" takes 67 %', text)
        self.assertNotIn("Inside it", text)

    def test_a_run_that_varies_by_141_percent_gives_no_advice(self) -> None:
        self.put("workload/direct_inference/metrics.json", {
            "samples": [{"sample": 0, "repeat": i, "total_ms": t} for i, t in enumerate((0, 100))],
            "aggregate": {"total_ms": {"count": 2, "mean": 50, "std": 70.7, "p50": 50}}})
        text = self.steps()
        self.assertIn("Every saving that was found is smaller than the difference between repeats.", text)
        self.assertIn("Repeats of the same work differ by 141 %.", text)
        self.assertNotIn("could be saved", text)
        found = json.loads(self.text("report.json"))
        self.assertTrue(found["findings"])
        self.assertTrue(all(f["within_noise"] for f in found["findings"]))
        self.assertEqual(found["cautions"][0]["id"], "too-noisy")
        self.assertLess(self.report_md.index("Repeats of this run differ by 141.4 %"), self.report_md.index("Every saving"))

    def test_findings_alone_are_printed_and_nothing_is_written(self) -> None:
        self.steps()
        files = sorted(os.listdir(self.run_dir))
        shutil.rmtree(os.path.join(self.run_dir, "figures"), ignore_errors=True)
        os.remove(self.path("report.md"))
        done = self.lpo("report", self.run_dir, "--findings")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("What to do first\n\nwarning: Only 3 kernels were recorded: too few for firm conclusions.\nOf "), done.stdout)
        self.assertIn("could be saved", " ".join(done.stdout.split()))
        self.assertEqual(sorted(os.listdir(self.run_dir)), [f for f in files if f not in ("report.md", "figures")])

    def test_findings_alone_say_that_the_file_was_cut(self) -> None:
        path = os.path.join(self.cwd, "cut.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "a", "pid": 1, '
                    '"tid": 1, "ts": 1, "dur": 2}, {"ph": "X", "cat": "ker')
        done = self.lpo("report", path, "--findings")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("No GPU operation was recorded", done.stdout)
        self.assertRegex(done.stdout, r"warning: .*(breaks off|cut|ends)")

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
        for word in ("was idle for", "could be saved", "Look at", "takes 1"):
            self.assertNotIn(word, text)

    def test_the_host_alone_is_ranked_by_the_same_rule(self) -> None:
        text = self.of_trace(range_of("warmup", 0, 9000), range_of("prefill", 9000, 9300), range_of("decode", 9300, 10000))
        self.assertIn('"decode" takes 70 % of it (700 us)', text)
        self.assertIn('Look at "decode": by itself it takes 700 us, more than any other part.', text)
        self.assertNotIn("could be saved", text)
        self.assertNotIn('part called "warmup"', text)


class LittleToSay(Summary):
    def test_only_copies(self) -> None:
        events = []
        for i in range(100):  # 6 GB/s: 6 MB in 1 ms, where 50 GB/s are usual
            at = {"pid": 1, "tid": 1, "ts": i * 1010 - 5, "dur": 1007}
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", **at, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": i * 1010, "dur": 1000,
                        "args": {"correlation": i + 1, "device": 0, "stream": 7, "bytes": 6000000}}]
        self.put("torch_profiler/1.trace.json", {"schemaVersion": 1, "deviceProperties": [
            {"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0}], "traceEvents": events})
        text = self.report()
        self.assertIn("Take care: No kernel was recorded, only copies and memsets.", text)
        first = json.loads(self.text("report.json"))["findings"][0]
        self.assertEqual((first["id"], first["saving_ns"]), ("pageable-copies", 88992000))  # there is no computing to hide them

    def test_nothing_at_all(self) -> None:
        text = self.of_trace()
        self.assertIn("No part of the program is marked, and no GPU operation was recorded.", text)
        self.assertNotIn("Time of the marked parts", text)


class Throttling(Summary):
    """One GPU, busy for 1 ms; samples every 100 us, half of them slowed from 2000 to 1500 MHz."""

    def found(self, reasons: tuple[int, ...], samples: int = 10) -> list[dict]:
        base = 1700000000 * 10**9
        self.put("torch_profiler/1.trace.json", {"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": [
            *launch(1, 0, 10, 510), *launch(2, 1, 510, 1010)]})
        lines = ["unix_ns,gpu,power_mw,sm_mhz,throttle_reasons"]
        for i in range(samples):
            slow = reasons[i % len(reasons)]
            lines.append(f"{base + 60000 + i * 100000 * 10 // samples},0,300000,{1500 if slow else 2000},{slow}")
        self.put("nvml/samples.csv", "\n".join(lines) + "\n")
        self.report()
        return [f for f in json.loads(self.text("report.json"))["findings"] if f["id"] == "throttling"]

    def test_a_power_cap_costs_the_missing_clock(self) -> None:
        f, = self.found((0, 4))
        self.assertEqual(f["saving_ns"], 1000000 * 0.5 * 0.25)  # of 1 ms, half of the samples, a quarter of the clock
        self.assertEqual(f["basis"], "estimated")
        text = " ".join(e["text"] for e in f["evidence"])
        for fact in ("power cap", "50.0 % of the samples", "1500 MHz", "2000 MHz"):
            self.assertIn(fact, text)

    def test_idleness_is_no_throttling(self) -> None:
        self.assertEqual(self.found((0, 1)), [])

    def test_four_samples_are_too_few(self) -> None:
        self.assertEqual(self.found((4, 4), samples=4), [])


class Roof(Summary):
    """Two kernels of 250 us that need 480 MB: 100 us at the 4.8 TB/s of an H200."""

    def found(self, second_launch: int, needs: str = "{step: {bytes: 480000000}}") -> list[dict]:
        self.put("config.yaml", f"pipeline: {{static_analysis: {{hardware: h200_sxm}}}}\nreport: {{needs: {needs}}}\n")
        self.of_trace(range_of("step", 0, second_launch + 15), *launch(1, 10, 20, 270), *launch(2, second_launch, 270, 520))
        return [f for f in json.loads(self.text("report.json"))["findings"] if f["id"] == "far-from-roof"]

    def test_what_the_memory_allows(self) -> None:
        f, = self.found(11)
        self.assertEqual((f["saving_ns"], f["where"], f["basis"]), (400000, "step", "estimated"))
        self.assertIn("the hardware allows 100 us", f["evidence"][0]["text"])

    def test_a_kernel_before_a_late_launch_saves_nothing(self) -> None:
        f, = self.found(270)
        self.assertEqual(f["saving_ns"], 200000)

    def test_without_a_need_there_is_no_roof(self) -> None:
        self.assertEqual(self.found(11, "{}"), [])


class FirstCalls(Summary):
    """Five calls of `step` that need 480 MB each, 100 us on an H200; the first one loads and tunes."""

    def limits(self, *events: dict) -> dict:
        self.put("config.yaml", "pipeline: {static_analysis: {hardware: h200_sxm}}\nreport: {needs: {step: {bytes: 480000000}}}\n")
        self.of_trace(*events)
        self.record = json.loads(self.text("report.json"))
        step, = self.record["limits"]["regions"]
        return step

    def test_limits_judge_the_later_calls_alone(self) -> None:
        # the first call: kernels of 500 and 200 us, and the host is late for 500 us between them
        events = [range_of("step", 0, 1250), *launch(1, 10, 20, 520), *launch(2, 1000, 1020, 1220)]
        for k in range(4):  # two of 100 us with 20 us between them, every 300 us
            at = 1250 + 300 * k
            events += [range_of("step", at, at + 290), *launch(10 + k, at + 10, at + 20, at + 120),
                       *launch(20 + k, at + 130, at + 140, at + 240)]
        step = self.limits(*events)
        self.assertEqual((step["runs"], step["first_calls"], step["first_ns"]), (4, 1, 700000 + 500000))
        self.assertEqual(step["busy_ns"], 4 * 200000)
        self.assertEqual(step["idle_ns"], 4 * 20000 + 50000 + 3 * 80000)  # in calls, after the first one, between later ones
        self.assertEqual((step["measured_ns"], step["limit_ns"]), (1170000, 400000))
        self.assertEqual((step["needed_bytes"], step["saving_ns"]), (4 * 480000000, 770000))
        self.assertAlmostEqual(step["share"], 400 / 1170)
        self.assertEqual(self.record["limits"]["model"]["saving_ns"], 770000)
        wall, = self.record["wall"]  # is about all of it
        self.assertEqual((wall["span_ns"], wall["compute_ns"]), (2370000, 1500000))
        page = " ".join(self.report_md.split())
        self.assertIn("Only steady calls are judged", page)
        self.assertIn("They took 1.200 ms; the other calls took 1.170 ms.", page)
        self.assertRegex(page, r"\| Region \|.*First calls")

    def test_the_finding_counts_steady_time_alone(self) -> None:
        events = [range_of("step", 0, 500), *launch(1, 10, 20, 1020)]
        for k in range(4):
            events += [range_of("step", 500 + 50 * k, 545 + 50 * k), *launch(2 + k, 510 + 50 * k, 1020 + 200 * k, 1220 + 200 * k)]
        step = self.limits(*events)
        self.assertEqual((step["busy_ns"], step["first_ns"]), (800000, 1000000))
        roof, = [f for f in self.record["findings"] if f["id"] == "far-from-roof"]
        self.assertEqual(roof["saving_ns"], 400000)  # 4 calls of 200 us that could take 100
        self.assertIn("1 first call is left out", roof["evidence"][0]["text"])

    def test_idle_time_before_a_new_kernel_comes_once(self) -> None:
        operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 125, "dur": 900}
        step = self.limits(range_of("step", 0, 1400), *launch(1, 10, 20, 120), operator, *launch(2, 1010, 1020, 1120, "new"),
                           *launch(3, 1150, 1160, 1260))
        self.assertEqual((step["runs"], step["first_ns"], step["busy_ns"]), (1, 900000, 300000))
        self.assertEqual((step["idle_ns"], step["measured_ns"], step["saving_ns"]), (40000, 340000, 240000))  # 100 us are needed
        self.assertNotIn("first_calls", step)
        wall, = self.record["wall"]
        self.assertEqual(wall["idle_ns"], 940000)

    def test_three_calls_do_not_show_what_is_normal(self) -> None:
        events = [range_of("step", 0, 1250), *launch(1, 10, 20, 1020)]
        for k in range(2):
            events += [range_of("step", 1250 + 300 * k, 1540 + 300 * k), *launch(2 + k, 1260 + 300 * k, 1270 + 300 * k, 1370 + 300 * k)]
        step = self.limits(*events)
        self.assertEqual((step["runs"], step["busy_ns"]), (3, 1200000))
        self.assertNotIn("first_calls", step)
        self.assertNotIn("Only steady calls are judged", self.report_md)


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
