#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The standalone kernel profiler under its old name and with its old command line. `lpo kernels` does the work.

    ncu-profile-kernels.py --kernel-regex 'flash_fwd.*' -- ./bench --size 2048

The sections are those of the preset conf/profiling/ncu/ncu.default.yaml; metrics are passed only where --metrics is given.
"""
import os
import pathlib
import shutil
import sys

DEFAULT_SECTIONS = ["SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "SchedulerStats"]


def lpo():
    built = pathlib.Path(__file__).resolve().parents[3] / "build" / "lpo"
    found = os.environ.get("LPO") or (str(built) if built.exists() else shutil.which("lpo"))
    if not found:
        sys.exit("ncu-profile-kernels: lpo is neither built (make) nor in PATH; name it in the variable LPO")
    return found


def main(words):
    options = words[:words.index("--")] if "--" in words else words
    command = [lpo(), "kernels"]
    if not any(w.split("=")[0] in ("--section", "--set", "--help", "-h") for w in options):
        command += [word for name in DEFAULT_SECTIONS for word in ("--section", name)]
    print("ncu-profile-kernels: deprecated; it is `lpo kernels` now, with the same options", file=sys.stderr)
    os.execvp(command[0], command + words)


if __name__ == "__main__":
    main(sys.argv[1:])
