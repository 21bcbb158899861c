#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_faults.py with twenty faults of each kind. Prints TAP."""
from __future__ import annotations

import test_faults
from test_faults import Faults, tap  # noqa: F401

Faults.seeds = range(20)

if __name__ == "__main__":
    tap.main()
