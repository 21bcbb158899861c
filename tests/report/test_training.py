#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the report of a training says beyond its ranges: who adopted the kernels of the backward thread, modules as
regions, the backward pass by the region of its forward, recomputation. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import sys

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

TRAIN = os.path.join(SOURCE, "tests", "data", "kineto", "h200_train_checkpoint.json.gz")


class Training(LpoCase):
    def report(self, *overrides: str) -> dict:
        done = self.lpo("report", TRAIN, "--json", *overrides)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def regions(scopes: list) -> dict:
        return {r["path"]: r for r in scopes[0]["regions"]}

    def test_kernels_of_the_backward_thread_are_adopted(self) -> None:
        scope = self.report()["scopes"][0]
        self.assertEqual(scope["coverage"]["outside"], scope["coverage"]["adopted"])
        self.assertEqual(scope["coverage"]["adopted"]["launches"], 84)
        rows = {r["path"]: r for r in scope["regions"]}
        self.assertEqual(rows["step0/backward"]["adopted"], scope["coverage"]["adopted"])
        self.assertNotIn("adopted", rows["step0/forward"])

    def test_nothing_is_outside_that_needs_a_mark(self) -> None:
        self.assertNotIn("outside-regions", [c["id"] for c in self.report()["cautions"]])
        off = self.report("report.regions.adopt=off")
        self.assertIn("outside-regions", [c["id"] for c in off["cautions"]])
        self.assertNotIn("adopted", json.dumps(off["scopes"]))

    def test_adoption_changes_no_number(self) -> None:
        on, off = self.regions(self.report()["scopes"]), self.regions(self.report("report.regions.adopt=off")["scopes"])
        for row in on.values():
            row.pop("adopted", None)
        self.assertEqual(on, off)

    def test_modules_have_their_backward_pass_and_their_code(self) -> None:
        rows = self.regions(self.report()["modules"]["scopes"])
        linear = rows["step0/forward/Model_0/layer0/Block_0/MLP_0/Linear_2"]
        self.assertEqual((linear["kind"], linear["source"]), ("module", "torch/nn/modules/linear.py(130): forward"))
        self.assertEqual(linear["backward"]["launches"], 3)
        block = rows["step0/forward/Model_0/layer1/Block_1"]
        self.assertEqual(block["recomputed"]["launches"], 8)
        self.assertEqual(block["source"], "data.py(26): forward")

    def test_recomputation_is_that_of_the_one_layer_with_a_checkpoint(self) -> None:
        rows = self.regions(self.report()["scopes"])
        again = {p: r["recomputed"]["gpu_ns"] for p, r in rows.items() if "recomputed" in r}
        self.assertEqual(set(again), {"step0", "step0/forward", "step0/forward/layer1"})
        self.assertEqual(set(again.values()), {again["step0"]})

    def test_modules_and_the_backward_pass_can_be_left_out(self) -> None:
        on, off = self.report(), self.report("report.regions.modules=off")
        self.assertNotIn("modules", off)
        self.assertEqual(off["scopes"], on["scopes"])
        off = self.report("report.regions.backward=off")
        self.assertNotIn("backward", off["scopes"][0]["coverage"])
        self.assertFalse([r["path"] for r in off["scopes"][0]["regions"] if "backward" in r or "recomputed" in r])
        self.assertEqual(off["scopes"][0]["gpu_ns"], on["scopes"][0]["gpu_ns"])
        self.assertIn("modules", off)

    def test_people_read_it_too(self) -> None:
        self.assertEqual(self.lpo("report", TRAIN, "-o", "out").returncode, 0)
        for name in ("report.md", "report.html"):
            with open(os.path.join(self.cwd, "out", name), encoding="utf-8") as f:
                text = f.read()
            for words in ("Time by module", "Kernels of the backward pass, by the region of their forward",
                          "… of these adopted", "(backward)"):
                self.assertIn(words, text, name)

    def test_the_summary_says_how_much_of_it_was_adopted(self) -> None:
        os.makedirs(self.path("torch_profiler"))
        shutil.copy(TRAIN, self.path("torch_profiler", "trace.json.gz"))
        self.lpo_report()
        self.assertIn("61 % of the time of all kernels (1.331 ms) lies outside every marked part; 100 % of it was "
                      "launched by threads without marks", self.text("stakeholder_summary.md"))

    def test_a_trace_without_ranges_names_the_option(self) -> None:
        path = os.path.join(self.cwd, "t.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": [{"ph": "X", "cat": "python_function", "name": "nn.Module: A_0", "pid": 1, "tid": 1,
                                        "ts": 0, "dur": 9}, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
                                                             "ts": 1, "dur": 2}]}, f)
        self.assertIn("lpo regions --modules", self.lpo("regions", path).stdout)
        self.assertNotIn("lpo regions --modules", self.lpo("regions", path, "--modules").stdout)


if __name__ == "__main__":
    tap.main()
