#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The long tests that `make torture` and `make nightly` start are found by their names."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

ROOT = pathlib.Path(os.environ["LPO_SOURCE_ROOT"])


class Scripts(unittest.TestCase):
    def test_torture(self) -> None:
        """every test of tests/torture, and what goes through all traces"""
        done = subprocess.run([ROOT / "scripts/torture.sh", "--list", os.environ["LPO_BUILD_ROOT"]], capture_output=True, text=True)
        names = set(done.stdout.split())
        files = {"torture/" + p.stem.removeprefix("test_").replace("_", "-") for p in (ROOT / "tests/torture").glob("test_*.py")}
        self.assertLessEqual(files | {"report/pages", "region/oracle"}, names)


if __name__ == "__main__":
    tap.main()
