#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the collector's cost is paid: the launching thread by library, and the other threads by their CPU time.

    gcc -O2 -shared -fPIC -o library_sampler.so bench/gpu/library_sampler.c
    collector_threads.py --library liblpo-collect.so --sampler library_sampler.so --out DIR [--rounds 12] [--only NAME,NAME]

The eager decode of collect_bench.py, its processes taking turns, each with a sampler (library_sampler.c) on its launching thread: what
libcuda and libcupti take more than without a collector is CUPTI's writing of records, liblpo-collect our callbacks. Threads other than
the launching one (CUPTI's, which completes buffers, among them) are read from /proc before and after.
"""
import argparse
import collections
import ctypes
import json
import os
import time

import collect_bench as bench

PERIOD_US = 500
DEFAULT = "none,ours,no callbacks,subscriber only"


def threads_cpu():
    """Name and CPU seconds of every other thread of this process."""
    tick, own, found = os.sysconf("SC_CLK_TCK"), str(os.getpid()), collections.Counter()
    for tid in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{tid}/stat") as f:
                line = f.read()
        except OSError:
            continue
        if tid != own:
            fields = line[line.rindex(")") + 2:].split()
            found[line[line.index("(") + 1:line.rindex(")")]] += (int(fields[11]) + int(fields[12])) / tick
    return found


class Sampler:
    """The launching thread's samples, and the others' time, over all repeats of one process."""

    def __init__(self, path, out):
        self.lib, self.out = ctypes.CDLL(path), out
        self.wall, self.repeats, self.cpu = 0.0, 0, collections.Counter()

    def eager(self, state):
        before = threads_cpu()
        self.lib.sampler_start(ctypes.c_long(PERIOD_US))
        took = bench.eager(state)
        self.lib.sampler_stop()
        for name, seconds in threads_cpu().items():
            self.cpu[name] += seconds - before[name]
        self.wall += took
        self.repeats += 1
        self.write()
        return took

    def samples(self, inside):
        room = ctypes.create_string_buffer(1 << 16)
        self.lib.sampler_write(inside, room, ctypes.c_size_t(len(room)))
        rows = [line.rsplit(" ", 1) for line in room.value.decode().splitlines()]
        return {name: int(count) for name, count in rows}

    def write(self):
        with open(f"{self.out}/{os.getpid()}.json", "w") as f:
            json.dump({"wall_ms": self.wall, "repeats": self.repeats, "samples": self.samples(None),
                       "threads_s": self.cpu, "hot": dict(list(self.samples(b"libcupti").items())[:60])}, f)


def load(out, child):
    with open(f"{out}/{child.pid}.json") as f:
        return json.load(f)


def grouped(found):
    """Milliseconds of one repeat by kind of library."""
    kinds = (("libcupti", "libcupti"), ("libcuda.so", "libcuda"), ("liblpo-collect", "liblpo-collect"), ("libc.so", "libc"),
             ("libcudart", "libcudart"), ("libtorch", "torch"), ("libc10", "torch"), ("python", "python"), ("libpython", "python"))
    rows, total = collections.Counter(), sum(found["samples"].values()) or 1
    for name, count in found["samples"].items():
        kind = next((k for prefix, k in kinds if name.startswith(prefix)), "other")
        rows[kind] += count / total * found["wall_ms"] / found["repeats"]
    return rows


def tell(out, children):
    by_name = {}
    for child in children:
        if not child.error:
            by_name.setdefault(child.name, []).append(load(out, child))
    rows = {name: [grouped(f) for f in all_] for name, all_ in by_name.items()}
    kinds = sorted({k for all_ in rows.values() for row in all_ for k in row})
    print(f"\nlaunching thread, ms of one repeat\n{'':18}" + "".join(f"{k:>15}" for k in kinds) + f"{'all':>10}")
    for name, all_ in rows.items():
        means = {k: sum(r[k] for r in all_) / len(all_) for k in kinds}
        print(f"{name:18}" + "".join(f"{means[k]:15.2f}" for k in kinds) + f"{sum(means.values()):10.1f}")
    print("\nother threads, CPU ms of one repeat")
    for name, all_ in by_name.items():
        cpu = collections.Counter()
        for found in all_:
            for thread, seconds in found["threads_s"].items():
                cpu[thread] += 1e3 * seconds / found["repeats"] / len(all_)
        print(f"{name:18}", {k: round(v, 2) for k, v in cpu.most_common(6) if v >= 0.01})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--sampler", required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--only", default=DEFAULT)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    started = time.time()
    bench.imports()
    sampler = Sampler(os.path.abspath(args.sampler), os.path.abspath(args.out))
    bench.KINDS.clear()
    bench.KINDS["eager"] = sampler.eager
    children = bench.start_children(args)
    bench.run_rounds(children, args.rounds, started + args.seconds)
    for child in children:
        child.end()
    bench.table(children, "eager", "eager decode under the sampler")
    tell(args.out, children)


if __name__ == "__main__":
    main()
