# SPDX-License-Identifier: Apache-2.0
"""Cuts a file of sampled counters to a time and takes the machine's name out, for test data.

    cut_lpoc.py IN.lpoc OUT.lpoc.gz FROM TO    seconds since its first sample
"""
import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trace"))
import lpoc  # noqa: E402

INSTEAD = {"host": "host", "pid": "1", "device.uuid": "0" * 32}
PER_BLOCK = 4096


def main():
    facts, metrics, items = lpoc.read(Path(sys.argv[1]).read_bytes())
    first = next(i for i in items if i[0] == "sample")[1]
    since, until = (first + int(float(word) * 1e9) for word in sys.argv[3:5])
    kept = [i for i in items if i[0] in ("note", "end") or since <= i[1] and i[2] <= until]
    scales = [m[3] for m in metrics]
    out, batch = lpoc.preamble() + lpoc.facts({k: INSTEAD.get(k, v) for k, v in facts.items()}) + lpoc.metrics(metrics), []

    def flush():
        nonlocal out, batch
        out, batch = out + (lpoc.samples(batch, scales) if batch else b""), []

    for kind, *rest in kept:
        if kind == "sample":
            batch.append(rest)
            if len(batch) == PER_BLOCK:
                flush()
            continue
        flush()
        if kind == "end":
            count = sum(1 for i in kept if i[0] == "sample")
            lost = [i for i in kept if i[0] == "loss"]
            out += lpoc.end({**rest[0], 1: count, 2: sum(i[3] for i in lost), 3: sum(i[2] - i[1] for i in lost)})
        else:
            out += getattr(lpoc, kind)(*rest)
    Path(sys.argv[2]).write_bytes(gzip.compress(out, 9, mtime=0))


if __name__ == "__main__":
    main()
