#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operators.md: every operator that has a rule is in one of its lists, and no other. Prints TAP."""
from __future__ import annotations

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from repo_text import text  # noqa: E402


class Rules(unittest.TestCase):
    def test_every_rule_is_on_the_page(self) -> None:
        table = text("conf", "rules", "operators.yaml").split("\noperators:\n")[1]
        table = re.sub(r"\n +", " ", re.sub(r"^#.*\n", "", table, flags=re.M))
        rules = [name for row in table.splitlines() for name in row.split(": ")[1].split()]
        self.assertGreater(len(rules), 200)
        self.assertEqual(len(rules), len(set(rules)))
        page = text("docs", "operators.md").split("## What is known")[1]
        lists = [p for p in page.split("\n\n") if p.startswith("`")]
        self.assertEqual(sorted(re.findall(r"`([^`]+)`", " ".join(lists))), sorted(rules))


if __name__ == "__main__":
    tap.main()
