#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`launch_queue` of report.json against a second count of every Kineto file: one up at each launch, one down at the start
of its work (the queue length of Holistic Trace Analysis), delays by sorting, depths by a table of times. As TAP."""
import json
import pathlib
import subprocess
import sys
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402


def summed(waits):
    delays = sorted(b - a for a, b in waits)
    rank = lambda p: delays[max(0, -(-len(delays) * p // 100) - 1)]  # noqa: E731
    edges = sorted([(a, 0) for a, _ in waits] + [(b, 1) for _, b in waits])
    at, depth, most, spent = edges[0][0], 0, 0, defaultdict(int)
    for ns, down in edges:
        spent[depth] += ns - at
        at, depth = ns, depth + (-1 if down else 1)
        most = max(most, depth)
    span = edges[-1][0] - edges[0][0]

    def depth_at(p):
        total = 0
        for d in range(most + 1):
            total += spent[d]
            if total >= span // 100 * p + span % 100 * p // 100:
                return d
        return most
    return {"launches": len(waits), "delay_min_ns": delays[0], "delay_median_ns": rank(50), "delay_p90_ns": rank(90),
            "delay_p99_ns": rank(99), "delay_max_ns": delays[-1], "delay_sum_ns": sum(delays), "depth_median": depth_at(50),
            "depth_p90": depth_at(90), "depth_max": most, "span_ns": span, "empty_ns": spent[0]}


def queues(path):
    works, calls, _, _, _ = oracle.events(path)
    first, skewed = {}, defaultdict(int)
    for _, _, device, stream, start, _, corr, _ in sorted(works, key=lambda w: w[4]):
        call = calls.get(corr)
        if call and (device, stream, corr) not in first:
            first[device, stream, corr] = (call[0], start)
    devices = defaultdict(lambda: defaultdict(list))
    for (device, stream, _), wait in first.items():
        if wait[0] > wait[1]:
            skewed[device] += 1
        else:
            devices[device][stream].append(wait)
    return devices, skewed


def compare(lpo, path):
    devices, skewed = queues(path)
    done = subprocess.run([lpo, "report", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    got = json.loads(done.stdout).get("launch_queue", [])
    if [g["scope"].split(":")[-1] for g in got] != [str(d) for d in sorted(devices)]:
        return f"GPUs: {[g['scope'] for g in got]}, want {sorted(devices)}"
    for g, device in zip(got, sorted(devices)):
        want = summed([w for waits in devices[device].values() for w in waits])
        wrong = {k: (g[k], v) for k, v in want.items() if g[k] != v}
        if wrong or g["skewed"] != skewed[device]:
            return f"device {device}: {wrong}, {g['skewed']} skewed"
        if [s["stream"] for s in g["streams"]] != sorted(devices[device]):
            return f"streams of device {device}"
        for s in g["streams"]:
            want = summed(devices[device][s["stream"]])
            wrong = {k: (s[k], v) for k, v in want.items() if s[k] != v}
            if wrong:
                return f"stream {s['stream']}: {wrong}"
    return None


if __name__ == "__main__":
    sys.exit(oracle.check_all(compare))
