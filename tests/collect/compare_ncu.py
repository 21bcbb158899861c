#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is every kernel of ncu's own list in our trace, with the same name, grid, block and ranges?

    compare_ncu.py TRACE.lpot NCU.csv     the CSV of: ncu --nvtx --csv --page raw --print-kernel-base mangled ...
"""
import csv
import gzip
import re
import sys
from collections import Counter

from lpot import Trace


def triple(text):
    return tuple(int(n) for n in re.findall(r"\d+", text))


def ranges(text):
    """'502  "<default domain>:prefill:none:none:none:none:none:none" "…"' to names, outermost first."""
    names = []
    for part in re.findall(r'"([^"]*)"', text):
        fields = part.split(":")
        domain, name = fields[0], ":".join(fields[1:-6])
        names.append(name if domain == "<default domain>" else f"{domain}@{name}")
    return tuple(names)


def ncu_kernels(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as f:
        lines = [line for line in f if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    stack = next(k for k in rows[0] if k.startswith("thread Domain"))
    return [(r["Kernel Name"], triple(r["Grid Size"]), triple(r["Block Size"]), ranges(r[stack])) for r in rows if r["ID"]]


def main():
    trace = Trace(sys.argv[1])
    theirs = ncu_kernels(sys.argv[2])
    ours = [(k["name"], k["grid"], k["block"], k["path"]) for k in trace.kernels()]
    same = sum(a == b for a, b in zip(ours, theirs))
    missing = Counter(theirs) - Counter(ours)
    extra = Counter(ours) - Counter(theirs)
    print(f"ncu {len(theirs)} kernels, ours {len(ours)}, equal and in the same place {same}, "
          f"missing {sum(missing.values())}, extra {sum(extra.values())}")
    for what, rows in (("missing", missing), ("extra", extra)):
        for (name, grid, block, path), count in list(rows.items())[:10]:
            print(f"  {what} x{count}: {name[:100]} {grid} {block} in {path}")
    regions = Counter(), Counter()
    for side, rows in zip(regions, (ours, theirs)):
        for row in rows:
            for depth in range(len(row[3] or ()) + 1):
                side["/".join((row[3] or ())[:depth])] += 1
    wrong = [p for p in set(regions[0]) | set(regions[1]) if regions[0][p] != regions[1][p]]
    print(f"regions {len(regions[1])}, with another count {len(wrong)}")
    for path in sorted(wrong)[:10]:
        print(f"  {path or '(all)'}: ncu {regions[1][path]}, ours {regions[0][path]}")
    return 1 if missing or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
