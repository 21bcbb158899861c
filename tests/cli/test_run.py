#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo run` from the outside: run folders, provenance, secrets, failures. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

QUIET = ["pipeline.static_analysis.enable=false"]
ONLY_DIRECT = [*QUIET, "pipeline.native.enable=false", "pipeline.torch_profiler.enable=false"]


class WholeRuns(LpoCase):
    def test_the_embedded_workload_runs_and_leaves_a_whole_folder(self) -> None:
        done = self.lpo_run("run.repeats=1", "infer.max_new_tokens=4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("report.md", done.stdout)
        for name in ("run.json", "config.yaml", "overrides.yaml", "env.json", "inputs.yaml", "lpo.log",
                     "static_analysis/static_compute.json", "native/regions.json", "native/cmd.txt",
                     "workload/direct_inference/metrics.json", "workload/native/stdout.log",
                     "report.md", "report.json", "stakeholder_summary.md", "kernels.md"):
            self.assertTrue(os.path.exists(os.path.join(self.run_dir, name)), name)
        manifest = self.manifest()
        self.assertEqual(manifest["state"], "done")
        self.assertEqual(len(manifest["config_fingerprint"]), 16)
        self.assertIn("native/regions.json", self.stage("native")["files"])
        self.assertGreater(self.stage("native")["steps"][0]["peak_rss_bytes"], 1 << 20)

    def test_regions_of_the_toy_nest(self) -> None:
        self.assertEqual(self.lpo_run("run.repeats=1", "infer.max_new_tokens=4", *QUIET).returncode, 0)
        regions = {r["path"]: r for r in json.loads(self.text("native", "regions.json"))["regions"]}
        self.assertEqual(regions["decode"]["visits"], 1)
        self.assertGreater(regions["decode/step/layer0/attn"]["visits"], 0)
        self.assertGreaterEqual(regions["decode"]["host_ns"], regions["decode/step"]["host_ns"])

    def test_any_program_after_two_dashes(self) -> None:
        done = self.lpo_run(*QUIET, "--", "sh", "-c", "echo \"$0 $1\" >out.txt; pwd", "two words", "*")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "out.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "two words *\n")
        self.assertEqual(self.text("workload", "direct_inference", "stdout.log").strip(), os.path.realpath(self.cwd))

    def test_chdir_starts_the_workload_in_the_run_folder(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "hydra.job.chdir=true", "--", "pwd")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.text("workload", "direct_inference", "stdout.log").strip(), os.path.realpath(self.run_dir))

    def test_two_runs_into_one_place_get_two_folders(self) -> None:
        self.assertEqual(self.lpo_run(*ONLY_DIRECT, "--", "true").returncode, 0)
        self.assertEqual(self.lpo_run(*ONLY_DIRECT, "--", "true").returncode, 0)
        self.assertEqual(self.manifest(self.run_dir + "-2")["state"], "done")

    def test_cmd_txt_can_be_pasted(self) -> None:
        self.lpo_run(*ONLY_DIRECT, "+workload.env.GREETING=hi there", "--", "sh", "-c", "echo \"$GREETING 'x'\"")
        again = subprocess.run(["sh", os.path.join(self.run_dir, "direct_inference", "cmd.txt")], text=True,
                               capture_output=True)
        self.assertEqual(again.stdout, "hi there 'x'\n", again.stderr)

    def test_a_sweep_makes_a_folder_per_job(self) -> None:
        done = subprocess.run([LPO, "run", "-m", "hydra.sweep.dir=sweep", "infer.max_new_tokens=2,3", *ONLY_DIRECT,
                               "run.repeats=1"], cwd=self.cwd, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "sweep", "multirun.json"), encoding="utf-8") as f:
            jobs = json.load(f)["jobs"]
        self.assertEqual([j["exit_code"] for j in jobs], [0, 0])
        self.assertEqual(jobs[1]["overrides"][0], "infer.max_new_tokens=3")
        self.assertTrue(os.path.exists(os.path.join(self.cwd, "sweep", "1", "run.json")))

    def test_what_a_dry_run_prints_can_be_run(self) -> None:
        done = self.lpo_run("--dry-run", "run.repeats=1", "infer.max_new_tokens=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        shell = subprocess.run(["bash", "-e"], input=done.stdout, cwd=self.cwd, text=True, capture_output=True, timeout=120)
        self.assertEqual(shell.returncode, 0, shell.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.run_dir, "workload", "direct_inference", "metrics.json")))

    def test_a_dry_run_writes_nothing(self) -> None:
        done = self.lpo_run("--dry-run", "pipeline.nsys.enable=true", "pipeline.ncu.enable=true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nsys profile", done.stdout)
        self.assertEqual(os.listdir(self.cwd), [])


class Secrets(LpoCase):
    def test_secrets_never_reach_a_file(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "+workload.env.HF_TOKEN=hf_sekrit1", "--", "sh", "-c",
                        'test "$HF_TOKEN" = hf_sekrit1 && test "$MY_API_KEY" = sekrit2',
                        env={"MY_API_KEY": "sekrit2", "HF_HUB_TOKEN": "sekrit3"})
        self.assertEqual(done.returncode, 0, done.stderr)
        for folder, _, names in os.walk(self.run_dir):
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                    text = f.read()
                # the program's own words are in its argv; the values of variables are nowhere
                self.assertNotIn("sekrit2", text.replace("= sekrit2", ""), name)
                self.assertNotIn("sekrit3", text, name)
                self.assertNotIn("hf_sekrit1", text.replace("= hf_sekrit1", ""), name)


    def leaks(self, folder: str, secret: str) -> list[str]:
        found = []
        for base, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(base, name), encoding="utf-8", errors="replace") as f:
                    found += [name] if secret in f.read() else []
        return found

    def test_the_settings_of_a_model_hold_no_secret(self) -> None:
        program = os.path.join(self.cwd, "program.py")
        with open(program, "w", encoding="utf-8") as f:
            f.write("import os, sys\nsys.exit(os.environ.get('HF_TOKEN') != 'hf_' + 'sekrit4')\n")
        done = self.lpo_run(*ONLY_DIRECT, "workload=hf", "model=hf", "model.path=x", f"workload.program={program}",
                        f"workload.python={sys.executable}", "+workload.env.HF_TOKEN=hf_sekrit4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.run_dir, "workload/direct_inference/settings.json")))
        self.assertEqual(self.leaks(self.run_dir, "hf_sekrit4"), [])

    def test_a_sweep_keeps_secrets_too(self) -> None:
        done = subprocess.run([LPO, "run", "-m", "hydra.sweep.dir=sweep", *ONLY_DIRECT, "run.repeats=1",
                               "+workload.env.HF_TOKEN=hf_sekrit5", "infer.max_new_tokens=2,3"], cwd=self.cwd, text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.leaks(os.path.join(self.cwd, "sweep"), "hf_sekrit5"), [])


class Failures(LpoCase):
    def test_a_failed_stage_does_not_stop_the_others(self) -> None:
        done = self.lpo_run(*QUIET, "run.keep_going=true", "--", "sh", "-c", "echo why >&2; exit 3")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.stage("direct_inference")["state"], "failed")
        self.assertEqual(self.stage("direct_inference")["steps"][0]["exit_code"], 3)
        self.assertIn("why", self.stage("direct_inference")["message"])
        self.assertEqual(self.stage("native")["state"], "failed")

    def test_fail_fast_stops_at_the_first(self) -> None:
        self.assertEqual(self.lpo_run(*QUIET, "run.fail_fast=true", "--", "false").returncode, 1)
        self.assertEqual(self.stage("native")["state"], "skipped")

    def test_a_missing_tool_is_exit_code_3(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "pipeline.nsys.enable=true", "pipeline.nsys.program=no-such-nsys", "--", "true")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.stage("direct_inference")["state"], "done")
        self.assertEqual(self.stage("nsys")["state"], "missing")
        self.assertIn("lpo doctor", self.stage("nsys")["message"])

    def test_a_missing_program_is_told_before_anything_starts(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "--", "./no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program", done.stderr)

    def hf(self, *words: str, program: str = "") -> subprocess.CompletedProcess:
        """The workload hf in a python without torch: what lpo prints before it starts, or our program prints."""
        if program:
            self.write("program.py", program)
            words = (*words, "workload.program=program.py")
        return self.lpo_run("workload=hf", "model=hf", f"workload.python={sys.executable}", *words)

    @unittest.skipIf(os.path.exists(os.path.join(os.path.dirname(LPO), "workloads", "toy_llm_cuda")), "its CUDA build is here")
    def test_the_cuda_build_asked_for_is_not_replaced_by_another(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "workload.toy.cuda=true")
        self.assertEqual(done.returncode, 3)
        self.assertIn("toy_llm_cuda is not beside lpo", done.stderr)

    def test_a_device_that_is_none_is_refused_before_anything_starts(self) -> None:
        for device in ("gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999"):
            done = self.lpo_run(f"run.device={device}")
            self.assertEqual(done.returncode, 2, device)
            self.assertIn("run.device is", done.stderr)
        self.assertFalse(os.path.exists(self.run_dir))

    def test_a_window_that_cannot_be_is_refused_before_anything_starts(self) -> None:
        for words, why in (
            (["native.capture.range=a", "native.capture.calls=10-3"], "pipeline.native.capture.calls is '10-3'; write 3, 3-10 or 3-"),
            (["native.capture.range=a", "native.capture.in_a_row=4"], "pipeline.native.capture.in_a_row=4 needs every"),
            (["native.capture.slow=10ms"], "pipeline.native.capture.slow needs ring"),
            (["native.capture.for=0s"], "'pipeline.native.capture.for' must be a duration longer than 0"),
            (["native.capture.ring=0s"], "'pipeline.native.capture.ring' must be a duration longer than 0"),
            (["native.capture.ring=1s", "native.capture.ring_mb=65537"], "must be an integer from 1 to 65536"),
            (["native.capture.range=a", f"native.capture.every={2**63 - 1}"], "'pipeline.native.capture.every' must be an integer from 1"),
            (["native.capture.range="], "pipeline.native.capture.range is empty"),
            (["ncu.enable=true", "ncu.capture.after=3s"], "ncu knows no time"),
        ):
            for more in [], ["hydra.job.chdir=true"]:
                done = self.lpo_run(*(f"pipeline.{w}" for w in words), *more)
                self.assertEqual(done.returncode, 2, words)
                self.assertIn(why, done.stderr)
                self.assertFalse(os.path.exists(self.run_dir))

    def test_what_a_model_lacks_is_told_before_it_starts(self) -> None:
        os.makedirs(os.path.join(self.cwd, "model"))
        self.write("config.json", "{}")
        self.write("list.txt", "# none\n\n")
        for words, why in (
            (["model.path=nowhere"], "model.path 'nowhere' is neither a folder nor a file"),
            (["model.path=model"], "the model folder 'model' has no config.json"),
            (["model.path=config.json", "dataset.root=nodata"], "dataset.root 'nodata' is not a folder"),
            (["model.path=config.json", "dataset.subset_filelist=list.txt"], "the file list 'list.txt' lists no sample"),
            (["model.path=config.json", "run.dataset_subset_filelist=no.txt"], "cannot read the file list 'no.txt'"),
            (["model.path=model", "workload.cwd=/"], "model.path 'model' is neither a folder nor a file"),
        ):
            with self.subTest(why=why):
                done = self.hf(*ONLY_DIRECT, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(why, done.stderr)
                self.assertFalse(os.path.exists(self.run_dir))
        done = self.hf(*ONLY_DIRECT, "model.path=config.json", "workload.python=no-python")
        self.assertEqual(done.returncode, 3)
        self.assertIn("the interpreter 'no-python' was not found", self.stage("direct_inference")["message"])
        self.assertEqual(self.stage("direct_inference")["steps"], [])

    def test_a_command_without_a_program_is_told_before_it_starts(self) -> None:
        done = self.lpo_run("workload=command")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("workload.argv is empty", done.stderr)
        self.assertFalse(os.path.exists(self.run_dir))

    def test_what_no_stage_would_start_need_not_be_there(self) -> None:
        done = self.lpo_run("workload=command", "pipeline.direct_inference.enable=false", "pipeline.native.enable=false",
                            "pipeline.torch_profiler.enable=false")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_something_missing_in_the_program_is_exit_code_3(self) -> None:
        done = self.hf(*ONLY_DIRECT, "model.path=x", program="raise SystemExit(3)\n")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.stage("direct_inference")["state"], "missing")

    def test_samples_that_failed_are_told_once_for_all_stages(self) -> None:
        metrics = {"failures": [{"sample": "a", "error": "no text"}, {"sample": "b", "error": "too long"}],
                   "notes": ["compile: no ranges"]}
        program = f"import sys\nopen(sys.argv[sys.argv.index('--metrics') + 1], 'w').write({json.dumps(metrics)!r})\n"
        done = self.hf(*QUIET, "model.path=x", program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = self.stage("direct_inference")["notes"]
        self.assertEqual(len(notes), 2, notes)
        self.assertTrue(notes[0].startswith("2 samples failed, the first 'a': no text"), notes)
        self.assertEqual(done.stderr.count("2 samples failed"), 1)
        self.assertIn("2 samples failed", self.text("report.md"))

    def test_the_kernel_s_way_with_memory_is_told(self) -> None:
        self.assertEqual(self.lpo_run(*ONLY_DIRECT, "--", "sh", "-c", "kill -9 $$").returncode, 1)
        self.assertIn("memory runs out", self.stage("direct_inference")["message"])

    def test_the_time_limit_of_a_stage(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "pipeline.direct_inference.timeout=200ms", "run.grace=200ms", "--", "sh", "-c",
                        "trap '' TERM; while :; do sleep 0.1; done")
        self.assertEqual(done.returncode, 1)
        self.assertIn("time limit", self.stage("direct_inference")["message"])

    def test_a_place_that_cannot_be_written(self) -> None:
        done = subprocess.run([LPO, "run", "hydra.run.dir=/proc/nowhere"], cwd=self.cwd, text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("hydra.run.dir", done.stderr)

    def test_where_proc_is_not_mounted(self) -> None:
        """A chroot: the shipped config is found beside the program all the same."""
        hidden = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && cd "$1" && shift && exec "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run([*hidden, "/", "true"], capture_output=True).returncode:
            self.skipTest("this machine allows no mount namespaces")
        for folder, program in ("/", LPO), (os.path.dirname(LPO), "./" + os.path.basename(LPO)):
            done = subprocess.run([*hidden, folder, program, "config"], text=True, capture_output=True)
            self.assertIn("model:", done.stdout, done.stderr)  # the exit code may be that of a sanitizer, which needs /proc

    def test_output_beyond_the_limit_is_noted(self) -> None:
        done = self.lpo_run(*ONLY_DIRECT, "run.max_output_bytes=1000", "--", "head", "-c", "100000", "/dev/zero")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("99000 bytes", self.stage("direct_inference")["notes"][0])

    def test_an_older_spelling_is_told_once(self) -> None:
        done = self.lpo_run("--dry-run", "run.stage1_repeats=2", "torch_profiler.enabled=false")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)

    def test_wrong_usage_is_exit_code_2(self) -> None:
        for words in (["--resum", "x"], ["--resume", "x", "run.repeats=1"], ["no_such_key=1"], ["--"],
                      ["--json"], ["-n", "--json"], ["-m", "--json"]):
            with self.subTest(words):
                self.assertEqual(self.lpo_run(*words).returncode, 2)
                self.assertFalse(os.path.exists(self.run_dir))
        done = subprocess.run([LPO, "run", "--resume", "x", "--json"], text=True, capture_output=True)
        self.assertIn("--json prints the jobs of a sweep", done.stderr)

    def test_json_of_the_jobs_of_a_sweep(self) -> None:
        for words in (["-m"], ["hydra.mode=MULTIRUN"]):
            done = self.lpo_run("-n", "--json", *words, "infer.max_new_tokens=2,3")
            self.assertEqual(done.returncode, 0, done.stderr)
            jobs = json.loads(done.stdout)
            self.assertEqual((jobs["schema"], len(jobs["jobs"])), ("lpo.jobs/1", 2))

    def test_the_doctor_does_not_advise_settings_of_a_driver_that_is_not_here(self) -> None:
        done = json.loads(subprocess.run([LPO, "doctor", "--json"], text=True, capture_output=True).stdout)
        self.assertEqual(done["schema"], "lpo.doctor/1")
        counters = next(c for c in done["checks"] if c["name"] == "counters")
        if counters["detail"] == "no NVIDIA driver":
            self.assertEqual(counters["remedy"], "run on a machine with an NVIDIA GPU and driver")


if __name__ == "__main__":
    tap.main()
