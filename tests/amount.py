# SPDX-License-Identifier: Apache-2.0
"""How much `make test` does of what `make torture` does whole."""
from __future__ import annotations

import os


def is_long() -> bool:
    return os.environ.get("LPO_TORTURE") == "long"


def some_traces(paths: list[str]) -> list[str]:
    """Our own, and of those in the folder beside the tree every third, which `make torture` reads all."""
    others = [p for p in paths if "/shared/" in p]
    return [p for p in paths if is_long() or "/shared/" not in p or others.index(p) % 3 == 0]
