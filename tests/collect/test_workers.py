#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that end without a word: workers of Python's multiprocessing, static programs. No range of theirs is lost."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

ROOT = pathlib.Path(os.environ["LPO_SOURCE_ROOT"])
METHODS = ("fork", "forkserver", "spawn")
PROGRAM = """
import multiprocessing, sys
from lpo import ranges

def work(count):
    for i in range(count):
        with ranges.range("work"):
            pass

if __name__ == "__main__":
    with ranges.range("main"):
        pass
    for method in sys.argv[1:]:
        context = multiprocessing.get_context(method)
        alone = context.Process(target=work, args=(4000,))
        alone.start()
        alone.join()
        with context.Pool(3) as pool:
            pool.map(work, [100] * 40)
"""


def plain_build() -> pathlib.Path | None:
    """The first build without sanitizers: Python and a static program have none."""
    for build in (pathlib.Path(os.environ["LPO_BUILD_ROOT"]), ROOT / "build"):
        library = build / "src" / "collect" / "liblpo-collect.so"
        if library.exists() and b"__asan_init" not in library.read_bytes() and b"__tsan_init" not in library.read_bytes():
            return build
    return None


BUILD = plain_build()
LPO = str(BUILD / "lpo") if BUILD else None


def visits(*words: str) -> tuple[dict, list]:
    out = subprocess.run([LPO, "regions", *words, "--json"], capture_output=True, text=True, check=True)
    answer = json.loads(out.stdout)
    return {r["path"]: r["visits"] for r in answer["scopes"][0]["regions"] if r["kind"] == "push_pop"}, answer.get("notes", [])


class Workers(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="lpo-workers-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        library = BUILD / "src" / "collect" / "liblpo-collect.so"
        self.env = dict(os.environ, PYTHONPATH=str(ROOT / "python"), PYTHONDONTWRITEBYTECODE="1")
        self.alone = dict(self.env, NVTX_INJECTION64_PATH=str(library), LPO_COLLECT_DIR=str(self.root / "traces"))
        (self.root / "program.py").write_text(PROGRAM)

    def test_multiprocessing(self) -> None:
        """fork, forkserver and spawn, a Process and a Pool of each, without lpo run"""
        for method in METHODS:
            with self.subTest(method=method):
                env = dict(self.alone, LPO_COLLECT_DIR=str(self.root / method))
                subprocess.run([sys.executable, "program.py", method], cwd=self.root, env=env, check=True)
                self.assertEqual(visits(str(self.root / method)), ({"main": 1, "work": 8000}, []))

    def test_run(self) -> None:
        """under lpo run, which finishes the traces itself"""
        done = subprocess.run([LPO, "run", "hydra.run.dir=run", "pipeline.static_analysis.enable=false", "--only", "native",
                               "--", sys.executable, "program.py", *METHODS], cwd=self.root, env=self.env,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list((self.root / "run").rglob("*.tail")), [])
        self.assertEqual(visits(str(self.root / "run"))[0], {"main": 1, "work": 24000})
        for path in (self.root / "run" / "native").glob("*.lpot"):
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_static(self) -> None:
        """a static program that returns from main"""
        program = pathlib.Path(os.environ["LPO_BUILD_ROOT"]) / "tests" / "collect" / "nvtx_static"
        subprocess.run([str(program), "1000000"], env=self.alone, check=True)
        self.assertEqual(visits(str(self.root / "traces")), ({"range": 1000000}, []))


if __name__ == "__main__":
    if not BUILD:
        tap.skip_all("no collector without sanitizers: run make first")
    tap.main()
