#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of Nsight Systems, read without nsys: what they give equals what the export of the same report gives, row by row. The
reports of ../shared/data/nsysrep were exported by nsys itself; those of tests/data/nsys and of every export there were written by
bench/make_nsysrep. Then reports that are cut, damaged, or of a version of tomorrow. Prints TAP."""
from __future__ import annotations

import glob
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
MAKE = os.path.join(os.path.dirname(LPO), "bench", "make_nsysrep")
DATA = os.path.join(HERE, "..", "data", "nsys")
PAIRS = sorted(glob.glob(os.path.join(HERE, "..", "..", "..", "shared", "data", "nsysrep", "*rep")))
SMALL = os.path.join(DATA, "h200_ranges.nsys-rep")
# What differs: where the numbers came from, and what nsys itself had to say, which not every export has.
ELSEWHERE = {"notes", "sections", "title", "traces", "sources", "inputs"}


def lpo(*words: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LPO, *words], capture_output=True, text=True, env=os.environ | {"PATH": path}, timeout=60)


def tables(command: str, path: str) -> dict:
    done = lpo(command, path, "--json")
    assert done.returncode == 0, f"{command} {path}: {done.stderr}"
    return {key: value for key, value in json.loads(done.stdout).items() if key not in ELSEWHERE}


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name: str, content: bytes | None = None) -> str:
        path = os.path.join(self.dir.name, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
        return path


class Reports(Files):
    def equal(self, report: str, export: str) -> None:
        for command in ("top", "regions", "report"):
            with self.subTest(report=os.path.basename(report), command=command):
                self.assertEqual(tables(command, report), tables(command, export))

    @unittest.skipUnless(PAIRS, "needs ../shared/data/nsysrep")
    def test_reports_equal_the_exports_that_nsys_made(self) -> None:
        self.assertGreaterEqual(len(PAIRS), 13)
        for report in PAIRS:
            self.equal(report, os.path.splitext(report)[0] + ".sqlite.gz")

    def test_reports_equal_the_exports_that_they_were_made_of(self) -> None:
        exports = glob.glob(os.path.join(DATA, "*.sqlite.gz"))
        self.assertGreaterEqual(len(exports), 3)
        for export in exports:
            with gzip.open(export) as f:
                plain = self.path("export.sqlite", f.read())
            report = self.path("made.nsys-rep")
            subprocess.run([MAKE, plain, report], check=True)
            self.equal(report, plain)

    def test_reports_of_the_repository(self) -> None:
        for name in ("h200_ranges", "a100_old"):
            self.equal(os.path.join(DATA, name + ".nsys-rep"), os.path.join(DATA, name + ".sqlite.gz"))

    def test_a_report_and_its_export_do_not_differ(self) -> None:
        done = lpo("diff", SMALL, os.path.join(DATA, "h200_ranges.sqlite.gz"), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([k for k in json.loads(done.stdout)["kernels"] if k["delta_ns"]], [])

    def test_a_report_beside_its_export_is_read_once(self) -> None:
        shutil.copy(SMALL, self.path("run.nsys-rep"))
        shutil.copy(os.path.join(DATA, "h200_ranges.sqlite.gz"), self.path("run.sqlite.gz"))
        self.assertEqual(tables("top", self.dir.name)["kernels"], tables("top", SMALL)["kernels"])

    def test_compressed(self) -> None:
        with open(SMALL, "rb") as f:
            path = self.path("run.nsys-rep.gz", gzip.compress(f.read()))
        self.assertEqual(tables("top", path), tables("top", SMALL))


class Damaged(Files):
    def setUp(self) -> None:
        super().setUp()
        with open(SMALL, "rb") as f:
            self.bytes = f.read()

    def refused(self, content: bytes, *words: str) -> None:
        done = lpo("regions", self.path("x.nsys-rep", content), path=self.dir.name)
        self.assertEqual(done.returncode, 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def notes(self, content: bytes) -> str:
        done = lpo("top", self.path("x.nsys-rep", content), "--json", path=self.dir.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.dumps(json.loads(done.stdout)["notes"])

    def test_cut_anywhere(self) -> None:
        for length in range(40, len(self.bytes), 61):
            self.refused(self.bytes[:length], "cut short")

    def test_changed_anywhere(self) -> None:
        """No byte does more than make the report wrong: refused, or read with a note, or with another number."""
        pick = random.Random(36)
        for _ in range(150):
            content = bytearray(self.bytes)
            for _ in range(pick.randint(1, 20)):
                content[pick.randrange(len(content))] = pick.randrange(256)
            done = lpo("regions", self.path("x.nsys-rep", bytes(content)), path=self.dir.name)
            self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_a_pointer_of_git_lfs(self) -> None:
        self.refused(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull")

    def test_another_compression(self) -> None:
        self.refused(self.bytes.replace(b"\x0a\x03lz4", b"\x0a\x03zst"), "LZ4", "nsys export")

    def test_a_version_of_tomorrow(self) -> None:
        later = self.bytes.replace(b"2025@5@1@121", b"2031@1@1@121")
        self.assertNotIn("2031", self.notes(later))  # as long as it reads as the others do
        self.refused(later.replace(b"QDTEXT00", b"QDTEXT01"), "2031.1.1.121", "nsys export")

    def test_counts_that_do_not_agree(self) -> None:
        at = self.bytes.index(b"QDTEXT00") + 8
        at += 1 + self.bytes[at]  # the header
        self.assertEqual(self.bytes[at + 1], 0x08)  # field 1 of the counts: events
        wrong = bytearray(self.bytes)
        wrong[at + 2] ^= 1
        self.assertIn("events", self.notes(bytes(wrong)))
        self.assertEqual(self.notes(self.bytes), "[]")


if __name__ == "__main__":
    tap.main()
