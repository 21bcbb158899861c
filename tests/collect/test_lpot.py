#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two readers of one format: lpo's, in C, and lpot.py, written from the documentation. They must agree."""
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from lpot import Trace  # noqa: E402

BUILD = Path(os.environ["LPO_BUILD_ROOT"])
ROWS = [("nvtx_client", "plain"), ("nvtx_client", "every"), ("nvtx_client", "wrong"), ("nvtx_client", "threads"),
        ("nvtx_client", "two_copies"), ("nvtx_client", "long_names"), ("gpu_client", "decode"),
        ("gpu_client", "reversed"), ("gpu_client", "threads"), ("gpu_client", "graphs"), ("gpu_client", "large_graph"),
        ("gpu_client", "many_shapes"),
        ("gpu_client", "many_calls"), ("gpu_client", "queries")]


def trace_of(program, scenario, folder):
    library = str(BUILD / "src/collect/liblpo-collect.so")
    env = {**os.environ, "NVTX_INJECTION64_PATH": library, "CUDA_INJECTION64_PATH": library, "LPO_COLLECT_DIR": folder,
           "ASAN_OPTIONS": "detect_leaks=0"}
    subprocess.run([str(BUILD / "tests/collect" / program), scenario], env=env, check=True)
    (path,) = Path(folder).glob("*.lpot")
    return str(path)


def escaped(name):
    return name.replace("\\", "\\\\").replace("/", "\\/")


def from_python(path):
    """Launches by innermost region of kernels, and visits by name."""
    trace = Trace(path)
    launches = Counter("/".join(escaped(n) for n in k["path"]) or "(outside)" for k in trace.kernels())
    visits = Counter((f"{r[1]}@" if r[1] else "") + escaped(r[2]) for r in trace.ranges)
    return launches, visits, sum(trace.spans)


def from_lpo(path):
    out = subprocess.run([os.environ["LPO_BIN"], "regions", path, "--json"], capture_output=True, text=True, check=True)
    whole = json.loads(out.stdout)["scopes"][0]
    launches, visits = Counter(), Counter()
    for region in whole["regions"]:
        if region.get("launches_exclusive"):
            launches[region["path"]] += region["launches_exclusive"]
        elif region["kind"] == "outside" and region["launches"]:
            launches[region["path"]] += region["launches"]
        if region["kind"] == "push_pop":
            visits[last_of(region["path"])] += region["visits"]
    return launches, visits, whole["gpu_ns"]


def last_of(path):
    at = 0
    for i, c in enumerate(path):
        if c == "/" and (i == 0 or path[i - 1] != "\\"):
            at = i + 1
    return path[at:]


def main():
    print(f"1..{len(ROWS)}")
    failed = 0
    for i, (program, scenario) in enumerate(ROWS, 1):
        with tempfile.TemporaryDirectory() as folder:
            path = trace_of(program, scenario, folder)
            theirs, ours = from_python(path), from_lpo(path)
        if theirs == ours:
            print(f"ok {i} - {program} {scenario}")
        else:
            failed = 1
            print(f"not ok {i} - {program} {scenario}\n# python {str(theirs)[:1500]}\n# lpo    {str(ours)[:1500]}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
