#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One part of tests/gpu/dsocr.sh: dsocr_check.py LPO PART RUN_FOLDER EXIT_CODE. Prints ok, or all that is wrong."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

INSIDE = ("prefill", "prefill/sam", "prefill/clip", "prefill/projector", "decode", "decode/step")
STAGES = {"base": ("static_analysis", "direct_inference", "native", "torch_profiler"), "nsys_prefill": ("nsys",),
          "nsys_decode": ("nsys",), "ncu": ("ncu",), "regions": ("native", "ncu")}


class Check:
    """A run folder and what is wrong with it."""

    def __init__(self, lpo: str, folder: Path) -> None:
        self.lpo, self.folder = lpo, folder
        self.wrong: list[str] = []
        self.seen: list[str] = []

    def need(self, true: object, text: str) -> None:
        if not true:
            self.wrong.append(text)

    def json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text())
        except (OSError, ValueError) as error:
            self.wrong.append(f"{name}: {error}")
            return {}

    def regions(self, label: str, *patterns: str) -> dict[str, dict[str, Any]]:
        """Path to row, of all files that match."""
        files = [str(p) for pattern in patterns for p in sorted(self.folder.glob(pattern))]
        if not files:
            self.wrong.append(f"{label}: no file matches {', '.join(patterns)}")
            return {}
        done = subprocess.run([self.lpo, "regions", "--json", "--no-fold", *files], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            self.wrong.append(f"{label}: lpo regions: {done.stderr.strip().splitlines()[:1]}")
            return {}
        scope = next((s for s in json.loads(done.stdout)["scopes"] if s["scope"] == "aggregate"), {"regions": []})
        rows = {row["path"]: row for row in scope["regions"]}
        self.seen.append(f"{label} {len(rows)} regions, {sum(r.get('launches') or 0 for r in rows.values())} launches")
        return rows

    def has(self, label: str, rows: dict[str, Any], names: tuple[str, ...]) -> None:
        missing = [name for name in names if name not in rows]
        self.need(not missing, f"{label}: no region {', '.join(missing)} (there are {', '.join(list(rows)[:12])})")

    def stages(self, wanted: tuple[str, ...]) -> None:
        found = {stage["name"]: stage for stage in self.json("run.json").get("stages", [])}
        for name in wanted:
            stage = found.get(name, {})
            self.need(stage.get("state") == "done",
                      f"stage {name} is {stage.get('state')}: {stage.get('message')} {stage.get('notes') or ''}")


def base(c: Check) -> None:
    c.has("native", c.regions("native", "native/*.lpot"), INSIDE)
    c.has("torch", c.regions("torch", "torch_profiler/*.trace.json*"), INSIDE)
    parameters = c.json("static_analysis/static_compute.json").get("parameters", {}).get("total")
    made = c.json("workload/direct_inference/metrics.json")
    c.need(parameters and parameters == made.get("model", {}).get("parameters"),
           f"parameters: static {parameters}, the model {made.get('model', {}).get('parameters')}")
    for figure in ("prefill_ms", "inter_token_ms"):
        c.seen.append(f"{figure} {((made.get('aggregate') or {}).get(figure) or {}).get('p50')}")
    rows = {row["path"]: row for row in (c.json("report.json").get("limits") or {}).get("regions", [])}
    c.has("MFU", rows, INSIDE[:5])
    for name in INSIDE[:5]:
        c.seen.append(f"MFU {name} {rows.get(name, {}).get('mfu')}")


def nsys(c: Check, inside: tuple[str, ...], outside: str) -> None:
    rows = c.regions("nsys", "nsys/*.sqlite")
    c.has("nsys", rows, inside)
    other = [path for path, row in rows.items() if path.split("/")[0] == outside and row.get("launches")]
    c.need(not other, f"nsys: kernels outside of the capture: {other[:3]}")
    c.need(sum(row.get("launches") or 0 for row in rows.values()), "nsys: no kernel was recorded")


def ncu(c: Check) -> None:
    rows = c.regions("ncu", "ncu/*.ncu-rep")
    c.need(any(path.split("/")[0] == "decode" for path in rows), f"ncu: no region in decode (there are {list(rows)[:8]})")
    outside = [path for path in rows if path.split("/")[0] == "prefill"]
    c.need(not outside, f"ncu: 'decode*' let {outside[:3]} through")


def regions(c: Check) -> None:
    c.has("native", c.regions("native", "native/*.lpot"), INSIDE)
    c.need(list(c.folder.glob("ncu/*.ncu-rep")), "ncu: no report")
    text = (c.folder / "report.md").read_text() if (c.folder / "report.md").exists() else ""
    c.need("prefill" in text and "decode" in text, "report.md names neither prefill nor decode")


def main() -> int:
    lpo, part, folder, code = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    c = Check(lpo, folder)
    c.need(code == 0, f"lpo run: exit code {code}" + (" (the time limit)" if code in (124, 137) else ""))
    c.stages(STAGES[part])
    for name in ("report.md", "report.json", "stakeholder_summary.md"):
        c.need((folder / name).exists(), f"no {name}")
    if part == "nsys_prefill":
        nsys(c, ("prefill/sam", "prefill/clip", "prefill/projector"), "decode")
    elif part == "nsys_decode":
        nsys(c, ("decode/step",), "prefill")
    else:
        {"base": base, "ncu": ncu, "regions": regions}[part](c)
    print("; ".join(["ok" if not c.wrong else "FAILED: " + "; ".join(c.wrong), *c.seen]))
    return 1 if c.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
