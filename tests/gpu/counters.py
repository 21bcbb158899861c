#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of known cost and bytes for tests/gpu/counters.sh; need PyTorch and a GPU.

    counters.py known OUT.json           copies and products of known bytes, with the times of each part
    counters.py compare OUT.json F.lpoc  the sampled bytes of those parts beside the known ones
    counters.py cost LPO [ROUNDS]        four programs with and without a sampler beside them, in turns
    counters.py decode SECONDS           a decode as a CUDA graph and copies, each in a range of its own, in turns
    counters.py watch OUT.json F.lpoc COMMAND...
                                         runs lpo, and reads the CPU time of its sampler from /proc from the begin of F.lpoc on
    counters.py share FOLDER CORE        what three such runs took and found: share-core, share-default, share-named
    counters.py tensor LPO               tensor cycles of products whose FLOPs are known
    counters.py truth REPORT.json REGIONS.json
                                         sampled bytes and tensor activity beside ncu's: lpo's report of trace, samples
                                         and ncu's report, and lpo's regions of ncu's report alone
    counters.py ranges REPORT.json NAME.csv...
                                         the same beside what ncu counted over whole calls of regions
    counters.py readers                  small kernels and sums that only read, for ncu: what is written then is ncu's own
    counters.py own FILE.csv             what ncu counted of that (--page raw --print-units base)
    counters.py big WITH.json WITHOUT.json
                                         what counters added to stage native, from the run.json of two runs
"""
from __future__ import annotations

import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))

COPY_BYTES, SIZE = 1 << 30, 8192
WIDE, LAYERS, REPLAYS, COPIES = 16384, 8, 50, 20  # 4 GiB of weights a replay: L2 keeps little of it
MOST_OFF = 0.02
REGION_OFF, TENSOR_OFF, KERNEL_OFF = 0.03, 0.05, 0.07
UNITS = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
NCU_8B_SECONDS = 243  # the default deep profile of such a model, docs/benchmarks.md


def timed(torch, what, seconds: float) -> tuple[float, int, int, int]:
    """Seconds per call by CUDA events, calls, and the Unix times around them."""
    what()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    what()
    end.record()
    torch.cuda.synchronize()
    calls = max(2, int(seconds * 1000 / max(start.elapsed_time(end), 1e-3)))
    time.sleep(0.05)
    begin = time.time_ns()
    start.record()
    for _ in range(calls):
        what()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / calls / 1000, calls, begin, time.time_ns()


def programs(torch) -> dict:
    a, b = (torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2))
    x, y = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    layers = [torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) * 0.01 for _ in range(32)]
    token = torch.randn(1, 4096, device="cuda", dtype=torch.bfloat16)

    def decode():
        h = token
        for w in layers:
            h = torch.nn.functional.rms_norm(h + torch.nn.functional.silu(h @ w), (4096,))
        return h

    for _ in range(3):
        decode()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        decode()
    return {"copy": lambda: a.copy_(b), "gemm": lambda: x @ y, "graph decode": graph.replay, "eager decode": decode}


def known(path: str) -> int:
    import torch

    parts = {}
    for name, what in programs(torch).items():
        seconds, calls, begin, end = timed(torch, what, 0.8)
        parts[name] = {"seconds": seconds, "calls": calls, "begin": begin, "end": end}
        print(f"{name}: {calls} calls of {seconds * 1e6:.1f} us", flush=True)
        time.sleep(0.2)
    parts["copy"]["read"] = parts["copy"]["write"] = COPY_BYTES
    for name in ("graph decode", "eager decode"):  # 1 GiB of weights: L2 keeps little of it
        parts[name]["read"] = 32 * 4096 * 4096 * 2
    with open(path, "w", encoding="utf-8") as f:
        json.dump(parts, f)
    return 0


def compare(path: str, samples: str) -> int:
    import lpoc

    with open(path, encoding="utf-8") as f:
        parts = json.load(f)
    with open(samples, "rb") as f:
        facts, metrics, items = lpoc.read(f.read(), check=False)
    print(facts, [m[0] for m in metrics])
    print("not samples:", [i for i in items if i[0] != "sample"])
    failed = 0
    for name, part in parts.items():
        sums, time_ns = [0.0] * len(metrics), 0
        for item in items:
            if item[0] == "sample" and part["begin"] - 1000000 <= item[1] and item[2] <= part["end"] + 1000000:
                time_ns += item[2] - item[1]
                for k, value in enumerate(item[3]):
                    if value is not None:
                        sums[k] += value * (item[2] - item[1] if metrics[k][2] == lpoc.SHARE else 1)
        shown = {m[0].split(".")[0]: round(s / time_ns, 2) if m[2] == lpoc.SHARE and time_ns else s / part["calls"]
                 for m, s in zip(metrics, sums)}
        print(name, f"{time_ns / 1e9:.3f} s of samples; per call:", json.dumps(shown))
        for key, meaning in (("read", 1), ("write", 2)):
            if key not in part or not time_ns:
                continue
            got = sum(s for m, s in zip(metrics, sums) if m[1] == meaning) / part["calls"]
            off = got / part[key] - 1
            strict = name == "copy"
            failed |= strict and abs(off) > MOST_OFF
            print(f"  {key}: {got:.4g} bytes a call, {part[key]:.4g} known: {100 * off:+.2f} %"
                  f"{'  DIFFERS' if strict and abs(off) > MOST_OFF else ''}")
    return failed


def cost(lpo: str, rounds: int) -> int:
    import torch

    found: dict[str, dict[bool, list[float]]] = {}
    todo = programs(torch)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(2 * rounds):
            sampled = (i % 4) in (1, 2)  # A B B A: a drift of the clocks cancels
            child = None
            if sampled:
                child = subprocess.Popen([lpo, "sample-counters", "-o", os.path.join(folder, "x.lpoc")], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                line = child.stdout.readline().strip()
                if not line.startswith("ready"):
                    print(line)
                    return 1
            for name, what in todo.items():
                found.setdefault(name, {False: [], True: []})[sampled].append(timed(torch, what, 0.3)[0])
            if child:
                child.stdin.close()
                print(child.stdout.read().strip(), flush=True)
                child.wait()
    for name, times in found.items():
        off, on = statistics.median(times[False]), statistics.median(times[True])
        spread = (max(times[False]) - min(times[False])) / off
        print(f"cost of sampling, {name}: {off * 1e6:.2f} -> {on * 1e6:.2f} us ({100 * (on / off - 1):+.2f} %; "
              f"without it the rounds differ by {100 * spread:.2f} %)")
    return 0


def decode(seconds: float) -> int:
    import torch

    a, b = (torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2))
    layers = [torch.randn(WIDE, WIDE, device="cuda", dtype=torch.bfloat16) * 0.01 for _ in range(LAYERS)]
    token = torch.randn(1, WIDE, device="cuda", dtype=torch.bfloat16)

    def step():
        h = token
        for w in layers:
            h = torch.nn.functional.silu(h @ w)
        return h

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    end, calls = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for name, times, what in (("decode", REPLAYS, graph.replay), ("copy", COPIES, lambda: a.copy_(b))):
            torch.cuda.nvtx.range_push(name)
            for _ in range(times):
                what()
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_pop()
            time.sleep(0.003)
        calls += 1
    print(f"{calls} calls of decode and copy", flush=True)
    return 0


def cpu_ticks(parent: int) -> int | None:
    """CPU time of the sampler that `parent` has started; None: there is none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                stat = f.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:  # it has ended
            continue
        if int(stat[1]) == parent and words[1:2] == [b"sample-counters"]:
            return int(stat[11]) + int(stat[12])
    return None


def watch(path: str, samples: str, *command: str) -> int:
    readings = []
    with subprocess.Popen(command) as child:
        while child.poll() is None:
            ticks = cpu_ticks(child.pid) if os.path.exists(samples) else None
            if ticks is not None:
                readings.append((time.monotonic(), ticks))
            time.sleep(0.25)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"ticks_a_second": os.sysconf("SC_CLK_TCK"), "readings": readings}, f)
    return child.returncode


def by_proc(folder: str, from_share: float) -> float:
    """The share of a core from this part of the time on, by /proc."""
    with open(folder + ".json", encoding="utf-8") as f:
        found = json.load(f)
    readings = found["readings"][int(len(found["readings"]) * from_share):]
    if len(readings) < 2:
        return math.nan
    return (readings[-1][1] - readings[0][1]) / found["ticks_a_second"] / (readings[-1][0] - readings[0][0])


def share(folder: str, core: str) -> int:
    """The last half of a run must keep to the budget; bytes of a call must be those of the run without one, and the known ones."""
    import lpoc

    calls: dict[str, dict[str, float]] = {}
    failed = False
    for name in ("core", "default", "named"):
        run = os.path.join(folder, "share-" + name)
        with open(os.path.join(run, "gpu0.lpoc"), "rb") as f:
            facts, metrics, items = lpoc.read(f.read(), check=False)
        times = [i for i in items if i[0] == "sample"]
        totals = next(i[1] for i in items if i[0] == "end")
        paces = [f"{int(facts['interval_ns']) / 1e6:g} ms"]
        paces += [f"from {(i[1] - times[0][1]) / 1e9:.1f} s on {i[2] / 1e6:g} ms (rounds of {i[3] / 1e6:g} ms)" for i in items if i[0] == "interval"]
        lost = {why: sum(i[2] - i[1] for i in items if i[0] == "loss" and i[4] == why) / 1e9 for why in {i[4] for i in items if i[0] == "loss"}}
        rest = by_proc(os.path.join(run, "share-" + name), 0.5)
        print(f"{name}: {len(metrics)} metrics, {len(times)} samples in {totals[7] / 1e9:.1f} s, {'; '.join(paces)}")
        print(f"  of one core: {100 * totals[4] / totals[7]:.2f} % by the file, {100 * by_proc(os.path.join(run, 'share-' + name), 0):.2f} % by /proc, "
              f"{100 * rest:.2f} % in its last half; seconds lost by reason: {lost}")
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            for note in next(s for s in json.load(f)["stages"] if s["name"] == "counters")["notes"]:
                print(" ", note)
        if name != "default" and not rest <= 1.1 * float(core):  # a tick is 10 ms
            failed = True
            print("  DIFFERS: more than the budget")
        _, rows = aggregate(os.path.join(run, "report.json"))
        for region in ("decode", "copy"):
            row = rows.get(region, {})
            if not row.get("visits") or "dram_bytes_read" not in row:
                failed = True
                print(f"  {region}: no bytes  DIFFERS")
                continue
            calls.setdefault(region, {})[name] = (row["dram_bytes_read"] + row["dram_bytes_written"]) / row["visits"]
    known = {"decode": REPLAYS * LAYERS * WIDE * WIDE * 2, "copy": COPIES * COPY_BYTES * 2}
    for region, found in calls.items():
        for name, got in found.items():
            off = got / known[region] - 1
            bad = abs(off) > MOST_OFF
            failed |= bad
            against = f", {100 * (got / found['default'] - 1):+.3f} % against no limit" if "default" in found else ""
            print(f"{region}, {name}: {got:.6g} DRAM bytes a call, {known[region]:.6g} known: {100 * off:+.3f} %{against}{'  DIFFERS' if bad else ''}")
    return int(failed)


def tensor(lpo: str) -> int:
    """An SM does 4,096 FLOPs of bf16 a cycle on its four tensor cores, whose cycles the counter adds up; cuBLAS pads the
    first product to tiles of 320 rows, 26 of them. The counts must be equal, or every SM of this GPU has another rate."""
    import lpoc
    import torch

    name = "sm__pipe_tensor_cycles_active_realtime.sum"
    failed = False
    y = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
    for rows, calls in ((SIZE, 200), (16, 8000)):
        x = torch.randn(rows, SIZE, device="cuda", dtype=torch.bfloat16)
        x @ y
        torch.cuda.synchronize()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.lpoc")
            child = subprocess.Popen([lpo, "sample-counters", "-o", path, "--interval-ns", "200000", "--metric", name], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            child.stdout.readline()
            for _ in range(calls):
                x @ y
            torch.cuda.synchronize()
            time.sleep(0.1)
            child.stdin.close()
            child.wait()
            with open(path, "rb") as f:
                _, metrics, items = lpoc.read(f.read(), check=False)
        got = sum(i[3][0] or 0 for i in items if i[0] == "sample") / calls
        needed = 2 * rows * SIZE * SIZE / 4096 * 4
        print(f"product of {rows} x {SIZE} x {SIZE}: {got:.0f} tensor cycles a call, {needed:.0f} by its FLOPs: {100 * (got / needed - 1):+.3f} %")
        failed |= not 0.999 < got / needed < 1.02
    return int(failed)


def aggregate(path: str) -> tuple[dict, dict[str, dict[str, float]]]:
    """The document, and per region what adds up; layers of a kind are one region, layer*."""
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    found: dict[str, dict[str, float]] = {}
    for r in next(s for s in document["scopes"] if s["scope"] == "aggregate")["regions"]:
        row = found.setdefault(re.sub(r"layer\.?\d+", "layer*", r["path"]), {})
        for name, metric in {"gpu_ns": {"value": r["gpu_ns_inclusive"], "how": "sum"},
                             "launches": {"value": r["launches"], "how": "sum"},
                             "visits": {"value": r["visits"], "how": "sum"}, **r["metrics"]}.items():
            if metric["value"] is None:
                continue
            adds_up = metric["how"] == "sum" or metric.get("unit") == "byte" or name.endswith(".sum")
            weight = 1 if adds_up else r["gpu_ns_inclusive"] / 100
            row[name] = row.get(name, 0) + metric["value"] * weight
    return document, found


def judged(label: str, got: float | None, want: float | None, most: float | None) -> bool:
    """Prints both; true: too far apart. most None: shown only."""
    if not want or got is None:
        print(f"  {label}: {got} sampled, {want} by ncu")
        return most is not None
    off = got / want - 1
    bad = most is not None and abs(off) > most
    print(f"  {label}: {got:.5g} sampled, {want:.5g} by ncu: {100 * off:+.2f} %{'  DIFFERS' if bad else ''}")
    return bad


def truth(report: str, regions: str) -> int:
    """Tensor activity is compared in cycles: under ncu the GPU's clock is another one, and a share of time follows it."""
    document, rows = aggregate(report)
    _, alone = aggregate(regions)
    failed = False
    for path in sorted(rows):
        row = rows[path]
        if not path.startswith(("prefill", "decode")) or "dram_bytes_read" not in row:
            continue
        print(f"{path}: {row['launches']:.0f} launches, {row['gpu_ns'] / 1e6:.3f} ms; ncu: {alone.get(path, {}).get('launches')} launches")
        judged("DRAM read", row["dram_bytes_read"], row.get("dram__bytes_read.sum"), None)
        judged("DRAM written", row["dram_bytes_written"], row.get("dram__bytes_write.sum"), None)
        judged("DRAM bytes, each kernel alone", row["dram_bytes_read"] + row["dram_bytes_written"], row.get("dram__bytes.sum"), None)
        failed |= judged("tensor cycles", row.get("sm__pipe_tensor_cycles_active_realtime.sum"), row.get("sm__pipe_tensor_cycles_active.sum"), TENSOR_OFF)
    total = sum(rows[p].get("dram__bytes.sum", 0) for p in ("prefill", "decode") if p in rows)
    print(f"kernels of 1 % of {total / 1e9:.2f} GB:")
    for kernel in document["counters"]["gpus"][0]["kernels"]:
        by_ncu, sampled = kernel.get("ncu_dram_bytes"), kernel["metrics"].get("dram_bytes_both", {})
        if not by_ncu or by_ncu * kernel["launches"] < total / 100:
            continue
        label = f"{kernel['name'][:60]} {tuple(kernel['grid'])} x {kernel['launches']}, error {sampled.get('error')}"
        failed |= judged(label, sampled.get("value"), by_ncu, KERNEL_OFF if sampled.get("value") is not None else None)
    return int(failed)


def ranges(report: str, *files: str) -> int:
    """Each file: what ncu counted from the start to the end of every call of one region (NAME.csv, --page raw)."""
    _, rows = aggregate(report)
    failed = False
    for path in files:
        name = os.path.basename(path)[:-4]
        with open(path, encoding="utf-8", newline="") as f:
            lines = [r for r in csv.reader(line for line in f if line.startswith('"'))]
        head, units, *calls = lines
        at = {h: i for i, h in enumerate(head)}
        wanted = ("dram__bytes_read.sum", "dram__bytes_write.sum", "sm__pipe_tensor_cycles_active.sum")
        scale = {m: UNITS.get(units[at[m]], 1) for m in wanted}
        kinds = {"prefill": [], "decode": []}
        for call in calls:
            text = " ".join(call[:8])
            kind = "warmup" if ":warmup:" in text else "prefill" if ":prefill:" in text else "decode"
            kinds.setdefault(kind, []).append([float(call[at[m]].replace(",", "")) * scale[m] for m in wanted])
        for kind in ("prefill", "decode"):
            region = kind if name == kind else f"{kind}/{name}" if kind == "prefill" else f"{kind}/step/{name}"
            row = rows.get(region)
            if not kinds[kind] or not row:
                continue
            read, written, tensor = (row["visits"] * statistics.mean(c[k] for c in kinds[kind]) for k in range(3))
            print(f"{region}: {row['visits']:.0f} calls sampled, {len(kinds[kind])} calls under ncu as ranges")
            judged("DRAM read", row["dram_bytes_read"], read, None)
            judged("DRAM written", row["dram_bytes_written"], written, None)
            failed |= judged("DRAM bytes", row["dram_bytes_read"] + row["dram_bytes_written"], read + written, REGION_OFF)
            failed |= judged("tensor cycles", row.get("sm__pipe_tensor_cycles_active_realtime.sum"), tensor, TENSOR_OFF)
    return int(failed)


def readers() -> int:
    """Each part begins with two sums of 256 MiB, which leave nothing in L2 that has to be written, and ends with a third."""
    import torch

    large, small, out = torch.ones(64 << 20, device="cuda"), torch.zeros(1, device="cuda"), torch.zeros((), device="cuda")
    for between in (0, 25, 50, 100, 200, 400, 0):
        for _ in range(2):
            torch.sum(large, dim=0, out=out)
        for _ in range(between):
            small.add_(1)
        torch.sum(large, dim=0, out=out)
        torch.cuda.synchronize()
    return 0


def own(path: str) -> int:
    """A sum writes four bytes: the rest of what is written while it runs are lines that ncu left in L2 when it profiled the
    kernels before it."""
    with open(path, encoding="utf-8", newline="") as f:
        head, _, *lines = [r for r in csv.reader(line for line in f if line.startswith('"'))]
    at = {h: i for i, h in enumerate(head)}
    between, found = 0, []
    for line in lines:
        written = float(line[at["dram__bytes_write.sum"]].replace(",", ""))
        if "reduce" in line[at["Kernel Name"]]:
            found.append((between, written))
            between = 0
        else:
            between += 1
    for between, written in found[3:]:  # before these the arrays were filled
        if between:
            print(f"a sum that only reads, after {between} kernels of 4 bytes: {written / 1e6:.2f} MB written, {written / 1e3 / between:.0f} KB a kernel")
    alone = [written for between, written in found[3:] if not between]
    print(f"the same after another sum: {min(alone) / 1e6:.2f} to {max(alone) / 1e6:.2f} MB")
    return 0


def big(with_counters: str, without: str) -> int:
    stages = []
    for path in (with_counters, without):
        with open(path, encoding="utf-8") as f:
            stages.append({s["name"]: s for s in json.load(f)["stages"]})
    for name, found in zip(("with counters", "without"), stages):
        native = found["native"]
        program = sum(step["wall_ns"] for step in native["steps"])
        print(f"{name}: stage native {native['wall_ns'] / 1e9:.2f} s, its program {program / 1e9:.2f} s, "
              f"around it {(native['wall_ns'] - program) / 1e9:.2f} s")
    for note in stages[0]["counters"]["notes"]:
        print(" ", note)
    took = [s["native"]["wall_ns"] / 1e9 for s in stages]
    print(f"counters add {took[0] - took[1]:+.2f} s; ncu's {NCU_8B_SECONDS} s are {NCU_8B_SECONDS / took[0]:.1f} times the stage with counters")
    return int(stages[0]["counters"]["state"] != "done" or took[0] > took[1] + 2)


COMMANDS = {
    "known": known, "compare": compare, "cost": lambda lpo, rounds="5": cost(lpo, int(rounds)), "decode": lambda seconds: decode(float(seconds)),
    "watch": watch, "share": share, "tensor": tensor, "truth": truth, "ranges": ranges, "readers": readers, "own": own, "big": big,
}

if __name__ == "__main__":
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
