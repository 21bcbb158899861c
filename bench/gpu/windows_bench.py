#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What windows cost: outside, inside, every eighth step; and the calls that can block.

    windows_bench.py --library liblpo-collect.so --out DIR [--what windows|rows|outside] [--rounds 12] [--seconds 110]

The model of collect_bench.py, in processes forked from one parent that has imported torch. A process with a collector
is switched from outside, as `lpo ctl` does it, before each of its repeats: outside and inside a window are the same
process, one after the other in each round. Processes differ from each other by 5 % and the machine has bad seconds, so
each kind has several processes, and what counts are lower quarters, of the steps of a repeat and of repeats. Two modes of the same
processes are compared pair by pair. figures.txt gets a line for each figure: name, percent over what, the least and the most of
single processes, processes.

`rows`: 32 steps in a row of every 256, with CUPTI there for those alone. A repeat is 256 steps, so that it has one such row, and
counts whole; rounds in which windows are allowed and not allowed alternate in the same process.

`outside`: what is left when CUPTI has come and gone, finer than processes differ: each process is compared with itself. All rounds
before its first window, then as many with a window before each repeat, which is not measured itself. Processes without a
collector go through the same rounds, and what they change from the first half to the second is taken off.
"""
import argparse
import json
import os
import random
import socket
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import collect_bench  # noqa: E402

SWITCHED = {"CAPTURE_CONTROL": 1, "CAPTURE_WAIT": 1}
EVERY = 8
ROW, INSIDE = 32, 2  # of CAPTURE_ATTACH
EIGHTH = {**SWITCHED, "CAPTURE_RANGE": "*step", "CAPTURE_EVERY": EVERY}

# name, settings of the collector (None: not loaded), processes
WINDOWS = [
    ("none", None, 3),
    ("late", {**SWITCHED, "CAPTURE_ATTACH": 1}, 2),
    ("inside", {**SWITCHED, "CAPTURE_ATTACH": INSIDE}, 3),
    ("whole", SWITCHED, 2),
    ("no calls", {**SWITCHED, "CALLS": 0}, 1),
    ("eighth", EIGHTH, 2),
    ("eighth counted", {**EIGHTH, "CAPTURE_COUNT": 1}, 1),
]
ROWS = [
    ("none", None, 2),
    ("rows", {**EIGHTH, "CAPTURE_IN_A_ROW": ROW, "CAPTURE_ATTACH": INSIDE}, 3),
]
OUTSIDE = [("none", None, 6), ("inside", {**SWITCHED, "CAPTURE_ATTACH": INSIDE}, 6)]
BEFORE = "before"  # beside False and True: outside, before there was any window
NEVER_INSIDE = ("none", "late")

# name, (process, recording?) over the same of another
WINDOWS_FIGURES = [
    ("outside a window with attach: inside, over no collector", ("inside", False), ("none", False)),
    ("inside a window with attach: inside, over no collector", ("inside", True), ("none", False)),
    ("before the first window with attach: window, over no collector", ("late", False), ("none", False)),
    ("outside a window, over no collector", ("whole", False), ("none", False)),
    ("inside a window, over no collector", ("whole", True), ("none", False)),
    ("inside a window, over outside it", ("whole", True), ("whole", False)),
    ("every 8th step, over no collector", ("eighth", True), ("none", False)),
    ("every 8th step, over outside it", ("eighth", True), ("eighth", False)),
    ("every 8th step counted, over no collector", ("eighth counted", True), ("none", False)),
    ("calls that can block, over none of them", ("whole", True), ("no calls", True)),
]
ROWS_FIGURES = [
    (f"{ROW} steps in a row of every {ROW * EVERY}, over no collector", ("rows", True), ("none", False)),
    ("the same, over the same process without windows", ("rows", True), ("rows", False)),
    ("the same process without windows, over no collector", ("rows", False), ("none", False)),
]
OUTSIDE_FIGURES = [
    ("before the first window, over no collector", ("inside", BEFORE), ("none", BEFORE)),
    ("outside, after windows, over no collector", ("inside", False), ("none", False)),
]
WHATS = {
    "windows": (WINDOWS, WINDOWS_FIGURES, 1),
    "rows": (ROWS, ROWS_FIGURES, EVERY * ROW // collect_bench.TOKENS),
    "outside": (OUTSIDE, OUTSIDE_FIGURES, 1),
}


def control(folder, pid, word):
    """Sends a word to the collector of a process; its answer as a dict."""
    at = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(f"/proc/self/fd/{at}/{pid}.ctl")
            s.sendall(word.encode() + b"\n")
            answer = b""
            while more := s.recv(512):
                answer += more
    finally:
        os.close(at)
    found = dict(line.split(" ", 1) for line in answer.decode().splitlines())
    if "error" in found:
        raise RuntimeError(f"{word}: {found['error']}")
    return found


def lower_quarter(values):
    return sorted(values)[len(values) // 4]


def times_of_steps(state):
    """Milliseconds of each decode step."""
    import torch
    from torch.cuda import nvtx

    model, times = state["model"], []
    out = model(input_ids=state["ids"], use_cache=True)
    token = out.logits[:, -1:].argmax(-1)
    torch.cuda.synchronize()
    nvtx.range_push("decode")
    for _ in range(collect_bench.TOKENS):
        start = time.perf_counter()
        nvtx.range_push("step")
        out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
        token = out.logits[:, -1:].argmax(-1)
        nvtx.range_pop()
        times.append(1e3 * (time.perf_counter() - start))
    nvtx.range_pop()
    torch.cuda.synchronize()
    return times


def steps(state):
    """The lower quarter of means over eight, of which one is recorded where every eighth is."""
    times = times_of_steps(state)
    return lower_quarter([statistics.mean(times[i:i + EVERY]) for i in range(0, len(times), EVERY)])


def all_steps(state):
    return statistics.mean(times_of_steps(state))


class Process(collect_bench.Child):
    def __init__(self, name, settings, library, folder):
        super().__init__(name, settings, False, library, folder)
        self.folder, self.loaded = folder, settings is not None
        self.by_range = "CAPTURE_RANGE" in (settings or {})  # recording is then what happens in the range, not now
        self.by_mode = {False: [], True: [], BEFORE: []}

    def switch(self, recording):
        if not self.loaded:
            return
        answer = control(self.folder, self.pid, "start" if recording else "stop")
        if not self.by_range and answer["recording"] != str(int(recording)):
            raise RuntimeError(f"{self.name} did not switch: {answer}")

    def end(self):
        """Also where a switch failed: the process is still there."""
        try:
            print("end", file=self.commands, flush=True)
        except OSError:
            pass
        os.waitpid(self.pid, 0)

    def one(self, mode, repeats):
        try:
            self.switch(mode is True)
        except (OSError, RuntimeError, KeyError) as e:
            self.error = str(e)
            return
        before = len(self.times["eager"])
        for _ in range(repeats):
            self.repeat("eager")
        if not self.error:
            self.by_mode[mode].append(statistics.mean(self.times["eager"][before:]))


def start(args):
    started, out = time.time(), []
    for name, settings, copies in (p for p in WHATS[args.what][0] if not args.only or p[0] in args.only.split(",")):
        for copy in range(copies):
            folder = os.path.join(args.out, "traces", f"{name.replace(' ', '_')}-{copy}")
            out.append(Process(name, settings, os.path.abspath(args.library), folder))
    for p in out:
        if not p.ready():
            print(f"FAILED: {p.name}: {p.error}", flush=True)
    print(f"{len(out)} processes ready after {time.time() - started:.1f} s", flush=True)
    return out


def run_rounds(processes, rounds, until, repeats):
    """In each round every process does one repeat in each of its modes, one after the other, all in an order by chance."""
    order = random.Random(0)
    for done in range(rounds):
        if time.time() > until:
            return done
        for p in order.sample(processes, len(processes)):
            modes = [False] if p.name in NEVER_INSIDE else [False, True]
            for mode in order.sample(modes, len(modes)):
                if not p.error:
                    p.one(mode, repeats)
    return rounds


def run_outside(processes, rounds, until, repeats):
    """Rounds before the first window, then rounds with a window before each repeat."""
    order, half = random.Random(0), (time.time() + until) / 2
    for mode, end in ((BEFORE, half), (False, until)):
        for done in range(rounds):
            if time.time() > end:
                rounds = done  # the other half as many: the same of both
                break
            for p in order.sample(processes, len(processes)):
                if mode is False and p.loaded and not p.error:
                    p.one(True, repeats)
                if not p.error:
                    p.one(mode, repeats)
    return rounds


def of_kind(processes, name, mode):
    return [lower_quarter(p.by_mode[mode]) for p in processes if p.name == name and p.by_mode[mode]]


def of_pairs(processes, name, of, over):
    """Two modes of the same processes: the median of what the two repeats of a round differ by. The machine's bad seconds hit one or both
    of them and move single ones far, the median little."""
    ratios = [[a / b for a, b in zip(p.by_mode[of], p.by_mode[over])] for p in processes if p.name == name]
    all_ratios = sorted(r for values in ratios for r in values)
    if not all_ratios:
        return "n/a"
    low, high = (100 * f(statistics.median(values) for values in ratios if values) - 100 for f in (min, max))
    chance = random.Random(0)
    medians = [statistics.median(chance.choices(all_ratios, k=len(all_ratios))) for _ in range(1000)]
    return (f"{100 * statistics.median(all_ratios) - 100:+.2f} %\t{low:+.2f} … {high:+.2f} %\t"
            f"standard error {100 * statistics.stdev(medians):.2f}, {len(all_ratios)} pairs in {len(ratios)} processes")


def figures(processes, wanted):
    for name, of, over in wanted:
        if of[0] == over[0]:
            yield f"{name}\t{of_pairs(processes, of[0], of[1], over[1])}"
            continue
        above, below = of_kind(processes, *of), of_kind(processes, *over)
        if not above or not below:
            yield f"{name}\tn/a"
            continue
        low, middle, high = (100 * v / statistics.mean(below) - 100 for v in (min(above), statistics.mean(above), max(above)))
        yield f"{name}\t{middle:+.2f} %\t{low:+.2f} … {high:+.2f} %\t{len(above)} and {len(below)} processes"


def of_halves(processes):
    """The change from before the windows to after them in each process, that of those without a collector taken off."""
    change = {name: [lower_quarter(p.by_mode[False]) / lower_quarter(p.by_mode[BEFORE]) for p in processes
                     if p.name == name and p.by_mode[False] and p.by_mode[BEFORE]] for name in ("inside", "none")}
    name = "outside, after windows, over the same process before them"
    if min(len(values) for values in change.values()) < 2:
        yield f"{name}\tn/a"
        return
    of, drift = (statistics.mean(change[n]) for n in ("inside", "none"))
    error = sum(statistics.variance(values) / len(values) for values in change.values()) ** 0.5
    low, high = min(change["inside"]), max(change["inside"])
    yield (f"{name}\t{100 * of / drift - 100:+.2f} %\t{100 * low / drift - 100:+.2f} … {100 * high / drift - 100:+.2f} %\t"
           f"standard error {100 * error:.2f}, {len(change['inside'])} and {len(change['none'])} processes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--what", choices=WHATS, default="windows")
    parser.add_argument("--only", help="comma-separated processes of it")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=110, help="no new round after so many")
    args = parser.parse_args()
    started = time.time()
    _, wanted, repeats = WHATS[args.what]
    collect_bench.KINDS["eager"] = steps if repeats == 1 else all_steps
    collect_bench.imports()
    processes = start(args)
    rounds = run_outside if args.what == "outside" else run_rounds
    done = rounds(processes, args.rounds, started + args.seconds, repeats)
    for p in processes:
        p.end()
    print(f"{done} rounds, {time.time() - started:.0f} s", flush=True)
    lines = list(figures(processes, wanted)) + (list(of_halves(processes)) if args.what == "outside" else [])
    print("\n".join(lines))
    with open(os.path.join(args.out, "figures.txt"), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)
    with open(os.path.join(args.out, "windows.json"), "w", encoding="utf-8") as f:
        json.dump([{"process": p.name, "error": p.error, "before_ms": p.by_mode[BEFORE],
                    "outside_ms": p.by_mode[False], "inside_ms": p.by_mode[True]} for p in processes], f,
                  indent=1)
    for p in processes:
        if p.error:
            print(f"FAILED: {p.name}: {p.error}")
    return 1 if any(p.error for p in processes) else 0


if __name__ == "__main__":
    sys.exit(main())
