#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo report over any trace: every format, folders, standard input, ranks and tools of one run, where reports go. Prints TAP."""
from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ.get("LPO_SOURCE_ROOT", os.getcwd()), "tests"))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
DATA = os.path.join(SOURCE, "tests", "data")
SHARED = os.path.join(SOURCE, "..", "shared", "data")

KINETO = os.path.join(DATA, "kineto", "h200_llama8.json.gz")
NSYS = os.path.join(DATA, "nsys", "h200_ranges.sqlite.gz")
NATIVE = os.path.join(DATA, "native", "llama8.lpot")
NCU = os.path.join(DATA, "ncu", "ranges.ncu-rep.gz")
NCU_CSV = os.path.join(DATA, "ncu", "ranges_raw.csv.gz")


def first_files(folder: str) -> list[str]:
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


class AnyTrace(LpoCase):
    def report_json(self, *words: str) -> dict:
        done = self.lpo("report", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def kernel_ns(self, *words: str) -> int:
        return sum(k["gpu_ns"] for k in self.report_json(*words)["kernels"])

    def top_ns(self, *words: str) -> int:
        done = self.lpo("top", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return sum(k["gpu_ns"] for k in json.loads(done.stdout)["kernels"])

    def files(self, folder: str) -> set[str]:
        return {os.path.relpath(os.path.join(at, name), os.path.join(self.cwd, folder))
                for at, _, names in os.walk(os.path.join(self.cwd, folder)) for name in names}

    def copy(self, path: str, name: str) -> str:
        to = os.path.join(self.cwd, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
        return to

    def test_json_of_every_format_and_no_file_is_written(self) -> None:
        for path in (KINETO, NSYS, NATIVE, NCU, NCU_CSV):
            with self.subTest(path=os.path.basename(path)):
                self.assertEqual(self.kernel_ns(path), self.top_ns(path))
                self.assertGreater(self.kernel_ns(path), 0)
        self.assertEqual(self.files("."), set())

    def test_json_of_a_run_folder_is_its_report_json(self) -> None:
        self.assertEqual(self.lpo_run("-q", "run.repeats=1").returncode, 0)
        before = self.files("run")
        done = self.lpo("report", "run", "--json")
        self.assertEqual(done.stdout, self.text("report.json"))
        self.assertEqual(self.files("run"), before)

    def test_names_decide_nothing(self) -> None:
        for path in (KINETO, NSYS, NATIVE, NCU, NCU_CSV):
            with self.subTest(path=os.path.basename(path)):
                self.assertEqual(self.kernel_ns(self.copy(path, "x.txt")), self.top_ns(path))

    def test_standard_input(self) -> None:
        with open(KINETO, "rb") as f:
            done = subprocess.run([LPO, "report", "-", "--json"], stdin=f, capture_output=True, cwd=self.cwd, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["kernels"], self.report_json(KINETO)["kernels"])

    def test_reports_lie_beside_the_files(self) -> None:
        self.copy(KINETO, "t/a.json.gz")
        done = self.lpo("report", "t/a.json.gz")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("t/lpo-report/report.md\n", done.stdout)
        made = self.files("t/lpo-report")
        self.assertLessEqual({"report.md", "report.json", "kernels.md", "operators.md", "stakeholder_summary.md"}, made)
        self.assertNotIn("ncu/regions/report.md", made)
        again = self.lpo("report", "t/a.json.gz")  # a folder of reports is lpo's own
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.files("t/lpo-report"), made)

    def test_each_report_only_where_it_has_something_to_say(self) -> None:
        done = self.lpo("report", NCU, "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.files("out")
        self.assertNotIn("operators.md", made)
        self.assertLessEqual({"kernels.md", "ncu/regions/report.md", "ncu/regions/A/report.json"}, made)

    def test_a_folder_of_traces(self) -> None:
        self.copy(KINETO, "t/deep/any.name")
        self.copy(os.path.join(DATA, "README.md"), "t/README.md")
        first = self.report_json("t")
        self.assertEqual(first["kernels"], self.report_json(KINETO)["kernels"])
        self.assertEqual(self.lpo("report", "t", "report.formats=[md,perfetto]").returncode, 0)
        self.assertIn("timeline.perfetto.json", self.files("t/lpo-report"))
        self.assertEqual(self.report_json("t"), first)  # reports that lie there are no traces
        self.copy(os.path.join(self.cwd, "t/lpo-report/timeline.perfetto.json"), "t/moved.json")
        self.assertEqual(self.report_json("t"), first)

    def test_one_capture_in_two_formats_counts_once(self) -> None:
        self.copy(NCU, "t/a.ncu-rep")
        self.copy(NCU_CSV, "t/a.csv")
        self.assertEqual(self.kernel_ns("t"), self.kernel_ns(NCU))

    def test_the_tables_of_one_ncu_capture_count_once(self) -> None:
        self.copy(NCU_CSV, "t/raw.csv.gz")
        self.copy(os.path.join(DATA, "ncu", "ranges_details.csv.gz"), "t/details.csv.gz")
        launches = [sum(k["launches"] for k in self.report_json(path)["kernels"]) for path in ("t", NCU_CSV)]
        self.assertEqual(launches[0], launches[1])

    def metrics(self, *words: str) -> dict:
        return {r["path"]: r["metrics"] for r in self.report_json(*words)["scopes"][0]["regions"]}

    def test_sections_of_one_ncu_capture_are_all_read(self) -> None:
        whole = os.path.join(DATA, "ncu", "ranges_details.csv.gz")
        with gzip.open(whole, "rt", encoding="utf-8", newline="") as f:
            lines = f.read().splitlines(keepends=True)
        head = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
        at = next(csv.reader([lines[head]])).index("Section Name")
        sections: dict[str, list[str]] = {}
        for line in lines[head + 1:]:
            sections.setdefault(next(csv.reader([line]))[at], []).append(line)
        self.assertGreater(len(sections), 2)
        for i, of in enumerate(sections.values()):
            self.write(f"t/section{i}.csv", lines[head] + "".join(of))
        self.assertEqual(self.metrics("t"), self.metrics(whole))
        self.assertEqual(self.kernel_ns("t"), self.kernel_ns(whole))
        # a table of other launches says nothing about these
        self.write("t/section0.csv", lines[head] + "".join(next(iter(sections.values()))[:-1]))
        self.assertEqual(self.kernel_ns("t"), self.kernel_ns(whole))

    def test_compressed_files_are_read_as_they_are(self) -> None:
        with gzip.open(KINETO) as f:
            plain = f.read()
        self.write("plain.json", plain.decode())
        wanted = self.report_json("plain.json")["kernels"]
        self.assertEqual(self.report_json(self.copy(KINETO, "t.json.gz"))["kernels"], wanted)
        if not shutil.which("zstd"):
            self.skipTest("zstd is not installed; .gz was read")
        subprocess.run(["zstd", "-q", "plain.json", "-o", "t.json.zst"], cwd=self.cwd, check=True)
        self.assertEqual(self.report_json("t.json.zst")["kernels"], wanted)
        done = self.lpo("report", "t.json.zst", "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({"report.md", "report.json", "report.html"}, self.files("out"))

    @unittest.skipUnless(shutil.which("nsys"), "nsys is not on PATH")
    def test_a_report_of_a_real_nsys(self) -> None:
        done = self.lpo("run", "hydra.run.dir=run", "pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false",
                        "pipeline.native.enable=false", "pipeline.torch_profiler.enable=false", "pipeline.nsys.enable=true",
                        "pipeline.nsys.trace=[nvtx,osrt]", "run.repeats=1", "run.warmup=0", "infer.max_new_tokens=3", "infer.prompt_tokens=4",
                        "model.layers=1", timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        rep = self.copy(os.path.join(self.cwd, "run/nsys/run.nsys-rep"), "t/x.nsys-rep")  # no export beside it
        regions = self.report_json(rep)["scopes"][0]["regions"]
        self.assertIn("prefill", {r["path"] for r in regions})
        self.assertEqual(regions, self.report_json("run/nsys/run.sqlite")["scopes"][0]["regions"])
        self.assertEqual(os.listdir(os.path.join(self.cwd, "t")), ["x.nsys-rep"])

    @unittest.skipUnless(os.path.isdir(os.path.join(SHARED, "traces")), "needs ../shared/data/traces")
    def test_a_folder_of_ncu_tables_has_one_launch_each(self) -> None:
        kernels = self.report_json(os.path.join(SHARED, "traces", "ncu_csv"))["kernels"]
        self.assertEqual(sum(k["launches"] for k in kernels), 10)

    def test_tools_of_one_run(self) -> None:
        both = self.report_json(os.path.join(DATA, "ncu", "llama8_one.ncu-rep.gz"), NATIVE)
        self.assertEqual(both["kernels"], self.report_json(NATIVE)["kernels"])  # native says where time goes
        self.assertIn("Hardware counters were measured", json.dumps(both))

    def test_a_memory_snapshot_is_read_with_its_trace(self) -> None:
        snapshot = os.path.join(DATA, "memory", "h200_train.pickle.gz")
        trace = os.path.join(DATA, "kineto", "h200_train_memory.json.gz")
        self.copy(trace, "both/trace.json.gz")
        self.copy(snapshot, "both/a.pickle")  # by name before the trace
        self.copy(trace, "run/torch_profiler/trace.json.gz")
        self.copy(snapshot, "run/torch_profiler/memory_snapshot.pickle")
        for words in ((trace, snapshot), (snapshot, trace), ("both",), ("run",)):
            with self.subTest(words=[os.path.basename(w) for w in words]):
                doc = self.report_json(*words)
                self.assertEqual(sorted((m["scope"], m["source"]) for m in doc["memory"]),
                                 [("device:0", "profiler"), ("device:0", "snapshot")])
                self.assertEqual(len(doc["wall"]), 1)  # of both, one GPU
                self.assertEqual(len(doc["kernels"]), len(self.report_json(trace)["kernels"]))
        self.assertEqual([m["source"] for m in self.report_json(snapshot)["memory"]], ["snapshot"])

    def test_a_pickle_that_would_run_code_is_refused(self) -> None:
        for name, data in (("global", b"\x80\x02cos\nsystem\n(X\x05\0\0\0touchtR."), ("stack", b"\x80\x04\x8c\x02os\x8c\x06system\x93.")):
            path = os.path.join(self.cwd, name + ".pickle")
            with open(path, "wb") as f:
                f.write(data)
            done = self.lpo("report", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("GLOBAL: refused: Python would run code for it", done.stderr)
            self.assertEqual(self.files(""), {"global.pickle", "stack.pickle"} & self.files(""))

    def test_regions_and_top_take_folders(self) -> None:
        self.copy(NCU, "t/a.ncu-rep")
        self.copy(NCU_CSV, "t/a.csv")
        self.copy(NATIVE, "run/native/1.lpot")
        for command in ("regions", "top"):
            for folder, file in (("t", NCU), ("run", NATIVE)):
                with self.subTest(command=command, folder=folder):
                    of_folder, of_file = self.lpo(command, folder, "--json"), self.lpo(command, file, "--json")
                    self.assertEqual(of_folder.returncode, 0, of_folder.stderr)
                    self.assertEqual(of_folder.stdout, of_file.stdout)
        self.write("none/workload/direct_inference/metrics.json", {})
        self.assertIn("holds no trace", self.lpo("top", "none").stderr)

    def facts(self, *words: str) -> dict[str, str]:
        run = next(s for s in self.report_json(*words)["sections"] if s["id"] == "run")
        return {f["key"]: f["value"] for f in run["items"] if f["type"] == "fact"}

    def test_what_ran_comes_from_the_trace(self) -> None:
        ranks = []
        for rank in (1, 0):
            with gzip.open(os.path.join(DATA, "kineto", "mi250_train.json.gz"), "rt") as f:
                trace = json.load(f)
            trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 16}
            ranks.append(self.write(f"t/{rank}.json", trace))
        for words, want in (
                ([KINETO], {"gpus": "1 x NVIDIA H200", "framework": "PyTorch"}),
                ([NCU], {"gpus": "1 x NVIDIA H200", "command": "ranges", "traces": "ranges.ncu-rep.gz (the report of Nsight Compute)"}),
                (ranks, {"ranks": "0, 1 of 16", "gpus": "2 x AMD Radeon Graphics"}),
                ([NSYS, NCU], {"traces": "h200_ranges.sqlite.gz (the report of Nsight Systems); "
                                         "ranges.ncu-rep.gz (the report of Nsight Compute)"})):
            with self.subTest(words=[os.path.basename(w) for w in words]):
                facts = self.facts(*words)
                self.assertEqual({k: facts.get(k) for k in want}, want)

    def test_durations_under_replay_are_said_to_be(self) -> None:
        self.assertEqual(self.lpo("report", NCU, "-o", "out").returncode, 0)
        for name in ("report.md", "stakeholder_summary.md"):
            with open(os.path.join(self.cwd, "out", name), encoding="utf-8") as f:
                text = f.read()
            self.assertIn("under replay", text)
            self.assertNotIn("GPU time was not recorded", text)

    def test_sums_are_no_host_times(self) -> None:
        self.write("sums.csv", "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
                               "100.0,300000,3,100000.0,100000.0,90000,110000,1.0,k\n")
        self.assertEqual(self.lpo("report", "sums.csv", "-o", "out").returncode, 0)
        with open(os.path.join(self.cwd, "out", "report.md"), encoding="utf-8") as f:
            self.assertNotIn("No GPU operations", f.read())
        with open(os.path.join(self.cwd, "out", "stakeholder_summary.md"), encoding="utf-8") as f:
            self.assertIn("the file holds sums", f.read())

    def test_a_folder_of_somebody_else_is_refused(self) -> None:
        self.copy(KINETO, "t/a.json.gz")
        done = self.lpo("report", "t/a.json.gz", "-o", "t")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not made by lpo", done.stderr)
        self.assertEqual(self.files("t"), {"a.json.gz"})

    def test_another_runs_folder_is_refused(self) -> None:
        self.assertEqual(self.lpo_run("-q", "run.repeats=1").returncode, 0)
        before = self.text("report.md")
        done = self.lpo("report", KINETO, "-o", "run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds another run", done.stderr)
        self.assertEqual(self.text("report.md"), before)
        self.assertEqual(self.lpo("report", "run", "-o", "run").returncode, 0)
        self.assertEqual(self.lpo("report", "run", "-o", "elsewhere").returncode, 0)
        with open(os.path.join(self.cwd, "elsewhere", "report.md"), "rb") as there, open(self.path("report.md"), "rb") as here:
            self.assertEqual(there.read(), here.read())

    def test_what_cannot_be_read_is_said(self) -> None:
        os.makedirs(os.path.join(self.cwd, "empty"))
        self.copy(os.path.join(DATA, "README.md"), "notes.md")
        for words, said in ((["empty"], "holds no run and no trace"), (["notes.md"], "in a format that lpo does not know"),
                            (["no-such"], "no-such"), ([KINETO, "notes.md"], "notes.md")):
            done = self.lpo("report", *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)

    def test_a_cut_trace_is_said_on_stderr(self) -> None:
        """Once, however it is asked for; what is whole has no line."""
        for path, ending, keep in ((KINETO, "json", 0.6), (NATIVE, "lpot", 0.6), (NCU_CSV, "csv.gz", 0.9)):
            with self.subTest(ending):
                with gzip.open(path) if path.endswith(".gz") and not ending.endswith(".gz") else open(path, "rb") as f:
                    data = f.read()
                with open(os.path.join(self.cwd, f"cut.{ending}"), "wb") as f:
                    f.write(data[:int(len(data) * keep)])
                for words in (["-o", f"out-{ending}"], ["--json"]):
                    done = self.lpo("report", f"cut.{ending}", *words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(f"warning: cut.{ending} is cut or damaged: ", done.stderr)
        self.assertEqual(self.lpo("report", KINETO, NSYS, NATIVE, "--json").stderr, "")

    def test_a_folder_of_runs_names_one(self) -> None:
        self.assertEqual(self.lpo_run("-q", "run.repeats=1", "hydra.run.dir=all/one").returncode, 0)
        done = self.lpo("report", "all")
        self.assertEqual(done.returncode, 2)
        self.assertIn("all/one", done.stderr)

    def nsys(self, body: str) -> dict[str, str]:
        """A stand-in for nsys in a folder that becomes PATH."""
        path = os.path.join(self.cwd, "bin", "nsys")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + body)
        os.chmod(path, 0o755)
        return {"PATH": os.path.dirname(path) + ":/usr/bin:/bin"}

    def test_nsys_reports_that_lpo_cannot_read_are_exported(self) -> None:
        with gzip.open(NSYS) as f, open(os.path.join(self.cwd, "a.sqlite"), "wb") as to:
            to.write(f.read())
        os.makedirs(os.path.join(self.cwd, "t"))
        self.write("t/run.nsys-rep", "NVIDIA Tegra Profiler Report 2031@1@1@1-0v0." + "opaque" * 10)  # of a version of tomorrow
        without = self.lpo("report", "t/run.nsys-rep", env={"PATH": self.cwd})  # a machine may have a real one
        self.assertEqual(without.returncode, 1)
        self.assertIn("cut short", without.stderr)
        env = self.nsys(f'[ "$1 $2 $3 $4" = "export --type sqlite --output" ] && cp "{self.cwd}/a.sqlite" "$5"\n')
        done = self.lpo("report", "t/run.nsys-rep", "--json", env=env | {"TMPDIR": self.cwd})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["kernels"], self.report_json(NSYS)["kernels"])
        self.assertEqual([n for n in os.listdir(self.cwd) if n.startswith("lpo-")], [])
        os.rename(os.path.join(self.cwd, "a.sqlite"), os.path.join(self.cwd, "t", "run.sqlite"))
        self.assertEqual(self.kernel_ns("t"), self.kernel_ns(NSYS))  # through the export that lies there, once

    @unittest.skipUnless(os.path.isdir(os.path.join(SHARED, "traces")), "needs ../shared/data/traces")
    def test_every_trace_of_the_shared_data(self) -> None:
        for kind in ("kineto", "nsys", "nsys_stats"):
            for path in first_files(os.path.join(SHARED, "traces", kind)):
                with self.subTest(path=os.path.basename(path)):
                    report = self.report_json(path)
                    self.assertEqual(report["schema"].split("/")[0], "lpo.report")
                    self.assertEqual(sum(k["gpu_ns"] or 0 for k in report["kernels"]), self.top_ns(path))


if __name__ == "__main__":
    tap.main()
