#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What windows cost: outside, inside, every eighth step; and the calls that can block.

    windows_bench.py --library liblpo-collect.so --out DIR [--rounds 12] [--seconds 110]

The programs of collect_bench.py, forked from one parent that has imported torch. A process with a collector is switched
from outside, as `lpo ctl` does it, before each of its repeats: outside and inside a window are the same process, one
after the other in each round, so that what differs between processes is in neither. Those without a collector have two
processes. figures.txt gets a line for each figure: name, percent over what, the middle half of the rounds, rounds.
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
EIGHTH = {**SWITCHED, "CAPTURE_RANGE": "*step", "CAPTURE_EVERY": 8}

# name, settings of the collector (None: not loaded), processes
PROCESSES = [
    ("none", None, 2),
    ("whole", SWITCHED, 1),
    ("no calls", {**SWITCHED, "CALLS": 0}, 1),
    ("eighth", EIGHTH, 1),
    ("eighth counted", {**EIGHTH, "CAPTURE_COUNT": 1}, 1),
]

# name, (process, recording?) over the same of another
FIGURES = [
    ("outside a window, over no collector", ("whole", False), ("none", False)),
    ("inside a window, over no collector", ("whole", True), ("none", False)),
    ("inside a window, over outside it", ("whole", True), ("whole", False)),
    ("every 8th step, over no collector", ("eighth", True), ("none", False)),
    ("every 8th step, over outside it", ("eighth", True), ("eighth", False)),
    ("every 8th step counted, over no collector", ("eighth counted", True), ("none", False)),
    ("calls that can block, over none of them", ("whole", True), ("no calls", True)),
]


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


class Process(collect_bench.Child):
    def __init__(self, name, settings, library, folder):
        super().__init__(name, settings, False, library, folder)
        self.folder, self.loaded = folder, settings is not None
        self.by_range = "CAPTURE_RANGE" in (settings or {})  # recording is then what happens in the range, not now
        self.by_mode = {False: [], True: []}

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

    def one(self, recording):
        try:
            self.switch(recording)
        except (OSError, RuntimeError, KeyError) as e:
            self.error = str(e)
            return
        before = len(self.times["eager"])
        self.repeat("eager")
        self.by_mode[recording] += self.times["eager"][before:]


def start(args):
    started, out = time.time(), []
    for name, settings, copies in PROCESSES:
        for copy in range(copies):
            folder = os.path.join(args.out, "traces", f"{name.replace(' ', '_')}-{copy}")
            out.append(Process(name, settings, os.path.abspath(args.library), folder))
    for p in out:
        if not p.ready():
            print(f"FAILED: {p.name}: {p.error}", flush=True)
    print(f"{len(out)} processes ready after {time.time() - started:.1f} s", flush=True)
    return out


def run_rounds(processes, rounds, until):
    """In each round every process does one repeat in each of its modes, in an order by chance."""
    order = random.Random(0)
    for done in range(rounds):
        if time.time() > until:
            return done
        turns = [(p, mode) for p in processes for mode in ((False, True) if p.loaded else (False,))]
        for p, mode in order.sample(turns, len(turns)):
            if not p.error:
                p.one(mode)
    return rounds


def by_round(processes, name, mode):
    return [statistics.mean(row) for row in zip(*(p.by_mode[mode] for p in processes if p.name == name))]


def figures(processes):
    for name, of, over in FIGURES:
        ratios = sorted(a / b for a, b in zip(by_round(processes, *of), by_round(processes, *over)))
        if not ratios:
            yield f"{name}\tn/a"
            continue
        quarter = len(ratios) // 4
        low, middle, high = (100 * r - 100 for r in (ratios[quarter], statistics.median(ratios), ratios[-1 - quarter]))
        yield f"{name}\t{middle:+.2f} %\t{low:+.2f} … {high:+.2f} %\t{len(ratios)} rounds"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=110, help="no new round after so many")
    args = parser.parse_args()
    started = time.time()
    collect_bench.imports()
    processes = start(args)
    done = run_rounds(processes, args.rounds, started + args.seconds)
    for p in processes:
        p.end()
    print(f"{done} rounds, {time.time() - started:.0f} s", flush=True)
    lines = list(figures(processes))
    print("\n".join(lines))
    with open(os.path.join(args.out, "figures.txt"), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)
    with open(os.path.join(args.out, "windows.json"), "w", encoding="utf-8") as f:
        json.dump([{"process": p.name, "error": p.error, "outside_ms": p.by_mode[False], "inside_ms": p.by_mode[True]} for p in processes], f,
                  indent=1)
    for p in processes:
        if p.error:
            print(f"FAILED: {p.name}: {p.error}")
    return 1 if any(p.error for p in processes) else 0


if __name__ == "__main__":
    sys.exit(main())
