#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The standalone kernel profiler under its old name, with its old command line and its old folders. `lpo kernels` does the work.

    ncu-profile-kernels.py --kernel-regex 'flash_fwd.*' -- ./bench --size 2048

The sections are those of the preset conf/profiling/ncu/ncu.default.yaml; metrics are passed only where --metrics is given.
"""
import os
import pathlib
import shutil
import sys
import time

DEFAULT_SECTIONS = ["SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "SchedulerStats"]
RENAMED = {"--output-dir": "--output", "--num-kernel-call-skip": "--launch-skip", "--num-kernel-call-profile": "--launch-count"}


def lpo():
    built = pathlib.Path(__file__).resolve().parents[3] / "build" / "lpo"
    found = os.environ.get("LPO") or (str(built) if built.exists() else shutil.which("lpo"))
    if not found:
        sys.exit("ncu-profile-kernels: lpo is neither built (make) nor in PATH; name it in the variable LPO")
    return found


def today(options):
    """The options as `lpo kernels` has them."""
    words, several = [], False
    for word in options:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            several = name == "--extra-sections"
        if several and not word.startswith("-"):
            words += ["--extra-section", word]
        elif several and equals:
            words += ["--extra-section", value]
        elif not several and name != "--force-overwrite":  # reports are always written anew
            words.append(RENAMED.get(name, name) + equals + value)
    return words


def main(words):
    end = words.index("--") if "--" in words else len(words)
    given = today(words[:end])
    names = {word.split("=")[0] for word in given}
    command = [lpo(), "kernels"]
    if not names & {"--help", "-h"}:
        command += ["--old-layout"]
        if not names & {"--section", "--set"}:
            command += [word for name in DEFAULT_SECTIONS for word in ("--section", name)]
        for name, value in (("--kernel-name-base", "demangled"), ("--launch-skip", "200"), ("--launch-count", "1"),
                            ("--output", time.strftime("tmp/ncu-profile/%Y%m%d-%H%M%S"))):
            if name not in names:
                command += [name, value]
    print("ncu-profile-kernels: deprecated; it is `lpo kernels` now", file=sys.stderr)
    os.execvp(command[0], command + given + words[end:])


if __name__ == "__main__":
    main(sys.argv[1:])
