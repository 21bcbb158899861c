# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/windows.sh: a decode of 64 steps, eager or as a CUDA graph, and two traces of it compared.

    windows.py run eager|graph
    windows.py compare FULL.lpot PART.lpot RANGE PERCENT     the recorded calls of RANGE against the same calls of the full trace:
        kernels by name must be equal; the mean GPU time of a call, and of each region in it, may differ by PERCENT.
        A part that has no regions in the call (a graph captured before CUPTI came) is compared without them
"""
import statistics
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/gpu"), str(ROOT / "tests/collect")]


# How a copy in a CUDA graph looks that was made before CUPTI came: the driver's kernel, no copy.
COPY_KERNEL = "memcpy_post"


def run(kind):
    import torch
    import collect_bench

    with torch.inference_mode():
        model, _ = collect_bench.make_model(8)
        collect_bench.range_hooks(model)
        ids = torch.arange(64, device="cpu").reshape(1, 64).to("cuda")
        if kind == "eager":
            print("decode", collect_bench.generate(model, ids, 64)[1])
            return
        graph, token = collect_bench.capture_step(model, ids)
        print("graph_decode", collect_bench.replay(graph), token.shape)


def calls_of(trace, name):
    """Kernels of each call of a range: the launch lies in it."""
    spans = sorted((r[3], r[4]) for r in trace.ranges if r[2] == name and r[4] is not None)
    found, at = [[] for _ in spans], 0
    for work in sorted((w for w in trace.kernels() if w["launched"] is not None), key=lambda w: w["launched"]):
        while at < len(spans) and spans[at][1] < work["launched"]:
            at += 1
        if at < len(spans) and spans[at][0] <= work["launched"]:
            found[at].append(work)
    return found


def gpu_ns(call):
    """A whole graph launch counts once."""
    whole = {id(w["whole"]): w["whole"] for w in call if "whole" in w}
    return sum(w["end"] - w["start"] for w in [*(w for w in call if "whole" not in w), *whole.values()] if "end" in w)


def regions_ns(calls, name):
    """Mean GPU time in a call of each region under the range; of kernels that have times of their own."""
    total = Counter()
    for work in (w for call in calls for w in call if "end" in w and w["path"] and name in w["path"]):
        path = work["path"][work["path"].index(name):]
        for depth in range(2, len(path) + 1):
            total["/".join(path[:depth])] += work["end"] - work["start"]
    return {path: ns / len(calls) for path, ns in total.items()}


def compare(full_path, part_path, name, percent):
    from lpot import Trace

    full, part = Trace(full_path), Trace(part_path)
    all_calls, some = calls_of(full, name), calls_of(part, name)
    seen, recorded = part.window_calls
    first, every, row = (int(part.facts["LPO_COLLECT_CAPTURE_" + k]) for k in ("FIRST", "EVERY", "IN_A_ROW"))
    wrong = []
    if len(some) != recorded or seen != len(all_calls):
        wrong.append(f"{len(some)} calls in the file, {recorded} of {seen} by its own count, {len(all_calls)} in the full trace")
    lost = sum(1 for w in part.works if w["path"] is None)
    if lost:
        wrong.append(f"{lost} GPU operations without a launch")
    for i, call in enumerate(some):
        number = first + i // row * row * every + i % row
        like = all_calls[number - 1]
        here, there = (Counter(w["name"] for w in some_call if w["name"] != COPY_KERNEL) for some_call in (call, like))
        if here != there:
            wrong.append(f"call {number}: {len(call)} kernels, {len(like)} in the full trace")
            if len(wrong) == 1:
                print(f"  only here: {dict(here - there)}\n  only in the full trace: {dict(there - here)}")
    times = [gpu_ns(c) for c in some]
    mean, of_all = statistics.mean(times), statistics.mean(gpu_ns(c) for c in all_calls)
    away = 100 * mean / of_all - 100
    if abs(away) > percent:
        wrong.append(f"mean GPU time of a call is {away:+.1f} % away")
    of_regions, recorded_regions = regions_ns(all_calls, name), regions_ns(some, name)
    off = {path: 100 * recorded_regions.get(path, 0) / ns - 100 for path, ns in of_regions.items()}
    worst = max(off, key=lambda path: abs(off[path]), default=None)
    if recorded_regions and abs(off[worst]) > percent:
        wrong.append(f"region {worst} is {off[worst]:+.1f} % away")
    launches = len(part.kernels()) + part.totals.get(18, 0)
    print(f"{name}: {recorded} of {seen} calls, {sum(map(len, some))} kernels; GPU time of a call {mean / 1e3:.1f} us "
          f"(spread {min(times) / 1e3:.1f} to {max(times) / 1e3:.1f}), of all {of_all / 1e3:.1f} us: {away:+.2f} %; launches counted "
          f"{launches}, in the full trace {len(full.kernels())}; {len(part.windows)} windows, {len(part.calls)} calls that can block")
    if recorded_regions:
        print(f"{len(off)} regions in it; most away is {worst}: {off[worst]:+.2f} % of {of_regions[worst] / 1e3:.1f} us")
    if wrong:
        longest = sorted((w for w in part.kernels() if "end" in w), key=lambda w: w["start"] - w["end"])[:5]
        ticks, real = part.pairs[0]
        scale = (part.pairs[-1][1] - real) / max(1, part.pairs[-1][0] - ticks)  # ns for a tick, over the whole file
        for w in longest:
            at = real + (w["launched"] - ticks) * scale if w["launched"] is not None else float("nan")
            print(f"  {(w['end'] - w['start']) / 1e3:12.1f} us, starts {(w['start'] - at) / 1e3:+12.1f} us after its launch: {w['name'][:60]}")
    for note in part.notes:
        print("note", note)
    print("FAILED: " + "; ".join(wrong[:5]) if wrong else "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2])
    else:
        sys.exit(compare(*sys.argv[2:5], float(sys.argv[5])))
