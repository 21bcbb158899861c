#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program says about its ranges beside their names is shown: numbers as columns, categories and colours. Prints TAP."""
from __future__ import annotations

import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

ROOT = os.environ.get("LPO_SOURCE_ROOT", os.path.join(HERE, "..", ".."))
CLIENT = os.path.join(os.path.dirname(LPO), "tests", "collect", "nvtx_client")
NUMBERS = """
import sys
sys.path.insert(0, sys.argv[1])
import lpo
for i in range(3):
    with lpo.range("step", tokens=4 + i, batch=2):
        with lpo.range("attention", tokens=4):
            pass
"""


class Looks(LpoCase):
    def environment(self) -> dict[str, str]:
        return {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}  # Python is not sanitized, the collector may be

    def record(self, *program: str) -> str:
        done = self.lpo_run("--only", "native", "--", *program)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return glob.glob(self.path("native", "*.lpot"))[0]

    def test_numbers_are_columns(self) -> None:
        trace = self.record(sys.executable, "-c", NUMBERS, os.path.join(ROOT, "python"))
        out = self.lpo("regions", trace, env={"COLUMNS": "120"}).stdout
        table = out.partition("Numbers that the program gave\n")[2].splitlines()
        self.assertEqual(re.split(r"  +", table[0]), ["Region", "Given", "tokens", "tokens, mean", "batch", "batch, mean"])
        self.assertEqual(table[1].split(), ["step", "6", "15", "5", "6", "2"])
        self.assertEqual(table[2].split(), ["step/attention", "3", "12", "4", "n/a", "n/a"])

    def test_no_numbers_no_table(self) -> None:
        out = self.lpo("regions", self.record(os.path.join(os.path.dirname(LPO), "workloads", "toy_llm"), "--repeats", "1")).stdout
        self.assertIn("prefill", out)
        self.assertNotIn("Numbers that", out)

    def test_colours_in_timelines_and_on_the_page(self) -> None:
        trace = self.record(CLIENT, "every")
        timeline = json.loads(self.lpo("regions", "-f", "perfetto", trace).stdout)["traceEvents"]
        args = [e.get("args") for e in timeline if e["ph"] == "X" and e["name"] == "ex"]
        self.assertIn({"category": "cat", "color": "#00ff00"}, args)
        page = self.text("report.html")
        data = json.loads(re.search(r'<script[^>]*id="?lpo-data"?[^>]*>(.*?)</script>', page, re.S)[1])
        colors = {data["regions"]["names"][row]: color for row, color in data["regions"]["colors"]}
        self.assertEqual(colors["ex"], "#00ff00")
        self.assertLess(len(colors), data["regions"]["count"])  # others have none


if __name__ == "__main__":
    tap.main()
