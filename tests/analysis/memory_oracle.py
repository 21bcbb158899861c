#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`memory` of report.json against a second reading: of memory snapshots by Python's own pickle, of every Kineto file by
lists of what was open when memory was asked for. Peak, what was reserved then, owners and pools. As TAP."""
import glob
import gzip
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402

OF_TORCH = re.compile(r"/torch/|<frozen|<eval_with_key>")


def peak_of(events):
    """(allocated, reserved, index) of the first largest of [(…, allocated, reserved)]."""
    best = max(range(len(events)), key=lambda i: (events[i][0], -i))
    return (*events[best], best)


def live_after(events):
    """Owners of what is in use after all of [(address, bytes, owner)]."""
    live = {}
    for address, size, owner in events:
        live.pop(address, None)
        if size > 0:
            live[address] = (size, owner)
    return list(live.values())


def grouped(live):
    sums = defaultdict(lambda: [0, 0])
    for size, owner in live:
        if owner is not None:
            sums[owner][0] += 1
            sums[owner][1] += size
    return {owner: tuple(v) for owner, v in sums.items()}


# --- snapshots


def owner_of(frames):
    if not frames:
        return None
    places, op = {}, None  # the first frame of each kind: the program's own, of a package, of torch or Python
    for f in frames:
        if f["filename"].endswith(".py"):
            kind = 2 if OF_TORCH.search(f["filename"]) else 1 if "-packages/" in f["filename"] else 2 * ("/lib/python" in f["filename"])
            places.setdefault(kind, "/".join(f["filename"].split("/")[-2:]) + f"({f['line']}): {f['name']}")
        elif not places:
            found = re.match(r"at::_ops::(\w+)::|torch::autograd::generated::(\w+)::", f["name"])
            if found:
                op = "aten::" + found[1] if found[1] else found[2]
    return (places[min(places)] if places else None, op, None)


def snapshot(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        data = pickle.load(f)  # our own file
    out = []
    for device, events in enumerate(data["device_traces"]):
        mine = [s for s in data["segments"] if s["device"] == device]
        blocks = [b for s in mine for b in s["blocks"] if b["state"] == "active_allocated"]
        allocated, reserved = sum(b["requested_size"] for b in blocks), sum(s["total_size"] for s in mine)
        history = []  # from the end to the beginning, then turned round
        for e in reversed(events):
            history.append((allocated, reserved))
            allocated += {"alloc": -e["size"], "free_requested": e["size"]}.get(e["action"], 0)
            reserved += {"segment_alloc": -e["size"], "segment_free": e["size"]}.get(e["action"], 0)
        history = [(allocated, reserved)] + history[::-1]
        peak, reserved, at = peak_of(history)
        given = {e["addr"] for e in events if e["action"] == "alloc"}
        rows = [(b["address"], b["requested_size"], owner_of(b["frames"])) for b in blocks if b["address"] not in given]
        rows += [(e["addr"], e["size"] if e["action"] == "alloc" else -e["size"], owner_of(e["frames"]) if e["action"] == "alloc" else None)
                 for e in events[:at] if e["action"] in ("alloc", "free_requested")]
        pools = defaultdict(lambda: [0] * 8)
        for s in mine:
            p = pools[s["segment_type"]]
            free = [b["size"] for b in s["blocks"] if b["state"] == "inactive"]
            for i, v in enumerate((1, s["total_size"], s["allocated_size"], s["requested_size"], s["active_size"], sum(free),
                                   sum(free) if s["active_size"] else 0)):
                p[i] += v
            p[7] = max([p[7], *free])
        out.append({"peak": peak, "reserved": reserved, "at": (events[at - 1]["time_us"] - events[0]["time_us"]) * 1000 if at else 0,
                    "allocations": sum(e["action"] == "alloc" for e in events), "owners": grouped(live_after(rows)),
                    "pools": {k: tuple(v) for k, v in pools.items()}})
    return out


# --- traces of the profiler


def kineto(path):
    data = oracle.load(path)
    events = data if isinstance(data, list) else data["traceEvents"]
    memory, open_by, gpus = [], defaultdict(list), set()
    for e in events:
        args = e.get("args") or {}
        if e.get("name") == "[memory]" and args.get("Device Type") and "Total Allocated" in args and "Addr" in args:
            memory.append((oracle.ns(e["ts"]), args, (e["pid"], e["tid"])))
        if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation", "python_function"):
            open_by[e["pid"], e["tid"]].append((oracle.ns(e["ts"]), -oracle.ns(e["dur"]), e["cat"], e["name"], args))
        if e.get("cat") == "kernel":
            gpus.add(args.get("device"))
    devices = defaultdict(list)
    for i, (at, args, thread) in enumerate(memory):
        devices[args["Device Id"]].append((at, i, args, thread))
    out = []
    for device, rows in devices.items():
        if gpus and device not in gpus:
            continue
        rows.sort(key=lambda r: r[:2])
        peak, reserved, at = peak_of([(a["Total Allocated"], a["Total Reserved"]) for _, _, a, _ in rows])
        live = live_after([(a["Addr"], a["Bytes"], (t, thread)) for t, _, a, thread in rows[:at + 1]])
        # an operator that makes no node has the number that comes next: the last of those with one number made the node
        forward = {}
        for thread, frames in open_by.items():
            own = any(f[4].get("Fwd thread id") for f in frames if f[2] == "cpu_op")  # what autograd's threads run counts last
            for f in frames:
                number = f[4].get("Sequence number")
                if f[2] == "cpu_op" and number is not None and not is_backward(f[3]):
                    forward[number] = max(forward.get(number, (False, 0, thread)), (not own, f[0], thread), key=lambda x: x[:2])
        owners = grouped([(size, describe(open_by[o[1]], o[0], open_by, forward)) for size, o in live])
        out.append({"peak": peak, "reserved": reserved, "at": rows[at][0] - rows[0][0], "owners": owners,
                    "allocations": sum(a["Bytes"] > 0 for _, _, a, _ in rows)})
    return out


def is_backward(name):
    return "Backward" in name or name.startswith("autograd::engine::evaluate_function: ")


def describe(frames, at, others=None, forward=None):
    around = sorted((f for f in frames if f[0] <= at < f[0] - f[1]), key=lambda f: f[:2])
    path, function, inner = [], None, 0
    for i, (_, _, cat, name, _) in enumerate(around):
        module = cat == "python_function" and name.startswith("nn.Module: ")
        if module or (cat == "user_annotation" and not re.match(r"(ProfilerStep#|step)\d+$", name)):
            path.append(name[len("nn.Module: "):] if module else name)
            inner = i + 1
        elif cat == "python_function" and name[0] != "<" and not name.startswith("torch/") and "/torch/" not in name:
            function = name
    found = None
    for part in (around[inner:], around[:inner]):
        for f in part:
            if f[2] == "cpu_op" and not found:
                found = f
            if f[2] == "cpu_op" and found[3].startswith("autograd::engine::evaluate_function: "):
                found = f
        if found:
            break
    shapes = found[4].get("Input Dims") if found else None
    place = "/".join(path) or function
    numbers = [f[4]["Sequence number"] for f in around if f[2] == "cpu_op" and "Sequence number" in f[4] and is_backward(f[3])]
    if not place and others and numbers and numbers[-1] in forward and forward[numbers[-1]][1] <= at:
        _, there, thread = forward[numbers[-1]]
        place = describe(others[thread], there)[0]
        place = place and place + " (backward)"
    return (place, found and found[3], None if shapes is None else json.dumps(shapes, separators=(",", ":")))


def compare(lpo, path, want):
    done = subprocess.run([lpo, "report", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    got = json.loads(done.stdout).get("memory", [])
    if len(got) != len(want):
        return f"want {len(want)} allocators, got {len(got)}"
    for g, w in zip(got, want):
        owners = defaultdict(lambda: (0, 0))  # one place may ask through several packages
        for o in g["owners"]:
            had = owners[o["place"], o["operator"], o["shapes"]]
            owners[o["place"], o["operator"], o["shapes"]] = (had[0] + o["allocations"], had[1] + o["bytes"])
        older = w["peak"] - sum(b for _, b in w["owners"].values())
        have = (g["peak_bytes"], g["reserved_bytes"], g["unused_bytes"], g["peak_at_ns"], g["allocations"], g["older_bytes"])
        if have != (w["peak"], w["reserved"], w["reserved"] - w["peak"], w["at"], w["allocations"], older):
            return f"want {w['peak'], w['reserved'], w['at'], w['allocations'], older}, got {have}"
        if owners != w["owners"]:
            return f"owners: {sorted(set(owners.items()) ^ set(w['owners'].items()), key=str)[:4]}"
        keys = ("segments", "reserved_bytes", "allocated_bytes", "requested_bytes", "active_bytes", "free_bytes", "split_bytes",
                "largest_free_bytes")
        pools = {p["pool"]: tuple(p[k] for k in keys) for p in g.get("pools", [])}
        if pools != w.get("pools", {}):
            return f"pools: want {w.get('pools')}, got {pools}"
    return None


def main():
    lpo, root = os.environ["LPO_BIN"], os.environ["LPO_SOURCE_ROOT"]
    cases = [(p, snapshot) for p in sorted(glob.glob(os.path.join(root, "tests/data/memory/*.pickle*")))]
    cases += [(p, kineto) for p in oracle.files(root)]
    failed, seen = 0, 0
    print(f"1..{len(cases) + 1}")
    for i, (path, read) in enumerate(cases, 1):
        want = read(path)
        seen += len(want)
        why = compare(lpo, path, want)
        print(f"{'not ok' if why else 'ok'} {i} - {os.path.basename(path)}{': ' + why[:900] if why else ''}")
        failed += bool(why)
    print(f"{'ok' if seen >= 3 else 'not ok'} {len(cases) + 1} - there were allocators to compare")
    return 1 if failed or seen < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
