#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutants of every format (mutants.py): no crash, no hang, an answer within 10 s of work and 1 GB.

An answer is exit code 0 with JSON that can be parsed, or 1, 2 or 3 with a sentence. A few of each format in `make test`;
LPO_TORTURE=long reads LPO_MUTANTS (2,000) of each. One that fails is kept, and the message says where.
"""
from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutants  # noqa: E402
import tap  # noqa: E402

LPO = os.environ.get("LPO_TORTURE_BIN") or os.environ["LPO_BIN"]
LONG = os.environ.get("LPO_TORTURE") == "long"
COUNT = int(os.environ.get("LPO_MUTANTS", 2000 if LONG else 20))
FIRST = int(os.environ.get("LPO_FIRST_MUTANT", 0))
WORK_S, WAIT_S, PEAK_KB = 10, 120, 1 << 20  # the wait is long because a test machine may be busy
ENV = os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=16:detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def lay_down(name: str, data: bytes, folder: str) -> str:
    path = os.path.join(folder, name)
    if not name.endswith(".parts"):
        pathlib.Path(path).write_bytes(data)
        return path
    for file, part in zip(mutants.RUN_FILES, data.split(b"\n%%\n")):
        target = pathlib.Path(path, file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(part)
    return path


def run(argv: list[str], folder: str) -> tuple[int, str, str, float, int]:
    """Exit code (negative: a signal), stdout, stderr, seconds of work, peak memory in kB."""
    with open(os.path.join(folder, "out"), "w+b") as out, open(os.path.join(folder, "err"), "w+b") as err:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENV, cwd=folder)
        timer = threading.Timer(WAIT_S, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace"), used.ru_utime + used.ru_stime, used.ru_maxrss


def complaint(kind: str, number: int) -> str | None:
    """What is wrong with the answer to one mutant; None: nothing."""
    name, data = mutants.make(kind, number)
    command = mutants.FORMATS[kind][1]
    with tempfile.TemporaryDirectory(prefix="lpo-mutant-") as folder:
        path = lay_down(name, data, folder)
        code, out, err, work, peak = run([LPO, *[{"FILE": path, "FOLDER": folder}.get(w, w) for w in command]], folder)
        wrong = None
        if code not in (0, 1, 2, 3) or "Sanitizer" in err or "runtime error" in err:
            wrong = f"exit {code}: {err[-1500:]}"
        elif code and not err.startswith("lpo"):
            wrong = f"exit {code} without a sentence: {err[:200]}"
        elif work > WORK_S:
            wrong = f"{work:.1f} s of work"
        elif peak > PEAK_KB:
            wrong = f"{peak >> 10} MB"
        elif code == 0 and "--json" in command:
            try:
                json.loads(out)
            except ValueError as e:
                wrong = f"not JSON: {e}"
        if not wrong:
            return None
        kept = os.path.join(tempfile.gettempdir(), f"lpo-mutant-{kind}-{number}")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        return f"mutant {kind}-{number}, kept in {kept}: {wrong}"


class Mutants(unittest.TestCase):
    def check(self, kind: str) -> None:
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [w for w in pool.map(lambda n: complaint(kind, n), range(FIRST, FIRST + COUNT)) if w]
        print(f"# {kind}: {COUNT} mutants, {len(wrong)} wrong, {time.monotonic() - began:.0f} s", flush=True)
        self.assertEqual(wrong, [])


for _kind in mutants.FORMATS:
    setattr(Mutants, f"test_{_kind}", lambda self, k=_kind: self.check(k))

if __name__ == "__main__":
    tap.main()
