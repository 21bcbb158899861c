#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What makes the ranks of a job wait is named first, with its rank and what it costs (rank_causes.py). Prints TAP."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import rank_causes  # noqa: E402

LPO = os.environ["LPO_BIN"]


class RankCauses(unittest.TestCase):
    seeds = range(2)

    def one(self, kind: str) -> None:
        for seed in self.seeds:
            with self.subTest(f"{kind}, set {seed}"), tempfile.TemporaryDirectory(prefix="rank-cause-") as out:
                self.assertEqual(rank_causes.check(LPO, out, rank_causes.make(out, kind, seed)), [])

    def test_files_of_one_rank_are_windows(self) -> None:
        with tempfile.TemporaryDirectory(prefix="rank-cause-") as out:
            rank_causes.make(out, "windows", 0)
            document = rank_causes.report(LPO, out)
        for w in document["wall"]:
            self.assertLess(w["idle_ns"], 20_000_000, w["scope"])
        self.assertIn("windows", [s["id"] for s in document["sections"]])

    def test_absent_and_cut_ranks_are_named(self) -> None:
        with tempfile.TemporaryDirectory(prefix="rank-cause-") as out:
            want = rank_causes.make(out, "absent", 0)
            cut = next(r for r in range(want["ranks"]) if r not in want["absent"] and r > 0)
            path = os.path.join(out, f"rank{cut}.json")
            os.truncate(path, os.path.getsize(path) // 2)
            document = rank_causes.report(LPO, out)
        text = json.dumps(document["sections"])
        self.assertIn(f"of {want['ranks']}, without {', '.join(str(r) for r in sorted(want['absent']))}\"", text)
        self.assertIn(f"cut or damaged: rank {cut} (rank{cut}.json)\"", text)

    def test_timelines_have_one_clock(self) -> None:
        with tempfile.TemporaryDirectory(prefix="rank-cause-") as out:
            want = rank_causes.make(out, "slow", 2)
            files = [os.path.join(out, f"rank{r}.json") for r in range(want["ranks"])]
            subprocess.run([LPO, "export", *files, "-o", os.path.join(out, "x.perfetto.json")], check=True, capture_output=True)
            with open(os.path.join(out, "x.perfetto.json"), encoding="utf-8") as f:
                events = json.load(f)["traceEvents"]
        ends: dict = {}
        for e in events:
            if e.get("ph") == "X" and "nccl" in e["name"]:
                ends.setdefault(e["pid"], []).append(e["ts"] + e["dur"])
        self.assertEqual(len(ends), want["ranks"])
        for row in zip(*ends.values()):
            self.assertLess(max(row) - min(row), 10, row)


for each in rank_causes.KINDS:
    setattr(RankCauses, f"test_{each.replace('-', '_')}", lambda self, kind=each: self.one(kind))

if __name__ == "__main__":
    tap.main()
