# SPDX-License-Identifier: Apache-2.0
"""What a program took: its exit code, seconds of work, bytes of memory.

The kernel counts the memory of the process that starts a program as that program's own, up to the moment it begins. A test that has
read a document of a gigabyte would blame every program after it; so a small process starts the program and waits for it.
"""
from __future__ import annotations

import os
import subprocess
import sys

STARTER = """
import os, signal, subprocess, sys, threading
child = subprocess.Popen(sys.argv[3:])
clock = threading.Timer(float(sys.argv[2]), child.kill)
clock.start()
_, status, used = os.wait4(child.pid, 0)
clock.cancel()
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime} {used.ru_maxrss << 10}".encode())
"""


def run(words: list[str], hangs: float = 600, **popen) -> tuple[int, float, int]:
    """-9 is also a program that did not end within `hangs` seconds of the clock."""
    ours, theirs = os.pipe()
    try:
        child = subprocess.Popen([sys.executable, "-S", "-c", STARTER, str(theirs), str(hangs), *words], pass_fds=[theirs], **popen)
        os.close(theirs)
        said = os.read(ours, 100).decode().split()
        child.wait()
    finally:
        os.close(ours)
    return int(said[0]), float(said[1]), int(said[2])
