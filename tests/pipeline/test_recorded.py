#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole path of the nsys and ncu stages on tools that replay what the real ones were seen to do. Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

TOOLS = os.path.join(HERE, "tools")
NSYS = os.path.join(TOOLS, "nsight", "target-linux-x64", "nsys")
TINY = ["run.repeats=1", "run.warmup=0", "infer.max_new_tokens=2", "infer.prompt_tokens=4", "model.layers=1"]
BARE = ["pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false", "pipeline.torch_profiler.enable=false"]
NSYS_ON = [*BARE, "pipeline.native.enable=false", "pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}",
           *TINY]
# For programs of one's own, which have no model to make smaller.
NSYS_ANY = [word for word in NSYS_ON if not word.startswith("model.")]
NCU_ON = [*BARE, "pipeline.ncu.enable=true", f"pipeline.ncu.program={os.path.join(TOOLS, 'ncu')}",
          "pipeline.ncu.ncu_cli.nvtx.include=null", *TINY]
ANY = [*(word for word in NCU_ON if not word.startswith("model.")), "pipeline.native.enable=false"]


class Recorded(LpoCase):
    def environment(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": os.path.join(self.cwd, "cache"), "FAKE_NCU_CALLS": os.path.join(self.cwd, "calls")}

    def replay(self, *words: str, **env: str) -> subprocess.CompletedProcess:
        return self.lpo_run(*words, env=env)

    def regions(self, name: str) -> dict[str, int]:
        """Launches of each region of a report."""
        with open(self.path(name), encoding="utf-8") as f:
            return {r["path"]: r["launches"] for r in json.load(f)["scopes"][0]["regions"]}

    def calls(self) -> list[list[str]]:
        with open(os.path.join(self.cwd, "calls"), encoding="utf-8") as f:
            return [line.rstrip("\n").split("\t") for line in f]

    def kernel_name(self) -> str | None:
        capture = next(c for c in self.calls() if "--export" in c)
        return capture[capture.index("--kernel-name") + 1] if "--kernel-name" in capture else None

    def includes(self) -> list[str]:
        words = next(c for c in self.calls() if "--export" in c)
        return [words[i + 1] for i, w in enumerate(words) if w == "--nvtx-include"]


class Nsys(Recorded):
    def test_a_capture_is_exported_and_summarised(self) -> None:
        done = self.replay(*NSYS_ON)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("nsys/run.nsys-rep", "nsys/run.sqlite", "nsys/summary_cuda_gpu_kern_sum.csv", "nsys/cmd.txt",
                 "workload/nsys/metrics.json")
        self.assertEqual(self.stage("nsys")["notes"], [])
        wall = self.json("report.json")["wall"][0]
        self.assertEqual(wall["compute_ns"] + wall["exposed_communication_ns"] + wall["exposed_copy_ns"] + wall["idle_ns"],
                         wall["span_ns"])
        closing = done.stdout.split("where the wall time went")[1]
        self.assertIn("exposed communication", closing)
        self.assertIn("time by region", closing)

    def test_a_qdstrm_is_finished_with_the_importer(self) -> None:
        done = self.replay(*NSYS_ON, FAKE_NSYS="qdstrm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("nsys/run.nsys-rep", "nsys/run.sqlite")

    def test_every_capture_of_a_repeat_is_finished(self) -> None:
        done = self.replay(*NSYS_ON, "pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decode",
                        "pipeline.nsys.capture_range_end=repeat:3", FAKE_NSYS="qdstrm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has(*(f"nsys/run.{i}.{ending}" for i in (1, 2, 3) for ending in ("nsys-rep", "sqlite")))
        self.assertFalse([f for f in os.listdir(self.path("nsys")) if f.endswith(".qdstrm")])
        self.has(*(f"nsys/summary_cuda_gpu_kern_sum.{i}.csv" for i in (1, 2, 3)), "nsys/cmd-export.3.txt")
        self.assertEqual(self.regions("report.json"), {"A": 24, "A/A1": 12, "B": 6, "S": 6, "(outside)": 3})

    def test_calls_that_begin_later_leave_no_report_of_the_first(self) -> None:
        done = self.replay(*NSYS_ON, "pipeline.nsys.capture.range=decode", "pipeline.nsys.capture.calls=2-3", FAKE_NSYS="qdstrm")
        self.assertEqual(done.returncode, 0, done.stderr)
        reports = sorted(f for f in os.listdir(self.path("nsys")) if f.endswith((".nsys-rep", ".qdstrm", ".sqlite")))
        self.assertEqual(reports, ["run.2.nsys-rep", "run.2.sqlite", "run.3.nsys-rep", "run.3.sqlite"])
        self.assertEqual(self.stage("nsys")["notes"], ["only these calls of 'decode' were recorded: 2-3"])
        self.assertIn("only these calls of 'decode' were recorded: 2-3", self.text("report.md"))

    def test_a_time_that_the_program_did_not_reach(self) -> None:
        done = self.replay(*NSYS_ON, "pipeline.nsys.capture.after=30s", FAKE_NSYS="none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the program ended before the 30 s of pipeline.nsys.capture.after had passed", self.stage("nsys")["message"])

    def server(self, **env: str) -> subprocess.CompletedProcess:
        return self.replay(*(w for w in NSYS_ON if not w.startswith("model")), "workload=server", "workload.server.load.argv=[echo,loading]",
                           "workload.server.ready.url=null", "workload.server.ready.log=up", "pipeline.nsys.gating_nvtx=false",
                           "--", "sh", "-c", "echo up; exec sleep 100", **env)

    def test_a_server_is_recorded_under_load_alone(self) -> None:
        done = self.server(FAKE_NSYS="qdstrm")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.text("workload/nsys/stdout.log")
        self.assertRegex(out, r"up\nnsys start (lpo-[0-9a-f]{16})\nloading\nnsys stop \1\n")
        self.has("nsys/run.nsys-rep", "nsys/run.sqlite")

    def test_a_session_that_does_not_begin_is_a_note(self) -> None:
        self.server(FAKE_NSYS="refused")
        self.assertIn("nsys start failed: exit code 3", self.stage("nsys")["notes"])

    def test_summaries_hold_nothing_but_the_table(self) -> None:
        self.assertEqual(self.replay(*NSYS_ON).returncode, 0)
        with open(self.path("nsys/summary_cuda_gpu_kern_sum.csv"), encoding="utf-8") as f:
            self.assertTrue(f.readline().startswith("Time (%),"))

    def test_an_importer_that_does_not_start_is_explained(self) -> None:
        done = self.replay(*NSYS_ON, FAKE_NSYS="qdstrm", FAKE_IMPORTER="broken")
        self.assertEqual(done.returncode, 1)
        self.assertIn(".qdstrm", self.stage("nsys")["message"])

    def test_a_range_that_never_came_says_what_to_check(self) -> None:
        done = self.replay(*NSYS_ON, "pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decod", FAKE_NSYS="none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'decod' was never entered", self.stage("nsys")["message"])

    def test_a_range_that_native_saw_and_nsys_did_not_is_not_called_wrong(self) -> None:
        """the open issue of document 003: what is known is said"""
        words = [word for word in NSYS_ON if not word.startswith("pipeline.native.")]
        self.assertEqual(self.replay(*words, "pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decode", FAKE_NSYS="none").returncode, 1)
        self.assertRegex(self.stage("nsys")["message"], r"saw no range 'decode', which native recorded 1 time in this run.*gating_nvtx=false")
        self.assertNotIn("never entered", self.stage("nsys")["message"])

    def test_a_gate_on_a_range_that_native_did_not_see_is_dropped(self) -> None:
        on = [word for word in NSYS_ON if "native" not in word]
        for range_, near in (("decod", "'decode'"), ("decode@LLM", "'decode'"), ("stepp@*", "'step'")):
            with self.subTest(range_):
                done = self.replay(*on, "pipeline.nsys.gating_nvtx=true", f"pipeline.nsys.nvtx_capture='{range_}'")
                self.assertEqual(done.returncode, 0, done.stderr)
                note = next(n for n in self.stage("nsys")["notes"] if "nvtx_capture" in n)
                self.assertIn(f"pipeline.nsys.nvtx_capture={range_} was dropped", note)
                self.assertIn(near, note)
                self.assertNotIn("capture", self.text("nsys/cmd.txt"))
                self.assertEqual(done.stderr.count("was dropped"), 1, done.stderr)
                self.assertIn("was dropped", self.text("report.md"))
                shutil.rmtree(self.path())
        for range_ in ("decode", "attn", "step@*"):
            with self.subTest(range_):
                done = self.replay(*on, "pipeline.nsys.gating_nvtx=true", f"pipeline.nsys.nvtx_capture='{range_}'")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"--nvtx-capture={range_}", self.text("nsys/cmd.txt").replace("'", ""))
                self.assertNotIn("was dropped", done.stderr)
                shutil.rmtree(self.path())

    def test_any_program_is_traced_although_it_enters_no_range(self) -> None:
        on = [word for word in NSYS_ANY if "native" not in word]
        done = self.replay(*on, "pipeline.nsys.nvtx_capture=prefill", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it enters no NVTX range at all", " ".join(self.stage("nsys")["notes"]))
        self.assertNotIn("capture", self.text("nsys/cmd.txt"))

    def test_gating_off_drops_the_range_and_no_other_capture_range(self) -> None:
        for words, kept in ((["pipeline.nsys.nvtx_capture=decode"], False), (["pipeline.nsys.capture_range=cudaProfilerApi"], True)):
            with self.subTest(words):
                done = self.replay(*NSYS_ON, "pipeline.nsys.gating_nvtx=false", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual("--capture-range=cudaProfilerApi" in self.text("nsys/cmd.txt"), kept)
                self.assertNotIn("nvtx-capture", self.text("nsys/cmd.txt"))
                shutil.rmtree(self.path())

    def test_a_helper_that_went_away_is_not_the_range_s_fault(self) -> None:
        done = self.replay(*NSYS_ON, "pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decode", FAKE_NSYS="agent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lost its own helper", self.stage("nsys")["message"])

    def test_registered_strings_are_not_required_when_gated(self) -> None:
        done = self.replay(*NSYS_ANY, "pipeline.nsys.gating_nvtx=true", "pipeline.nsys.nvtx_capture=decode", "--", "sh", "-c",
                        'echo "$NSYS_NVTX_PROFILER_REGISTER_ONLY"')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("workload/nsys/stdout.log"), encoding="utf-8") as f:
            self.assertEqual(f.read().splitlines()[0], "0")

    def test_the_workload_failing_keeps_the_report(self) -> None:
        done = self.replay(*NSYS_ANY, "--", "sh", "-c", "exit 5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit code 5", self.stage("nsys")["message"])
        self.has("nsys/run.sqlite")


class Import(Recorded):
    def test_a_report_of_another_version_is_read_through_ncu(self) -> None:
        with gzip.open(os.path.join(HERE, "..", "data", "ncu", "ranges.ncu-rep.gz")) as f:
            data = bytearray(f.read())
        self.assertEqual(data[8:10], b"\x08\x07")  # the header's version, 7
        data[9] = 9
        report = os.path.join(self.cwd, "new.ncu-rep")
        with open(report, "wb") as f:
            f.write(data)
        alone = subprocess.run([LPO, "regions", report], env=os.environ | {"PATH": "/usr/bin:/bin"}, text=True, capture_output=True)
        self.assertEqual(alone.returncode, 1)
        self.assertIn("version 9", alone.stderr)
        done = subprocess.run([LPO, "regions", "--json", report], text=True, capture_output=True,
                              env=os.environ | {"PATH": TOOLS + os.pathsep + os.environ["PATH"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        scope = json.loads(done.stdout)["scopes"][0]
        self.assertEqual(scope["launches"], 12)
        self.assertIn("through ncu", done.stdout)
        self.assertNotIn("version 9", done.stdout)

    def test_the_program_is_the_one_of_the_config(self) -> None:
        with gzip.open(os.path.join(HERE, "..", "data", "ncu", "ranges.ncu-rep.gz")) as f:
            data = bytearray(f.read())
        data[9] = 9
        os.makedirs(self.path("ncu"))
        with open(self.path("ncu/run.ncu-rep"), "wb") as f:
            f.write(data)
        for program, says in (os.path.join(TOOLS, "ncu"), "through ncu"), ("/no/such/ncu", "version 9"):
            with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                f.write(f"pipeline: {{ncu: {{program: {program}}}}}\n")
            done = subprocess.run([LPO, "report", self.path("."), "--json"], text=True, capture_output=True,
                                  env=os.environ | {"PATH": "/usr/bin:/bin"})
            self.assertIn(says, done.stdout + done.stderr)


class Ncu(Recorded):
    def test_a_capture_leaves_report_and_tables(self) -> None:
        done = self.replay(*NCU_ON)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("ncu/run.ncu-rep", "ncu/raw.csv", "ncu/sections_report.txt", "ncu/sections.txt", "ncu/cmd.txt",
                 "figures/kernels_busy.svg")

    def test_what_this_ncu_does_not_have_is_dropped_with_a_note(self) -> None:
        cli = "pipeline.ncu.ncu_cli."
        for words, flag, want, said in (
                ([cli + "metrics=[dram__bytes.sum,no__such.sum]"], "--metrics", ["dram__bytes.sum"], "no__such.sum"),
                ([cli + "sections=[Occupancy,SpeedOfLigt]"], "--section", ["Occupancy"], "SpeedOfLigt is left out"),
                ([cli + "sections=[Occupancy,NoSuchSectionAtAll]"], "--section", ["Occupancy"], "NoSuchSectionAtAll is left out"),
                ([cli + "set=roofine"], "--set", [], "did you mean 'roofline'?"),
                ([cli + "set=full"], "--set", ["full"], None)):
            with self.subTest(words):
                self.assertEqual(self.replay(*ANY, *words, "--", "true").returncode, 0)
                capture = next(c for c in self.calls() if "--export" in c)
                self.assertEqual([capture[i + 1] for i, w in enumerate(capture) if w == flag], want)
                notes = [n for n in self.stage("ncu")["notes"] if "left out" in n and "flop_count" not in n and "dram__throughput" not in n]
                self.assertEqual(len(notes), said is not None, notes)
                self.assertIn(said or "", " ".join(notes))
                shutil.rmtree(self.path())
                os.remove(os.path.join(self.cwd, "calls"))

    def test_nothing_that_this_ncu_has_stops_before_the_capture(self) -> None:
        cli = "pipeline.ncu.ncu_cli."
        done = self.replay(*ANY, cli + "sections=[NoSuch]", cli + "set=null", cli + "metrics=[no__such.sum]", "--", "true")
        self.assertEqual((done.returncode, self.stage("ncu")["state"]), (1, "failed"))
        self.assertFalse([c for c in self.calls() if "--export" in c])

    def test_all_that_ncu_leaves_lies_in_the_run_folder(self) -> None:
        self.assertEqual(self.replay(*NCU_ON).returncode, 0)
        self.has("ncu/available_metrics.txt", "ncu/sets.txt")
        self.assertFalse(os.path.exists(self.path("ncu/tmp")))  # while it runs
        self.assertFalse(os.path.exists(os.path.join(self.cwd, "cache")))

    def test_no_kernels_is_tried_again_without_the_filter(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.ncu_cli.nvtx.include=decode", FAKE_NCU="no-kernels")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("ncu/cmd-rerun.txt", "ncu/rerun.ncu-rep", "ncu/raw.csv")
        with open(self.path("ncu/cmd-rerun.txt"), encoding="utf-8") as f:
            self.assertNotIn("--nvtx", f.read())

    def test_the_second_try_is_the_same_but_for_the_filter(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.nvtx.include=decode", "pipeline.ncu.ncu_cli.metrics=[dram__bytes.sum,no__such.sum]",
                        "--", "echo", "--nvtx-include", "mine", FAKE_NCU="no-kernels")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = (c for c in self.calls() if "--export" in c)
        cut = first.index("--nvtx")
        rest = [w.replace("/ncu/run", "/ncu/rerun") for w in first[:cut] + first[first.index("--force-overwrite"):]]
        self.assertEqual(second, rest)
        self.assertEqual(second[second.index("--metrics") + 1], "dram__bytes.sum")

    def test_the_second_try_drops_every_filter(self) -> None:
        # R65: NVTX, the kernels that nsys saw, a kernel name of the user's, launches to skip
        seeded = ["pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}", "pipeline.nsys.gating_nvtx=false"]
        for words in (seeded, ["pipeline.ncu.ncu_cli.kernel_name=axpy"], ["pipeline.ncu.ncu_cli.launch_skip=100"]):
            with self.subTest(words):
                done = self.replay(*ANY, *words, "pipeline.ncu.ncu_cli.nvtx.include=decode", "--", "true", FAKE_NCU="no-kernels")
                self.assertEqual(done.returncode, 0, done.stderr)
                first, second = (c for c in self.calls() if "--export" in c)
                self.assertIn("--nvtx-include", first)
                self.assertEqual("--kernel-name" in first, "launch_skip" not in words[0])
                for flag in ("--nvtx", "--nvtx-include", "--kernel-name", "--launch-skip"):
                    self.assertNotIn(flag, second)
                shutil.rmtree(self.path())
                os.remove(os.path.join(self.cwd, "calls"))

    def test_a_kernel_name_alone_is_dropped_too(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.nvtx.include=null", "pipeline.ncu.ncu_cli.kernel_name=nothing_like_it", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("ncu/cmd-rerun.txt", "ncu/rerun.ncu-rep")

    def test_without_a_filter_there_is_no_second_try(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.nvtx.include=null", "--", "true", FAKE_NCU="no-match")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("filter", self.stage("ncu")["message"])
        self.assertFalse(os.path.exists(self.path("ncu/cmd-rerun.txt")))

    def test_gating_off_means_no_filter(self) -> None:
        # R65, S3: no NVTX include and no kernel regex
        done = self.replay(*ANY, "pipeline.ncu.gating_nvtx=false", "pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}",
                           "pipeline.ncu.ncu_cli.nvtx.include=decode", "pipeline.ncu.ncu_cli.kernel_name=regex:axpy", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        capture = next(c for c in self.calls() if "--export" in c)
        for flag in ("--nvtx", "--nvtx-include", "--kernel-name"):
            self.assertNotIn(flag, capture)
        self.assertIn("kernel_name=regex:axpy is not applied", " ".join(self.stage("ncu")["notes"]))

    def test_an_exclude_that_fits_nothing_is_a_note(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.ncu_cli.nvtx.exclude=decod")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("did you mean 'decode'", " ".join(self.stage("ncu")["notes"]))

    def test_advice_is_a_note_and_no_failure(self) -> None:
        done = self.replay(*NCU_ON, FAKE_NCU="clocks")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("clocks could not be fixed", " ".join(self.stage("ncu")["notes"]))

    def test_other_failures_are_not_tried_again(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.ncu_cli.nvtx.include=decode", FAKE_NCU="permission")
        self.assertEqual((done.returncode, self.stage("ncu")["state"]), (3, "missing"))
        self.assertIn("performance counters", self.stage("ncu")["message"])
        self.assertFalse(os.path.exists(self.path("ncu/cmd-rerun.txt")))

    def test_range_replay_that_the_driver_refuses_is_explained(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.ncu_cli.replay_mode=range", FAKE_NCU="range-replay")
        self.assertEqual(done.returncode, 1)
        self.assertIn("app-range", self.stage("ncu")["message"])

    def test_representatives_are_taken_from_the_first_tokens(self) -> None:
        done = self.replay(*NCU_ON, "infer.max_new_tokens=16", "pipeline.ncu.regions.enable=true",
                        "pipeline.ncu.regions.include=[decode]", FAKE_NCU="no-kernels")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.has("ncu/cmd-rerun.txt")
        told = [n for n in self.stage("ncu")["notes"] if "4 of 16 tokens" in n]
        self.assertEqual(len(told), 1, self.stage("ncu")["notes"])  # once for two tries
        for stage, tokens in (("native", 16), ("ncu", 4)):
            with open(self.path("workload", stage, "metrics.json"), encoding="utf-8") as f:
                self.assertEqual({s["tokens"] for s in json.load(f)["samples"]}, {tokens}, stage)

    def test_what_ncu_says_before_its_log_is_reported(self) -> None:
        for mode, words in (("no-section", "a section of this name does not exist in this ncu: ncu --list-sections"),
                            ("bad-word", "ncu says: unrecognised option '--mine'")):
            with self.subTest(mode):
                done = self.replay(*ANY, "pipeline.ncu.ncu_cli.extra_args=['--section-folder=mine','--section','Mine']",
                                "--", "true", FAKE_NCU=mode)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, self.stage("ncu")["message"])
                shutil.rmtree(self.path())

    def test_sections_that_cannot_be_judged_are_ncu_s_to_judge(self) -> None:
        for words, mode in ((["pipeline.ncu.ncu_cli.sections=['regex:Speed.*']"], "ok"),
                            (["pipeline.ncu.ncu_cli.sections=[Mine]", "pipeline.ncu.ncu_cli.extra_args=['--section-folder=mine']"], "ok"),
                            (["pipeline.ncu.ncu_cli.sections=[Mine]"], "no-list")):
            with self.subTest(words, mode=mode):
                done = self.replay(*ANY, *words, "--", "true", FAKE_NCU=mode)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.has("ncu/run.ncu-rep")
                shutil.rmtree(self.path())

    def test_range_replay_is_reported_from_ncu_s_own_page(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.replay_mode=range", "pipeline.ncu.regions.enable=true",
                           "pipeline.ncu.regions.include=[plain]", "--", "true", FAKE_NCU="ranges")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("ncu/regions/report.json"), encoding="utf-8") as f:
            region = next(r for r in json.load(f)["scopes"][0]["regions"] if r["path"] == "plain")
        self.assertEqual(region["metrics"]["sm__cycles_elapsed.max"]["value"], 382024)
        self.assertEqual([k["name"] for k in region["kernels"]], ["range plain"])
        self.assertNotIn("at the kernel", self.text("report.md"))
        with open(self.path("report.md"), encoding="utf-8") as f:
            self.assertNotIn("cannot be read", f.read())
        alone = subprocess.run([LPO, "regions", self.path("ncu/run.ncu-rep")], text=True, capture_output=True,
                               env=os.environ | {"PATH": "/usr/bin:/bin"})
        self.assertIn("1 range results", alone.stdout)
        with_ncu = subprocess.run([LPO, "regions", "--json", self.path("ncu/run.ncu-rep")], text=True, capture_output=True,
                                  env=os.environ | {"PATH": TOOLS + os.pathsep + os.environ["PATH"], "FAKE_NCU": "ranges"})
        self.assertIn("range results were read through ncu", with_ncu.stdout)
        self.assertEqual(json.loads(with_ncu.stdout)["scopes"][0]["launches"], 1)

    def test_a_gate_on_a_range_that_does_not_exist_is_dropped(self) -> None:
        # R45: said on the terminal and in the report; the capture is of the whole program
        toy = next(w for w in NCU_ON if w.startswith("model."))
        for words, says in (([toy, "pipeline.ncu.ncu_cli.nvtx.include=decod"], "did you mean 'decode'"),
                            ([toy, "pipeline.ncu.ncu_cli.nvtx.include=[decod,nowhere]"], "did you mean 'decode'"),
                            (["pipeline.ncu.ncu_cli.nvtx.include='decode*'", "--", "true"], "no NVTX range")):
            with self.subTest(words):
                done = self.replay(*(w for w in NCU_ON if w != toy), *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                for text in (done.stdout + done.stderr, self.text("report.md").replace("\\", "")):
                    self.assertIn("was dropped, and ncu captures kernels of the whole program", text)
                    self.assertIn(says, text)
                self.assertEqual(self.includes(), [])
                self.has("ncu/run.ncu-rep")
                shutil.rmtree(self.path())
                os.remove(os.path.join(self.cwd, "calls"))

    def test_one_gate_of_several_that_does_not_exist_is_a_note(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.ncu_cli.nvtx.include=[decode,prefil]")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.includes(), ["decode/"])
        self.assertIn("did you mean 'prefill'", " ".join(self.stage("ncu")["notes"]))

    def test_the_kernels_that_nsys_saw_seed_the_filter(self) -> None:
        # R46: whenever there is a summary, and switchable
        for words, want in (([], "regex:^(axpy|fma_loop|square)$"), (["run.top_n_kernels=1"], "regex:^(axpy)$"),
                            (["pipeline.ncu.seed_from_nsys=false"], None),
                            (["pipeline.ncu.ncu_cli.kernel_name=mine"], "mine")):
            with self.subTest(words):
                self.replay(*ANY, "pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}", *words, "--", "true")
                self.assertEqual(self.kernel_name(), want)
                shutil.rmtree(self.path())
                os.remove(os.path.join(self.cwd, "calls"))

    def test_globs_are_the_names_that_native_saw(self) -> None:
        done = self.replay(*NCU_ON, "pipeline.ncu.ncu_cli.nvtx.include=['pre*','d*/**/at*','*/**/mlp']")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("decode/*/attn/", self.includes())
        self.assertFalse([e for e in self.includes() if e.startswith("regex:")], self.includes())

    def test_globs_that_ncu_would_pass_over_stop_before_it(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.nvtx.include=['decode_*','LLM@span']", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'decode_*' and 'LLM@span' in one capture", self.stage("ncu")["message"])
        self.assertFalse([c for c in self.calls() if "--export" in c])

    def test_two_regular_expressions_of_one_s_own_give_a_note(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.nvtx.include=['regex:^a$/','regex:^b$/']", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.includes(), ["regex:^a$/", "regex:^b$/"])
        self.assertIn("passes over the other", " ".join(self.stage("ncu")["notes"]))

    def focus(self, *words: str, trace: str = "toy.lpot") -> str | None:
        """--kernel-name of the capture, when only the two hottest kernels are asked for. The program stands in for one
        with a GPU: it leaves a trace where the collector would."""
        trace = os.path.join(HERE, "..", "data", "native", trace)
        done = self.replay(*ANY, "pipeline.ncu.top_kernels=true", "run.top_n_kernels=3", *words, "--", "sh", "-c",
                        f'[ -z "$LPO_COLLECT_DIR" ] || cp "{trace}" "$LPO_COLLECT_DIR"')
        capture = next(c for c in self.calls() if "--export" in c)
        return capture[capture.index("--kernel-name") + 1] if "--kernel-name" in capture else None

    def test_focus_on_what_native_saw(self) -> None:
        names = self.focus("pipeline.native.enable=true") or ""
        self.assertRegex(names, r"^regex:\^\(sm80_xmma_gemm_\w+\|sm80_xmma_gemm_\w+\|kernel\)\$$")
        # regions.json, the choice of kernels, the reports and the closing table share one trace; the other is the second try's
        with open(self.path("lpo.log"), encoding="utf-8") as f:
            self.assertIn(" trace files read: 2, traces attributed: 2\n", f.read())

    def test_many_launches_are_said_before_they_are_measured(self) -> None:
        for trace, words, said in (("toy.lpot", [], False), ("llama8.lpot", [], True),
                                   ("llama8.lpot", ["pipeline.ncu.sampling.mode=representative"], False),
                                   ("llama8.lpot", ["pipeline.ncu.ncu_cli.launch_count=5"], False)):
            with self.subTest(trace, words=words):
                self.focus("pipeline.native.enable=true", *words, trace=trace)
                self.assertEqual("sampling.mode=representative" in " ".join(self.stage("ncu")["notes"]), said)
                shutil.rmtree(self.path())
                os.remove(os.path.join(self.cwd, "calls"))

    def test_focus_on_what_nsys_saw(self) -> None:
        names = self.focus("pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}")
        self.assertEqual(names, "regex:^(axpy|fma_loop|square)$")

    def seed(self, *words: str) -> str | None:
        if os.path.exists(os.path.join(self.cwd, "calls")):
            os.remove(os.path.join(self.cwd, "calls"))
        self.replay(*ANY, "pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}", *words, "--", "true")
        capture = next(c for c in self.calls() if "--export" in c)
        return capture[capture.index("--kernel-name") + 1] if "--kernel-name" in capture else None

    def test_what_nsys_saw_seeds_the_kernel_filter(self) -> None:
        ungated = "pipeline.nsys.gating_nvtx=false"
        for words, want in (([], "regex:^(axpy|fma_loop|square)$"),
                            (["run.top_n_kernels=1"], "regex:^(axpy)$"),
                            (["pipeline.nsys.export_sqlite=false"], "regex:^(spin)$"),  # from the summary
                            (["pipeline.ncu.ncu_cli.kernel_name=mine"], "mine"),
                            (["pipeline.ncu.seed_from_nsys=false"], None),
                            (["pipeline.ncu.gating_nvtx=false"], None),
                            (["pipeline.ncu.sampling.mode=representative"], None),
                            (["pipeline.ncu.ncu_cli.kernel_name_base=demangled"], r"regex:\b(axpy|fma_loop|square)[<(]"),
                            (["pipeline.ncu.ncu_cli.kernel_name_base=mangled"], "regex:^(_Z4axpyPfPKffi|_Z8fma_loopPfii|_Z6squarePfi)$"),
                            (["pipeline.ncu.ncu_cli.nvtx.include=B"], "regex:^(square)$"),  # what runs in it
                            (["pipeline.ncu.ncu_cli.nvtx.include='B;A::A1'"], "regex:^(fma_loop|square)$"),
                            (["pipeline.ncu.ncu_cli.nvtx.include=elsewhere"], "regex:^(axpy|fma_loop|square)$"),
                            (["pipeline.nsys.enable=false"], None)):
            with self.subTest(words):
                self.assertEqual(self.seed(ungated, *words), want)
                notes = [n for n in self.stage("ncu")["notes"] if "pipeline.ncu.seed_from_nsys=false" in n]
                self.assertEqual(len(notes), bool(want) and want != "mine", notes)
                if "nvtx.include=B" in words[0:1]:
                    self.assertIn("in 'B' under nsys", notes[0])
                if words and "elsewhere" in words[0]:
                    self.assertIn("not of ncu's own range", notes[0])
                shutil.rmtree(self.path())

    def test_several_ranges_in_one_text(self) -> None:
        done = self.replay(*ANY, "pipeline.ncu.ncu_cli.replay_mode=range", "pipeline.ncu.ncu_cli.nvtx.include='A;B;A::A1'", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue({"A/", "B/"} <= set(self.includes()), self.includes())
        self.assertIn("A/A1/", self.includes())

    def test_load_and_warmup_are_not_captured_beside_other_regions(self) -> None:
        done = self.replay(*NCU_ON, "run.warmup=1", "pipeline.ncu.regions.enable=true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(self.includes()), ["decode/", "prefill/"])

    def test_no_focus_where_nothing_was_seen(self) -> None:
        self.assertIsNone(self.focus())


if __name__ == "__main__":
    tap.main()
