#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the profilers of one run see the same kernels in the same regions?

    compare_regions.py [--lpo LPO] [--json FILE] RUN…

A run is a folder that `lpo run` left. The native trace, the PyTorch profiler's, the nsys export and the ncu report
(those that the run has) are read with `lpo regions --json`; every region must have as many launches of every kernel
in each. The stages' other files are looked at too: operators with GPU time, energy of regions, memory peaks, a
report that can be made again from the artifacts alone. Ends with "models: N passed, N failed".

What is not compared, and why:
- copies and sets: ncu does not list them; lpo counts them apart from kernels.
- kernels outside every range: shown in the table and not compared. Profilers begin and end at different moments.
- ncu measures what it was asked to (prefill and decode here); other regions are compared without it.
- ranges of another domain (CCCL inside PyTorch's sort and scan), which torch.profiler does not record, and
  torch.profiler's own ("Torch-Compiled Region: 0/0"), which nobody else does: what lies in one is counted with the
  region around it.
- the warm-up of a compiled model: compiling times kernels of its own, as many as it finds time for.
A kernel is the same by its linker name. The PyTorch profiler records demangled names only (and leaves names over 1024
characters as they are): linker names are demangled by the same C++ runtime.
"""
from __future__ import annotations

import argparse
import ctypes
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Optional

# stage, its files in the run, its column
SOURCES = [
    ("native", "native/*.lpot", "native"),
    ("torch_profiler", "torch_profiler/*.json.gz", "torch"),
    ("nsys", "nsys/*.sqlite", "nsys"),
    ("ncu", "ncu/*.ncu-rep", "ncu"),
]
MEASURED = ("prefill", "decode")  # what ncu was asked for
OUTSIDE = "(outside)"
DERIVED = ["report.*", "kernels.md", "operators.md", "stakeholder_summary.md", "ncu/regions", "native/regions.json",
           "torch_profiler/operators.md", "torch_profiler/report.md", "torch_profiler/metrics.json"]


class Report:
    """Counts, and says what failed."""

    def __init__(self) -> None:
        self.passed = self.failed = 0
        self.failures: list[str] = []

    def check(self, name: str, good: bool, why: object = "") -> bool:
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            self.failures.append(f"{name}: {why}")
        print(f"{'ok' if good else 'FAILED'}: {name}{'' if good else f': {why}'}", flush=True)
        return good


# Kernels by their names


def spell(name: str) -> str:
    """A demangled name without what demanglers write each in its own way."""
    name = name.replace("<unnamed>", "(anonymous namespace)").replace("(anonymous namespace)", "{anonymous}")
    name = re.sub(r"\((?:unsigned |signed )?(?:bool|char|short|int|long|long long)\)(?=-?\d)", "", name)
    return re.sub(r"\s+", "", name)


@functools.lru_cache(maxsize=None)
def demangler() -> Any:
    """The C++ runtime's, which the PyTorch profiler asks too; None where there is none."""
    try:
        found = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return None
    found.restype = ctypes.c_void_p
    found.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    return found


def demangle(linker: str) -> Optional[str]:
    status = ctypes.c_int()
    plain = demangler()(linker.encode(), None, None, status) if demangler() else None
    return ctypes.string_at(plain).decode() if plain else None  # not freed: a few hundred names, once


class Names:
    """One spelling of each kernel, whatever the source calls it."""

    def __init__(self) -> None:
        self.by_linker: dict[str, str] = {}

    def learn(self, kernels: Iterable[dict[str, Any]]) -> None:
        for kernel in kernels:
            if kernel.get("linker"):
                self.by_linker.setdefault(kernel["linker"], kernel["name"])

    def of(self, kernel: dict[str, Any]) -> str:
        name = kernel["name"]
        linker = kernel.get("linker") or (name if name.startswith("_Z") else None)
        if linker:
            name = demangle(linker) or self.by_linker.get(linker, name)
        return spell(name)


# Regions


@dataclass
class Region:
    visits: Optional[int] = None
    launches: int = 0  # regions inside included
    own: Counter = field(default_factory=Counter)  # kernel to launches in this region itself


def parts_of(path: str) -> list[str]:
    return re.split(r"(?<!\\)/", path)


def own_path(path: str, strange: frozenset = frozenset()) -> str:
    """Without the ranges of other domains ('domain@name'), and those called strange."""
    return "/".join(part for part in parts_of(path) if not re.match(r"[^@]+@", part) and part not in strange)


def rows_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return next(s for s in document["scopes"] if s["scope"] == "aggregate")["regions"]


def only_of(column: str, documents: dict[str, dict[str, Any]]) -> frozenset:
    """Names of ranges that no other source knows anywhere."""
    names = {c: {part for row in rows_of(d) for part in parts_of(row["path"])} for c, d in documents.items()}
    others = set().union(*(n for c, n in names.items() if c != column))
    return frozenset(names.get(column, set()) - others)


def read_regions(document: dict[str, Any], names: Names, strange: frozenset = frozenset()) -> dict[str, Region]:
    """Of the aggregate of `lpo regions --json`."""
    regions: dict[str, Region] = {}
    for row in rows_of(document):
        path = own_path(row["path"], strange)
        region = regions.setdefault(path or OUTSIDE, Region())
        for kernel in row["kernels"]:
            if kernel["launches_exclusive"]:
                region.own[names.of(kernel)] += kernel["launches_exclusive"]
        if path == row["path"]:
            region.launches, region.visits = row["launches"], row["visits"]
    return regions


def read_all(documents: dict[str, dict[str, Any]]) -> dict[str, dict[str, Region]]:
    """Column to regions. Ranges that are torch.profiler's own are reported and removed."""
    names = Names()
    for document in documents.values():
        names.learn(k for row in rows_of(document) for k in row["kernels"])
    strange = only_of("torch", documents) if len(documents) > 1 else frozenset()
    if strange:
        print(f"    ranges of torch.profiler alone, counted with what is around them: {', '.join(sorted(strange)[:8])}")
    return {c: read_regions(d, names, strange if c == "torch" else frozenset()) for c, d in documents.items()}


def by_path(paths: Iterable[str]) -> list[str]:
    """A parent before its children, siblings by number; outside last."""
    def key(path: str) -> list[Any]:
        return [(path == OUTSIDE, [[(t.isdigit(), int(t) if t.isdigit() else 0, t) for t in re.split(r"(\d+)", part)]
                                   for part in path.split("/")])]
    return sorted(paths, key=key)


def takes_part(column: str, path: str) -> bool:
    return column != "ncu" or path.split("/")[0] in MEASURED


def differences(sources: dict[str, dict[str, Region]], path: str) -> list[str]:
    """Kernels of one region that are not launched as often in every source, a line each."""
    columns = [c for c in sources if takes_part(c, path)]
    own = {c: sources[c].get(path, Region()).own for c in columns}
    lines = []
    for kernel in sorted(set().union(*own.values())):
        counts = {c: own[c][kernel] for c in columns}
        if len(set(counts.values())) > 1:
            lines.append(f"{path}: " + ", ".join(f"{c} {n}" for c, n in counts.items()) + f": {kernel[:160]}")
    return lines


def compare(sources: dict[str, dict[str, Region]], report: Report, name: str, gpu: bool = True,
            aside: tuple[str, ...] = ()) -> dict[str, Any]:
    """The table of one run, and its checks; outermost regions set aside are only reported. Returns what to keep."""
    every = by_path(set().union(*(set(s) for s in sources.values())))
    wide = max(len(p) for p in every)
    print(f"\n{'region':{wide}} " + " ".join(f"{c:>8}" for c in sources) + "  visits  equal")
    rows, unequal, visits, lines = [], [], [], []
    for path in every:
        regions = {c: sources[c].get(path, Region()) for c in sources if takes_part(c, path)}
        counts = {c: r.launches for c, r in regions.items()}
        seen = {c: r.visits for c, r in regions.items() if c != "ncu"}
        outside = path == OUTSIDE or path.split("/")[0] in aside
        same = len(set(counts.values())) == 1
        others = [] if outside else differences(sources, path)
        if not outside:
            unequal += [] if same else [f"{path} {counts}"]
            visits += [] if len(set(seen.values())) <= 1 else [f"{path} {seen}"]
            lines += others
        verdict = "not compared" if outside else "yes" if same and not others else "NO"
        entered = next((v for v in seen.values() if v is not None), None)
        print(f"{path:{wide}} " + " ".join(f"{counts.get(c, '-'):>8}" for c in sources)
              + f"  {'' if entered is None else entered:>6}  {verdict}")
        rows.append({"region": path, "launches": counts, "visits": seen, "equal": None if outside else same,
                     "kernels_equal": None if outside else not others})
    for line in lines:
        print(f"  differs: {line}")
    inside = sum(sum(r.own.values()) for p, r in next(iter(sources.values())).items() if p != OUTSIDE)
    report.check(f"{name}: {inside} kernels in {len(every) - (OUTSIDE in every)} regions, launches equal in "
                 f"{', '.join(sources)}", not unequal, "; ".join(unequal[:5]))
    report.check(f"{name}: every region entered as often", not visits, "; ".join(visits[:5]))
    report.check(f"{name}: the same kernels in every region", not lines, f"{len(lines)} differ")
    if gpu:
        empty = [c for c, s in sources.items() if not any(r.launches for r in s.values())]
        report.check(f"{name}: every source has kernels", not empty, empty)
    return {"regions": rows, "differences": lines}


# A run


class Run:
    def __init__(self, folder: Path, lpo: str) -> None:
        self.folder, self.lpo, self.name = folder, lpo, folder.name
        self.manifest = self.json("run.json") or {"stages": []}
        self.stages = {s["name"]: s for s in self.manifest["stages"]}

    def json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text())
        except (OSError, ValueError):
            return None

    def on(self, stage: str) -> bool:
        return self.stages.get(stage, {}).get("state") not in (None, "skipped")

    def asked(self, override: str) -> bool:
        """Was this override given?"""
        try:
            return override in (self.folder / "overrides.yaml").read_text()
        except OSError:
            return False

    def regions(self, files: list[Path]) -> dict[str, Any]:
        done = subprocess.run([self.lpo, "regions", "--json", *map(str, files)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)

    def documents(self, report: Report) -> dict[str, dict[str, Any]]:
        """Column to regions, of every source that was to be there."""
        found = {}
        for stage, pattern, column in SOURCES:
            if not self.on(stage):
                continue
            files = sorted(self.folder.glob(pattern))
            if not report.check(f"{self.name}: {column} left {pattern}", bool(files), "no such file"):
                continue
            try:
                found[column] = self.regions(files)
            except (RuntimeError, ValueError) as error:
                report.check(f"{self.name}: {column} can be read", False, error)
        return found

    def item(self, key: str) -> Any:
        """The table or fact of that name in report.json."""
        for section in (self.json("report.json") or {"sections": []})["sections"]:
            for item in section["items"]:
                if key in (item.get("id"), item.get("key")):
                    return item
        return None


def check_stages(run: Run, report: Report) -> None:
    bad = [f"{s['name']} is {s['state']}: {s.get('message')}" for s in run.manifest["stages"]
           if s["state"] != "done" and not (s["state"] == "skipped" and s.get("message") == "not enabled")]
    report.check(f"{run.name}: every stage is done", bool(run.stages) and not bad, "; ".join(bad) or "no run.json")
    for stage in run.manifest["stages"]:
        for note in stage.get("notes") or []:
            print(f"    note of {stage['name']}: {note}")
    report.check(f"{run.name}: report.md is there", (run.folder / "report.md").is_file())


def check_operators(run: Run, report: Report) -> dict[str, Any]:
    metrics = run.json("torch_profiler/metrics.json")
    if not report.check(f"{run.name}: torch metrics.json", metrics is not None):
        return {}
    gpu_ops = metrics["gpu"]["gpu_ops"]
    if run.asked("run.device=cpu"):
        return {"gpu_ops": gpu_ops}
    if not report.check(f"{run.name}: torch saw GPU operations", bool(gpu_ops), gpu_ops):
        return {"gpu_ops": gpu_ops}
    parts = sum(o["gpu_ops_self"] for o in metrics["operators"])
    rest = metrics["gpu_outside_operators"]["gpu_ops"] + metrics["gpu_without_launch"]["gpu_ops"]
    report.check(f"{run.name}: {parts} GPU operations of operators and {rest} others are all {gpu_ops}", parts + rest == gpu_ops)
    aten = [o for o in metrics["operators"] if o["operator"].startswith("aten::") and o["gpu_ops_self"]]
    zero = [o["operator"] for o in aten if not o["gpu_self_ns"] or o["gpu_total_ns"] < o["gpu_self_ns"]]
    report.check(f"{run.name}: {len(aten)} aten operators launch something, all with GPU time", aten and not zero, zero)
    page = (run.folder / "torch_profiler/operators.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if "aten::" in line]
    head = next(([cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()
                 if line.startswith("|") and "GPU total" in line), [])
    shown = [dict(zip(head, row)) for row in rows if len(row) == len(head)]
    shown = [row for row in shown if row.get("GPU operations", row["GPU self"]) not in ("0", "0 ns", "n/a", "")]
    silent = [row.get("Operator") for row in shown if row["GPU self"] in ("0", "0 ns", "n/a")]
    report.check(f"{run.name}: operators.md shows {len(shown)} aten rows with GPU time", shown and not silent, silent)
    return {"gpu_ops": gpu_ops, "of_operators": parts, "aten_operators": len(aten)}


def check_energy(run: Run, report: Report) -> Any:
    table = run.item("energy_regions")
    rows = {row["region"]: row["energy_j"] for row in table["rows"]} if table else {}
    report.check(f"{run.name}: NVML gave energy of prefill", (rows.get("prefill") or 0) > 0, rows or "no table")
    return rows


def check_memory(run: Run, report: Report) -> Any:
    rows = (run.json("torch_profiler/metrics.json") or {}).get("memory") or []
    peaks = {f"{m['type']} {m['device']}": m["peak_allocated_bytes"] for m in rows}
    good = any((m["peak_allocated_bytes"] or 0) > 0 for m in rows)
    report.check(f"{run.name}: memory peaks {peaks}", good, "none")
    return rows


def check_again(run: Run, report: Report) -> None:
    """The report once more: from what the profilers left, with no tool on the PATH."""
    before = run.json("report.json")
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / run.name
        shutil.copytree(run.folder, copy, symlinks=True)
        for pattern in DERIVED:
            for path in copy.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        done = subprocess.run([run.lpo, "report", str(copy)], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PATH=temporary))
        after = Run(copy, run.lpo).json("report.json")
    report.check(f"{run.name}: the report can be made again from the artifacts alone",
                 done.returncode == 0 and after is not None, done.stderr.strip())
    report.check(f"{run.name}: and is the same", before is not None and before == after, unlike(before, after))


def unlike(a: Any, b: Any, at: str = "") -> str:
    """Where two documents part, first place only."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(k for k in b if k not in a)]:
            if a.get(key) != b.get(key):
                return unlike(a.get(key), b.get(key), f"{at}.{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                return unlike(x, y, f"{at}[{i}]")
    return f"{at}: {str(a)[:200]} became {str(b)[:200]}"


def check_workload(run: Run, report: Report) -> Any:
    """Every stage ran the same program: as many samples and tokens."""
    seen = {}
    for path in sorted(run.folder.glob("workload/*/metrics.json")):
        metrics = json.loads(path.read_text())
        seen[path.parent.name] = {"samples": len(metrics["samples"]), "tokens": sum(s["tokens"] for s in metrics["samples"]),
                                  "notes": metrics["notes"]}
    kinds = {(s["samples"], s["tokens"]) for s in seen.values()}
    report.check(f"{run.name}: the same samples and tokens under every stage", len(kinds) == 1, seen)
    lost = [note for s in seen.values() for note in s["notes"] if note.startswith("cuda_graph")]
    if run.asked("cuda_graph=true"):
        report.check(f"{run.name}: the step was captured", not lost, lost)
    return seen


def check_run(run: Run, report: Report) -> dict[str, Any]:
    print(f"\n== {run.name}")
    check_stages(run, report)
    kept: dict[str, Any] = {"stages": {n: {"state": s["state"], "wall_ns": s.get("wall_ns")}
                                       for n, s in run.stages.items()}}
    documents = run.documents(report)
    sources = read_all(documents)
    if len(sources) > 1:
        aside = ("warmup",) if run.asked("hf.compile=true") else ()
        kept.update(compare(sources, report, run.name, not run.asked("run.device=cpu"), aside))
    kept["outside"] = {c: dict(s[OUTSIDE].own) for c, s in sources.items() if OUTSIDE in s}
    kept["workload"] = check_workload(run, report)
    if run.on("torch_profiler"):
        kept["operators"] = check_operators(run, report)
    if run.asked("pipeline.nvml.enable=true"):
        kept["energy_j"] = check_energy(run, report)
    if run.asked("torch-profiler.max"):
        kept["memory"] = check_memory(run, report)
    check_again(run, report)
    return kept


def main(argv: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lpo", default="lpo", help="the program")
    parser.add_argument("--json", help="every count, for later")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    args = parser.parse_args(argv)
    report, kept = Report(), {}
    for folder in args.runs:
        try:
            kept[folder.name] = check_run(Run(folder, args.lpo), report)
        except Exception as error:  # one run that breaks does not hide the others
            report.check(folder.name, False, f"{type(error).__name__}: {error}")
    if args.json:
        Path(args.json).write_text(json.dumps({"runs": kept, "passed": report.passed, "failed": report.failed,
                                               "failures": report.failures}, indent=1))
    print()
    for line in report.failures:
        print(f"FAILED: {line}")
    print(f"models: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
