#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`steps` of report.json against a second reading of every Kineto file with ProfilerStep ranges: each
step's wall time, and the parts of what it launched on the GPU, from lists of intervals. As TAP."""
import json
import pathlib
import re
import statistics
import subprocess
import sys
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402


def talks(name):
    return "nccl" in name.lower() or "rccl" in name.lower()


def steps_of(path):
    works, calls, ranges, _, _ = oracle.events(path)
    steps = sorted((pid, start, end, name) for name, pid, tid, start, end in ranges if re.fullmatch(r"ProfilerStep#\d+", name))
    out = []
    for i, (pid, start, end, name) in enumerate(steps):
        nxt = steps[i + 1] if i + 1 < len(steps) and steps[i + 1][0] == pid else None
        by = defaultdict(list)
        for w in works:
            call = calls.get(w[6])
            if call and call[2] == pid and start <= call[0] <= end and not (nxt and call[0] >= nxt[1]):
                by[w[2]].append(w)
        best = None
        for device, mine in sorted(by.items()):
            spans = lambda keep: [(w[4], w[5]) for w in mine if keep(w)]  # noqa: E731
            compute = oracle.union(spans(lambda w: w[0] == "kernel" and not talks(w[1])))
            kernels = oracle.union(spans(lambda w: w[0] == "kernel"))
            busy = oracle.union(spans(lambda w: True))
            span = max(w[5] for w in mine) - min(w[4] for w in mine)
            if best is None or span > best[0]:
                best = [span, compute, kernels - compute, busy - kernels, span - busy]
        out.append([name, (nxt[1] if nxt else end) - start, *(best or [None] * 5)])
    return out


def compare(lpo, path):
    want = steps_of(path)
    done = subprocess.run([lpo, "report", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    doc = json.loads(done.stdout)
    if not want:
        return None if doc.get("steps", {}).get("named_by") != "the PyTorch profiler" else "steps that are not there"
    keys = ("name", "wall_ns", "gpu_ns", "compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")
    got = [[s[k] for k in keys] for s in doc["steps"]["steps"]]
    if got != want:
        return f"want {want[:2]}, got {got[:2]}"
    if len(want) > 1 and want[-1][2] is None and want[-2][2] is not None:  # the end of the recording cut it
        want.pop()
    group = doc["steps"]["groups"][0]
    if group["count"] != len(want) or group["wall_ns"] != int(statistics.median(w[1] for w in want)):
        return f"groups: {group}"
    return None


if __name__ == "__main__":
    sys.exit(oracle.check_all(compare))
