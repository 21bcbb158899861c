#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.* from the outside: MFU of regions without a model, the run's hardware, and what is refused. Prints TAP."""
from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
FAKE_CUDA = os.path.join(os.environ.get("LPO_BUILD_ROOT", "build"), "tests", "gpu", "libfake-cuda.so")
GEMM = os.path.join(SOURCE, "tests", "gpu", "gemm.py")
SHORT = ["run.repeats=2", "infer.max_new_tokens=4", "pipeline.direct_inference.enable=false"]
NO_MODEL = ["pipeline.static_analysis.enable=false"]
DEVICE = "name: bench\nlabel: A bench\ntflops: {fp32: 0.1, bf16: 0.2}\nbandwidth_gbs: 50\n"


class Needs(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        self.device = os.path.join(self.cwd, "bench.yaml")
        self.write(self.device, DEVICE)

    def environment(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": os.path.join(self.cwd, "home")}

    def profile(self, *words: str, env: dict[str, str] | None = None) -> None:
        done = self.lpo_run(*SHORT, *words, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)

    def limits(self) -> dict:
        return json.loads(self.text("report.json"))["limits"]

    def row(self, path: str) -> dict:
        return next(r for r in self.limits()["regions"] if r["path"] == path)

    def close(self, got: float, want: float) -> None:
        self.assertTrue(math.isclose(got, want, rel_tol=1e-9), f"{got} is not {want}")


class WithoutAModel(Needs):
    def test_mfu_of_the_toy_is_what_the_hand_works_out(self) -> None:
        self.profile(*NO_MODEL, f"pipeline.static_analysis.hardware={self.device}",
                     "report.needs={decode: {flops: 3000000, bytes: 5e6, dtype: bfloat16}, prefill: {flops: 4e8}}")
        decode, prefill = self.row("decode"), self.row("prefill")
        regions = {r["path"]: r for r in json.loads(self.text("native/regions.json"))["regions"]}
        # what a first step took longer than the others, however long that was here, stands apart
        self.assertEqual(decode["measured_ns"] + decode.get("first_ns", 0), regions["decode"]["host_ns"])
        seconds = decode["measured_ns"] / 1e9
        self.assertEqual(decode["runs"], 2)  # two repeats, one visit each
        self.assertEqual(decode["means"], "stated in report.needs")
        self.close(decode["mfu"], 2 * 3e6 / seconds / 0.2e12)
        self.close(decode["bandwidth_use"], 2 * 5e6 / seconds / 50e9)
        self.close(decode["limit_ns"], 2 * 5e6 / 50e9 * 1e9)
        self.assertEqual(prefill["dtype"], "fp32")  # the toy's own
        self.assertIsNone(prefill["needed_bytes"])
        self.assertEqual(prefill["measured_ns"] + prefill.get("first_ns", 0), regions["prefill"]["host_ns"])
        self.close(prefill["mfu"], 2 * 4e8 / (prefill["measured_ns"] / 1e9) / 0.1e12)
        self.assertFalse(os.path.exists(os.path.join(self.run_dir, "static_analysis")))
        self.assertIn("Ceilings of A bench (sheet)", self.text("report.md"))

    def test_the_report_is_rebuilt_from_the_folder_alone(self) -> None:
        self.profile(*NO_MODEL, f"pipeline.static_analysis.hardware={self.device}",
                     "report.needs={decode: {flops: 3000000}}")
        before = [self.text(n) for n in ("report.md", "report.json", "stakeholder_summary.md")]
        os.remove(self.device)
        self.assertEqual(self.lpo("report", "run").returncode, 0)
        self.assertEqual(before, [self.text(n) for n in ("report.md", "report.json", "stakeholder_summary.md")])

    def test_needs_can_be_stated_when_the_run_is_over(self) -> None:
        self.profile(*NO_MODEL, f"pipeline.static_analysis.hardware={self.device}")
        self.assertNotIn("limits", json.loads(self.text("report.json")))
        done = self.lpo("report", "run", "report.needs={decode/step/layer*: {bytes: 1e6}}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["path"] for r in self.limits()["regions"]}, {f"decode/step/layer{i}" for i in range(4)})
        self.assertIsNone(self.row("decode/step/layer0")["mfu"])  # no FLOPs were stated
        layer = self.row("decode/step/layer0")  # two repeats of three steps; a slow first one is apart
        self.assertIn(layer["runs"], (5, 6))
        self.assertEqual(layer["needed_bytes"], 1e6 * layer["runs"])

    def test_a_region_that_is_not_there_is_told_with_the_nearest(self) -> None:
        self.profile(*NO_MODEL, f"pipeline.static_analysis.hardware={self.device}", "report.needs={decod: {flops: 1}}")
        self.assertIn("no region 'decod'; did you mean 'decode'?", self.text("report.md"))

    def test_a_trace_of_a_gpu_says_which_gpu(self) -> None:
        """no hardware.json: the device recorded in a trace of an H200"""
        os.makedirs(os.path.join(self.run_dir, "native"))
        shutil.copy(os.path.join(SOURCE, "tests/data/native/torch_llama.lpot"), os.path.join(self.run_dir, "native"))
        done = self.lpo("report", "run", "report.needs={prefill: {flops: 1e9, dtype: fp8}}")
        self.assertEqual(done.returncode, 0, done.stderr)
        row = self.row("prefill")
        self.assertEqual((self.limits()["hardware"], row["sheet_peak_flops"]), ("NVIDIA H200 SXM", 1979e12))
        self.close(row["mfu"], 1e9 / (row["measured_ns"] / 1e9) / 1979e12)


class WithAModel(Needs):
    def test_what_is_stated_wins_over_the_model(self) -> None:
        self.profile(f"pipeline.static_analysis.hardware={self.device}", "report.needs={decode: {flops: 3000000}}")
        self.assertEqual(self.row("decode")["needed_flops"], 6e6)
        self.assertEqual(self.row("decode")["need_from"], "report.needs")
        self.assertEqual(self.row("prefill")["need_from"], "model")
        self.assertGreater(self.row("decode/step")["needed_flops"], 6e6)
        table, = [i for s in self.json("report.json")["sections"] for i in s["items"] if i.get("id") == "limits" and i["type"] == "table"]
        self.assertEqual({r["region"]: r["need_from"] for r in table["rows"]}["decode"], "report.needs")
        self.assertRegex(self.text("report.md"), r"\n\| decode \|")


@unittest.skipUnless(os.path.exists(FAKE_CUDA), "the fake driver is not built")
class Hardware(Needs):
    def test_the_gpu_that_is_here(self) -> None:
        self.profile(*NO_MODEL, "report.needs={decode: {flops: 1e6, dtype: bf16}}", env={"LPO_LIBCUDA": FAKE_CUDA})
        hardware = json.loads(self.text("hardware.json"))
        self.assertEqual((hardware["name"], hardware["source"]), ("h200_sxm", "sheet"))
        self.assertEqual(self.row("decode")["sheet_peak_flops"], 989e12)

    def test_measured_ceilings_are_used_and_named_and_mfu_keeps_the_sheet(self) -> None:
        self.write(os.path.join(self.cwd, "home/llm-perf-opt/hardware/h200_sxm.measured.yaml"),
                   "tflops: {bf16: 700}\nbandwidth_gbs: 4200\n")
        self.profile(*NO_MODEL, "report.needs={decode: {flops: 1e9, dtype: bf16}}", env={"LPO_LIBCUDA": FAKE_CUDA})
        limits, row = self.limits(), self.row("decode")
        self.assertEqual((limits["source"], limits["peak_flops"], limits["bandwidth"]), ("measured", 700e12, 4200e9))
        self.assertEqual(row["limit_ns"], round(2 * 1e9 / 700e12 * 1e9))
        self.close(row["mfu"], 2 * 1e9 / (row["measured_ns"] / 1e9) / 989e12)
        self.assertIn("(measured): 700 TFLOP/s in bf16", self.text("report.md"))

    def test_a_wrong_name_ends_the_run_before_it_starts(self) -> None:
        done = self.lpo("run", "hydra.run.dir=run", *NO_MODEL, "pipeline.static_analysis.hardware=h200_smx")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("did you mean 'h200_sxm'?", done.stderr)
        self.assertFalse(os.path.exists(self.run_dir))


class Refused(Needs):
    CASES = [
        ("{gemm: {flops: -1}}", "report.needs of 'gemm': 'flops' must be a number of at least 0, not -1"),
        ("{gemm: {flops: 1, dtype: bf61}}", "did you mean 'bf16'?"),
        ("{gemm: {flop: 1}}", "unknown key 'flop'; did you mean 'flops'?"),
        ("{gemm: {dtype: bf16}}", "states neither flops nor bytes"),
        ("7", "'report.needs' must be a map or null"),
    ]

    def test_one_line_before_anything_runs(self) -> None:
        for needs, words in self.CASES:
            done = self.lpo("run", "hydra.run.dir=run", f"report.needs={needs}")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse(os.path.exists(self.run_dir))

    def test_and_when_the_run_is_over(self) -> None:
        self.profile(*NO_MODEL, f"pipeline.static_analysis.hardware={self.device}")
        done = self.lpo("report", "run", "report.needs={decode: {flops: -1}}")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("must be a number of at least 0", done.stderr)


class Overrides(Needs):
    """What `lpo report` takes on its command line is what `lpo run` takes: one schema for both."""
    CASES = [
        ("report.tp=3", "unknown key 'report.tp' (from 'report.tp=3'); did you mean 'report.top'?"),
        ("+report.tp=3", "did you mean 'report.top'?"),
        ("report.formats=[pdf]", "'report.formats' is 'pdf', but must be one of md, json, html, csv, perfetto, text ("),
        ("report.formats=pdf", "'report.formats' is 'pdf'"),
        ("report.formats='md, jsn'", "did you mean 'json'?"),
        ("report.fold=maybe", "'report.fold' is 'maybe', but must be one of auto, always, never"),
        ("report.top=abc", "'report.top' must be an integer or null, not a string ('abc')"),
        ("report.top=0", "an integer of at least 1"),
        ("report.top.x=1", "'report.top' must be an integer or null, not a map"),
        ("report.top=1,2", "a report takes one value of a key: report.top=VALUE"),
        ("~report.mapping", "a report takes one value of a key"),
        ("report.top=${run.repeat}", "Interpolation key 'run.repeat' not found"),
        ("report.private=maybe", "'report.private' must be a boolean"),
        ("report.regions.inclde=[x]", "did you mean 'report.regions.include'?"),
        ("run.repeats=3", "a finished run takes only report.*"),
    ]

    def setUp(self) -> None:
        super().setUp()
        self.profile("pipeline.static_analysis.hardware=h200_sxm")

    def test_a_wrong_one_is_refused(self) -> None:
        before = self.text("report.md")
        for word, says in self.CASES:
            done = self.lpo("report", "run", word)
            self.assertEqual((done.returncode, done.stdout), (2, ""), f"{word}: {done.stderr}")
            self.assertIn(says, done.stderr)
        self.assertEqual(before, self.text("report.md"))

    def test_both_commands_refuse_one_text_alike(self) -> None:
        done = self.lpo("run", "--dry-run", "report.formats=pdf")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("'report.formats' is 'pdf'", done.stderr)

    def test_a_config_of_another_version_is_read(self) -> None:
        path = os.path.join(self.run_dir, "config.yaml")
        self.write(path, self.text("config.yaml").replace("report:\n", "report:\n  of_tomorrow: 1\n"))
        self.assertEqual(self.lpo("report", "run", "report.top=3").returncode, 0)

    def test_what_is_printed_is_what_was_written(self) -> None:
        for word, names in (("report.formats=[json]", ["report.json"]),
                            ("report.formats=[perfetto,md,md]", ["timeline.perfetto.json", "report.md"]),
                            ("report.top=${run.repeats}", ["report.md", "report.json", "report.html"]), ("report.formats=[]", [])):
            for name in ("report.md", "report.json", "report.html", "timeline.perfetto.json"):
                if os.path.exists(os.path.join(self.run_dir, name)):
                    os.remove(os.path.join(self.run_dir, name))
            done = self.lpo("report", "run", word)
            self.assertEqual((done.returncode, done.stdout.split()), (0, [f"run/{n}" for n in names]), done.stderr)
            there = {n for n in os.listdir(self.run_dir) if n.startswith(("report.", "timeline."))}
            self.assertEqual(there, set(names), word)

    def test_a_mapping_that_does_nothing_is_noted(self) -> None:
        for mapping, says in (("{decod: prefill}", "report.mapping: this run has no region 'decod'; did you mean 'decode'?"),
                              ("{decode: foo}", "report.mapping of 'decode': 'foo' is not a part of the model; write prefill"),
                              ("{decode: {a: b}}", "is not a part of the model"),
                              ("{decode: prefil}", "did you mean 'prefill'?"), ("{decode: prefill}", None)):
            self.assertEqual(self.lpo("report", "run", f"report.mapping={mapping}").returncode, 0)
            if says:
                self.assertIn(says, self.text("report.md"))
            else:
                self.assertNotIn("report.mapping", self.text("report.md"))
        shutil.rmtree(os.path.join(self.run_dir, "static_analysis"))
        self.assertEqual(self.lpo("report", "run", "report.mapping={decode: prefill}").returncode, 0)
        self.assertIn("this run has no static analysis", self.text("report.md"))


class ByHand(Needs):
    """The comparison of tests/gpu/gemm.py, on a run written by hand: 10 products of 2 * 1000^3 in 20 ms."""

    def compare(self, mfu: float) -> subprocess.CompletedProcess:
        row = {"path": "gemm", "mfu": mfu, "runs": 2.0, "measured_ns": 20e6, "dtype": "bf16", "sheet_peak_flops": 10e12,
               "flop_rate": 1e12, "held_by": "compute", "evidence": "because"}
        self.write(os.path.join(self.run_dir, "report.json"),
                   json.dumps({"limits": {"hardware": "A bench", "source": "sheet", "regions": [row]}}))
        self.write(os.path.join(self.run_dir, "workload/native/stdout.log"), "some words\n" + json.dumps(
            {"gpu": "A bench", "size": 1000, "products": 5, "visits": 2, "seconds_per_product": 2e-3}) + "\n")
        return subprocess.run([sys.executable, GEMM, "compare", self.run_dir, "--peak-tflops", "10"],
                              text=True, capture_output=True)

    def test_agreement_and_disagreement(self) -> None:
        same, off = self.compare(0.1), self.compare(0.103)
        self.assertEqual((same.returncode, off.returncode), (0, 1), same.stderr + off.stderr)
        self.assertIn("MFU 0.1000 by lpo, 0.1000 by hand: +0.000%", same.stdout)
        self.assertIn("MORE THAN 2 %", off.stdout)

    def test_a_run_without_the_region_is_told(self) -> None:
        self.compare(0.1)
        self.write(os.path.join(self.run_dir, "report.json"), "{}")
        done = subprocess.run([sys.executable, GEMM, "compare", self.run_dir], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("no MFU of region 'gemm'", done.stdout)

    def test_its_needs_are_a_config(self) -> None:
        needs = subprocess.run([sys.executable, GEMM, "needs", "--size", "8192", "--products", "1"], text=True,
                               capture_output=True, check=True).stdout.strip()
        self.assertEqual(needs, "report.needs={gemm: {flops: 1099511627776, bytes: 402653184, dtype: bfloat16}}")
        self.assertEqual(self.lpo("run", "--dry-run", needs, "--", "true").returncode, 0)


if __name__ == "__main__":
    tap.main()
