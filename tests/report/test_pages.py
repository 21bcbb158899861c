#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages that people read, of every trace we have: how long, how wide, in which order; and the sizes and files beside them. Prints TAP."""
from __future__ import annotations

import base64
import csv
import glob
import hashlib
import html
import io
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent), str(pathlib.Path(__file__).resolve().parent)]
import perfetto_rules  # noqa: E402
import tap  # noqa: E402
from amount import some_traces  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT", os.getcwd())).resolve()
HERE, SHARED = ROOT / "tests/data", ROOT.parent / "shared/data"
MOST_LINES, MOST_ROWS = 400, 62
PAGE, COLUMN = 120, 4  # characters of a row at 948 px, and what each cell takes of it besides its text
SCREEN = 100
TREE = "h100_2gpu_fastvideo_train_before.sqlite.gz"  # emit_nvtx: 18,987 regions


def traces() -> list[str]:
    """Where the large ones are not here, the small ones are."""
    found = []
    for root in (HERE, SHARED):
        for pattern in ("kineto/*", "nsys/*.sqlite*", "ncu/*.ncu-rep*", "ncu/*raw.csv*", "native/*.lpot*", "pm/*.lpot.gz", "hostile/[!dR]*", "traces/kineto/*",
                        "traces/nsys/*", "traces/nsys_stats/*", "traces/ncu_csv/dsocr_kernel_0003"):
            found += glob.glob(str(root / pattern))
    return some_traces(sorted(found))


def shown(cell: str) -> str:
    return re.sub(r"\\([\\`*\[\]|~$_])", r"\1", html.unescape(cell.strip()).replace("\u2003", "  "))


def tables(text: str) -> list[list[list[str]]]:
    found, rows = [], []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            rows.append([shown(c) for c in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            found.append([rows[0], *rows[2:]])
            rows = []
    return found


class Pages(LpoCase):
    def test_policy(self) -> None:
        """the one script of the page is allowed by its hash, and no other"""
        done = self.lpo("report", str(HERE / "native" / "toy.lpot"), "-o", "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = pathlib.Path(self.path("report.html")).read_text()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self.assertEqual(rules["script-src"], f"'sha256-{digest}'")
        self.assertEqual(rules["default-src"], "'none'")

    def of(self, *words: str) -> str:
        done = self.lpo("report", *words, "-o", "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.raw("report.md")

    def raw(self, name: str) -> str:
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def fits(self, text: str, name: str) -> None:
        ncu = name.endswith("kernels.md") and any({"SM", "Regs"} & set(rows[0]) for rows in tables(text))
        for rows in tables(text):
            width = sum(max(len(r[c]) for r in rows) for c in range(len(rows[0]))) + COLUMN * len(rows[0])
            self.assertLessEqual(width, 160 if ncu else PAGE, f"{name}: {rows[0]}")

    def tree(self) -> str:
        path = SHARED / "traces/nsys" / TREE
        if not path.exists():
            self.skipTest(f"{TREE} is not here")
        return str(path)

    def test_every_trace_has_a_page_that_is_short_and_narrow(self) -> None:
        self.assertGreater(len(traces()), 20)
        for trace in traces():
            text = self.of(trace)
            self.assertLessEqual(text.count("\n"), MOST_LINES, trace)
            self.cuts_what_does_not_matter(text, trace)
            pages = {*re.findall(r"\]\(((?:details/)?[a-z0-9_-]+\.md)\)", text), "report.md"}
            for page in pages:  # what is linked is there
                self.fits(self.raw(page), f"{trace} {page}")

    def cuts_what_does_not_matter(self, text: str, trace: str) -> None:
        self.assertLessEqual(max(map(len, tables(text)), default=0), MOST_ROWS + 1, trace)
        for shown_rows, rest in re.findall(r"(?m)^(\d+) of [\d,]+ rows; the others are (?:below )?([\d.]+)", text):
            self.assertTrue(float(rest) <= 1 or int(shown_rows) >= MOST_ROWS - 2, trace)
        for least, heading in ((20, "Time by region"), (15, "Most expensive kernels"), (10, "Most expensive operators")):
            chapter = re.search(rf"(?ms)^## {heading}\n(.*?)(?=^## |\Z)", text)
            first = chapter and re.search(r"(?m)(?:^\|.*\n)+\n?(.*)", chapter.group(1))
            cut = first and re.match(r"(\d+) of [\d,]+ rows", first.group(1))
            self.assertTrue(not cut or int(cut.group(1)) >= least, (trace, heading))

    def test_a_run_folder_has_a_short_page(self) -> None:
        self.assertEqual(self.lpo_run("-q").returncode, 0)
        text = self.raw("report.md")
        self.assertLessEqual(text.count("\n"), MOST_LINES)
        self.fits(text, "run")

    def test_the_order_of_chapters(self) -> None:
        text = self.of(str(HERE / "kineto/mi250_train.json.gz"))
        order = ["What to do first", "What ran", "Where the wall time went", "Time by region", "Most expensive kernels", "Most expensive operators",
                 "Steps", "What these numbers cover"]
        self.assertEqual([line[3:] for line in text.split("\n") if line.startswith("## ") and line[3:] in order], order)

    def test_numbers_do_not_part_from_their_units(self) -> None:
        text = self.of(str(HERE / "kineto/mi250_train.json.gz"))
        self.assertRegex(text, "[0-9]\u00a0ms")
        self.assertNotRegex(text, r"[0-9] (ns|us|ms|s|%|KiB|MiB|GiB)\b")

    def test_operators_lose_the_numbers_of_emit_nvtx_and_fold(self) -> None:
        ranges = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 8} for i, name in
                  enumerate(["aten::to, seq = 1, op_id = 2", "aten::to, op_id = 3", "aten::to, seq = 4, op_id = 5", "seq = 7", "a, seq = x"])]
        gpu = []
        for i in range(5):
            args = {"correlation": i + 1, "device": 0, "stream": 7}
            gpu += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10 * i + 1, "dur": 1, "args": args},
                    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i + 3, "dur": 1, "args": args}]
        trace = os.path.join(self.cwd, "t.json")
        with open(trace, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": ranges + gpu}, f)
        rows = next(t for t in tables(self.of(trace)) if t[0][0] == "Region")
        self.assertEqual(sorted((r[0], r[1]) for r in rows[1:]), [("a, seq = x", "1"), ("aten::to", "3"), ("seq = 7", "1")])
        paths = [r["path"] for r in json.loads(self.lpo("regions", trace, "--json").stdout)["scopes"][0]["regions"]]
        self.assertIn("aten::to, seq = 4, op_id = 5", paths)  # machines have the name as it is
        whole = self.lpo("regions", trace, "--no-fold").stdout
        self.assertIn("aten::to, seq = 4, op_id = 5", whole)

    def test_gaps_name_the_frame_and_the_kernel_in_short(self) -> None:
        kernel = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"
        events = [{"ph": "X", "cat": "python_function", "name": "/srv/app/model.py(7): forward", "pid": 1, "tid": 1, "ts": 0, "dur": 3000, "args": {"Python id": 1}}]
        for i, ts in enumerate((10, 2000)):
            args = {"correlation": i + 1, "device": 0, "stream": 7}
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts, "dur": 5, "args": args},
                       {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": ts + 10, "dur": 100, "args": args}]
        trace = os.path.join(self.cwd, "t.json")
        with open(trace, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        self.of(trace)
        row = next(t for t in tables(self.raw("details/wall.md")) if t[0][-1] == "Next operation")[1]
        self.assertIn("model.py(7): forward", row)
        self.assertTrue(row[-1].startswith("add_rmsnorm_quant<"), row)
        gap = json.loads(self.raw("report.json"))["wall"][0]["longest_gaps"][0]
        self.assertEqual((gap["python"], gap["next"]), (["/srv/app/model.py(7): forward"], kernel))
        shown = self.lpo("regions", trace, "--modules").stdout.splitlines()
        self.assertTrue(any(line.startswith("model.py(7): forward  ") for line in shown), shown)
        regions = json.loads(self.lpo("regions", trace, "--modules", "--json").stdout)["scopes"][0]["regions"]
        self.assertIn("\\/srv\\/app\\/model.py(7): forward", [r["path"] for r in regions])  # machines have the whole name

    def test_steps_have_the_columns_that_say_something(self) -> None:
        def steps(name):
            events = []
            for i in range(2):
                at, args = 1000 * i, {"correlation": i + 1, "device": 0, "stream": 7}
                events += [{"ph": "X", "cat": "user_annotation", "name": name % i if "%" in name else name, "pid": 1, "tid": 1, "ts": at, "dur": 900},
                           {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": at + 5, "dur": 5, "args": args}]
                events += [{"ph": "X", "cat": "kernel", "name": k, "pid": 0, "tid": 7, "ts": at + t, "dur": 10, "args": args}
                           for k, t in (("gemm", 20), ("ncclDevKernel_AllReduce_Sum_f16_RING_LL", 40))][:1 if "execute" in name else 2]
            trace = os.path.join(self.cwd, "t.json")
            with open(trace, "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "traceEvents": events}, f)
            rows = next(t for t in tables(self.of(trace)) if "On the GPU" in t[0])
            return dict(zip(rows[0], rows[1]))

        server = steps("execute_context_0(0)_generation_4(4)")
        self.assertEqual([server[k] for k in ("Kind", "Requests", "Tokens", "Steps", "In CUDA graphs")], ["decode", "4", "8", "2", "100.0\u00a0%"])
        self.assertNotIn("Exposed communication", server)
        training = steps("iteration %d")
        self.assertEqual(training["Exposed communication"], "10\u00a0us")
        self.assertNotIn("Tokens", training)

    def test_regions_without_gpu_operations_are_left_out_and_scopes_that_differ_get_a_line(self) -> None:
        text = self.of(self.tree())
        rows = next(t for t in tables(text) if t[0][0] == "Region")
        self.assertTrue(all(r[rows[0].index("Launches")] != "0" or r[rows[0].index("Copies")] != "0\u00a0ns" for r in rows[1:]))
        self.assertNotIn("op_id", "".join(r[0] for r in rows))
        scopes = next(t for t in tables(text) if t[0][0] == "Scope")
        self.assertEqual([r[0] for r in scopes[1:]], ["process:144", "process:145", "device:0", "device:1"])
        self.assertEqual(len([t for t in tables(text) if t[0][0] == "Region"]), 1)

    def test_json_of_many_regions_is_bounded_and_adds_up(self) -> None:
        """18,987 regions of 0.3 s: the most expensive stand in report.json, `lpo regions --json` has all."""
        trace = self.tree()
        text = self.lpo("report", trace, "--json").stdout
        self.assertLess(len(text), 5_000_000)
        whole = {s["scope"]: s for s in json.loads(self.lpo("regions", trace, "--json").stdout)["scopes"]}
        scopes = json.loads(text)["scopes"]
        self.assertEqual([s["scope"] for s in scopes], list(whole))
        self.assertEqual({s["scope"]: s.get("same_as") for s in scopes}, {"aggregate": None, "process:144": None, "process:145": None,
                                                                         "device:0": "process:144", "device:1": "process:145"})
        for scope in (s for s in scopes if "same_as" not in s):
            all_of_it = {r["path"]: r for r in whole[scope["scope"]]["regions"]}
            paths = {r["path"] for r in scope["regions"]}
            self.assertEqual([r["path"] for r in scope["regions"]], [p for p in all_of_it if p in paths])
            for region in scope["regions"]:
                self.assertEqual(region, all_of_it[region["path"]])
                self.assertTrue(region["parent"] is None or region["parent"] in paths)
            rest = scope["regions_left_out"]
            self.assertEqual(rest["regions"] + len(scope["regions"]), len(all_of_it))
            for key in ("gpu_ns_exclusive", "launches_exclusive"):
                self.assertEqual(rest[key] + sum(r[key] or 0 for r in scope["regions"]), sum(r[key] or 0 for r in all_of_it.values()))

    def test_shares_are_parts_of_one(self) -> None:
        built = json.loads(self.lpo("report", str(HERE / "kineto/mi250_train.json.gz"), "--json").stdout)
        found = 0
        for table in (i for s in built["sections"] for i in s["items"] if i["type"] == "table"):
            for key in (c["key"] for c in table["columns"] if c["type"] == "share"):
                values = [r[key] for r in table["rows"] if r[key] is not None]
                found += len(values)
                self.assertTrue(all(0 <= v <= 1 for v in values), (table["id"], key, values))
        self.assertGreater(found, 20)

    def test_csv_has_a_file_for_each_table(self) -> None:
        trace = str(HERE / "kineto/mi250_train.json.gz")
        done = self.lpo("report", trace, "-o", "run", "report.formats=[csv,json]")
        tables_of = [i for s in self.json("report.json")["sections"] for i in s["items"] if i["type"] == "table"]
        files = [line for line in done.stdout.split() if line.endswith(".csv")]
        self.assertEqual(len(files), len(tables_of))
        for name, table in zip(files, tables_of, strict=True):
            self.assertRegex(name, rf"^run/csv/{table['id']}(-\d+)?\.csv$")
            rows = list(csv.DictReader(io.StringIO(self.raw(os.path.relpath(name, "run")), newline="")))
            self.assertEqual(len(rows), len(table["rows"]))
            for ours, theirs in zip(rows, table["rows"], strict=True):
                for column in table["columns"]:
                    value = theirs[column["key"]]
                    if value is not None and column["type"] in ("ns", "count", "share"):
                        self.assertEqual(float(ours[column["key"]]), float(value))

    def test_the_timeline_follows_the_rules_of_perfetto(self) -> None:
        """Launch arrows bind to spans that are there, spans of a host thread nest, counters end at 0."""
        for trace in ("kineto/mi250_train.json.gz", "kineto/h200_llama8.json.gz", "nsys/h100_2gpu_cut.sqlite.gz", "native/torch_llama.lpot"):
            done = self.lpo("report", str(HERE / trace), "-o", "run", "report.formats=[perfetto,json]")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(perfetto_rules.breaches(self.text("timeline.perfetto.json")), [], trace)
            events = self.json("timeline.perfetto.json")["traceEvents"]
            lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
            groups = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
            self.assertEqual(len(lanes), len({tid for _, tid in lanes}))
            spans: dict = {}
            for e in (e for e in events if e["ph"] == "X"):
                start, length = round(1000 * e["ts"]), round(1000 * e["dur"])
                self.assertGreaterEqual(min(start, length), 0)
                spans.setdefault((e["pid"], e["tid"]), []).append((start, start + length))
            self.assertLessEqual(set(spans), set(lanes))
            for lane, of in spans.items():
                if not lanes[lane].endswith(("operators", "API calls")):
                    continue
                open_until: list = []
                for start, end in sorted(of, key=lambda s: (s[0], -s[1])):
                    while open_until and open_until[-1] <= start:
                        open_until.pop()
                    self.assertTrue(not open_until or end <= open_until[-1], (trace, lanes[lane], start, end))
                    open_until.append(end)
            starts = {e["id"]: e for e in events if e["ph"] == "s"}
            ends = {e["id"]: e for e in events if e["ph"] == "f"}
            self.assertEqual((len(starts), len(ends)), (sum(e["ph"] == "s" for e in events), sum(e["ph"] == "f" for e in events)))
            self.assertEqual(set(starts), set(ends))
            self.assertGreater(len(starts), 0, trace)
            begin = {lane: {start for start, _ in of} for lane, of in spans.items()}
            for flow, start in starts.items():
                end = ends[flow]
                self.assertEqual((start["name"], start["cat"], end["bp"]), (end["name"], end["cat"], "e"))
                self.assertLessEqual(start["ts"], end["ts"])
                for e, name in ((start, "API calls"), (end, "stream ")):
                    lane, ns = (e["pid"], e["tid"]), round(1000 * e["ts"])
                    self.assertIn(name, lanes[lane])
                    self.assertIn(ns, begin[lane], (trace, e))
            last: dict = {}
            for e in (e for e in events if e["ph"] == "C"):
                self.assertGreaterEqual(e["args"]["value"], 0)
                track = (e["pid"], e["name"])
                self.assertGreaterEqual(e["ts"], last.get(track, (0, 0))[0])
                last[track] = (e["ts"], e["args"]["value"])
            waiting = [value for (_, name), (_, value) in last.items() if name == "operations launched, not started"]
            self.assertTrue(waiting and not any(waiting), last)
            self.assertIn("longest gaps", lanes.values())
            found = [f for f in self.json("report.json")["findings"] if not f.get("within_noise")]
            names = [e["name"] for e in events if e["ph"] == "X" and groups[e["pid"]] == "findings of lpo"]
            self.assertEqual(len(names), len(found))
            self.assertTrue(all(n.startswith(f["title"]) for n, f in zip(names, found, strict=True)), (names, found))
            notes = [e["args"] for e in events if e["ph"] == "X" and groups[e["pid"]] == "findings of lpo"]
            self.assertEqual([n["advice"] for n in notes], [f["advice"] for f in found])
            self.assertTrue(all("could be saved" in n and "evidence 1" in n for n in notes), notes)
            if trace.startswith("kineto"):
                self.assertTrue(any(n.endswith("operators") for n in lanes.values()))

    def test_what_crosses_on_one_stream_has_a_lane_of_its_own(self) -> None:
        """Viewers drop a span that overlaps another without lying in it."""
        times = [(0, 100), (50, 100), (60, 20), (90, 100), (300, 10)]
        events = [e for i, (ts, dur) in enumerate(times) for e in (
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts - 10 + i, "dur": 1, "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": ts + 20, "dur": dur, "args": {"device": 0, "stream": 7, "correlation": i + 1}})]
        (pathlib.Path(self.cwd) / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        done = self.lpo("report", "t.json", "-o", "run", "report.formats=[perfetto]")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(perfetto_rules.breaches(self.text("timeline.perfetto.json")), [])
        events = self.json("timeline.perfetto.json")["traceEvents"]
        lanes = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        self.assertEqual({e["name"]: lanes[e["tid"]] for e in events if e["ph"] == "X" and e["name"].startswith("k")},
                         {"k0": "stream 7", "k1": "stream 7 (2)", "k2": "stream 7", "k3": "stream 7 (3)", "k4": "stream 7"})
        self.assertEqual(sorted(lanes[e["tid"]] for e in events if e["ph"] == "f"), ["stream 7"] * 3 + ["stream 7 (2)", "stream 7 (3)"])

    def test_a_breach_of_the_rules_is_seen(self) -> None:
        """The check itself: each row breaks one rule."""
        lane = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "p"}}, {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "t"}}]
        span = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 10}
        count = {"ph": "C", "name": "c", "pid": 1, "ts": 5, "args": {"value": 1}}
        flow = {"name": "l", "cat": "l", "id": 1, "pid": 1, "tid": 1}
        self.assertEqual(perfetto_rules.breaches(json.dumps({"traceEvents": [*lane, span, count]})), [])
        for more in ([{**span, "ts": 5}], [{**span, "ts": -1}], [{**span, "dur": -1}], [{**span, "tid": 2}], [{**span, "pid": "x"}], [{"ph": "Q"}], [{"ph": "X"}],
                     [{**count, "ts": 4}], [{**count, "args": {}}], [{**count, "args": {"value": "1"}}], [{**count, "pid": 2}],
                     [{**flow, "ph": "s", "ts": 1}], [{**flow, "ph": "f", "bp": "e", "ts": 1}], [{**flow, "ph": "s", "ts": 1}, {**flow, "ph": "f", "bp": "e", "ts": 30}],
                     [{"ph": "M", "name": "nobody_knows", "pid": 1, "tid": 1, "args": {}}]):
            self.assertNotEqual(perfetto_rules.breaches(json.dumps({"traceEvents": [*lane, span, count, *more]})), [], more)
        self.assertNotEqual(perfetto_rules.breaches('{"traceEvents": [NaN]}'), [])
        self.assertNotEqual(perfetto_rules.breaches('{"traceEvents": 3}'), [])

    def test_the_timeline_has_power_and_memory(self) -> None:
        shutil.copytree(HERE / "runs/h200_llama", self.run_dir)
        done = self.lpo("report", self.run_dir, "report.formats=[perfetto]")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(perfetto_rules.breaches(self.text("timeline.perfetto.json")), [])
        events = self.json("timeline.perfetto.json")["traceEvents"]
        with open(self.path("nvml/samples.csv"), encoding="utf-8") as f:
            watts = {int(s["power_mw"]) / 1000 for s in csv.DictReader(f)}
        power = [e["args"]["value"] for e in events if e["ph"] == "C" and e["name"] == "Power (W)"]
        self.assertGreater(len(power), 3)
        self.assertTrue(all(min(abs(p - w) for w in watts) < 1e-9 for p in power))
        events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 100, "dur": 50, "args": {"device": 0, "stream": 7}},
                  *({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts,
                     "args": {"Bytes": 8, "Device Type": 1, "Device Id": 0, "Total Allocated": held, "Total Reserved": 900}} for ts, held in ((10, 5), (40, 7), (120, 9)))]
        (pathlib.Path(self.cwd) / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        done = self.lpo("report", "t.json", "-o", "memory", "report.formats=[perfetto]")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (pathlib.Path(self.cwd) / "memory/timeline.perfetto.json").read_text()
        self.assertEqual(perfetto_rules.breaches(text), [])
        # what held before the first moment of the timeline stands at its start
        self.assertEqual([(e["ts"], e["args"]["value"]) for e in json.loads(text)["traceEvents"] if e["ph"] == "C" and e["name"] == "Allocated (B)"], [(0, 7), (20, 9)])

    def test_small_families_fold_too(self) -> None:
        events = []
        for i in range(4):
            events += [{"ph": "X", "cat": "user_annotation", "name": f"layer{i}", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 900},
                       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1000 * i + 10, "dur": 5, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000 * i + 20, "dur": 500, "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
        (pathlib.Path(self.cwd) / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        rows = next(t for t in tables(self.of("t.json")) if t[0][0] == "Region")
        self.assertEqual([r[0] for r in rows[1:]], ["layer*"])
        rows = next(t for t in tables(self.of("t.json", "report.fold=never")) if t[0][0] == "Region")
        self.assertEqual(sorted(r[0] for r in rows[1:]), [f"layer{i}" for i in range(4)])

    def test_operations_of_operators_have_short_names(self) -> None:
        self.of(str(HERE / "kineto/mi250_train.json.gz"))
        rows = next(t for t in tables(self.raw("operators.md")) if t[0][-1] == "GPU operation")
        self.assertGreater(len(rows), 5)
        for row in rows[1:]:
            self.assertNotRegex(row[-1], r"^void |\(anonymous namespace\)|\.kd$")
            self.assertLessEqual(len(row[-1]), 60)

    def test_terminal_tables_have_a_hundred_columns(self) -> None:
        for trace in traces():
            for words in (("regions",), ("top",)):
                done = self.lpo(*words, trace)
                for line in done.stdout.split("\n"):
                    self.assertLessEqual(len(line), SCREEN, f"{words} {trace}: {line}")


if __name__ == "__main__":
    tap.main()
