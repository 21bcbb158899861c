# SPDX-License-Identifier: Apache-2.0
"""Runs count_client, or count_linked, which reach the fake driver in one way, with the library preloaded or not."""
import os
import subprocess
from pathlib import Path

BUILD = Path(os.environ["LPO_BUILD_ROOT"])
HERE = BUILD / "tests/count"
LIBRARY = BUILD / "src/count/liblpo-count.so"
COLLECTOR = BUILD / "src/collect/liblpo-collect.so"
WAYS = ("linked", "dlsym", "proc", "proc2", "default", "main")  # of count_client.h
LINKED = ("linked", "default", "main")  # these are there in a program that is linked with the driver


def run(way, scenario, preload=(LIBRARY,), **env):
    """What the program printed, and its exit code."""
    program = HERE / ("count_linked" if way in LINKED else "count_client")
    env = {**os.environ, "LD_LIBRARY_PATH": f"{HERE}:{BUILD / 'tests/collect'}", "LD_PRELOAD": ":".join(map(str, preload)),
           "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", **env}
    done = subprocess.run([str(program), way, scenario], env=env, text=True, capture_output=True, timeout=200)
    return done.stdout + done.stderr, done.returncode


def numbers(output):
    """The one line that a scenario prints, as a dict of a list for each word."""
    out = {}
    for word in output.split():
        if word.isdigit():
            out[last].append(int(word))
        else:
            out[last := word] = []
    return out


def collected(way, scenario, folder, preload=(LIBRARY,), **settings):
    """The same under the collector, which leaves its files in `folder`."""
    env = {"NVTX_INJECTION64_PATH": str(COLLECTOR), "CUDA_INJECTION64_PATH": str(COLLECTOR), "LPO_COLLECT_DIR": str(folder)}
    return run(way, scenario, preload, **env, **{"LPO_COLLECT_" + name: str(value) for name, value in settings.items()})
