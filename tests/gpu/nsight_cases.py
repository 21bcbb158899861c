#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/gpu/nsight.sh: each part is a function; a part that raises is one failed check."""
from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

import nsight_forms
from nsight_lab import (DRY, EVERY, FORMS, LPO, NCU, NO_NATIVE, NSYS, ONLY, ROOT, SMALL, SUMS, Lab, counts, number,
                        rows_of, sums_by_region, together, toy)

SECTIONS = ["SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "SchedulerStats"]
CLASSES = {"memory", "compute", "latency", "balanced"}
GATED = ["pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decode"]
METRICS = ["gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                   "dram__throughput.avg.pct_of_peak_sustained_elapsed"]  # of the shipped preset, what a GPU has
DECODER = ["python3", str(ROOT / "workloads" / "torch_decoder.py"), "--repeats", "1", "--prompt-tokens", "16"]
DEADLINE_S = float(os.environ.get("NSIGHT_SECONDS", "235"))  # no part begins later


def regexes(path: Path) -> list[str]:
    """Of the list that lpo top writes, without anchors."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.split('"^')[1].split('$"')[0] for line in lines if line.strip().startswith("regex:")]


def part_nsys(lab: Lab) -> None:
    base = lab.base()
    native = lab.launches(*base.files("native/*.lpot"))
    decode = {p: n for p, n in native.items() if p.split("/")[0] == "decode"}
    lab.equal("nsys, ungated: done", base.stage("nsys")["state"], "done")
    lab.check("nsys, ungated: report, SQLite and CSV", all((base.path / "nsys" / f).exists() for f in (
        "run.nsys-rep", "run.sqlite", "summary_cuda_gpu_kern_sum.csv", "cmd.txt")))
    lab.check("nsys, ungated: kernels per region are native's", native, "no kernels in native's trace")
    lab.equal("nsys, ungated: the same in every region", lab.launches(base.path / "nsys/run.sqlite"), native)

    gated = lab.run("nsys-gated", *SMALL, "run.repeats=3", NO_NATIVE, *NSYS, *GATED)
    lab.equal("nsys, gated: done", (gated.code, gated.stage("nsys")["state"]), (0, "done"))
    lab.equal("nsys, gated: the program lived on to its last repeat",
              len(gated.json("workload/nsys/metrics.json").get("samples", [])), 3)
    lab.equal("nsys, gated: one decode, nothing else", lab.launches(*gated.files("nsys/*.sqlite")), decode)

    repeat = lab.run("nsys-repeat", *SMALL, "run.repeats=4", NO_NATIVE, *NSYS, *GATED, "pipeline.nsys.capture_range_end=repeat:2")
    reports, exports = repeat.files("nsys/*.nsys-rep"), repeat.files("nsys/*.sqlite")
    started = repeat.text("workload/nsys/stdout.log").count("Capture range started") + \
        repeat.text("workload/nsys/stderr.log").count("Capture range started")
    print(f"    nsys says that {started} captures were started; reports: {[p.name for p in reports]}")
    lab.equal("nsys, repeat: done", (repeat.code, repeat.stage("nsys")["state"]), (0, "done"))
    lab.equal("nsys, repeat: a report for each of two captures", len(reports), 2)
    lab.equal("nsys, repeat: each exported", [p.stem for p in exports], [p.stem for p in reports])
    for export in exports:
        lab.equal(f"nsys, repeat: {export.name} is one decode", lab.launches(export), decode)
    twice = {p: n * len(exports) for p, n in decode.items()}
    report = repeat.json("report.json").get("scopes", [{}])[0].get("regions", [])
    lab.equal("nsys, repeat: the report has them all", {r["path"]: r["launches"] for r in report if r["launches"]}, twice)
    lab.equal("nsys, repeat: the program lived on", len(repeat.json("workload/nsys/metrics.json").get("samples", [])), 4)

    libraries = lab.env.get("LD_LIBRARY_PATH", "").split(":")
    if any(p.endswith("gpu-carry") for p in libraries):
        bare = lab.env | {"LD_LIBRARY_PATH": ":".join(p for p in libraries if not p.endswith("gpu-carry"))}
        alone = lab.run("nsys-no-libdw", *SMALL, NO_NATIVE, *NSYS, env=bare)
        lab.check("nsys without libdw: the missing library is named", alone.code == 0 or "libdw" in alone.said("nsys"),
                  alone.said("nsys"))
        print(f"    it says: {alone.said('nsys')}")


def part_kernels(lab: Lab) -> None:
    base = lab.base()
    some, summary = lab.kernels("kernels-regex", ["--kernel-regex", "rms_norm|attention_kernel"], toy())
    lab.equal("lpo kernels, a regex: exit code", some.code, 0)
    names = {p.name for p in some.files("kernel_0001_*/*")}
    lab.check("lpo kernels: report, a CSV per section, details, provenance", names >= {
        "ncu.ncu-rep", "ncu.details.csv", "command.yaml", "cmd.txt", *(f"ncu.section_{s}.csv" for s in SECTIONS)}, names)
    empty = [p.name for p in some.files("kernel_0001_*/ncu.section_*.csv") if p.read_text().count("\n") < 2]
    lab.equal("lpo kernels: no section is empty", empty, [])
    launches = [r for k in summary.get("kernels", []) for r in k["launches"]]
    lab.check("lpo kernels: a class for the launch", launches and all(r["class"] in CLASSES for r in launches), launches)
    text = "".join(p.read_text() for p in some.files("kernel_0001_*/command.yaml"))
    lab.check("lpo kernels: provenance names tool, GPU and outcome", all(w in text for w in ("2025.", "NVIDIA", "outcome: done")), text)

    lists = {}
    sources = {"native": base.files("native/*.lpot"), "nsys": base.files("nsys/run.sqlite"), "ncu": base.files("ncu/run.ncu-rep"),
               "nsys-csv": base.files("nsys/summary_cuda_gpu_kern_sum.csv")}
    for name, files in sources.items():
        path = lab.work / f"top-{name}.yaml"
        done = lab.call([LPO, "top", *map(str, files), "-o", str(path)])
        lab.equal(f"lpo top of {name}", done.returncode, 0)
        lists[name] = set(regexes(path))
    lab.check("lpo top: the same functions from each", len(set(map(frozenset, lists.values()))) == 1, lists)
    for name, words in (("native", ["--topk", "2", "--section", "SpeedOfLight"]), ("nsys", ["--topk", "1", "--section", "SpeedOfLight"]),
                        ("ncu", ["--topk", "1", "--section", "SpeedOfLight"])):
        top, summary = lab.kernels(f"kernels-{name}", ["--kernel-config", str(lab.work / f"top-{name}.yaml"), *words], toy())
        states = [k["state"] for k in summary.get("kernels", [])]
        lab.equal(f"lpo kernels --kernel-config from {name}", (top.code, states), (0, ["done"] * int(words[1])))
    none, summary = lab.kernels("kernels-none", ["-k", "no_such_kernel"], toy())
    lab.equal("lpo kernels, no such kernel: exit code", none.code, 1)
    lab.equal("lpo kernels, no such kernel: state", [k["state"] for k in summary.get("kernels", [])], ["no match"])


def compare_processes(lab: Lab, what: str, run, first: str = "", holds: str = "") -> None:
    """Native against ncu's report and, without lpo, ncu's own page of it: per process and region."""
    native = lab.scopes(*run.files("native/*.lpot"))
    ncu = lab.scopes(*run.files("ncu/run.ncu-rep"))
    own = sums_by_region(lab.raw_page(run.path / "ncu/run.ncu-rep"))

    def table(scopes: dict) -> list:
        rows = [counts(rows) for scope, rows in scopes.items() if scope.startswith("process:")]
        return sorted(sorted((p, n) for p, n in r.items() if p.startswith(first) and holds in p and p != "(outside)") for r in rows)

    by_pid: dict = {}
    for (pid, path), cell in own.items():
        by_pid.setdefault(f"process:{pid}", {})[path] = {"launches": cell["launches"]}
    lab.equal(f"{what}: a trace per process", len(run.files("native/*.lpot")), 2)
    lab.equal(f"{what}: processes of native", sum(s.startswith("process:") for s in native), 2)
    lab.check(f"{what}: some kernels", any(table(native)), native.keys())
    lab.equal(f"{what}: ncu's report has native's counts", table(ncu), table(native))
    lab.equal(f"{what}: ncu's own page has them as well", table(by_pid), table(native))
    scopes = [s["scope"] for s in run.json("report.json").get("scopes", [])]
    lab.equal(f"{what}: the report's scopes", sorted(s.split(":")[0] for s in scopes if s.startswith(("agg", "proc"))),
              ["aggregate", "process", "process"])
    worst, compared = 0.0, 0
    for (pid, path), cell in own.items():
        row = ncu.get(f"process:{pid}", {}).get(path)
        for metric in SUMS if row else []:
            value = (row["metrics"].get(metric) or {}).get("value")
            worst = max(worst, abs((value or 0) / cell[metric] - 1) if cell[metric] else 0)
            compared += 1
    lab.check(f"{what}: {compared} sums per process and region are ncu's (worst {worst:.1e})", compared and worst < 1e-4)
    lab.numbers[f"{what}: sums"] = {"compared": compared, "worst": worst}


def part_processes(lab: Lab) -> None:
    run = lab.run("two", *NSYS, *NCU, *EVERY, program=together(toy(), toy("--max-new-tokens", "3")))
    lab.equal("two processes: every stage done", [run.stage(s)["state"] for s in ("native", "nsys", "ncu")], ["done"] * 3)
    compare_processes(lab, "two processes", run)
    native, nsys = lab.scopes(*run.files("native/*.lpot")), lab.scopes(*run.files("nsys/*.sqlite"))
    tables = [sorted(sorted(counts(rows).items()) for scope, rows in s.items() if scope.startswith("process:"))
              for s in (nsys, native)]
    lab.equal("two processes: nsys has native's counts", *tables)


def part_cost(lab: Lab) -> None:
    """R42: region mode against one plain capture of the same kernels with the same sections."""
    program = toy()

    def timed(words: list[str]) -> float:
        begin = time.monotonic()
        done = lab.call(words)
        if done.returncode and not DRY:
            print("      " + done.stderr.strip()[-300:])
        return time.monotonic() - begin

    def by_hand(name: str) -> tuple[float, float]:
        base = lab.work / name
        words = ["ncu", "--config-file", "off", "--target-processes", "all", "--clock-control", "none", "--nvtx", "--nvtx-include",
                 "decode/", "--set", "roofline", "--metrics", ",".join(METRICS),
                 *(w for s in SECTIONS for w in ("--section", s)), "--force-overwrite",
                 "--log-file", f"{base}.log", "--export", str(base), *program]
        capture = timed(words)
        tables = sum(timed(["ncu", "--import", f"{base}.ncu-rep", "--page", *page, "--print-units", "base"])
                     for page in (("raw", "--csv"), ("details",)))
        return capture, tables

    def regions(name: str) -> tuple[float, float, float, float]:
        run = lab.run(name, NO_NATIVE, "pipeline.ncu.enable=true", *EVERY, "pipeline.ncu.regions.include=[decode]", program=program)
        steps = {s["label"]: s["wall_ns"] / 1e9 for s in run.stage("ncu")["steps"]}
        asked = sum(seconds for label, seconds in steps.items() if "--" in label)  # what this ncu has: of no program
        return steps.get("ncu", 0), run.stage("ncu").get("wall_ns", 0) / 1e9 - asked, run.seconds - asked, asked

    if DRY:
        regions("cost-0")
        return
    if "NSIGHT_COST_AFTER" in os.environ:
        lab.wait_for(os.environ["NSIGHT_COST_AFTER"])
    first, _ = by_hand("warm")  # also loads what the first capture of a machine loads
    rounds = 2 if first > 6 else 3
    print(f"    a capture of one step takes {first:.1f} s; {rounds} rounds")
    rows = []
    for i in range(rounds):
        hand, tables = by_hand(f"hand-{i}")
        capture, stage, whole, asked = regions(f"cost-{i}")
        rows.append({"plain": hand, "plain_tables": tables, "capture": capture, "stage": stage, "run": whole,
                     "asked first": asked})
        print("    " + ", ".join(f"{k} {v:.2f} s" for k, v in rows[-1].items()))
    have, want = (lab.launches(p) for p in (lab.work / "hand-1.ncu-rep", lab.work / "runs/cost-1/ncu/run.ncu-rep"))
    lab.equal("cost: the same kernels", have, want)
    ratios = {name: statistics.median(top(r) / bottom(r) for r in rows) for name, top, bottom in (
        ("capture / plain", lambda r: r["capture"], lambda r: r["plain"]),
        ("stage with tables / plain with tables", lambda r: r["stage"], lambda r: r["plain"] + r["plain_tables"]),
        ("lpo run, reports included / plain with tables", lambda r: r["run"], lambda r: r["plain"] + r["plain_tables"]),
        ("lpo run, reports included / plain alone", lambda r: r["run"], lambda r: r["plain"]))}
    for name, ratio in list(ratios.items())[:3]:
        lab.check(f"cost: {name} is {ratio:.3f}, at most 1.15", 0 < ratio <= 1.15, ratio)
    print(f"    {list(ratios)[3]} {ratios[list(ratios)[3]]:.3f} (plain makes no tables)")
    lab.numbers["cost"] = {"rows": rows, "median_ratios": ratios, "kernels": sum(want.values()) and want.get("decode")}


def ncu_alone(lab: Lab, name: str, *words: str):
    return lab.run(name, *SMALL, *NCU, *words)


def part_failures(lab: Lab) -> None:
    for mode in ("range", "app-range"):
        run = ncu_alone(lab, mode, NO_NATIVE, f"pipeline.ncu.ncu_cli.replay_mode={mode}", "pipeline.ncu.ncu_cli.nvtx.include=decode/",
                  "pipeline.ncu.ncu_cli.metrics=[sm__cycles_elapsed.max,dram__bytes.sum]")
        good = run.stage("ncu")["state"] == "done"
        rows = rows_of(run.text("ncu/raw.csv"))
        lab.check(f"{mode} replay of the toy model: one result, or a message that says what to use instead",
                  len(rows) == 1 if good else "app-range" in run.said("ncu"), (len(rows), run.said("ncu")))
        if not good:
            print(f"    {mode}: {run.said('ncu')}")
            continue
        print("      " + "\n      ".join(f"{k[:60]}: {v}" for row in rows for k, v in list(row.items())[:16] if v))
        own = number(rows[0].get("dram__bytes.sum", "0")) if rows else 0
        for what, text in (("the run's report", run.text("report.json")), ("lpo regions of the .ncu-rep", lab.call(
                [LPO, "regions", "--json", str(run.path / "ncu/run.ncu-rep")]).stdout)):
            whole = (json.loads(text or "{}").get("scopes") or [{}])[0]
            table = {r["path"]: (r["metrics"].get("dram__bytes.sum") or {}).get("value") for r in whole.get("regions", [])}
            print(f"      {what}: {table}")
            lab.check(f"{mode} replay: {what} has the range's bytes", own and own in table.values(), (own, table))
    run = lab.run("range-forms", NO_NATIVE, *NCU, "pipeline.ncu.ncu_cli.replay_mode=range", "pipeline.ncu.ncu_cli.nvtx.include=plain/",
                  "pipeline.ncu.ncu_cli.metrics=[sm__cycles_elapsed.max]", program=[FORMS])
    lab.equal("range replay of plain kernels", (run.stage("ncu")["state"], len(rows_of(run.text("ncu/raw.csv")))), ("done", 1))

    run = ncu_alone(lab, "no-section", NO_NATIVE, "pipeline.ncu.ncu_cli.sections=[SpeedOfLigt]")
    lab.check("unknown section: the nearest and the list, before the capture", run.code == 1 and "'SpeedOfLight'" in run.said("ncu") and
              "sections.txt" in run.said("ncu") and not run.files("ncu/cmd.txt"), (run.code, run.said("ncu")))
    lab.check("unknown section: sections.txt is there", "SpeedOfLight" in run.text("ncu/sections.txt"))
    done = lab.call(["ncu", "--section", "SpeedOfLigt", *toy()])  # its own words, for conf/rules/tools.yaml
    print("    ncu itself says: " + " | ".join((done.stdout + done.stderr).splitlines()[-4:]), f"(exit code {done.returncode})")


def part_mistakes(lab: Lab) -> None:
    def ncu(name: str, *words: str, program: list[str] | None = None):
        return lab.run(name, *(SMALL if program is None else []), *NCU, *words, program=program)

    run = ncu("no-metric", NO_NATIVE, f"pipeline.ncu.ncu_cli.metrics=[{','.join(SUMS)},no__such_metric.sum]")
    lab.check("unknown metric: left out with a note", run.code == 0 and "no__such_metric" in run.said("ncu") and
              "no__such_metric" not in run.text("ncu/cmd.txt"), (run.code, run.said("ncu")))
    lab.check("metrics are asked for once: the answer is copied, no command runs", run.files("ncu/available_metrics.txt") and
              not run.files("ncu/cmd-metrics.txt"), run.files("ncu/*metrics*"))
    run = ncu("no-region", "pipeline.ncu.ncu_cli.nvtx.include=decod")
    lab.check("a gate that fits no region: dropped, with the nearest name", run.code == 0 and "'decode'" in run.said("ncu") and
              "was dropped" in run.said("ncu") and run.files("ncu/run.ncu-rep"), (run.code, run.said("ncu")))
    run = ncu("fails", NO_NATIVE, program=["sh", "-c", f"{' '.join(toy())} && exit 7"])
    lab.check("the workload fails under ncu: said, report kept", run.code == 1 and "failed under the profiler" in run.said("ncu") and
              run.files("ncu/run.ncu-rep"), (run.code, run.said("ncu")))
    run = ncu("rerun", NO_NATIVE, "pipeline.ncu.ncu_cli.nvtx.include=nowhere/")
    lab.check("no kernels profiled: tried again without the filter", run.code == 0 and run.files("ncu/rerun.ncu-rep") and
              run.files("ncu/cmd-rerun.txt") and "no kernel passed" in run.said("ncu"), (run.code, run.said("ncu")))
    lab.check("the second try has kernels", rows_of(run.text("ncu/raw.csv")))


def part_presets(lab: Lab) -> None:
    """Every preset names sections, sets and metrics that exist on its hardware."""
    def table(name: str, *words: str) -> set[str]:
        text = lab.call(["ncu", *words]).stdout
        kept = lab.work / "runs" / "presets" / f"{name}.txt"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text)
        return {line.split()[0] for line in text.splitlines() if line.split()}

    sections, sets = table("sections", "--list-sections"), table("sets", "--list-sets")
    known = {chip: table(chip, "--query-metrics", "--chips", chip) for chip in ("ga102", "gh100")}
    for preset in sorted((ROOT / "conf/profiling/ncu").glob("*.yaml")):
        done = lab.call([LPO, "config", f"profiling/ncu@pipeline.ncu={preset.stem}", "--package", "pipeline.ncu.ncu_cli", "--json"])
        cli = json.loads(done.stdout)
        chips = ["ga102"] if "3090" in preset.stem else ["gh100"] if ".h" in preset.stem and "high" not in preset.stem else list(known)
        # of the older documents, for other chips; lpo leaves out what a chip lacks
        wanted = [m for m in cli["metrics"] or [] if not m.startswith("flop_count_")]
        missing = [f"{m} on {chip}" for chip in chips for m in wanted if m.split(".")[0] not in known[chip]]
        missing += [s for s in cli["sections"] if s not in sections] + [s for s in [cli["set"]] if s and s not in sets]
        lab.equal(f"preset {preset.stem} on {', '.join(chips)}", missing, [])


def part_separate(lab: Lab) -> None:
    """One capture for each region, and the same regions from one capture: the same kernels either way."""
    launches = {}
    for capture in ("shared", "separate"):
        run = lab.run(f"regions-{capture}", *SMALL, *NCU, *EVERY, "pipeline.ncu.regions.include=[prefill,decode]", f"pipeline.ncu.regions.capture={capture}",
                      "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]")
        lab.equal(f"{capture}: the stage is done", (run.code, run.stage("ncu")["state"]), (0, "done"))
        for region in ("prefill", "decode"):
            rows = rows_of(run.text(f"ncu/regions/{region}/raw.csv"))
            launches[capture, region] = len(rows)
            lab.check(f"{capture}: {region} has its report and its raw rows", rows and
                      run.files(f"ncu/regions/{region}/report.json"), (len(rows), run.said("ncu")))
            lab.equal(f"{capture}: {region} has a capture of its own", bool(run.files(f"ncu/regions/{region}/*.ncu-rep")),
                      capture == "separate")
    for region in ("prefill", "decode"):
        lab.equal(f"{region}: as many launches either way", launches["separate", region], launches["shared", region])


def part_calls(lab: Lab) -> None:
    """pipeline.ncu.capture.calls: the numbers that ncu's --range-filter fits, and no other (9-11 must not be found in 19)."""
    repeats = 21
    base = lab.run("calls-native", *SMALL, f"run.repeats={repeats}")
    once, rest = divmod(lab.launches(*base.files("native/*.lpot")).get("decode", 0), repeats)
    lab.check("calls: each decode has the same kernels", DRY or (once and not rest), (once, rest))
    for words, calls in (("2-3", 2), ("9-11", 3), ("20-", 2), ("7", 1), ("1-9,every=4", 3)):
        which, *every = words.split(",")
        run = lab.run(f"calls-{words.replace(',every=', '-by-')}", *SMALL, f"run.repeats={repeats}", NO_NATIVE, *NCU, "pipeline.ncu.capture.range=decode",
                      f"pipeline.ncu.capture.calls='{which}'", *(f"pipeline.ncu.capture.{w}" for w in every))
        lab.equal(f"calls {words}: the stage is done", run.stage("ncu")["state"], "done")
        lab.equal(f"calls {words}: kernels of {calls} calls", len(rows_of(run.text("ncu/raw.csv"))), calls * once)


def part_switched(lab: Lab) -> None:
    """pipeline.nsys.capture.control: two windows opened and closed by lpo ctl, a report for each with whole kernels of decode."""
    path, end = lab.work / "runs" / "switched", lab.work / "switched-end"
    program = f"while [ ! -e {end} ]; do {' '.join(toy())} >/dev/null || exit 1; done"
    words = [LPO, "run", "-q", f"hydra.run.dir={path}", *ONLY, NO_NATIVE, *NSYS, "pipeline.nsys.capture.control=true",
             "pipeline.nsys.capture.wait=true", "--", "sh", "-c", program]
    if DRY:
        print(lab.call([*words[:2], "--dry-run", *words[2:]]).stdout)
        return
    with subprocess.Popen(words, cwd=ROOT, env=lab.env) as run:
        begin = time.monotonic()
        while lab.call([LPO, "ctl", str(path), "status"]).returncode and run.poll() is None and time.monotonic() - begin < 30:
            time.sleep(0.1)
        for i in (1, 2):
            done = lab.call([LPO, "ctl", str(path), "start"])
            lab.equal(f"switched: window {i} begins", (done.returncode, done.stderr), (0, ""))
            time.sleep(4)
            done = lab.call([LPO, "ctl", str(path), "stop"])
            lab.equal(f"switched: window {i} ends", (done.returncode, done.stderr), (0, ""))
            print(f"    {done.stdout.strip()}")
        end.touch()
        lab.equal("switched: lpo ends well", run.wait(100), 0)
    exports = sorted(path.glob("nsys/*.sqlite"))
    lab.equal("switched: a report for each window", [p.name for p in exports], ["run.1.sqlite", "run.2.sqlite"])
    for export in exports:
        lab.check(f"switched: {export.name} has kernels of decode", lab.launches(export).get("decode"), "none")


def part_focus(lab: Lab) -> None:
    base = lab.base()
    focus = ["pipeline.ncu.top_kernels=true", "run.top_n_kernels=2"]

    def top_two(file: Path) -> list[str]:
        """Bare function names, of the list that lpo top writes."""
        lab.call([LPO, "top", str(file), "-o", str(lab.work / "two.yaml")])
        return sorted(list(dict.fromkeys(regexes(lab.work / "two.yaml")))[:2])

    for name, words, pattern in (("native", [], "native/*.lpot"), ("nsys", [NO_NATIVE, *NSYS], "nsys/*.sqlite"),
                                 ("none", [NO_NATIVE], "")):
        run = lab.run(f"focus-{name}", *SMALL, *NCU, *words, *focus)
        command = run.text("ncu/cmd.txt")
        if not pattern:
            lab.check("focus without native and nsys: all kernels", run.code == 0 and "--kernel-name" not in command, command)
            continue
        files = run.files(pattern)
        want = top_two(files[0]) if files else []
        regex = command.split("regex:^(")[1].split(")")[0] if "regex:^(" in command else ""
        lab.equal(f"focus from {name}: the two kernels with most time", sorted(regex.split("|")), want)
        reports = run.files("ncu/run.ncu-rep")
        lab.equal(f"focus from {name}: only those were profiled", top_two(reports[0]) if reports else [], want)
    lab.check("focus: the base run took every kernel", base.code == 0 and "--kernel-name" not in base.text("ncu/cmd.txt"))


def part_torch(lab: Lab) -> None:
    run = lab.run("torch-range", NO_NATIVE, *NCU, "pipeline.ncu.ncu_cli.replay_mode=range", "pipeline.ncu.ncu_cli.nvtx.include=prefill/",
                  "pipeline.ncu.ncu_cli.metrics=[sm__cycles_elapsed.max]", program=[*DECODER, "--warmup", "0", "--max-new-tokens", "2"])
    print(f"    range replay in PyTorch: {run.stage('ncu')['state']} {run.said('ncu')}")
    lab.check("range replay in PyTorch: done, or refused with what to use instead",
              run.code == 0 or "app-range" in run.said("ncu"), run.said("ncu"))
    two = together([*DECODER, "--layers", "1", "--max-new-tokens", "2"], [*DECODER, "--layers", "2", "--max-new-tokens", "2"])
    run = lab.run("two-torch", *NCU, *EVERY, "pipeline.ncu.regions.include=['decode/**/mlp']", program=two)
    lab.equal("two PyTorch processes: done", [run.stage(s)["state"] for s in ("native", "ncu")], ["done"] * 2)
    compare_processes(lab, "two PyTorch processes", run, "decode", "/mlp")


# What no run has proven yet stands first. The one that is a timing is always the last.
PARTS = {"forms": nsight_forms.part_forms, "failures": part_failures, "presets": part_presets, "torch": part_torch,
         "nsys": part_nsys, "mistakes": part_mistakes, "focus": part_focus, "processes": part_processes, "kernels": part_kernels,
         "separate": part_separate, "cost": part_cost}
ASKED = {"forms-quick": nsight_forms.part_forms_quick, "calls": part_calls, "switched": part_switched}  # only when named


class Stopped(BaseException):
    """SIGTERM, as from timeout: what was made so far is packed."""


def stop(*_) -> None:
    raise Stopped


def run_parts(lab: Lab, names: list[str]) -> None:
    for name in sorted(names, key="cost".__eq__):
        if lab.elapsed() > DEADLINE_S:
            print(f"\n== {name}: NOT RUN, {lab.elapsed():.0f} s are over")
            continue
        print(f"\n== {name} (at {lab.elapsed():.0f} s)", flush=True)
        try:
            (PARTS | ASKED)[name](lab)
        except Exception:  # the other parts still have results
            lab.check(f"{name} ran to its end", False, traceback.format_exc())


def main() -> int:
    lab = Lab()
    signal.signal(signal.SIGTERM, stop)
    try:
        run_parts(lab, sys.argv[1:] or list(PARTS))
    except (Stopped, KeyboardInterrupt):
        lab.check("every part ran", False, "stopped from outside")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lab.pack(Path(os.environ["OUT"]))
    print(f"\nnsight: {lab.passed} passed, {lab.failed} failed, {lab.elapsed():.0f} s")
    return lab.failed > 0


if __name__ == "__main__":
    sys.exit(main())
