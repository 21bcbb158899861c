#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sampled counters through the program: found, given, missing, damaged. The trace is a recorded one, the samples are
made from it: every kernel moves 1,000 bytes in a nanosecond and keeps the tensor cores busy for half of it. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("LPO_SOURCE_ROOT", os.path.join(HERE, "..", ".."))
for folder in ("..", "../trace", "../collect", "../docs"):
    sys.path.insert(0, os.path.join(HERE, folder))
import lpoc  # noqa: E402
import lpot  # noqa: E402
import tap  # noqa: E402
from json_schema import errors  # noqa: E402
from lpo_case import LpoCase  # noqa: E402
from test_schemas import schema  # noqa: E402

TRACE = os.path.join(ROOT, "tests", "data", "native", "llama8.lpot")
INTERVAL, RATE = 50000, 1000
METRICS = [("dram__bytes_read.sum", 1, lpoc.AMOUNT, 1, "byte"), ("dram__bytes_write.sum", 2, lpoc.AMOUNT, 1, "byte"),
           ("tensor", 9, lpoc.SHARE, 10000, "%"), ("sm", 10, lpoc.SHARE, 10000, "%")]


def operations() -> list[tuple[int, int]]:
    return sorted((w["start"], w["end"]) for w in lpot.Trace(TRACE).works)


def samples(move_ns: int = 0, change_ns: int = 1 << 62, longer: int = INTERVAL) -> list[tuple[int, int, list[float]]]:
    """From 1 ms before the first operation to 1 ms after the last; `change_ns` after the first, samples are `longer`."""
    ops, rows, first = operations(), [], 0
    begin = at = ops[0][0] - 1_000_000
    end = max(e for _, e in ops) + 1_000_000
    while at < end:
        ns, every = 0, longer if at - begin >= change_ns else INTERVAL
        while first < len(ops) and ops[first][1] <= at:
            first += 1
        for a, b in ops[first:]:
            if a >= at + every:
                break
            ns += max(0, min(b, at + every) - max(a, at))
        rows.append((at + move_ns, at + every + move_ns,
                     [ns * RATE * 3 / 4, ns * RATE / 4, 50 * ns / every, 80 * ns / every]))
        at += every
    return rows


def file_of(rows, index: int = 0, totals: dict[int, int] | None = None) -> bytes:
    blocks = [lpoc.preamble(), lpoc.facts({"clock": "realtime", "interval_ns": str(INTERVAL), "chip": "GH100",
                                           "device.index": str(index)}), lpoc.metrics(METRICS)]
    begun, last = 0, rows[0][1] - rows[0][0] if rows else 0
    for i, row in enumerate([*rows, None]):  # a block for at most 4,096 samples of one interval
        if i - begun == 4096 or row is None or row[1] - row[0] != last:
            blocks.append(lpoc.samples(rows[begun:i], [m[3] for m in METRICS]))
            if row is not None and row[1] - row[0] != last:
                last = row[1] - row[0]
                blocks.append(lpoc.interval(row[0], last, 400 * last))
            begun = i
    return b"".join(blocks + [lpoc.end({6: 1, **(totals or {})})])


class Sampled(LpoCase):
    rows = None

    def setUp(self) -> None:
        super().setUp()
        if Sampled.rows is None:
            Sampled.rows = samples()
        os.makedirs(os.path.join(self.run_dir, "native"))
        os.makedirs(os.path.join(self.run_dir, "counters"))
        shutil.copy(TRACE, os.path.join(self.run_dir, "native", "1.lpot"))

    def put(self, data: bytes, name: str = "gpu0.lpoc") -> str:
        path = os.path.join(self.run_dir, "counters", name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def report(self, *words: str) -> dict:
        done = self.lpo("report", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        value = json.loads(done.stdout)
        self.assertEqual(errors(value, schema("report"), schema("report"))[:5], [])
        return value

    def check_sums(self, report: dict) -> None:
        regions = {r["path"]: r for r in report["scopes"][0]["regions"]}
        for path in ("decode", "decode/step/layer1", "warmup"):
            r = regions[path]
            ns = r["gpu_ns_inclusive"] + (r["copies"]["ns"] if "copies" in r else 0)
            bytes_moved = r["metrics"]["dram_bytes_read"]["value"] + r["metrics"]["dram_bytes_written"]["value"]
            self.assertAlmostEqual(bytes_moved / (ns * RATE), 1, delta=0.02, msg=path)
            self.assertAlmostEqual(r["metrics"]["tensor_active"]["value"], 50, delta=1)
            self.assertEqual(r["metrics"]["tensor_active"]["how"], "sampled")
        both = report["counters"]["gpus"][0]
        total = sum(m["total"] for m in both["metrics"][:2])
        self.assertAlmostEqual(total / (both["gpu_ns"] * RATE), 1, delta=0.001)

    def test_a_run_folder(self) -> None:
        self.put(file_of(self.rows))
        self.check_sums(self.report("run"))

    def test_an_interval_that_becomes_longer(self) -> None:
        rows = samples(change_ns=50_000_000, longer=4 * INTERVAL)
        change = next(i for i, r in enumerate(rows) if r[1] - r[0] > INTERVAL)
        self.put(file_of(rows, totals={4: 28_000_000, 7: 1_000_000_000}))
        report = self.report("run")
        self.check_sums(report)
        gpu = report["counters"]["gpus"][0]
        self.assertEqual(gpu["interval_ns"], INTERVAL)
        self.assertEqual(gpu["intervals"], [{"from_ns": rows[0][0], "interval_ns": INTERVAL, "samples": change},
                                            {"from_ns": rows[change][0], "interval_ns": 4 * INTERVAL, "samples": len(rows) - change}])
        self.assertEqual(gpu["sampler"], {"cpu_ns": 28_000_000, "wall_ns": 1_000_000_000, "core_share": 0.028})
        text = " ".join(i.get("text", "") for s in report["sections"] if s["id"] == "counters" for i in s["items"])
        self.assertIn(f"{len(rows):,} samples of 50 us, later 200 us", text)
        self.assertIn("the sampler used 2.8 % of one core. To keep to pipeline.counters.core it made the interval longer: "
                      "from 50 ms after its first sample on it is 200 us.", text)

    def test_what_the_sampler_took(self) -> None:
        self.put(file_of(self.rows, totals={4: 440_000_000, 7: 1_000_000_000}))
        gpu = self.report("run")["counters"]["gpus"][0]
        self.assertEqual(gpu["sampler"]["core_share"], 0.44)
        self.assertNotIn("intervals", gpu)
        self.put(file_of(self.rows, totals={4: 440_000_000}))  # of an lpo that did not write the time
        self.assertNotIn("sampler", self.report("run")["counters"]["gpus"][0])

    def test_a_trace_and_its_samples(self) -> None:
        self.check_sums(self.report(TRACE, self.put(file_of(self.rows))))

    def test_a_folder_of_both(self) -> None:
        shutil.copy(TRACE, os.path.join(self.run_dir, "counters", "a.lpot"))
        self.put(file_of(self.rows))
        self.check_sums(self.report("run/counters"))

    def test_without_samples_nothing_is_said(self) -> None:
        report = self.report("run")
        self.assertNotIn("counters", report)
        self.assertNotIn("counters", [s["id"] for s in report["sections"]])
        self.assertEqual(report["scopes"][0]["regions"][0]["metrics"], {})

    def test_limits_have_what_was_counted(self) -> None:
        self.put(file_of(self.rows))
        words = ("report.needs={decode/step: {bytes: 1e6, flops: 1e6, dtype: bf16}}",)
        row = next(r for r in self.report("run", *words)["limits"]["regions"] if r["path"] == "decode/step")
        self.assertEqual(row["counted_by"], "sampled")
        self.assertAlmostEqual(row["dram_rate"] / (RATE * 1e9), 1, delta=0.02)
        self.assertAlmostEqual(row["tensor_percent"], 50, delta=1)
        self.assertAlmostEqual(row["dram_percent"], 100 * RATE * 1e9 / 4.8e12, delta=2)
        md = self.lpo("report", "run", *words)
        self.assertEqual(md.returncode, 0, md.stderr)

    def test_the_page_and_the_timeline_have_series(self) -> None:
        self.put(file_of(self.rows))
        done = self.lpo("report", "run", "report.formats=[md,html,perfetto]")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.run_dir, "report.html"), encoding="utf-8") as f:
            self.assertIn("Tensor cores active", f.read())
        with open(os.path.join(self.run_dir, "timeline.perfetto.json"), encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        self.assertIn("DRAM read", {e["name"].partition(",")[0].partition(" (")[0] for e in events if e["ph"] == "C"})

    def test_another_process(self) -> None:
        rows = [(a, b, [1e6, 0, 0, 30] if v[0] == 0 else v) for a, b, v in self.rows]
        self.put(file_of(rows))
        report = self.report("run")
        self.assertGreater(report["counters"]["gpus"][0]["others_share"], 0.01)
        notes = [i["text"] for s in report["sections"] if s["id"] == "counters" for i in s["items"] if i.get("level") == "warning"]
        self.assertTrue(any("Another process used the GPU" in n for n in notes), notes)
        self.check_sums_of_regions_only(report)

    def test_the_driver_clears_memory(self) -> None:
        """bytes without an SM at work are no other process"""
        rows = [(a, b, [0, 1e6, 0, 0] if v[0] == 0 else v) for a, b, v in self.rows]
        self.put(file_of(rows))
        report = self.report("run")
        gpu = report["counters"]["gpus"][0]
        self.assertGreater(gpu["others_without_sms_share"], 0.01)
        self.assertEqual(gpu["others_without_sms_share"], gpu["others_share"])
        items = [i for s in report["sections"] if s["id"] == "counters" for i in s["items"]]
        self.assertEqual([i for i in items if i.get("level") == "warning"], [])
        self.assertTrue(any("the driver cleared memory" in i.get("text", "") for i in items))

    def check_sums_of_regions_only(self, report: dict) -> None:
        decode = next(r for r in report["scopes"][0]["regions"] if r["path"] == "decode")
        self.assertAlmostEqual(decode["metrics"]["dram_bytes_read"]["value"] / (decode["gpu_ns_inclusive"] * RATE * 3 / 4),
                               1, delta=0.03)

    def problem(self, *words: str) -> str:
        report = self.report(*words)
        self.assertNotIn("counters", report)
        return " ".join(i["text"] for s in report["sections"] for i in s["items"] if i.get("level") == "warning")

    def test_samples_of_another_time(self) -> None:
        self.put(file_of([(a + 10**13, b + 10**13, v) for a, b, v in self.rows]))
        self.assertIn("no trace here was recorded while the counters were sampled", self.problem("run"))

    def test_a_file_of_something_else(self) -> None:
        self.put(b"something else")
        self.assertIn("gpu0.lpoc", self.problem("run"))

    def test_a_file_that_was_cut(self) -> None:
        data = file_of(self.rows)
        self.put(data[:len(data) * 2 // 3])
        gpu = self.report("run")["counters"]["gpus"][0]
        self.assertGreater(gpu["samples"], 0)
        self.assertLess(gpu["covered_ns"], gpu["gpu_ns"])

    def test_files_of_two_gpus(self) -> None:
        """by their number: the trace has one of them"""
        self.put(file_of(self.rows, 0))
        self.put(file_of([(a, b, [9e9] * 2 + [99] * 2) for a, b, _ in self.rows], 1), "gpu1.lpoc")
        report = self.report("run")
        self.assertEqual([g["scope"] for g in report["counters"]["gpus"]], ["device:0"])
        self.check_sums(report)


if __name__ == "__main__":
    tap.main()
