#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second, independent reader and writer of .lpoc files, made from docs/counters-format.md alone.

    lpoc.py FILE                     prints what is in it
    lpoc.py --from-csv IN.csv[.gz] OUT.lpoc    start,end,METRIC… in, one row each, as tests/gpu/counters.sh leaves them
"""
import csv
import gzip
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from lpot import Cursor, crc32c  # noqa: E402

FACTS, METRICS, SAMPLES, LOSS, NOTE, END, INTERVAL = 1, 2, 3, 4, 5, 6, 7
AMOUNT, SHARE = 1, 2
MEANINGS = {  # by CUPTI's name: meaning, kind, scale, unit
    "dram__bytes_read.sum": (1, AMOUNT, 1, "byte"),
    "dram__bytes_write.sum": (2, AMOUNT, 1, "byte"),
    "sm__cycles_active.avg": (12, AMOUNT, 1000, "cycle"),
    "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed": (9, SHARE, 10000, "%"),
}


def v(value):
    out = bytearray()
    while value >= 0x80:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    out.append(value)
    return bytes(out)


def z(value):
    return v(value * 2 if value >= 0 else -value * 2 - 1)


def text(value):
    data = value.encode()
    return v(len(data)) + data


def block(kind, payload, sequence=0, ns=0):
    head = struct.pack("<IHHI", 0x424F504C, kind, 0, len(payload))
    rest = struct.pack("<IIQQ", 0, sequence, 0, ns)
    return head + struct.pack("<I", crc32c(head + rest + payload)) + rest + payload


def preamble(major=1):
    return b"LPOCOUNT" + struct.pack("<HHI", major, 0, 0)


def facts(pairs):
    return block(FACTS, b"".join(text(k) + text(value) for k, value in pairs.items()))


def metrics(rows):
    """Rows of (name, meaning, kind, scale, unit)."""
    return block(METRICS, v(len(rows)) + b"".join(
        text(name) + v(meaning) + v(kind) + v(scale) + text(unit) for name, meaning, kind, scale, unit in rows))


def samples(rows, scales):
    """Rows of (start, end, [value or None])."""
    out, last = bytearray(v(len(rows))), 0
    for start, end, values in rows:
        out += z(start - last) + v(end - start)
        for value, scale in zip(values, scales):
            out += v(0 if value is None else 1 + math.floor(value * scale + 0.5))
        last = end
    return block(SAMPLES, bytes(out))


def loss(start, end, count, why, words=""):
    return block(LOSS, v(start) + v(end - start) + v(count) + v(why) + text(words))


def note(words):
    return block(NOTE, v(0) + text(words))


def interval(start, interval_ns, round_ns):
    return block(INTERVAL, v(start) + v(interval_ns) + v(round_ns))


def end(totals):
    return block(END, b"".join(v(k) + v(value) for k, value in totals.items()))


def read(data, check=True):
    """Facts, metrics, and a list of ("sample", start, end, values), ("loss", …), ("note", …), ("interval", …),
    ("end", …)."""
    if data[:8] != b"LPOCOUNT":
        raise ValueError("not a .lpoc file")
    at, out_facts, out_metrics, items = 16, {}, [], []
    while at + 40 <= len(data):
        magic, kind, _, size, crc = struct.unpack_from("<IHHII", data, at)
        payload = data[at + 40:at + 40 + size]
        if magic != 0x424F504C or len(payload) < size:
            break
        if check and crc != crc32c(data[at:at + 12] + data[at + 16:at + 40 + size]):  # slow: 1 MB/s
            break
        at += 40 + size
        c = Cursor(payload)
        if kind == FACTS:
            while c.more():
                key = c.take(c.v()).decode()
                out_facts[key] = c.take(c.v()).decode()
        elif kind == METRICS:
            for _ in range(c.v()):
                name = c.take(c.v()).decode()
                row = [name, c.v(), c.v(), c.v()]
                out_metrics.append((*row, c.take(c.v()).decode()))
        elif kind == SAMPLES:
            last = 0
            for _ in range(c.v()):
                start = last + c.z()
                last = start + c.v()
                stored = [c.v() for _ in out_metrics]
                values = [(n - 1) / m[3] if n else None for n, m in zip(stored, out_metrics)]
                items.append(("sample", start, last, values))
        elif kind == LOSS:
            start = c.v()
            items.append(("loss", start, start + c.v(), c.v(), c.v()))
        elif kind == NOTE:
            c.v()
            items.append(("note", c.take(c.v()).decode()))
        elif kind == INTERVAL:
            items.append(("interval", c.v(), c.v(), c.v()))
        elif kind == END:
            totals = {}
            while c.more():
                key = c.v()
                totals[key] = c.v()
            items.append(("end", totals))
    return out_facts, out_metrics, items


def from_csv(source, target):
    with gzip.open(source, "rt") if source.endswith(".gz") else open(source, encoding="utf-8") as f:
        lines = [line for line in f if not line.startswith("#")]
    rows = csv.reader(lines)
    names = next(rows)[2:]
    known = [(name, *MEANINGS.get(name, (0, AMOUNT, 1000, ""))) for name in names]
    scales = [m[3] for m in known]
    next(rows)  # the record of the time before sampling began
    with open(target, "wb") as out:
        out.write(preamble() + facts({"clock": "realtime", "interval_ns": "50000", "chip": "GH100"}) + metrics(known))
        batch = []
        for row in rows:
            batch.append((int(row[0]), int(row[1]), [float(x) for x in row[2:]]))
            if len(batch) == 4096:
                out.write(samples(batch, scales))
                batch = []
        if batch:
            out.write(samples(batch, scales))
        out.write(end({6: 1}))


def main(words):
    if len(words) == 3 and words[0] == "--from-csv":
        from_csv(words[1], words[2])
        return
    with gzip.open(words[0]) if words[0].endswith(".gz") else open(words[0], "rb") as f:
        about, names, items = read(f.read())
    for key, value in about.items():
        print(f"# {key}: {value}")
    for metric in names:
        print("# metric", *metric)
    for item in items:
        print(*item)


if __name__ == "__main__":
    main(sys.argv[1:])
