#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cut_snapshot.py IN OUT FOLDER: a memory snapshot of PyTorch without what no test reads: frames of C++ that are neither operators
nor nodes of autograd, and FOLDER, where the program lay. OUT may end in .gz."""
import gzip
import pickle
import sys


def main() -> None:
    with open(sys.argv[1], "rb") as f:
        snapshot = pickle.load(f)  # ours
    frames, stacks = {}, {}

    def cut(stack):
        key = tuple((x["filename"], x["line"], x["name"]) for x in stack if x["filename"].endswith(".py") or
                    x["name"].startswith(("at::_ops::", "torch::autograd::generated::", "c10::cuda::CUDACachingAllocator::")))
        if key not in stacks:
            stacks[key] = [frames.setdefault(k, {"name": k[2].split("(")[0], "line": k[1], "filename": k[0].replace(
                sys.argv[3], "/home/user/train/").replace("/opt/torch/.venv/", "/opt/venv/")}) for k in key]
        return stacks[key]

    for segment in snapshot["segments"]:
        segment["frames"] = cut(segment["frames"])
        for block in segment["blocks"]:
            block["frames"] = cut(block["frames"])
    for events in snapshot["device_traces"]:
        for event in events:
            event["frames"] = cut(event["frames"])
    data = pickle.dumps(snapshot, protocol=4)
    with open(sys.argv[2], "wb") as f:
        f.write(gzip.compress(data, 9, mtime=0) if sys.argv[2].endswith(".gz") else data)


main()
