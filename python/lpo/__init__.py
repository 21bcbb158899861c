# SPDX-License-Identifier: Apache-2.0
"""Where the time of a large language model goes on a GPU, from Python.

    import lpo

    trace = lpo.open("trace.json.gz")          # any trace or run folder that the program lpo reads
    trace.findings[0]["title"]                 # what to do first, and what it saves
    trace.kernels().frame()                    # a table as a pandas.DataFrame, where pandas is there
    lpo.diff("before", "after").regressed

    with lpo.range("decode", tokens=8):        # ranges for the profiler that listens, see lpo/ranges.py
        ...
    profile(on_trace_ready=lpo.trace_handler("runs/x"))   # torch.profiler: a report of each trace

Everything is computed by the program `lpo`, which this package brings; nothing else is needed.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ranges import end, listening, mark, number, pop, push, range, start, window

if TYPE_CHECKING:
    from ._program import LpoError, program
    from ._reports import Diff, Report, Rows, diff, open, run
    from ._training import callback, trace_handler

__all__ = ["Diff", "LpoError", "Report", "Rows", "callback", "diff", "end", "listening", "mark", "number", "open",
           "pop", "program", "push", "range", "run", "start", "trace_handler", "window"]

# Loaded when first asked for: a program that only marks ranges pays for nothing else.
_WHERE = {"LpoError": "_program", "program": "_program", "Diff": "_reports", "Report": "_reports", "Rows": "_reports",
          "diff": "_reports", "open": "_reports", "run": "_reports", "callback": "_training", "trace_handler": "_training"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'lpo' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + _WHERE[name], __name__), name)
    globals()[name] = value
    return value
