# SPDX-License-Identifier: Apache-2.0
"""An interpreter that has torch, for the tests that need one."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Optional

import tap


def find() -> Optional[str]:
    """LPO_TEST_PYTHON, this one, or Debian's (python3-torch); None where none has torch."""
    for python in (os.environ.get("LPO_TEST_PYTHON"), sys.executable, "/usr/bin/python3"):
        if not python or not os.path.exists(python):
            continue
        done = subprocess.run([python, "-c", "import torch"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
        if done.returncode == 0:
            return python
    return None


REASON = "no interpreter with torch (Debian: python3-torch, or set LPO_TEST_PYTHON)"


def become() -> None:
    """Goes on in such an interpreter, this file from its start; skips the file where there is none."""
    try:
        __import__("torch")
    except ImportError:
        python = find()
        if python is None:
            tap.skip_all(REASON)
        else:
            os.execv(python, [python, *sys.argv])
