"""A folder for a test of `lpo run`, and what a run left in it."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import unittest

LPO = os.environ["LPO_BIN"]
QUIET = ["pipeline.static_analysis.enable=false"]
ONLY_DIRECT = [*QUIET, "pipeline.native.enable=false"]


class Scratch(unittest.TestCase):
    """A folder of its own for each test; the run folder is always `run` in it."""

    def setUp(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-run-")
        self.cwd = self.temp.name
        self.run = os.path.join(self.cwd, "run")

    def tearDown(self) -> None:
        self.temp.cleanup()

    def lpo(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([LPO, "run", "hydra.run.dir=run", *words], cwd=self.cwd, text=True,
                              env=os.environ | (env or {}), capture_output=True, timeout=120)

    def start(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen([LPO, "run", "hydra.run.dir=run", *words], cwd=self.cwd, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def manifest(self, folder: str | None = None) -> dict:
        with open(os.path.join(folder or self.run, "run.json"), encoding="utf-8") as f:
            return json.load(f)

    def stage(self, name: str) -> dict:
        return next(s for s in self.manifest()["stages"] if s["name"] == name)

    def text(self, *path: str) -> str:
        with open(os.path.join(self.run, *path), encoding="utf-8") as f:
            return f.read()

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.cwd, name), "w", encoding="utf-8") as f:
            f.write(text)

    def wait_for(self, condition, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (OSError, ValueError, StopIteration):
                pass
            time.sleep(0.02)
        self.fail("waited in vain")
