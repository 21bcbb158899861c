#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A report of digests is the report of the traces, and a digest that is damaged is refused. Prints TAP."""
from __future__ import annotations

import glob
import gzip
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
sys.dont_write_bytecode = True
import rank_causes  # noqa: E402
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


class Digest(LpoCase):
    def digest(self, path: str, name: str) -> str:
        out = os.path.join(self.cwd, name)
        done = self.lpo("digest", path, "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, out + "\n"), done.stderr)
        return out

    def report(self, *files: str) -> dict:
        done = self.lpo("report", "--json", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stdout
        for f in files:  # the report names the files that were read
            text = text.replace(os.path.basename(f), "FILE")
        return json.loads(text)

    def test_one_trace_of_each_kind(self) -> None:
        for pattern in ("kineto/*.json.gz", "nsys/*.sqlite.gz", "native/*.lpot*", "ncu/*.ncu-rep", "rocprof/*.json*"):
            found = sorted(glob.glob(os.path.join(DATA, pattern)))[:3]
            for path in found:
                with self.subTest(path):
                    self.assertEqual(self.report(self.digest(path, "x.lpod")), self.report(path))

    def test_a_job(self) -> None:
        rank_causes.make(self.cwd, "slow-tensor", 3)
        traces = sorted(glob.glob(os.path.join(self.cwd, "rank*.json")))
        digests = [self.digest(t, os.path.basename(t)[:-5] + ".lpod") for t in traces]
        a, b = self.report(*traces), self.report(*digests)
        self.assertEqual(a["findings"][0]["id"], "slow-rank")
        self.assertEqual(a, b)
        self.assertLess(sum(map(os.path.getsize, digests)), sum(map(os.path.getsize, traces)) / 20)

    def test_the_rank_is_in_the_name_of_the_trace(self) -> None:
        source = sorted(glob.glob(os.path.join(DATA, "kineto", "*.json.gz")))[0]
        for i in range(2):
            with gzip.open(source, "rt", encoding="utf-8") as f:
                document = json.load(f)
            document.pop("distributedInfo", None)
            with open(os.path.join(self.cwd, f"rank{i}.json"), "w", encoding="utf-8") as f:
                json.dump(document, f)
        names = [self.digest(os.path.join(self.cwd, f"rank{i}.json"), f"part{c}.lpod") for i, c in enumerate("ab")]
        done = self.lpo("sql", *names, "--json", "select rank from ranks")
        scopes = [s["scope"] for s in self.report(*names)["scopes"]]
        self.assertIn("rank:1", scopes, done.stderr)

    def test_damaged_ones_are_refused(self) -> None:
        source = sorted(glob.glob(os.path.join(DATA, "kineto", "*.json.gz")))[0]
        whole = open(self.digest(source, "x.lpod"), "rb").read()
        plain = gzip.decompress(whole)
        for name, data in (("cut.lpod", whole[:-100]), ("version.lpod", gzip.compress(plain[:9] + b"\x63" + plain[10:])), ("short.lpod", plain[:-5])):
            with open(os.path.join(self.cwd, name), "wb") as f:
                f.write(data)
            done = self.lpo("report", "--json", name)
            self.assertEqual(done.returncode, 1, name + done.stdout)
            self.assertIn("again", done.stderr)
        rng = random.Random(1)
        for i in range(60):  # one that can still be read is checked reference by reference
            data = bytearray(plain)
            for _ in range(rng.choice([1, 3, 20])):
                data[rng.randrange(10, len(data))] = rng.randrange(256)
            with open(os.path.join(self.cwd, "odd.lpod"), "wb") as f:
                f.write(data)
            self.assertIn(self.lpo("report", "--json", "odd.lpod").returncode, (0, 1, 2), i)

    def test_every_array_is_described(self) -> None:
        source = os.path.join(os.environ["LPO_SOURCE_ROOT"], "src", "trace")
        text = open(os.path.join(source, "trace.h"), encoding="utf-8").read()
        arrays = re.findall(r"LPO_VEC\([^)]*\) (\w+);", text[text.index("struct lpo_trace {"):])
        described = open(os.path.join(source, "rows.c"), encoding="utf-8").read()
        self.assertGreater(len(arrays), 30)
        self.assertEqual([a for a in arrays if a not in ("series", "notes") and f"KIND({a}, " not in described], [])

    def test_words(self) -> None:
        for words, part in ((["digest"], "usage"), (["digest", "x", "-o", "x.json"], ".lpod"), (["digest", "none.json"], "none.json")):
            done = self.lpo(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    tap.main()
