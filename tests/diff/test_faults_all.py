#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_faults.py with twenty faults of each kind. Prints TAP."""
from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_faults  # noqa: E402
from test_faults import Pairs, tap  # noqa: E402, F401

Pairs.seeds = range(20)

if __name__ == "__main__":
    tap.main()
