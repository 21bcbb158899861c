#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the wall time of each GPU went, worked out a second way: from the definitions of the design page word by
word, slow and plain, with readers of its own for Kineto JSON and nsys SQLite.

    wall_oracle.py            the test, as TAP: every trace of tests/data, those of ../shared/data where they are
                              here, and random small traces; LPO_BIN is the program, LPO_SOURCE_ROOT the project
    wall_oracle.py FILE       the result for one file as JSON

Which kernels communicate is asked of lpo: that is the class of their name, tested elsewhere."""
import bisect
import glob
import gzip
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict, namedtuple
from decimal import ROUND_HALF_UP, Decimal

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import random_program  # noqa: E402
from amount import is_long, some_traces  # noqa: E402

Work = namedtuple("Work", "kind name scope start end launch")  # launch: key of Trace.launches or None
Call = namedtuple("Call", "name thread start end")
KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set", "memcpy": "copy", "memset": "set"}
CALLS = {"cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime"}


class Trace:
    def __init__(self):
        self.works, self.calls, self.sorted = [], defaultdict(list), {}
        self.rows, self.firsts = defaultdict(list), None

    def add_call(self, call, key):
        """Of a runtime and a driver row of one launch, the earlier is the launch."""
        self.calls[call.thread].append(call)
        if key is not None:
            self.rows[key].append(call)

    @property
    def launches(self):
        if self.firsts is None:
            self.firsts = {key: min(calls, key=lambda c: (c.start, -c.end)) for key, calls in self.rows.items()}
        return self.firsts

    def one_thread(self, key):
        """Do the rows of this launch that begin first name one thread?"""
        first = self.launches[key].start
        return len({c.thread for c in self.rows[key] if c.start == first}) == 1

    def near(self, thread, start, end):
        """The calls of a thread that can overlap this stretch, in order of their starts."""
        if thread not in self.sorted:
            calls = sorted(self.calls[thread], key=lambda c: (c.start, -c.end))
            longest = max((c.end - c.start for c in calls), default=0)
            self.sorted[thread] = calls, [c.start for c in calls], longest
        calls, starts, longest = self.sorted[thread]
        return calls[bisect.bisect_left(starts, start - longest):bisect.bisect_left(starts, end)]


def unpacked(path):
    with open(path, "rb") as f:
        data = f.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def ns(us):
    return int((Decimal(us) * 1000).to_integral_value(ROUND_HALF_UP))


def read_kineto(text):
    doc = json.loads(text, strict=False, parse_float=Decimal)
    facts = doc if isinstance(doc, dict) else {}
    rank = facts.get("distributedInfo", {}).get("rank")
    t = Trace()
    for e in facts.get("traceEvents", doc):
        cat, args = str(e.get("cat", "")).lower(), e.get("args", {})
        if e.get("ph") != "X" or "ts" not in e or "dur" not in e:
            continue
        start = ns(e["ts"])
        end, key = start + ns(e["dur"]), args.get("correlation")
        if cat in KINDS:
            device = int(args.get("device", e["pid"]))
            scope = f"device:{device}" if rank is None else f"rank:{int(rank)}/device:{device}"
            t.works.append(Work(KINDS[cat], e["name"], scope, start, end, key))
        elif cat in CALLS:
            t.add_call(Call(e["name"], (str(e["pid"]), str(e["tid"])), start, end), key)
    return t


def read_nsys(data):
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as f:
        f.write(data)
        f.flush()
        db = sqlite3.connect(f.name)
        db.row_factory = sqlite3.Row
        tables = {r[0] for r in db.execute("select name from sqlite_master where type = 'table'")}
        rows = lambda name: [dict(r) for r in db.execute(f"select * from {name}")] if name in tables else []
        strings = {r["id"]: r["value"] for r in rows("StringIds")}
        return nsys_trace(rows, strings)


def nsys_devices(rows):
    """CUDA's numbers, or the machine's where two processes mean different GPUs by one number."""
    gpus = {(r["pid"], r["cudaId"]): r["gpuId"] for r in rows("TARGET_INFO_CUDA_DEVICE")}
    seen = defaultdict(set)
    for (pid, cuda), gpu in gpus.items():
        seen[cuda].add(gpu)
    clash = any(len(s) > 1 for s in seen.values())
    return lambda pid, device: gpus.get((pid >> 24 & 0xffffff, device), device) if clash else device


def nsys_trace(rows, strings):
    t = Trace()
    device = nsys_devices(rows)
    for table in "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER":
        for r in rows(table):
            key = (r["globalTid"] >> 24, r["correlationId"]) if r["correlationId"] else None
            t.add_call(Call(strings.get(r["nameId"], "?"), r["globalTid"], r["start"], max(r["start"], r["end"])), key)
    nodes = set()
    for kind, table in (("kernel", "KERNEL"), ("copy", "MEMCPY"), ("set", "MEMSET"), ("kernel", "GRAPH_TRACE")):
        for r in rows("CUPTI_ACTIVITY_KIND_" + table):
            key = (r["globalPid"] >> 24, r["correlationId"])
            if table == "GRAPH_TRACE" and r["correlationId"] and key in nodes:
                continue  # its kernels are known one by one
            name = strings.get(r.get("demangledName"), f"CUDA graph {r.get('graphId')} (whole launch)")
            if r["end"] is not None and r["end"] >= r["start"]:
                t.works.append(Work(kind, name, f"device:{device(r['globalPid'], r['deviceId'])}",
                                    r["start"], r["end"], key))
            if table != "GRAPH_TRACE":
                nodes.add(key)
    return t


def read(path):
    data = unpacked(path)
    return read_nsys(data) if data[:15] == b"SQLite format 3" else read_kineto(data.decode("utf-8", "replace"))


def merged(works):
    """Stretches in which at least one of these runs, in order; those that touch are one."""
    out = []
    for w in sorted(works, key=lambda w: (w.start, w.end)):
        if out and w.start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], w.end)
        else:
            out.append([w.start, w.end])
    return out


def length(stretches):
    return sum(b - a for a, b in stretches)


class Silent(Exception):
    """The definition leaves open which of two calls counts, because they begin together."""


def cause(t, works, start, end):
    """Of the gap [start, end): its cause, and the call it is blocked in."""
    keys = [w.launch for w in works if w.start == end and w.launch in t.launches]
    launches = [t.launches[k] for k in keys]
    if not all(t.one_thread(k) for k in keys):
        raise Silent
    if not launches:
        return "unknown", None
    launch = min(launches, key=lambda c: c.start)
    if any(c.start == launch.start and c.thread != launch.thread for c in launches):
        raise Silent
    best, most = None, 0
    for c in t.near(launch.thread, start, end):
        overlap = min(c.end, end) - max(c.start, start)
        if best and overlap == most and c.start == best.start and c.name != best.name:
            raise Silent
        if overlap > most:
            best, most = c, overlap
    if best and 2 * most >= end - start and "launch" not in best.name.lower():
        return "blocked", best.name
    return ("host" if launch.start > start else "queued"), None


def wall(t, communicates):
    out = []
    for scope in sorted({w.scope for w in t.works}):
        works = [w for w in t.works if w.scope == scope]
        kernels = [w for w in works if w.kind == "kernel"]
        busy = merged(works)
        compute = length(merged([w for w in kernels if not communicates(w.name)]))
        row = {"scope": scope, "span_ns": busy[-1][1] - busy[0][0], "compute_ns": compute,
               "exposed_communication_ns": length(merged(kernels)) - compute,
               "exposed_copy_ns": length(busy) - length(merged(kernels)),
               "idle_ns": busy[-1][1] - busy[0][0] - length(busy),
               "idle": {c + "_ns": 0 for c in ("blocked", "host", "queued", "unknown")},
               "longest_gap_ns": 0, "blocked_calls": {}}
        starts = defaultdict(list)
        for w in works:
            starts[w.start].append(w)
        for before, after in zip(busy, busy[1:]):
            start, end = before[1], after[0]
            why, call = cause(t, starts[end], start, end)
            row["idle"][why + "_ns"] += end - start
            row["longest_gap_ns"] = max(row["longest_gap_ns"], end - start)
            if call:
                sums = row["blocked_calls"].setdefault(call, [0, 0])
                sums[0] += end - start
                sums[1] += 1
        out.append(row)
    return out


# ---- the test ----

def lpo_report(*paths):
    """report.json of these files."""
    r = subprocess.run([os.environ["LPO_BIN"], "report", "--json", *paths], capture_output=True)
    if r.returncode:
        raise RuntimeError(r.stderr.decode("utf-8", "replace"))
    return json.loads(r.stdout.decode("utf-8", "surrogateescape"))


def compare(*paths):
    """Differences between lpo and the definitions, as lines. Several files must be of several ranks."""
    report = lpo_report(*paths)
    traces = [read(path) for path in paths]
    if not report.get("wall"):
        return [] if not any(t.works for t in traces) else ["lpo has no wall time"]
    classes = {k["name"]: k["class"] for k in report["kernels"]}
    want = {r["scope"]: r for t in traces for r in wall(t, lambda name: classes.get(name) == "collective")}
    got = {r["scope"]: r for r in report["wall"]}
    lines = []
    if sorted(want) != sorted(got):
        return [f"scopes {sorted(got)}, want {sorted(want)}"]
    spans = [r["span_ns"] for r in report["wall"]]
    if spans != sorted(spans, reverse=True):
        lines.append("not largest first")
    for scope, w in want.items():
        g = got[scope]
        g["blocked_calls"] = {c["name"]: [c["idle_ns"], c["gaps"]] for c in g["blocked_calls"]}
        lines += [f"{scope} {key}: {g[key]}, want {w[key]}" for key in w if g[key] != w[key]]
        if g["compute_ns"] + g["exposed_communication_ns"] + g["exposed_copy_ns"] + g["idle_ns"] != g["span_ns"]:
            lines.append(f"{scope}: the parts do not add up")
        if sum(g["idle"].values()) != g["idle_ns"]:
            lines.append(f"{scope}: the causes do not add up")
        longest = [x["gap_ns"] for x in g["longest_gaps"]]
        if longest != sorted(longest, reverse=True) or (longest or [0])[0] != g["longest_gap_ns"]:
            lines.append(f"{scope}: longest gaps {longest}")
    return lines


NAMES = ("cudaLaunchKernel", "cuLaunchKernel", "hipLaunchKernel", "cudaGraphLaunch", "hipExtModuleLAUNCHKernel",
         "cudaStreamSynchronize", "cudaMemcpyAsync", "hipMemcpyWithStream", "cudaMalloc")


def random_kineto(rng):
    """Crowded on purpose: starts that meet, lengths of zero, calls inside calls, ids without a call."""
    events, span = [], rng.choice((20, 60, 400))
    for i in range(rng.randint(1, 30)):
        dur = rng.choice((0, 1, 2, 3, rng.randint(0, 9)))
        cat = rng.choice(("kernel", "kernel", "gpu_memcpy", "gpu_memset"))
        events.append({"ph": "X", "cat": cat, "ts": rng.randint(0, span), "dur": dur, "pid": 0, "tid": 7,
                       "name": rng.choice(("gemm", "ncclDevKernel_AllReduce", "relu")),
                       "args": {"device": rng.randint(0, 1), "stream": rng.randint(7, 9), "correlation": rng.choice((0, 0, 100)) + rng.randint(1, 20)}})
    for i in range(rng.randint(0, 40)):
        pid = rng.choice((100, 100, 200))  # ids of two processes in one file differ
        args = {"correlation": pid - 100 + rng.randint(1, 25)} if rng.random() < .9 else {}
        events.append({"ph": "X", "cat": rng.choice(("cuda_runtime", "cuda_driver")), "name": rng.choice(NAMES),
                       "ts": rng.randint(-5, span), "dur": rng.choice((0, 1, 2, rng.randint(0, span // 2))),
                       "pid": pid, "tid": rng.randint(1, 2), "args": args})
    base, parts = rng.choice((0, 1700000000000000)), rng.choice((1, 8, 1000))
    if rng.random() < .2:  # the categories of 2021
        old = {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "cuda_runtime": "Runtime",
               "cuda_driver": "Runtime"}
        for e in events:
            e["cat"] = old[e["cat"]]
    for e in events:  # thousandths of a microsecond count, and a double has too few digits for them
        part = rng.randint(0, parts - 1) if rng.random() < .5 else 0
        e["ts"] = f"<{base + e['ts'] + Decimal(part) / parts}>"
    rng.shuffle(events)
    doc = {"traceEvents": events}
    if rng.random() < .3:
        doc["distributedInfo"] = {"rank": rng.randint(0, 9)}
    return doc


def random_nsys(rng, path):
    """The same as an export of nsys: processes with the same correlation ids, a runtime and a driver row of one launch."""
    db, span = sqlite3.connect(path), rng.choice((20, 60, 400))
    names = {name: i for i, name in enumerate((*NAMES, "gemm", "ncclDevKernel_AllReduce", "relu"), 1)}
    op = "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER"
    db.executescript(f"""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
                                                  nameId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({op}, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({op}, bytes INTEGER, copyKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET ({op}, bytes INTEGER)""")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, name) for name, i in names.items()])
    graphs = rng.random() < .3
    if graphs:
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE ({op}, graphId INTEGER)")
    pids = [1 << 56 | pid << 24 for pid in rng.sample(range(1, 9), rng.randint(1, 2))]
    if rng.random() < .3:  # each process has GPUs of its own, all called 0 and 1
        db.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)")
        db.executemany("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?)",
                       [(2 * i + cuda, cuda, pid >> 24 & 0xffffff) for i, pid in enumerate(pids) for cuda in (0, 1)])
    for i in range(rng.randint(1, 30)):
        start = rng.randint(0, span)
        row = (start, start + rng.choice((0, 1, 2, 3, rng.randint(0, 9))), rng.randint(0, 1), rng.randint(7, 9),
               rng.choice((None, 0, *range(1, 20))), rng.choice(pids))
        kind = rng.choice(("KERNEL", "KERNEL", "MEMCPY", "GRAPH_TRACE" if graphs else "MEMSET"))
        name = names[rng.choice(("gemm", "ncclDevKernel_AllReduce", "relu"))]
        more = {"KERNEL": (name, name), "MEMCPY": (64, rng.randint(1, 2)), "MEMSET": (64,), "GRAPH_TRACE": (5,)}[kind]
        db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_{kind} VALUES ({', '.join('?' * len(row + more))})", row + more)
    for i in range(rng.randint(0, 40)):
        start, pid, key = rng.randint(-5, span), rng.choice(pids), rng.choice((None, *range(1, 25)))
        end, tid = start + rng.choice((0, 1, 2, rng.randint(0, span // 2))), rng.randint(1, 2)
        rows = [(start, end, pid | tid, key, names[rng.choice(NAMES)])]
        if key and rng.random() < .4:  # the driver's part of it
            inner = rng.randint(start, end)
            rows.append((inner, rng.randint(inner, end), pid | tid, key, names["cuLaunchKernel"]))
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", rng.sample(rows, len(rows)))
    db.commit()
    db.close()


def random_ranks(rng, folder):
    """One to three files of one job."""
    paths, docs = [], []
    for rank in range(rng.choice((1, 1, 2, 3))):
        doc = random_kineto(rng)
        if "distributedInfo" in doc or rank:
            doc["distributedInfo"] = {"rank": rank}
        paths.append(os.path.join(folder, f"rank{rank}.json"))
        docs.append(doc)
    if len(docs) > 1:
        docs[0]["distributedInfo"] = {"rank": 0}
    for path, doc in zip(paths, docs):
        with open(path, "w") as f:
            f.write(json.dumps(doc).replace('"<', "").replace('>"', ""))
    return paths


def check_random(count, make, check=compare):
    """Until `count` traces were compared: those about which the definition is silent are not counted."""
    rng, made = random.Random(os.environ.get("WALL_SEED", "15")), 0
    for i in range(100 * count):
        with tempfile.TemporaryDirectory() as d:
            paths = make(rng, d)
            try:
                found = check(*paths)
            except Silent:
                continue
            if found:
                keep = tempfile.mkdtemp(prefix="wall-oracle.")
                for p in paths:
                    shutil.copy(p, keep)
                return [f"trace {made}, kept in {keep}", *found]
        made += 1
        if made == count:
            return []
    return [f"only {made} of {count} traces could be compared"]


def nsys_file(rng, folder):
    path = os.path.join(folder, "trace.sqlite")
    random_nsys(rng, path)
    return [path]


def program_files(rng, folder):
    """One simulated program, as both sources write it."""
    program = random_program.Program(rng)
    paths = [os.path.join(folder, name) for name in ("trace.json", "trace.sqlite")]
    with open(paths[0], "w") as f:
        f.write(random_program.kineto(program))
    random_program.nsys(program, paths[1])
    return paths


def compare_both(*paths):
    """Each source with the definitions, and the two with each other."""
    lines = [f"{os.path.basename(p)}: {line}" for p in paths for line in compare(p)]
    walls = []
    for p in paths:
        rows = sorted(lpo_report(p)["wall"], key=lambda r: r["scope"])
        for r in rows:  # one of them is on a clock of its own, and of equal calls either may come first
            r.pop("longest_gaps"), r.pop("start_ns")
            r["blocked_calls"].sort(key=lambda c: (-c["idle_ns"], c["name"]))
        walls.append(rows)
    if not lines and walls[0] != walls[1]:
        lines.append(f"the two sources differ: {walls}")
    return lines


def main():
    root = os.environ.get("LPO_SOURCE_ROOT", ".")
    shared = os.path.join(root, "..", "shared", "data")
    patterns = [os.path.join(root, "tests/data/kineto/*.json*"), os.path.join(root, "tests/data/nsys/*.sqlite*"),
                shared + "/traces/kineto/*.json.gz", shared + "/traces/nsys/*.sqlite.gz", shared + "/kineto/*.json.gz",
                shared + "/nsys/*.sqlite.gz"]
    files = some_traces([p for pattern in patterns for p in sorted(glob.glob(pattern))])
    checks = [(os.path.basename(p), lambda p=p: compare(p)) for p in files]
    ranks = [p for p in files if "sampled_rank" in p]
    if len(ranks) > 1:
        checks.append((f"{len(ranks)} ranks together", lambda: compare(*ranks)))
    count = int(os.environ.get("WALL_RANDOM", "100" if is_long() else "40"))
    checks.append(("random traces of Kineto, one rank or several", lambda: check_random(count, random_ranks)))
    checks.append(("random exports of nsys", lambda: check_random(count, nsys_file)))
    checks.append(("simulated programs, as Kineto and as nsys", lambda: check_random(max(count // 4, 1), program_files, compare_both)))
    print(f"1..{len(checks)}")
    bad = 0
    for n, (name, check) in enumerate(checks, 1):
        lines = check()
        bad += bool(lines)
        print(f"{'not ' if lines else ''}ok {n} - {name}", flush=True)
        for line in lines:
            print("# " + line)
    sys.exit(bad > 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        classes = {k["name"]: k["class"] for k in lpo_report(sys.argv[1]).get("kernels", [])}
        print(json.dumps(wall(read(sys.argv[1]), lambda name: classes.get(name) == "collective"), indent=1))
    else:
        main()
