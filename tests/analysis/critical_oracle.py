#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`critical_path` of report.json, for every Kineto file: its parts add up to the wall time, which is that of the file; the
unchanged graph simulates to it; no saving is larger than what is on the path, and half of a part saves no more than all
of it. Where one thread launched into one stream, the graph is built here a second time from docs/critical-path.md, and
the wall time without kernels and without waiting must be the same to the nanosecond. As TAP."""
import bisect
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402

LONG = 30000


def read(path):
    """Operations by start, and the calls of the graph by thread: [start, end, launches?]."""
    works, _, _, _, _ = oracle.events(path)
    doc = oracle.load(path)
    base = int(doc.get("baseTimeNanoseconds", 0)) if isinstance(doc, dict) else 0
    by_corr, waits = {}, {}
    for e in doc["traceEvents"] if isinstance(doc, dict) else doc:
        cat = str(e.get("cat", "")).lower()
        if e.get("ph") != "X" or cat not in oracle.CALLS:
            continue
        start = base + oracle.ns(e["ts"])
        end = start + oracle.ns(e.get("dur", 0))
        thread = (oracle.number(e["pid"]), oracle.number(e["tid"]))
        corr = e.get("args", {}).get("correlation")
        if corr is not None:
            by_corr[corr] = min(by_corr.get(corr, (start, -end, thread)), (start, -end, thread))
        if "Synchronize" in e["name"] or e["name"] in ("cudaFree", "hipFree"):
            waits.setdefault(thread, set()).add((start, end))
    works.sort(key=lambda w: w[4])
    threads, launch_of = {}, {}
    for i, w in enumerate(works):
        call = by_corr.get(w[6]) if w[6] is not None else None
        if call:
            launch_of[i] = (call[2], call[0], -call[1])
            threads.setdefault(call[2], set()).add((call[0], -call[1], True))
    for thread, calls in waits.items():
        threads.setdefault(thread, set()).update((a, b, False) for a, b in calls)
    return works, launch_of, threads


def graph(works, launch_of, calls):
    """One thread, one stream. Calls: [start, end, launches, waits for]; operations: (start, end, kind, before, call)."""
    kept = []
    for start, end, launch in sorted(calls, key=lambda c: (c[0], not c[2], c[1])):
        if kept and not launch and end <= kept[-1][1]:
            continue
        kept.append([start, end, launch, None])
    number = {(c[0], c[1]): i for i, c in enumerate(kept) if c[2]}
    ops, starts = [], [w[4] for w in works]
    for i, w in enumerate(works):
        before = i - 1
        for _ in range(64):
            if before < 0:
                break
            over = ops[before][1] - w[4]
            if over <= 0 or (over < 5000 and over < ops[before][1] - ops[before][0]):
                break
            before = -1 if ops[before][3] is None else ops[before][3]
        call = number.get(launch_of[i][1:]) if i in launch_of else None
        if call is not None and kept[call][0] > w[4]:
            call = None
        ops.append((w[4], w[5], w[0], before if before >= 0 else None, call))

    def ended_in(c):
        at, best = bisect.bisect_right(starts, c[1]), None
        for i in range(at - 1, max(-1, at - 65), -1):
            if ops[i][0] < c[1] and c[0] < ops[i][1] <= c[1] and (best is None or ops[i][1] > ops[best][1]):
                best = i
        return best

    for i, (start, end, kind, _, call) in enumerate(ops):
        if call is None:
            continue
        c = kept[call]
        if kind == "copy" and c[0] <= start < c[1] and (
                end <= c[1] + 2 * LONG if end - start >= (c[1] - c[0]) // 2 else end <= c[1] and c[1] - c[0] >= LONG):
            c[3] = i
        elif c[1] - c[0] >= 100000 and i >= 500 + bisect.bisect_right(starts, c[0]) and c[3] is None:
            c[3] = ended_in(c)
    for c in kept:
        if not c[2]:
            c[3] = ended_in(c)
    return kept, ops


def edges(kept, op):
    """(from_ns, kind) of the launch and of the operation before, those that are there."""
    out = []
    if op[4] is not None:
        c = kept[op[4]]
        out.append((c[1] if c[3] is None and c[1] <= op[0] else c[0], "launch"))
    return out


def simulate(kept, ops, gone):
    critical = []
    for op in ops:
        launch = edges(kept, op)
        before = [(ops[op[3]][1], "before")] if op[3] is not None else []
        critical.append(max(before + launch, key=lambda e: (e[0], e[1] == "before")) if before or launch else None)
    usual = {}
    for kind in ("launch", "before"):
        lags = sorted(op[0] - c[0] for op, c in list(zip(ops, critical))[::len(ops) // 4096 + 1] if c and c[1] == kind)
        usual[kind] = max(0, min(LONG, lags[len(lags) // 2])) if lags else 0
    order = [(op[0], 2, i) for i, op in enumerate(ops)] + [(c[0], 1, i) for i, c in enumerate(kept)]
    order += [(c[1], 0, i) for i, c in enumerate(kept) if c[3] is not None]
    op_end, call_start, call_end = {}, {}, {}
    for _, what, i in sorted(order):
        if what == 1:
            start, end, _, waits = kept[i]
            at = start
            if i:
                p = kept[i - 1]
                at = (call_end[i - 1] + start - p[1] if p[1] <= start
                      else call_start[i - 1] + start - p[0])
            call_start[i], call_end[i] = at, at + end - start
        elif what == 0:
            back = kept[i][1] - ops[kept[i][3]][1]
            call_end[i] = call_start[i] if gone == "return" else max(call_start[i], max(call_start[i], op_end[kept[i][3]]) + back)
        else:
            start, end, kind, before, call = ops[i]
            times = [] if critical[i] else [start]
            if before is not None:
                lag = start - ops[before][1]
                times.append(op_end[before] + (lag if critical[i][1] == "before" else min(lag, usual["before"])))
            for ns, _ in edges(kept, ops[i]):
                lag = start - ns
                from_ns = call_start[call] if ns == kept[call][0] else call_end[call]
                times.append(from_ns + (lag if critical[i][1] == "launch" else min(lag, usual["launch"])))
            op_end[i] = max(times) + (0 if gone == "compute" and kind == "kernel" else end - start)
    return max([*op_end.values(), *call_end.values()])


def check_savings(path):
    for row in path["names"] + path["regions"]:
        if row["saved_removed_ns"] is not None and not 0 <= row["saved_halved_ns"] <= row["saved_removed_ns"] <= row["ns"]:
            return f"more is saved than there is: {row}"
    for s in path["savings"]:
        if s["part"] != "return" and not 0 <= s["saved_halved_ns"] <= s["saved_removed_ns"] <= path["parts"][s["part"] + "_ns"]:
            return f"more is saved than there is: {s}"
    return None


def check_second(path, works, launch_of, threads):
    if len(threads) != 1 or len({(w[2], w[3]) for w in works}) != 1 or any(w[1].startswith(("nccl", "rccl")) for w in works):
        return None
    kept, ops = graph(works, launch_of, next(iter(threads.values())))
    first = min([c[0] for c in kept] + [op[0] for op in ops])
    want = {s["part"]: s["saved_removed_ns"] for s in path["savings"]}
    for gone in ("compute", "return", None):
        if gone and gone not in want:
            continue
        wall = simulate(kept, ops, gone) - first
        got = path["simulated_ns"] - (want[gone] if gone else 0)
        if wall != got:
            return f"without {gone} {wall} is left, lpo says {got}"
    return None


def compare(lpo, file):
    works, launch_of, threads = read(file)
    done = subprocess.run([lpo, "report", file, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    doc = json.loads(done.stdout)
    paths = doc.get("critical_path", [])
    if not works:
        return "a path without work" if paths else None
    if len({w[2] for w in works}) == 1 and len(paths) != 1:
        return f"{len(paths)} paths"
    for p in paths:
        if sum(p["parts"].values()) != p["wall_ns"]:
            return f"the parts are {sum(p['parts'].values())}, the wall time {p['wall_ns']}"
        if not p["fits"] or abs(p["simulated_ns"] - p["wall_ns"]) > p["wall_ns"] / 100:
            return f"simulated {p['simulated_ns']}, measured {p['wall_ns']}"
        wrong = check_savings(p)
        if wrong:
            return wrong
        for s in p["steps"]:
            if sum(s["parts"].values()) > s["wall_ns"]:
                return f"more than the step: {s}"
    spans = [(a, b) for calls in threads.values() for a, b, _ in calls] + [(w[4], w[5]) for w in works]
    wall = max(b for _, b in spans) - min(a for a, _ in spans)
    if len(paths) == 1 and paths[0]["wall_ns"] != wall:
        return f"the file takes {wall}, the path {paths[0]['wall_ns']}"
    return check_second(paths[0], works, launch_of, threads) if len(paths) == 1 else None


if __name__ == "__main__":
    sys.exit(oracle.check_all(compare))
