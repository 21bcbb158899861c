#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured times of kernels, as CSV tables, made into one small reference of a GPU.

    scripts/make-references.py TABLES GPU [--hardware ENTRY] [--output FILE] [--hold-out N]

TABLES has GPU.gemm.csv, GPU.moe.csv … (plain or .gz) with the columns that docs/references.md
lists. --hardware names the sheet in conf/hardware (found by the GPU's name otherwise). --hold-out 10
leaves one row of ten out and writes those rows to FILE.held/, for scripts/check-references.py.

A time is kept as its ratio to the roofline of its shape, in logarithmic steps, on a grid for each
kernel's variant. Shapes that were not measured between measured ones are filled in from their
neighbours. docs/references.md describes the file."""
import argparse
import bisect
import collections
import csv
import gzip
import math
import os
import random
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 300 * 1000
FLOOR_US = 2.0  # a launch: no kernel is shorter
FINE = 0.03  # smallest step of ratios
REACH = 3  # neighbours further away on an axis say nothing
SOURCE = ("NVIDIA AIConfigurator, https://github.com/ai-dynamo/aiconfigurator, Apache-2.0: times of "
          "single kernels in vLLM, SGLang and TensorRT-LLM, the best over frameworks and versions")
ENTRIES = {"a100_sxm": "a100_80_sxm", "b200_sxm": "b200", "b300_sxm": "b300"}

# kind: columns that choose a variant (first those with words), columns of the grid (the last one
# varies fastest), and columns along which a missing shape may be estimated
KINDS = {
    "gemm": (["gemm_dtype"], ["k", "n", "m"]),
    "context_attention": (["attn_dtype", "kv_cache_dtype", "head_dim", "window_size", "step",
                           "num_key_value_heads", "num_heads"], ["batch_size", "isl"]),
    "generation_attention": (["attn_dtype", "kv_cache_dtype", "head_dim", "window_size", "isl",
                              "num_key_value_heads", "num_heads"], ["batch_size", "step"]),
    "context_mla": (["mla_dtype", "kv_cache_dtype", "tp_size", "step", "num_heads"],
                    ["batch_size", "isl"]),
    "generation_mla": (["mla_dtype", "kv_cache_dtype", "tp_size", "isl", "num_heads"],
                       ["batch_size", "step"]),
    "moe": (["moe_dtype", "distribution", "hidden_size", "inter_size", "topk", "num_experts",
             "moe_ep_size", "moe_tp_size"], ["num_tokens"]),
    "nccl": (["op_name", "nccl_dtype", "num_gpus"], ["message_size"]),
}
WORDS = {"gemm_dtype", "attn_dtype", "kv_cache_dtype", "mla_dtype", "moe_dtype", "distribution",
         "op_name", "nccl_dtype"}
ALONG = {"context_attention": 2, "generation_attention": 2, "context_mla": 1, "generation_mla": 1,
         "moe": 2, "nccl": 1}  # so many of the last variant columns are numbers to estimate along

# dtype: unit of the products, bytes of a weight, bytes of an activation
FORMATS = {"bfloat16": ("bf16", 2, 2), "float16": ("fp16", 2, 2), "fp8": ("fp8", 1, 1),
           "fp8_static": ("fp8", 1, 1), "fp8_block": ("fp8", 1, 1), "sq": ("int8", 1, 1),
           "int8_wo": ("bf16", 1, 2), "int4_wo": ("bf16", 0.5, 2), "nvfp4": ("fp4", 0.5625, 0.5625),
           "w4a16_mxfp4": ("bf16", 0.53125, 2), "w4a8_mxfp4_mxfp8": ("fp8", 0.53125, 1),
           "w4afp8": ("fp8", 0.5, 1)}


def read_sheet(entry):
    """The rates of conf/hardware/ENTRY.yaml: name to units a second."""
    text = open(os.path.join(ROOT, "conf", "hardware", entry + ".yaml")).read()
    rates = {k: float(v) * 1e12 for k, v in re.findall(r"^  (\w+): ([\d.]+)$", text, re.M)}
    rates["bandwidth"] = float(re.search(r"^bandwidth_gbs: ([\d.]+)", text, re.M)[1]) * 1e9
    link = re.search(r"^nvlink_gbs: ([\d.]+)", text, re.M)
    rates["link"] = float(link[1]) * 1e9 / 2 if link else 32e9
    for narrow, wide in (("bf16", "fp16"), ("fp8", "bf16"), ("fp4", "fp8"), ("int8", "bf16")):
        rates.setdefault(narrow, rates.get(wide, 0))
    return rates


def roofline(kind, r, rates):
    """Seconds that the shape needs at least; the C side is src/reference/roofline.c."""
    if kind == "nccl":
        n, size = r["num_gpus"], r["message_size"] * (1 if r["nccl_dtype"] == "int8" else 2)
        return size * (2 if r["op_name"] == "all_reduce" else 1) * (n - 1) / n / rates["link"]
    unit, weight, act = FORMATS.get(r.get("gemm_dtype") or r.get("moe_dtype") or "bfloat16",
                                    FORMATS["bfloat16"])
    kv = 1 if r.get("kv_cache_dtype") == "fp8" else 2
    if kind == "gemm":
        m, n, k = r["m"], r["n"], r["k"]
        flops, moved = 2 * m * n * k, m * k * act + n * k * weight + m * n * 2
    elif kind == "moe":
        local = max(r["num_experts"] / r["moe_ep_size"], 1)
        inter = r["inter_size"] / r["moe_tp_size"]
        chosen = min(r["topk"] / r["num_experts"], 1)
        hit = local * (1 - (1 - chosen) ** r["num_tokens"])
        flops = 6 * r["num_tokens"] * r["topk"] / r["moe_ep_size"] * r["hidden_size"] * inter
        moved = hit * 3 * r["hidden_size"] * inter * weight + r["num_tokens"] * r["hidden_size"] * 4
    elif kind.endswith("attention"):
        b, new, past, d = r["batch_size"], r["isl"], r["step"], r["head_dim"]
        window = r["window_size"] or new + past
        if kind == "context_attention":
            pairs = min(new * (past + (new + 1) / 2), new * window)
            keys = new + past
            unit = "fp8" if r["attn_dtype"] == "fp8" else "bf16"
        else:
            keys = min(new + past, window)
            pairs = new * keys
        flops = 4 * b * r["num_heads"] * d * pairs
        moved = b * d * (new * r["num_heads"] * 4 + keys * r["num_key_value_heads"] * 2 * kv)
    else:
        b, new, past, heads = r["batch_size"], r["isl"], r["step"], r["num_heads"]
        if kind == "context_mla":
            flops = 2 * b * heads * 320 * new * (past + (new + 1) / 2)
            moved = b * new * heads * 640 * 2
        else:
            flops = 2 * b * heads * 1088 * (new + past)
            moved = b * ((new + past) * 576 * kv + heads * 1088 * 2)
    return max(flops / rates[unit], moved / rates["bandwidth"])


def read_table(tables, gpu, kind):
    for path in (f"{gpu}.{kind}.csv", f"{gpu}.{kind}.csv.gz"):
        path = os.path.join(tables, path)
        if os.path.exists(path):
            with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as f:
                return list(csv.DictReader(f))
    return []


def clean(kind, rows, rates):
    """One row for each shape: the best one that the hardware can do. Published tables have shapes
    twice, and among them times that would need a multiple of the peak rate."""
    keys, axes = KINDS[kind]
    best = {}
    slack = 0.9 if kind == "context_attention" else 0.3  # caches and skewed experts read less
    for row in rows:
        r = {c: row[c] if c in WORDS else float(row.get(c) or 0) for c in keys + axes}
        at, us = tuple(r.values()), float(row["best_us"])
        if us < slack * roofline(kind, r, rates) * 1e6:
            continue
        if at not in best or us < float(best[at]["best_us"]):
            best[at] = row
    return list(best.values())


def solve(rows):
    """x of A x = b, by elimination; a row holds one of A and its b."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(i + 1, n):
            f = rows[j][i] / rows[i][i]
            if f:
                rows[j] = [y - f * x for x, y in zip(rows[i], rows[j])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


class Table:
    """One kind: variants with a grid each; grids of one first word share their axes."""

    def __init__(self, kind, rows, rates):
        self.kind = kind
        self.keys, self.axes = KINDS[kind]
        along = ALONG.get(kind, 0)
        self.outer = len(self.keys) - along
        self.points = collections.defaultdict(dict)  # fixed columns -> {numbers: ratio}
        self.number = {w: {} for w in WORDS}
        self.rates = rates
        for row in rows:
            fixed, at, y = self.place(row)
            self.points[fixed][at] = y
        self.values = {f: [sorted({a[i] for a in s}) for i in range(along + len(self.axes))]
                       for f, s in self.points.items()}
        self.along = along
        self.weigh()

    def place(self, row):
        r = {c: (row[c] if c in WORDS else float(row.get(c) or 0)) for c in self.keys + self.axes}
        y = math.log(float(row["best_us"]) / (FLOOR_US + roofline(self.kind, r, self.rates) * 1e6))
        cols = self.keys + self.axes
        return tuple(r[c] for c in cols[:self.outer]), tuple(r[c] for c in cols[self.outer:]), y

    def neighbours(self, fixed, at, i):
        values, points, low, high = self.values[fixed][i], self.points[fixed], None, None
        p = bisect.bisect_left(values, at[i])
        for j in range(p - 1, max(p - 1 - REACH, -1), -1):
            y = points.get(at[:i] + (values[j],) + at[i + 1:])
            if y is not None:
                low = (values[j], y)
                break
        p += p < len(values) and values[p] == at[i]
        for j in range(p, min(p + REACH, len(values))):
            y = points.get(at[:i] + (values[j],) + at[i + 1:])
            if y is not None:
                high = (values[j], y)
                break
        return low, high

    @staticmethod
    def between(x, low, high):
        f = math.log((x + 1) / (low[0] + 1)) / math.log((high[0] + 1) / (low[0] + 1))
        return low[1] + (high[1] - low[1]) * f

    def weigh(self):
        """How far each axis, and each plane through three neighbours, can be trusted: the middle error where the answer
        is known. Then which of the two ways does better here."""
        pick = random.Random(1)
        some = [(f, a) for f in self.points for a in self.points[f]]
        some = pick.sample(some, min(3000, len(some)))
        errors = collections.defaultdict(list)
        for f, a in some:
            near = [self.neighbours(f, a, i) for i in range(len(self.axes) + self.along)]
            for i, (low, high) in enumerate(near):
                if low and high:
                    errors[i].append(abs(self.between(a[i], low, high) - self.points[f][a]))
            for key, y in self.planes(f, a, near):
                errors[key].append(abs(y - self.points[f][a]))
        self.weight = {k: 1 / (sorted(e)[len(e) // 2] ** 2 + 1e-6) for k, e in errors.items()}
        ways = [self.by_lines, self.by_planes] + ([self.by_surface] if len(some) < 3000 else [])
        self.way = min(ways, key=lambda way: self.known_errors(some[:1000], way))

    def known_errors(self, some, way):
        self.way = way
        found = [abs(y - self.points[f][a]) for f, a in some for y in [self.estimate(f, a)[0]] if y is not None]
        return sum(sorted(found)[len(found) * part // 10] for part in (5, 9)) if found else 0

    def by_surface(self, fixed, at, near):
        """Through the nearest points a surface of the least surprise (kriging): for small tables that are smooth."""
        def spot(a):
            return [math.log2(x + 1) * (0.15 if i < self.along else 0.1) for i, x in enumerate(a)]

        def alike(p, q):
            return math.exp(-math.dist(p, q))

        here = spot(at)
        points = sorted((math.dist(here, spot(a)), a) for a in self.points[fixed] if a != at)[:40]
        spots = [spot(a) for _, a in points]
        if len(spots) < 4:
            return self.by_lines(fixed, at, near)
        rows = [[alike(p, q) + (0.0005 if p is q else 0) for q in spots] + [1, alike(p, here)] for p in spots]
        weights = solve(rows + [[1] * len(spots) + [0, 1]])
        return sum(w * self.points[fixed][a] for w, (_, a) in zip(weights, points))

    def planes(self, fixed, at, near):
        """((i, j), ratio): what two neighbours say together, less what stands in the corner between them. It follows what
        all shapes of a row have in common, a tile that does not fit or a kernel chosen elsewhere, and a line does not."""
        points = self.points[fixed]
        for i in range(len(at)):
            for j in range(i + 1, len(at)):
                for x, along_i in filter(None, near[i]):
                    for z, along_j in filter(None, near[j]):
                        corner = points.get(at[:i] + (x,) + at[i + 1:j] + (z,) + at[j + 1:])
                        if corner is not None:
                            yield (i, j), along_i + along_j - corner

    def estimate(self, fixed, at):
        """(ratio, certain) from the neighbours, by the way that does best here."""
        near = [self.neighbours(fixed, at, i) for i in range(len(at))]
        beside = sum(bool(low or high) for low, high in near)
        certain = any(low and high for low, high in near) or (self.way == self.by_surface and beside > 2)
        return self.way(fixed, at, near), certain

    def by_planes(self, fixed, at, near):
        found = [(y, self.weight.get(key, 0) / 4) for key, y in self.planes(fixed, at, near)]
        return self.middle(found) if len(found) >= 4 else self.by_lines(fixed, at, near, found)

    def by_lines(self, fixed, at, near, found=()):
        """The weighted median of what lines along the axes say. A mean would follow the one that is wrong."""
        found = list(found)
        for i, (low, high) in enumerate(near):
            if low and high:
                found.append((self.between(at[i], low, high), self.weight.get(i, 0)))
            elif low or high:
                found.append(((low or high)[1], self.weight.get(i, 0) * 0.1))
        if len(found) < 3:  # of two, the axis that can be trusted more
            return max(found, key=lambda f: f[1])[0] if found else None
        return self.middle(found)

    @staticmethod
    def middle(found):
        """The weighted median, between two where it falls between."""
        found.sort()
        half, past, before = sum(w for _, w in found) / 2, 0, None
        for y, w in found:
            middle = past + w / 2
            if middle >= half:
                part = 0 if before is None else (half - before[0]) / (middle - before[0])
                return y if before is None else before[1] + (y - before[1]) * part
            past, before = past + w, (middle, y)
        return found[-1][0]

    def blocks(self):
        """First word -> axes, {variant: rows of ratios, None beyond what was measured}."""
        out = {}
        for fixed in sorted(self.points, key=str):
            word = fixed[0]
            axes, variants = out.setdefault(word, ([set() for _ in self.axes], {}))
            for a in self.points[fixed]:
                for i, x in enumerate(a[self.along:]):
                    axes[i].add(x)
                variants[fixed + a[:self.along]] = None
        for word, (axes, variants) in out.items():
            grid = [sorted(a) for a in axes]
            out[word] = (grid, {v: self.rows(v, grid) for v in variants})
        return out

    def rows(self, variant, grid):
        fixed, rest = variant[:self.outer], variant[self.outer:]
        points = self.points[fixed]
        outer = [()]
        for values in grid[:-1]:
            outer = [o + (v,) for o in outer for v in values]
        rows = []
        for o in outer:
            row, last = [], 0
            for x in grid[-1]:
                at = rest + o + (x,)
                y, certain = (points[at], True) if at in points else self.estimate(fixed, at)
                row.append(y)
                last = len(row) if certain else last
            rows.append(self.close_gaps(row[:last]))
        return rows

    @staticmethod
    def close_gaps(row):
        known = [i for i, y in enumerate(row) if y is not None]
        return [y if y is not None else row[min(known, key=lambda k: abs(k - i))]
                for i, y in enumerate(row)]


def varint(out, n):
    while n >= 0x80:
        out.append(0x80 | n & 0x7f)
        n >>= 7
    out.append(n)


def signed(n):
    return n * 2 if n >= 0 else -2 * n - 1


def predict(left, up, corner):
    """The plane through three neighbours, kept between them (as lossless image coders do)."""
    if corner >= max(left, up):
        return min(left, up)
    if corner <= min(left, up):
        return max(left, up)
    return left + up - corner


def encode_block(rows, width, step, ends, data):
    above = []
    for row in rows:
        varint(ends, len(row))
        line = []
        for i, y in enumerate(row):
            q = round(y / step)
            left = line[i - 1] if i else above[0] if above else 0
            up = above[i] if i < len(above) else left
            corner = above[i - 1] if 0 < i <= len(above) else up if not i else left
            varint(data, signed(q - predict(left, up, corner)))
            line.append(q)
        above = line if line else above
    return width


def encode(tables, steps):
    """All tables as bytes; what is alike stands together, which compresses best."""
    head, ends, data = bytearray(), bytearray(), bytearray()
    varint(head, len(tables))
    for t in tables:
        blocks = t.blocks_done
        words = sorted({v[i] for _, vs in blocks.values() for v in vs for i in range(len(t.keys))
                        if t.keys[i] in WORDS})
        varint(head, list(KINDS).index(t.kind))
        varint(head, len(words))
        for w in words:
            head += w.encode() + b"\0"
        varint(head, len(blocks))
        for word, (grid, variants) in blocks.items():
            varint(head, round(steps[t.kind] * 10000))
            for values in grid:
                varint(head, len(values))
                before = 0
                for v in values:
                    varint(head, int(v) - before)
                    before = int(v)
            order = sorted(variants, key=lambda v: [str(x) if isinstance(x, str) else x for x in v])
            varint(head, len(order))
            for i, key in enumerate(t.keys):
                before = 0
                for v in order:
                    n = words.index(v[i]) if key in WORDS else int(v[i])
                    varint(head, signed(n - before))
                    before = n
            encode_block([r for v in order for r in variants[v]], len(grid[-1]), steps[t.kind],
                         ends, data)
    return b"".join(len(s).to_bytes(4, "little") + bytes(s) for s in (head, ends, data))


def size_class(us):
    return 10 if us < 10 else 100 if us < 100 else 1000 if us < 1000 else 1000000


def errors_of(kind, rows, rates):
    """Median and 90th percentile of rows held out, by type and size: (type, size) -> pair."""
    pick = random.Random(2)
    kept, held = [], []
    for row in rows:
        (held if pick.random() < 0.1 else kept).append(row)
    t, found = Table(kind, kept, rates), collections.defaultdict(list)
    for row in held:
        fixed, at, y = t.place(row)
        guess = t.estimate(fixed, at)[0] if fixed in t.points else None
        if guess is not None:
            found[fixed[0], size_class(float(row["best_us"]))].append(abs(math.exp(guess - y) - 1))
    return {k: (sorted(e)[len(e) // 2], sorted(e)[len(e) * 9 // 10]) for k, e in found.items()}


def compress(raw):
    done = subprocess.run(["zstd", "-q", "--ultra", "-22", "-c"], input=raw, capture_output=True,
                          check=True)
    return done.stdout


def hold_out(rows, every, seed):
    pick = random.Random(seed)
    kept, held = [], []
    for row in rows:
        (held if pick.randrange(every) == 0 else kept).append(row)
    return kept, held


def write_held(path, kind, rows):
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, kind + ".csv"), "w", newline="") as f:
        w = csv.DictWriter(f, rows[0].keys())
        w.writeheader()
        w.writerows(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tables")
    p.add_argument("gpu")
    p.add_argument("--hardware")
    p.add_argument("--output")
    p.add_argument("--hold-out", type=int, default=0)
    p.add_argument("--source", default=SOURCE, help="where the figures are from, and their licence")
    o = p.parse_args()
    entry = o.hardware or ENTRIES.get(o.gpu, o.gpu)
    rates = read_sheet(entry)
    output = o.output or os.path.join(ROOT, "conf", "references", o.gpu + ".ref")
    tables, errors = [], []
    for kind in KINDS:
        rows = read_table(o.tables, o.gpu, kind)
        given = len(rows)
        rows = clean(kind, rows, rates)
        if not rows:
            continue
        print(f"{kind}: {given} rows, {len(rows)} shapes")
        for (word, size), (half, most) in sorted(errors_of(kind, rows, rates).items()):
            errors.append(f"error: {kind} {word} {size} {half:.3f} {most:.3f}")
        if o.hold_out:
            rows, held = hold_out(rows, o.hold_out, 3)
            write_held(output + ".held", kind, held)
        t = Table(kind, rows, rates)
        t.blocks_done = t.blocks()
        tables.append(t)
    if not tables:
        sys.exit(f"no {o.gpu}.gemm.csv and no other table in '{o.tables}'")
    shapes = {t.kind: sum(map(len, t.points.values())) for t in tables}
    for base in (FINE, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12):
        # what a small table saves with larger steps is nothing
        steps = {k: base if n * 10 > sum(shapes.values()) else FINE for k, n in shapes.items()}
        raw = encode(tables, steps)
        body = compress(raw)
        head = "\n".join(["lpo reference 1", "source: " + o.source, "gpu: " + o.gpu,
                          "hardware: " + entry, f"floor: {FLOOR_US}", f"size: {len(raw)}"] +
                         [f"rate: {k} {v:.6g}" for k, v in sorted(rates.items())] + errors) + "\n\n"
        if len(head) + len(body) <= LIMIT:
            break
    else:
        sys.exit("the reference would be larger than 300 KB")
    with open(output, "wb") as f:
        f.write(head.encode() + body)
    print(f"{output}: {len(head) + len(body)} bytes, step {base}")


if __name__ == "__main__":
    main()
