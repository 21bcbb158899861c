# SPDX-License-Identifier: Apache-2.0
"""A tool (ncu) around the program in one rank of a job that a launcher written in Python starts.

`lpo run` names the rank and the tool's words in LPO_RANK_TOOL. The interpreter of that rank becomes the tool, with its own
command line behind it, before anything of the program ran: the same process, as the launcher knows it.
"""
from __future__ import annotations

import json
import os

import lpo_rank

VARIABLE = "LPO_RANK_TOOL"


def start(text: str) -> None:
    """Returns in every process but one."""
    settings = json.loads(text)
    rank = lpo_rank.find(settings["launchers"])
    if rank is None or lpo_rank.is_launcher():
        return  # its ranks need the variable
    del os.environ[VARIABLE]  # what a rank starts is no rank
    if rank.rank == settings["rank"]:
        os.execvp(settings["words"][0], [*settings["words"], *lpo_rank.own_words()])
