"""A run folder made for a test, and the reports that `lpo report` makes of it."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest

LPO = os.environ["LPO_BIN"]


class RunFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-report-")
        self.dir = os.path.join(self.temp.name, "run")

    def tearDown(self) -> None:
        self.temp.cleanup()

    def put(self, name: str, value) -> None:
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))

    def get(self, name: str) -> str:
        with open(os.path.join(self.dir, name), encoding="utf-8") as f:
            return f.read()

    def build(self) -> None:
        """Its reports; the main one is in `text`."""
        done = subprocess.run([LPO, "report", self.dir], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.text = self.get("report.md")
