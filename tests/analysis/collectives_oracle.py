#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`collectives` of report.json against a second reading of every Kineto file: time, exposed time, sizes and bandwidth of
each row, and behind which kernels collectives hide, from a walk over all moments at which something begins or ends. As TAP."""
import json
import pathlib
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402

BYTES = {"Float": 4, "float": 4, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Byte": 1, "Char": 1, "Double": 8, "Bool": 1}
KINDS = {"allreduce": ("all-reduce", lambda n: 2 * (n - 1) / n), "allgather": ("all-gather", lambda n: (n - 1) / n),
         "reducescatter": ("reduce-scatter", lambda n: (n - 1) / n), "alltoall": ("all-to-all", lambda n: (n - 1) / n),
         "broadcast": ("broadcast", lambda n: 1), "sendrecv": ("send/receive", lambda n: 1)}


def kind_of(text):
    plain = text.lower().replace("_", "").replace("-", "").replace(" ", "")
    return next((v for k, v in KINDS.items() if k in plain), ("other", None))


def kernels(path):
    data = oracle.load(path)
    out = []
    for i, e in enumerate(data if isinstance(data, list) else data["traceEvents"]):
        if isinstance(e, dict) and e.get("ph") == "X" and str(e.get("cat", "")).lower() == "kernel":
            args = e.get("args") or {}
            start = oracle.ns(e["ts"])
            out.append((args.get("device", e["pid"]), start, start + oracle.ns(e["dur"]), i, e["name"], args))
    return out


def talks(name):
    return "nccl" in name.lower() or "rccl" in name.lower()


def hidden(mine):
    """Time by (kind, kernel): each moment belongs to the computing kernel that began first."""
    moments, now, out = defaultdict(lambda: [[], []]), {}, Counter()
    for k in mine:
        if k[2] > k[1]:
            moments[k[1]][0].append(k)
            moments[k[2]][1].append(k)
    talking, before = {}, None
    for at in sorted(moments):
        if before is not None and talking and now:
            owner = min(now.values(), key=lambda k: (k[1], k[5]))
            for c in talking.values():
                out[c[6], owner[4]] += at - before
        for k in moments[at][1]:
            (talking if k[6] else now).pop(k[3])
        for k in moments[at][0]:
            (talking if k[6] else now)[k[3]] = k
        before = at
    return out


def want_of(path):
    rows, hiding = {}, Counter()
    devices = defaultdict(list)
    for device, start, end, i, name, args in kernels(path):
        said = args.get("Collective name")
        kind = kind_of(said or name) if talks(name) else (None, None)
        # of kernels that begin together the one first in the order of lpo owns the moment: the longer one
        devices[device].append((device, start, end, i, name, (-end, i), kind[0]))
        if not kind[0]:
            continue
        count = args.get("Out msg nelems" if kind[0] == "all-gather" else "In msg nelems") if said else None
        size = None if count is None or args.get("dtype") not in BYTES else count * BYTES[args["dtype"]]
        key = (kind[0], size, *(args.get(k) if said else None for k in ("dtype", "Group size", "Process Group Name")))
        row = rows.setdefault(key, [0, 0, end - start])
        row[0] += 1
        row[1] += end - start
        row[2] = min(row[2], end - start)
    for mine in devices.values():
        hiding.update(hidden(mine))
    return rows, hiding


def compare(lpo, path):
    rows, hiding = want_of(path)
    done = subprocess.run([lpo, "report", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    doc = json.loads(done.stdout).get("collectives", {"rows": [], "hidden_behind": []})
    if any(k[0] == "other" for k in rows) or any(r["kind"] == "other" for r in doc["rows"]):
        return None  # names that say nothing: what communicates is the business of the classes' own tests
    got = {(r["kind"], r["bytes"], r["dtype"], r["ranks"], r["group"]): [r["calls"], r["gpu_ns"]] for r in doc["rows"]}
    if got != {k: v[:2] for k, v in rows.items()}:
        return f"rows: want {sorted(rows.items(), key=str)[:2]}, got {sorted(got.items(), key=str)[:2]}"
    for r in doc["rows"]:
        if r["bytes"]:
            rate = r["bytes"] * r["calls"] / (r["gpu_ns"] * 1e-9)
            factor = next(f for n, f in KINDS.values() if n == r["kind"])(r["ranks"])
            if abs(r["bytes_per_s"] / rate - 1) > 1e-9 or (r["ranks"] > 1 and abs(r["bus_bytes_per_s"] / (rate * factor) - 1) > 1e-9):
                return f"bandwidth: {r}"
            best = r["bytes"] * factor / (rows[r["kind"], r["bytes"], r["dtype"], r["ranks"], r["group"]][2] * 1e-9)
            if r["ranks"] > 1 and abs(r["best_bus_bytes_per_s"] / best - 1) > 1e-9:
                return f"the fastest call: {r}"
    behind = Counter()
    for r in doc["hidden_behind"]:
        behind[r["kind"], r["kernel"]] += r["ns"]
    if behind != hiding:
        return f"hidden: want {hiding.most_common(2)}, got {behind.most_common(2)}"
    apart = sum(r["gpu_ns"] - r["exposed_ns"] for r in doc["rows"])
    return None if apart == sum(behind.values()) else f"{apart} ns are hidden, and {sum(behind.values())} behind something"


if __name__ == "__main__":
    sys.exit(oracle.check_all(compare))
