# SPDX-License-Identifier: Apache-2.0
"""Finds lpo/ranges.py, which stands beside the workloads in the source tree, in a build and in an installation."""
from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

FOLDER = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
_NAME = "_lpo_annotate"


def load() -> Any:
    """An instance of our own: the program may bring another lpo, of another version."""
    if _NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(_NAME, os.path.join(FOLDER, "lpo", "ranges.py"))
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        sys.modules[_NAME] = module
    return sys.modules[_NAME]
