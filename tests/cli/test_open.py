#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--open` of lpo report and lpo run: the page is shown where that can be, and nothing fails where it cannot. Prints TAP."""
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests"))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

TRACE = str(ROOT / "tests/data/nsys/h200_ranges.sqlite.gz")


class Open(LpoCase):
    def setUp(self):
        super().setUp()
        # a program of that name that writes down what it was given; renamed, so that it is there whole
        self.shown = os.path.join(self.cwd, "shown")
        os.mkdir(os.path.join(self.cwd, "bin"))
        program = os.path.join(self.cwd, "bin/xdg-open")
        with open(program, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\necho \"$1\" > {self.shown}.new && mv {self.shown}.new {self.shown}\n")
        os.chmod(program, 0o755)

    def screen(self, path=None):
        return {"DISPLAY": ":7", "WAYLAND_DISPLAY": "", "PATH": path or f"{self.cwd}/bin:{os.environ['PATH']}"}

    def wait_for_page(self, folder):
        self.wait_for(lambda: os.path.exists(self.shown))
        with open(self.shown, encoding="utf-8") as f:
            self.assertEqual(f.read().strip(), os.path.realpath(os.path.join(self.cwd, folder, "report.html")))

    def test_report_shows_the_page(self):
        done = self.lpo("report", TRACE, "-o", "a b", "--open", env=self.screen())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.wait_for_page("a b")

    def test_run_shows_the_page_and_ends_with_its_path(self):
        done = self.lpo_run("--open", "run.repeats=1", env=self.screen())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_for_page("run")
        self.assertEqual(done.stdout.splitlines()[-1], f"page: {os.path.realpath(self.run_dir)}/report.html")

    def test_without_a_screen_the_path_is_said(self):
        done = self.lpo("report", TRACE, "-o", "out", "--open", env=self.screen() | {"DISPLAY": ""})
        self.assertEqual((done.returncode, done.stderr), (0, "--open: this machine has no screen; the page is out/report.html\n"))
        self.assertFalse(os.path.exists(self.shown))

    def test_without_a_program_the_path_is_said(self):
        os.mkdir(os.path.join(self.cwd, "empty"))
        done = self.lpo("report", TRACE, "-o", "out", "--open", env=self.screen(os.path.join(self.cwd, "empty")))
        self.assertEqual(done.returncode, 0)
        self.assertIn("xdg-open cannot be started", done.stderr)
        self.assertIn("out/report.html", done.stderr)

    def test_without_a_page_the_reason_is_said(self):
        done = self.lpo("report", TRACE, "-o", "out", "--open", "report.formats=[md]", env=self.screen())
        self.assertEqual(done.returncode, 0)
        self.assertIn("there is no out/report.html", done.stderr)

    def test_a_sweep_has_no_page_of_its_own(self):
        done = self.lpo("run", "--open", "-m", "run.repeats=1,2", env=self.screen())
        self.assertEqual(done.returncode, 2)
        self.assertIn("not of a sweep", done.stderr)


class Demo(LpoCase):
    def test_a_run_comes_with_lpo(self) -> None:
        done = self.lpo("demo", "-o", "d")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "d/report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertTrue(report["ladder"]["rungs"])
        self.assertNotIn("too-noisy", [c["id"] for c in report["cautions"]])  # ncu's repeats are no repeats
        self.assertTrue(any(k.get("gpu_ns") for k in report["kernels"]))
        self.assertTrue(os.path.exists(os.path.join(self.cwd, "d/operators.md")))
        self.assertLess(os.path.getsize(ROOT / "demo/demo.tar.zst"), 1 << 20)
        again = self.lpo("demo", "-o", "d")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.lpo("demo", "word").returncode, 2)


if __name__ == "__main__":
    tap.main()
