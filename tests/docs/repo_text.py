# SPDX-License-Identifier: Apache-2.0
"""Files of this repository, for tests that compare a page with the code it is about."""
from __future__ import annotations

import os

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def text(*parts: str) -> str:
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as f:
        return f.read()
