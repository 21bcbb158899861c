#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_ranks.py OUT RANKS MEGABYTES: Kineto traces of a large job, a file of that size for each rank, 1,600 kernels in a megabyte.

Four steps of a program with tensor parallel groups of eight and one group of all ranks are simulated for at most 64 ranks
(tests/analysis/rank_causes.py) and repeated. Rank 3 computes 7 % longer. Every rank has a clock of its own."""
from __future__ import annotations

import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "analysis"))
sys.dont_write_bytecode = True
from rank_causes import EPOCH, NAMES, Job, MS, us  # noqa: E402

STEPS, LAYERS, KERNELS, GROUP, SIMULATED = 4, 16, 24, 8, 64
PAD = '"queued":0,"context":1,"registers per thread":128,"shared memory":49152,"blocks per SM":1.0,"warps per SM":4.0,"est. achieved occupancy %":6,'
NAME = "void ours::fused_kernel<4, ours::Functor_{}<c10::BFloat16>, std::array<char*, 3ul> >(int, ours::Functor_{}<c10::BFloat16>, std::array<char*, 3ul>, long, float*)"
NUMBERS = re.compile(r"@(T|N|S)(\d+)@")  # a time in ns, an id, a step


def simulate(ranks: int):
    job = Job(1, ranks)
    for s in range(STEPS):
        job.step(s)
        for _ in range(LAYERS):
            for r in range(ranks):
                for k in range(KERNELS):
                    job.kernel(r, NAME.format(k, k), 0.05 * MS * (1 + k % 3), 0.05 * MS * (1 + k % 3) * 0.07 * (r == 3))
            for g in range(0, ranks, GROUP):
                job.meet("allreduce", f"{g}", range(g, min(g + GROUP, ranks)), 8e6)
        job.meet("allreduce", "all", range(ranks), 40e6)
        for r in range(ranks):
            job.kernel(r, "adam_kernel(float*)", 0.8 * MS)
            job.sync(r)
    return job, job.run(True)


def collective(rank: int, ranks: int, more: dict) -> str:
    first = rank // GROUP * GROUP
    members = list(range(first, min(first + GROUP, ranks)))
    whole = more["group"] == "all"
    return (f'"Collective name":"allreduce","In msg nelems":{round(more["bytes"] / 2)},"Out msg nelems":{round(more["bytes"] / 2)},"dtype":"BFloat16",'
            f'"Group size":{ranks if whole else len(members)},"Process Group Name":"{"0" if whole else 1 + first}",'
            + ("" if whole else f'"Process Group Ranks":"{members}",') + f'"Seq":@N{more["number"]}@,')


def template(rank: int, ranks: int, rows, offset: int, ppm: float) -> tuple[list, int]:
    """Pieces of text and what stands between them; ids used."""
    clock = lambda t: t + offset + round(ppm * 1e-6 * (t - EPOCH))
    lines = []

    def event(cat: str, name: str, start: int, end: int, pid: int, tid: int, args: str) -> None:
        lines.append(f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":@T{clock(start)}@,"dur":{us(end - start)},"args":{{{args.rstrip(",")}}}}}')

    for i, (what, name, start, end, more) in enumerate(rows, 1):
        if what == "step":
            event("user_annotation", f"ProfilerStep#@S{name.split('#')[1]}@", start, end, 7, 7, "")
        elif what == "call":
            event("cuda_runtime", name, start, end, 7, 7, f'"correlation":@N{i}@')
        else:
            args = f'"device":0,"stream":{more["stream"]},"correlation":@N{i}@,"External id":@N{i}@,{PAD}"grid":[132,1,1],"block":[128,1,1],'
            kernel = f"ncclDevKernel_{NAMES[name]}(ncclDevKernelArgsStorage<4096ul>)" if what == "nccl" else name
            event("kernel", kernel, start, end, 0, more["stream"], args + (collective(rank, ranks, more) if what == "nccl" else ""))
            event("cuda_runtime", "cudaLaunchKernel", more["launch"], more["launch"] + 3000, 7, 7, f'"cbid":211,"correlation":@N{i}@,"External id":@N{i}@')
    return NUMBERS.split(",\n".join(lines)), len(rows) + 1


def main(out: str, ranks: int, megabytes: float) -> None:
    os.makedirs(out, exist_ok=True)
    rng = random.Random(ranks)
    job, rows = simulate(min(ranks, SIMULATED))
    period = job.wall(rows) // MS * MS + 2 * MS
    for r in range(ranks):
        pieces, ids = template(r, ranks, rows[r % SIMULATED], rng.randrange(-10**9, 10**9), 0)
        what, number = pieces[1::3], [int(n) for n in pieces[2::3]]
        size, parts = 0, pieces[0::3]
        with open(os.path.join(out, f"rank{r}.json"), "w", encoding="utf-8") as f:
            size += f.write(f'{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85899345920,"numSms":132}}],'
                            f'"distributedInfo":{{"backend":"nccl","rank":{r},"world_size":{ranks}}},"baseTimeNanoseconds":0,"traceEvents":[\n')
            n = 0
            while size < megabytes * 1e6:
                shift = {"T": n * period, "N": n * ids, "S": n * STEPS}
                text = "".join(p + (us(v + shift[w]) if w == "T" else str(v + shift[w])) for p, w, v in zip(parts, what, number)) + parts[-1]
                size += f.write((",\n" if n else "") + text)
                n += 1
            f.write("\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
