#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""liblpo-count.so alone: every way to the driver goes through it, and no program sees a difference."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ["LPO_SOURCE_ROOT"])
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).resolve().parent)]
sys.dont_write_bytecode = True
import tap  # noqa: E402
from count_case import HERE, LIBRARY, WAYS, numbers, run  # noqa: E402

ANOTHER = [HERE / "libanother-1.so", HERE / "libanother-2.so"]


class Ways(unittest.TestCase):
    def check(self, way, scenario, kernels, graphs, preload=(LIBRARY,)):
        output, code = run(way, scenario, preload)
        self.assertEqual(code, 0, output)
        got = numbers(output)
        self.assertEqual((got["kernels"], got["graphs"], got["driver"]), ([kernels], [graphs], [kernels + graphs]), output)
        self.assertEqual(got["told"], [kernels, graphs] if LIBRARY in preload else [0, 0], output)
        return got

    def test_every_function_by_every_way(self):
        """the driver's own function is reached, with every argument, and is told once"""
        for way in WAYS:
            with self.subTest(way):  # cuGetProcAddress of CUDA 12 also has a newer one of a name
                newer = way in ("linked", "proc2")
                self.check(way, "each", 10 + newer, 2)

    def test_threads(self):
        for way in WAYS:
            with self.subTest(way):
                missing = 0 if way in ("linked", "proc2") else 1  # entries that this way does not lead to
                each = [1000 // 11 + (i < 1000 % 11) for i in range(11)]
                self.check(way, "threads", 4 * (1000 - missing * each[2]), 0)

    def test_the_same_without_the_library(self):
        for way in WAYS:
            with self.subTest(way):
                self.check(way, "each", 10 + (way in ("linked", "proc2")), 2, preload=())

    def test_look_ups_are_answered_as_by_libc(self):
        for preload in ((), (LIBRARY,)):
            with self.subTest(preload):
                output, code = run("-", "lookups", preload)
                self.assertEqual((output, code), (f"uid {os.getuid()}\n", 0))

    def test_other_preloaded_libraries(self):
        """RTLD_NEXT finds the next one, in front of the library and behind it, also in constructors"""
        one, two = ANOTHER
        for preload, digits in (([one, LIBRARY, two], 21), ([two, LIBRARY, one], 12), ([LIBRARY, one, two], 21),
                                ([one, two, LIBRARY], 21)):
            with self.subTest([p.name for p in preload]):
                output, code = run("-", "lookups", preload)
                self.assertEqual((output, code), (f"uid {os.getuid() * 100 + digits}\n", 0))

    def test_another_library_in_front_of_a_launch(self):
        """a launch that both stand in front of is told once, and reaches the other one too"""
        one, two = ANOTHER
        for preload in ([one, LIBRARY, two], [LIBRARY, one, two], [one, two, LIBRARY]):
            for way in ("linked", "default", "main"):
                with self.subTest([p.name for p in preload], way=way):
                    got = self.check(way, "each", 10 + (way == "linked"), 2, preload)
                    self.assertEqual(got["another"], [1, 1])


class Library(unittest.TestCase):
    def test_a_program_without_cuda(self):
        """also one that starts others: nothing is said, nothing is left open"""
        done = subprocess.run(["sh", "-c", "ls /proc/self/fd | wc -l; exec true"], capture_output=True, text=True,
                              env={**os.environ, "LD_PRELOAD": str(LIBRARY)})
        plain = subprocess.run(["sh", "-c", "ls /proc/self/fd | wc -l; exec true"], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (plain.stdout, "", 0))

    def test_what_it_exports(self):
        out = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
        names = {line.split()[-1] for line in out.splitlines()}
        self.assertEqual(names, {"dlsym", "lpo_count", "cuGetProcAddress", "cuGetProcAddress_v2", *launches()})

    def test_what_it_needs(self):
        """nothing but libc, and none newer than 2.28"""
        out = subprocess.run(["readelf", "-dV", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*?)\]", out))
        self.assertLessEqual(needed, {"libc.so.6", "libdl.so.2", "libpthread.so.0"})
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", out)}
        self.assertLessEqual(max(versions), (2, 28))



def launches():
    """name -> kind, as the library has them."""
    text = (ROOT / "src/count/calls.c").read_text()
    return dict(re.findall(r"X\((cu\w+), LPO_COUNT_(\w+),", text))


class Table(unittest.TestCase):
    def test_it_is_that_of_the_callbacks(self):
        """what the collector's callback counts, by CUPTI's id, the library counts by name"""
        header = (ROOT / "src/collect/cuda_calls.h").read_text()
        names = dict(re.findall(r"CBID\((\d+), (\w+)\);", (ROOT / "tests/collect/check_abi.c").read_text()))
        want = {}
        for table, kind in (("lpoc_kernel_cbids", "KERNEL"), ("lpoc_graph_cbids", "GRAPH")):
            body = re.search(table + r"\[\] = \{(.*?)\n\};", header, re.S).group(1)
            for first, last in re.findall(r"\{ (\d+), (\d+) \}", body):
                want |= {names[str(i)]: kind for i in range(int(first), int(last) + 1)}
        self.assertEqual(launches(), want)


if __name__ == "__main__":
    tap.main()
