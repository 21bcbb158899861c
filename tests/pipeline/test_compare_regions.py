#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/compare_regions.py on what was recorded: it must find what is equal equal, and what is not. Prints TAP."""
from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests" / "gpu")]
import compare_regions as cr  # noqa: E402
import tap  # noqa: E402

LPO = os.environ["LPO_BIN"]
DATA = ROOT / "tests" / "data"


def regions(name: str) -> dict:
    done = subprocess.run([LPO, "regions", "--json", str(DATA / name)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compared(documents: dict, aside: tuple = ()) -> tuple[cr.Report, str]:
    """All of a comparison: what it counted, what it printed."""
    report, out = cr.Report(), io.StringIO()
    with contextlib.redirect_stdout(out):
        cr.compare(cr.read_all(documents), report, "run", aside=aside)
    return report, out.getvalue()


def made(*rows: tuple) -> dict:
    """A document of (path, visits, {kernel: launches})."""
    def kernels(own: dict) -> list:
        return [{"name": n, "launches": c, "launches_exclusive": c} for n, c in own.items()]
    return {"scopes": [{"scope": "aggregate", "regions": [
        {"path": path, "visits": visits, "launches": sum(own.values()), "kernels": kernels(own)}
        for path, visits, own in rows]}]}


class Families(unittest.TestCase):
    """Models with experts and with a vision tower on an H200 (tests/gpu/models.sh), by the collector and by torch."""

    def test_native_and_torch_agree_kernel_by_kernel(self) -> None:
        for name, found in (("deepseek_v2", "503 kernels in 27 regions"), ("llava", "513 kernels in 39 regions")):
            with self.subTest(name):
                report, out = compared({"native": regions(f"native/{name}.lpot"), "torch": regions(f"kineto/h200_{name}.json.gz")})
                self.assertEqual(report.failed, 0, out)
                self.assertIn(found, out)


class Recorded(unittest.TestCase):
    """A Llama in PyTorch on an H200, by the collector and by ncu."""

    def setUp(self) -> None:
        self.native, self.ncu = regions("native/torch_llama.lpot"), regions("native/torch_llama_ncu.csv.gz")

    def test_native_and_ncu_agree_kernel_by_kernel(self) -> None:
        report, out = compared({"native": self.native, "ncu": self.ncu})
        self.assertEqual(report.failed, 0, out)
        self.assertIn("315 kernels in 7 regions", out)
        self.assertNotIn("differs", out)

    def test_a_kernel_in_another_region_is_named(self) -> None:
        changed = copy.deepcopy(self.ncu)
        rows = {r["path"]: r for r in changed["scopes"][0]["regions"]}
        kernel = rows["prefill/layer0"]["kernels"][0]
        kernel["launches_exclusive"] -= 1
        rows["prefill/layer0"]["launches"] -= 1
        report, out = compared({"native": self.native, "ncu": changed})
        self.assertEqual(report.failed, 2, out)
        self.assertIn("differs: prefill/layer0: native", out)

    def test_as_many_launches_of_other_kernels_are_not_equal(self) -> None:
        changed = copy.deepcopy(self.ncu)
        for row in changed["scopes"][0]["regions"]:
            if row["path"] == "decode/step/layer1":
                row["kernels"][0]["name"] = "_Z5otherv"
        report, out = compared({"native": self.native, "ncu": changed})
        self.assertEqual([line.split(":")[1].strip() for line in report.failures], ["the same kernels in every region"])

    def test_a_source_without_kernels_is_told(self) -> None:
        empty = made(("prefill", 1, {}), ("(outside)", None, {}))
        self.assertIn("every source has kernels", " ".join(compared({"native": self.native, "torch": empty})[0].failures))


class Rules(unittest.TestCase):
    def test_names_are_one_however_they_are_demangled(self) -> None:
        a = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::F, float*>(int, float*)"
        b = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::F, float *>(int, float *)"
        self.assertEqual(cr.spell(a), cr.spell(b))
        self.assertNotEqual(cr.spell(a), cr.spell(a.replace("<4", "<8")))

    def test_a_name_too_long_to_demangle_is_found_by_its_linker_name(self) -> None:
        names = cr.Names()
        names.learn([{"name": "f(int)", "linker": "_Z1fi"}])
        self.assertEqual(names.of({"name": "_Z1fi"}), names.of({"name": "f( int )", "linker": "_Z1fi"}))

    def test_ranges_of_other_domains_count_with_what_is_around_them(self) -> None:
        native = made(("prefill", 1, {"a": 1}), ("prefill/CCCL@cub::DeviceScan", 1, {"scan": 2}), ("CCCL@x", 1, {"b": 1}),
                      ("(outside)", None, {}))
        native["scopes"][0]["regions"][0]["launches"] = 3
        read = cr.read_regions(native, cr.Names())
        self.assertEqual(read["prefill"].own, Counter(a=1, scan=2))
        self.assertEqual(read["(outside)"].own, Counter(b=1))
        self.assertEqual(compared({"native": native, "torch": made(("prefill", 1, {"a": 1, "scan": 2}))})[0].failed, 0)

    def test_ranges_that_torch_alone_has_count_with_what_is_around_them(self) -> None:
        native = made(("prefill", 1, {"a": 2}), ("(outside)", None, {}))
        torch = made(("prefill", 1, {"a": 1}), ("prefill/Torch-Compiled Region: 0\\/0", 1, {"a": 1}), ("(outside)", None, {}))
        torch["scopes"][0]["regions"][0]["launches"] = 2
        report, out = compared({"native": native, "torch": torch})
        self.assertEqual(report.failed, 0, out)
        self.assertIn("alone, counted with what is around them: Torch-Compiled", out)

    def test_a_range_that_torch_lacks_is_not_folded_away(self) -> None:
        native = made(("prefill", 1, {}), ("prefill/layer0", 1, {"a": 1}))
        native["scopes"][0]["regions"][0]["launches"] = 1
        self.assertTrue(compared({"native": native, "torch": made(("prefill", 1, {"a": 1}))})[0].failed)

    def test_what_is_set_aside_is_told_and_not_compared(self) -> None:
        documents = {"native": made(("warmup", 1, {"a": 5}), ("prefill", 1, {"a": 1})),
                     "torch": made(("warmup", 1, {"a": 7}), ("prefill", 1, {"a": 1}))}
        self.assertEqual(compared(documents, ("warmup",))[0].failed, 0)
        self.assertTrue(compared(documents)[0].failed)

    def test_ncu_answers_only_for_what_it_measured_and_nobody_for_outside(self) -> None:
        native = made(("load", 1, {"fill": 9}), ("prefill", 1, {"a": 1}), ("(outside)", None, {"cat": 1}))
        ncu = made(("prefill", None, {"a": 1}))
        report, out = compared({"native": native, "ncu": ncu})
        self.assertEqual(report.failed, 0, out)
        self.assertIn("not compared", out)

    def test_visits_are_compared(self) -> None:
        report, _ = compared({"native": made(("step", 2, {"a": 2})), "torch": made(("step", 3, {"a": 2}))})
        self.assertEqual(len(report.failures), 1)
        self.assertIn("entered", report.failures[0])

    def test_a_region_that_one_source_lacks_is_not_equal(self) -> None:
        report, out = compared({"native": made(("a", 1, {"k": 1}), ("b", 1, {"k": 1})), "nsys": made(("a", 1, {"k": 1}))})
        self.assertEqual(report.failed, 3, out)


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-compare-")
        self.folder = Path(self.temp.name) / "run"
        shutil.copytree(DATA / "runs" / "h200_llama", self.folder)
        subprocess.run([LPO, "report", str(self.folder)], check=True, capture_output=True)

    def tearDown(self) -> None:
        self.temp.cleanup()

    def checked(self, check) -> cr.Report:
        report = cr.Report()
        with contextlib.redirect_stdout(io.StringIO()):
            check(cr.Run(self.folder, LPO), report)
        return report

    def test_energy_of_regions_is_found_in_the_report(self) -> None:
        self.assertEqual(self.checked(cr.check_energy).failures, [])

    def test_a_report_made_again_is_the_same(self) -> None:
        self.assertEqual(self.checked(cr.check_again).failures, [])

    def test_a_report_that_differs_is_told_with_the_place(self) -> None:
        path = self.folder / "report.json"
        path.write_text(path.read_text().replace('"energy_j": 913.9', '"energy_j": 1913.9'))
        failures = self.checked(cr.check_again).failures
        self.assertEqual(len(failures), 1)
        self.assertIn(".energy_j: 1913", failures[0])

    def test_memory_that_was_not_recorded_is_no_peak(self) -> None:
        self.assertEqual(len(self.checked(cr.check_memory).failures), 1)

    def test_every_command_line_of_the_script_is_accepted(self) -> None:
        env = dict(os.environ, DRY="1", LPO=LPO, OUT=self.temp.name, PYTHON=sys.executable)
        done = subprocess.run([str(ROOT / "tests" / "gpu" / "models.sh")], env=env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        self.assertIn("every command line is accepted", done.stdout)


if __name__ == "__main__":
    tap.main()
