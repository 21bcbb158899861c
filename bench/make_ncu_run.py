#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run folder with one ncu capture of 20 regions, 300 kernels each, made from a real raw page.

    make_ncu_run.py REAL_raw.csv.gz OUT_FOLDER
"""
import csv
import gzip
import os
import sys


def main():
    with gzip.open(sys.argv[1], "rt") as f:
        rows = list(csv.reader(line for line in f if line.startswith('"')))
    nvtx = [i for i, c in enumerate(rows[0]) if "Push/Pop" in c][0]
    os.makedirs(os.path.join(sys.argv[2], "ncu"), exist_ok=True)
    with open(os.path.join(sys.argv[2], "ncu", "raw.csv"), "w", newline="") as f:
        w = csv.writer(f, quoting=csv.QUOTE_ALL)
        w.writerows(rows[:2])
        for region in range(20):
            for i, row in enumerate(rows[2:302]):
                row = [str(region * 300 + i), *row[1:]]
                row[nvtx] = f'776  "<default domain>:region{region}:none:none:none:none:none:none" '
                w.writerow(row)


if __name__ == "__main__":
    main()
