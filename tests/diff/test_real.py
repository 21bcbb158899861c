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

    def test_another_batch_is_said_first(self) -> None:
        out = self.diff(trace("flash_0"), trace("batch8_0"))
        self.assertTrue(out["comparable"])
        self.assertEqual([d["key"] for d in out["differences"] if d["work"]], ["shapes"])
        self.assertTrue(out["sentence"].startswith("Not the same work"))


class Counters(LpoCase):
    def setUp(self) -> None:
        """b.csv: dram__bytes.sum.per_second of every kernel is twice as much; gone.csv does not have it."""
        super().setUp()
        with gzip.open(os.path.join(DATA, "..", "ncu", "ranges_raw.csv.gz"), "rt", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        at = rows[0].index("dram__bytes.sum.per_second")
        for name, factor in (("a.csv", 1), ("b.csv", 2)):
            with open(os.path.join(self.cwd, name), "w", encoding="utf-8", newline="") as f:
                out = csv.writer(f, quoting=csv.QUOTE_ALL)
                out.writerows(rows[:2])
                for row in rows[2:]:
                    out.writerow([*row[:at], str(float(row[at].replace(",", "")) * factor), *row[at + 1:]])
        with open(os.path.join(self.cwd, "gone.csv"), "w", encoding="utf-8", newline="") as f:
            csv.writer(f, quoting=csv.QUOTE_ALL).writerows([*row[:at], *row[at + 1:]] for row in rows)

    def test_a_counter_that_doubled(self) -> None:
        """The sums of ncu's own page, and nothing else changes."""
        done = self.lpo("diff", "a.csv", "b.csv", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        measures = json.loads(done.stdout)["measures"]
        for m in measures:
            self.assertAlmostEqual(m["b"], m["a"] * (2 if m["name"] == "dram__bytes.sum.per_second" else 1), places=3)
        self.assertIn("A", [m["path"] for m in measures if m["name"] == "dram__bytes.sum.per_second"])
        self.assertIn("(whole run)", [m["path"] for m in measures if m["name"] == "dram__bytes.sum.per_second"])
        self.assertIn("dram__bytes.sum.per_second", self.lpo("diff", "a.csv", "b.csv").stdout)

    def check(self, a: str, b: str, budget: str, want: int) -> dict:
        done = self.lpo("diff", a, b, "--json", "--budget", budget)
        self.assertEqual(done.returncode, want, f"{budget}: {done.stdout[:300]}{done.stderr}")
        return json.loads(done.stdout)["checks"][0]

    def test_budgets_of_counters(self) -> None:
        rate = "metric:dram__bytes.sum.per_second"
        for a, b, budget, want, state in (
                ("a.csv", "b.csv", f"{rate}=50%", 4, "failed"), ("a.csv", "b.csv", f"{rate}=100%", 0, "passed"),
                ("a.csv", "b.csv", f"{rate}@A=50%", 4, "failed"), ("a.csv", "b.csv", "metric:dram__bytes.sum*@*=50%", 4, "failed"),
                ("a.csv", "b.csv", f"{rate}=-1%", 0, "passed"), ("b.csv", "a.csv", f"{rate}=-49%", 4, "failed"),
                ("b.csv", "a.csv", f"{rate}=-50%", 0, "passed"), ("b.csv", "a.csv", f"{rate}=0%", 0, "passed"),
                ("a.csv", "b.csv", f"{rate}=1", 4, "failed"), ("a.csv", "b.csv", f"{rate}=1e30", 0, "passed"),
                ("a.csv", "b.csv", f"{rate}=at least 1", 0, "passed"), ("a.csv", "b.csv", f"{rate}=at least 1e30", 4, "failed"),
                ("a.csv", "b.csv", "metric:no_such_counter=1%", 0, "nothing matched"),
                ("a.csv", "b.csv", f"{rate}@nowhere=1%", 0, "nothing matched"),
                ("a.csv", "gone.csv", f"{rate}=1%", 0, "nothing matched"), ("gone.csv", "b.csv", f"{rate}=1%", 0, "nothing matched"),
                ("gone.csv", "b.csv", f"{rate}=1", 4, "failed")):  # a limit that is no share needs B alone
            with self.subTest(f"{a} {b} {budget}"):
                self.assertEqual(self.check(a, b, budget, want)["state"], state)
        found = self.check("a.csv", "b.csv", f"{rate}@A=50%", 4)
        self.assertEqual(found["name"], "dram__bytes.sum.per_second of A")
        self.assertAlmostEqual(found["worse"], 1)
        done = self.lpo("diff", "a.csv", "gone.csv", "--budget", f"{rate}=1%")
        self.assertIn("not checked: no such counter on both sides", done.stdout)

    def test_wrong_budgets_of_counters(self) -> None:
        for budget, said in (("metric=1%", "needs a name"), ("metric:@A=1%", "NAME@REGION"), ("metric:x@=1%", "NAME@REGION"),
                             ("metric:regex:(=1%", "metric:regex:("), ("metric:x@regex:(=1%", "regex:("),
                             ("metric:x=-5", "like 3% or"), ("metric:x=at least", "like 3% or"), ("metric:x=--5%", "like 3% or")):
            done = self.lpo("diff", "a.csv", "b.csv", "--budget", budget)
            self.assertEqual(done.returncode, 2, budget)
            self.assertIn(said, done.stderr, budget)

    def test_a_history_keeps_counters_of_the_whole_run(self) -> None:
        self.assertEqual(self.lpo("history", "add", "main", "a.csv").returncode, 0)
        done = self.lpo("diff", "--baseline", "main", "b.csv", "--budget", "metric:dram__bytes.sum.per_second=50%", "--json")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertAlmostEqual(json.loads(done.stdout)["checks"][0]["worse"], 1)


if __name__ == "__main__":
    tap.main()
