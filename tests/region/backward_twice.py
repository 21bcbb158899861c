#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The backward pass of real trainings, found in two ways that must agree: by autograd's numbers with the arrows taken out of
the file, and by the arrows (fwdbwd) with the numbers taken out. Prints TAP."""
from __future__ import annotations

import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
ROOT = os.path.join(HERE, "..", "..")
NUMBERS = ("Sequence number", "Fwd thread id")


def training(path):
    """The file, where it has arrows; else None."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as f:
        text = f.read()
    return json.loads(text, strict=False) if '"fwdbwd"' in text else None


def backward(trace, folder):
    """Path to launches and ns of the kernels of the backward pass. Numbers alone say which of them compute the forward again,
    where Python stacks were not recorded: both together."""
    path = os.path.join(folder, "trace.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps(trace))
    out = subprocess.run([LPO, "regions", "--backward", "--json", path], capture_output=True, text=True, check=True).stdout
    rows = json.loads(out)["scopes"][0]["regions"]
    return {r["path"]: tuple(sum(r[part][key] for part in ("backward", "recomputed") if part in r) for key in ("launches", "gpu_ns"))
            for r in rows if "backward" in r}


def without_numbers(trace):
    keep = []
    for e in trace["traceEvents"]:
        args = e.get("args")
        if isinstance(args, dict) and any(k in args for k in NUMBERS):
            e = e | {"args": {k: v for k, v in args.items() if k not in NUMBERS}}
        keep.append(e)
    return trace | {"traceEvents": keep}


class Backward(unittest.TestCase):
    maxDiff = None

    def agree(self, path):
        trace = training(path)
        with tempfile.TemporaryDirectory() as folder:
            both = backward(trace, folder)
            events = [e for e in trace["traceEvents"] if e.get("cat") != "fwdbwd"]
            numbers = backward(trace | {"traceEvents": events}, folder)
            arrows = backward(without_numbers(trace), folder)
            neither = backward(without_numbers(trace | {"traceEvents": events}), folder)
        self.assertTrue(numbers)
        self.assertEqual(both, numbers)
        self.assertEqual(arrows, numbers)
        self.assertFalse(neither)


def add_case(path):
    def case(self):
        self.agree(path)
    case.__doc__ = os.path.basename(path)
    setattr(Backward, "test_" + os.path.basename(path), case)


for found in sorted(glob.glob(os.path.join(ROOT, "tests/data/kineto/*.json.gz")) +
                    glob.glob(os.path.join(ROOT, "../shared/data/traces/kineto/*.json.gz"))):
    if training(found):
        add_case(found)

if __name__ == "__main__":
    tap.main()
