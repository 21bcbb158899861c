# SPDX-License-Identifier: Apache-2.0
"""The program lpo: where it is, and what it answers."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, List, Optional, Sequence, Tuple

OK, STAGE_FAILED, USAGE, MISSING, REGRESSION = 0, 1, 2, 3, 4  # exit codes of lpo


class LpoError(RuntimeError):
    """lpo could not do what was asked for.

    Attributes
    ----------
    code : int
        The exit code: 1 a stage failed, 2 wrong usage or config, 3 a tool or permission is missing.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def program() -> str:
    """The path of the program lpo.

    Returns
    -------
    str
        What ``LPO_BIN`` names, else the one that was installed with this package, else the one on PATH.

    Raises
    ------
    LpoError
        There is none.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [
        os.environ.get("LPO_BIN", ""),
        os.path.join(sysconfig.get_path("scripts"), "lpo"),
        os.path.join(os.path.dirname(here), "bin", "lpo"),              # pip install --target
        os.path.join(here, "..", "..", "..", "..", "bin", "lpo"),        # share/llm-perf-opt/python, pip install --user
        os.path.join(here, "..", "..", "lpo"),                           # a build folder
    ]
    for path in beside:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    found = shutil.which("lpo")
    if not found:
        raise LpoError("the program lpo is not here: pip install llm-perf-opt, or set LPO_BIN to its path", MISSING)
    return found


def call(words: Sequence[str], fine: Sequence[int] = (OK,), cwd: Optional[str] = None) -> Tuple[str, int]:
    """What ``lpo WORDS…`` prints, and its exit code; LpoError with its message where that is none of `fine`."""
    done = subprocess.run([program(), *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in fine:
        said = done.stderr.decode("utf-8", "replace").strip() or f"lpo {words[0]} ended with {done.returncode}"
        raise LpoError(said, done.returncode)
    return done.stdout.decode("utf-8", "replace"), done.returncode


def ask(words: Sequence[str]) -> Any:
    """The same, of JSON."""
    return json.loads(call(words)[0])


def replace_process(words: List[str]) -> None:
    """This process becomes lpo."""
    sys.stdout.flush()
    sys.stderr.flush()
    path = program()
    os.execv(path, [path, *words])
