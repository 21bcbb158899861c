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
# Further launchers that set the names of torchrun, each with what it sets besides (accelerate 1.0, deepspeed 0.15, Ray 2.40, Kubeflow's
# PyTorchJob with a process per pod). {rank}, {local}, {node}, {count} and {locals} are replaced.
TORCHRUN = VARIABLES["torchrun"]
MASTER = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
SETS = {
    "accelerate": MASTER | {"LOCAL_WORLD_SIZE": "{locals}", "GROUP_RANK": "{node}", "ROLE_RANK": "{rank}", "ACCELERATE_MIXED_PRECISION": "bf16",
                            "ACCELERATE_DYNAMO_BACKEND": "no", "OMP_NUM_THREADS": "1", "TORCHELASTIC_RUN_ID": "none"},
    "deepspeed": MASTER | {"LOCAL_SIZE": "{locals}", "CROSS_RANK": "{node}", "CROSS_SIZE": "1", "CUDA_VISIBLE_DEVICES": "0,1,2,3"},
    "ray": MASTER | {"LOCAL_WORLD_SIZE": "{locals}", "NODE_RANK": "{node}", "RAY_JOB_ID": "02000000"},
    "kubeflow": MASTER | {"PYTHONUNBUFFERED": "1", "PET_NNODES": "{count}", "PET_NODE_RANK": "{rank}"},
}


def variables(kind: str, rank: int, count: int, locals_: int) -> dict[str, str]:
    """What a process of this rank finds in its environment."""
    names = VARIABLES.get(kind, TORCHRUN)
    words = {"rank": rank, "local": rank % locals_, "node": rank // locals_, "count": count, "locals": locals_}
    env = dict(zip(names, (str(rank), str(rank % locals_), str(count))))
    if kind == "kubeflow":
        del env["LOCAL_RANK"]
    return env | {name: value.format(**words) for name, value in SETS.get(kind, {}).items()}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=[*VARIABLES, *SETS])
    parser.add_argument("count", type=int)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--kill", type=int)
    parser.add_argument("--absent", type=int)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    clean = {k: v for k, v in os.environ.items() if not any(k in names for names in VARIABLES.values())}
    local = max(args.count // args.nodes, 1)
    children = {}
    for rank in range(args.count):
        if rank == args.absent:
            continue
        env = clean | variables(args.kind, rank, args.count, local)
        words = ["killed"] if rank == args.kill else args.program[1:]
        children[rank] = subprocess.Popen([args.program[0], *words], env=env)
    codes = [child.wait() for child in children.values()]
    if args.kill is not None and children[args.kill].returncode != -signal.SIGKILL:
        print("the rank was not killed", file=sys.stderr)
        return 99
    return 1 if any(codes) or args.absent is not None else 0


if __name__ == "__main__":
    sys.exit(main())
