#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_rank_causes.py with twelve jobs of each kind, two of them of 64 ranks. Prints TAP."""
from __future__ import annotations

import test_rank_causes
from test_rank_causes import RankCauses, tap  # noqa: F401

RankCauses.seeds = range(12)

if __name__ == "__main__":
    tap.main()
