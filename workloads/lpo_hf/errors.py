# SPDX-License-Identifier: Apache-2.0
"""Failures that a person can act on: one line each, and its exit code."""
from __future__ import annotations

EXIT_FAILED = 1  # nothing could be measured
EXIT_SETTINGS = 2  # the settings, the model folder or the data are wrong
EXIT_MISSING = 3  # torch, transformers or the device is missing


class UserError(Exception):
    """What happened and what to do next, for the person who started the run."""

    def __init__(self, text: str, code: int = EXIT_SETTINGS) -> None:
        super().__init__(text)
        self.code = code


def one_line(error: BaseException) -> str:
    """The error as one line: its first line, or its type when it has no text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def memory_ran_out(error: BaseException) -> bool:
    """On the device, or on the host (torch's CPU allocator raises a RuntimeError with its own text)."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "allocate memory" in text \
        or "not enough memory" in text
