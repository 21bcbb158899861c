#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ncu_rules` of report.json against a second reading: of reports by a walk over the bytes of Protocol Buffers, of details
pages by Python's csv, and both against each other where ncu printed the page of the same report. As TAP."""
import csv
import glob
import gzip
import io
import json
import math
import os
import re
import struct
import subprocess
import sys
from collections import defaultdict

KINDS = ["note", "info", "warning", "error", "advice"]
SPEEDUPS = [None, "local", "global"]


def varint(b, i):
    value = shift = 0
    while True:
        value |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return value, i


def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            value, i = varint(b, i)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, i = varint(b, i)
            value, i = b[i:i + size], i + size
        yield key >> 3, value


def first(b, number, default=None):
    return next((v for n, v in fields(b) if n == number), default)


def content(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        return f.read()


def plain(text):
    text = re.sub(r"@section:[^:@]*:([^@]*)@", r"\1", text)
    return re.sub(r"@url:([^:@]*):([^@]*)@", r"\1 (\2)", text)


def of_report(path):
    """[(kernel, section, rule, title, kind, text, speedup, percent)], in order."""
    b, at, out = content(path), 4, []
    at += 4 + struct.unpack_from("<I", b, at)[0]
    while at + 4 <= len(b):
        size = struct.unpack_from("<I", b, at)[0]
        header = b[at + 4:at + 4 + size]
        at += 4 + size
        end = at + first(header, 5, 0)
        for i in range(first(header, 1, 0) + first(header, 2, 0)):
            size = struct.unpack_from("<I", b, at)[0]
            message = b[at + 4:at + 4 + size]
            at += 4 + size
            if i < first(header, 1, 0):
                continue
            kernel = first(message, 7, b"").decode() or first(message, 6, b"").decode()
            for rule in (v for n, v in fields(message) if n == 19):
                for item in (v for n, v in fields(first(rule, 3, b"")) if n == 1):
                    words = first(item, 1)
                    speedup = first(item, 10, b"")
                    percent = first(speedup, 2)
                    out.append((kernel, first(rule, 4, b"").decode(), first(rule, 1).decode(), first(words, 4, b"").decode() or None,
                                KINDS[first(words, 2, 0)], plain(first(words, 1).decode()), SPEEDUPS[first(speedup, 1, 0)],
                                struct.unpack("<d", percent)[0] if percent else None))
        at = end
    return out


def of_page(path):
    lines = content(path).decode().splitlines(keepends=True)
    begin = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    out = []
    for r in csv.DictReader(io.StringIO("".join(lines[begin:]))):
        if r.get("Rule Description"):
            out.append((r["Kernel Name"], r["Section Name"], r["Rule Name"], None, {"INF": "info", "OPT": "advice", "WRN": "warning"}[
                r["Rule Type"]], r["Rule Description"], r["Estimated Speedup Type"] or None, float(r["Estimated Speedup"] or "nan")))
    return [(*r[:7], None if math.isnan(r[7]) else r[7]) for r in out]


def grouped(rules):
    """launches, the largest percent and its text, by kernel, section, rule, title, kind and speed-up."""
    sums = defaultdict(lambda: [0, None, None])
    for kernel, section, rule, title, kind, text, speedup, percent in rules:
        row = sums[kernel, section, rule, title or text, kind, speedup]
        row[0] += 1
        row[2] = row[2] or text
        if percent is not None and (row[1] is None or percent > row[1]):
            row[1], row[2] = percent, text
    return {k: tuple(v) for k, v in sums.items()}


def compare(lpo, path, want):
    done = subprocess.run([lpo, "report", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    doc = json.loads(done.stdout)
    got, times = {}, {k["name"]: k for k in doc["kernels"]}
    for r in doc.get("ncu_rules", []):
        key = (r["kernel"], r["section"], r["rule"], r["title"] or r["text"], r["kind"], r["speedup"])
        got[key] = (r["launches"], r["speedup_percent"], r["text"])
        if (r["speedup"] == "global") != (r["saving_ns"] is not None):
            return f"saving: {r}"
        if r["saving_ns"] is not None and not 0 < r["saving_ns"] <= r["gpu_ns"] * r["speedup_percent"] / 100 * (1 + 1e-12):
            return f"saving: {r}"
        if r["launches"] == times[r["kernel"]]["launches"] and r["gpu_ns"] != times[r["kernel"]]["gpu_ns"]:
            return f"time: {r}"
    if got != grouped(want):
        return f"want and got differ: {sorted(set(got.items()) ^ set(grouped(want).items()), key=str)[:2]}"
    return None


def main():
    lpo, root = os.environ["LPO_BIN"], os.environ["LPO_SOURCE_ROOT"]
    here, beside = os.path.join(root, "tests/data/ncu"), os.path.join(root, "../shared/data/ncu")
    cases = [(p, of_report) for d in (here, beside) for p in sorted(glob.glob(os.path.join(d, "*.ncu-rep.gz")))]
    cases += [(p, of_page) for d in (here, beside) for p in sorted(glob.glob(os.path.join(d, "*details.csv*")))]
    failed, seen, saved = 0, 0, 0
    print(f"1..{len(cases) + 2}")
    for i, (path, read) in enumerate(cases, 1):
        want = read(path)
        seen += len(want)
        saved += sum(r[7] is not None for r in want)
        why = compare(lpo, path, want)
        print(f"{'not ok' if why else 'ok'} {i} - {os.path.basename(path)}: {why[:900] if why else len(want)}")
        failed += bool(why)
    print(f"{'ok' if seen >= 40 and saved >= 2 else 'not ok'} {len(cases) + 1} - {seen} messages, {saved} with a speed-up")
    # what the page of a report prints is what the report holds: tests/data has the page of the first kernels
    page = of_page(os.path.join(here, "ranges_details.csv.gz"))
    report = [(*r[:3], None, *r[4:]) for r in of_report(os.path.join(here, "ranges_whole.ncu-rep.gz"))]
    same = page and page == report[:len(page)]
    print(f"{'ok' if same else 'not ok'} {len(cases) + 2} - {len(page)} messages of the page are those of the report")
    return 1 if failed or seen < 40 or saved < 2 or not same else 0


if __name__ == "__main__":
    sys.exit(main())
