#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo export: stacks for other people's viewers. Their sums are those of the tables, in every format. Prints TAP."""
from __future__ import annotations

import glob
import gzip
import json
import os
import re
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
WEIGHTS = ("gpu", "exposed", "idle", "bytes", "host", "energy")
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

    def test_energy_is_power_over_the_exposed_time(self) -> None:
        """A run folder: 400 W, then rising to 600 W in a second; a kernel beside another counts where it is alone."""
        run, base = os.path.join(self.cwd, "run"), 1794725060000000000
        shutil.copytree(os.path.join(DATA, "runs", "h200_llama"), run)
        shutil.rmtree(os.path.join(run, "torch_profiler"))
        os.makedirs(os.path.join(run, "torch_profiler"))
        events = [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": stream, "ts": ts, "dur": dur, "args": {"device": 0, "stream": stream}}
                  for n, stream, ts, dur in (("a", 7, 0, 2000), ("b", 8, 1000, 2000), ("late", 7, 1500000, 1000))]
        with open(os.path.join(run, "torch_profiler", "rank0.trace.json"), "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "baseTimeNanoseconds": base, "deviceProperties": [{"id": 0, "name": "g"}], "traceEvents": events}, f)
        with open(os.path.join(run, "nvml", "samples.csv"), "w", encoding="utf-8") as f:
            f.write("unix_ns,gpu,power_mw\n" + "".join(f"{base + ms * 1000000},0,{mw}\n" for ms, mw in ((-500, 400000), (500, 400000), (1000, 400000), (2000, 600000))))
        with open(self.export(run, "folded", "energy"), encoding="utf-8") as f:
            self.assertEqual(sorted(f), ["a 800000\n", "b 400000\n", "late 500100\n"])
        os.unlink(os.path.join(run, "nvml", "samples.csv"))
        with open(self.export(run, "folded", "energy"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "")

    def test_a_file_is_no_more_than_some_ten_times_the_trace(self) -> None:
        """Chains 2,000 deep, and 20,000 names below one of 255 long ones: sums stay, depth and size are bounded."""
        def slices(names: list[tuple[str, int, int]]) -> list[dict]:
            return [{"ph": "X", "cat": "user_annotation", "name": n, "pid": 1, "tid": 1, "ts": ts, "dur": dur} for n, ts, dur in names]
        chains = slices([(f"c{c}-{d}", c * 10000 + d, 9000 - 2 * d) for c in range(20) for d in range(2000)])
        wide = slices([("n" * 300 + str(d), d, 3000000 - 2 * d) for d in range(255)] + [(f"leaf{i}", 1000 + i * 100, 50) for i in range(20000)])
        for name, events, host in (("chains", chains, 20 * 9000), ("wide", wide, 3000000)):
            path = os.path.join(self.cwd, name + ".json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "traceEvents": events}, f)
            for ending in ("folded", "speedscope.json", "pb.gz"):
                out = os.path.join(self.cwd, "x." + ending)
                done = self.lpo("export", path, "-o", out, "--weight", "host")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("at the frame around it", done.stderr)
                self.assertLess(os.path.getsize(out), 16 * os.path.getsize(path), (name, ending))
            with open(os.path.join(self.cwd, "x.folded"), encoding="utf-8") as f:
                lines = [line.rstrip("\n").rpartition(" ") for line in f]
            self.assertEqual(sum(int(value) for _, _, value in lines), host * 1000)
            self.assertLessEqual(max(stack.count(";") for stack, _, _ in lines), 256)

    def test_wrong_use(self) -> None:
        for args in (["-o", "x.folded", "--weight", "time"], ["-o", "x.pdf"], ["-o", "folded"], []):
            self.assertEqual(self.lpo("export", TRACE, *args).returncode, 2, args)
        self.assertEqual(glob.glob(os.path.join(self.cwd, "x.*")), [])

    def test_pprof_reads_it(self) -> None:
        """The total that pprof itself prints, of every weight."""
        pprof_words = [shutil.which("pprof")] if shutil.which("pprof") else [shutil.which("go"), "tool", "pprof"]
        if not pprof_words[0]:
            self.skipTest("needs go tool pprof (Debian: golang-go, 400 MB)")
        path = self.export(TRACE, "pb.gz")
        for weight, stacks in pprof(path).items():
            done = subprocess.run([*pprof_words, "-top", *([] if weight == "energy" else ["-unit=ns"]), "-sample_index=" + weight, path], capture_output=True, text=True, env={**os.environ, "HOME": self.cwd}, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"Type: {weight}\n", done.stdout)
            total = re.search(r" of (\d+)(ns|B|microjoules|) total", done.stdout)
            self.assertEqual(int(total[1]) if total else 0, sum(stacks.values()), done.stdout[:300])


if __name__ == "__main__":
    tap.main()
