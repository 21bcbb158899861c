# SPDX-License-Identifier: Apache-2.0
"""What the cases of tests/gpu/nsight.sh share: numbered checks, runs of lpo, and NVIDIA's tables read without lpo."""
from __future__ import annotations

import collections
import csv
import json
import os
import re
import shlex
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("LPO_BUILD", ROOT / "build-portable"))
LPO = str(BUILD / "lpo")
TOY = os.environ.get("LPO_TOY", str(BUILD / "workloads" / "toy_llm_cuda"))
FORMS = os.environ.get("LPO_FORMS", str(BUILD / "workloads" / "nvtx_forms"))
DRY = os.environ.get("LPO_DRY") == "1"  # no GPU: print every command that would run, check nothing
ONLY = ["pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false",
        "pipeline.torch_profiler.enable=false"]
NO_NATIVE = "pipeline.native.enable=false"
SMALL = ["model.layers=1", "infer.prompt_tokens=8", "infer.max_new_tokens=2", "run.repeats=1", "run.warmup=0"]
# The whole program, where a case names no range.
NSYS = ["pipeline.nsys.enable=true", "pipeline.nsys.stats=[cuda_gpu_kern_sum]", "pipeline.nsys.capture_range=null",
        "pipeline.nsys.nvtx_capture=null"]
# One pass: two sums to hold to ncu's own.
SUMS = ["gpu__time_duration.sum", "dram__bytes.sum"]
NCU = ["pipeline.ncu.enable=true", "pipeline.ncu.seed_from_nsys=false", "pipeline.ncu.ncu_cli.nvtx.include=null",
       "pipeline.ncu.ncu_cli.set=null", "pipeline.ncu.ncu_cli.sections=[]",
       f"pipeline.ncu.ncu_cli.metrics=[{','.join(SUMS)}]"]
EVERY = ["pipeline.ncu.regions.enable=true", "pipeline.ncu.sampling.mode=all"]
KEEP_BYTES = 1 << 20


class Run:
    """A run folder."""

    def __init__(self, path: Path, code: int, seconds: float) -> None:
        self.path, self.code, self.seconds = path, code, seconds

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.path.glob(pattern))

    def text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def json(self, name: str) -> dict:
        return json.loads(self.text(name) or "{}")

    def stage(self, name: str) -> dict:
        stages = self.json("run.json").get("stages", [])
        return next((s for s in stages if s["name"] == name), {"state": "absent", "message": "", "notes": [], "steps": []})

    def said(self, name: str) -> str:
        """The stage's message and notes."""
        stage = self.stage(name)
        return "; ".join([stage.get("message") or "", *stage.get("notes", [])])


class Lab:
    """Counts checks, and keeps what was made."""

    def __init__(self) -> None:
        self.passed = self.failed = 0
        self.begin = time.monotonic()
        self.work = Path(tempfile.mkdtemp(prefix="lpo-nsight-"))
        self.env = os.environ | {"XDG_CACHE_HOME": str(self.work / "cache")}
        self.shared: Run | None = None
        self.last: Path | None = None  # the run that the checks are about
        self.waited = 0.0
        self.numbers: dict = {}

    def elapsed(self) -> float:
        return time.monotonic() - self.begin - self.waited

    def wait_for(self, file: str, most_s: float = 400) -> None:
        """Until the file is there: a machine that others load is no place for timings."""
        begin = time.monotonic()
        while not Path(file).exists() and time.monotonic() - begin < most_s:
            time.sleep(0.5)
        self.waited += time.monotonic() - begin
        print(f"    waited {time.monotonic() - begin:.0f} s; {file} is {'here' if Path(file).exists() else 'NOT here'}", flush=True)

    def check(self, what: str, good: object, why: object = "") -> bool:
        if DRY:
            return True
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print(f"{self.passed + self.failed:3} {'ok    ' if good else 'FAILED'} {what}" + ("" if good else f": {why}"), flush=True)
        if not good:
            self.print_logs()
        return bool(good)

    def print_logs(self) -> None:
        """The ends of ncu's and the program's logs, once for a run."""
        path, self.last = self.last, None
        for name in ("ncu/run.log", "workload/ncu/stdout.log", "workload/ncu/stderr.log") if path else ():
            lines = Run(path, 0, 0).text(name).splitlines()[-8:]
            print(f"      {path.name}/{name}:" + "".join(f"\n        | {line[:300]}" for line in lines), flush=True)

    def equal(self, what: str, have: object, want: object) -> bool:
        return self.check(what, have == want, f"{have!r}, not {want!r}")

    def call(self, words: list[str], timeout: float = 100, env: dict | None = None) -> subprocess.CompletedProcess:
        try:
            return subprocess.run(words, cwd=ROOT, env=env or self.env, text=True, capture_output=True, timeout=timeout,
                                  errors="replace")
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(words, 124, "", f"stopped after {late.timeout:.0f} s")

    def run(self, name: str, *words: str, program: list[str] | None = None, env: dict | None = None) -> Run:
        """lpo run into a folder of its own."""
        path = self.work / "runs" / name
        full = [LPO, "run", "-q", *(["--dry-run"] if DRY else []), f"hydra.run.dir={path}", *ONLY, *words]
        full += ["--", *program] if program else []
        begin = time.monotonic()
        done = self.call(full, env=env)
        made, self.last = Run(path, done.returncode, time.monotonic() - begin), path
        print(f"    {name}: exit {done.returncode}, {made.seconds:.1f} s, at {self.elapsed():.0f} s", flush=True)
        if DRY:
            print(done.stdout + done.stderr)
        elif done.returncode:
            print("      " + "\n      ".join(done.stderr.strip().splitlines()[-4:]))
        return made

    def kernels(self, name: str, words: list[str], program: list[str]) -> tuple[Run, dict]:
        """lpo kernels, and its summary."""
        path = self.work / "runs" / name
        begin = time.monotonic()
        done = self.call([LPO, "kernels", "-q", *(["--dry-run"] if DRY else []), "-o", str(path), *words, "--", *program])
        made = Run(path, done.returncode, time.monotonic() - begin)
        print(f"    {name}: exit {done.returncode}, {made.seconds:.1f} s, at {self.elapsed():.0f} s", flush=True)
        if DRY:
            print(done.stdout + done.stderr)
        return made, made.json("summary.json")

    def scopes(self, *files: Path) -> dict[str, dict[str, dict]]:
        """lpo regions: scope -> path -> row, of regions that hold kernels."""
        done = self.call([LPO, "regions", "--json", "--scope", "all", *map(str, files)])
        if done.returncode:
            print("      " + done.stderr.strip())
            return {}
        return {s["scope"]: {r["path"]: r for r in s["regions"] if r["launches"]} for s in json.loads(done.stdout)["scopes"]}

    def launches(self, *files: Path) -> dict[str, int]:
        return counts(self.scopes(*files).get("aggregate", {}))

    def base(self) -> Run:
        """The toy model under native, nsys and ncu, every kernel: several parts look at it."""
        if not self.shared:
            self.shared = self.run("toy", *SMALL, *NSYS, *NCU, *EVERY)
        return self.shared

    def raw_page(self, report: Path) -> list[dict[str, str]]:
        """ncu's own raw page of a report, without lpo."""
        done = self.call(["ncu", "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"])
        return rows_of(done.stdout)

    def pack(self, out: Path) -> None:
        """Everything small, for test data."""
        with tarfile.open(out / "runs.tgz", "w:gz") as tar:
            for path in sorted((self.work / "runs").rglob("*")):
                if path.is_file() and path.stat().st_size <= KEEP_BYTES:
                    tar.add(path, str(path.relative_to(self.work / "runs")))
        (out / "nsight.json").write_text(json.dumps(self.numbers, indent=1), encoding="utf-8")


def counts(rows: dict[str, dict]) -> dict[str, int]:
    return {path: row["launches"] for path, row in rows.items()}


def rows_of(page: str) -> list[dict[str, str]]:
    """Rows of a raw page; what stands before the header and the row of units are left out."""
    start = page.find('"ID"')
    return [row for row in csv.DictReader(page[start:].splitlines()) if row["ID"].isdigit()] if start >= 0 else []


def number(text: str) -> float:
    return float(text.replace(",", ""))


def paths_of(row: dict[str, str]) -> list[str]:
    """The regions a row lies in, from its NVTX columns alone: prefixes of the stack, and start/end ranges."""
    found = []
    for key, value in row.items():
        names = []
        for text in re.findall(r'"([^"]*)"', value) if "_Range:" in key else []:
            text = text if "Push/Pop" in key else text.split(":", 1)[1]  # a start/end range has its id before it
            domain, name = text.rsplit(":", 6)[0].split(":", 1)
            name = name.replace("/", "\\/")
            names.append(name if domain == "<default domain>" else f"{domain}@{name}")
        found += ["/".join(names[:i + 1]) for i in range(len(names))] if "Push/Pop" in key else names
    return found


def sums_by_region(rows: list[dict[str, str]]) -> dict[tuple[str, str], dict[str, float]]:
    """(process, region) -> launches and sums."""
    table: dict = collections.defaultdict(lambda: collections.Counter())
    for row in rows:
        for path in set(paths_of(row)):
            cell = table[row["Process ID"], path]
            cell["launches"] += 1
            for metric in SUMS:
                cell[metric] += number(row[metric])
    return dict(table)


def toy(*words: str) -> list[str]:
    return [TOY, "--layers", "1", "--prompt-tokens", "8", "--max-new-tokens", "2", "--repeats", "1", "--warmup", "0", *words]


def together(*programs: list[str]) -> list[str]:
    """A launcher that starts them side by side and fails when one does."""
    lines = [f"{shlex.join(p)} & p{i}=$!" for i, p in enumerate(programs)]
    return ["sh", "-c", "\n".join(lines + [f"wait $p{i} || exit $?" for i in range(len(programs))])]
