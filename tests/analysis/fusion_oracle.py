#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`fusion` of report.json against every Kineto file: how many short kernels stand in runs and how long they take, counted
again; and each sequence is looked for in the runs: it comes at least as often as lpo says, and the time of as many places
lies between the shortest and the longest. As TAP."""
import json
import pathlib
import subprocess
import sys
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402

FUSED = {"elementwise", "norm", "softmax", "rotary", "reduction", "copy", "indexing", "quantize"}


def runs_of(path, classes):
    """Lists of (name, start, end); kernels of a graph share a launch with others or name their graph."""
    works, calls, _, _, _ = oracle.events(path)
    graphs = {corr for corr, call in calls.items() if "GraphLaunch" in call[4]}
    doc = oracle.load(path)
    named = {e["args"]["correlation"] for e in (doc["traceEvents"] if isinstance(doc, dict) else doc)
             if e.get("args", {}).get("graph id") and "correlation" in e["args"]}
    streams = defaultdict(list)
    for kind, name, device, stream, start, end, corr, _ in works:
        streams[device, stream].append((start, end, kind, name, corr in graphs or corr in named))
    out = []
    for works in streams.values():
        run = []
        for start, end, kind, name, graph in sorted(works, key=lambda w: w[0]):
            fits = kind == "kernel" and not graph and end - start < 10000 and classes.get(name) in FUSED
            if run and (not fits or start - run[-1][2] >= 1000000):
                out.append(run)
                run = []
            if fits:
                run.append((name, start, end))
        out.append(run)
    return [r for r in out if len(r) > 1]


def found(runs, names):
    """Times of the places of a sequence, from the left, that do not overlap."""
    times = []
    for run in runs:
        i = 0
        while i + len(names) <= len(run):
            if all(run[i + k][0] == n for k, n in enumerate(names)):
                times.append(sum(b - a for _, a, b in run[i:i + len(names)]))
                i += len(names)
            else:
                i += 1
    return sorted(times)


def compare(lpo, path):
    done = subprocess.run([lpo, "report", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    doc = json.loads(done.stdout)
    classes = {k["name"]: k["class"] for k in doc.get("kernels", [])}
    runs = runs_of(path, classes)
    fusion = doc.get("fusion")
    if not fusion:
        pairs = defaultdict(int)
        for run in runs:
            for a, b in zip(run, run[1:]):
                pairs[a[0], b[0]] += a[0] != b[0]
        return "a pair that comes three times" if any(n >= 3 for n in pairs.values()) else None
    want = (sum(map(len, runs)), sum(b - a for run in runs for _, a, b in run))
    if (fusion["short_kernels"], fusion["gpu_ns"]) != want:
        return f"short kernels: {fusion['short_kernels']}, {fusion['gpu_ns']}; want {want}"
    if sum(s["count"] * len(s["kernels"]) for s in fusion["sequences"]) > fusion["short_kernels"]:
        return "more kernels in sequences than there are"
    for s in fusion["sequences"]:
        times = found(runs, [k["name"] for k in s["kernels"]])
        if len(times) < s["count"] or s["count"] < 3:
            return f"{len(times)} places: {s}"
        if not sum(times[:s["count"]]) <= s["gpu_ns"] <= sum(times[-s["count"]:]):
            return f"its time is not that of {s['count']} places: {s}"
        if not 0 <= s["rest_ns"] < s["gpu_ns"]:
            return f"the rest: {s}"
    return None


if __name__ == "__main__":
    sys.exit(oracle.check_all(compare))
