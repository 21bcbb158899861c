#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The nvml stage for real, on a library that stands in for the driver's. Prints TAP."""
from __future__ import annotations

import csv
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

FAKE = os.path.join(os.environ["LPO_BUILD_ROOT"], "tests", "pipeline", "fake_nvml.so")
WORDS = ["run.device=cpu", "run.repeats=2", "run.warmup=0", "infer.max_new_tokens=8", "infer.prompt_tokens=32",
         "model.layers=2", "pipeline.static_analysis.enable=false", "pipeline.native.enable=true", "pipeline.nvml.enable=true",
         "pipeline.nvml.interval_ms=20"]


class Nvml(LpoCase):
    def profile(self, mode: str, library: str = FAKE) -> None:
        done = self.lpo_run(*WORDS, env={"LPO_NVML": library, "FAKE_NVML": mode})
        self.code, self.output = done.returncode, done.stdout + done.stderr

    def samples(self) -> list[dict]:
        with open(os.path.join(self.run_dir, "nvml", "samples.csv"), encoding="utf-8") as f:
            return list(csv.DictReader(f))

    def table(self, name: str) -> list[dict]:
        return tables(self.json("report.json"))[name]

    def test_samples_are_written_and_energy_is_reported(self) -> None:
        self.profile("")
        self.assertEqual(self.code, 0, self.output)
        rows = self.samples()
        self.assertGreaterEqual(len(rows), 4)
        self.assertEqual({r["gpu"] for r in rows}, {"0", "1"})
        self.assertEqual({r["power_mw"] for r in rows if r["gpu"] == "0"}, {"200000"})
        stages = {(r["stage"], r["gpu"]): r for r in self.table("power_stages")}
        with open(os.path.join(self.run_dir, "run.json"), encoding="utf-8") as f:
            walls = {s["name"]: s["wall_ns"] for s in json.load(f)["stages"]}
        for gpu, watts in ((0, 200), (1, 50)):
            got = stages["native", gpu]
            self.assertAlmostEqual(got["energy_j"], watts * walls["native"] * 1e-9, delta=0.1 * watts * walls["native"] * 1e-9)
            self.assertEqual(got["power_max_w"], watts)
        for row in self.table("energy_regions"):  # only the GPU that worked counts
            self.assertAlmostEqual(row["energy_j"], 200 * row["host_ns"] * 1e-9, delta=1e-6 + 0.01 * row["energy_j"])
        self.assertIn("decode", [r["region"] for r in self.table("energy_regions")])
        self.assertNotIn("throttled", self.text("report.md"))

    def test_throttled_clocks_are_a_warning(self) -> None:
        self.profile("throttled")
        self.assertEqual(self.code, 0, self.output)
        self.assertIn('clocks were throttled during "decode" (power cap)', self.text("report.md"))
        self.assertNotIn('throttled during "load"', self.text("report.md"))

    def test_what_the_gpu_does_not_tell_is_not_0(self) -> None:
        self.profile("bare")
        self.assertEqual(self.code, 0, self.output)
        self.assertEqual({r["energy_mj"] for r in self.samples()}, {""})
        row = self.table("power_stages")[0]
        self.assertIsNone(row["slowed_share"])
        self.assertIsNone(row["reasons"])
        self.assertGreater(row["energy_j"], 0)  # from power alone

    def test_without_a_driver_the_run_goes_on(self) -> None:
        self.profile("", library="/nonexistent/libnvidia-ml.so")
        self.assertTrue(os.path.exists(os.path.join(self.run_dir, "workload", "native", "metrics.json")), self.output)
        self.assertNotIn("## Power", self.text("report.md"))


def tables(doc: dict) -> dict[str, list[dict]]:
    """Every table of a report.json: rows as name to value."""
    found = {}
    for section in doc["sections"]:
        for item in section["items"]:
            if item["type"] == "table":
                found[item["id"]] = item["rows"]
    return found


if __name__ == "__main__":
    tap.main()
