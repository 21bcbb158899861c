#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats a real nsys export with shifted times and ids until it has the given number of kernels
and ranges.

    make_nsys.py REAL.sqlite[.gz] OUT.sqlite KERNELS RANGES
"""
import gzip
import os
import shutil
import sqlite3
import sys


def times(n, rows):
    return max(1, -(-n // max(1, rows)))


def main():
    real, out, kernels, ranges = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if os.path.exists(out):
        return
    part = out + ".part"
    with (gzip.open(real) if real.endswith(".gz") else open(real, "rb")) as f, open(part, "wb") as t:
        shutil.copyfileobj(f, t)
    db = sqlite3.connect(part)
    db.execute("PRAGMA journal_mode=OFF")
    db.execute("PRAGMA synchronous=OFF")
    db.execute("PRAGMA page_size=65536")
    cur = db.cursor()
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": kernels, "CUPTI_ACTIVITY_KIND_RUNTIME": kernels,
              "NVTX_EVENTS": ranges}
    first, last = cur.execute("SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
    span = last - first + 1000000
    copies = times(kernels, cur.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0])
    ids = cur.execute("SELECT max(correlationId) + 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()[0]
    for table, want in tables.items():
        columns = [row[1] for row in cur.execute(f"PRAGMA table_info({table})")]
        rows = cur.execute(f"SELECT * FROM {table}").fetchall()
        start, end = columns.index("start"), columns.index("end")
        corr = columns.index("correlationId") if "correlationId" in columns else None
        # ranges grow faster than kernels: each copy of the trace holds several of each range
        each = max(1, want // max(1, len(rows)) // copies) if table == "NVTX_EVENTS" else 1
        insert = f"INSERT INTO {table} VALUES ({','.join('?' * len(columns))})"

        def shifted():
            for k in range(1, copies):
                for row in rows:
                    for _ in range(each):
                        new = list(row)
                        new[start] += k * span
                        if new[end] is not None:
                            new[end] += k * span
                        if corr is not None:
                            new[corr] += k * ids
                        yield new
        cur.executemany(insert, shifted())
    db.commit()
    db.close()
    os.replace(part, out)


if __name__ == "__main__":
    main()
