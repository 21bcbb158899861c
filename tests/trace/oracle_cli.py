#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo top --json` and `lpo regions --json` on every Kineto file at hand, against the definitions of
the design page worked out by oracle_kineto.py's slow reader: kernels, busy and idle, gaps by cause,
communication and what of it is exposed, kernels per path of annotations. As TAP."""
import glob
import json
import os
import subprocess
import sys
from collections import defaultdict

import oracle_kineto as oracle


def merged(spans):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def without(spans, cover):
    """Length of the union of `spans` that no span of `cover` covers."""
    return oracle.union(spans + cover) - oracle.union(cover)


def gaps(works):
    """(start, end, launch start or None) of one stream: cause to [count, ns]."""
    found = {"host": [0, 0], "dependency": [0, 0], "other": [0, 0]}
    end = None
    for start, stop, launch in works:
        if end is not None and start > end:
            late = launch is not None and launch > end
            row = found["host" if late else "dependency" if start - end < 30000 else "other"]
            row[0] += 1
            row[1] += start - end
        end = stop if end is None else max(end, stop)
    return found


def devices(works, calls):
    by = defaultdict(list)
    for w in works:
        by[w[2]].append(w)
    rows = {}
    for device, mine in by.items():
        spans = [(w[4], w[5]) for w in mine]
        kernels = [w for w in mine if w[0] == "kernel"]
        talk = [(w[4], w[5]) for w in kernels if "nccl" in w[1].lower() or "rccl" in w[1].lower()]
        compute = [(w[4], w[5]) for w in kernels if not ("nccl" in w[1].lower() or "rccl" in w[1].lower())]
        span = max(b for _, b in spans) - min(a for a, _ in spans)
        streams = defaultdict(list)
        for w in mine:
            call = calls.get(w[6])
            streams[w[3]].append((w[4], w[5], call[0] if call else None))
        total = {"host": [0, 0], "dependency": [0, 0], "other": [0, 0]}
        for name, list_ in streams.items():
            for cause, (n, t) in gaps(sorted(list_, key=lambda x: x[0])).items():
                total[cause][0] += n
                total[cause][1] += t
        rows[device] = {
            "gpu_ops": len(mine), "span_ns": span, "busy_ns": oracle.union(spans),
            "idle_ns": span - oracle.union(spans), "compute_ns": oracle.union(compute),
            "communication_ns": oracle.union(talk), "exposed_communication_ns": without(talk, compute),
            "gaps": {c: {"count": n, "ns": t} for c, (n, t) in total.items()},
        }
    return rows


def paths(works, calls, ranges):
    """Path of annotations to [launches, ns], parents included; and what lies in none."""
    by = defaultdict(list)
    for i, (name, pid, tid, start, end) in enumerate(ranges):
        by[pid, tid].append((start, -end, i, name))
    for list_ in by.values():
        list_.sort()
    table, outside = defaultdict(lambda: [0, 0]), [0, 0]
    for kind, name, device, stream, start, end, corr, size in works:
        if kind != "kernel":
            continue
        call = calls.get(corr)
        around = []
        if call:
            around = [r[3] for r in by[call[2], call[3]] if r[0] <= call[0] and -r[1] >= -call[1]]
        if not around:
            outside[0] += 1
            outside[1] += end - start
        for n in range(1, len(around) + 1):
            row = table["/".join(p.replace("/", "\\/") for p in around[:n])]
            row[0] += 1
            row[1] += end - start
    return dict(table), outside


def run(lpo, *args):
    done = subprocess.run([lpo, *args, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def compare(lpo, path):
    works, calls, ranges, ops, rank = oracle.events(path)
    want = sorted([n, c, t] for n, c, t in oracle.kernel_sums(works))
    got = sorted([k["name"], k["launches"], k["gpu_ns"]] for k in run(lpo, "top", path)["kernels"])
    yield "top", want, got

    doc = run(lpo, "regions", path)
    want = devices(works, calls)
    got = {d["device"]: {k: d[k] for k in want.get(d["device"], {})} for d in doc["devices"]}
    yield "devices", want, got

    want, outside = paths(works, calls, ranges)
    rows = doc["scopes"][0]["regions"] if doc["scopes"] else []
    got = {r["path"]: [r["launches"], r["gpu_ns_inclusive"]] for r in rows if r["launches"] and r["kind"] == "push_pop"}
    yield "regions", want, got
    got = [[r["launches"], r["gpu_ns_inclusive"]] for r in rows if r["kind"] == "outside"]
    yield "outside", outside, got[0] if got else [0, 0]


def main():
    lpo, root = os.environ["LPO_BIN"], os.environ["LPO_SOURCE_ROOT"]
    files, failed = oracle.files(root), 0
    print(f"1..{len(files)}")
    for i, path in enumerate(files, 1):
        why = ""
        try:
            for what, want, got in compare(lpo, path):
                if want != got and not why:
                    keys = want if isinstance(want, dict) else []
                    odd = next(((k, want[k], got.get(k)) for k in keys if want[k] != got.get(k)), (want, got))
                    why = f": {what}: {str(odd)[:600]}"
        except RuntimeError as e:
            why = f": {e}"
        print(f"{'not ok' if why else 'ok'} {i} - {os.path.basename(path)}{why}")
        failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
