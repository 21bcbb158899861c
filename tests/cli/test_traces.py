#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo regions and lpo top as people call them: whole outputs, exit codes, other formats. Prints TAP.

Each row is a command line over tests/data; what it prints must equal tests/cli/golden/<name>. Run with
--write to make the golden files again, and read the difference before committing it.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
LPO = os.environ["LPO_BIN"]
GOLDEN = os.path.join(SOURCE, "tests", "cli", "golden")
NSYS = "tests/data/nsys/h200_ranges.sqlite.gz"
TWO = "tests/data/nsys/h100_2gpu_cut.sqlite.gz"
KINETO = "tests/data/kineto/mi250_train.json.gz"
TRAIN = "tests/data/kineto/h200_train_checkpoint.json.gz"
NCU = "tests/data/ncu/ranges_raw.csv.gz"

# name, words, exit code
ROWS = [
    ("regions-nsys", ["regions", NSYS], 0),
    ("regions-kineto", ["regions", KINETO], 0),
    ("regions-adopt-off", ["regions", KINETO, "--adopt", "off"], 0),
    ("regions-adopt-word", ["regions", KINETO, "--adopt", "all"], 2),
    ("regions-backward", ["regions", TRAIN, "--backward", "--modules", "-n", "12"], 0),
    ("regions-no-modules", ["regions", KINETO, "--modules"], 2),
    ("regions-ncu", ["regions", NCU], 0),
    ("regions-scopes", ["regions", TWO, "--scope", "all", "-n", "4"], 0),
    ("regions-no-fold", ["regions", TWO, "--no-fold", "-n", "5"], 0),
    ("regions-md", ["regions", NSYS, "-f", "md"], 0),
    ("regions-csv", ["regions", NSYS, "--format=csv", "--include", "A"], 0),
    ("regions-note", ["regions", NSYS, "--include", "decode*"], 0),
    ("regions-near", ["regions", NSYS, "--include", "A/A2", "--exclude", "Z"], 0),
    ("regions-untimed", ["regions", "tests/data/native/torch_llama_ncu.csv.gz", "-n", "1"], 0),
    ("regions-json", ["regions", NSYS, "--json", "--include", "A1"], 0),
    ("top-nsys", ["top", NSYS], 0),
    ("top-kineto", ["top", KINETO, "-n", "3"], 0),
    ("top-json", ["top", NSYS, "--json", "--kernels", "axpy*"], 0),
    ("top-no-gpu", ["top", "tests/data/kineto/h200_llama_memory.json.gz"], 0),
    ("operators", ["operators", KINETO, "-n", "4"], 0),
    ("operators-csv", ["operators", KINETO, "-n", "2", "-f", "csv"], 0),
    ("operators-none", ["operators", NSYS], 1),
    ("operators-rule", ["operators", KINETO, "--rule", "aten::none=my*"], 2),
    ("no-file", ["regions"], 2),
    ("absent-file", ["top", "nothing.json"], 1),
    ("a-folder", ["regions", "docs/man"], 1),
    ("a-folder-of-traces", ["top", "tests/data/nsys", "-n", "3"], 0),
    ("bad-pattern", ["regions", NSYS, "--include", "regex:("], 2),
    ("bad-scope", ["regions", NSYS, "--scope", "device:7"], 2),
    ("bad-writer", ["regions", NSYS, "-f", "jsn"], 2),
    ("bad-writer-far", ["regions", NSYS, "-f", "xml"], 2),
    ("no-timeline", ["top", NSYS, "-f", "perfetto"], 2),
    ("no-page", ["top", NSYS, "-f", "html"], 2),
    ("bad-count", ["top", NSYS, "-n", "many"], 2),
]


def run(words, want=0):
    done = subprocess.run([LPO, *words], cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == want, f"exit {done.returncode}, not {want}: {done.stdout[-800:]}"
    return done.stdout


def golden(name, words, code):
    path = os.path.join(GOLDEN, name)
    got = run(words, code)
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(got)
    with open(path, encoding="utf-8") as f:
        want = f.read()
    assert got == want, f"prints:\n{got}\nnot:\n{want}"


def formats_agree():
    """CSV, JSON and Markdown show the same numbers."""
    rows = list(csv.DictReader(io.StringIO(run(["top", NSYS, "-f", "csv"]))))
    kernels = json.loads(run(["top", NSYS, "--json"]))["kernels"]
    assert [(r["kernel"], int(r["gpu_ns"])) for r in rows] == [(k["name"], k["gpu_ns"]) for k in kernels]


def unknown_times_have_no_extremes():
    """No duration was collected: families of regions have no shortest and longest either."""
    text = run(["regions", "tests/data/native/torch_llama_ncu.csv.gz", "--fold-over", "1", "-f", "csv"])
    rows = list(csv.DictReader(io.StringIO(text.split("\n\n")[0].split("\n", 1)[1])))
    assert any(int(r["members"]) > 1 for r in rows), rows
    assert all(not r[k] for r in rows for k in ("min_ns", "median_ns", "max_ns", "share")), rows


def csv_shows_which_table_is_which_scope():
    """Every table under its mark, whichever way the text is taken apart; the rows are those of the scope."""
    path = "tests/data/native/llama8.lpot"
    want = {s["scope"]: s["gpu_ns"] for s in json.loads(run(["regions", path, "--json"]))["scopes"]}
    text, found, at = run(["regions", path, "-s", "all", "-f", "csv"]), {}, ""
    for row in csv.reader(io.StringIO(text)):
        if len(row) == 1:
            at = row[0]
        elif row[:1] == ["all"] and at.startswith("# regions/coverage "):
            found[at.split(" ", 2)[2]] = int(row[2])
    assert len(want) > 1 and found == want, (found, want)
    assert [l for l in text.splitlines() if l.startswith("#")] == [f"# regions/{t} {s}" for s in want for t in ("regions", "coverage")]


def forms_agree():
    """Names that hold marks, nested domains, start/end ranges, threads: native, ncu's report and ncu's page of one program.
    The capture had not found u$v, which was asked for with a backslash."""
    def launches(path):
        rows = json.loads(run(["regions", "--json", path]))["scopes"][0]["regions"]
        return {r["path"]: r["launches"] for r in rows if r["launches"]}

    native = launches("tests/data/native/forms.lpot")
    assert native.pop("(outside)") == 1 and native.pop("u$v") == 1, native
    for path in ("tests/data/ncu/forms.ncu-rep.gz", "tests/data/ncu/forms_raw.csv.gz"):
        assert launches(path) == native, (path, launches(path), native)


def perfetto_has_region_lanes():
    events = json.loads(run(["regions", NSYS, "-f", "perfetto"]))["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert "regions, level 1" in names and "regions, level 2" in names, names
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    bands = [e["name"] for e in events if e["ph"] == "X" and lanes[e["pid"], e["tid"]] == "regions, level 1"]
    assert bands == ["A", "B", "A", "B"], bands
    kernels = [e for e in events if e["ph"] == "X" and lanes[e["pid"], e["tid"]].startswith("stream")]
    assert sum(round(e["dur"] * 1000) for e in kernels if not e["name"].startswith("Mem")) == 1034302


def perfetto_has_lanes_of_other_places():
    """What a kernel belongs to besides its region: who adopted it, and where its forward ran."""
    events = json.loads(run(["regions", TRAIN, "--backward", "-f", "perfetto"]))["traceEvents"]
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    names = {lane: {e["name"] for e in events if e["ph"] == "X" and lanes[e["pid"], e["tid"]] == lane}
             for lane in lanes.values()}
    assert names["adopted by, level 2"] == {"backward"}, names
    assert names["backward of, level 3"] == {"layer0", "layer1", "layer2"}, names
    assert "adopted by, level 1" not in {e["args"]["name"] for e in json.loads(
        run(["regions", TRAIN, "--adopt", "off", "-f", "perfetto"]))["traceEvents"] if e["name"] == "thread_name"}


def yaml_feeds_kernels():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "top.yaml")
        run(["top", NSYS, "-o", path])
        with open(path, encoding="utf-8") as f:
            text = f.read()
    assert '  - name: "axpy(float *, const float *, float, int)"\n    regex: "^_Z4axpyPfPKffi$"\n    name_base: mangled\n    grid: [65536, 1, 1]\n' in text, text


def ranks_side_by_side():
    """Two files are one job; what they hold adds up."""
    one = json.loads(run(["top", NSYS, "--json"]))["kernels"]
    two = json.loads(run(["top", NSYS, NSYS, "--json"]))["kernels"]
    assert [k["launches"] * 2 for k in one] == [k["launches"] for k in two]


def one_process_in_two_files_is_noted():
    """The same file two times nests ranges in themselves; two ranks, or one process in two windows of time, do not."""
    assert "describe process 1046 at the same time" in run(["regions", NSYS, NSYS])
    assert "at the same time" not in run(["regions", NSYS])
    assert "at the same time" not in run(["regions", NSYS, "tests/data/native/toy.lpot"])


def durations_of_kernels_add_up_but_not_their_extremes():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "raw.csv")
        names = ["gpu__time_duration.sum", "gpu__time_duration.min", "gpu__time_duration.max", "gpu__time_duration.avg"]
        with open(path, "w", encoding="utf-8") as f:
            w = csv.writer(f, quoting=csv.QUOTE_ALL)
            w.writerow(["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
                        "Device", "CC", *names])
            w.writerow([""] * 11 + ["ns"] * 4)
            for i, ns in enumerate((100, 300)):
                w.writerow([i, 7, "p", "h", "k", 1, 7, "(1, 1, 1)", "(1, 1, 1)", 0, "9.0", *[ns] * 4])
        scope = json.loads(run(["regions", "--json", path]))["scopes"][0]
        found = scope["regions"][0]["metrics"]
    assert [found[n]["value"] for n in names] == [400, 100, 300, 250], found


def output_that_cannot_be_written_is_an_error():
    for words, says in ((["-h"], "No space left"), (["regions", "--json", NSYS], "cannot write all of the output")):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([LPO, *words], cwd=SOURCE, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and says in done.stderr and "Success" not in done.stderr, done.stderr


def rows_0_is_all():
    kernels = "tests/data/native/llama8.lpot"
    few, all_of_them = (run(["top", kernels, "-f", "csv", *words]).splitlines() for words in ([], ["-n", "0"]))
    assert len(few) == 21 and len(all_of_them) == 1 + len(json.loads(run(["top", kernels, "--json"]))["kernels"])
    assert run(["regions", kernels, "-n", "0"]) == run(["regions", kernels])


def a_part_of_a_graph_is_an_estimate():
    """A graph with a copy and a set: what its kernels took alone was not measured, in any form."""
    path = "fuzz/seeds/native/whole.lpot"
    text = run(["regions", path])
    assert "~" in next(line for line in text.splitlines() if line.startswith("replay")), text
    assert "~" in next(line for line in text.splitlines() if line.startswith("all ")), text
    assert ", ~" in run(["top", path]), run(["top", path])
    scope = json.loads(run(["regions", "--json", path]))["scopes"][0]
    replay = next(r for r in scope["regions"] if r["path"] == "replay")
    assert scope["launches_time_estimated"] == replay["launches_time_estimated"] == 3, scope
    whole = json.loads(run(["regions", "--json", "tests/data/native/toy_small_whole.lpot"]))["scopes"][0]
    assert "launches_time_estimated" not in next(r for r in whole["regions"] if r["path"] == "decode"), whole


def other_files_are_refused():
    assert "in a format that lpo does not know" in run(["top", "meson.build"], 1)


def only_debug_shows_our_source_lines():
    words = ["regions", NSYS, "--include", "regex:("]
    plain = run(words, 2)
    assert ".c:" not in plain, plain
    for debug in (["--debug", *words], [*words, "--debug"]):
        text = run(debug, 2)
        assert text.startswith(plain) and re.fullmatch(r"  raised at src/\S+\.c:\d+\n", text[len(plain):]), text


def without_sqlite_only_databases_cannot_be_read():
    """It is loaded when a database is opened, so that each start is short."""
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "libsqlite3.so.0"), "w") as f:
            f.write("not a library")
        env = os.environ | {"LD_LIBRARY_PATH": tmp}

        def lpo(*words):
            return subprocess.run([LPO, *words], cwd=SOURCE, env=env, capture_output=True, text=True)

        assert lpo("top", KINETO).returncode == 0
        refused = lpo("top", NSYS)
        assert refused.returncode == 1 and "SQLite cannot be loaded" in refused.stderr, refused.stderr
        assert "libsqlite3-0" in refused.stderr, refused.stderr


CHECKS = [without_sqlite_only_databases_cannot_be_read, rows_0_is_all, only_debug_shows_our_source_lines, output_that_cannot_be_written_is_an_error, other_files_are_refused, formats_agree, forms_agree, perfetto_has_region_lanes, perfetto_has_lanes_of_other_places, yaml_feeds_kernels, ranks_side_by_side,
          csv_shows_which_table_is_which_scope, unknown_times_have_no_extremes, a_part_of_a_graph_is_an_estimate, one_process_in_two_files_is_noted, durations_of_kernels_add_up_but_not_their_extremes]


def main():
    checks = [(name, lambda n=name, w=words, c=code: golden(n, w, c)) for name, words, code in ROWS]
    checks += [(check.__name__.replace("_", " "), check) for check in CHECKS]
    print(f"1..{len(checks)}")
    for i, (name, check) in enumerate(checks, 1):
        problem = None
        try:
            check()
        except Exception as e:
            problem = f"{type(e).__name__}: {e}"
        print(f"{'not ok' if problem else 'ok'} {i} - {name}")
        for line in (problem or "").splitlines()[:40]:
            print("# " + line[:300])


if __name__ == "__main__":
    main()
