#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader of sampled counters against a second one that was written from the page of the format. Prints TAP."""
from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import lpoc  # noqa: E402
import tap  # noqa: E402

DUMP = os.path.join(os.environ["LPO_BUILD_ROOT"], "tests", "trace", "dump_counters")
T0 = 1794755025844526479
ROWS = [("dram__bytes_read.sum", 1, lpoc.AMOUNT, 1, "byte"), ("tensor", 9, lpoc.SHARE, 10000, "%")]


def whole(*blocks: bytes) -> bytes:
    return b"".join([lpoc.preamble(), lpoc.facts({"chip": "GH100", "device.index": "2", "interval_ns": "50000",
                                                  "pid": "77", "host": "h", "new": "fact"}),
                     lpoc.metrics(ROWS), *blocks])


class Lpoc(unittest.TestCase):
    def dump(self, data: bytes, suffix: str = ".lpoc") -> list[str]:
        with tempfile.NamedTemporaryFile(suffix=suffix) as f:
            f.write(data)
            f.flush()
            done = subprocess.run([DUMP, f.name], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn("Sanitizer", done.stderr)
        self.code, self.problem = done.returncode, done.stderr
        return done.stdout.splitlines()

    def test_both_read_the_same(self) -> None:
        rows = [(T0 + i * 50000, T0 + (i + 1) * 50000 - i % 3, [i * 1_000_003, (i % 1000) / 10]) for i in range(3000)]
        rows[5] = (rows[5][0], rows[5][1], [None, 12.3456])
        rows[7] = (rows[7][0] - 98, rows[7][1], [0, None])  # begins before the last one ended
        data = whole(lpoc.samples(rows[:1700], [1, 10000]), lpoc.samples(rows[1700:], [1, 10000]))
        _, _, items = lpoc.read(data)
        want = ["sample " + " ".join(str(x) for x in (s, e)) + "".join(" None" if x is None else f" {x:.17g}" for x in values)
                for _, s, e, values in items]
        got = self.dump(data)
        self.assertEqual([line for line in got if line.startswith("sample")], want)
        self.assertEqual(got[0], "about GH100|||h||2|50000|77")
        self.assertEqual(got[1:3], ["metric dram__bytes_read.sum 1 1 1 byte", "metric tensor 9 2 10000 %"])
        self.assertEqual(got[-1], "totals 3000 0 0 0 0 0 0 0 -1")
        self.assertEqual(items[5][3], [None, 12.3456])

    def test_compressed(self) -> None:
        data = whole(lpoc.samples([(T0, T0 + 5, [1, 2])], [1, 10000]))
        self.assertEqual(self.dump(gzip.compress(data), ".lpoc.gz"), self.dump(data))
        self.assertEqual(self.code, 0)

    def test_losses_notes_and_the_end(self) -> None:
        one = lpoc.samples([(T0, T0 + 50, [1, 2])], [1, 10000])
        two = lpoc.samples([(T0 + 500, T0 + 550, [3, 4])], [1, 10000])
        got = self.dump(whole(one, lpoc.loss(T0 + 50, T0 + 500, 9, 1, "full"), two, lpoc.note("left out: x"),
                              lpoc.end({1: 2, 4: 123, 6: 1, 99: 5})))
        self.assertEqual(got[4:], [f"loss {T0 + 50} {T0 + 500} 9 1", f"sample {T0 + 500} {T0 + 550} 3 4",
                                   "note left out: x", "totals 2 1 9 450 0 0 1 1 123"])

    def test_an_interval_that_becomes_longer(self) -> None:
        one = lpoc.samples([(T0, T0 + 50, [1, 2])], [1, 10000])
        two = lpoc.samples([(T0 + 500, T0 + 600, [3, 4])], [1, 10000])
        data = whole(one, lpoc.loss(T0 + 50, T0 + 500, 4, 6, "again"), lpoc.interval(T0 + 500, 100000, 40000000), two,
                     lpoc.end({4: 30, 6: 1, 7: 1000}))
        self.assertEqual(self.dump(data)[3:], [f"sample {T0} {T0 + 50} 1 2", f"loss {T0 + 50} {T0 + 500} 4 6", "interval 100000",
                                               f"sample {T0 + 500} {T0 + 600} 3 4", "totals 2 1 4 450 0 0 1 1 30", "wall 1000"])
        self.assertEqual([i for i in lpoc.read(data)[2] if i[0] == "interval"], [("interval", T0 + 500, 100000, 40000000)])
        for damaged in (lpoc.v(T0), lpoc.v(T0) + lpoc.v(0) + lpoc.v(1), lpoc.v(T0) + lpoc.v(1 << 63) + lpoc.v(1)):
            got = self.dump(whole(one, lpoc.block(lpoc.INTERVAL, damaged), two))
            self.assertEqual([line for line in got if line.startswith("interval")], [])  # it stays what it was

    def test_damage(self) -> None:
        good = (T0, T0 + 50, [1, 2])
        one = lpoc.samples([good], [1, 10000])
        back = lpoc.samples([(T0 - 1, T0 + 60, [1, 2]), (T0 + 60, T0 + 60, [1, 2]), (T0 + 70, T0 + 80, [5, 6])], [1, 10000])
        first = f"sample {T0} {T0 + 50} 1 2"
        cases = {
            "a time that goes back and one without length are left out":
                (whole(one, back), [first, f"sample {T0 + 70} {T0 + 80} 5 6", "totals 2 0 0 0 2 0 0 0 -1"]),
            "a count that is made up": (whole(lpoc.block(lpoc.SAMPLES, lpoc.v(1 << 60)), one),
                                        [first, "totals 1 0 0 0 1 0 0 0 -1"]),
            "cut in a block": (whole(one, one)[:-1], [first, f"totals 1 0 0 0 0 {len(one) - 1} 0 0 -1"]),
            "a kind of block from the future": (whole(lpoc.block(77, b"x"), one), [first, "totals 1 0 0 0 0 0 0 0 -1"]),
            "a time near the end of the range": (whole(lpoc.samples([(2**62, 2**62 + 1, [1, 2])], [1, 10000]), one),
                                                 [first, "totals 1 0 0 0 1 0 0 0 -1"]),
            "a loss without an end": (whole(lpoc.block(lpoc.LOSS, lpoc.v(T0)), one),
                                      [first, "totals 1 0 0 0 1 0 0 0 -1"]),
            "a loss that began before the last sample is cut there":
                (whole(one, lpoc.loss(T0 - 10, T0 + 10, 3, 200)), [first, f"loss {T0} {T0 + 10} 3 0", "totals 1 1 3 10 0 0 0 0 -1"]),
        }
        for name, (data, want) in cases.items():
            with self.subTest(name):
                self.assertEqual(self.dump(data)[3:], want)

    def test_refused(self) -> None:
        one = lpoc.samples([(T0, T0 + 50, [1])], [1])
        cases = {
            "format 2": (lpoc.preamble(2), "counters format 2; this lpo reads format 1"),
            "another format": (b"LPOTRACE" + bytes(8), "not a file of sampled counters"),
            "no metrics": (lpoc.preamble() + one, "samples before the list of its metrics"),
            "too many metrics": (lpoc.preamble() + lpoc.block(lpoc.METRICS, lpoc.v(65)), "more than 64 metrics"),
            "a scale of 0": (lpoc.preamble() + lpoc.metrics([("a", 1, 1, 0, "x")]), "metric 1 of its list"),
            "empty": (b"", "not a file of sampled counters"),
        }
        for name, (data, words) in cases.items():
            with self.subTest(name):
                self.dump(data)
                self.assertEqual(self.code, 1)
                self.assertIn(words, self.problem)


if __name__ == "__main__":
    tap.main()
