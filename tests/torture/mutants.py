# SPDX-License-Identifier: Apache-2.0
"""Files of every format that lpo reads, damaged where a checksum does not catch it.

A flipped bit in a checksummed block is found by the checksum and says nothing about the reader behind it. So a mutant is whole to
everything that checks it: blocks of our own format are framed anew with their CRC-32C, gzip files are packed anew, SQLite files are
changed by SQL or inside their pages, CSV and JSON by cells and values. Each mutant follows from its number alone.
"""
from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pathlib
import random
import sqlite3
import struct
import tempfile

ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT", pathlib.Path(__file__).resolve().parents[2]))
DATA, SEEDS = ROOT / "tests" / "data", ROOT / "fuzz" / "seeds"

NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, -2**63, 2**64 - 1, 2**64, 10**30, 1e308, -1e308, 1e-320, 0.5]
TEXTS = ["", "\0", "a\0b", "\x1b[2J", "\u202e", "x" * 5000, "/" * 300, "../../etc/passwd", "%s%n", "null", "1e999", "\ufffe", "'\"`$(x)", "a/b\\/c@d"]
VALUES = [*NUMBERS, *TEXTS, None, True, [], {}, [[]], {"a": [1]}]


def plain(path: pathlib.Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def flip(r: random.Random, data: bytes, most: int = 8) -> bytes:
    """A few bytes changed, taken out, put in or repeated."""
    out = bytearray(data)
    for _ in range(r.randint(1, most)):
        at = r.randrange(len(out) + 1)
        how = r.randrange(5)
        if how == 0 and at < len(out):
            out[at] ^= 1 << r.randrange(8)
        elif how == 1 and at < len(out):
            out[at] = r.choice([0, 1, 0x7f, 0x80, 0xff])
        elif how == 2:
            out[at:at] = r.choice([b"\xff" * 9 + b"\x01", b"\x80" * 10, b"\0" * 8, b"\xff" * 4, r.randbytes(3)])
        elif how == 3:
            del out[at:at + r.choice([1, 1, 4, 8, 100])]
        else:
            end = min(len(out), at + r.choice([1, 8, 64, 1000]))
            out[at:at] = out[at:end]
    return bytes(out)


# Our own format -------------------------------------------------------------------------------------------------------------

_CRC = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82f63b78 if _n & 1 else 0)
    _CRC.append(_n)


def crc32c(data: bytes, crc: int = 0) -> int:
    crc ^= 0xffffffff
    for b in data:
        crc = crc >> 8 ^ _CRC[(crc ^ b) & 0xff]
    return crc ^ 0xffffffff


def blocks(data: bytes) -> list[tuple[bytes, bytes]]:
    """(header, payload) of every block."""
    out, at = [], 16
    while at + 40 <= len(data) and data[at:at + 4] == b"LPOB":
        size = struct.unpack_from("<I", data, at + 8)[0]
        out.append((data[at:at + 40], data[at + 40:at + 40 + size]))
        at += 40 + size
    return out


def join_blocks(preamble: bytes, parts: list[tuple[bytes, bytes]]) -> bytes:
    out = bytearray(preamble)
    for head, payload in parts:
        start = head[:8] + struct.pack("<I", len(payload))
        out += start + struct.pack("<I", crc32c(payload, crc32c(head[16:], crc32c(start)))) + head[16:] + payload
    return bytes(out)


def native(r: random.Random) -> tuple[str, bytes]:
    data = r.choice(NATIVE)
    parts = blocks(data)
    for _ in range(r.randint(1, 3)):
        i = r.randrange(len(parts))
        head, payload = parts[i]
        how = r.randrange(8)
        if how < 4:
            parts[i] = head, flip(r, payload)
        elif how == 4:  # kind, thread number, sequence or the pair of clocks
            at, form, most = r.choice([(4, "<H", 9), (16, "<I", 3), (20, "<I", 3), (24, "<Q", 2**64 - 1), (32, "<Q", 2**64 - 1)])
            parts[i] = head[:at] + struct.pack(form, r.randint(0, most)) + head[at + struct.calcsize(form):], payload
        elif how == 5:
            parts.insert(r.randrange(len(parts) + 1), parts[i])
        elif how == 6 and len(parts) > 1:
            del parts[i]
        else:
            k = r.randrange(len(parts))
            parts[i], parts[k] = parts[k], parts[i]
    return "m.lpot", join_blocks(data[:16], parts)


# JSON, YAML and CSV ---------------------------------------------------------------------------------------------------------

def places(value, out: list) -> list:
    """Every (container, key) below a value."""
    for key, v in value.items() if isinstance(value, dict) else enumerate(value):
        out.append((value, key))
        if isinstance(v, (dict, list)):
            places(v, out)
    return out


def change_json(r: random.Random, root) -> bytes:
    for _ in range(r.randint(1, 6)):
        spots = places(root, [])
        if not spots:
            break
        container, key = r.choice(spots)
        how = r.randrange(6)
        if how < 3:
            container[key] = r.choice(VALUES)
        elif how == 3:
            del container[key]
        elif how == 4:
            other, k = r.choice(spots)
            if k in other if isinstance(other, dict) else k < len(other):
                container[key] = json.loads(json.dumps(other[k])) if len(spots) < 20000 else other[k]
        elif isinstance(container, list):
            container[key:key] = container[key:key + r.randint(1, 50)]
        else:
            container[r.choice(TEXTS)] = container[key]
    text = json.dumps(root, ensure_ascii=r.random() < 0.5).encode("utf-8", "surrogatepass")
    return flip(r, text, 3) if r.random() < 0.2 else text


def kineto(r: random.Random) -> tuple[str, bytes]:
    text = change_json(r, json.loads(r.choice(KINETO)))
    return ("m.json.gz", gzip.compress(text, 1)) if r.random() < 0.5 else ("m.json", text)


# What YAML and the config give meaning to: anchors, tags, directives, block texts, interpolations, defaults lists, packages.
YAML_LINES = ["a: &x [*x]", "b: &y {c: *y}", "<<: *z", "? [a, b]\n: c", "d: !!binary =", "e: !tag f", "%TAG ! !", "---", "...", "g: |9", "h: >-\n  i", "j: '",
              'k: "\\x1b\\uD800"', "l: ${l}", "m: ${n}\nn: ${m}", "o: ${oc.env:HOME}", "p: ${oc.env:LPO_NOT_SET}", "q: ${.r.s}", "t: ${${u}}", "v: ???",
              "w: " + "[" * 200, "x: " + "{y: " * 200, "z: ${oc.decode:\"[1, {a: 2}]\"}", "- aa", "\tbb: 1", "cc: 0x7fffffffffffffff", "dd: 1_0:30",
              "ee: .inf", "ff: 1e400", "gg: ${oc.select:hh.ii,jj}", "defaults:\n  - nothing", "defaults:\n  - config", "defaults:\n  - kk@ll.mm: nn",
              "# @package ..", "run: []", "pipeline: null", "hydra:\n  run:\n    dir: ${hydra:runtime.cwd}", "oo: ${oc.dict.keys:run}", "pp: ${oc.create:${run}}"]


def yaml_config(r: random.Random) -> tuple[str, bytes]:
    """The primary config of a user's folder, in front of the shipped one."""
    lines = r.choice(YAML).decode("utf-8", "replace").split("\n")
    for _ in range(r.randint(1, 6)):
        at = r.randrange(len(lines))
        how = r.randrange(7)
        if how < 2:
            lines.insert(at, " " * r.choice([0, 0, 2, 4]) + r.choice(YAML_LINES))
        elif how == 2 and ":" in lines[at]:
            lines[at] = lines[at].split(":")[0] + ": " + str(r.choice(VALUES))
        elif how == 3:
            lines[at] = " " * r.randrange(8) + lines[at].lstrip()
        elif how == 4:
            lines[at:at] = lines[at:at + r.randint(1, 20)]
        elif how == 5:
            lines[at] += r.choice([" ${run}", " &q", " *q", "\0", "\u2028", ": x", " #", "\r"])
        elif len(lines) > 1:
            del lines[at]
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return "config.yaml", flip(r, text, 3) if r.random() < 0.2 else text


def change_csv(r: random.Random, data: bytes) -> bytes:
    rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"))))
    for _ in range(r.randint(1, 8)):
        row = r.choice(rows)
        how = r.randrange(5)
        if how < 3 and row:
            row[r.randrange(len(row))] = str(r.choice(NUMBERS + TEXTS))
        elif how == 3:
            rows.insert(r.randrange(len(rows)), list(r.choice(rows)))
        elif row:
            del row[r.randrange(len(row))]
    out = io.StringIO()
    csv.writer(out, quoting=r.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])).writerows(rows)
    text = out.getvalue().encode("utf-8", "surrogatepass")
    return flip(r, text, 3) if r.random() < 0.2 else text


def ncu_csv(r: random.Random) -> tuple[str, bytes]:
    text = change_csv(r, r.choice(NCU_CSV))
    return ("m.csv.gz", gzip.compress(text, 1)) if r.random() < 0.3 else ("m.csv", text)


def nsys_stats(r: random.Random) -> tuple[str, bytes]:
    return "m.csv", change_csv(r, r.choice(NSYS_STATS))


# SQLite, protocol buffers, models -------------------------------------------------------------------------------------------

def nsys(r: random.Random) -> tuple[str, bytes]:
    data = r.choice(NSYS)
    if r.random() < 0.5:  # inside a page: SQLite keeps no checksum
        out = bytearray(data)
        size = struct.unpack_from(">H", data, 16)[0] or 65536
        for _ in range(r.randint(1, 6)):
            page = r.randrange(len(out) // size)
            at = page * size + r.choice([r.randrange(size), r.randrange(min(size, 100 + 64))])
            if page or at >= 24:
                out[at] = r.choice([0, 1, 2, 5, 10, 13, 0x7f, 0x80, 0xff, r.randrange(256)])
        return "m.sqlite", bytes(out)
    with tempfile.TemporaryDirectory(prefix="lpo-mutant-") as folder:
        path = os.path.join(folder, "m.sqlite")
        pathlib.Path(path).write_bytes(data)
        db = sqlite3.connect(path)
        for _ in range(r.randint(1, 4)):
            table = r.choice([row[0] for row in db.execute("select name from sqlite_master where type = 'table' order by 1")])
            column = r.choice([row[1] for row in db.execute(f'pragma table_info("{table}")')])
            value = r.choice([v for v in VALUES if not isinstance(v, (list, dict)) and not (isinstance(v, int) and abs(v) >= 2**63)])
            how = r.randrange(6)
            try:
                if how < 3:
                    db.execute(f'update "{table}" set "{column}" = ? where rowid % ? = 0', (value, r.choice([1, 2, 10])))
                elif how == 3:
                    db.execute(f'insert into "{table}" select * from "{table}" limit 500')
                elif how == 4:
                    db.execute(f'alter table "{table}" rename column "{column}" to "gone"')
                else:
                    db.execute(f'alter table "{table}" rename to "old_{table}"')
                    db.execute(f'create view "{table}" as select * from "old_{table}" union all select * from "old_{table}"')
            except sqlite3.Error:
                pass
        db.commit()
        db.close()
        return "m.sqlite", pathlib.Path(path).read_bytes()


def ncu_rep(r: random.Random) -> tuple[str, bytes]:
    data = flip(r, r.choice(NCU_REP), 12)
    return ("m.ncu-rep.gz", gzip.compress(data, 1)) if r.random() < 0.3 else ("m.ncu-rep", data)


def gguf(r: random.Random) -> tuple[str, bytes]:
    return "m.gguf", flip(r, r.choice(GGUF), 6)


def safetensors(r: random.Random) -> tuple[str, bytes]:
    header = change_json(r, {"__metadata__": {"format": "pt"}, "model.embed_tokens.weight": {"dtype": "BF16", "shape": [32000, 64], "data_offsets": [0, 4096000]},
                             "model.layers.0.self_attn.q_proj.weight": {"dtype": "BF16", "shape": [64, 64], "data_offsets": [4096000, 4104192]}})
    size = len(header) if r.random() < 0.9 else r.choice([0, 2**63, 2**64 - 1, len(header) + 1])
    return "m.safetensors", struct.pack("<Q", size) + header


def model_config(r: random.Random) -> tuple[str, bytes]:
    return "config.json", change_json(r, json.loads(r.choice(MODEL_CONFIG)))


def run_folder(r: random.Random) -> tuple[str, bytes]:
    """The files of a run folder, taken apart by the one who writes them."""
    parts = r.choice(RUN_FOLDER).split(b"\n%%\n")
    for _ in range(r.randint(1, 3)):
        i = r.randrange(len(parts))
        try:
            parts[i] = change_json(r, json.loads(parts[i]))
        except ValueError:
            parts[i] = flip(r, parts[i], 4)
    return "m.parts", b"\n%%\n".join(parts)


RUN_FILES = ["run.json", "config.yaml", "env.json", "hardware.json", "workload/direct_inference/metrics.json", "nvml/samples.csv",
             "static_analysis/static_compute.json", "native/regions.json", "torch_profiler/trace.json"]

NATIVE = [plain(p) for p in sorted((DATA / "native").glob("*.lpot")) if p.stat().st_size < 30000]
NATIVE += [plain(p) for p in sorted((SEEDS / "native").glob("*.lpot")) if blocks(plain(p))]
KINETO = [plain(p) for p in sorted((DATA / "kineto").glob("*.json.gz")) if p.stat().st_size < 20000] + [plain(SEEDS / "kineto" / "triton.json")]
NCU_CSV = [plain(DATA / "ncu" / n) for n in ("forms_raw.csv.gz", "range_raw.csv.gz", "ranges_details.csv.gz", "dsocr_details.csv")]
NSYS_STATS = [plain(p) for p in sorted((SEEDS / "nsys_stats").glob("*.csv"))]
NSYS = [plain(DATA / "nsys" / n) for n in ("a100_old.sqlite.gz", "h200_ranges.sqlite.gz")] + [plain(SEEDS / "nsys" / "small.sqlite")]
NCU_REP = [plain(DATA / "ncu" / n) for n in ("forms.ncu-rep.gz", "range.ncu-rep.gz")] + [plain(p) for p in sorted((SEEDS / "ncu_rep").glob("*.ncu-rep"))]
GGUF = [plain(p) for p in sorted((SEEDS / "gguf").glob("*.gguf"))]
MODEL_CONFIG = [line.encode() for line in (SEEDS / "model_config.lines").read_text().splitlines() if line.startswith("{")]
YAML = [plain(p) for p in [ROOT / "conf" / "config.yaml", *sorted((ROOT / "conf" / "workload").glob("*.yaml")), *sorted((ROOT / "conf" / "experiment").glob("*.yaml"))]]
RUN_FOLDER = [plain(p) for p in sorted((SEEDS / "run_folder").iterdir())]

# Every format: its mutator and the command that reads it ("FILE" stands for the mutant, "FOLDER" for the folder it is in).
FORMATS = {
    "native": (native, ["regions", "FILE", "--json"]),
    "kineto": (kineto, ["regions", "FILE", "--json"]),
    "nsys": (nsys, ["regions", "FILE", "--json"]),
    "nsys_stats": (nsys_stats, ["top", "FILE", "--json"]),
    "ncu_csv": (ncu_csv, ["regions", "FILE", "--json"]),
    "ncu_rep": (ncu_rep, ["regions", "FILE", "--json"]),
    "yaml_config": (yaml_config, ["config", "--config-dir", "FOLDER", "--resolve", "--json"]),
    "gguf": (gguf, ["analyze", "FILE", "--json"]),
    "safetensors": (safetensors, ["analyze", "FILE", "--json"]),
    "model_config": (model_config, ["analyze", "FILE", "--json"]),
    "run_folder": (run_folder, ["report", "FILE"]),
}


def make(name: str, number: int) -> tuple[str, bytes]:
    """Mutant `number` of a format: its file name and bytes."""
    for again in range(20):
        try:
            return FORMATS[name][0](random.Random(f"{name}-{number}-{again}"))
        except (ValueError, RecursionError, UnicodeError, KeyError, TypeError):
            continue  # this change cannot be written down in this format
    raise RuntimeError(f"no mutant {name}-{number}")
