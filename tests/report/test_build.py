#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo report on run folders made here: files, hostile names, privacy, repeatability. Prints TAP."""
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
LPO = os.environ["LPO_BIN"]
DATA = os.path.join(SOURCE, "tests", "data")
HOSTILE = ["../../x", "a|b", "`code`", "<script>alert(1)</script>", "line\nbreak", "bidi\u202eevil", "n" * 4096,
           "\x1b[31mred", "..", "/etc/passwd", "tab\there", "[link](http://x)", "***"]


def report(folder, *words, code=0):
    done = subprocess.run([LPO, "report", folder, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == code, f"exit {done.returncode}: {done.stdout}"
    return done.stdout


def files(folder):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def kineto(names):
    """Every name is a range, a kernel and an operator."""
    events = []
    for i, name in enumerate(names):
        at = 1000 * i
        events += [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 900},
                   {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at + 5, "dur": 800},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 10,
                    "dur": 5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 20, "dur": 100 + i,
                    "args": {"correlation": i + 1, "device": 0, "stream": 7}}]
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


def ncu_csv(names):
    """Raw page of ncu with one kernel per region name."""
    header = ["ID", "Process ID", "Process Name", "Host Name",
              "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", "Kernel Name", "Context",
              "Stream", "Block Size", "Grid Size", "Device", "CC", "gpu__time_duration.sum", "dram__bytes.sum"]
    out = io.StringIO()
    w = csv.writer(out, quoting=csv.QUOTE_ALL)
    w.writerow(header)
    w.writerow([""] * 12 + ["ns", "byte"])
    for i, name in enumerate(names):
        w.writerow([i, 9, "p", "127.0.0.1", f'9  "<default domain>:{name}:none:none:none:none:none:none" ', "k", 1, 7,
                    "(1, 1, 1)", "(1, 1, 1)", 0, "9.0", 1000 + i, 64])
    return out.getvalue()


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)


def tables_hold(text):
    """Every row of a Markdown table has as many cells as its header."""
    width = None
    for line in text.split("\n"):
        if not line.startswith("|"):
            width = None
            continue
        cells = len(line.replace("\\|", "").split("|"))
        width = width or cells
        assert cells == width, f"a row of {cells - 2} cells in a table of {width - 2}: {line[:200]}"


def hostile_names(folder):
    put(folder, "torch_profiler/trace.json", kineto(HOSTILE))
    put(folder, "ncu/raw.csv", ncu_csv([n for n in HOSTILE if '"' not in n and ":" not in n and "\n" not in n]))
    before = set(os.listdir(os.path.dirname(folder)))
    report(folder)
    assert set(os.listdir(os.path.dirname(folder))) == before, "something was written beside the run folder"
    for name, data in files(folder).items():
        assert ".." not in name.split(os.sep), name
        assert all(len(part) <= 100 for part in name.split(os.sep)), name
        if name.endswith(".md"):
            text = data.decode()
            assert "<script" not in text and "\u202e" not in text and "\x1b" not in text, name
            tables_hold(text)
    regions = json.loads(files(folder)["ncu/regions/report.json"])
    paths = [r["path"] for r in regions["folders"]]
    assert "n" * 4096 in paths and "..\\/..\\/x" in paths, paths
    for row in regions["folders"]:
        if row["path"] != "(outside)":
            assert os.path.isfile(os.path.join(folder, "ncu", "regions", row["folder"], "report.md")), row["folder"]


def same_bytes_twice(folder):
    put(folder, "torch_profiler/trace.json", kineto(["decode", "prefill"]))
    shutil.copy(os.path.join(DATA, "ncu", "ranges_raw.csv.gz"), os.path.join(folder, "raw.csv.gz"))
    os.makedirs(os.path.join(folder, "ncu"))
    os.rename(os.path.join(folder, "raw.csv.gz"), os.path.join(folder, "ncu", "raw.csv.gz"))
    report(folder)
    first = files(folder)
    report(folder)
    assert files(folder) == first
    moved = folder + "-moved"
    shutil.move(folder, moved)
    report(moved)
    assert files(moved) == first, "the place of the folder shows in a report"
    shutil.move(moved, folder)


def private_things_stay_out(folder):
    env = {"schema": 1, "host": {"name": "secret-host", "cpu": "CPU", "cpus": 2}, "gpus": {"devices": []},
           "variables": {"CUDA_HOME": "/home/alice/cuda"}}
    put(folder, "env.json", json.dumps(env))
    put(folder, "torch_profiler/trace.json", kineto(["decode"]))
    put(folder, "config.yaml", "model:\n  name: toy\nreport:\n  private: false\n")
    report(folder)
    for name, data in files(folder).items():
        if name != "env.json":
            assert b"secret-host" not in data and b"alice" not in data, name
    report(folder, "report.private=true")
    assert b"secret-host" in files(folder)["report.md"] and b"alice" in files(folder)["report.md"]


def fingerprint_is_there(folder):
    put(folder, "config.yaml", "model:\n  name: toy\n")
    put(folder, "torch_profiler/trace.json", kineto(["decode"]))
    report(folder)
    text = files(folder)["report.md"].decode()
    assert "Config fingerprint: " in text and "# Profile of toy" in text


def no_ranges_is_a_success(folder):
    put(folder, "torch_profiler/trace.json", kineto([]))
    report(folder)
    assert "The program marked no regions." in files(folder)["report.md"].decode()


def damaged_artifacts_are_told(folder):
    put(folder, "torch_profiler/trace.json", kineto(["decode"]))
    put(folder, "nsys/run.sqlite", "this is no database")
    put(folder, "native/1.lpot", "nor is this a trace")
    put(folder, "env.json", "{")
    report(folder)
    text = files(folder)["report.md"].decode()
    assert "nsys/run.sqlite cannot be read" in text and "| decode |" in text
    shown = [line for line in text.split("\n") if "cannot be read" in line]
    assert any(line.endswith("native/1.lpot cannot be read: 'native/1.lpot' is in a format that lpo does not know") for line in shown), shown
    assert "env.json cannot be read" in text
    assert not any("\\n" in line or folder in line for line in shown), shown


def nothing_there_is_an_error(folder):
    assert "holds no run" in report(folder, code=1)


def regions_agree_with_the_command(folder):
    os.makedirs(os.path.join(folder, "nsys"))
    with gzip.open(os.path.join(DATA, "nsys", "h200_ranges.sqlite.gz")) as f:
        data = f.read()
    with open(os.path.join(folder, "nsys", "run.sqlite"), "wb") as f:
        f.write(data)
    report(folder)
    shown = json.loads(subprocess.run([LPO, "regions", os.path.join(folder, "nsys", "run.sqlite"), "--json"],
                                      stdout=subprocess.PIPE, check=True).stdout)
    built = json.loads(files(folder)["report.json"])
    assert built["devices"] == shown["devices"]
    by_name = {s["scope"]: s for s in shown["scopes"]}
    assert [s["scope"] for s in built["scopes"]] == list(by_name)
    for scope in built["scopes"]:  # one that has the numbers of another names it
        same = scope.pop("same_as", None)
        want = by_name[scope["scope"]] | ({"regions": None} if same else {})
        assert scope | ({"regions": None} if same else {}) == want, scope["scope"]
        if same:
            for ours, theirs in zip(by_name[scope["scope"]]["regions"], by_name[same]["regions"], strict=True):
                assert {k: v for k, v in theirs.items() if k != "idle"} == {k: v for k, v in ours.items() if k != "idle"}
    assert built["scopes"][0]["scope"] == "aggregate" and "same_as" not in built["scopes"][0]
    outer = {r["path"]: (r["launches"], r["gpu_ns_inclusive"]) for r in built["scopes"][0]["regions"]}
    assert outer == {"A": (8, 739455), "A/A1": (4, 476703), "B": (2, 110143), "S": (2, 131840),
                     "(outside)": (1, 52864)}, outer


def counters_are_combined_by_rule(folder):
    os.makedirs(os.path.join(folder, "ncu"))
    shutil.copy(os.path.join(DATA, "ncu", "ranges_raw.csv.gz"), os.path.join(folder, "ncu", "raw.csv.gz"))
    report(folder)
    regions = json.loads(files(folder)["ncu/regions/report.json"])["scopes"][0]["regions"]
    by_path = {r["path"]: r for r in regions}
    with gzip.open(os.path.join(DATA, "ncu", "ranges_raw.csv.gz"), "rt") as f:
        rows = list(csv.reader(line for line in f if line.startswith('"')))
    column = rows[0].index("sm__throughput.avg.pct_of_peak_sustained_elapsed")
    time = rows[0].index("gpu__time_duration.sum")
    nvtx = [i for i, c in enumerate(rows[0]) if "Push/Pop" in c][0]
    scale = {"ns": 1, "us": 1000, "usecond": 1000, "nsecond": 1}[rows[1][time]]
    mine = [(float(r[column].replace(",", "")), float(r[time].replace(",", "")) * scale)
            for r in rows[2:] if ":A:" in r[nvtx]]
    want = sum(v * t for v, t in mine) / sum(t for _, t in mine)
    got = by_path["A"]["metrics"]["sm__throughput.avg.pct_of_peak_sustained_elapsed"]
    assert abs(got["value"] - want) < 0.01 * want and got["how"] == "time-weighted mean", (got, want)
    assert by_path["A"]["launches"] == 8 and by_path["A"]["kernels_measured"] == 8


def representatives_are_laid_over_the_trace(folder):
    put(folder, "config.yaml", "pipeline:\n  ncu:\n    regions: {enable: true}\n    sampling: {mode: auto}\n")
    for kind, name in (("nsys", "h200_ranges.sqlite.gz"), ("ncu", "ranges_raw.csv.gz")):
        os.makedirs(os.path.join(folder, kind))
        shutil.copy(os.path.join(DATA, kind, name), os.path.join(folder, kind, name.replace("ranges_raw", "raw")))
    report(folder)
    by_path = {r["path"]: r for r in json.loads(files(folder)["ncu/regions/report.json"])["scopes"][0]["regions"]}
    # times and counts are those of nsys, counters those of ncu
    assert by_path["A"]["gpu_ns_inclusive"] == 739455 and by_path["A"]["launches"] == 8
    for row in by_path.values():
        assert row["kernels_measured"] + row["kernels_estimated"] == row["launches"], row["path"]
    assert sum(by_path[p]["kernels_estimated"] for p in ("A", "B", "S", "(outside)")) == 1
    assert "sm__throughput.avg.pct_of_peak_sustained_elapsed" in by_path["B"]["metrics"]
    assert "applied to 13 launches" in files(folder)["report.md"].decode()
    assert "| ~" in files(folder)["ncu/regions/report.md"].decode()


def members(value, path=""):
    """(path, name, value) of every member; columns of tables and names of metrics are no members."""
    if isinstance(value, list):
        for v in value:
            yield from members(v, path + "[]")
    elif isinstance(value, dict):
        for k, v in value.items():
            if not path.endswith(("/rows[]", "/metrics")):
                yield path, k, v
            yield from members(v, f"{path}/{'*' if path.endswith('/metrics') else k}")


def shown(folder):
    """A run with a need of its own, on the device that the trace names."""
    os.makedirs(os.path.join(folder, "native"))
    shutil.copy(os.path.join(DATA, "native", "torch_llama.lpot"), os.path.join(folder, "native"))
    report(folder, "report.needs={prefill: {flops: 1e9, bytes: 1000001, dtype: fp8}}")
    return json.loads(files(folder)["report.json"])


def times_and_bytes_are_whole(folder):
    built = shown(folder)
    for path, name, value in members(built):
        if name.endswith(("_ns", "bytes", "_flops")) and name not in ("peak_flops", "sheet_peak_flops") or name in ("ns", "runs", "count"):
            assert value is None or isinstance(value, int), (path, name, value)
    types = {(t["id"], c["key"]): c["type"] for s in built["sections"] for t in s["items"] if t["type"] == "table" for c in t["columns"]}
    for s in built["sections"]:
        for t in (i for i in s["items"] if i["type"] == "table"):
            for key, value in ((k, v) for r in t["rows"] for k, v in r.items()):
                if types.get((t["id"], key)) in ("ns", "bytes", "count"):
                    assert value is None or isinstance(value, int), (t["id"], key, value)
    assert ("bytes" in types.values()) and built["limits"]["regions"][0]["limit_ns"] > 0


def unknown_is_null_and_there(folder):
    built = shown(folder)
    assert built["limits"]["model"]["runs"] is None and built["limits"]["regions"][0]["runs"] == 1
    assert all(d["rank"] is None for d in built["devices"]), built["devices"]
    os.makedirs(os.path.join(folder, "ncu"))
    shutil.rmtree(os.path.join(folder, "native"))
    put(folder, "ncu/raw.csv", ncu_csv(["a"]))
    report(folder, "report.needs={a: {flops: 1}}")
    limits = json.loads(files(folder)["report.json"])["limits"]
    assert [limits[k] for k in ("hardware", "peak_flops", "sheet_peak_flops", "bandwidth")] == [None] * 4, limits


def every_member_is_documented(folder):
    with open(os.path.join(SOURCE, "docs", "report-json.md"), encoding="utf-8") as f:
        page = f.read()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"```.*?```|`[^`\n]+`", page, re.S))))
    missing = {f"{path}/{name}" for path, name, _ in members(shown(folder)) if name not in words}
    assert not missing, missing


CHECKS = [times_and_bytes_are_whole, unknown_is_null_and_there, every_member_is_documented, representatives_are_laid_over_the_trace, hostile_names, same_bytes_twice, private_things_stay_out, fingerprint_is_there, no_ranges_is_a_success,
          damaged_artifacts_are_told, nothing_there_is_an_error, regions_agree_with_the_command,
          counters_are_combined_by_rule]


def main():
    print(f"1..{len(CHECKS)}")
    for i, check in enumerate(CHECKS, 1):
        with tempfile.TemporaryDirectory(prefix="lpo-report-") as top:
            folder = os.path.join(top, "run")
            os.makedirs(folder)
            problem = None
            try:
                check(folder)
            except Exception as e:
                problem = f"{type(e).__name__}: {e}"
        print(f"{'not ok' if problem else 'ok'} {i} - {check.__name__.replace('_', ' ')}")
        for line in (problem or "").splitlines()[:12]:
            print("# " + line[:400])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
