#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A launcher for tests: starts N processes with the variables of a real one, waits for all, passes a failure on.

launch.py [--nodes M] [--kill RANK] [--absent RANK] KIND N PROGRAM ARGS…    KIND is a name in VARIABLES"""
from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys

VARIABLES = {
    "torchrun": ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    "mvapich": ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"),
    "jsrun": ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE"),
    "mpich": ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
    "flux": ("FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE"),
    "slurm": ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=VARIABLES)
    parser.add_argument("count", type=int)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--kill", type=int)
    parser.add_argument("--absent", type=int)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    clean = {k: v for k, v in os.environ.items() if not any(k in names for names in VARIABLES.values())}
    local = args.count // args.nodes
    children = {}
    for rank in range(args.count):
        if rank == args.absent:
            continue
        names = VARIABLES[args.kind]
        env = clean | dict(zip(names, (str(rank), str(rank % local), str(args.count))))
        words = ["killed"] if rank == args.kill else args.program[1:]
        children[rank] = subprocess.Popen([args.program[0], *words], env=env)
    codes = [child.wait() for child in children.values()]
    if args.kill is not None and children[args.kill].returncode != -signal.SIGKILL:
        print("the rank was not killed", file=sys.stderr)
        return 99
    return 1 if any(codes) or args.absent is not None else 0


if __name__ == "__main__":
    sys.exit(main())
