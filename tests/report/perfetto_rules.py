# SPDX-License-Identifier: Apache-2.0
"""What Perfetto and chrome://tracing ask of a file of trace events, as a check of our own: each breach is a sentence.

The rules are those of the Trace Event Format: spans of one thread nest (a viewer drops what overlaps), times are not
negative, a counter has numbers and its time does not run back, a flow has one start and one end, each bound to a span
that is open at that moment, and every process and thread that has events has a name.
"""
from __future__ import annotations

import json
import math

PHASES = {"M": {"name", "pid", "tid", "args"}, "X": {"name", "pid", "tid", "ts", "dur"}, "C": {"name", "pid", "ts", "args"},
          "s": {"name", "cat", "id", "pid", "tid", "ts"}, "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"}}
METADATA = {"process_name", "thread_name", "thread_sort_index", "process_sort_index", "trace_title"}
MOST = 20


def _ns(us) -> int:
    return round(1000 * us)


def _no_constant(text: str):
    raise ValueError(f"{text} is not JSON")


def _shapes(events: list) -> list[str]:
    out = []
    for i, e in enumerate(events):
        wants = PHASES.get(e.get("ph"))
        if wants is None:
            out.append(f"event {i}: phase {e.get('ph')!r} is not one that lpo writes")
        elif wants - set(e):
            out.append(f"event {i}: {sorted(wants - set(e))} is missing")
        elif not all(isinstance(e.get(k, 0), int) for k in ("pid", "tid")):
            out.append(f"event {i}: pid and tid are numbers")
        elif e["ph"] == "M" and e["name"] not in METADATA:
            out.append(f"event {i}: viewers do not know the metadata {e['name']!r}")
        elif e["ph"] != "M" and (not isinstance(e["ts"], (int, float)) or e["ts"] < 0 or e.get("dur", 0) < 0):
            out.append(f"event {i}: a time is negative")
    return out


def _nesting(spans: dict, names: dict) -> list[str]:
    out = []
    for lane, of in spans.items():
        of.sort(key=lambda s: (s[0], -s[1]))
        open_until: list[int] = []
        for start, end in of:
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                out.append(f"{names.get(lane)}: the span from {start} to {end} ns does not nest")
                break
            open_until.append(end)
    return out


def _counters(events: list) -> list[str]:
    out, last = [], {}
    for e in (e for e in events if e["ph"] == "C"):
        track = (e["pid"], e["name"])
        values = list(e["args"].values())
        if not values or not all(isinstance(v, (int, float)) and math.isfinite(v) for v in values):
            out.append(f"counter {track}: {e['args']} has a value that is no number")
        if e["ts"] < last.get(track, 0):
            out.append(f"counter {track}: time runs back at {e['ts']}")
        last[track] = e["ts"]
    return out


def _flows(events: list, spans: dict) -> list[str]:
    out, flows = [], {}
    starts = {lane: {s for s, _ in of} for lane, of in spans.items()}
    for e in (e for e in events if e["ph"] in "sf"):
        flows.setdefault((e["cat"], e["name"], e["id"]), []).append(e)
        lane, ns = (e["pid"], e["tid"]), _ns(e["ts"])
        if ns not in starts.get(lane, ()) and not any(s <= ns < end for s, end in spans.get(lane, ())):
            out.append(f"flow {e['id']}: no span of its thread is open at {e['ts']}")
    for key, of in flows.items():
        if [e["ph"] for e in of] != ["s", "f"] or of[0]["ts"] > of[1]["ts"]:
            out.append(f"flow {key}: one start, then one end")
    return out


def breaches(text: str) -> list[str]:
    """What is wrong with a file; nothing where it follows the rules."""
    try:
        trace = json.loads(text, parse_constant=_no_constant)
    except ValueError as e:
        return [f"not JSON: {e}"]
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list) or not all(isinstance(e, dict) for e in events):
        return ["traceEvents is no list of events"]
    out = _shapes(events)
    if out:
        return out[:MOST]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    groups = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    spans: dict = {}
    for e in (e for e in events if e["ph"] == "X"):
        spans.setdefault((e["pid"], e["tid"]), []).append((_ns(e["ts"]), _ns(e["ts"]) + _ns(e["dur"])))
    out += [f"thread {lane} has spans and no name" for lane in spans if lane not in names]
    out += [f"process {e['pid']} has events and no name" for e in events if e["ph"] != "M" and e["pid"] not in groups]
    return (out + _nesting(spans, names) + _counters(events) + _flows(events, spans))[:MOST]
