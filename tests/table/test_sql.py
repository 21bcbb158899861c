#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo sql and lpo export -o x.sqlite: what the tables hold against the file itself and other commands. Prints TAP."""
from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

SOURCE = os.path.join(HERE, "..", "..")
DATA = os.path.join(SOURCE, "tests", "data")
TRACE = os.path.join(DATA, "kineto", "h200_llama8.json.gz")


def ns(text) -> int:
    """Microseconds with up to three decimals, exactly."""
    whole, _, part = str(text).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def events():
    with gzip.open(TRACE, "rt", encoding="utf-8") as f:
        return [e for e in json.load(f, parse_float=str)["traceEvents"] if e.get("ph") == "X"]


class Sql(LpoCase):
    def ask(self, query: str, path: str = TRACE):
        done = self.lpo("sql", path, query, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_gpu_operations_are_those_of_the_file(self) -> None:
        kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "memset"}
        want = sorted((kinds[e["cat"]], e["name"], ns(e["dur"])) for e in events() if e.get("cat") in kinds)
        got = sorted((r["kind"], r["name"], r["gpu_ns"]) for r in self.ask("select kind, name, gpu_ns from gpu_ops"))
        self.assertEqual(got, want)

    def test_slices_and_their_parents(self) -> None:
        slices = self.ask("select id, start_ns, end_ns, kind, thread, process, parent from slices order by id")
        self.assertEqual([s["id"] for s in slices], list(range(len(slices))))
        self.assertEqual(sum(s["kind"] == "operator" for s in slices), sum(e.get("cat") == "cpu_op" for e in events()))
        self.assertEqual(sum(s["kind"] == "call" for s in slices),
                         sum(e.get("cat") in ("cuda_runtime", "cuda_driver") for e in events()))
        inner = 0
        for s in slices:
            if s["parent"] is not None:
                p = slices[s["parent"]]
                inner += 1
                self.assertEqual((p["thread"], p["process"]), (s["thread"], s["process"]))
                self.assertTrue(p["start_ns"] <= s["start_ns"] and s["end_ns"] <= p["end_ns"], (p, s))
        self.assertGreater(inner, len(slices) // 2)

    def test_results_are_those_of_other_commands(self) -> None:
        top = json.loads(self.lpo("top", TRACE, "--json").stdout)["kernels"]
        self.assertEqual([(r["name"], r["launches"], r["gpu_ns"], r["class"]) for r in self.ask("select * from kernels")],
                         [(k["name"], k["launches"], k["gpu_ns"], k["class"]) for k in top])
        operators = json.loads(self.lpo("operators", TRACE, "--json").stdout)["operators"]
        self.assertEqual([(r["name"], r["calls"], r["gpu_ns_total"], r["flops"], r["share_of_roof"]) for r in self.ask("select * from operators")],
                         [(o["name"], o["calls"], o["gpu_ns_total"], o["flops"], o["share_of_roof"]) for o in operators])
        report = json.loads(self.lpo("report", TRACE, "--json").stdout)
        self.assertEqual(self.ask("select id, saving_ns, basis from findings"),
                         [{k: f[k] for k in ("id", "saving_ns", "basis")} for f in report["findings"]])
        wall = self.ask("select * from wall")[0]
        self.assertEqual((wall["span_ns"], wall["idle_ns"], wall["blocked_ns"]),
                         (report["wall"][0]["span_ns"], report["wall"][0]["idle_ns"], report["wall"][0]["idle"]["blocked_ns"]))
        gaps = self.ask("select cause, sum(idle_ns) as ns from gaps group by cause")
        self.assertEqual({g["cause"]: g["ns"] for g in gaps},
                         {k[:-3]: v for k, v in report["wall"][0]["idle"].items() if k.endswith("_ns") and v})
        regions = json.loads(self.lpo("regions", TRACE, "--json").stdout)["scopes"]
        self.assertEqual([(r["scope"], r["path"], r["gpu_ns_inclusive"]) for r in self.ask("select * from regions")],
                         [(s["scope"], r["path"], r["gpu_ns_inclusive"]) for s in regions for r in s["regions"]])

    def test_a_join_over_ids_is_quick_and_complete(self) -> None:
        joined = self.ask("select count(*) as n, sum(o.gpu_ns) as ns from gpu_ops o join launches l on l.id = o.launch "
                          "join slices s on s.id = l.slice")[0]
        alone = self.ask("select count(*) as n, sum(gpu_ns) as ns from gpu_ops where launch is not null")[0]
        self.assertEqual(joined, alone)

    def test_only_reading(self) -> None:
        for query in ("drop table kernels", "delete from kernels", "create table x(a)", "attach 'x' as y", "pragma user_version = 1",
                      "select 1; select 2", "", "selec", "select * from nothing", "select load_extension('x')", "vacuum into 'x'"):
            with self.subTest(query):
                done = self.lpo("sql", TRACE, query)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(os.listdir(self.cwd), [])
        self.assertEqual(self.lpo("sql", TRACE).returncode, 2)

    def test_formats(self) -> None:
        query = "select 'a,\"b' as t, 2 as i, 0.5 as r, null as n"
        rows = list(csv.reader(io.StringIO(self.lpo("sql", TRACE, query, "--csv").stdout)))
        self.assertEqual(rows, [["t", "i", "r", "n"], ["a,\"b", "2", "0.5", ""]])
        self.assertEqual(self.ask(query), [{"t": "a,\"b", "i": 2, "r": 0.5, "n": None}])
        self.assertEqual(self.ask("select 1 where 0"), [])

    def test_the_database_has_the_same_rows(self) -> None:
        path = os.path.join(self.cwd, "out.sqlite")
        self.assertEqual(self.lpo("export", TRACE, "-o", path).returncode, 0)
        db = sqlite3.connect(path)
        tables = [name for name, in db.execute("select name from sqlite_master where type = 'table'") if name != "columns"]
        self.assertIn("gpu_ops", tables)
        for name in tables:
            with self.subTest(name):
                cursor = db.execute(f"select * from {name}")
                names = [d[0] for d in cursor.description]
                self.assertEqual([dict(zip(names, r)) for r in cursor], self.ask(f"select * from {name}"))
                self.assertEqual([c for c, in db.execute('select "column" from columns where "table" = ?', [name])], names)
        db.close()
        self.assertEqual(os.listdir(self.cwd), ["out.sqlite"])

    def test_every_table_of_every_kind_of_trace(self) -> None:
        kinds = [("ncu", "ncu"), ("native", "lpot"), ("nsys", "sqlite"), ("memory", "pickle"), ("kineto", "gz")]
        listed = json.loads(self.lpo("sql", "--tables", "--json").stdout)
        names = [s["id"] for s in listed["sections"]]
        for folder, ending in kinds:
            for file in sorted(os.listdir(os.path.join(DATA, folder)))[:40]:
                path = os.path.join(DATA, folder, file)
                if not file.removesuffix(".gz").endswith(ending) and not file.endswith(ending):
                    continue
                with self.subTest(file):
                    done = self.lpo("sql", path, " union all ".join(f"select '{n}' as t, count(*) as n from {n}" for n in names), "--json")
                    self.assertIn(done.returncode, (0, 1, 2), done.stderr)  # some are broken on purpose
                    self.assertNotIn("Sanitizer", done.stderr)
                break

    def test_the_page_is_what_the_program_says(self) -> None:
        with open(os.path.join(SOURCE, "docs", "tables.md"), encoding="utf-8") as f:
            page = f.read()
        said = self.lpo("sql", "--tables", "-f", "md").stdout
        self.assertEqual(page[page.index("## "):], said[said.index("## "):])


if __name__ == "__main__":
    tap.main()
