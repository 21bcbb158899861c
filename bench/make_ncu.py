#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats the kernels of a real Nsight Compute report, as raw CSV and as .ncu-rep of the same
content, with the given number of rows and metrics. Sections and sources of the report are left
out: they would make the files very large.

    make_ncu.py REAL.ncu-rep[.gz] ITS_RAW.csv[.gz] OUT ROWS METRICS     writes OUT.csv, OUT.ncu-rep
"""
import csv
import gzip
import io
import os
import struct
import sys


def load(path):
    with (gzip.open(path) if path.endswith(".gz") else open(path, "rb")) as f:
        return f.read()


def varint(b, i):
    value = shift = 0
    while True:
        c = b[i]
        i += 1
        value |= (c & 127) << shift
        shift += 7
        if c < 128:
            return value, i


def coded(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def fields(b):
    """(number, value, its bytes with the key)"""
    i = 0
    while i < len(b):
        start = i
        key, i = varint(b, i)
        wire = key & 7
        if wire == 0:
            value, i = varint(b, i)
        else:
            n = {1: 8, 5: 4}.get(wire)
            if n is None:
                n, i = varint(b, i)
            value = b[i:i + n]
            i += n
        yield key >> 3, value, b[start:i]


def sized(message):
    return struct.pack("<I", len(message)) + message


def blocks(report):
    """Headers and the results behind them."""
    at = 8 + struct.unpack_from("<I", report, 4)[0]
    while at < len(report):
        n, = struct.unpack_from("<I", report, at)
        header = list(fields(report[at + 4:at + 4 + n]))
        at += 4 + n
        number = {f: v for f, v, _ in header if isinstance(v, int)}
        end = at + number.get(5, 0)
        for _ in range(number.get(1, 0)):
            at += 4 + struct.unpack_from("<I", report, at)[0]
        results = []
        for _ in range(number.get(2, 0)):
            n, = struct.unpack_from("<I", report, at)
            results.append(report[at + 4:at + 4 + n])
            at += 4 + n
        at = end
        yield header, results


def write_csv(out, rows, count, keep):
    """Quoted as ncu does it; only the ID changes from copy to copy."""
    def line(cells):
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
        return text.getvalue().encode()

    with open(out, "wb") as f:
        f.write(line([rows[0][i] for i in keep]))
        f.write(line([rows[1][i] for i in keep]))
        tails = [line([row[i] for i in keep])[len(f'"{row[0]}"'):] for row in rows[2:]]
        for n in range(count):
            f.write(b'"%d"' % n + tails[n % len(tails)])


def write_report(out, report, count, names):
    strings, results, process = [], [], b""
    for header, found in blocks(report):
        for number, value, raw in header:
            if number == 4:
                strings += [v.decode() for _, v, _ in fields(value)]
            if number == 6:
                process = raw
        results += found
    wanted = {i for i, s in enumerate(strings) if s in names}
    packed = []
    for result in results:
        parts = []
        for number, value, raw in fields(result):
            if number == 13:
                # name and total; the parts by instruction or opcode are not in the CSV
                kept = b"".join(r for f, _, r in fields(value) if f in (1, 2))
                if next(v for f, v, _ in fields(value) if f == 1) in wanted:
                    parts.append(b"\x6a" + coded(len(kept)) + kept)
            elif number not in (15, 17, 18, 19):
                parts.append(raw)
        packed.append(sized(b"".join(parts)))
    table = b"".join(b"\x0a" + coded(len(s)) + s.encode() for s in strings)
    with open(out, "wb") as f:
        f.write(report[:8 + struct.unpack_from("<I", report, 4)[0]])
        for n in range(count):
            payload = packed[n % len(packed)]
            header = b"\x10\x01" + process + b"\x28" + coded(len(payload))
            if n == 0:
                header += b"\x22" + coded(len(table)) + table
            f.write(sized(header) + payload)


def main():
    report, rows = load(sys.argv[1]), list(csv.reader(io.StringIO(load(sys.argv[2]).decode())))
    out, count, metrics = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    if os.path.exists(out + ".ncu-rep"):
        return
    first = rows[0].index("CC") + 1
    numeric = [i for i in range(first, len(rows[0])) if not rows[0][i].startswith("device__") and
               rows[2][i].replace(",", "").replace(".", "").isdigit()]
    duration = rows[0].index("gpu__time_duration.sum")
    step = max(1, len(numeric) // metrics)
    chosen = sorted(set([duration] + numeric[::step][:metrics - 1]))
    write_csv(out + ".csv", rows, count, list(range(first)) + chosen)
    write_report(out + ".ncu-rep", report, count, {rows[0][i] for i in chosen})


if __name__ == "__main__":
    main()
