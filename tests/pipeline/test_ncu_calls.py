#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which calls of a range ncu is asked for (pipeline.ncu.capture.calls): its pattern fits those numbers and no other. Prints TAP."""
from __future__ import annotations

import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

NCU = os.path.join(HERE, "tools", "ncu")
ON = ["pipeline.native.enable=false", "pipeline.ncu.enable=true", f"pipeline.ncu.program={NCU}", "pipeline.ncu.capture.range=step", "--dry-run"]
MOST = 12000


class NcuCalls(LpoCase):
    def pattern(self, calls: str) -> re.Pattern:
        done = self.lpo_run(*ON, f"pipeline.ncu.capture.calls='{calls}'")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(r"--range-filter '?::([^' ]*)'?", done.stdout)
        self.assertIsNotNone(found, done.stdout)
        return re.compile(found.group(1))

    def test_every_number_to_twelve_thousand(self) -> None:
        random.seed(18)
        spans = [(1, 2), (1, 9), (1, 10), (9, 10), (10, 99), (99, 100), (100, 1000), (3, 12), (7, 7), (40, 57), (999, 1001), (11, 11000)]
        spans += [tuple(sorted((random.randrange(1, 10 ** d), random.randrange(1, 10 ** e)))) for d in (1, 2, 3, 4) for e in (2, 3, 4)]
        for first, last in spans:
            with self.subTest(first=first, last=last):
                pattern = self.pattern(f"{first}-{last}")
                fits = [n for n in range(1, MOST) if pattern.search(str(n)) and (first != last or pattern.fullmatch(str(n)))]
                self.assertEqual(fits, list(range(first, last + 1)))

    def test_without_an_end(self) -> None:
        for first in (2, 9, 10, 11, 95, 100, 999, 1000, 4321):
            with self.subTest(first=first):
                pattern = self.pattern(f"{first}-")
                self.assertEqual([n for n in range(1, MOST) if pattern.search(str(n))], list(range(first, MOST)))
                self.assertTrue(pattern.search("1000000007"))

    def test_the_greatest_numbers(self) -> None:
        pattern = self.pattern("999999999999990-1000000000000000")
        self.assertTrue(pattern.search("999999999999990") and pattern.search("1000000000000000"))
        self.assertFalse(pattern.search("1000000000000001") or pattern.search("999999999999989"))


if __name__ == "__main__":
    tap.main()
