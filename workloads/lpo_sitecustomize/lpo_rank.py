# SPDX-License-Identifier: Apache-2.0
"""Which rank of a job this process is, from the environment: the rules of include/lpo/launchers.h, whose table lpo writes
into the settings."""
from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple, Optional

MOST = 9999999
LAST_STEP = 0x7FFFFFFF
LAUNCHERS = {"torchrun", "accelerate", "deepspeed"}
LAUNCHER_MODULES = {"torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic.run", "accelerate.commands.launch",
                    "deepspeed.launcher.runner", "deepspeed.launcher.launch"}


class Rank(NamedTuple):
    rank: int
    local: int  # -1: not said
    world: int  # -1: not said

    def as_info(self) -> dict[str, Any]:
        """In the words of Kineto's distributedInfo."""
        return {"rank": self.rank, **({"world_size": self.world} if self.world > 0 else {})}


def number(name: Optional[str], most: int = MOST) -> int:
    text = os.environ.get(name, "") if name else ""
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else -1
    return value if value <= most else -1


def outside_step() -> bool:
    """A batch script of Slurm, or the shell of salloc: task 0 of no step."""
    if "SLURM_STEP_ID" in os.environ:
        return number("SLURM_STEP_ID", LAST_STEP) < 0
    return os.environ.get("ENVIRONMENT") == "BATCH"


def find(launchers: list[list[Optional[str]]]) -> Optional[Rank]:
    for rank_name, local_name, world_name in launchers:
        rank = number(rank_name)
        if rank < 0 or (rank_name == "SLURM_PROCID" and outside_step()):
            continue
        world = number(world_name)
        return Rank(rank, number(local_name), world if world > rank else -1)
    return None


def is_chosen(rank: Optional[Rank], ranks: str) -> bool:
    if rank is None or ranks == "all":
        return True
    if ranks == "node":
        return rank.local <= 0
    return str(rank.rank) in ranks.split(",")


def own_words() -> list[str]:
    """As this interpreter was started. sys.orig_argv is there from Python 3.10 on only."""
    try:
        with open("/proc/self/cmdline", "rb") as f:
            words = [os.fsdecode(w) for w in f.read().split(b"\0")[:-1]]
    except OSError:
        words = getattr(sys, "orig_argv", [])
    return [sys.executable, *words[1:]]


def is_launcher() -> bool:
    """Is this Python program a launcher of ranks? It imports torch and computes nothing."""
    words = own_words()[1:]
    for i, word in enumerate(words):
        if word == "-m":
            return i + 1 < len(words) and words[i + 1] in LAUNCHER_MODULES
        if not word.startswith("-"):
            return os.path.basename(word) in LAUNCHERS
    return False
