#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces that the collector wrote on an H200, cut small: what they hold, and ncu's own list of the same program. Prints TAP.

`torch_llama`: a 2-layer Llama in PyTorch, prefill and 2 tokens; `toy`, `toy_graph`: the toy CUDA model, eager and with its decode
step as a graph. Paths and the GPU's number were replaced.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import tap  # noqa: E402
from lpot import Trace  # noqa: E402

LPO = os.environ["LPO_BIN"]
DATA = os.path.join(HERE, "..", "data", "native")


def regions(name: str) -> dict[str, dict]:
    done = subprocess.run([LPO, "regions", "--json", os.path.join(DATA, name)], capture_output=True, text=True, check=True)
    scope = next(s for s in json.loads(done.stdout)["scopes"] if s["scope"] == "aggregate")
    return {r["path"]: r for r in scope["regions"]}


class Recorded(unittest.TestCase):
    def test_every_kernel_of_ncus_list_in_its_region(self) -> None:
        ours, ncu = regions("torch_llama.lpot"), regions("torch_llama_ncu.csv.gz")
        launches = {path: r["launches"] for path, r in ours.items() if r["launches"]}
        self.assertEqual(launches, {path: r["launches"] for path, r in ncu.items() if r["launches"]})
        self.assertEqual(sum(r["launches"] for path, r in ours.items() if "/" not in path), 315)

    def test_names_grids_and_ranges_one_by_one(self) -> None:
        done = subprocess.run([sys.executable, os.path.join(HERE, "compare_ncu.py"), os.path.join(DATA, "torch_llama.lpot"),
                               os.path.join(DATA, "torch_llama_ncu.csv.gz")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("equal and in the same place 315, missing 0, extra 0", done.stdout)

    def test_the_toy_model_eager(self) -> None:
        r = regions("toy.lpot")
        self.assertEqual((r["prefill"]["launches"], r["decode"]["launches"]), (38, 76))
        self.assertEqual(r["decode/step/layer1/attn"]["launches"], 22)
        self.assertEqual(r["decode"]["gpu_ns_inclusive"], r["decode/step"]["gpu_ns_inclusive"])

    def test_a_graph_belongs_to_the_range_that_launched_it(self) -> None:
        r = regions("toy_graph.lpot")
        self.assertEqual(r["decode/step"]["visits"], 7)
        self.assertEqual(r["decode/step"]["launches"], 266)
        self.assertEqual(r["decode/step"]["gpu_ns_exclusive"], r["decode"]["gpu_ns_inclusive"])

    def test_a_graph_timed_as_a_whole_tells_what_its_nodes_tell(self) -> None:
        whole, nodes = regions("toy_small_whole.lpot"), regions("toy_small_nodes.lpot")
        self.assertEqual(whole.keys(), nodes.keys())
        for path, r in whole.items():
            with self.subTest(path):
                self.assertEqual({k["name"]: k["launches"] for k in r["kernels"]},
                                 {k["name"]: k["launches"] for k in nodes[path]["kernels"]})
                self.assertEqual(r.get("captured_here", {}).get("launches"), nodes[path].get("captured_here", {}).get("launches"))

    def test_the_shares_of_a_graph_are_its_time_and_told_as_estimates(self) -> None:
        step = regions("toy_small_whole.lpot")["decode/step"]
        self.assertEqual(step["launches"], 152)
        self.assertEqual(sum(k["gpu_ns"] for k in step["kernels"]), step["gpu_ns_inclusive"])
        self.assertEqual(sum(k["launches_time_estimated"] for k in step["kernels"]), 152)
        launches = [w["whole"] for w in Trace(os.path.join(DATA, "toy_small_whole.lpot")).works if "whole" in w]
        whole_ns = sum({id(w): w["end"] - w["start"] for w in launches}.values())
        copies = step["copies"]["ns"] if "copies" in step else 0
        self.assertEqual(step["gpu_ns_inclusive"] + copies, whole_ns + self.eager_copies_ns(step))

    def test_a_table_tells_what_was_captured_where(self) -> None:
        path = os.path.join(DATA, "toy_small_whole.lpot")
        done = subprocess.run([LPO, "regions", path], capture_output=True, text=True, check=True)
        table = done.stdout.partition("by where they were captured")[2].split("\n\n")[0].splitlines()
        rows = [line.split() for line in table if line]
        self.assertEqual([r[:2] for r in rows[1:5]], [["load", "152"], ["capture", "152"], ["layer0", "68"]]
                         + [["attn", "44"]])
        self.assertTrue(all("~" in r[2] for r in rows[1:]), rows)
        some = subprocess.run([LPO, "regions", path, "--kernels", "*rms_norm*"], capture_output=True, text=True, check=True)
        step = next(line for line in some.stdout.splitlines() if line.split()[:1] == ["step"])
        self.assertIn("~", step)  # a part of a graph's time is no longer measured
        self.assertNotIn("~", next(line for line in done.stdout.splitlines() if line.split()[:1] == ["step"]))

    def eager_copies_ns(self, step: dict) -> int:
        """Copies that the step makes outside its graph."""
        trace = Trace(os.path.join(DATA, "toy_small_whole.lpot"))
        return sum(w["end"] - w["start"] for w in trace.works
                   if w["kind"] in (4, 6) and "end" in w and "/".join(w["path"] or ()) == step["path"])

    def test_two_readers_agree_on_every_work(self) -> None:
        for name in ("toy.lpot", "toy_graph.lpot", "torch_llama.lpot", "toy_small_whole.lpot"):
            with self.subTest(name):
                trace = Trace(os.path.join(DATA, name))
                kernels = sum(r["launches"] for path, r in regions(name).items() if "/" not in path)
                self.assertEqual(kernels, sum(1 for w in trace.works if w["kind"] == 3))

    def test_a_steady_program_costs_few_bytes_a_kernel(self) -> None:
        size = os.path.getsize(os.path.join(DATA, "torch_llama.lpot"))
        self.assertLess(size / 315, 45)  # names and facts weigh more in so short a run; a long one takes 13.7


if __name__ == "__main__":
    tap.main()
