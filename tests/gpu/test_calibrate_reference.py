#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo doctor --calibrate beside the reference, on a driver whose products take a time of its own. Prints TAP."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

LPO, FAKE = os.environ["LPO_BIN"], sys.argv[1]
SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())


def lpo(*words, **env):
    done = subprocess.run([LPO, *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LPO_CONFIG_DIR": os.path.join(SOURCE, "conf"), **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


with tempfile.TemporaryDirectory() as home:
    fakes = {"LPO_LIBCUDA": FAKE, "LPO_LIBCUBLAS": FAKE, "HOME": home, "XDG_CONFIG_HOME": home}
    found = json.loads(lpo("doctor", "--calibrate", "--json", **fakes))
    text = lpo("doctor", "--calibrate", **fakes)
problems, ratios = [], []
for s in found["shapes"]:
    best = json.loads(lpo("reference", "h200_sxm", "gemm", "gemm_dtype=bfloat16", "--json",
                          *(f"{k}={s[k]}" for k in "mnk")))["best_us"]
    us = 20 + 2 * s["m"] * s["n"] * s["k"] / 700e6
    if abs(s["us"] / us - 1) > 0.01 or abs(s["best_us"] / best - 1) > 1e-6:
        problems.append(str(s))
    ratios.append(s["us"] / best)
if len(ratios) != 12 or abs(found["to_reference"] / statistics.median(ratios) - 1) > 1e-6:
    problems.append(f"{len(ratios)} shapes, {found['to_reference']}")
if f"{found['to_reference']:.2f} times" not in text:
    problems.append(text)
print("1..1\n" + ("not ok" if problems else "ok") + " 1 - the median of a dozen shapes")
print("".join(f"# {p}\n" for p in problems), end="")
