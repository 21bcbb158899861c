#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Region mode of the ncu stage, on tools that replay what the real ones were seen to do. Prints TAP."""
from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import tap  # noqa: E402
import test_recorded  # noqa: E402
from test_recorded import ANY, NCU_ON  # noqa: E402


class Regions(test_recorded.Recorded):
    def test_region_mode_without_a_region_profiles_nothing(self) -> None:
        # R60: success, a plain statement, and no capture
        native = "pipeline.native.enable=true"
        for words, says in ((["--", "true"], "no region is known; enable pipeline.native"),
                            ([native, "--", "true"], "the program enters no NVTX range"),
                            ([native, "pipeline.ncu.regions.include=[decode]", "--", "true"], "regions.include fits no region"),
                            ([native, "pipeline.ncu.regions.capture=separate", "--", "true"], "the program enters no NVTX range"),
                            (["pipeline.ncu.regions.capture=separate", "--", "true"], "no region is known")):
            with self.subTest(words):
                done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", *words)
                self.assertEqual((done.returncode, self.stage("ncu")["state"]), (0, "done"), done.stderr)
                self.assertIn("region mode profiled nothing", self.stage("ncu")["message"])
                for text in (self.stage("ncu")["message"], done.stdout + done.stderr, self.text("report.md").replace("\\", "")):
                    self.assertIn(says, text)
                self.assertFalse([c for c in self.calls() if "--export" in c])
                self.assertFalse(os.path.exists(self.path("ncu/regions")))
                shutil.rmtree(self.path())

    def test_without_region_mode_there_are_no_region_reports(self) -> None:
        done = self.replay(*ANY, "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("ncu/run.ncu-rep")
        self.assertFalse(os.path.exists(self.path("ncu/regions")))

    def test_patterns_for_kernels_limit_the_capture(self) -> None:
        # R59: as far as ncu can express them. What it cannot, the reports leave out
        for words, want, base in ((["include=['axpy*','sq?are(*']"], r"regex:^axpy.*$|^sq.are\(.*$", "demangled"),
                                  (["include=['regex:fma|axpy']"], "regex:(fma|axpy)", "demangled"),
                                  (["include=['[ab]xpy']"], None, "mangled"), (["exclude=['axpy*']"], None, "mangled")):
            with self.subTest(words):
                done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A]",
                                   *(f"pipeline.ncu.regions.kernels.{w}" for w in words), "--", "true")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.kernel_name(), want)
                capture = next(c for c in self.calls() if "--export" in c)
                self.assertEqual(capture[capture.index("--kernel-name-base") + 1], base)
                shutil.rmtree(self.path())
                os.remove(os.path.join(self.cwd, "calls"))

    def test_excluded_kernels_leave_the_functions_that_native_saw(self) -> None:
        self.overlaid("pipeline.ncu.regions.kernels.exclude=['*gemm*']")
        name = self.kernel_name() or ""
        self.assertTrue(name.startswith("regex:^("), name)
        self.assertNotIn("gemm", name)

    def test_region_mode_is_one_capture_over_the_regions_seen(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[prefill,'decode/**/attn']")
        self.assertEqual(done.returncode, 0, done.stderr)
        captures = [c for c in self.calls() if "--export" in c]
        self.assertEqual(len(captures), 1)
        words = captures[0]
        self.assertEqual([words[i + 1] for i, w in enumerate(words) if w == "--nvtx-include"],
                         ["prefill/", "decode/*/attn/"])
        self.assertIn("per-launch-config", words)

    def test_the_report_of_region_mode_takes_the_patterns_of_the_capture(self) -> None:
        inner, both = {"A/A1": 4}, {"A": 8, "A/A1": 4}
        everything = both | {"B": 2, "S": 2, "(outside)": 0}  # ncu's own grammar: the capture holds nothing else
        for pattern, want in (("A::A1", inner), ("A/A1", inner), ("A1", inner), ("A*", both), ("**/A1", inner), ("A/...", inner),
                              ("A/A1/", everything), ("regex:^A1$/", everything), ("nowhere", {})):
            with self.subTest(pattern):
                done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", f"pipeline.ncu.regions.include='{pattern}'", "--", "true")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.regions("ncu/regions/report.json"), want)
                shutil.rmtree(self.path())

    def rows(self, *parts: str) -> list[list[str]]:
        """A raw page without its two header lines: the kernel and the push/pop ranges of each row."""
        with open(self.path("ncu", "regions", *parts, "raw.csv"), encoding="utf-8", newline="") as f:
            names, _, *rows = csv.reader(f)
        kernel, ranges = names.index("Kernel Name"), next(i for i, n in enumerate(names) if "Push/Pop_Range" in n)
        return [[r[kernel], r[ranges]] for r in rows]

    def folder(self, path: str) -> str:
        with open(self.path("ncu/regions/report.json"), encoding="utf-8") as f:
            return next(r["folder"] for r in json.load(f)["folders"] if r["path"] == path)

    def test_each_region_has_its_rows_of_the_shared_capture(self) -> None:
        # R62: the rows that ncu wrote, those of the region alone
        done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A,B]", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        for path, count in (("A", 8), ("A/A1", 4), ("B", 2)):
            rows = self.rows(self.folder(path))
            self.assertEqual(len(rows), count, path)
            self.assertTrue(all(f":{path.split('/')[-1]}:" in ranges for _, ranges in rows), rows)
            self.has(f"ncu/regions/{self.folder(path)}/report.json", f"ncu/regions/{self.folder(path)}/report.md")
        before = {f: self.text("ncu/regions", self.folder(f), "raw.csv") for f in ("A", "B")}
        os.remove(self.path("ncu/run.ncu-rep"))  # then ncu's page is read, and the parts of it are not
        self.lpo_report()
        self.assertEqual(self.regions("ncu/regions/report.json"), {"A": 8, "A/A1": 4, "B": 2})
        self.assertEqual({f: self.text("ncu/regions", self.folder(f), "raw.csv") for f in ("A", "B")}, before)

    def test_the_rows_follow_the_patterns_for_kernels(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A]",
                           "pipeline.ncu.regions.kernels.exclude=['axpy*']", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels = {kernel.split("(")[0] for kernel, _ in self.rows("A")}
        self.assertEqual(kernels, {"fma_loop", "square"})

    def test_no_table_no_rows(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A]",
                           "pipeline.ncu.ncu_cli.export.csv=false", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("ncu/regions/A/report.json")
        self.assertFalse(os.path.exists(self.path("ncu/regions/A/raw.csv")))

    def separate(self, *words: str, **env: str):
        return self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.capture=separate", *words, **env)

    def test_one_capture_for_each_region(self) -> None:
        # R62: each with its report, its command, its tables and the files of its workload
        done = self.separate("pipeline.ncu.regions.include=[A,B]", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        captures = [c for c in self.calls() if "--export" in c]
        self.assertEqual([[c[i + 1] for i, w in enumerate(c) if w == "--nvtx-include"] for c in captures],
                         [["A/", "A"], ["B/", "B"]])
        for region in ("A", "B"):
            self.has(*(f"ncu/regions/{region}/{name}" for name in ("run.ncu-rep", "run.log", "raw.csv", "cmd.txt", "report.json",
                                                                    "report.md", "sections_report.txt")),
                     f"workload/ncu/{region}/stdout.log")
            self.assertIn(f"ncu/regions/{region}/run.ncu-rep", self.stage("ncu")["files"])
        self.assertFalse(os.path.exists(self.path("ncu/run.ncu-rep")))
        self.assertEqual([s["label"] for s in self.stage("ncu")["steps"] if s["label"].startswith("ncu, region")],
                         ["ncu, region A", "ncu, region B"])
        page = self.text("ncu/regions/A/raw.csv")
        self.assertEqual(page, self.text("ncu/regions/B/raw.csv"))  # the stand-in leaves the same for all: it is ncu's own
        self.lpo_report()
        self.assertEqual(self.text("ncu/regions/A/raw.csv"), page)
        self.assertEqual(len(self.rows(self.folder("A/A1"))), 8)  # of the two captures

    def test_a_region_inside_a_captured_one_counts_once(self) -> None:
        trace = os.path.join(HERE, "..", "data", "native", "toy.lpot")
        done = self.separate("pipeline.native.enable=true", "pipeline.ncu.sampling.mode=all",
                             "pipeline.ncu.regions.include=[/prefill,'/prefill/layer0']", "--", "sh", "-c",
                             f'[ -z "$LPO_COLLECT_DIR" ] || cp "{trace}" "$LPO_COLLECT_DIR"')
        self.assertEqual(done.returncode, 0, done.stderr)
        inner = next(f for f in os.listdir(self.path("ncu/regions")) if f.startswith("prefill_layer0"))
        self.has("ncu/regions/prefill/run.ncu-rep", f"ncu/regions/{inner}/nested.ncu-rep", f"ncu/regions/{inner}/raw.csv")
        with open(self.path("lpo.log"), encoding="utf-8") as f:
            self.assertIn(" trace files read: 2,", f.read())  # native, and the outer capture

    def test_a_region_without_kernels_is_a_note(self) -> None:
        done = self.separate("pipeline.ncu.regions.include=[A]", "--", "true", FAKE_NCU="no-kernels")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("region 'A': no kernels were profiled in it", " ".join(self.stage("ncu")["notes"]))
        self.assertFalse(os.path.exists(self.path("ncu/cmd-rerun.txt")))

    def test_one_capture_that_fails_leaves_the_others(self) -> None:
        done = self.separate("pipeline.ncu.regions.include=[A,B]", "--", "sh", "-c", 'test -e again || { touch again; exit 5; }')
        self.assertEqual((done.returncode, self.stage("ncu")["state"]), (1, "failed"))
        self.assertIn("region 'A'", self.stage("ncu")["message"])
        self.assertNotIn("region 'B'", self.stage("ncu")["message"])
        self.has("ncu/regions/B/report.json", "ncu/regions/B/raw.csv")

    def test_a_missing_permission_ends_all_captures(self) -> None:
        done = self.separate("pipeline.ncu.regions.include=[A,B]", "--", "true", FAKE_NCU="permission")
        self.assertEqual((done.returncode, self.stage("ncu")["state"]), (3, "missing"))
        self.assertEqual(sum("--export" in c for c in self.calls()), 1)

    def test_the_limit_of_time_holds_for_each_capture(self) -> None:
        done = self.separate("pipeline.ncu.regions.include=[A,B]", "pipeline.ncu.timeout=5s", "run.grace=100ms", "--", "sleep", "600")
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 of 2 captures failed", self.stage("ncu")["message"])
        self.assertEqual(sum("--export" in c for c in self.calls()), 2)

    def test_an_interrupted_capture_is_taken_up_again(self) -> None:
        program = "test -e second && exit 0; test -e first && { touch second; sleep 60; }; touch first"
        child = self.lpo_start(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.capture=separate",
                               "pipeline.ncu.regions.include=[A,B]", "run.grace=100ms", "--", "sh", "-c", program)
        self.wait_for(lambda: os.path.exists(os.path.join(self.cwd, "second")), 60)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        self.assertEqual((child.returncode, self.stage("ncu")["state"]), (130, "interrupted"))
        self.has("ncu/regions/A/run.ncu-rep")
        done = self.lpo("run", "--resume", "run")
        self.assertEqual((done.returncode, self.stage("ncu")["state"]), (0, "done"), done.stderr)
        for region in ("A", "B"):
            self.has(f"ncu/regions/{region}/run.ncu-rep", f"ncu/regions/{region}/raw.csv", f"ncu/regions/{region}/report.json")

    def test_secrets_are_hidden_in_the_files_of_each_capture(self) -> None:
        done = self.separate("pipeline.ncu.regions.include=[A]", "+workload.env.HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("HF_TOKEN", self.text("ncu/regions/A/cmd.txt"))
        for folder, _, files in os.walk(self.run_dir):
            for name in files:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(b"hf_abcdefghijklmnopqrstuvwxyz0123", f.read(), os.path.join(folder, name))

    def test_start_end_ranges_leave_out_what_is_captured_before(self) -> None:
        trace = os.path.join(HERE, "..", "data", "native", "forms.lpot")
        done = self.separate("pipeline.native.enable=true", "pipeline.ncu.regions.include=[decode_window,plain]", "--", "sh", "-c",
                             f'[ -z "$LPO_COLLECT_DIR" ] || cp "{trace}" "$LPO_COLLECT_DIR"')
        self.assertEqual(done.returncode, 0, done.stderr)
        plain, window = (c for c in self.calls() if "--export" in c)
        self.assertEqual((plain[plain.index("--nvtx-include") + 1], window[window.index("--nvtx-include") + 1]), ("plain/", "decode_window"))
        self.assertNotIn("--nvtx-exclude", plain)
        self.assertEqual(window[window.index("--nvtx-exclude") + 1], "plain/")
        self.assertIn("'decode_window' may overlap", " ".join(self.stage("ncu")["notes"]))

    def test_odd_names_of_regions(self) -> None:
        done = self.separate("pipeline.ncu.regions.include=['A B','A B','../..','a\nrm x']", "--dry-run", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        labels = [line for line in done.stdout.splitlines() if line.startswith("# ncu: ncu, region ")]
        self.assertEqual(len(labels), 3)
        self.assertIn("rm x", labels[2])  # on the same line: what is printed may be pasted
        self.assertNotIn("regions/../", done.stdout)

    def test_too_many_regions_are_shortened_with_a_note(self) -> None:
        done = self.separate(f"pipeline.ncu.regions.include=[{','.join(f'r{i}' for i in range(70))}]", "--dry-run", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("# ncu: ncu, region "), 64)

    def test_the_configured_metrics_are_shown_first(self) -> None:
        # R63: in the order of the config, before kernels and other metrics
        asked = ["sm__maximum_warps_per_active_cycle_pct", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__time_duration.sum"]
        done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A]",
                           f"pipeline.ncu.ncu_cli.metrics=[{','.join(asked)}]", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("ncu/regions/A/report.json"), encoding="utf-8") as f:
            tables = [i for s in json.load(f)["sections"] for i in s["items"] if i.get("kind") == "table" or "rows" in i]
        first = [row[0] if isinstance(row, list) else row["metric"] for row in tables[0]["rows"]][:3]
        self.assertEqual(first, asked)
        text = self.text("ncu/regions/A/report.md").replace("\\", "")
        self.assertEqual(sorted(text.index(m) for m in asked), [text.index(m) for m in asked])
        self.assertLess(text.index(asked[2]), text.index("fma_loop"))

    def test_sections_stand_as_ncu_shows_them(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A]", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("ncu/regions/A/report.json"), encoding="utf-8") as f:
            items = [i for s in json.load(f)["sections"] for i in s["items"]]
        tables = {i["id"]: i for i in items if "rows" in i}
        self.assertEqual(list(tables), ["metrics", "SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "WorkloadDistribution", "kernels"])
        rows = tables["SpeedOfLight"]["rows"]
        self.assertEqual([r["metric"] for r in rows][:3], ["Compute (SM) Throughput", "Duration", "Memory Throughput"])
        self.assertEqual(rows[0]["name"], "sm__throughput.avg.pct_of_peak_sustained_elapsed")
        self.assertTrue({"sm_share", "dram_share", "l2_share", "registers", "waves"} <= set(tables["kernels"]["rows"][0]))
        text = self.text("ncu/regions/report.md")
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("| A |")]), 2)  # regions, counters: one process
        self.assertFalse(os.path.exists(self.path("ncu/regions/outside")) or os.path.exists(self.path("ncu/regions/_outside_")))

    def overlaid(self, *words: str) -> None:
        """Region mode after native: the program leaves a trace where the collector would, and counters are laid over it."""
        trace = os.path.join(HERE, "..", "data", "native", "toy.lpot")
        done = self.replay(*ANY, "pipeline.native.enable=true", "pipeline.ncu.regions.enable=true", *words, "--", "sh", "-c",
                           f'[ -z "$LPO_COLLECT_DIR" ] || cp "{trace}" "$LPO_COLLECT_DIR"')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_patterns_hold_for_a_native_trace_with_counters(self) -> None:
        everything = {"prefill": 38, "decode": 76, "decode/step/layer0/attn": 22}
        for words, some, absent in (
                ([], everything, []),
                (["pipeline.ncu.regions.include=[step]"], {"decode/step": 76, "decode/step/layer0/mlp": 12}, ["prefill", "decode"]),
                (["pipeline.ncu.regions.include=[decode]", "pipeline.ncu.regions.exclude=[attn]"],
                 {"decode": 76, "decode/step/layer0/mlp": 12}, ["prefill", "decode/step/layer0/attn"]),
                (["pipeline.ncu.regions.include=['/prefill/layer0']"], {"prefill/layer0": 17}, ["prefill", "decode/step/layer0"]),
                (["pipeline.ncu.regions.kernels.exclude=['*']"], {"prefill": 0, "decode": 0}, [])):
            with self.subTest(words):
                self.overlaid(*words)
                regions = self.regions("ncu/regions/report.json")
                self.assertEqual({path: regions.get(path) for path in some}, some)
                self.assertFalse(set(absent) & set(regions), regions)
                # the run's own report has patterns of its own
                self.assertEqual({path: self.regions("report.json")[path] for path in everything}, everything)
                shutil.rmtree(self.path())

    def test_an_exclude_limits_the_capture(self) -> None:
        self.overlaid("pipeline.ncu.regions.include=[decode]", "pipeline.ncu.regions.exclude=['**/mlp','/prefill']")
        words = next(c for c in self.calls() if "--export" in c)
        self.assertEqual([words[i + 1] for i, w in enumerate(words) if w == "--nvtx-exclude"], ["mlp/", "prefill/"])

    def test_one_pattern_of_several_that_fits_nothing_is_a_note(self) -> None:
        self.overlaid("pipeline.ncu.regions.include=[decode,prefil]")
        self.assertEqual(self.includes(), ["decode/"])
        self.assertIn("no region fits 'prefil'; did you mean 'prefill'?", " ".join(self.stage("ncu")["notes"]))
        self.assertNotIn("prefill", self.regions("ncu/regions/report.json"))

    def test_a_region_without_kernels_is_no_pattern_that_matched_nothing(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[prefill,A,nosuch]")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.text("ncu/regions/report.md")
        self.assertIn("no kernel was measured in 'prefill'", text)
        for name in ("ncu/regions/report.md", "report.md"):
            self.assertEqual([p for p in ("prefill", "A", "nosuch") if f"pattern '{p}' matched nothing" in self.text(name)], ["nosuch"])

    def test_without_the_aggregate(self) -> None:
        self.overlaid("pipeline.ncu.regions.aggregate=false")
        for name, has in (("ncu/regions/report.json", False), ("report.json", True)):
            with open(self.path(name), encoding="utf-8") as f:
                scopes = [s["scope"] for s in json.load(f)["scopes"]]
            self.assertEqual("aggregate" in scopes, has, scopes)
        with open(self.path("ncu/regions/report.md"), encoding="utf-8") as f:
            self.assertNotRegex(f.read(), r"(?m)^#+ aggregate$")


if __name__ == "__main__":
    tap.main()
