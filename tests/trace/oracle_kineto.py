#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a Kineto trace holds, worked out a second way: the whole JSON in memory, decimals as text,
the definitions of the design page word by word. Slow, and written without looking at the reader.

    oracle_kineto.py               the test: every file of tests/data, and the traces of public projects where
                                   ../shared/data/traces is here, as TAP
    oracle_kineto.py FILE          the sums of one file as JSON
"""
import bisect
import glob
import gzip
import json
import os
import subprocess
import sys
from collections import defaultdict
from decimal import Decimal

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from amount import some_traces  # noqa: E402

WORK = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set", "memcpy": "copy", "memset": "set"}
CALLS = {"cuda_runtime", "cuda_driver", "runtime", "driver"}
OPS = {"cpu_op", "operator"}


def load(path):
    with open(path, "rb") as f:
        magic = f.read(2)
    with (gzip.open if magic == b"\x1f\x8b" else open)(path, "rb") as f:
        text = f.read().decode("utf-8", "replace")
    return json.loads(text, strict=False, parse_float=Decimal, parse_int=int)


def ns(us):
    return int((Decimal(us) * 1000).to_integral_value())


def number(v):
    """pid, tid, stream: numbers, or numbers in quotes."""
    return int(v) if isinstance(v, int) or str(v).lstrip("-").isdigit() else v


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total, end = total + (b - a), b
        elif b > end:
            total, end = total + (b - end), b
    return total


def innermost(ops, highest, start, end, before):
    """The operator, among the first `before` in order of start, that holds [start, end] and began last."""
    for i in range(before - 1, -1, -1):
        if highest[i] < end:
            return None  # nothing up to here ends late enough
        if ops[i][1] >= end and ops[i][0] <= start:
            return i
    return None


def operators(ops, works, calls):
    """ops: [name, shapes, start, end, tid, pid, types]; the table by name, shapes and types."""
    table = defaultdict(lambda: [0, 0, 0, 0, 0, defaultdict(lambda: [0, 0])])
    threads, launches = defaultdict(list), defaultdict(list)
    outside = without = 0

    def key(n):
        return ops[n][0], ops[n][1], ops[n][6]

    for n, (name, shapes, start, end, tid, pid, types) in enumerate(ops):
        threads[pid, tid].append((start, end, n))
    for kind, name, device, stream, start, end, corr, size in works:
        call = calls.get(corr)
        if call:
            launches[call[2], call[3]].append((call[0], -call[1], name, end - start))
        else:
            without += end - start
    for thread in set(threads) | set(launches):
        mine = sorted(threads[thread], key=lambda o: (o[0], -o[1], o[2]))
        starts, highest = [o[0] for o in mine], []
        for o in mine:
            highest.append(max(o[1], highest[-1] if highest else o[1]))
        parents, gpu, inside = [], [0] * len(mine), [[] for _ in mine]
        for i, (start, end, n) in enumerate(mine):
            parent = innermost(mine, highest, start, end, i)
            parents.append(parent)
            if parent is not None:
                inside[parent].append((start, end))
        for a, b, kernel, ns_ in launches[thread]:
            at = innermost(mine, highest, a, b, bisect.bisect_right(starts, a))
            if at is None:
                outside += ns_
                continue
            row = table[key(mine[at][2])]
            row[4] += ns_
            row[5][kernel][0] += 1
            row[5][kernel][1] += ns_
            while at is not None:
                gpu[at] += ns_
                at = parents[at]
        for i, (start, end, n) in enumerate(mine):
            row = table[key(n)]
            row[0] += 1
            row[1] += end - start
            row[2] += end - start - union(inside[i])
            row[3] += gpu[i]
    rows = [[k[0], k[1] or "", k[2] or "", *v[:5], sorted([n, *c] for n, c in v[5].items())] for k, v in table.items()]
    return sorted(rows), outside, without


def events(path):
    """works, calls by correlation id, ranges, operators, rank."""
    doc = load(path)
    facts = doc if isinstance(doc, dict) else {}
    base = int(facts.get("baseTimeNanoseconds", 0))
    rank = int(facts.get("distributedInfo", {}).get("rank", -1))
    works, calls, ranges, ops = [], {}, [], []
    for e in doc["traceEvents"] if isinstance(doc, dict) else doc:
        if e.get("ph") != "X":
            continue
        cat = str(e.get("cat", "")).lower()
        start = base + ns(e["ts"])
        end = start + ns(e.get("dur", 0))
        args = e.get("args", {})
        if cat in WORK:
            works.append((WORK[cat], e["name"], int(args.get("device", e["pid"])),
                          int(args.get("stream", number(e["tid"]))), start, end,
                          args.get("correlation"), int(args.get("bytes", 0))))
        elif cat in CALLS and "correlation" in args:
            call = (start, -end, number(e["pid"]), number(e["tid"]), e["name"])
            known = calls.get(args["correlation"])
            calls[args["correlation"]] = min(known, call) if known else call
        elif cat in OPS:
            dims = args.get("Input Dims", args.get("Input dims"))
            shapes, types = (None if v is None else json.dumps(v, separators=(",", ":"))
                             for v in (dims, args.get("Input type")))
            ops.append([e["name"], shapes, start, end, number(e["tid"]), number(e["pid"]), types])
        elif cat == "user_annotation":
            ranges.append((e["name"], number(e["pid"]), number(e["tid"]), start, end))
    return works, calls, ranges, ops, rank


def kernel_sums(works):
    kernels = defaultdict(lambda: [0, 0])
    for kind, name, device, stream, start, end, corr, size in works:
        if kind == "kernel":
            kernels[name][0] += 1
            kernels[name][1] += end - start
    return [[k, *v] for k, v in kernels.items()]


def sums(path):
    works, calls, ranges, ops, rank = events(path)
    streams = defaultdict(list)
    for kind, name, device, stream, start, end, corr, size in works:
        streams[rank, device, stream].append((start, end, size))
    by_thread = defaultdict(list)
    for kind, name, device, stream, start, end, corr, size in works:
        call = calls.get(corr)
        if kind == "kernel" and call:
            by_thread[call[2], call[3]].append((call[0], -call[1], end - start))
    rows = []
    for name, pid, tid, start, end in ranges:
        inside = [d for a, b, d in by_thread[pid, tid] if a >= start and b <= end]
        rows.append([name, pid, tid, start, end, len(inside), sum(inside)])
    table, outside, without = operators(ops, works, calls)
    return {
        "works": len(works),
        "without_launch": sum(1 for w in works if w[6] not in calls),
        "graph_works": sum(1 for w in works if w[6] in calls and "GraphLaunch" in calls[w[6]][4]),
        "launches": len({w[6] for w in works if w[6] in calls}),
        "kernels": sorted(kernel_sums(works)),
        "streams": sorted([*k, len(v), sum(s for _, _, s in v), union([(a, b) for a, b, _ in v]),
                           min(a for a, _, _ in v), max(b for _, b, _ in v)] for k, v in streams.items()),
        "ranges": sorted(rows),
        "ops": [o[:5] for o in ops],
        "operators": table,
        "gpu_outside_operators": outside,
        "gpu_without_launch": without,
    }


def check_all(compare):
    """A test that is one comparison of each file: compare(lpo, path) says what differs, or None. As TAP."""
    lpo, root = os.environ["LPO_BIN"], os.environ["LPO_SOURCE_ROOT"]
    paths, failed = files(root), 0
    print(f"1..{len(paths)}")
    for i, path in enumerate(paths, 1):
        why = compare(lpo, path)
        print(f"{'not ok' if why else 'ok'} {i} - {os.path.basename(path)}{': ' + why[:900] if why else ''}")
        failed += bool(why)
    return 1 if failed else 0


def first_difference(want, got):
    for key in want:
        if want[key] != got[key]:
            if not isinstance(want[key], list):
                return f"{key}: want {want[key]}, got {got[key]}"
            for a, b in zip(want[key], got[key]):
                if a != b:
                    return f"{key}: want {a}, got {b}"
            return f"{key}: want {len(want[key])} rows, got {len(got[key])}"
    return None


def check(dump, paths):
    failed = 0
    print(f"1..{len(paths)}")
    for i, path in enumerate(paths, 1):
        want = sums(path)
        run = subprocess.run([dump, path], capture_output=True, text=True)
        why = run.stderr.strip()
        if run.returncode == 0:
            got = json.loads(run.stdout)
            for row in got["operators"]:
                row[-1].sort()
            for key in ("kernels", "streams", "ranges", "operators"):
                got[key].sort()
            why = first_difference(want, got)
        name = path.rsplit("/", 1)[-1]
        print(f"not ok {i} - {name}: {why}" if why else f"ok {i} - {name}")
        failed += bool(why)
    return 1 if failed else 0


def files(root):
    found = glob.glob(root + "/tests/data/kineto/*.json*")
    found += glob.glob(f"{root}/../shared/data/traces/kineto/*.json*")
    return some_traces(sorted(found))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        json.dump(sums(sys.argv[1]), sys.stdout, indent=1)
        sys.exit(0)
    sys.exit(check(os.environ["LPO_BUILD_ROOT"] + "/tests/trace/dump_trace", files(os.environ["LPO_SOURCE_ROOT"])))
