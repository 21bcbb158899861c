#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sampled counters of single calls, worked out again from the timeline and the samples of a recorded run, without least
squares. A call that shares no sample has the sum of its samples, exactly; where it shares some, that sum is its least and
with all of the shared ones it is its most. Least, median and largest call must lie between those of both. Prints TAP."""
from __future__ import annotations

import bisect
import gzip
import json
import os
import statistics
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
import lpoc  # noqa: E402
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
DATA = os.path.join(HERE, "..", "data", "counters")
FILES = [os.path.join(DATA, "llama8.lpot.gz"), os.path.join(DATA, "llama8.lpoc.gz")]
COVERED, BORDER = 0.9, 0.25  # docs/counters.md


def lpo(*words: str) -> dict:
    return json.loads(subprocess.run([LPO, *words], capture_output=True, text=True, timeout=300, check=True).stdout)


def ns(event: dict, key: str = "ts") -> int:
    return round(event[key] * 1000)


class Call:
    def __init__(self) -> None:
        self.gpu_ns = self.covered_ns = self.border_ns = 0
        self.own = {"dram": 0.0, "tensor": 0.0}
        self.shared = {"dram": 0.0, "tensor": 0.0}

    def has_figures(self) -> bool:
        return self.covered_ns >= COVERED * self.gpu_ns and self.border_ns <= BORDER * self.gpu_ns


def operations(timeline: list[dict], first_ns: int) -> list[tuple[int, int, tuple]]:
    """(start, end, calls around its launch) of each GPU operation. A call is (path, when it was entered)."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in timeline if e["name"] == "thread_name"}
    ranges, slices = {}, {}
    for e in timeline:
        if e["ph"] == "X" and names[e["pid"], e["tid"]].endswith(", push/pop ranges"):
            thread = names[e["pid"], e["tid"]].rpartition(",")[0]
            ranges.setdefault((e["pid"], thread), []).append((ns(e), ns(e) + ns(e, "dur"), e["name"]))
        elif e["ph"] == "X":
            slices[e["pid"], e["tid"], ns(e)] = ns(e) + ns(e, "dur")
    ends = {e["id"]: e for e in timeline if e["ph"] == "f"}
    offset = first_ns - min(ns(e) for e in ends.values())
    found = []
    for s in (e for e in timeline if e["ph"] == "s"):
        f, at = ends[s["id"]], ns(s)
        thread = names[s["pid"], s["tid"]].rpartition(",")[0]
        stack = sorted(r for r in ranges.get((s["pid"], thread), []) if r[0] <= at <= r[1])
        calls, path = [], ""
        for start, _, name in stack:
            path = f"{path}/{name}" if path else name
            calls.append((path, start))
        found.append((ns(f) + offset, slices[f["pid"], f["tid"], ns(f)] + offset, tuple(calls)))
    return sorted(found)


class Oracle(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        report = lpo("report", "--json", *FILES)
        cls.gpu = report["counters"]["gpus"][0]
        cls.rows = {r["path"]: r for r in cls.gpu["calls"]}
        cls.ops = operations(lpo("regions", "-f", "perfetto", FILES[0])["traceEvents"], report["wall"][0]["start_ns"])
        with gzip.open(FILES[1]) as f:
            _, metrics, items = lpoc.read(f.read(), check=False)
        cls.names = [m[0] for m in metrics]
        cls.samples = [i for i in items if i[0] == "sample"]
        cls.calls = cls.lay()

    @classmethod
    def lay(cls) -> dict[tuple[str, int], Call]:
        calls: dict[tuple[str, int], Call] = {}
        for start, end, around in cls.ops:
            for key in around:
                calls.setdefault(key, Call()).gpu_ns += end - start
        ahead = {m["name"]: m["ahead_ns"] for m in cls.gpu["metrics"]}
        for what, name in (("dram", "dram_bytes_read"), ("tensor", "tensor_active")):
            cls.walk(calls, what, ahead[name])
        return calls

    @classmethod
    def value(cls, sample: tuple, what: str) -> float:
        by_name = dict(zip(cls.names, sample[3]))
        if what == "dram":
            return by_name["dram__bytes_read.sum"] + by_name["dram__bytes_write.sum"]
        return next(v for n, v in by_name.items() if "tensor" in n) * (sample[2] - sample[1])

    @classmethod
    def walk(cls, calls: dict, what: str, ahead: int) -> None:
        starts = [op[0] - ahead for op in cls.ops]
        longest = max(op[1] - op[0] for op in cls.ops)
        for sample in cls.samples:
            _, begin, end, _ = sample
            near = range(bisect.bisect_left(starts, begin - longest), bisect.bisect_left(starts, end))
            if not near:
                continue
            here = [(min(end, cls.ops[i][1] - ahead) - max(begin, starts[i]), cls.ops[i][2]) for i in near]
            here = [(length, around) for length, around in here if length > 0]
            for key in {k for _, around in here for k in around}:
                inside = sum(length for length, around in here if key in around)
                alone = all(key in around for _, around in here)
                (calls[key].own if alone else calls[key].shared)[what] += cls.value(sample, what)
                if what == "dram":
                    calls[key].covered_ns += inside
                    calls[key].border_ns += 0 if alone else inside

    def of_path(self, path: str) -> list[Call]:
        """In the order of time."""
        return [self.calls[key] for key in sorted((k for k in self.calls if k[0] == path), key=lambda k: k[1])]

    def between(self, value: float, low: float, high: float, words: str) -> None:
        self.assertGreaterEqual(value, low * (1 - 1e-9), words)
        self.assertLessEqual(value, high * (1 + 1e-9), words)

    def test_every_region_has_its_calls(self) -> None:
        paths = {path for path, _ in self.calls}
        want = {p for p in paths if any(c.has_figures() for c in self.of_path(p))}
        self.assertGreater(len(want), 8)
        self.assertEqual(set(self.rows), want)
        for path in want:
            calls, row = self.of_path(path), self.rows[path]
            self.assertEqual(row["calls"], len(calls), path)
            self.assertEqual(row["calls_with_figures"], sum(c.has_figures() for c in calls), path)
            self.assertEqual(row["border_ns"], sum(c.border_ns for c in calls if c.has_figures()), path)
            self.assertEqual(row["gpu_ns"], sum(c.gpu_ns for c in calls if c.has_figures()), path)

    def test_bytes_and_activity_lie_where_the_samples_say(self) -> None:
        exact = 0
        for path, row in self.rows.items():
            calls = self.of_path(path)
            later = [c for c in calls[1:] if c.has_figures()]
            for what, name in (("dram", "dram_bytes"), ("tensor", "tensor_active")):
                low = sorted(c.own[what] / (1 if what == "dram" else c.gpu_ns) for c in later)
                high = sorted((c.own[what] + c.shared[what]) / (1 if what == "dram" else c.gpu_ns) for c in later)
                for part, of in (("min", min), ("median", statistics.median), ("max", max)):
                    if not later:
                        self.assertIsNone(row[name][part], path)
                        continue
                    self.between(row[name][part], of(low), of(high), f"{path} {name} {part}")
                    exact += low == high and what == "dram"
            if calls[0].has_figures():
                c = calls[0]
                self.between(row["dram_bytes"]["first"], c.own["dram"], c.own["dram"] + c.shared["dram"], path)
                if not c.shared["dram"]:
                    rate = c.own["dram"] / c.covered_ns * 1e9
                    self.between(row["dram_rate"]["first"], rate, rate, path)
            else:
                self.assertIsNone(row["dram_bytes"]["first"], path)
        self.assertGreaterEqual(exact, 6)  # several regions share no sample at all


if __name__ == "__main__":
    tap.main()
