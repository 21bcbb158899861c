# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/graphs.sh: a run whose CUDA graphs were timed as a whole against one that recorded every kernel.

    graphs.py LPO WHOLE_RUN NODES_RUN
"""
import glob
import json
import subprocess
import sys
from collections import Counter


def read(lpo, run):
    out = subprocess.run([lpo, "regions", "--json", *glob.glob(f"{run}/native/*.lpot")], check=True, capture_output=True, text=True)
    scopes = json.loads(out.stdout)["scopes"]
    return {r["path"]: r for r in next(s for s in scopes if s["scope"] == "aggregate")["regions"]}


def kernels(region, key):
    return Counter({k.get("linker", k["name"]): k[key] or 0 for k in region["kernels"]})


def captured(region):
    return region.get("captured_here", {}).get("launches", 0)


def misplaced(whole, nodes):
    """Part of the region's time that stands with another kernel than measured, in per cent: each side as shares."""
    a, b = kernels(whole, "gpu_ns"), kernels(nodes, "gpu_ns")
    sum_a, sum_b = sum(a.values()) or 1, sum(b.values()) or 1
    return 50 * sum(abs(a[k] / sum_a - b[k] / sum_b) for k in a | b)


def main():
    lpo, whole_run, nodes_run = sys.argv[1:]
    whole, nodes = read(lpo, whole_run), read(lpo, nodes_run)
    wrong = [p for p in sorted(whole.keys() | nodes.keys()) if p not in whole or p not in nodes
             or kernels(whole[p], "launches") != kernels(nodes[p], "launches") or captured(whole[p]) != captured(nodes[p])]
    shared = {p: sum(k.get("launches_time_estimated", 0) for k in r["kernels"]) for p, r in whole.items()}
    print(f"{len(whole)} regions, {sum(r['launches_exclusive'] for r in whole.values())} kernels, "
          f"{max(shared.values())} of them in graphs; regions that differ: {wrong or 'none'}")
    for path in [p for p, n in shared.items() if n and p in nodes]:
        a, b = whole[path], nodes[path]
        print(f"{path}: {a['launches']} launches, {a['gpu_ns_inclusive'] / 1e6:.3f} ms as a whole, {b['gpu_ns_inclusive'] / 1e6:.3f} ms "
              f"as the sum of its kernels; time that stands with another kernel than measured: {misplaced(a, b):.1f} %")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
