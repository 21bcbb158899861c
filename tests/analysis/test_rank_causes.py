#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What makes the ranks of a job wait is named first, with its rank and what it costs (rank_causes.py). Prints TAP."""
from __future__ import annotations

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import rank_causes  # noqa: E402

LPO = os.environ["LPO_BIN"]


class RankCauses(unittest.TestCase):
    seeds = range(1)

    def one(self, kind: str) -> None:
        for seed in self.seeds:
            with self.subTest(f"{kind}, set {seed}"), tempfile.TemporaryDirectory(prefix="rank-cause-") as out:
                self.assertEqual(rank_causes.check(LPO, out, rank_causes.make(out, kind, seed)), [])


for each in rank_causes.KINDS:
    setattr(RankCauses, f"test_{each.replace('-', '_')}", lambda self, kind=each: self.one(kind))

if __name__ == "__main__":
    tap.main()
