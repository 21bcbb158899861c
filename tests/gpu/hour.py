#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/hour.sh: launches of a CUDA graph for some minutes under the collector, and how memory grows meanwhile.

    hour.py MINUTES OUT.tsv [KNOWN]      a line every ten seconds: seconds, launches, device bytes in use, resident KiB, file bytes

Device bytes are those of the whole GPU (cudaMemGetInfo), less what PyTorch has reserved: CUPTI's buffers are among them.
The growth is the slope of a straight line over the second half: before, each buffer of CUPTI's is filled for its first
time, and memory that is written first counts as resident from then on.
"""
import glob
import os
import sys
import time

EVERY_S = 10
PAUSE_S = 0.02  # between 1,000 launches: with a record of each kernel the file would else grow by 50 MB/s
# (what, column, unit, most per 1,000 launches). A buffer of CUPTI's is 32 MiB: one more in a run is no growth.
WATCHED = (("device memory", 2, "bytes", 1024), ("resident memory", 3, "KiB", 1))


def slope(points):
    """Least squares of (x, y): y per x."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    below = sum((x - mx) ** 2 for x, _ in points)
    return sum((x - mx) * (y - my) for x, y in points) / below if below else 0.0


def resident_kib():
    with open("/proc/self/status", encoding="utf-8") as f:
        return int(next(line for line in f if line.startswith("VmRSS:")).split()[1])


def file_bytes():
    return sum(os.path.getsize(p) for p in glob.glob(os.path.join(os.environ.get("LPO_COLLECT_DIR", "/none"), "*.lpot")))


def growth(rows, known=0):
    """Lines for people, and whether all is within its bound; `known`: so many KiB for 1,000 launches are not ours."""
    kept, fine, lines = rows[len(rows) // 2:], True, []
    for what, column, unit, most in WATCHED:
        per = 1000 * slope([(r[1], r[column]) for r in kept])
        most += known if unit == "KiB" else 0
        fine &= per <= most
        lines.append(f"{what}\t{per:+.2f} {unit} per 1,000 launches\t(bound {most})\t{kept[0][column]} to {kept[-1][column]}")
    lines.append(f"launches\t{rows[-1][1]}\tin {rows[-1][0]:.0f} s")
    return lines, fine


def work():
    """A function that launches a graph 1,000 times, and one that says the device bytes beside PyTorch's own."""
    import torch

    x = torch.ones(64, 64, device="cuda")  # small: an hour's launches of a server in a minute
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            y = x @ x
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x
        for _ in range(3):
            y = torch.relu(y @ x)

    def launch():
        for _ in range(1000):
            graph.replay()
        torch.cuda.synchronize()

    def device():
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    return launch, device


def run(minutes, out, launch, device):
    started, launches, rows = time.time(), 0, []
    with open(out, "w", encoding="utf-8") as f:
        while True:
            now = time.time() - started
            if not rows or now >= rows[-1][0] + EVERY_S or now >= 60 * minutes:
                rows.append((now, launches, device(), resident_kib(), file_bytes()))
                f.write("\t".join(str(round(v)) for v in rows[-1]) + "\n")
                f.flush()
            if now >= 60 * minutes:
                return rows
            launch()
            launches += 1000
            time.sleep(PAUSE_S)


def main():
    minutes, out = float(sys.argv[1]), sys.argv[2]
    known = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    lines, fine = growth(run(minutes, out, *work()), known)
    print("\n".join(lines))
    print("passed" if fine else "FAILED: memory grows with launches")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
