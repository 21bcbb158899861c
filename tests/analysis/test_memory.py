#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots that are made here: recordings without one of the two steps of giving back, owners behind packages, what a training
step's blocks are for, fragments, running out, and two of them compared. Prints TAP."""
from __future__ import annotations

import json
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import lpo_case  # noqa: E402
import tap  # noqa: E402

MIB = 1 << 20
SITE = "/venv/lib/python3.12/site-packages/"


def frame(filename: str, line: int, name: str) -> dict:
    return {"filename": filename, "line": line, "name": name}


MAIN = frame("/home/me/train.py", 9, "main")
CALL = frame(SITE + "torch/nn/modules/module.py", 1750, "_call_impl")
SETUP = [frame("??", 0, "at::_ops::empty_memory_format::call(long)"), frame(SITE + "torch/nn/modules/linear.py", 99, "__init__"),
         frame("/home/me/model.py", 4, "__init__"), MAIN]
FORWARD = [frame("??", 0, "at::_ops::einsum::call()"), frame(SITE + "torch/functional.py", 407, "einsum"),
           frame(SITE + "einops/_backends.py", 288, "einsum"), frame("/home/me/model.py", 32, "forward"), CALL, MAIN]
BACKWARD = [frame("??", 0, "torch::autograd::generated::MmBackward0::apply(std::vector)"),
            frame("??", 0, "torch::autograd::Engine::thread_main(std::shared_ptr)")]
OPTIMIZER = [frame("??", 0, "at::_ops::zeros_like::call()"), frame(SITE + "torch/optim/adam.py", 160, "_init_group"),
             frame(SITE + "torch/optim/optimizer.py", 493, "wrapper"), MAIN]
LIBRARY = [frame(SITE + "torch/nn/functional.py", 1, "linear"), frame(SITE + "transformers/models/llama/modeling_llama.py", 200, "forward")]


class History:
    """What an allocator does, and the snapshot that is left."""

    def __init__(self) -> None:
        self.events, self.live, self.segments, self.now = [], {}, [], 1000

    def add(self, action: str, addr: int, size: int, frames: list, **more) -> None:
        self.now += 10
        self.events.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": self.now, "frames": frames} | more)

    def segment(self, addr: int, size: int) -> None:
        self.segments.append((addr, size))
        self.add("segment_alloc", addr, size, [])

    def alloc(self, addr: int, size: int, frames: list) -> None:
        self.live[addr] = (size, frames)
        self.add("alloc", addr, size, frames)

    def free(self, addr: int, frames: list) -> None:
        size, _ = self.live.pop(addr)
        self.add("free_requested", addr, size, frames)
        self.now -= 10
        self.add("free_completed", addr, size, frames)

    def snapshot(self, without: str = "") -> bytes:
        segments = []
        for start, size in self.segments:
            blocks, at = [], start
            for addr in sorted(a for a in self.live if start <= a < start + size):
                if addr > at:
                    blocks.append({"address": at, "size": addr - at, "requested_size": 0, "state": "inactive", "frames": []})
                blocks.append({"address": addr, "size": self.live[addr][0], "requested_size": self.live[addr][0],
                               "state": "active_allocated", "frames": self.live[addr][1]})
                at = addr + self.live[addr][0]
            if at < start + size:
                blocks.append({"address": at, "size": start + size - at, "requested_size": 0, "state": "inactive", "frames": []})
            segments.append({"device": 0, "address": start, "total_size": size, "stream": 0, "segment_pool_id": (0, 0),
                             "segment_type": "large" if size > 2 * MIB else "small", "blocks": blocks})
        events = [e for e in self.events if e["action"] != without]
        return pickle.dumps({"segments": segments, "device_traces": [events]}, 2)


def training(end: bool = True) -> History:
    """A step: 8 MiB of parameters, activations of 12 MiB, gradients, two states; the peak is in the optimizer."""
    h = History()
    h.segment(0, 100 * MIB)
    h.alloc(0, 8 * MIB, SETUP)
    h.alloc(10 * MIB, 12 * MIB, FORWARD)
    h.alloc(30 * MIB, 4 * MIB, FORWARD)
    h.free(30 * MIB, FORWARD)
    h.alloc(40 * MIB, 2 * MIB, BACKWARD)
    h.alloc(50 * MIB, 8 * MIB, BACKWARD)
    h.free(40 * MIB, BACKWARD)
    h.free(10 * MIB, BACKWARD)
    h.alloc(60 * MIB, 8 * MIB, OPTIMIZER)
    h.alloc(70 * MIB, 8 * MIB, OPTIMIZER)
    h.alloc(80 * MIB, 3 * MIB, OPTIMIZER)
    h.free(80 * MIB, OPTIMIZER)
    return h


class Memory(lpo_case.LpoCase):
    def put_bytes(self, name: str, data: bytes) -> str:
        with open(os.path.join(self.cwd, name), "wb") as f:
            f.write(data)
        return name

    def memory(self, data: bytes) -> dict:
        done = self.lpo("report", self.put_bytes("s.pickle", data), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.report = json.loads(done.stdout)
        return self.report["memory"][0]

    def test_a_step_that_was_not_recorded(self) -> None:
        whole = self.memory(training().snapshot())
        self.assertEqual((whole["peak_bytes"], whole["reserved_bytes"], whole["older_bytes"]), (35 * MIB, 100 * MIB, 0))
        for without in ("free_requested", "free_completed"):
            self.assertEqual(self.memory(training().snapshot(without)), whole, without)

    def test_beside_a_trace_with_a_ladder(self) -> None:
        os.mkdir(os.path.join(self.cwd, "both"))
        self.put_bytes("both/s.pickle", training().snapshot())
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/kineto/h200_train_memory.json.gz"), "rb") as f:
            self.put_bytes("both/trace.json.gz", f.read())
        said = json.loads(self.lpo("report", "both", "--json").stdout)
        rungs = [f["id"] for f in said["ladder"]["rungs"]]
        self.assertEqual([(f["id"], f["share"] is None) for f in said["findings"]],
                         [(i, False) for i in rungs] + [("memory-peak", True)])

    def test_what_blocks_are_for(self) -> None:
        got = {c["category"]: c["bytes"] // MIB for c in self.memory(training().snapshot())["categories"]}
        self.assertEqual(got, {"parameters": 8, "gradients": 8, "optimizer states": 16, "activations": 0, "temporary": 3, "other": 0,
                               "before recording": 0})
        h = History()
        h.segment(0, 100 * MIB)
        h.alloc(0, 8 * MIB, SETUP)
        h.alloc(10 * MIB, 12 * MIB, FORWARD)
        h.alloc(30 * MIB, 4 * MIB, FORWARD)
        h.free(30 * MIB, FORWARD)
        h.alloc(40 * MIB, 1 * MIB, BACKWARD)
        h.free(10 * MIB, BACKWARD)
        got = {c["category"]: c["bytes"] // MIB for c in self.memory(h.snapshot())["categories"]}
        self.assertEqual((got["activations"], got["temporary"], got["parameters"]), (12, 4, 8))

    def test_older_blocks_of_the_size_of_a_state_are_parameters(self) -> None:
        h = training()
        h.events = h.events[2:]  # without the segment and the parameters
        h.live[0] = (8 * MIB, [])
        got = self.memory(h.snapshot())
        self.assertEqual({c["category"]: c["bytes"] // MIB for c in got["categories"]}["parameters"], 8)
        self.assertEqual(got["older_bytes"], 8 * MIB)

    def test_owners_behind_packages(self) -> None:
        h = History()
        h.segment(0, 100 * MIB)
        h.alloc(0, 8 * MIB, FORWARD)
        h.alloc(10 * MIB, 4 * MIB, [*LIBRARY, MAIN])
        h.alloc(20 * MIB, 2 * MIB, LIBRARY)
        got = {(o["place"], o["library"]): o["bytes"] // MIB for o in self.memory(h.snapshot())["owners"]}
        self.assertEqual(got, {("me/model.py(32): forward", "einops/_backends.py(288): einsum"): 8,
                               ("me/train.py(9): main", "llama/modeling_llama.py(200): forward"): 4,
                               ("llama/modeling_llama.py(200): forward", None): 2})

    def test_unused_by_pool_over_time(self) -> None:
        h = training()
        h.segment(200 * MIB, 2 * MIB)
        h.alloc(200 * MIB, 4096, FORWARD)
        got = {u["pool"]: (u["most_bytes"], u["last_bytes"]) for u in self.memory(h.snapshot())["unused"]}
        self.assertEqual(got, {"large": (100 * MIB, 68 * MIB), "small": (2 * MIB, 2 * MIB - 4096)})

    def test_out_of_memory(self) -> None:
        h = training()
        h.add("oom", 0, 90 * MIB, FORWARD, device_free=5 * MIB)
        got = self.memory(h.snapshot())
        self.assertEqual(got["out_of_memory"], 1)
        self.assertEqual((got["refused"]["bytes"], got["refused"]["gpu_free_bytes"], got["refused"]["place"]),
                         (90 * MIB, 5 * MIB, "me/model.py(32): forward"))
        first = self.report["findings"][0]
        self.assertEqual((first["id"], first["where"], first["evidence"][0]["value"]),
                         ("out-of-memory", "me/model.py(32): forward", 32 * MIB))
        self.assertNotIn("expandable_segments", first["advice"])
        h = training()
        h.add("oom", 0, 60 * MIB, FORWARD, device_free=5 * MIB)
        self.memory(h.snapshot())  # 68 MiB are reserved and not in use
        self.assertIn("expandable_segments", self.report["findings"][0]["advice"])

    def test_two_of_them(self) -> None:
        h = training()
        h.alloc(82 * MIB, 9 * MIB, LIBRARY)
        a, b = self.put_bytes("a.pickle", training().snapshot()), self.put_bytes("b.pickle", h.snapshot())
        done = self.lpo("diff", a, b, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = {f["name"]: (f["a"], f["b"]) for f in json.loads(done.stdout)["figures"]}
        self.assertEqual(figures["snapshot_peak_bytes"], (35 * MIB, 41 * MIB))
        self.assertEqual(figures["snapshot_bytes at llama/modeling_llama.py(200): forward"], (None, 9 * MIB))
        self.assertIn("Peak of GPU memory: 35 MiB in A, 41 MiB in B", self.lpo("diff", a, b).stdout)


if __name__ == "__main__":
    tap.main()
