#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents of the older system print, word for word: presets, configs and overrides of theirs. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
DOCUMENTS = os.path.join(SOURCE, "tests", "data", "documents")


class Documents(LpoCase):
    def environment(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": os.path.join(self.cwd, "home")}

    def put(self, name: str, text: str) -> None:
        path = os.path.join(self.cwd, "mine", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def copy(self, document: str, name: str) -> None:
        with open(os.path.join(DOCUMENTS, document), encoding="utf-8") as f:
            self.put(name, f.read())

    def config(self, *words: str, warnings: int = 0) -> dict:
        done = self.lpo("config", "--json", "--resolve", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), warnings, done.stderr)
        self.warned = done.stderr
        return json.loads(done.stdout)


class Presets(Documents):
    def ncu(self, document: str, warnings: int) -> dict:
        self.copy(document, "profiling/ncu/theirs.yaml")
        return self.config("--config-dir", "mine", "profiling/ncu@pipeline.ncu=theirs", "pipeline.ncu.enable=true",
                           warnings=warnings)["pipeline"]["ncu"]

    def test_a_preset_with_description_and_ncu_cli_alone(self) -> None:
        ncu = self.ncu("ncu.default.yaml", 0)
        self.assertIs(ncu["enable"], True)
        self.assertIs(ncu["gating_nvtx"], True)
        self.assertEqual(ncu["ncu_cli"]["nvtx"]["include"], "decode*")
        self.assertEqual(ncu["ncu_cli"]["metrics"][:2], ["flop_count_hp", "flop_count_sp"])
        self.assertEqual(ncu["ncu_cli"]["clock_control"], "none")  # from the table
        self.assertIs(ncu["regions"]["enable"], False)

    def test_a_description_with_a_colon_is_read_and_named(self) -> None:
        ncu = self.ncu("ncu.rtx3090.memory.yaml", 1)
        self.assertEqual(ncu["description"], "Nsight Compute preset: RTX 3090 (GA102) — Memory focus")
        self.assertEqual(ncu["ncu_cli"]["sections"], ["SpeedOfLight", "MemoryWorkloadAnalysis"])
        self.assertIsNone(ncu["ncu_cli"]["metrics"])
        self.assertIn("quote it", self.warned)

    def test_other_faults_of_yaml_are_still_refused(self) -> None:
        self.put("profiling/ncu/theirs.yaml", "description: a: b\nncu_cli: c: d\n")
        done = self.lpo("config", "--config-dir", "mine", "profiling/ncu@pipeline.ncu=theirs")
        self.assertEqual(done.returncode, 2)
        self.assertIn("theirs.yaml:1:15", done.stderr)

    def test_a_preset_of_the_older_shape(self) -> None:
        ncu = self.ncu("ncu.rtx3090.memory.before.yaml", 6)
        self.assertEqual(ncu["ncu_cli"]["nvtx"]["include"], "decode*")
        self.assertEqual(ncu["ncu_cli"]["set"], "roofline")
        self.assertEqual(ncu["ncu_cli"]["export"], {"csv": True})
        self.assertNotIn("set", ncu)

    def test_an_nsys_preset_of_that_shape_is_gated(self) -> None:
        self.put("profiling/nsys/theirs.yaml", "trace: cuda,nvtx\nsample: none\ncapture_range: nvtx\nnvtx_capture: prefill\n")
        nsys = self.config("--config-dir", "mine", "profiling/nsys@pipeline.nsys=theirs", "pipeline.nsys.enable=true",
                           "pipeline.nsys.timeout=10m", "+pipeline.nsys.cpuctxsw=none")["pipeline"]["nsys"]
        self.assertIs(nsys["gating_nvtx"], True)
        self.assertEqual((nsys["nvtx_capture"], nsys["timeout"]), ("prefill", "10m"))

    def test_a_torch_preset_of_one_line(self) -> None:
        self.put("profiling/torch/theirs.yaml", "activities: [cpu, cuda]\n")
        torch = self.config("--config-dir", "mine", "profiling/torch@pipeline.torch_profiler=theirs",
                            "pipeline.torch_profiler.enable=true")["pipeline"]["torch_profiler"]
        self.assertIs(torch["record_shapes"], True)
        self.assertIs(torch["enable"], True)


if __name__ == "__main__":
    tap.main()
