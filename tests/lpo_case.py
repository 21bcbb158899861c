# SPDX-License-Identifier: Apache-2.0
"""The base class of tests that drive the built program: a scratch folder, `lpo` in it, and what a run left."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import unittest

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))


class LpoCase(unittest.TestCase):
    """Each test has a folder of its own (`cwd`); the run folder is always `run` in it (`run_dir`)."""

    def setUp(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-test-")
        self.cwd = self.temp.name
        self.run_dir = os.path.join(self.cwd, "run")

    def tearDown(self) -> None:
        self.temp.cleanup()

    def environment(self) -> dict[str, str]:
        """Variables that every lpo of this class gets besides those of the test."""
        return {}

    def lpo(self, *words: str, env: dict[str, str] | None = None, timeout: float = 120) -> subprocess.CompletedProcess:
        return subprocess.run([LPO, *words], cwd=self.cwd, env=os.environ | self.environment() | (env or {}), text=True,
                              capture_output=True, timeout=timeout)

    def lpo_run(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return self.lpo("run", "hydra.run.dir=run", *words, env=env)

    def lpo_start(self, *words: str) -> subprocess.Popen:
        """As lpo_run, without waiting for it."""
        return subprocess.Popen([LPO, "run", "hydra.run.dir=run", *words], cwd=self.cwd, text=True,
                                env=os.environ | self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def lpo_report(self) -> str:
        """Builds the reports of the run folder; returns report.md."""
        done = self.lpo("report", self.run_dir)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.text("report.md")

    def path(self, *parts: str) -> str:
        return os.path.join(self.run_dir, *parts)

    def text(self, *parts: str) -> str:
        """With plain spaces: Markdown keeps a number and its unit together with one that does not break."""
        with open(self.path(*parts), encoding="utf-8") as f:
            return f.read().replace("\u00a0", " ")

    def json(self, *parts: str):
        return json.loads(self.text(*parts))

    def has(self, *names: str) -> None:
        for name in names:
            self.assertTrue(os.path.exists(self.path(name)), name)

    def write(self, name: str, value) -> str:
        """A file in the scratch folder, made of text or, from anything else, of JSON."""
        path = os.path.join(self.cwd, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        return name

    def put(self, name: str, value) -> None:
        """The same in the run folder."""
        self.write(self.path(name), value)

    def manifest(self, folder: str | None = None) -> dict:
        with open(os.path.join(folder or self.run_dir, "run.json"), encoding="utf-8") as f:
            return json.load(f)

    def stage(self, name: str) -> dict:
        return next(s for s in self.manifest()["stages"] if s["name"] == name)

    def wait_for(self, condition, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (OSError, ValueError, StopIteration):
                pass
            time.sleep(0.02)
        self.fail(f"this did not come true within {seconds} s")
