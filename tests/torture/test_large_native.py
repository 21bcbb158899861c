#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Native traces up to the collector's limit of 4 GB: a report in memory that does not grow with the file.

bench/make_native writes a file of each kind. Its ranges and kernels are counted by the program that made it, and lpo must find
every one. The short form takes files just beyond the size up to which rows are kept; LPO_TORTURE=long takes 4 GB.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import measure  # noqa: E402
import tap  # noqa: E402

ROOT = pathlib.Path(os.environ["LPO_BUILD_ROOT"])
MAKE = ROOT / "bench" / "make_native"
MEGABYTES = 4000 if os.environ.get("LPO_TORTURE") == "long" else 150
MOST = 256 << 20  # bytes of memory


def plain_program() -> str | None:
    """Memory means nothing under a sanitizer."""
    for path in os.environ.get("LPO_TORTURE_BIN"), os.environ["LPO_BIN"], pathlib.Path(os.environ.get("LPO_SOURCE_ROOT", ".")) / "build" / "lpo":
        if path and os.path.exists(path) and b"__asan_init" not in pathlib.Path(path).read_bytes():
            return os.path.abspath(path)
    return None


LPO = plain_program()


class LargeNative(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def make(self, kind: str) -> tuple[str, int, int, int]:
        path = os.path.join(self.folder.name, kind + ".lpot")
        made = subprocess.run([MAKE, path, str(MEGABYTES), kind], check=True, capture_output=True, text=True).stdout
        ranges, kernels, steps = map(int, made.split())
        return path, ranges, kernels, steps

    def lpo(self, *words: str, most: int = MOST) -> dict:
        with tempfile.TemporaryFile() as out:
            code, work, memory = measure.run([LPO, *words], 7200, stdout=out, stderr=subprocess.DEVNULL, cwd=self.folder.name)
            self.assertEqual(code, 0, words)
            print(f"# {words[0]} of {MEGABYTES} MB: {memory >> 20} MB, {work:.0f} s")
            self.assertLess(memory, most, words)
            out.seek(0)
            text = out.read()
        return json.loads(text) if "--json" in words else {}

    def rows(self, path: str) -> list[dict]:
        return self.lpo("regions", "--json", path)["scopes"][0]["regions"]

    def test_ranges(self):
        path, ranges, _, steps = self.make("ranges")
        rows = self.rows(path)
        self.assertEqual(sum(r["visits"] or 0 for r in rows), ranges)
        self.assertEqual([r["visits"] for r in rows if r["path"] == "step"], [steps])
        self.lpo("top", path)
        self.lpo("report", path, "-o", "report")

    def test_kernels(self):
        path, ranges, kernels, steps = self.make("kernels")
        rows = self.rows(path)
        self.assertEqual(sum(r["visits"] or 0 for r in rows), ranges)
        self.assertEqual([r["launches"] for r in rows if r["path"] == "step"], [kernels])
        self.lpo("top", path)
        self.lpo("report", path, "-o", "report")

    def test_start_end_ranges(self):
        self.lpo("regions", self.make("start-end")[0])

    def test_a_name_for_every_range(self):
        """Regions are then the budget's: their tables take most of this."""
        self.lpo("regions", self.make("names")[0], most=1 << 30)


if __name__ == "__main__":
    if LPO is None:
        tap.skip_all("no lpo without sanitizers is built")
    tap.main()
