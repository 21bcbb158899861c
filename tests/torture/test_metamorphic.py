#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces changed in a way whose effect is known: the sums must follow, to the nanosecond.

    shift    all times moved together: nothing changes
    shuffle  rows, events or blocks in another order, where their order means nothing: nothing changes
    split    the kernels dealt out to two files, of two processes: together they are what the one was
    double   everything once more, later: every sum is twice what it was, the least and the largest stay
    merge    two traces of different programs read together: each kernel's sums add up

`lpo top --json` and `lpo regions --json` are compared. The short form takes small files and one seed; LPO_TORTURE=long takes every
file of tests/data and LPO_SEEDS (10) seeds.
"""
from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pathlib
import random
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap  # noqa: E402
from mutants import DATA, blocks, join_blocks, plain  # noqa: E402

LPO = os.environ.get("LPO_TORTURE_BIN") or os.environ["LPO_BIN"]
LONG = os.environ.get("LPO_TORTURE") == "long"
SEEDS = int(os.environ.get("LPO_SEEDS", 10 if LONG else 1))
FILES = {
    "kineto": ["a100_triton_kernel.json.gz", "mi250_train.json.gz"],
    "nsys": ["h200_ranges.sqlite.gz", "a100_old.sqlite.gz"],
    "ncu": ["ranges_raw.csv.gz"],
    "native": ["toy.lpot", "toy_graph.lpot", "llava.lpot"],
}
LONG_FILES = {
    "kineto": [p.name for p in sorted((DATA / "kineto").glob("*.json.gz")) if "memory" not in p.name],  # that one has no events of this kind
    "nsys": [p.name for p in sorted((DATA / "nsys").glob("*.sqlite.gz"))],
    "ncu": ["ranges_raw.csv.gz", "llm_light_raw.csv.gz", "llm_roof_raw.csv.gz", "forms_raw.csv.gz"],
    "native": [p.name for p in sorted((DATA / "native").glob("*.lpot"))],
}
SHIFT_S = 86_400  # a day


class Answer:
    """What lpo says about some files: kernels by name, regions by path."""

    def __init__(self, *files: str) -> None:
        self.kernels = {k["name"]: (k["launches"], k["gpu_ns"], k["min_ns"], k["max_ns"]) for k in self.ask("top", files)["kernels"]}
        scope = next(s for s in self.ask("regions", files)["scopes"] if s["scope"] == "aggregate")
        self.total = scope["gpu_ns"], scope["launches"]
        self.regions = {(r["path"], r["kind"]): r for r in scope["regions"]}

    @staticmethod
    def ask(command: str, files: tuple[str, ...]) -> dict:
        done = subprocess.run([LPO, command, *files, "--json"], capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise AssertionError(f"lpo {command} {files}: {done.stderr}")
        return json.loads(done.stdout)

    def paths(self, members: list[str], times: int = 1) -> dict:
        """The given members of every region, and the sums of its kernels, each multiplied."""
        def number(v):
            return v * times if v is not None else None
        return {key: [number(r[m]) for m in members] + [sorted((k["name"], number(k["launches"]), number(k["gpu_ns"])) for k in r["kernels"])]
                for key, r in self.regions.items()}


GPU = ["launches", "gpu_ns_inclusive", "gpu_ns_exclusive"]
ALL = ["visits", "host_ns", *GPU]


# Kineto: numbers keep their digits ------------------------------------------------------------------------------------------

def read_kineto(data: bytes) -> dict:
    return json.loads(data, parse_float=lambda s: f"@@{s}@@")


def number(value) -> Decimal:
    return Decimal(value.strip("@")) if isinstance(value, str) else Decimal(value)


def write_kineto(root, path: str) -> str:
    pathlib.Path(path).write_text(re.sub(r'"@@([^"]*)@@"', r"\1", json.dumps(root)), encoding="utf-8")
    return path


def events(root) -> list:
    return root["traceEvents"] if isinstance(root, dict) else root


def moved(event: dict, by: Decimal) -> dict:
    return event | {"ts": f"@@{number(event['ts']) + by}@@"} if "ts" in event else event


class Kineto:
    name, folder = "x.json", "kineto"

    def shift(self, data, r, path):
        root = read_kineto(data)
        events(root)[:] = [moved(e, Decimal(SHIFT_S * 10**6)) for e in events(root)]
        return [write_kineto(root, path)]

    def shuffle(self, data, r, path):
        root = read_kineto(data)
        r.shuffle(events(root))
        return [write_kineto(root, path)]

    def split(self, data, r, path):
        root = read_kineto(data)
        kernels = [i for i, e in enumerate(events(root)) if e.get("cat") == "kernel"]
        first, out = set(r.sample(kernels, len(kernels) // 2)), []
        for part, mine in enumerate((first, set(kernels) - first)):
            others = set(kernels) - mine
            some = [e | {"pid": e["pid"] + part * 10**6} if isinstance(e.get("pid"), int) and e["pid"] > 1000 else e
                    for i, e in enumerate(events(root)) if i not in others]
            out.append(write_kineto(root | {"traceEvents": some} if isinstance(root, dict) else some, f"{path}.{part}.json"))
        return out

    def double(self, data, r, path):
        root = read_kineto(data)
        timed = [e for e in events(root) if "ts" in e and e.get("ph") == "X"]
        late = max(number(e["ts"]) + number(e.get("dur", 0)) for e in timed) - min(number(e["ts"]) for e in timed) + 10**6
        more = []
        for e in events(root):
            if "ts" not in e:
                continue
            e = moved(e, late)
            args = {k: v + 10**7 if k in ("correlation", "External id", "External Id", "external id") and isinstance(v, int) and v > 0 else v
                    for k, v in e.get("args", {}).items()} if isinstance(e.get("args"), dict) else None
            e |= {"args": args} if args is not None else {}
            more.append(e | ({"id": e["id"] + 10**7} if isinstance(e.get("id"), int) else {}))
        events(root).extend(more)
        return [write_kineto(root, path)]


# nsys: rows of SQLite -------------------------------------------------------------------------------------------------------

class Nsys:
    name, folder = "x.sqlite", "nsys"

    @staticmethod
    def open(data: bytes, path: str) -> sqlite3.Connection:
        pathlib.Path(path).write_bytes(data)
        db = sqlite3.connect(path)
        db.text_factory = bytes
        return db

    @staticmethod
    def tables(db) -> dict[str, list[str]]:
        names = [n.decode() for n, in db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
        return {n: [c[1].decode() for c in db.execute(f'pragma table_info("{n}")')] for n in names}

    def timed(self, db) -> dict[str, list[str]]:
        return {t: c for t, c in self.tables(db).items() if "start" in c and (t.startswith("CUPTI") or t.startswith("NVTX"))}

    def shift(self, data, r, path):
        with self.open(data, path) as db:
            for table, columns in self.timed(db).items():
                for column in {"start", "end"} & set(columns):
                    db.execute(f'update "{table}" set "{column}" = "{column}" + ? where "{column}" is not null', (SHIFT_S * 10**9,))
        return [path]

    def shuffle(self, data, r, path):
        with self.open(data, path) as db:
            for table, columns in self.tables(db).items():
                rows = db.execute(f'select * from "{table}"').fetchall()
                r.shuffle(rows)
                db.execute(f'delete from "{table}"')
                db.executemany(f'insert into "{table}" values ({", ".join("?" * len(columns))})', rows)
        return [path]

    def split(self, data, r, path):
        out = [f"{path}.{i}.sqlite" for i in (0, 1)]
        for part in (0, 1):
            with self.open(data, out[part]) as db:
                db.execute("delete from CUPTI_ACTIVITY_KIND_KERNEL where rowid % 2 = ?", (part,))
                for table, columns in self.tables(db).items():
                    for column in {"globalTid", "globalPid"} & set(columns):
                        db.execute(f'update "{table}" set "{column}" = "{column}" + ?', (part * 7 << 24,))
        return out

    def double(self, data, r, path):
        with self.open(data, path) as db:
            tables = self.timed(db)
            ends = [db.execute(f'select max(max("start"), max(ifnull("end", "start"))), min("start") from "{t}"').fetchone() for t in tables]
            late = max(e for e, _ in ends if e is not None) - min(s for _, s in ends if s is not None) + 10**9
            for table, columns in tables.items():
                change = {"start": f'"start" + {late}', "end": f'"end" + {late}', "correlationId": '"correlationId" + 10000000',
                          "rangeId": '"rangeId" + 10000000'}
                picked = ", ".join(change.get(c, f'"{c}"') for c in columns)
                db.execute(f'insert into "{table}" select {picked} from "{table}"')
        return [path]


# ncu: rows of CSV -----------------------------------------------------------------------------------------------------------

class Ncu:
    name, folder = "x.csv", "ncu"

    @staticmethod
    def write(path: str, rows: list[list[str]]) -> str:
        with open(path, "w", encoding="utf-8", newline="") as f:
            csv.writer(f, quoting=csv.QUOTE_ALL).writerows(rows)
        return path

    @staticmethod
    def read(data: bytes) -> tuple[list, list]:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8"))))
        return rows[:2], rows[2:]  # names and units

    shift = None  # this table has no times of its own

    def shuffle(self, data, r, path):
        head, rows = self.read(data)
        r.shuffle(rows)
        return [self.write(path, head + rows)]

    def split(self, data, r, path):
        head, rows = self.read(data)
        return [self.write(f"{path}.{part}.csv", head + rows[part::2]) for part in (0, 1)]

    def double(self, data, r, path):
        head, rows = self.read(data)
        number = head[0].index("ID")
        more = [row[:number] + [str(int(row[number]) + len(rows))] + row[number + 1:] for row in rows]
        return [self.write(path, head + rows + more)]


# Our own format -------------------------------------------------------------------------------------------------------------

def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def to_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def unzigzag(value: int) -> int:
    return value >> 1 if not value & 1 else -(value + 1 >> 1)


def move_first_start(payload: bytes, by: int) -> bytes | None:
    """GPU times are differences from the one before: the first carries the rest. None: no time here."""
    at = 0
    while at < len(payload):
        tag, at = payload[at], at + 1
        kind = tag & 0x0f
        skip = {1: 3, 2: 12, 3: 1, 4: 1, 5: 1, 6: 1, 7: 2}[kind]
        for _ in range(skip):
            _, at = varint(payload, at)
        if kind in (1, 2):
            continue
        at += {4: 3, 5: 3, 6: 1}.get(kind, 0)
        for _ in range({4: 1, 5: 3, 6: 2}.get(kind, 0)):
            _, at = varint(payload, at)
        if not tag & 0x20:
            start, end = varint(payload, at)
            return payload[:at] + to_varint(zigzag(unzigzag(start) + by)) + payload[end:]
        _, at = varint(payload, at)  # correlation
        for _ in range(2 if tag & 0x10 and kind != 7 else 0):
            _, at = varint(payload, at)
    return None


class Native:
    name, folder = "x.lpot", "native"

    def shift(self, data, r, path):
        parts, done = [], False
        for head, payload in blocks(data):
            steady = struct.unpack_from("<Q", head, 32)[0] + SHIFT_S * 10**9
            if struct.unpack_from("<H", head, 4)[0] == 4 and not done:
                changed = move_first_start(payload, SHIFT_S * 10**9)
                done, payload = changed is not None, changed or payload
            parts.append((head[:32] + struct.pack("<Q", steady), payload))
        pathlib.Path(path).write_bytes(join_blocks(data[:16], parts))
        return [path]

    def shuffle(self, data, r, path):
        """Threads and the GPU write on their own: their blocks may stand in any order that keeps each one's own."""
        lanes, first, last = defaultdict(list), [], []
        for head, payload in blocks(data):
            kind, stream = struct.unpack_from("<H", head, 4)[0], struct.unpack_from("<I", head, 16)[0]
            (first if kind in (1, 2) else last if kind not in (3, 4) else lanes[kind, stream]).append((head, payload))
        mixed, queues = [], [lane[::-1] for lane in lanes.values()]
        while queues:
            queue = r.choice(queues)
            mixed.append(queue.pop())
            queues = [q for q in queues if q]
        pathlib.Path(path).write_bytes(join_blocks(data[:16], first + mixed + last))
        return [path]

    split = None  # a process writes one file

    def double(self, data, r, path):
        """The same program once more, under another number."""
        parts = []
        for head, payload in blocks(data):
            if struct.unpack_from("<H", head, 4)[0] == 1:
                payload = re.sub(rb"\x03pid(.)(\d+)", lambda m: b"\x03pid" + m[1] + (m[2][:-1] + str((int(m[2][-1:]) + 1) % 10).encode()), payload, count=1,
                                 flags=re.DOTALL)
            parts.append((head, payload))
        for p, b in ((f"{path}.0.lpot", data), (f"{path}.1.lpot", join_blocks(data[:16], parts))):
            pathlib.Path(p).write_bytes(b)
        return [f"{path}.0.lpot", f"{path}.1.lpot"]


class Metamorphic(unittest.TestCase):
    maxDiff = 4000
    pairs = 0

    def setUp(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-metamorphic-")

    def tearDown(self) -> None:
        self.temp.cleanup()

    def each(self, source, what: str):
        """Every file of a source, as it is and changed: (name, answer, files)."""
        if getattr(source, what) is None:
            self.skipTest(f"{source.folder} has no {what}")
        for name in (LONG_FILES if LONG else FILES)[source.folder]:
            data = plain(DATA / source.folder / name)
            whole = os.path.join(self.temp.name, source.name)
            pathlib.Path(whole).write_bytes(data)
            before = Answer(whole)
            for seed in range(SEEDS if what in ("shuffle", "split") else 1):
                files = getattr(source, what)(data, random.Random(seed), os.path.join(self.temp.name, "changed-" + source.name))
                Metamorphic.pairs += 1
                yield f"{name}, seed {seed}", before, Answer(*files)

    def same(self, source, what: str) -> None:
        for name, before, after in self.each(source, what):
            self.assertEqual(after.kernels, before.kernels, name)
            self.assertEqual(after.total, before.total, name)
            self.assertEqual(after.paths(ALL), before.paths(ALL), name)

    def check_shift(self, source) -> None:
        self.same(source, "shift")

    def check_shuffle(self, source) -> None:
        self.same(source, "shuffle")

    def check_split(self, source) -> None:
        for name, before, after in self.each(source, "split"):
            self.assertEqual(after.kernels, before.kernels, name)
            kernels = {key: rows[-1] for key, rows in before.paths(GPU).items()}
            self.assertEqual({key: rows[-1] for key, rows in after.paths(GPU).items()}, kernels, name)

    def check_double(self, source) -> None:
        for name, before, after in self.each(source, "double"):
            self.assertEqual(after.kernels, {k: (2 * n if n is not None else n, 2 * ns if ns is not None else ns, low, high)
                                             for k, (n, ns, low, high) in before.kernels.items()}, name)
            self.assertEqual(after.total, tuple(2 * v for v in before.total), name)
            self.assertEqual(after.paths(ALL), before.paths(ALL, 2), name)

    def test_merge(self):
        """merge: files of different programs add up"""
        for folder, pair in (("kineto", ["a100_triton_kernel.json.gz", "mi250_train.json.gz"]), ("native", ["toy_graph.lpot", "llava.lpot"]),
                             ("nsys", ["h200_ranges.sqlite.gz", "a100_old.sqlite.gz"])):
            files = [str(DATA / folder / p) for p in pair]
            Metamorphic.pairs += 1
            want = defaultdict(lambda: [0, 0])
            for file in files:
                for name, (launches, ns, _, _) in Answer(file).kernels.items():
                    want[name][0] += launches
                    want[name][1] += ns
            self.assertEqual({n: [k[0], k[1]] for n, k in Answer(*files).kernels.items()}, dict(want), folder)

    @classmethod
    def tearDownClass(cls) -> None:
        print(f"# {cls.pairs} pairs compared", flush=True)


for _source in (Kineto(), Nsys(), Ncu(), Native()):
    for _what in ("shift", "shuffle", "split", "double"):
        def _test(self, source=_source, what=_what):
            getattr(self, f"check_{what}")(source)
        _test.__doc__ = f"{_what}: {_source.folder}"
        setattr(Metamorphic, f"test_{_source.folder}_{_what}", _test)

if __name__ == "__main__":
    tap.main()
