#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/findings.md: every kind of finding and every caution has its paragraph, and no other. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from repo_text import text  # noqa: E402


class Kinds(unittest.TestCase):
    def setUp(self) -> None:
        self.page = text("docs", "findings.md")
        code = text("src", "analysis", "ladder", "ladder.h")
        ids = {name: re.findall(r'X\(\w+,[ \\\n]*"([a-z0-9-]+)"\)', rows)
               for name, rows in re.findall(r"#define LPO_(RUNG|CAUTION)_LIST\(X\)(.*?)\n#define", code, re.S)}
        self.kinds, self.cautions = ids["RUNG"], ids["CAUTION"]

    def test_every_kind_has_a_paragraph(self) -> None:
        self.assertGreater(len(self.kinds), 10)
        self.assertEqual(sorted(re.findall(r"^### (.*)$", self.page, re.M)), sorted(self.kinds))

    def test_every_caution_has_a_row(self) -> None:
        self.assertGreater(len(self.cautions), 5)
        self.assertEqual(sorted(re.findall(r"^\| `([a-z-]+)` \|", self.page, re.M)), sorted(self.cautions))

    def test_the_schema_knows_them(self) -> None:
        defs = json.loads(text("docs", "schemas", "report.schema.json"))["$defs"]
        self.assertEqual(sorted(defs["Finding"]["properties"]["id"]["enum"]), sorted(self.kinds))
        self.assertEqual(sorted(defs["Caution"]["properties"]["id"]["enum"]), sorted(self.cautions))


if __name__ == "__main__":
    tap.main()
