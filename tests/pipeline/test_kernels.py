#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo kernels: its plans as text, and the whole path on a tool that replays what ncu was seen to do. Prints TAP."""
from __future__ import annotations

import csv
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

NCU = os.path.join(HERE, "tools", "ncu")
TRACE = os.path.join(HERE, "..", "data", "nsys", "h200_ranges.sqlite.gz")
SECTIONS = ["SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "SchedulerStats"]
ECHO = ["--", "/bin/echo", "hello world"]
DEFAULT = ("ncu --config-file off --target-processes all --replay-mode kernel --kernel-name 'regex:flash_fwd.*' "
           "--launch-count 1 --clock-control none " + " ".join(f"--section {s}" for s in SECTIONS) +
           " --force-overwrite --log-file ")

# name, words before the program, what must stand in the plan, what must not
PLANS = [
    ("defaults are the preset's sections", ["-k", "flash_fwd.*"], [DEFAULT, "/bin/echo 'hello world'"],
     ["--metrics", "--filter-mode", "--nvtx", "--launch-skip"]),
    ("a table per section", ["-k", "a"], ["--page details --print-units base --csv", *(f"--section {s} --csv" for s in
     SECTIONS)], []),
    ("a regex as ncu writes it", ["-k", "regex:gemm"], ["regex:gemm "], ["regex:regex:"]),
    ("sections of one's own", ["-k", "a", "--section", "LaunchStats", "--section", "SpeedOfLight"],
     ["--section LaunchStats --section SpeedOfLight --force-overwrite"], ["Occupancy"]),
    ("a set instead of sections", ["-k", "a", "--set", "roofline"], ["--set roofline"], ["--section"]),
    ("metrics when asked", ["-k", "a", "--metrics", "dram__bytes.sum,sm__x.avg"],
     ["--metrics dram__bytes.sum,sm__x.avg"], []),
    ("launches", ["-k", "a", "--launch-skip", "7", "--launch-count", "3"], ["--launch-skip 7 --launch-count 3"], []),
    ("per launch config", ["-k", "a", "--per-config"], ["--launch-count 1", "--filter-mode per-launch-config"], []),
    ("overrides have the last word", ["-k", "a", "pipeline.ncu.ncu_cli.launch_count=4",
     "pipeline.ncu.ncu_cli.metrics=[x.sum]", "pipeline.ncu.ncu_cli.nvtx.include=decode"],
     ["--launch-count 4", "--metrics x.sum", "--nvtx --nvtx-include decode/"], []),
    ("another preset, still no metrics", ["-k", "a", "profiling/ncu@pipeline.ncu=ncu.rtx3090"], ["ncu --config-file off"],
     ["--metrics"]),
    ("several kernels, a folder each", ["-k", "a", "-k", "b.*", "-o", "out"], ["out/kernel_0001_a/ncu", "out/kernel_0002_b"],
     []),
]
WRONG = [
    ("no program", ["-k", "a"]), ("an empty program", ["-k", "a", "--"]), ("no kernel", ECHO), ("a list that is not there", ["-c", "nofile.yaml", *ECHO]),
    ("a broken regex", ["-k", "a(", *ECHO]), ("an empty regex", ["-k", "", *ECHO]),
    ("topk without a list", ["-k", "a", "--topk", "3", *ECHO]), ("topk no number", ["-c", TRACE, "--topk", "x", *ECHO]),
    ("an unknown key", ["-k", "a", "pipeline.ncu.ncu_cli.sectoins=[]", *ECHO]),
]
BAD_LISTS = ["", "kernels: []\n", "kernels: 3\n", "other: [a]\n", "kernels: [{launches: 3}]\n", "kernels: [[a]]\n",
             "kernels: [{regex: '('}]\n", "kernels: [\n"]


class Kernels(LpoCase):
    def environment(self) -> dict[str, str]:
        return {"FAKE_NCU_CALLS": self.path("calls")}

    def path(self, *parts: str) -> str:
        return os.path.join(self.cwd, *parts)  # there is no run folder

    def kernels(self, *words: str, command: str = "kernels", **env: str) -> subprocess.CompletedProcess:
        return self.lpo(command, *words, env=env)

    def summary(self) -> dict:
        with open(self.path("out", "summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def folder(self, number: int) -> str:
        return self.path("out", self.summary()["kernels"][number - 1]["folder"])

    def test_plans(self) -> None:
        for name, words, there, absent in PLANS:
            with self.subTest(name):
                done = self.kernels("--dry-run", *words, *ECHO)
                self.assertEqual(done.returncode, 0, done.stderr)
                for text in there:
                    self.assertIn(text, done.stdout)
                for text in absent:
                    self.assertNotIn(text, done.stdout)
                self.assertEqual(os.listdir(self.cwd), [])

    def test_wrong_usage_exits_2_before_anything_runs(self) -> None:
        for name, words in WRONG:
            with self.subTest(name):
                self.assertEqual(self.kernels("--ncu", NCU, *words).returncode, 2)
        self.assertEqual(os.listdir(self.cwd), [])

    def test_a_tool_that_is_not_here_exits_3(self) -> None:
        done = self.kernels("-k", "a", "--ncu", "no-such-ncu", *ECHO)
        self.assertEqual(done.returncode, 3)
        self.assertIn("--ncu", done.stderr)

    def test_a_kernel_leaves_report_tables_provenance_and_summary(self) -> None:
        done = self.kernels("-k", "axpy", "--ncu", NCU, "-o", "out", *ECHO)
        self.assertRegex(done.stdout, r"(?m) axpy$")  # in short; the JSON has the parameters too
        self.assertEqual(done.returncode, 0, done.stderr)
        names = set(os.listdir(self.folder(1)))
        self.assertEqual(names, {"ncu.ncu-rep", "ncu.log", "ncu.details.csv", "command.yaml", "cmd.txt", "stdout.log",
                                 "stderr.log", *(f"ncu.section_{s}.csv" for s in SECTIONS)})
        with open(os.path.join(self.folder(1), "ncu.section_SpeedOfLight.csv"), encoding="utf-8") as f:
            self.assertIn("GPU Speed Of Light Throughput", {row["Section Name"] for row in csv.DictReader(f)})
        with open(os.path.join(self.folder(1), "stdout.log"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "hello world\n")
        self.assertIn("memory", done.stdout)
        self.assertIn("| 1 | memory (DRAM) |", open(self.path("out", "summary.md"), encoding="utf-8").read())
        classes = {k["kernel"].split("(")[0]: k["class"] for k in self.summary()["kernels"][0]["launches"]}
        self.assertEqual(classes, {"axpy": "memory", "fma_loop": "compute", "square": "latency"})

    def test_provenance_says_what_was_measured_with_what(self) -> None:
        self.assertEqual(self.kernels("-k", "axpy", "--ncu", NCU, "-o", "out", *ECHO).returncode, 0)
        text = open(os.path.join(self.folder(1), "command.yaml"), encoding="utf-8").read()
        for line in ("regex: axpy", "- hello world", "version: Version 2025.3.1.0", "- SchedulerStats", "metrics: null",
                     "launch_count: 1", "outcome: done", "date: '20"):
            self.assertIn(line, text)

    def test_the_list_of_lpo_top_is_read(self) -> None:
        self.assertEqual(self.kernels(TRACE, "-o", "top.yaml", command="top").returncode, 0)
        done = self.kernels("--kernel-config", "top.yaml", "--topk", "2", "--ncu", NCU, "-o", "out", "--json", *ECHO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), self.summary())
        self.assertEqual([(k["regex"], k["folder"], k["state"]) for k in self.summary()["kernels"]],
                         [("^_Z4axpyPfPKffi$", "kernel_0001_axpy", "done"), ("^_Z8fma_loopPfii$", "kernel_0002_fma_loop", "done")])
        with open(os.path.join(self.folder(1), "cmd.txt"), encoding="utf-8") as f:
            self.assertIn("--kernel-name-base mangled", command := f.read())
        self.assertIn("--filter-mode per-launch-config", command)  # ncu has no flag for one grid

    def test_only_the_launch_that_was_meant_is_shown(self) -> None:
        """The tool leaves launches of three kernels, all of grid 65536 and block 256."""
        for name, row, state, kept in (
                ("the grid and block", "name: axpy, regex: axpy, grid: [65536, 1, 1], block: [256, 1, 1]", "done", 12),
                ("fewer numbers", "name: axpy, regex: axpy, grid: [65536], block: [256]", "done", 12),
                ("another grid", "name: axpy, regex: axpy, grid: [64, 1, 1], block: [256, 1, 1]", "no match", 0),
                ("another block", "name: axpy, regex: axpy, grid: [65536], block: [128]", "no match", 0),
                ("no grid", "name: axpy, regex: axpy", "done", 12)):
            with self.subTest(name):
                self.write("l.yaml", f"- {{{row}}}\n")
                done = self.kernels("-c", "l.yaml", "--ncu", NCU, "-o", "out", *ECHO)
                kernel = json.load(open(self.path(done.stderr.split("written to ")[1].strip(), "summary.json"), encoding="utf-8"))["kernels"][0]
                self.assertEqual((kernel["state"], len(kernel["launches"])), (state, kept), kernel["message"])
                self.assertEqual("grid 65536,1,1 block 256,1,1" in (kernel["message"] or ""), state == "no match")

    def test_regexes_are_compared_with_what_they_can_fit(self) -> None:
        for name, row, base in (
                ("a function", "regex: gemm.*", None), ("a template", "regex: 'gemm<.*>'", "demangled"), ("a namespace", "regex: 'ns::gemm'", "demangled"),
                ("as the name is", "{name: 'void ns::gemm<int>(int)', regex: '^void ns::gemm<int>'}", "demangled"),
                ("as the function is", "{name: 'void ns::gemm<int>(int)', regex: '^gemm$'}", None),
                ("as it says", "{name: x, regex: y, name_base: mangled}", "mangled")):
            with self.subTest(name):
                self.write("l.yaml", f"- {row if row.startswith('{') else '{' + row + '}'}\n")
                plan = self.kernels("-c", "l.yaml", "--dry-run", *ECHO).stdout
                self.assertEqual(f"--kernel-name-base {base}" in plan if base else "--kernel-name-base" not in plan, True, plan)

    def test_folders_of_the_old_script(self) -> None:
        done = self.kernels("-k", "axpy", "--old-layout", "--ncu", NCU, "-o", "out", "--extra-section", "LaunchStats", *ECHO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.summary()["kernels"][0]["folder"], "kernel_0001_" + hashlib.md5(b"axpy").hexdigest())
        with open(self.path("out", "command.yaml"), encoding="utf-8") as f:
            record = f.read()
        for line in ("kernel_source: single_regex", "kernel_regex: axpy", "- LaunchStats", "- hello world", "launch_count: 1"):
            self.assertIn(line, record)

    def test_a_folder_of_captures_is_one_report(self) -> None:
        """of lpo kernels and of the old script: every kernel once, whatever was printed beside its report"""
        for layout in ([], ["--old-layout"]):
            with self.subTest(layout):
                self.assertEqual(self.kernels("-k", "axpy", "-k", "square", *layout, "--ncu", NCU, "-o", "out", *ECHO).returncode, 0)
                for left in ("reports", "pages"):
                    done = self.lpo("report", "out", "-o", left, "--json")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    kernels = {k["name"].split("(")[0]: k for k in json.loads(done.stdout)["kernels"]}
                    self.assertEqual({name: k["launches"] for name, k in kernels.items()}, {"axpy": 12, "fma_loop": 4, "square": 8})
                    self.assertEqual(self.lpo("report", "out", "-o", left).returncode, 0)
                    with open(self.path(left, "figures", "kernels_sm_dram.svg"), encoding="utf-8") as f:
                        picture = f.read()
                    for text in ("<title>axpy</title>", "memory bound", "compute bound", ">SM, % of peak<"):
                        self.assertIn(text, picture)
                    if left == "reports":  # pages of these sections tell no FLOPs
                        with open(self.path(left, "figures", "kernels_roofline.svg"), encoding="utf-8") as f:
                            self.assertIn("<title>fma_loop</title>", f.read())
                    with open(self.path(left, "kernels.md"), encoding="utf-8") as f:
                        self.assertNotIn("4.295 G", f.read())  # registers that a page does not tell
                    for number in (1, 2) if left == "reports" else ():  # the pages alone remain, of two processes
                        os.remove(os.path.join(self.folder(number), "ncu.ncu-rep"))
                        for page in glob.glob(os.path.join(self.folder(number), "*.csv")):
                            with open(page, encoding="utf-8") as f:
                                text = f.read()
                            with open(page, "w", encoding="utf-8") as f:
                                f.write(re.sub(r'(?m)^"(\d+)","\d+"', rf'"\1","{number}"', text))
                shutil.rmtree(self.path("out"))

    def test_a_list_with_regexes_of_demangled_names(self) -> None:
        """re.escape() of whole names, as extract-top-kernels.py of the original wrote them"""
        names = ["std::enable_if<!T7, void>::type blas::gemv::kernel<int, (bool)0, (int)7, Params<const __nv_bfloat16, float>>(T13)",
                 "std::enable_if<!T7, void>::type blas::gemv::kernel<int, (bool)0, (int)6, Params<const __nv_bfloat16, float>>(T13)",
                 "void at::copy<(int)4, at::<unnamed>::cast(at::Iter &)::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2)"]
        rows = [f"-   name: {n}\n    regex: ^{re.escape(n)}$\n    description: 'Kernel #{i}'\n" for i, n in enumerate(names)]
        lists = [(self.write("ours.yaml", "# a comment: with colons\nkernels:\n" + "".join(rows)), names)]
        theirs = os.path.join(HERE, "..", "..", "..", "shared", "data", "original", "top-10-kernels.yaml")
        if os.path.exists(theirs):
            with open(theirs, encoding="utf-8") as f:
                lists.append((theirs, re.findall(r"(?m)^-   name: (.*)$", f.read())))
        else:
            print("# the original's own list is not here: only ours is tried")
        for path, names in lists:
            with self.subTest(os.path.basename(path)):
                known = self.write("names", "\n".join(names))
                done = self.kernels("-c", path, "--ncu", NCU, "-o", "out", "--json", *ECHO, FAKE_NCU_NAMES=known)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([(k["name"], k["state"]) for k in json.loads(done.stdout)["kernels"]], [(n, "done") for n in names])
                for kernel in json.loads(done.stdout)["kernels"]:
                    self.assertEqual([n for n in names if re.search(kernel["regex"], n)], [kernel["name"]])
                shutil.rmtree(self.path("out"))

    def test_lists_in_other_shapes(self) -> None:
        self.write("l.yaml", "- square\n- square\n- name: 'void ns::axpy<int>(float*)'\n- {name: x, regex: '^axpy$'}\n")
        done = self.kernels("-c", "l.yaml", "--ncu", NCU, "-o", "out", *ECHO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([k["regex"] for k in self.summary()["kernels"]], ["square", r"(^| )ns::axpy<int ?>( ?\(|$)", "^axpy$"])

    def test_lists_that_are_none_are_refused(self) -> None:
        for text in BAD_LISTS:
            with self.subTest(text.strip() or "empty"):
                done = self.kernels("-c", self.write("bad.yaml", text), "--ncu", NCU, "-o", "out", *ECHO)
                self.assertEqual(done.returncode, 2)
                self.assertIn("bad.yaml", done.stderr)
                self.assertFalse(os.path.exists(self.path("out")))

    def test_no_match_is_a_note_and_the_others_go_on(self) -> None:
        done = self.kernels("-k", "nothing_like_it", "-k", "square", "--ncu", NCU, "-o", "out", *ECHO)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = self.summary()["kernels"]
        self.assertEqual((first["state"], second["state"]), ("no match", "done"))
        self.assertIn("no launch matched 'nothing_like_it'", done.stdout)

    def test_nothing_matched_at_all_exits_1(self) -> None:
        done = self.kernels("-k", "nothing_like_it", "--ncu", NCU, "-o", "out", *ECHO)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.summary()["kernels"][0]["launches"], [])

    def test_a_missing_permission_exits_3_and_stops(self) -> None:
        done = self.kernels("-k", "axpy", "-k", "square", "--ncu", NCU, "-o", "out", *ECHO, FAKE_NCU="permission")
        self.assertEqual(done.returncode, 3)
        self.assertIn("performance counters", done.stdout)
        self.assertEqual([k["state"] for k in self.summary()["kernels"]], ["failed", "not tried"])

    def test_a_program_that_fails_keeps_what_was_measured(self) -> None:
        done = self.kernels("-k", "axpy", "--ncu", NCU, "-o", "out", "--", "sh", "-c", "exit 5")
        self.assertEqual(done.returncode, 1)
        kernel = self.summary()["kernels"][0]
        self.assertEqual(kernel["state"], "failed")
        self.assertIn("failed under the profiler", kernel["message"])
        self.assertTrue(kernel["launches"])

    def test_a_second_call_does_not_touch_the_first(self) -> None:
        for _ in range(2):
            self.assertEqual(self.kernels("-k", "axpy", "--ncu", NCU, "-o", "out", *ECHO).returncode, 0)
        self.assertTrue(os.path.exists(self.path("out-2", "summary.json")))

    def test_hostile_names_stay_inside_the_folder(self) -> None:
        self.write("l.yaml", "- {name: '../../etc/x', regex: axpy}\n- {name: '\"\\n|<b>', regex: square}\n")
        done = self.kernels("-c", "l.yaml", "--ncu", NCU, "-o", "out", *ECHO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.cwd)), ["calls", "l.yaml", "out"])
        folders = [name for name in os.listdir(self.path("out")) if name != ".lpo-lock"]
        self.assertEqual(len(folders), 4)


if __name__ == "__main__":
    tap.main()
