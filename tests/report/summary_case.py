# SPDX-License-Identifier: Apache-2.0
"""Summary: a run folder made of a trace, and its report. Helpers that make the events of such a trace."""
from __future__ import annotations

import re

from lpo_case import LpoCase

UNIT = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}


def ns(text: str) -> float:
    number, unit = text.split()
    return float(number) * UNIT[unit]


def range_of(name: str, start: int, end: int) -> dict:
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": end - start}


def launch(number: int, at: int, start: int, end: int, name: str = "gemm") -> list[dict]:
    """A kernel and the call that launched it; times in microseconds."""
    return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1,
             "args": {"correlation": number}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": end - start,
             "args": {"correlation": number, "device": 0, "stream": 7}}]


class Summary(LpoCase):
    def report(self) -> str:
        self.report_md = self.lpo_report()
        self.summary = self.text("stakeholder_summary.md")
        return self.summary.split("\n## What ran\n")[0]  # its sentences; tables follow

    def of_trace(self, *events: dict) -> str:
        self.put("torch_profiler/1.trace.json", {"schemaVersion": 1, "traceEvents": list(events)})
        return self.report()

    def fact(self, pattern: str, text: str) -> float:
        found = re.search(pattern, text)
        self.assertIsNotNone(found, f"{pattern} is not in:\n{text}")
        return ns(found[1])
