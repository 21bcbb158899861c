#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pairs of a real trace and the same with one fault of known size (tests/report/faults.py): what lpo diff says grew is the fault, and by what it cost.
test_faults_all.py has twenty of each, docs/ladder.md what came out. Prints TAP."""
from __future__ import annotations

import json
import os
import random
import statistics
import sys
import unittest

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "report"))
sys.dont_write_bytecode = True
import faults  # noqa: E402
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

SHARED = os.path.join(SOURCE, "..", "shared", "data", "diagnoses")
# Each fault, the trace that it is put into, and words of which the cause must have one.
FAULTS = [("pause", "fault_resnet", ("gc.collect",)), ("recompile", "fault_resnet", ("compile_inner",)), ("preprocess", "fault_resnet", ("image_preprocess",)),
          ("allocator", "fault_resnet", ("cudaMalloc",)), ("pageable", "fault_resnet", ("Pageable", "cudaMemcpyAsync")),
          ("slow_layer", "fault_timesformer", ("TimesformerLayer_",)), ("upcast", "fault_timesformer", ("ampere_sgemm",)),
          ("sync", "fault_resnet", ("waits in", "idle time of the GPU")),
          ("tiny_kernels", "fault_resnet", ("elementwise", "Functor", "sigmoid"))]


class Pairs(LpoCase):
    seeds = range(1)

    def write(self, name: str, program: faults.Program) -> str:
        with open(os.path.join(self.cwd, name), "w", encoding="utf-8") as f:
            json.dump(program.run(), f)
        return name

    def test_what_grew_is_the_fault(self) -> None:
        off: list[float] = []
        for name, base, words in FAULTS:
            path = os.path.join(SHARED, base + ".json.gz")
            if not os.path.exists(path):
                self.skipTest("the traces are not here")
            for seed in self.seeds:
                with self.subTest(fault=name, seed=seed):
                    good, bad = faults.Program(path), faults.Program(path)
                    put = getattr(faults, name)
                    if name == "pageable":
                        put(good, random.Random(seed), True)
                        put(bad, random.Random(seed), False)
                    else:
                        put(bad, random.Random(seed))
                    done = self.lpo("diff", self.write("a.json", good), self.write("b.json", bad), "--json")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    out = json.loads(done.stdout)
                    if name == "pause":  # one of five steps: how often it comes is not known
                        self.assertRegex(out["sentence"], r"1 of 5 steps in B took [0-9.]+ ms more than the others")
                    else:
                        self.assertIn(out["verdict"], ("slower", "unsure"), out["sentence"])
                    grew = out["sentence"].partition("What grew: " if "What grew" in out["sentence"] else "Largest difference: ")[2]
                    self.assertTrue(any(w in grew for w in words), out["sentence"])
                    cost = out["wall"]["b_step_ns"] - out["wall"]["a_step_ns"]
                    off.append(abs(out["causes"][0]["delta_ns"] / cost - 1))
                    print(f"# {name} {seed}: cost {cost / 1e6:.2f} ms a unit, first cause {out['causes'][0]['delta_ns'] / 1e6:.2f} ms")
        print(f"# median share that the first cause lacks {100 * statistics.median(off):.2f} %, largest {100 * max(off):.1f} %")


if __name__ == "__main__":
    tap.main()
