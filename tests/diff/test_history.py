#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo history and lpo diff --baseline: what is stored gives the same comparison, and trends have change points. Prints TAP."""
from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402
from traces import Program  # noqa: E402


class History(LpoCase):
    def file(self, name: str, program: Program) -> str:
        program.write(os.path.join(self.cwd, name))
        return name

    def ok(self, *words: str, want: int = 0) -> str:
        done = self.lpo(*words)
        self.assertEqual(done.returncode, want, f"{words}: {done.stdout[:500]}{done.stderr}")
        return done.stdout if want in (0, 4) else done.stderr

    def test_a_baseline_compares_as_the_run_itself(self) -> None:
        for store in ("h.sqlite", "perf/"):
            with self.subTest(store):
                a = self.file("a.json", Program().jittered(0.01, 1))
                b = self.file("b.json", Program().jittered(0.01, 2).scaled("flash_fwd_kernel", 1.3))
                self.ok("history", "add", "main", a, "--store", store)
                direct = json.loads(self.ok("diff", a, b, "--json", "--fail-over", "3%", want=4))
                stored = json.loads(self.ok("diff", "--baseline", "main", "--store", store, b, "--json", "--fail-over", "3%", want=4))
                for table in ("regions", "kernels"):
                    for x, y in zip(direct[table], stored[table], strict=True):
                        same = ("name", "path", "a", "b", "delta_ns", "significant", "kind")
                        self.assertEqual([x.get(k) for k in same if k not in "ab"], [y.get(k) for k in same if k not in "ab"])
                        self.assertEqual(x["a"]["gpu_ns"], y["a"]["gpu_ns"])
                self.assertEqual(direct["wall"]["parts"], stored["wall"]["parts"])
                self.assertEqual(direct["groups"], stored["groups"])
                self.assertEqual(direct["findings"], stored["findings"])

    def test_one_run_against_a_baseline_of_repeats(self) -> None:
        for i in range(6):
            self.ok("history", "add", "main", self.file("r.json", Program(steps=3).jittered(0.01, i)))
        slow = self.file("slow.json", Program(steps=3).jittered(0.01, 90).scaled(None, 1.05))
        out = json.loads(self.ok("diff", "--baseline", "main", slow, "--fail-over", "2%", "--json", want=4))
        self.assertEqual((out["wall"]["basis"], out["wall"]["n"]), ("runs", {"a": 6, "b": 1}))
        equal = self.file("equal.json", Program(steps=3).jittered(0.01, 91))
        self.ok("diff", "--baseline", "main", equal, "--fail-over", "0%")
        few = json.loads(self.ok("diff", "--baseline", "main", "--last", "3", equal, "--json"))
        self.assertEqual(len(few["runs"]["a"]), 3)

    def test_a_trend_has_its_change_point(self) -> None:
        factors = [1.0] * 6 + [1.1] * 5 + [1.06] * 4
        for i, factor in enumerate(factors):
            self.ok("history", "add", "main", self.file(f"r{i}.json", Program(steps=2).scaled(None, factor).jittered(0.01, i)))
        out = json.loads(self.ok("history", "trend", "main", "--json", "-o", "t.svg"))
        self.assertEqual([c["label"] for c in out["changes"]], ["r6.json", "r11.json"])
        self.assertAlmostEqual(out["changes"][0]["change"], 0.1, delta=0.02)
        self.assertEqual(len(out["values"]), len(factors))
        picture = xml.parse(os.path.join(self.cwd, "t.svg")).getroot()
        self.assertEqual(len(picture.findall(".//{*}circle")), len(factors))
        self.assertIn("r6.json", self.ok("history", "trend", "main"))
        kernel = json.loads(self.ok("history", "trend", "main", "--what", "kernel:flash*", "--json", "--last", "6"))
        self.assertEqual(len(kernel["values"]), 6)
        self.assertIn("no run of 'main' has the figure 'nothing'", self.ok("history", "trend", "main", "--what", "nothing", want=2))
        self.assertIn("did you mean 'part:idle.host'", self.ok("history", "trend", "main", "--what", "part:idle.hots", want=2))

    def test_figures_with_sparks_and_commits(self) -> None:
        for i in range(8):
            self.ok("history", "add", "main", self.file(f"r{i}.json", Program(steps=2).scaled(None, 1.2 if i > 3 else 1).jittered(0.01, i)),
                    "--commit", f"c{i}")
        out = json.loads(self.ok("history", "show", "main", "--json"))
        self.assertEqual([r["revision"] for r in out["runs"]], [f"c{i}" for i in range(8)])
        wall = next(f for f in out["figures"] if f["name"] == "wall")
        self.assertEqual([c["revision"] for c in wall["changes"]], ["c4"])
        self.assertIn("part:compute.gemm", [f["name"] for f in out["figures"]])
        text = self.ok("history", "show", "main")
        self.assertIn("▁▁▁▁████", text)
        self.assertIn("c4", self.ok("history", "trend", "main"))

    def test_numbers_of_other_programs(self) -> None:
        for name, text, figure, value in (
                ("vllm.json", '{"request_throughput": 12.5, "mean_ttft_ms": 31.2, "ttfts": [1, 2]}', "mean_ttft_ms", 31.2),
                ("latency.json", '{"avg_latency": 1.5, "percentiles": {"50": 1.4}}', "percentiles_50", 1.4),
                ("sglang.jsonl", '{"run_name": "x", "batch_size": 1, "prefill_throughput": 9.5}\n{"run_name": "x", "batch_size": 8,'
                 ' "prefill_throughput": 50.5}\n', "x batch_size=8 prefill_throughput", 50.5),
                ("aiperf.json", '{"request_throughput": {"unit": "req/s", "avg": 12.0}, "time_to_first_token": {"unit": "ms", "p99": 70.1}}',
                 "time_to_first_token_p99_ms", 70.1),
                ("appended.json", '{"max_concurrency": 8, "mean_ttft_ms": 31.5, "request_throughput": 2}\n{"max_concurrency": 16, "mean_ttft_ms": 44.5,'
                 ' "request_throughput": 3}', "max_concurrency=16 mean_ttft_ms", 44.5),  # vllm bench serve --append-result
                ("aggregates.json", '{"benchmarks": [{"name": "B_mean", "run_name": "B", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 9},'
                 ' {"name": "B_median", "run_name": "B", "run_type": "aggregate", "aggregate_name": "median", "real_time": 3.5, "time_unit": "us"}]}', "B real_time_us", 3.5),
                ("aiperf.csv", "Metric,avg,p99\nTTFT (ms),30.5,70\n\nMetric,Value\nThroughput,12\n", "TTFT (ms) avg", 30.5),
                ("sweep.csv", "batch_size,mean_ttft_ms\n1,10.5\n8,20.5\n", "batch_size=8 mean_ttft_ms", 20.5),
                ("pytest.json", '{"machine_info": {}, "commit_info": {"id": "abc"}, "benchmarks": [{"fullname": "t::a", "stats": {"median": 2,'
                 ' "data": [1, 2, 4]}}]}', "t::a s", 2),
                ("google.json", '{"benchmarks": [{"name": "B", "real_time": 3.5, "time_unit": "us"}, {"name": "B_mean", "run_type": "aggregate",'
                 ' "real_time": 9}]}', "B real_time_us", 3.5),
                ("google.csv", 'name,iterations,real_time,cpu_time,time_unit\n"B",100,3.5,3,ns\n', "B real_time_ns", 3.5)):
            with self.subTest(name):
                self.write(name, text)
                self.ok("history", "add", name, name)
                out = json.loads(self.ok("history", "show", name, "--json"))
                self.assertEqual({f["name"]: f["last"] for f in out["figures"]}[figure], value)
                self.assertEqual(out["runs"][0]["revision"], "abc" if name == "pytest.json" else None)
                self.assertEqual(json.loads(self.ok("history", "trend", name, "--what", figure, "--json"))["values"][0]["value"], value)
        self.write("asked.json", '{"input_config": {"loadgen": {"concurrency": 7}}, "time_to_first_token": {"unit": "ms", "avg": 12.0, "count": 99}}')
        self.ok("history", "add", "asked", "asked.json")
        names = [f["name"] for f in json.loads(self.ok("history", "show", "asked", "--json"))["figures"]]
        self.assertEqual(names, ["time_to_first_token_avg_ms"])  # what was asked for, and how many requests there were, is no measure
        self.write("slow.json", '{"request_throughput": 10.5, "mean_ttft_ms": 62.4}')
        out = json.loads(self.ok("diff", "vllm.json", "slow.json", "--json", "--budget", "figure:mean_ttft_ms=10%", want=4))
        self.assertIn("mean_ttft_ms", out["sentence"])
        self.ok("diff", "slow.json", "vllm.json", "--budget", "figure:*=1%")
        for text in ("{", '{"benchmarks": []}', '{"request_throughput": "x"}', '{"request_throughput": NaN}'):
            self.write("bad.json", text)
            self.ok("history", "add", "bad", "bad.json", want=1)

    def test_a_site(self) -> None:
        """A page for each name and run, and data for any two."""
        a = self.file("a.json", Program(steps=3))
        b = self.file("b.json", Program(steps=3).scaled("flash_fwd_kernel", 1.5))
        self.ok("history", "add", "main", a, b)
        self.write("bench.json", '{"request_throughput": 12.5}')
        self.ok("history", "add", "other", "bench.json")
        self.ok("history", "site", "pages")
        names = set(os.listdir(os.path.join(self.cwd, "pages")))
        self.assertLessEqual({"index.html", "data.js", "style.css", "main.html", "other.html", "run-1.html", "run-2.html", "run-3.html"}, names)
        with open(os.path.join(self.cwd, "pages", "data.js"), encoding="utf-8") as f:
            data = json.loads(f.read().removeprefix("const lpo_history = ").removesuffix(";\n"))
        self.assertEqual([(r["id"], r["name"]) for r in data["runs"]], [(1, "main"), (2, "main"), (3, "other")])
        with open(os.path.join(self.cwd, "pages", "rows", "2.js"), encoding="utf-8") as f:
            rows = dict(json.loads(f.read().removeprefix("lpo_rows(2, ").removesuffix(");\n")))
        self.assertEqual(rows["kernel:flash_fwd_kernel"], Program(steps=3).scaled("flash_fwd_kernel", 1.5).gpu_ns("flash_fwd_kernel") / 3)
        with open(os.path.join(self.cwd, "pages", "run-2.html"), encoding="utf-8") as f:
            self.assertIn("flash_fwd_kernel", f.read())

    def test_a_history_of_an_older_lpo(self) -> None:
        """Without figures and commits: they are read from the digests; a run can be added."""
        a = self.file("a.json", Program(steps=2))
        self.ok("history", "add", "main", a)
        db = sqlite3.connect(os.path.join(self.cwd, "lpo-history.sqlite"))
        digest = db.execute("SELECT digest FROM runs").fetchone()[0]
        db.close()
        db = sqlite3.connect(os.path.join(self.cwd, "old.sqlite"))
        db.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, label TEXT NOT NULL,"
                   " unix_s INTEGER NOT NULL, digest TEXT NOT NULL)")
        db.execute("INSERT INTO runs (name, label, unix_s, digest) VALUES ('main', 'a.json', 1, ?)", (digest,))
        db.commit()
        db.close()
        for runs in (1, 2):
            out = json.loads(self.ok("history", "show", "main", "--json", "--store", "old.sqlite"))
            self.assertEqual(len(out["runs"]), runs)
            self.assertGreater(out["runs"][0]["wall_ns"], 0)
            self.ok("history", "add", "main", a, "--store", "old.sqlite")

    def test_no_change_no_point(self) -> None:
        for i in range(12):
            self.ok("history", "add", "quiet", self.file("q.json", Program(steps=2).jittered(0.02, i)), "--store", "q/")
        self.assertEqual(json.loads(self.ok("history", "trend", "quiet", "--store", "q/", "--json"))["changes"], [])
        self.assertEqual(len(os.listdir(os.path.join(self.cwd, "q"))), 12)

    def test_list_and_show(self) -> None:
        a = self.file("a.json", Program(steps=2))
        self.ok("history", "add", "main", a, a)
        self.ok("history", "add", "other", a)
        names = json.loads(self.ok("history", "list", "--json"))["names"]
        self.assertEqual([(n["name"], n["runs"]) for n in names], [("main", 2), ("other", 1)])
        runs = json.loads(self.ok("history", "show", "main", "--json"))["runs"]
        self.assertEqual([r["id"] for r in runs], [1, 2])
        self.assertGreater(runs[0]["wall_ns"], 0)
        self.assertIn("other", self.ok("history", "show"))

    def test_what_is_refused(self) -> None:
        a = self.file("a.json", Program(steps=1))
        self.assertIn("there is no history", self.ok("history", "list", want=1))
        self.assertIn("usage", self.ok("history", want=2))
        self.assertIn("usage", self.ok("history", "add", "main", want=2))
        self.assertIn("cannot name", self.ok("history", "add", "../evil", a, want=2))
        self.ok("history", "add", "main", a)
        self.assertIn("no runs of the name 'mian'", self.ok("diff", "--baseline", "mian", a, want=1))
        self.assertIn("no runs of the name 'mian'", self.ok("history", "show", "mian", want=1))

    def test_a_damaged_history(self) -> None:
        a = self.file("a.json", Program(steps=1))
        self.ok("history", "add", "main", a)
        db = sqlite3.connect(os.path.join(self.cwd, "lpo-history.sqlite"))
        for text, said in (("{", "not a digest"), ('{"schema": "lpo.digest/9"}', "schema"), ("[]", "schema")):
            db.execute("UPDATE runs SET digest = ?", (text,))
            db.commit()
            self.assertIn(said, self.ok("diff", "--baseline", "main", a, want=1))
        db.execute("UPDATE runs SET digest = ?", ('{"schema": "lpo.digest/1", "kernels": [{"name": 3, "strata": 7, "parent": 99}]}',))
        db.commit()
        self.ok("diff", "--baseline", "main", a)
        with open(os.path.join(self.cwd, "bad.sqlite"), "wb") as f:
            f.write(b"not a database at all" * 100)
        self.ok("history", "list", "--store", "bad.sqlite", want=1)

    def test_many_jobs_add_at_once(self) -> None:
        """No run is lost: a number is given once."""
        a = self.file("a.json", Program(steps=1))
        for store in ("h/", "h.sqlite"):
            self.ok("history", "add", "main", a, "--store", store)
            jobs = [subprocess.Popen([LPO, "history", "add", "main", a, "--store", store], cwd=self.cwd, stdout=subprocess.PIPE,
                                     text=True) for _ in range(8)]
            said = sorted(int(job.communicate()[0].split()[1]) for job in jobs)
            self.assertEqual(said, list(range(2, 10)))
            runs = json.loads(self.ok("history", "show", "--store", store, "--json"))["runs"]
            self.assertEqual([r["id"] for r in runs], list(range(1, 10)))
        self.assertEqual(len(os.listdir(os.path.join(self.cwd, "h"))), 9)

    def test_a_folder_with_odd_names(self) -> None:
        """A number beyond what can be counted is not a run; a name cannot draw on the terminal."""
        a = self.file("a.json", Program(steps=1))
        self.ok("history", "add", "main", a, "--store", "h/")
        entry = os.path.join(self.cwd, "h", "000001-main.json")
        with open(entry, encoding="utf-8") as f:
            text = f.read()
        for name in ("9223372036854775807-main.json", "99999999999999999999-main.json", "000002-\x1b[31mred.json", "-1-main.json",
                     "7.json", "x-main.json"):
            with open(os.path.join(self.cwd, "h", name), "w", encoding="utf-8") as f:
                f.write(text)
        self.assertNotIn("\x1b", self.ok("history", "show", "--store", "h/"))
        self.assertIn("run 3 of 'main'", self.ok("history", "add", "main", a, "--store", "h/"))


if __name__ == "__main__":
    tap.main()
