#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo export: stacks for other people's viewers. Their sums are those of the tables, in every format. Prints TAP."""
from __future__ import annotations

import glob
import gzip
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

DATA = os.path.join(HERE, "..", "data")
TRACE = os.path.join(DATA, "kineto", "h200_llama8.json.gz")
WEIGHTS = ("gpu", "exposed", "idle", "bytes", "host")
SOME = [TRACE, *(os.path.join(DATA, p) for p in ("kineto/mi250_train.json.gz", "kineto/h200_train_checkpoint.json.gz", "kineto/a100_multistream_event_sync.json.gz",
                                                 "nsys/h200_ranges.sqlite.gz", "nsys/h100_2gpu_cut.sqlite.gz", "native/toy_graph.lpot"))]


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data: bytes):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
        yield key >> 3, value


def numbers(data: bytes) -> list[int]:
    out, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def pprof(path: str) -> dict[str, dict[str, int]]:
    """Per sample type: stacks, outermost first, and their values."""
    with gzip.open(path) as f:
        parts = list(fields(f.read()))
    strings = [v.decode() for k, v in parts if k == 6]
    types = [strings[dict(fields(v))[1]] for k, v in parts if k == 1]
    names = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for k, v in parts if k == 5}
    functions = {dict(fields(v))[1]: dict(fields(dict(fields(v))[4]))[1] for k, v in parts if k == 4}
    out: dict[str, dict[str, int]] = {t: {} for t in types}
    for k, v in parts:
        if k == 2:
            sample = dict(fields(v))
            stack = ";".join(names[functions[i]] for i in reversed(numbers(sample[1])))
            for t, value in zip(types, numbers(sample[2])):
                if value:
                    out[t][stack] = out[t].get(stack, 0) + value
    return out


class Export(LpoCase):
    def export(self, trace: str, ending: str, weight: str = "gpu") -> str:
        path = os.path.join(self.cwd, "x." + ending)
        done = self.lpo("export", trace, "-o", path, "--weight", weight)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_sums_are_those_of_the_tables(self) -> None:
        for trace in SOME:
            with self.subTest(os.path.basename(trace)):
                report = json.loads(self.lpo("report", trace, "--json").stdout)
                with open(self.export(trace, "speedscope.json"), encoding="utf-8") as f:
                    sums = {p["name"]: p["endValue"] for p in json.load(f)["profiles"]}
                total = json.loads(self.lpo("sql", trace, "select sum(gpu_ns) as ns, sum(bytes) as bytes from gpu_ops", "--json").stdout)[0]
                wall = report["wall"]
                self.assertEqual(sums["gpu"], total["ns"])
                self.assertEqual(sums.get("bytes", 0), total["bytes"] or 0)
                self.assertEqual(sums["exposed"], sum(w["compute_ns"] + w["exposed_communication_ns"] + w["exposed_copy_ns"] for w in wall))
                self.assertEqual(sums.get("idle", 0), sum(w["idle_ns"] for w in wall))

    def test_formats_hold_the_same(self) -> None:
        types = pprof(self.export(TRACE, "pb.gz"))
        self.assertEqual(tuple(types), WEIGHTS)
        for weight in WEIGHTS:
            folded: dict[str, int] = {}
            with open(self.export(TRACE, "folded", weight), encoding="utf-8") as f:
                for line in f:
                    stack, _, value = line.rstrip("\n").rpartition(" ")
                    folded[stack] = folded.get(stack, 0) + int(value)
            self.assertEqual(folded, types[weight], weight)
            with open(self.export(TRACE, "speedscope.json", weight), encoding="utf-8") as f:
                doc = json.load(f)
            if folded:
                profile = doc["profiles"][doc["activeProfileIndex"]]
                self.assertEqual((profile["name"], profile["endValue"], sum(profile["weights"])), (weight, sum(folded.values()), sum(folded.values())))
                self.assertLess(max(i for s in profile["samples"] for i in s), len(doc["shared"]["frames"]))

    def test_a_stack_is_what_was_open(self) -> None:
        events = [{"ph": "X", "cat": "user_annotation", "name": "a;b", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
                  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
                  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 5, "args": {"correlation": 1}},
                  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 40, "args": {"device": 0, "stream": 7, "correlation": 1}}]
        path = os.path.join(self.cwd, "t.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        with open(self.export(path, "folded"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "a:b;aten::mm;gemm 40000\n")
        with open(self.export(path, "folded", "host"), encoding="utf-8") as f:
            self.assertEqual(sorted(f), ["a:b 50000\n", "a:b;aten::mm 45000\n", "a:b;aten::mm;cudaLaunchKernel 5000\n"])

    def test_wrong_use(self) -> None:
        for args in (["-o", "x.folded", "--weight", "time"], ["-o", "x.pdf"], ["-o", "folded"], []):
            self.assertEqual(self.lpo("export", TRACE, *args).returncode, 2, args)
        self.assertEqual(glob.glob(os.path.join(self.cwd, "x.*")), [])

    def test_pprof_reads_it(self) -> None:
        go = shutil.which("go")
        if not go:
            self.skipTest("needs go tool pprof (Debian: golang-go)")
        done = subprocess.run([go, "tool", "pprof", "-top", "-sample_index=gpu", self.export(TRACE, "pb.gz")], capture_output=True, text=True, env={**os.environ, "HOME": self.cwd}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Type: gpu", done.stdout)


if __name__ == "__main__":
    tap.main()
