#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a framework adds to a step, fitted on one half of measured servers and checked on the other.

    scripts/fit-serving.py build/lpo SERVING.csv.gz MODELS

SERVING has a server a row with the time of each further token; MODELS the config of each model
(publisher--NAME.json). Prints the constants of src/reference/serving.c and the errors that lpo has
with the ones it was built with, on rows that took no part in the fit. Left out, and counted:
servers that prefill elsewhere (disaggregated), attention that each rank does for requests of its
own, GPUs without a reference, models without a config or with layers that no table has, and rows
whose parallel sizes contradict each other."""
import collections
import concurrent.futures
import csv
import gzip
import hashlib
import json
import os
import subprocess
import sys

EXCHANGE = 0.5  # as in src/reference/serving.c
DTYPES = {"fp8": "fp8", "fp8_block": "fp8", "nvfp4": "fp4", "int4_wo": "int4", "": None}
SAME = {"meta-llama--Llama-3.1-70B": "meta-llama--Meta-Llama-3.1-70B",
        "meta-llama--Llama-3.1-8B-Instruct": "meta-llama--Meta-Llama-3.1-8B",
        "nvidia--Llama-3.1-8B-Instruct-FP8": "meta-llama--Meta-Llama-3.1-8B",
        "nvidia--DeepSeek-R1-NVFP4": "nvidia--DeepSeek-V3.1-NVFP4",
        "nvidia--Qwen3-32B-NVFP4": "Qwen--Qwen3-32B", "zhipuai--GLM-5": "zai-org--GLM-5"}


def command(lpo, models, row):
    """The command that predicts this server, or why there is none."""
    if row["mode"] != "agg":
        return "disaggregated"
    name = row["model_path"].replace("/", "--")
    config = os.path.join(models, SAME.get(name, name) + ".json")
    if not os.path.exists(config):
        return "no config"
    tp, ep = int(row["tp_size"]), int(row["moe_ep_size"] or 1)
    if row["attention_dp_size"] not in ("", "0", "1"):
        return "attention on each rank"
    if tp == ep * int(row["moe_tp_size"]) and tp in (16, 64) and ep > 1:
        tp = ep  # written as the product of both sizes, of one node
    if ep and tp % ep:
        return "contradicting sizes"
    words = [lpo, "analyze", config, "--hardware", row["system"], "--isl", row["isl"], "--osl",
             row["osl"], "--batch", row["batch_size"], "--tp", str(tp), "--ep", str(ep or 1),
             "--framework", row["backend"], "--json"]
    dtype = DTYPES[row["moe_quant_mode"]]
    return words + (["--dtype", dtype] if dtype else [])


def predict(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return "no reference" if "no reference" in done.stderr else done.stderr.strip()
    found = json.loads(done.stdout)
    s = found["serving"]
    s["layers"] = len({m["layer"] for m in found["modules"]
                       if m["part"] == "decoder" and "layer" in m})
    return s if s["tpot_ms"] else s["unknown"]


def is_fitted(row):
    """Is the row in the half that is fitted? By its time: the same server may stand there twice."""
    return hashlib.md5(row["silicon_tpot_ms"].encode()).digest()[0] & 1


def parts(s):
    """Kernels and all-reduces of a step and of a prefill, in us."""
    out = []
    for phase in ("decode", "prefill"):
        us = {p["part"]: p["us"] for p in s[phase]["parts"]}
        out.append((sum(v for k, v in us.items() if k not in ("all_reduce", "framework")),
                    us.get("all_reduce", 0)))
    return out


def model(case, step, layer, exchange, prefill):
    (d, d_ar), (p, p_ar) = case["parts"]
    extra = step + layer * case["layers"]
    more = (p + p_ar * exchange + extra) * (case["batch"] - 1) / case["osl"]
    return (d + d_ar * exchange + extra + prefill * more) / 1000


def errors(cases, values):
    return sorted(abs(model(c, *values) / c["want"] - 1) for c in cases)


def fit(cases, values, free):
    """Coordinates in turn, by the mean error, of which a wild row counts half at most."""
    def loss(v):
        return sum(min(e, 0.5) for e in errors(cases, v)) / len(cases)
    values, steps, best = list(values), [100, 5, 0.1, 0.1], None
    best = loss(values)
    for _ in range(12):
        for i in free:
            for sign in (1, -1):
                while True:
                    moved = list(values)
                    moved[i] = max(0, moved[i] + sign * steps[i])
                    now = loss(moved)
                    if now >= best - 1e-9:
                        break
                    values, best = moved, now
        steps = [s * 0.7 for s in steps]
    return values


def line(name, found):
    found = sorted(found)
    print(f"| {name} | {len(found)} | {100 * found[len(found) // 2]:.1f} % | "
          f"{100 * found[len(found) * 9 // 10]:.1f} % |")


def print_first_tokens(cases):
    """TTFT took no part in the fit: all rows. Requests of one length start and end together, so they come in waves."""
    print("| requests at a time | rows | measured / predicted prefill | error of half a wave |\n|---|---|---|---|")
    for low, high in ((1, 4), (5, 8), (9, 16), (17, 64), (65, 1 << 20)):
        found = [(float(c["row"]["silicon_ttft_ms"]) / c["ttft"], c["batch"]) for c in cases
                 if low <= c["batch"] <= high and float(c["row"]["silicon_ttft_ms"] or 0) > 0]
        if found:
            times, wave = sorted(r for r, _ in found), sorted(abs((b + 1) / 2 / r - 1) for r, b in found)
            print(f"| {low} to {high} | {len(found)} | {times[len(times) // 2]:.1f} | {100 * wave[len(wave) // 2]:.0f} % |")


def main():
    lpo, table, models = sys.argv[1:4]
    rows = list(csv.DictReader(gzip.open(table, "rt")))
    words = [command(lpo, models, r) for r in rows]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda w: w if isinstance(w, str) else predict(w), words))
    left = collections.Counter(f for f in found if isinstance(f, str))
    cases = []
    for r, f in zip(rows, found):
        if isinstance(f, str):
            continue
        p = [(k, ar / EXCHANGE) for k, ar in parts(f)]
        cases.append({"row": r, "parts": p, "layers": f["layers"], "batch": int(r["batch_size"]),
                      "osl": int(r["osl"]), "want": float(r["silicon_tpot_ms"]),
                      "built": f["tpot_ms"], "ttft": f["ttft_ms"], "half": is_fitted(r)})
    print("left out:", dict(left))
    shared = fit([c for c in cases if c["half"]], [0, 18, 0.65, 1.3], [1, 2, 3])
    print("any: step 0, layer %.1f us, exchange %.2f, prefill %.2f" % tuple(shared[1:]))
    for name in ("vllm", "sglang", "trtllm"):
        own = fit([c for c in cases if c["half"] and c["row"]["backend"] == name], shared, [0, 1])
        print(f"{name}: step {own[0]:.0f}, layer {own[1]:.1f} us")
    check = [c for c in cases if not c["half"]]
    print("| servers | rows | median error | 90 % |\n|---|---|---|---|")
    keys = {"backend": set(), "system": set(), "model_path": set()}
    line("all", [abs(c["built"] / c["want"] - 1) for c in check])
    for key, values in keys.items():
        values.update(c["row"][key] for c in check)
        for v in sorted(values):
            line(v, [abs(c["built"] / c["want"] - 1) for c in check if c["row"][key] == v])
    print_first_tokens(cases)


if __name__ == "__main__":
    main()
