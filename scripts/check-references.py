#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of a reference on rows that were held out, by table, type and size, beside the roofline's.

    scripts/make-references.py TABLES h200_sxm --output /tmp/h200.ref --hold-out 10
    scripts/check-references.py build/lpo /tmp/h200.ref

Prints one row for each table, then one for each type and size."""
import collections
import csv
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("make", os.path.join(HERE, "make-references.py"))
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


def percent(errors, part):
    return 100 * sorted(errors)[min(int(len(errors) * part), len(errors) - 1)]


def main():
    lpo, path = sys.argv[1:3]
    head = open(path, "rb").read().split(b"\n\n")[0].decode()
    rates = {line.split()[1]: float(line.split()[2]) for line in head.split("\n")
             if line.startswith("rate: ")}
    total, parts = {}, {}
    for kind, (keys, axes) in make.KINDS.items():
        table = os.path.join(path + ".held", kind + ".csv")
        if not os.path.exists(table):
            continue
        out = subprocess.run([lpo, "reference", path, kind, "--csv", table], capture_output=True,
                             text=True, check=True).stdout.split("\n")
        ours = [(line.split(",")[-3], line.split(",")[-1]) for line in out[1:] if line]
        for row, (best, inside) in zip(csv.DictReader(open(table)), ours):
            want = float(row["best_us"])
            r = {c: row[c] if c in make.WORDS else float(row.get(c) or 0) for c in keys + axes}
            roof = abs(make.roofline(kind, r, rates) * 1e6 / want - 1)
            error = abs(float(best) / want - 1) if best else 1.0
            for name, key in ((total, kind), (parts, (kind, row[keys[0]], make.size_class(want)))):
                name.setdefault(key, []).append((error, roof, inside == "true"))
    print("| table | type | size | rows | median error | 90 % | roofline's median | inside |")
    print("|---|---|---|---|---|---|---|---|")
    for name in (total, parts):
        for key, rows in sorted(name.items(), key=str):
            kind, word, size = (key, "all", "all") if isinstance(key, str) else key
            size = size if isinstance(size, str) else f"< {size} us" if size < 1e6 else "more"
            errors = [e for e, _, _ in rows]
            print(f"| {kind} | {word} | {size} | {len(rows)} | {percent(errors, .5):.1f} % | "
                  f"{percent(errors, .9):.1f} % | {percent([x for _, x, _ in rows], .5):.0f} % | "
                  f"{100 * sum(i for _, _, i in rows) // len(rows)} % |")


if __name__ == "__main__":
    main()
