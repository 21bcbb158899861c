#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XLA's own profiles (.xplane.pb): equal to the JSON that XProf would make of the same events, written here as both; and public
ones by a second reading of the protobuf. Prints TAP."""
from __future__ import annotations

import collections
import glob
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
REAL = sorted(glob.glob(os.path.join(HERE, "..", "..", "..", "shared", "data", "traces", "xplane", "*.pb")))


def varint(n: int) -> bytes:
    out = b""
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(b: bytes):
    at = 0

    def number() -> int:
        nonlocal at
        n = shift = 0
        while True:
            c = b[at]
            at += 1
            n |= (c & 127) << shift
            shift += 7
            if c < 128:
                return n
    while at < len(b):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 2:
            size = number()
            yield key >> 3, b[at:at + size]
            at += size
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, b[at:at + size]
            at += size


# plane -> line -> (start us, length us, name, stats); texts are references in the profile, as XLA writes them
STEP = {"hlo_module": "jit_step", "tf_op": "XlaModule:", "kernel_details": " grid:8,2,1 block:128,1,1 regs:40 static_shared:512 dynamic_shared:0"}
EVENTS = {
    "/device:GPU:0": {(14, "Stream #14(Kernel)"): [
        (100.125, 10.5, "gemm.kd", STEP | {"hlo_op": "dot.3", "name": "jit(step)/attn/dot_general", "correlation_id": 11}),
        (120.0, 4.25, "fusion.kd", STEP | {"hlo_op": "fusion.1", "name": "jit(step)/mlp/add", "correlation_id": 12}),
        (130.0, 3.0, "MemcpyH2D", {"memcpy_details": "kind_src:pinned kind_dst:device size:4096 dest:0 async:1", "correlation_id": 13})]},
    "/host:CPU": {(7, "python3"): [
        (90.0, 2.0, "cuLaunchKernel", {"correlation_id": 11}), (95.0, 1.5, "cuLaunchKernel", {"correlation_id": 12}),
        (97.0, 1.5, "cuMemcpyHtoDAsync", {"correlation_id": 13}), (80.0, 60.0, "train", {"step_num": 4})]},
}


def xplane(counted: bool = False) -> bytes:
    space = b""
    for pid, (plane, lines) in enumerate(EVENTS.items()):
        stats: dict[str, int] = {}
        kinds: dict[str, int] = {}
        body = b""
        for (tid, label), events in lines.items():
            line = field(1, tid) + field(2, label) + field(3, 1000)
            for start, length, name, args in events:
                event = field(1, kinds.setdefault(name, len(kinds) + 1)) + field(2, round((start - 1) * 1e6)) + field(3, round(length * 1e6))
                for key, value in args.items():
                    stat = field(1, stats.setdefault(key, len(stats) + 1))
                    stat += field(7, stats.setdefault(value, len(stats) + 1)) if isinstance(value, str) else field(3, value)
                    event += field(4, stat)
                if counted and name.endswith(".kd"):
                    event += field(4, field(1, stats.setdefault("flops", len(stats) + 1)) + field(2, 2.5e6))
                line += field(4, event)
            body += field(3, line)
        for number, names in ((4, kinds), (5, stats)):
            for name, key in names.items():
                body += field(number, field(1, key) + field(2, field(1, key) + field(2, name)))
        space += field(1, (field(1, pid) if pid else b"") + field(2, plane) + body)
    return space


def chrome() -> bytes:
    events = []
    for pid, (plane, lines) in enumerate(EVENTS.items()):
        events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": plane}})
        for (tid, label), of_line in lines.items():
            events.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": label}})
            events += [{"ph": "X", "pid": pid, "tid": tid, "ts": start, "dur": length, "name": name,
                        "args": {k: str(v) for k, v in args.items()}} for start, length, name, args in of_line]
    return gzip.compress(json.dumps({"traceEvents": events}).encode())


class Profiles(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def file(self, name: str, content: bytes) -> str:
        path = os.path.join(self.dir.name, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def ask(self, command: str, path: str) -> dict:
        done = subprocess.run([LPO, command, path, "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_equal_to_the_json_of_the_same_events(self) -> None:
        one, other = self.file("host.xplane.pb", xplane()), self.file("other.trace.json.gz", chrome())
        for command in ("top", "regions"):
            self.assertEqual(self.ask(command, one), self.ask(command, other))
        self.assertEqual({k["name"]: k["gpu_ns"] for k in self.ask("top", one)["kernels"]}, {"gemm.kd": 10500, "fusion.kd": 4250})

    def test_a_folder_as_jax_leaves_it(self) -> None:
        one = self.file("host.xplane.pb", xplane())
        self.file("host.trace.json.gz", chrome())
        self.file("perfetto_trace.json.gz", chrome())
        self.assertEqual(self.ask("top", self.dir.name)["kernels"], self.ask("top", one)["kernels"])

    def test_what_xla_counted(self) -> None:
        regions = self.ask("regions", self.file("host.xplane.pb", xplane(counted=True)))["scopes"][0]["regions"]
        module = next(r for r in regions if r["path"].endswith("jit_step"))
        self.assertEqual(module["metrics"]["xla__flops.sum"]["value"], 5e6)

    def test_cut_and_changed(self) -> None:
        whole, pick = xplane(), random.Random(36)
        for at in range(40, len(whole), 37):
            subprocess.run([LPO, "regions", self.file("x.pb", whole[:at])], capture_output=True, timeout=60)
        for _ in range(80):
            content = bytearray(whole)
            for _ in range(pick.randint(1, 12)):
                content[pick.randrange(30, len(content))] = pick.randrange(256)
            done = subprocess.run([LPO, "regions", self.file("x.pb", bytes(content))], capture_output=True, text=True, timeout=60)
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)

    @unittest.skipUnless(REAL, "needs ../shared/data/traces/xplane")
    def test_public_profiles(self) -> None:
        for path in REAL:
            with self.subTest(path=os.path.basename(path)):
                want: dict[str, int] = collections.defaultdict(int)
                with open(path, "rb") as f:
                    planes = [dict_of(p) for n, p in fields(f.read()) if n == 1]
                for plane in planes:
                    if not plane[2] or not plane[2][0].startswith(b"/device:GPU:"):
                        continue
                    kinds = {}
                    for entry in plane[4]:
                        meta = dict_of(dict_of(entry)[2][0])
                        kinds[meta[1][0]] = meta[2][0].decode()
                    for line in plane[3]:
                        for event in dict_of(line)[4]:
                            e = dict_of(event)
                            want[kinds[e[1][0]]] += e[3][0] // 1000
                got = {k["name"]: k["gpu_ns"] for k in self.ask("top", path)["kernels"]}
                self.assertEqual(sum(got.values()), sum(want.values()))
                self.assertEqual(len(got), len(want))


def dict_of(message: bytes) -> dict:
    out: dict = collections.defaultdict(list)
    for number, value in fields(message):
        out[number].append(value)
    return out


if __name__ == "__main__":
    tap.main()
