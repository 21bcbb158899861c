# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/representative.sh: how long `all` may run, and how far representatives are from it.

    representative.py limit WORK SECONDS_LEFT
    representative.py compare WORK OUT
"""
import json
import os
import sys

METRICS = ("gpu__time_duration.sum", "dram__bytes.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
           "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")


def walls(work, name):
    path = f"{work}/{name}/run.json"
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return {s["name"]: s["wall_ns"] / 1e9 for s in json.load(f)["stages"] if s["state"] == "done"}


def limit(work, left):
    """Ten times what representatives took: enough to compare."""
    took = walls(work, "rep").get("ncu") or walls(work, "rep1").get("ncu")
    print(int(min(10.05 * took + 2, left) if took else left))


def regions(path):
    with open(path) as f:
        scopes = json.load(f)["scopes"]
    return {r["path"]: r for r in next(s for s in scopes if s["scope"] == "aggregate")["regions"]}


def value(region, name):
    found = region["metrics"].get(name)
    return found["value"] if found else None


def compare(work, out):
    truth = regions(f"{out}/all-ncu.json")
    result = {"walls": {n: walls(work, n) for n in ("native", "rep", "rep1", "long", "all")}, "regions": {}}
    # Without a trace below them, representatives are no totals.
    for name in [n for n in ("rep", "rep1") if os.path.exists(f"{out}/{n}.json") and "native" in walls(work, n)]:
        for path, r in sorted(regions(f"{out}/{name}.json").items()):
            t = truth.get(path)
            if not t or not path.startswith(("prefill", "decode")):
                continue
            row = {"launches": [r["launches"], t["launches"]]}
            for key in METRICS:
                a, b = value(r, key), value(t, key)
                if a is not None and b:
                    row[key] = round(100 * (a / b - 1), 2)
            result["regions"][f"{name} {path}"] = row
            print(name, path, row)
    print(json.dumps(result["walls"]))
    with open(f"{out}/representative.json", "w") as f:
        json.dump(result, f, indent=1)


if __name__ == "__main__":
    if sys.argv[1] == "limit":
        limit(sys.argv[2], float(sys.argv[3]))
    else:
        compare(sys.argv[2], sys.argv[3])
