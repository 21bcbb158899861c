#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo diff on real pairs: one model on an H200 with other attention, torch.compile and another batch. Prints TAP."""
from __future__ import annotations

import csv
import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

DATA = os.path.join(HERE, "..", "data", "diff")


def trace(name: str) -> str:
    return os.path.join(DATA, f"h200_{name}.json.gz")


class Real(LpoCase):
    def diff(self, *words: str, want: int = 0) -> dict:
        done = self.lpo("diff", "--json", *words)
        self.assertEqual(done.returncode, want, done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual(sum(out["wall"]["parts"].values()), out["wall"]["b_ns"] - out["wall"]["a_ns"])
        return out

    def test_repeats_are_silent(self) -> None:
        """Their wall times differ by up to 20 %: the host was late now and then."""
        flash = [trace(f"flash_{i}") for i in range(3)]
        for words in ([flash[0], flash[1]], [flash[1], flash[2]], [flash[2], flash[0]], [flash[0], "--", flash[1], flash[2]]):
            out = self.diff("--fail-over", "1%", *words)
            self.assertEqual((out["verdict"], out["reasons"]), ("no change", []))
            for table in ("regions", "operators", "kernels"):
                self.assertEqual([r for r in out[table] if r["significant"]], [])

    def test_flash_attention_against_math(self) -> None:
        out = self.diff(trace("flash_0"), trace("math_0"), "--fail-over", "5%", want=4)
        self.assertEqual(out["verdict"], "slower")
        group = out["groups"][0]
        self.assertEqual((group["region"], group["kind"]), ("step*/layer*", "replaced"))
        self.assertEqual(len(group["a"]["kernels"]), 1)
        self.assertIn("flash_fwd_kernel", group["a"]["kernels"][0])
        self.assertEqual(out["regions"][0]["path"], "step*/layer*")
        attention = next(o for o in out["operators"] if o["name"] == "aten::scaled_dot_product_attention")
        self.assertTrue(attention["significant"] and attention["delta_ns"] > 9_000_000)
        same = [k for k in out["kernels"] if "layer_norm" in k["name"]]
        self.assertTrue(same and not any(k["significant"] for k in same))
        repeats = self.diff("--fail-over", "5%", *(trace(f"flash_{i}") for i in range(3)), "--", trace("math_0"), want=4)
        self.assertEqual(repeats["wall"]["basis"], "runs")

    def test_torch_compile_is_a_fused_group(self) -> None:
        out = self.diff(trace("flash_0"), trace("compile_0"))
        self.assertTrue(out["comparable"])
        self.assertEqual([(g["region"], g["kind"]) for g in out["groups"]], [("step*", "fused")])
        self.assertTrue(any("triton" in k for k in out["groups"][0]["b"]["kernels"]))
        self.assertLess(out["groups"][0]["delta_ns"], 0)

    def test_another_batch_is_not_comparable(self) -> None:
        out = self.diff(trace("flash_0"), trace("batch8_0"), "--fail-over", "5%", want=2)
        self.assertIn("inputs of another size", out["reasons"][0])


class Counters(LpoCase):
    def test_a_counter_that_doubled(self) -> None:
        """dram__bytes.sum.per_second of every kernel, twice as much: the sums of ncu's own page, and nothing else changes."""
        with gzip.open(os.path.join(DATA, "..", "ncu", "ranges_raw.csv.gz"), "rt", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        at = rows[0].index("dram__bytes.sum.per_second")
        for name, factor in (("a.csv", 1), ("b.csv", 2)):
            with open(os.path.join(self.cwd, name), "w", encoding="utf-8", newline="") as f:
                out = csv.writer(f, quoting=csv.QUOTE_ALL)
                out.writerows(rows[:2])
                for row in rows[2:]:
                    out.writerow([*row[:at], str(float(row[at].replace(",", "")) * factor), *row[at + 1:]])
        done = self.lpo("diff", "a.csv", "b.csv", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        measures = json.loads(done.stdout)["measures"]
        for m in measures:
            self.assertAlmostEqual(m["b"], m["a"] * (2 if m["name"] == "dram__bytes.sum.per_second" else 1), places=3)
        self.assertIn("A", [m["path"] for m in measures if m["name"] == "dram__bytes.sum.per_second"])
        self.assertIn("dram__bytes.sum.per_second", self.lpo("diff", "a.csv", "b.csv").stdout)


if __name__ == "__main__":
    tap.main()
