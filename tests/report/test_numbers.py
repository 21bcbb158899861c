#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed, its spread, overhead, power and the files of the torch stage, on recorded artifacts. Prints TAP."""
from __future__ import annotations

import bisect
import csv
import json
import os
import shutil
import statistics
import sys

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

RUN = os.path.join(SOURCE, "tests", "data", "runs", "h200_llama")


class Report(LpoCase):
    def recorded(self) -> None:
        shutil.copytree(RUN, self.run_dir)

    def report(self) -> None:
        self.report_md = self.lpo_report()
        self.tables, self.facts = {}, {}
        for section in json.loads(self.text("report.json"))["sections"]:
            for item in section["items"]:
                if item["type"] == "table":
                    self.tables[item["id"]] = item["rows"]
                elif item["type"] == "fact":
                    self.facts[item["key"]] = item["value"]


class Speed(Report):
    def metrics(self, stage: str) -> dict:
        return json.loads(self.text(f"workload/{stage}/metrics.json"))

    def test_every_figure_has_its_spread(self) -> None:
        self.recorded()
        self.report()
        rows = {(r["stage"], r["figure"]): r for r in self.tables["speed_times"]}
        want = self.metrics("direct_inference")["aggregate"]["inter_token_ms"]
        got = rows["direct_inference", "Between tokens"]
        for key in ("mean", "std", "p50", "p90"):
            self.assertAlmostEqual(got[key + "_ns"], want[key] * 1e6, delta=1)
        self.assertEqual(got["count"], 45)
        self.assertIsNone(got["p99_ns"])  # of 45 values it would be the largest
        few = rows["direct_inference", "Total"]
        self.assertLess(few["count"], 10)
        self.assertIsNone(few["p90_ns"])
        rates = {r["stage"]: r for r in self.tables["speed_rates"]}
        self.assertAlmostEqual(rates["torch_profiler"]["p50"],
                               self.metrics("torch_profiler")["aggregate"]["tokens_per_s"]["p50"])
        self.assertEqual({r["stage"]: r["peak_device_bytes"] for r in self.tables["peak_memory"]}["direct_inference"],
                         self.metrics("direct_inference")["peak_device_bytes"])

    def test_overhead_is_profiled_over_direct(self) -> None:
        self.recorded()
        self.report()
        row, = self.tables["overhead"]
        with_, without = (self.metrics(s)["aggregate"] for s in ("torch_profiler", "direct_inference"))
        self.assertAlmostEqual(row["prefill_ratio"], with_["prefill_ms"]["p50"] / without["prefill_ms"]["p50"])
        self.assertAlmostEqual(row["decode_ratio"], with_["inter_token_ms"]["p50"] / without["inter_token_ms"]["p50"])

    def test_an_overhead_inside_the_noise_is_said_to_be_so(self) -> None:
        for slower, noted in ((1.02, True), (1.5, False)):
            with self.subTest(slower=slower):
                for stage, scale in (("direct_inference", 1), ("torch_profiler", slower)):
                    times = [scale * t for t in (95, 100, 105)]
                    self.put(f"workload/{stage}/metrics.json", {
                        "samples": [{"sample": 0, "repeat": i, "prefill_ms": t} for i, t in enumerate(times)],
                        "aggregate": {"prefill_ms": {"count": 3, "mean": times[1], "std": 5 * scale, "p50": times[1]}}})
                self.put("torch_profiler/1.trace.json", {"schemaVersion": 1, "traceEvents": OPS + LAUNCHES + KERNELS})
                self.report()
                self.assertEqual("The overhead of torch_profiler is smaller than the difference between repeats (5.0 %)" in self.report_md,
                                 noted, self.report_md)

    def test_without_the_direct_run_overhead_is_unknown(self) -> None:
        self.recorded()
        shutil.rmtree(os.path.join(self.run_dir, "workload", "direct_inference"))
        self.report()
        row, = self.tables["overhead"]
        self.assertIsNone(row["prefill_ratio"])
        self.assertIn("overhead is unknown", self.report_md)

    def test_repeats_that_vary_mark_the_run(self) -> None:
        self.recorded()
        self.report()
        values = [s["decode_ms"] for s in self.metrics("direct_inference")["samples"]]
        cv = statistics.stdev(values) / statistics.mean(values)
        self.assertEqual((self.facts["stable"], self.facts["variation_figure"]), ("no", "decode_ms"))
        self.assertAlmostEqual(self.facts["variation"], cv * 100)
        self.assertIn(f"unstable: in stage direct_inference, decode_ms varies by {cv * 100:.1f} %", self.report_md)
        self.assertIn("not stable", self.text("stakeholder_summary.md"))

    def test_a_larger_max_cv_is_taken_from_the_config(self) -> None:
        self.recorded()
        self.put("config.yaml", "run:\n  max_cv: 0.5\n")
        self.report()
        self.assertEqual(self.facts["stable"], "yes")
        self.assertNotIn("unstable", self.report_md)

    def test_samples_of_different_lengths_are_not_repeats(self) -> None:
        samples = [{"sample": n, "repeat": r, "prefill_ms": ms} for n, ms in (("short", 1.0), ("long", 100.0))
                   for r in range(3)]
        self.put("workload/native/metrics.json", {"aggregate": {}, "samples": samples})
        self.report()
        self.assertEqual((self.facts["stable"], self.facts["variation"]), ("yes", 0))

    def test_one_repeat_says_nothing(self) -> None:
        self.put("workload/native/metrics.json", {"aggregate": {}, "samples": [{"sample": "a", "prefill_ms": 1.0}]})
        self.report()
        self.assertIsNone(self.facts["stable"])

    def test_metrics_of_any_shape_do_no_harm(self) -> None:
        for i, value in enumerate([[], 1, {"aggregate": 3, "samples": 4, "failures": 5},
                                   {"aggregate": {"prefill_ms": {"mean": 1e308, "p50": "x"}}, "peak_host_bytes": -1e300,
                                    "samples": [1, None, {"sample": {}, "prefill_ms": -1}, {"prefill_ms": 1e308}]}]):
            self.put(f"workload/s{i}/metrics.json", value)
        self.report()


class Power(Report):
    def samples(self) -> tuple[list[int], list[float], list[float]]:
        rows = list(csv.DictReader(self.text("nvml/samples.csv").splitlines()))
        return ([int(r["unix_ns"]) for r in rows], [int(r["power_mw"]) / 1e3 for r in rows],
                [int(r["energy_mj"]) / 1e3 for r in rows])

    def joules(self, start: int, end: int) -> float:
        """The trapezoids between samples, cut at both ends."""
        times, watts, _ = self.samples()

        def integral(t: int) -> float:
            i = bisect.bisect_left(times, t)
            whole = sum((watts[k] + watts[k + 1]) / 2 * (times[k + 1] - times[k]) * 1e-9 for k in range(i - 1))
            part = (t - times[i - 1]) / (times[i] - times[i - 1])
            return whole + part * (watts[i - 1] + watts[i]) / 2 * (times[i] - times[i - 1]) * 1e-9
        return integral(end) - integral(start)

    def test_energy_of_a_stage_is_the_counters(self) -> None:
        self.recorded()
        self.report()
        stage = next(s for s in json.loads(self.text("run.json"))["stages"] if s["name"] == "torch_profiler")
        times, watts, energy = self.samples()
        start, end = stage["started_unix_ns"], stage["started_unix_ns"] + stage["wall_ns"]
        inside = [i for i, t in enumerate(times) if start <= t < end]
        counted = (energy[inside[-1]] - energy[inside[0]]) * (end - start) / (times[inside[-1]] - times[inside[0]])
        row = next(r for r in self.tables["power_stages"] if r["stage"] == "torch_profiler")
        self.assertAlmostEqual(row["energy_j"], counted, delta=1e-6 * counted)
        self.assertAlmostEqual(row["power_max_w"], max(watts[i] for i in inside))
        self.assertAlmostEqual(row["energy_j"], self.joules(start, end), delta=0.05 * counted)

    def test_energy_of_regions_and_tokens_is_the_integral(self) -> None:
        self.recorded()
        self.report()
        trace = json.loads(self.text("torch_profiler/ranges.trace.json"))
        energy = {}
        for e in trace["traceEvents"]:
            start = trace["baseTimeNanoseconds"] + round(e["ts"] * 1000)
            energy[e["name"]] = energy.get(e["name"], 0) + self.joules(start, start + round(e["dur"] * 1000))
        rows = {r["region"]: r["energy_j"] for r in self.tables["energy_regions"]}
        for path, name in (("prefill", "prefill"), ("decode", "decode"), ("decode/step", "step"), ("warmup", "warmup")):
            self.assertAlmostEqual(rows[path], energy[name], delta=1e-4 * energy[name])
        self.assertAlmostEqual(self.facts["energy_per_token_j"], (energy["prefill"] + energy["decode"]) / 48, delta=1e-3)
        self.assertAlmostEqual(self.facts["energy_per_decode_token_j"], energy["decode"] / 45, delta=1e-3)
        self.assertNotIn("throttled", self.report_md)

    def test_throttling_in_a_measured_region_is_a_warning(self) -> None:
        self.recorded()
        lines = [line.split(",") for line in self.text("nvml/samples.csv").splitlines()]
        for cells in lines[1:]:
            cells[9] = "36"  # power cap and heat
        self.put("nvml/samples.csv", "\n".join(map(",".join, lines)) + "\n")
        self.report()
        self.assertIn('clocks were throttled during "prefill" (power cap, heat (software))', self.report_md)
        self.assertNotIn('throttled during "warmup"', self.report_md)

    def test_damaged_samples_are_told(self) -> None:
        self.recorded()
        self.put("nvml/samples.csv", self.text("nvml/samples.csv") + "nonsense\n1,2\n17947")
        self.report()
        self.assertIn("3 lines of nvml/samples.csv are not samples", self.report_md)
        self.put("nvml/samples.csv", "\x00\x01binary")
        self.report()
        self.assertIn("nvml/samples.csv cannot be read", self.report_md)

    def test_no_samples_no_chapter(self) -> None:
        self.recorded()
        shutil.rmtree(os.path.join(self.run_dir, "nvml"))
        self.report()
        self.assertNotIn("## Power", self.report_md)


def event(name, cat, ts, dur, tid=1, **args) -> dict:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def memory(ts, nbytes, total) -> dict:
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts,
            "args": {"Total Allocated": total, "Total Reserved": 4096, "Bytes": nbytes,
                     "Device Type": 1, "Device Id": 0, "Addr": 4096}}


OPS = [event("aten::linear", "cpu_op", 0, 100), event("aten::mm", "cpu_op", 10, 50), event("aten::mm", "cpu_op", 70, 20)]
LAUNCHES = [event("cudaLaunchKernel", "cuda_runtime", 20, 5, correlation=1), event("cudaLaunchKernel", "cuda_runtime", 75, 5, correlation=2)]
KERNELS = [event("gemm", "kernel", 30, 10, 7, correlation=1, device=0, stream=7),
           event("gemm", "kernel", 85, 30, 7, correlation=2, device=0, stream=7)]


class Torch(Report):
    def trace(self, events: list, **says: int) -> dict:
        """A trace of these events; the writer says before them what was recorded, as torch's own does."""
        self.put("torch_profiler/1.trace.json", {"schemaVersion": 1, **says, "traceEvents": events})
        self.report()
        return json.loads(self.text("torch_profiler/metrics.json"))

    def test_kernels_count_with_the_operator_that_launched_them(self) -> None:
        m = self.trace(OPS + LAUNCHES + KERNELS)
        rows = {r["operator"]: r for r in m["operators"]}
        self.assertEqual((rows["aten::mm"]["calls"], rows["aten::mm"]["gpu_self_ns"]), (2, 40000))
        self.assertEqual((rows["aten::linear"]["gpu_total_ns"], rows["aten::linear"]["gpu_self_ns"]), (40000, 0))
        self.assertEqual((rows["aten::linear"]["cpu_total_ns"], rows["aten::linear"]["cpu_self_ns"]), (100000, 30000))
        self.assertEqual(rows["aten::mm"]["kernels"], [{"kernel": "gemm", "launches": 2, "gpu_ns": 40000}])
        self.assertEqual(m["devices"][0]["gaps"]["host"], {"count": 1, "ns": 45000})
        self.assertIn("host: launched too late | 45 us | 52.9 % | 1 |", self.text("torch_profiler/report.md"))
        self.assertIn("| aten::mm | 2 | 40 us |", self.text("torch_profiler/operators.md"))

    def test_operators_are_ordered_by_what_their_share_is_of(self) -> None:
        """aten::linear launches nothing itself: it must not stand first with a share of 0."""
        self.trace(OPS + LAUNCHES + KERNELS)
        page = self.text("torch_profiler/operators.md")
        self.assertLess(page.index("| 100.0 % | 2 | aten::mm"), page.index("| 0.0 % | 0 | aten::linear"))

    def test_a_trace_of_the_cpu_has_no_gpu_times(self) -> None:
        m = self.trace(OPS)
        self.assertTrue(all(r["gpu_total_ns"] is None and r["gpu_self_ns"] is None for r in m["operators"]))
        self.assertIsNone(m["gpu"]["gpu_ns"])
        for name in ("operators.md", "torch_profiler/operators.md", "torch_profiler/report.md"):
            lines = self.text(name).splitlines()
            row = next(i for i, line in enumerate(lines) if "aten::mm" in line)
            head = next(line for line in reversed(lines[:row]) if "Calls" in line).split("|")
            cells = dict(zip((h.strip() for h in head), (c.strip() for c in lines[row].split("|"))))
            row = lines[row]
            self.assertEqual([h for h in cells if "GPU" in h], [], row)  # no column without a value
            self.assertNotIn("0 ns", row)

    def test_memory_peaks_where_they_were_recorded(self) -> None:
        m = self.trace(OPS + [memory(1, 100, 1100), memory(2, 400, 1500), memory(3, -400, 1100)], profile_memory=1)
        self.assertEqual(m["memory"], [{"type": "GPU", "device": 0, "allocations": 2, "frees": 1, "peak_allocated_bytes": 1500,
                                        "peak_reserved_bytes": 4096, "growth_bytes": 500, "largest_bytes": 400}])
        self.assertIsNone(self.trace(OPS)["memory"])
        self.assertIn("The trace holds no allocations", self.text("torch_profiler/report.md"))

    def test_where_the_stage_did_not_run_nothing_is_written(self) -> None:
        self.put("workload/native/metrics.json", {"aggregate": {}, "samples": []})
        self.report()
        self.assertFalse(os.path.exists(os.path.join(self.run_dir, "torch_profiler")))


if __name__ == "__main__":
    tap.main()
