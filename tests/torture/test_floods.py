#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small file with a million names, streams, processes, levels or counters: an answer within 10 s of work and 1 GB.

The short form makes files of 20,000 things: enough that work which grows with their square is seen. LPO_TORTURE=long makes a million,
and runs an lpo without sanitizers where there is one (LPO_TORTURE_BIN, or the one that `make` built).
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import floods  # noqa: E402
import measure  # noqa: E402
import tap  # noqa: E402

LONG = os.environ.get("LPO_TORTURE") == "long"
THINGS = 1000000 if LONG else 20000
HANGS = 600  # seconds of the clock; what is checked is the work


def program() -> str:
    built = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT", ".")) / "build" / "lpo"
    for path in (os.environ.get("LPO_TORTURE_BIN"), built) if LONG else ():
        if path and os.path.exists(path):
            return os.path.abspath(path)
    return os.path.abspath(os.environ["LPO_BIN"])


LPO = program()
# sanitizers take about six times the work and four times the memory
SECONDS, BYTES = (60, 4 << 30) if b"__asan_init" in pathlib.Path(LPO).read_bytes() else (10, 1 << 30)
if not LONG:
    SECONDS /= 3  # for a fiftieth of the things: a square would take far more
# The first does what all the others do; the short form is part of `make test`, whose time is limited.
COMMANDS = [["report", "-o", "reports", "report.formats=[md,json,html,csv,perfetto]"]]
COMMANDS += [["regions", "--json"], ["top", "--json"], ["report", "--json"], ["regions"], ["top"], ["regions", "--format", "perfetto"]] if LONG else []
MOST = {"work": 0.0, "memory": 0}


class Floods(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        print(f"# {len(floods.FLOODS)} files, {len(COMMANDS)} commands each: at most {MOST['work']:.1f} s of work, {MOST['memory']} MB")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def answer(self, path: str, words: list[str]) -> None:
        shutil.rmtree(os.path.join(self.folder.name, "reports"), ignore_errors=True)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code, work, memory = measure.run([LPO, words[0], path, *words[1:]], HANGS, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                             cwd=self.folder.name)
            out.seek(0)
            err.seek(0)
            text, said = out.read(), err.read().decode(errors="replace")
        MOST["work"], MOST["memory"] = max(MOST["work"], work), max(MOST["memory"], memory >> 20)
        if work > SECONDS / 2 or memory > BYTES / 2:
            print(f"# {os.path.basename(path)}: {' '.join(words[:2])}: {work:.1f} s of work, {memory >> 20} MB")
        self.assertEqual(code, 0, said[-2000:])
        self.assertLess(work, SECONDS)
        self.assertLess(memory, BYTES)
        if "--json" in words:
            json.loads(text)


def add_test(name: str) -> None:
    def test(self: Floods) -> None:
        path = os.path.join(self.folder.name, name.replace(" ", "_") + floods.suffix(name))
        floods.FLOODS[name](path, THINGS)
        for words in COMMANDS:
            with self.subTest(words=" ".join(words)):
                self.answer(path, words)

    setattr(Floods, "test_" + name.replace(" ", "_"), test)


for _name in floods.FLOODS:
    add_test(_name)

if __name__ == "__main__":
    tap.main()
