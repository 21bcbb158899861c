#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real traces with one fault of known size each (faults.py): the rung that is new or grew against the trace without it is the fault, and its saving what the
fault cost. test_faults_all.py has twenty of each, docs/ladder.md what came out. Prints TAP."""
from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import unittest

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "report"))
sys.dont_write_bytecode = True
import faults  # noqa: E402
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

SHARED = os.path.join(SOURCE, "..", "shared", "data", "diagnoses")
# Each fault, the trace that it is put into, and how far the saving may be off.
FAULTS = [("pause", "fault_resnet", 0.1), ("recompile", "fault_resnet", 0.1), ("preprocess", "fault_resnet", 0.1), ("allocator", "fault_resnet", 0.1),
          ("pageable", "fault_resnet", 0.1), ("slow_layer", "fault_timesformer", 0.1), ("upcast", "fault_timesformer", 0.1),
          # behind a wait launches are hardly ahead of the GPU, and their delay passes for a gap of the stream
          ("sync", "fault_resnet", 0.2),
          # kernels that join a run which was there: which of them a compiler leaves is a guess
          ("tiny_kernels", "fault_resnet", 0.25)]


class Faults(LpoCase):
    bases: dict[str, dict] = {}
    seeds = range(1)

    def report(self, program: faults.Program) -> dict:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(program.run(), f)
            f.flush()
            done = self.lpo("report", f.name, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def pair(self, name: str, base: str, seed: int) -> tuple[dict, dict, str]:
        path = os.path.join(SHARED, base + ".json.gz")
        put, rng = getattr(faults, name), lambda: random.Random(seed)
        bad = faults.Program(path)
        if name == "pageable":  # the same copies from pinned memory
            good = faults.Program(path)
            put(good, rng(), True)
            kind = put(bad, rng(), False)
            return self.report(good), self.report(bad), kind
        if base not in self.bases:
            self.bases[base] = self.report(faults.Program(path))
        kind = put(bad, rng())
        return self.bases[base], self.report(bad), kind

    def test_a_trace_that_runs_again_as_it_is_has_the_same_ladder(self) -> None:
        for base in ("fault_resnet", "fault_timesformer"):
            path = os.path.join(SHARED, base + ".json.gz")
            if not os.path.exists(path):
                self.skipTest("the traces are not here")
            done = self.lpo("report", path, "--json")
            was, now = json.loads(done.stdout)["findings"], self.report(faults.Program(path))["findings"]
            self.assertEqual([x["id"] for x in was], [x["id"] for x in now])
            for a, b in zip(was, now):
                self.assertAlmostEqual(b["saving_ns"] / a["saving_ns"], 1, delta=0.05)

    def test_the_rung_that_grew_is_the_fault_and_its_size(self) -> None:
        off: list[float] = []
        for name, base, most in FAULTS:
            if not os.path.exists(os.path.join(SHARED, base + ".json.gz")):
                self.skipTest("the traces are not here")
            for seed in self.seeds:
                with self.subTest(fault=name, seed=seed):
                    good, bad, kind = self.pair(name, base, seed)
                    steps = bad["window"]["steps"] / good["window"]["steps"]  # a first step that got much longer is a warm-up
                    cost = bad["window"]["wall_ns"] - good["window"]["wall_ns"] * steps
                    grew = {}  # on top of the rungs before it; by itself
                    for r, sign in ((good, -1), (bad, 1)):
                        for x in r["ladder"]["rungs"]:
                            on_top, alone = grew.get(x["id"], (0, 0))
                            grew[x["id"]] = (on_top + sign * x["saving_ns"], alone + sign * x["alone_ns"])
                    self.assertEqual(max(grew, key=lambda k: grew[k]), kind)
                    ratio = grew[kind][1] / cost
                    print(f"# {name} {seed}: cost {cost / 1e6:.2f} ms, promised {grew[kind][1] / 1e6:.2f} ms")
                    if abs(grew[kind][1] - cost) > 0.005 * good["window"]["wall_ns"]:  # of what hardly costs anything
                        self.assertAlmostEqual(ratio, 1, delta=most)
                    off.append(abs(ratio - 1))
        print(f"# median error {100 * statistics.median(off):.2f} %, largest {100 * max(off):.1f} %")


if __name__ == "__main__":
    tap.main()
