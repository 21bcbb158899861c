#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo operators --json` against a second reading of the same files: rows by name, shapes and types
with calls and times from oracle_kineto.py's slow reader, FLOPs by formulas written here from the
definitions of the design page alone. As TAP."""
import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import oracle_kineto as oracle  # noqa: E402


def rows_of(path):
    """{(name, dims, types): [calls, host, host self, gpu, gpu self]} and the values seen under each key."""
    doc = oracle.load(path)
    values = {}
    for e in doc["traceEvents"] if isinstance(doc, dict) else doc:
        if e.get("ph") == "X" and str(e.get("cat", "")).lower() in oracle.OPS:
            args = e.get("args", {})
            key = (e["name"], json.dumps(args.get("Input Dims", args.get("Input dims"))), json.dumps(args.get("Input type")))
            values.setdefault(key, []).append(args.get("Concrete Inputs"))
    works, calls, _, ops, _ = oracle.events(path)
    table, _, _ = oracle.operators(ops, works, calls)
    return {(r[0], *(json.dumps(json.loads(v or "null")) for v in r[1:3])): r[3:8] for r in table}, values


def broadcast(a, b):
    n = max(len(a), len(b))
    a, b = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    return math.prod(max(x, y) if min(x, y) == 1 else x for x, y in zip(a, b))


def matrix(a, b):
    a, b = (a if len(a) > 1 else [1, *a]), (b if len(b) > 1 else [*b, 1])
    if a[-1] != b[-2]:  # some old files have the shapes of the calls around in front of their own
        return None
    return 2 * broadcast(a[:-2], b[:-2]) * a[-2] * a[-1] * b[-1]


def attention(q, k, v, causal, tokens=False):
    if len(q) != 4:
        return None
    heads, length = (q[2], q[1]) if tokens else (q[1], q[2])
    keys = k[1] if tokens else k[2]
    return 2 * q[0] * heads * length * keys * (q[3] + v[3]) / (2 if causal else 1)


def convolution(x, w, stride, pad, spread):
    places = [(n + 2 * p - d * (k - 1) - 1) // s + 1
              for n, k, s, p, d in zip(x[-(len(w) - 2):], w[2:], stride, pad, spread)]
    return 2 * (x[0] if len(x) == len(w) else 1) * math.prod(w) * math.prod(places)


def numbers(text, count):
    found = json.loads(text)
    found = found if isinstance(found, list) else [found]
    return found * count if len(found) == 1 else found


def flops(name, d, values):
    """None: no formula here, and lpo may know better."""
    yes = lambda i: bool(values and i < len(values) and values[i] in ("True", "true", "1"))  # noqa: E731
    if name in ("aten::mm", "aten::bmm", "aten::matmul"):
        return matrix(d[0], d[1])
    if name in ("aten::addmm", "aten::baddbmm"):
        return matrix(d[1], d[2])
    if name == "aten::linear":
        return matrix(d[0], d[1][::-1])
    if name == "aten::_scaled_dot_product_flash_attention":
        return attention(d[0], d[1], d[2], yes(4))
    if name == "aten::_scaled_dot_product_efficient_attention":
        return attention(d[0], d[1], d[2], yes(6))
    if name == "aten::scaled_dot_product_attention":
        return attention(d[0], d[1], d[2], yes(5))
    if name == "aten::_flash_attention_forward":
        return attention(d[0], d[1], d[2], yes(8), tokens=True)
    if name in ("aten::_cudnn_attention_backward", "aten::_scaled_dot_product_cudnn_attention_backward"):
        return 2.5 * attention(d[1], d[2], d[3], yes(14))
    if name in ("aten::convolution", "aten::conv2d") and values and len(values) > 5:
        n = len(d[1]) - 2
        return convolution(d[0], d[1], *(numbers(values[i], n) for i in (3, 4, 5)))
    return None


def compare(lpo, path):
    done = subprocess.run([lpo, "operators", path, "--json"], capture_output=True, text=True)
    want, values = rows_of(path)
    if not want:
        return None if done.returncode == 1 and "no operators" in done.stderr else f"exit {done.returncode}: {done.stderr}"
    if done.returncode:
        return done.stderr.strip()
    got = {(o["name"], json.dumps(o["shapes"]), json.dumps(o["dtypes"])): o for o in json.loads(done.stdout)["operators"]}
    if set(want) != set(got):
        return f"rows differ: {sorted(set(want) ^ set(got))[:3]}"
    gpu = any(o["gpu_ns_total"] is not None for o in got.values())
    for key, row in want.items():
        o = got[key]
        have = [o["calls"], o["host_ns"], o["host_ns_self"], o["gpu_ns_total"], o["gpu_ns_self"]]
        if have != (row if gpu else [*row[:3], None, None]):
            return f"{key}: want {row}, got {have}"
        dims = json.loads(key[1])
        if dims is None:
            continue
        per_call = [flops(key[0], dims, v) for v in values[key]]
        if None not in per_call and round(sum(per_call) / len(per_call)) != o["flops"]:
            return f"{key}: want {sum(per_call) / len(per_call)} FLOPs, got {o['flops']}"
    return None


if __name__ == "__main__":
    sys.exit(oracle.check_all(compare))
