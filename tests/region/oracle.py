#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second opinion on regions, top kernels and timelines, written only from the definitions.

Reads Kineto JSON and nsys SQLite with the standard library, compares every number of `lpo regions
--json` and `lpo top --json` to the nanosecond by brute force, and prints TAP. Slow on purpose: no
sweep, no index, nothing shared with the program under test.

    oracle.py [FILE…]        without files: tests/data and ../shared/data/traces
"""
import bisect
import collections
import decimal
import glob
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from amount import some_traces  # noqa: E402

Work = collections.namedtuple("Work", "kind name start end device stream bytes launch process")
Launch = collections.namedtuple("Launch", "thread start end")
Range = collections.namedtuple("Range", "thread start end name kind process")


TREE = ("push_pop", "module")


class Trace:
    def __init__(self):
        self.works, self.ranges = [], []


def ns(us):
    return int(decimal.Decimal(us) * 1000)


def read_kineto(path, modules=False):
    """With `modules`: calls of modules are ranges, after all ranges of the program."""
    opened = gzip.open(path, "rt") if open(path, "rb").read(2) == b"\x1f\x8b" else open(path)
    doc = json.load(opened, parse_float=decimal.Decimal)
    events = doc if isinstance(doc, list) else doc["traceEvents"]
    trace, calls = Trace(), {}
    kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "set",
             "memset": "set"}
    for e in events:
        cat = str(e.get("cat", "")).lower()
        if e.get("ph") != "X" or "dur" not in e:
            continue
        start = ns(e["ts"])
        end = start + ns(e["dur"])
        args = e.get("args", {})
        if cat in ("cuda_runtime", "cuda_driver", "runtime") and "correlation" in args:
            old = calls.get(args["correlation"])
            new = Launch((e["pid"], e["tid"]), start, end)
            if not old or (new.start <= old.start and new.end >= old.end):
                calls[args["correlation"]] = new
        elif cat == "user_annotation":
            trace.ranges.append(Range((e["pid"], e["tid"]), start, end, e["name"], "push_pop",
                                      e["pid"]))
    for e in events if modules else ():
        if e.get("ph") == "X" and e.get("cat") == "python_function" and e["name"].startswith("nn.Module: "):
            start = ns(e["ts"])
            trace.ranges.append(Range((e["pid"], e["tid"]), start, start + ns(e["dur"]), e["name"][len("nn.Module: "):],
                                      "module", e["pid"]))
    for e in events:
        cat = str(e.get("cat", "")).lower()
        if e.get("ph") != "X" or cat not in kinds:
            continue
        args = e.get("args", {})
        start = ns(e["ts"])
        trace.works.append(Work(kinds[cat], e["name"], start, start + ns(e["dur"]),
                                args.get("device", e["pid"]), args.get("stream", e["tid"]),
                                args.get("bytes", 0), calls.get(args.get("correlation")), None))
    return trace


def columns(db, table):
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def read_nsys(path):
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as plain:
        if open(path, "rb").read(2) == b"\x1f\x8b":
            shutil.copyfileobj(gzip.open(path), plain)
            plain.flush()
            path = plain.name
        return read_nsys_db(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def read_nsys_db(db):
    trace, calls = Trace(), {}
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    strings = dict(db.execute("SELECT id, value FROM StringIds"))
    for start, end, tid, corr in db.execute(
            "SELECT start, end, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"):
        key = (tid >> 24, corr)
        old, new = calls.get(key), Launch(tid, start, end)
        if not old or (start <= old.start and end >= old.end):
            calls[key] = new
    name = "demangledName" if "demangledName" in columns(db, "CUPTI_ACTIVITY_KIND_KERNEL") else "shortName"
    for start, end, device, stream, corr, pid, text in db.execute(
            f"SELECT start, end, deviceId, streamId, correlationId, globalPid, {name} "
            "FROM CUPTI_ACTIVITY_KIND_KERNEL"):
        trace.works.append(Work("kernel", strings[text], start, end, device, stream, 0,
                                calls.get((pid >> 24, corr)), pid >> 24))
    for table, kind in (("MEMCPY", "copy"), ("MEMSET", "set")):
        if f"CUPTI_ACTIVITY_KIND_{table}" not in tables:
            continue
        for start, end, device, stream, corr, pid, size in db.execute(
                "SELECT start, end, deviceId, streamId, correlationId, globalPid, bytes "
                f"FROM CUPTI_ACTIVITY_KIND_{table}"):
            trace.works.append(Work(kind, "", start, end, device, stream, size,
                                    calls.get((pid >> 24, corr)), pid >> 24))
    if "NVTX_EVENTS" in tables:
        domains = dict(db.execute(
            "SELECT domainId, coalesce(text, '') FROM NVTX_EVENTS WHERE eventType = 75"))
        for start, end, tid, kind, text, text_id, domain in db.execute(
                "SELECT start, end, globalTid, eventType, text, textId, domainId FROM NVTX_EVENTS "
                "WHERE eventType IN (59, 60) ORDER BY rowid"):
            label = (text if text is not None else strings.get(text_id, "")).replace("/", "\\/")
            if domains.get(domain):
                label = domains[domain] + "@" + label
            trace.ranges.append(Range(tid, start, end if end is not None else 1 << 62, label,
                                      "push_pop" if kind == 59 else "start_end", tid >> 24))
    return trace


def places(trace):
    """For every work the list of region paths it counts in, the innermost push/pop path first."""
    by_thread = collections.defaultdict(list)
    start_end = collections.defaultdict(list)
    for i, r in enumerate(trace.ranges):
        if r.kind != "start_end":
            by_thread[r.thread].append((r.start, -r.end, i, r.name, r.kind))
        else:
            start_end[r.process].append(r)
    for rows in by_thread.values():
        rows.sort()
    out = []
    for w in trace.works:
        if not w.launch:
            out.append(None)
            continue
        rows = by_thread.get(w.launch.thread, [])
        upto = bisect.bisect_right(rows, (w.launch.start, 1 << 63))
        path, paths = [], []
        for start, minus_end, _, name, kind in rows[:upto]:
            if -minus_end >= w.launch.end:
                path.append(name)
                paths.append((kind, "/".join(path)))
        process = w.process
        for name in sorted({r.name for r in start_end.get(process, ())
                            if r.start <= w.launch.start and r.end >= w.launch.end}):
            paths.append(("start_end", name))
        out.append(paths or None)
    return out


def adopted(trace, where):
    """For every work the regions that adopt it: those of the one other thread of the process that has a range around
    the whole launch call, where the work is in no region and there is exactly one such thread."""
    by_process = collections.defaultdict(lambda: collections.defaultdict(list))
    for i, r in enumerate(trace.ranges):
        if r.kind != "start_end":
            by_process[r.process][r.thread].append((r.start, -r.end, i, r.name, r.kind))
    threads_process = {r.thread: r.process for r in trace.ranges}
    out = []
    for w, paths in zip(trace.works, where):
        holders = {}
        if w.launch and not paths:
            thread = w.launch.thread
            process = threads_process.get(thread, thread[0] if isinstance(thread, tuple) else thread >> 24)
            for other, rows in by_process[process].items():
                around = sorted(r for r in rows if r[0] <= w.launch.start and -r[1] >= w.launch.end)
                if around:
                    holders[other] = [r[3:] for r in around]
        found = next(iter(holders.values())) if len(holders) == 1 else []
        out.append([(kind, "/".join(name for name, _ in found[:i + 1])) for i, (_, kind) in enumerate(found)])
    return out


def compare_adopted(name, trace, adopters, scope, keep):
    want, total = collections.defaultdict(lambda: [0, 0]), [0, 0]
    for w, paths in zip(trace.works, adopters):
        if w.kind != "kernel" or not keep(w) or not paths:
            continue
        for sums in [total] + [want[key] for key in paths]:
            sums[0] += 1
            sums[1] += w.end - w.start
    got = {(r["kind"], r["path"]): [r["adopted"]["launches"], r["adopted"]["gpu_ns"]]
           for r in scope["regions"] if "adopted" in r}
    if got != dict(want):
        yield f"{name}: adopted {got}, not {dict(want)}"
    covered = scope["coverage"].get("adopted", {"launches": 0, "gpu_ns": 0})  # absent where nothing was launched
    if [covered["launches"], covered["gpu_ns"]] != total:
        yield f"{name}: adopted in all {covered}, not {total}"


def region_sums(trace, where, keep):
    sums = collections.defaultdict(lambda: [0, 0, collections.defaultdict(lambda: [0, 0])])
    for w, paths in zip(trace.works, where):
        if w.kind != "kernel" or not keep(w):
            continue
        for key in paths or [("outside", "(outside)")]:
            row = sums[key]
            row[0] += 1
            row[1] += w.end - w.start
            row[2][w.name][0] += 1
            row[2][w.name][1] += w.end - w.start
    return sums


def union(intervals):
    total, last = 0, None
    for start, end in sorted(intervals):
        if last is None or start > last:
            total, last = total + end - start, end
        elif end > last:
            total, last = total + end - last, end
    return total


def communicates(w):
    return w.kind == "kernel" and ("nccl" in w.name.lower() or "rccl" in w.name.lower())


def device_numbers(works):
    out = {"span_ns": max(w.end for w in works) - min(w.start for w in works),
           "busy_ns": union((w.start, w.end) for w in works),
           "compute_ns": union((w.start, w.end) for w in works
                               if w.kind == "kernel" and not communicates(w)),
           "communication_ns": union((w.start, w.end) for w in works if communicates(w))}
    out["idle_ns"] = out["span_ns"] - out["busy_ns"]
    out["exposed_communication_ns"] = union(
        (w.start, w.end) for w in works if w.kind == "kernel") - out["compute_ns"]
    return out


def stream_gaps(works):
    gaps = {"host": [0, 0], "dependency": [0, 0], "other": [0, 0]}
    last = None
    for w in sorted(works, key=lambda w: w.start):
        if last is not None and w.start > last:
            late = w.launch is not None and w.launch.start > last
            cause = "host" if late else "dependency" if w.start - last < 30000 else "other"
            gaps[cause][0] += 1
            gaps[cause][1] += w.start - last
        last = w.end if last is None else max(last, w.end)
    return gaps


def differences(trace, regions, top):
    where = places(trace)
    adopters = adopted(trace, where)
    yield from compare_scope("aggregate", trace, where, adopters, regions, lambda w: True)
    for device in sorted({w.device for w in trace.works}):
        yield from compare_scope(f"device:{device}", trace, where, adopters, regions,
                                 lambda w, d=device: w.device == d)
        works = [w for w in trace.works if w.device == device]
        got = [d for d in regions["devices"] if d["device"] == device][0]
        for key, want in device_numbers(works).items():
            if got[key] != want:
                yield f"device {device} {key}: {got[key]}, not {want}"
        for stream in sorted({w.stream for w in works}):
            mine = [w for w in works if w.stream == stream]
            row = [s for s in got["streams"] if s["stream"] == stream][0]
            if row["busy_ns"] != union((w.start, w.end) for w in mine):
                yield f"device {device} stream {stream} busy_ns: {row['busy_ns']}"
            for cause, (count, total) in stream_gaps(mine).items():
                if [row["gaps"][cause]["count"], row["gaps"][cause]["ns"]] != [count, total]:
                    yield f"device {device} stream {stream} {cause}: {row['gaps'][cause]}, not {count}, {total}"
    yield from compare_top(trace, top)


def compare_scope(name, trace, where, adopters, regions, keep):
    scope = [s for s in regions["scopes"] if s["scope"] == name]
    if not scope:
        if any(keep(w) for w in trace.works):
            yield f"no scope {name}"
        return
    want = region_sums(trace, where, keep)
    got = {(r["kind"], r["path"]): r for r in scope[0]["regions"]}
    total = sum(w.end - w.start for w in trace.works if w.kind == "kernel" and keep(w))
    if scope[0]["gpu_ns"] != total:
        yield f"{name} gpu_ns: {scope[0]['gpu_ns']}, not {total}"
    for key, (launches, gpu_ns, kernels) in want.items():
        row = got.get(key)
        if not row:
            yield f"{name}: no region {key}"
        elif (row["launches"], row["gpu_ns_inclusive"]) != (launches, gpu_ns):
            yield f"{name} {key}: {row['launches']}, {row['gpu_ns_inclusive']}, not {launches}, {gpu_ns}"
        elif {k["name"]: [k["launches"], k["gpu_ns"]] for k in row["kernels"]} != kernels:
            yield f"{name} {key}: kernels differ"
    for key, row in got.items():
        if key not in want and row["launches"]:
            yield f"{name}: region {key} should have no launches, not {row['launches']}"
    yield from compare_parents(name, scope[0]["regions"])
    yield from compare_adopted(name, trace, adopters, scope[0], keep)


def compare_parents(name, rows):
    """parent = own + children, for time and launches."""
    below = collections.defaultdict(lambda: [0, 0])
    for r in rows:
        if r["kind"] in TREE and r["parent"] is not None:
            below[r["parent"]][0] += r["gpu_ns_inclusive"]
            below[r["parent"]][1] += r["launches"]
    for r in rows:
        if r["kind"] not in TREE:
            continue
        if r["gpu_ns_exclusive"] + below[r["path"]][0] != r["gpu_ns_inclusive"]:
            yield f"{name} {r['path']}: exclusive and children do not add up"
        if r["launches_exclusive"] + below[r["path"]][1] != r["launches"]:
            yield f"{name} {r['path']}: launches of children do not add up"


def compare_top(trace, top):
    want = collections.defaultdict(list)
    for w in trace.works:
        if w.kind == "kernel":
            want[w.name].append(w.end - w.start)
    got = {k["name"]: k for k in top["kernels"]}
    if set(got) != set(want):
        yield f"top: names differ: {sorted(set(got) ^ set(want))[:3]}"
        return
    for name, times in want.items():
        k = got[name]
        if (k["launches"], k["gpu_ns"], k["min_ns"], k["max_ns"]) != (
                len(times), sum(times), min(times), max(times)):
            yield f"top {name}: {k}"
    order = [-k["gpu_ns"] for k in top["kernels"]]
    if order != sorted(order):
        yield "top: not largest first"


def backward_sums(path):
    """By region of the forward: [launches, ns] of backward kernels, and of recomputed ones. Links are those that PyTorch
    drew (fwdbwd flows); where a file has none, the last operator of the number on the only thread that used it."""
    opened = gzip.open(path, "rt") if open(path, "rb").read(2) == b"\x1f\x8b" else open(path)
    doc = json.load(opened, parse_float=decimal.Decimal)
    events = doc if isinstance(doc, list) else doc["traceEvents"]
    trace, ops, again = read_kineto(path), [], collections.defaultdict(list)
    for e in events:
        if e.get("ph") != "X" or "dur" not in e:
            continue
        args = {k.lower(): v for k, v in e.get("args", {}).items()}
        start = ns(e["ts"])
        row = ((e["pid"], e["tid"]), start, start + ns(e["dur"]), e["name"], int(args.get("sequence number", -1)),
               int(args.get("fwd thread id", 0)))
        if str(e.get("cat", "")).lower() in ("cpu_op", "operator"):
            ops.append(row)
        if "checkpoint.py(" in e["name"] and "recompute_fn" in e["name"]:
            again[row[0]].append(row)
    ends = collections.defaultdict(dict)
    for e in events:
        if e.get("cat") == "fwdbwd" and e["ph"] in "sf":
            ends[e["id"]][e["ph"]] = ((e["pid"], e["tid"]), ns(e["ts"]))
    drawn = {v["f"]: v["s"] for v in ends.values() if len(v) == 2}
    at = {(o[0], o[1]): o for o in ops if o[4] >= 0 and not o[5]}
    numbers, by_number = {}, collections.defaultdict(list)
    for o in ops:
        if o[5] and (o[0], o[1]) in drawn:
            numbers[o[0][0], o[4], o[5]] = at[drawn[o[0], o[1]]]
        elif o[4] >= 0 and not o[5]:
            by_number[o[0][0], o[4]].append(o)
    backward = collections.defaultdict(list)
    for o in ops:
        if o[5]:
            own = [f for f in by_number[o[0][0], o[4]] if f[1] < o[1]]
            if not drawn and own and len({f[0] for f in own}) == 1:
                numbers[o[0][0], o[4], o[5]] = max(own, key=lambda f: f[1])
            backward[o[0]].append(o)
    ranges = collections.defaultdict(list)
    for i, r in enumerate(trace.ranges):
        ranges[r.thread].append((r.start, -r.end, i, r.name))
    forward_ops = collections.defaultdict(list)
    for o in ops:
        if o[4] >= 0 and not o[5]:
            forward_ops[o[0]].append(o)
    sums = {"backward": collections.defaultdict(lambda: [0, 0]), "recomputed": collections.defaultdict(lambda: [0, 0])}
    memo = {}
    for w in trace.works:
        if w.kind != "kernel" or not w.launch or w.launch.thread not in backward:
            continue
        key = w.launch
        if key not in memo:
            around = sorted((o for o in backward[key.thread] if o[1] <= key.start and o[2] >= key.end),
                            key=lambda o: (o[1], -o[2]))
            inner = [o for o in forward_ops[key.thread] + again[key.thread]
                     if around and around[-1][1] <= o[1] <= key.start and o[2] >= key.end]
            path = []
            for o in reversed(around):
                f = numbers.get((o[0][0], o[4], o[5]))
                if f and not path:
                    path = [r[3] for r in sorted(ranges[f[0]]) if r[0] <= f[1] and -r[1] >= f[2]]
            memo[key] = path, bool(inner)
        path, redone = memo[key]
        for i in range(len(path)):
            row = sums["recomputed" if redone else "backward"]["/".join(path[:i + 1])]
            row[0] += 1
            row[1] += w.end - w.start
    return sums


def backward_differences(path):
    known = mentions(path, b'"Fwd thread id"') or mentions(path, b'"Fwd Thread Id"') or mentions(path, b'recompute_fn')
    want = backward_sums(path) if known else {"backward": {}, "recomputed": {}}
    rows = run("regions", path, "--backward")["scopes"][0]["regions"]
    for part, regions in want.items():
        got = {r["path"]: [r[part]["launches"], r[part]["gpu_ns"]] for r in rows if part in r}
        if got != dict(regions):
            yield f"{part}: {got}, not {dict(regions)}"


def mentions(path, word):
    """To read a file again only where that is of use."""
    with (gzip.open(path) if open(path, "rb").read(2) == b"\x1f\x8b" else open(path, "rb")) as f:
        return word in f.read()


def module_differences(path):
    if not mentions(path, b'"nn.Module: '):
        return
    trace = read_kineto(path, modules=True)
    if all(r.kind != "module" for r in trace.ranges):
        return
    regions = run("regions", path, "--modules")
    where = places(trace)
    yield from compare_scope("aggregate", trace, where, adopted(trace, where), regions, lambda w: True)
    want = collections.Counter(r.name for r in trace.ranges if r.kind == "module")
    got = collections.Counter()
    for row in regions["scopes"][0]["regions"]:
        if row["kind"] == "module":
            got[row["path"].replace("\\/", "\0").split("/")[-1].replace("\0", "/")] += row["visits"]
    if got != want:
        yield f"calls of modules: {got}, not {want}"


def run(command, path, *options):
    lpo = os.environ.get("LPO_BIN", "build/lpo")
    return json.loads(subprocess.run([lpo, command, path, "--json", *options], check=True,
                                     stdout=subprocess.PIPE).stdout)


def is_nsys(path):
    with open(path, "rb") as f:
        head = f.read(16)
    if head[:2] == b"\x1f\x8b":
        head = gzip.open(path).read(16)
    return head.startswith(b"SQLite")


def main():
    root = os.environ.get("LPO_SOURCE_ROOT", ".")
    # Ours are in the tree; those of public projects are not, and are read where the folder is here.
    files = sys.argv[1:] or some_traces(sorted(path for folder in ("tests/data", "../shared/data/traces")
                                               for kind in ("kineto", "nsys") for path in glob.glob(f"{root}/{folder}/{kind}/*.gz")))
    print(f"1..{len(files)}")
    for i, path in enumerate(files, 1):
        trace = read_nsys(path) if is_nsys(path) else read_kineto(path)
        try:
            wrong = list(differences(trace, run("regions", path), run("top", path)))
            wrong += [] if is_nsys(path) else [f"--modules: {w}" for w in module_differences(path)]
            wrong += [] if is_nsys(path) else [f"--backward: {w}" for w in backward_differences(path)]
        except subprocess.CalledProcessError as e:
            wrong = [str(e)]
        print(f"{'not ok' if wrong else 'ok'} {i} - {os.path.basename(path)}")
        for line in wrong[:8]:
            print(f"# {line}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
