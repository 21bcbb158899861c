# SPDX-License-Identifier: Apache-2.0
"""The events of traces.py as files of other profilers: an export of nsys (SQLite) and a file of the collector (.lpot).

An event is a dict as Kineto has it; times are read back in whole nanoseconds."""
from __future__ import annotations

import os
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from lpot import crc32c  # noqa: E402

PID, THREAD = 100, 100
GLOBAL_PID = PID << 24
EPOCH_NS = 1_700_000_000_000_000_000
FACTS, DEFS, THREAD_EVENTS, GPU, FOOTER, WINDOWS = 1, 2, 3, 4, 6, 9
PUSH, POP, LAUNCH, RETURN = 1, 2, 6, 7
PLACE, SHAPE, KERNEL = 1, 2, 3


def span(e: dict) -> tuple[int, int]:
    start = round(e["ts"] * 1000)
    return start, start + round(e["dur"] * 1000)


# --- nsys ----------------------------------------------------------------------------------------

NSYS = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, text TEXT, globalTid INTEGER,
  endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
"""
PUSH_POP_RANGE = 59


def write_nsys(path: str, events: list, gpu: str) -> None:
    ids: dict[str, int] = {}
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.executescript(NSYS)
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, ?)", (gpu,))
    for e in events:
        name, args = ids.setdefault(e["name"], len(ids) + 1), e["args"]
        if e["cat"] == "kernel":
            db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * 19)})",
                       (*span(e), 0, 1, args["stream"], args["correlation"], GLOBAL_PID, name, name, 32, *args["grid"], *args["block"], 0, 0, 0))
        elif e["cat"] == "cuda_runtime":
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0)", (*span(e), GLOBAL_PID + THREAD, args["correlation"], name))
        else:
            db.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,?,NULL,?,?,NULL,NULL,0)", (*span(e), PUSH_POP_RANGE, e["name"], GLOBAL_PID + THREAD))
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, text) for text, i in ids.items()])
    db.commit()
    db.close()


# --- the collector -------------------------------------------------------------------------------

def v(n: int) -> bytes:
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def z(n: int) -> bytes:
    return v(n << 1 if n >= 0 else (-n << 1) - 1)


def text(s: str) -> bytes:
    return v(len(s.encode())) + s.encode()


def block(kind: int, stream: int, sequence: int, ticks: int, payload: bytes) -> bytes:
    head = struct.pack("<IHHI", 0x424f504c, kind, 0, len(payload))
    rest = struct.pack("<IIQQ", stream, sequence, ticks, EPOCH_NS + ticks)
    return head + struct.pack("<I", crc32c(head + rest + payload)) + rest + payload


def thread_events(events: list, ids: dict) -> bytes:
    """Pushes, pops, launches and returns in order of time; of one moment, what ends stands before what begins."""
    order = []
    for e in events:
        start, end = span(e)
        if e["cat"] == "cuda_runtime":
            order += [(start, 1, LAUNCH, e["args"]["correlation"]), (end, 0, RETURN, 0)]
        elif e["cat"] == "user_annotation":
            order += [(start, 1, PUSH, ids[e["name"]]), (end, 0, POP, 0)]
    out, last, correlation = bytearray(), 0, 0
    for at, _, kind, what in sorted(order, key=lambda x: x[:2]):
        out += bytes([kind]) + v(at - last)
        last = at
        if kind == PUSH:
            out += v(what)
        elif kind == LAUNCH:
            out += z(what - correlation)
            correlation = what
    return bytes(out)


def gpu_records(events: list, ids: dict) -> bytes:
    out, shapes = bytearray([PLACE]) + v(0) + v(1) + v(7), {}
    last, correlation = 0, 0
    for e in (e for e in events if e["cat"] == "kernel"):
        args = e["args"]
        key = ids[e["name"]], *args["grid"], *args["block"]
        if key not in shapes:
            shapes[key] = len(shapes)
            out += bytes([SHAPE]) + b"".join(map(v, (*key, 32, 0, 0, 0, 0)))
        start, end = span(e)
        out += bytes([KERNEL]) + v(shapes[key]) + z(EPOCH_NS + start - last) + v(end - start) + z(args["correlation"] - correlation)
        last, correlation = EPOCH_NS + start, args["correlation"]
    return bytes(out)


def write_native(path: str, events: list, gpu: str, rank: int | None, window: bool = False) -> None:
    names = sorted({e["name"] for e in events})
    ids = {name: i + 1 for i, name in enumerate(names)}
    ticks = max(span(e)[1] for e in events)
    facts = {"pid": str(PID), "clock": "monotonic", "device.0.name": gpu} | ({"rank": str(rank)} if rank is not None else {})
    out = struct.pack("<8sHHI", b"LPOTRACE", 1, 3, 0)
    out += block(FACTS, 0, 0, 0, b"".join(text(k) + text(x) for k, x in facts.items()))
    out += block(DEFS, 0, 0, 0, b"".join(b"\x01" + text(n) for n in names) + b"\x03" + text("\x01" + chr(THREAD) + "\x00"))
    out += block(THREAD_EVENTS, 1, 0, ticks, thread_events(events, ids))
    out += block(GPU, 0, 0, ticks, gpu_records(events, ids))
    if window:  # one, by time, over all of it
        out += block(WINDOWS, 0, 0, ticks, v(0) + v(0) + v(0) + v(ticks) + v(3))
    out += block(FOOTER, 0, 0, ticks, v(13) + v(1))
    with open(path, "wb") as f:
        f.write(out)
