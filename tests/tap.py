# SPDX-License-Identifier: Apache-2.0
"""Runs unittest cases and prints TAP, which Meson counts. `skip_all` ends a file as skipped, with a reason."""
from __future__ import annotations

import sys
import traceback
import unittest


class _Result(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def line(self, ok: bool, test: unittest.TestCase, note: str = "") -> None:
        self.number += 1
        name = test.shortDescription() or test.id().rpartition(".")[2].replace("_", " ")
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}{note}", flush=True)

    def addSuccess(self, test):  # noqa: N802 (unittest's names)
        self.line(True, test)

    def addSkip(self, test, reason):  # noqa: N802
        self.line(True, test, f" # SKIP {reason}")

    def _failed(self, test, error):
        self.line(False, test)
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print(f"# {line}")

    def addFailure(self, test, err):  # noqa: N802
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):  # noqa: N802
        super().addError(test, err)
        if isinstance(test, unittest.TestCase):
            self._failed(test, err)
        else:
            print(f"# {err[1]}")

    def addSubTest(self, test, subtest, err):  # noqa: N802
        super().addSubTest(test, subtest, err)
        self.line(err is None, test, f" {subtest._subDescription()}")
        if err is not None:
            for line in "".join(traceback.format_exception(*err)).splitlines():
                print(f"# {line}")


def skip_all(reason: str) -> None:
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def main(module: str = "__main__") -> None:
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module])
    result = _Result()
    suite.run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() else 1)
