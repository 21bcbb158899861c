#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents of the older system print, word for word: presets, configs and overrides of theirs. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
DOCUMENTS = os.path.join(SOURCE, "tests", "data", "documents")


class Documents(LpoCase):
    def environment(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": os.path.join(self.cwd, "home"), "XDG_CACHE_HOME": os.path.join(self.cwd, "cache")}

    def put(self, name: str, text: str) -> None:
        path = os.path.join(self.cwd, "mine", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def copy(self, document: str, name: str) -> None:
        with open(os.path.join(DOCUMENTS, document), encoding="utf-8") as f:
            self.put(name, f.read())

    def config(self, *words: str, warnings: int = 0) -> dict:
        done = self.lpo("config", "--json", "--resolve", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), warnings, done.stderr)
        self.warned = done.stderr
        return json.loads(done.stdout)


class Presets(Documents):
    def ncu(self, document: str, warnings: int) -> dict:
        self.copy(document, "profiling/ncu/theirs.yaml")
        return self.config("--config-dir", "mine", "profiling/ncu@pipeline.ncu=theirs", "pipeline.ncu.enable=true",
                           warnings=warnings)["pipeline"]["ncu"]

    def test_a_preset_with_description_and_ncu_cli_alone(self) -> None:
        ncu = self.ncu("ncu.default.yaml", 0)
        self.assertIs(ncu["enable"], True)
        self.assertIs(ncu["gating_nvtx"], True)
        self.assertEqual(ncu["ncu_cli"]["nvtx"]["include"], "decode*")
        self.assertEqual(ncu["ncu_cli"]["metrics"][:2], ["flop_count_hp", "flop_count_sp"])
        self.assertEqual(ncu["ncu_cli"]["clock_control"], "none")  # from the table
        self.assertIs(ncu["regions"]["enable"], False)

    def test_a_description_with_a_colon_is_read_and_named(self) -> None:
        ncu = self.ncu("ncu.rtx3090.memory.yaml", 1)
        self.assertEqual(ncu["description"], "Nsight Compute preset: RTX 3090 (GA102) — Memory focus")
        self.assertEqual(ncu["ncu_cli"]["sections"], ["SpeedOfLight", "MemoryWorkloadAnalysis"])
        self.assertIsNone(ncu["ncu_cli"]["metrics"])
        self.assertIn("quote it", self.warned)

    def test_the_shipped_presets_are_the_documents(self) -> None:
        for name, warnings in (("ncu.default", 0), ("ncu.rtx3090.memory", 1)):
            with self.subTest(name):
                theirs = self.ncu(name + ".yaml", warnings)
                ours = self.config(f"profiling/ncu@pipeline.ncu={name}", "pipeline.ncu.enable=true")["pipeline"]["ncu"]
                self.assertEqual(ours, theirs)

    def test_the_defaults_are_the_documents(self) -> None:
        """What their conf/config.yaml states is what the shipped one states."""
        self.copy("config.yaml", "config.yaml")
        theirs, ours = self.config("--config-dir", "mine"), self.config()
        for key in ("run.mode", "run.device", "run.repeats", "run.dataset_subset_filelist", "run.top_n_kernels",
                    "pipeline.static_analysis", "pipeline.torch_profiler", "pipeline.nsys", "pipeline.ncu"):
            with self.subTest(key):
                self.assert_states(at(theirs, key), at(ours, key))
        self.assertEqual((ours["run"]["repeats"], ours["run"]["top_n_kernels"]), (3, 30))
        self.assertEqual(ours["pipeline"]["nsys"]["nvtx_capture"], "prefill")

    def assert_states(self, stated, whole) -> None:
        """Every key that the first has, the second has with that value."""
        if not isinstance(stated, dict):
            self.assertEqual(whole, stated)
            return
        for key, value in stated.items():
            with self.subTest(key):
                self.assertIn(key, whole)
                self.assert_states(value, whole[key])

    def test_other_faults_of_yaml_are_still_refused(self) -> None:
        self.put("profiling/ncu/theirs.yaml", "description: a: b\nncu_cli: c: d\n")
        done = self.lpo("config", "--config-dir", "mine", "profiling/ncu@pipeline.ncu=theirs")
        self.assertEqual(done.returncode, 2)
        self.assertIn("theirs.yaml:1:15", done.stderr)

    def test_a_preset_of_the_older_shape(self) -> None:
        ncu = self.ncu("ncu.rtx3090.memory.before.yaml", 6)
        self.assertEqual(ncu["ncu_cli"]["nvtx"]["include"], "decode*")
        self.assertEqual(ncu["ncu_cli"]["set"], "roofline")
        self.assertEqual(ncu["ncu_cli"]["export"], {"csv": True})
        self.assertNotIn("set", ncu)

    def test_an_nsys_preset_of_that_shape_is_gated(self) -> None:
        self.put("profiling/nsys/theirs.yaml", "trace: cuda,nvtx\nsample: none\ncapture_range: nvtx\nnvtx_capture: prefill\n")
        nsys = self.config("--config-dir", "mine", "profiling/nsys@pipeline.nsys=theirs", "pipeline.nsys.enable=true",
                           "pipeline.nsys.timeout=10m", "+pipeline.nsys.cpuctxsw=none")["pipeline"]["nsys"]
        self.assertIs(nsys["gating_nvtx"], True)
        self.assertEqual((nsys["nvtx_capture"], nsys["timeout"]), ("prefill", "10m"))

    def test_a_torch_preset_of_one_line(self) -> None:
        self.put("profiling/torch/theirs.yaml", "activities: [cpu, cuda]\n")
        torch = self.config("--config-dir", "mine", "profiling/torch@pipeline.torch_profiler=theirs",
                            "pipeline.torch_profiler.enable=true")["pipeline"]["torch_profiler"]
        self.assertIs(torch["record_shapes"], True)
        self.assertIs(torch["enable"], True)


# override, the key it means today, the value that key has then
OLD = [
    ("nsys.gating_nvtx=false", "pipeline.nsys.gating_nvtx", False),
    ("ncu.gating_nvtx=false", "pipeline.ncu.gating_nvtx", False),
    ("ncu.nvtx_include=prefill", "pipeline.ncu.ncu_cli.nvtx.include", "prefill"),
    ("ncu.nvtx.include=prefill", "pipeline.ncu.ncu_cli.nvtx.include", "prefill"),
    ("ncu.sections=[SpeedOfLight]", "pipeline.ncu.ncu_cli.sections", ["SpeedOfLight"]),
    ("nsys.capture_range=none", "pipeline.nsys.capture_range", "none"),
    ("torch_profiler.activities=[cpu]", "pipeline.torch_profiler.activities", ["cpu"]),
    ("analysis.static.use_synthetic_inputs=false", "pipeline.static_analysis.use_synthetic_inputs", False),
    ("nsys.nvtx_capture=decode", "pipeline.nsys.nvtx_capture", "decode"),
    ("nsys.capture_range_end=null", "pipeline.nsys.capture_range_end", None),
    ("stage1_runner.device=cuda:0", "run.device", "cuda:0"),
    ("runner@stage1_runner=stage1.no-static", "pipeline.static_analysis.enable", False),
    ("runner@stage1_runner=stage1.default", "pipeline.static_analysis.enable", True),
    ("device=cuda:1", "run.device", "cuda:1"),
    ("repeats=7", "run.repeats", 7),
    ("torch_profiler.enabled=false", "pipeline.torch_profiler.enable", False),
    ("analysis.static.enabled=false", "pipeline.static_analysis.enable", False),
    ("runners.analysis.static.enabled=false", "pipeline.static_analysis.enable", False),
    ("dataset/sampling@dataset.sampling=random", "dataset.sampling.randomize", True),
    ("run.stage1_repeats=4", "dataset.sampling.num_samples_per_epoch", 4),
]
SHORT = ["run.repeats=1", "run.warmup=0", "run.device=cpu", "infer.max_new_tokens=2", "pipeline.torch_profiler.enable=false"]


def at(config: dict, path: str):
    for key in path.split("."):
        config = config[key]
    return config


class Overrides(Documents):
    def test_each_old_override_works_with_one_line(self) -> None:
        for word, key, want in OLD:
            for plus in ("", "+", "++"):
                with self.subTest(override=plus + word):
                    self.assertEqual(at(self.config(plus + word, warnings=1), key), want)
                    self.assertIn("deprecated", self.warned)

    def test_direct_keys_of_sampling(self) -> None:
        sampling = self.config("dataset.sampling.num_epochs=1", "dataset.sampling.num_samples_per_epoch=2",
                               "dataset.sampling.randomize=false")["dataset"]["sampling"]
        self.assertEqual(sampling["num_samples_per_epoch"], 2)

    def test_a_plus_before_a_key_of_today_is_still_refused(self) -> None:
        done = self.lpo("config", "+run.repeats=3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("already at 'run.repeats'", done.stderr)

    def test_old_entry_points(self) -> None:
        light, deep = {"torch_profiler", "static_analysis"}, {"nsys", "ncu"}
        for name, stages in (("runner/stage2", deep), ("deep_profile_runner", deep), ("llm_profile_runner", light),
                             ("runner/stage1.default", light), ("runner/stage1.no-static", {"torch_profiler"}),
                             ("runner/stage2.yaml", deep), ("runners/stage2", deep), ("direct_inference_runner", set()),
                             ("llm_perf_opt.runners.llm_profile_runner", light),
                             ("llm_perf_opt.runners.deep_profile_runner", deep),
                             ("llm_perf_opt.runners.profile_orchestrator", light)):
            with self.subTest(config=name):
                pipeline = self.config("--config-name", name, warnings=1)["pipeline"]
                on = {stage for stage in light | deep if pipeline[stage]["enable"]}
                self.assertEqual(on, stages)
                self.assertIn(name, self.warned)
        self.config("--config-name", "runner/default", warnings=1)


class WholeConfig(Documents):
    """The config that the documents print, in a folder of the user's, before the shipped tree."""

    def setUp(self) -> None:
        super().setUp()
        self.copy("config.yaml", "config.yaml")

    def small_groups(self) -> None:
        """The groups that it lists, with a model that runs everywhere."""
        for theirs, ours in (("dataset/omnidocbench", "dataset/synthetic"),
                             ("model/deepseek_ocr/arch/deepseek_ocr.default", "model/toy/arch/default"),
                             ("model/deepseek_ocr/infer/deepseek_ocr.default", "model/toy/infer/default")):
            with open(os.path.join(SOURCE, "conf", ours + ".yaml"), encoding="utf-8") as f:
                self.put(theirs + ".yaml", f.read())

    def test_it_composes_over_the_shipped_groups(self) -> None:
        if not os.path.isdir(os.path.join(SOURCE, "conf", "model", "deepseek_ocr")):
            self.skipTest("conf/model/deepseek_ocr is not there")
        config = self.config("--config-dir", "mine")
        self.assertNotIn("workload", config)  # what Hydra prints: groups of the shipped tree, not its keys
        self.assertEqual(config["dataset"]["name"], "omnidocbench")
        planned = self.lpo("run", "--dry-run", "--config-dir", "mine", "dataset.root=null")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        self.assertIn("hf_generate.py", planned.stdout)

    def test_it_runs_in_its_own_folder(self) -> None:
        self.small_groups()
        done = self.lpo("run", "--config-dir", "mine", *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = [name for name in os.listdir(os.path.join(self.cwd, "tmp", "runs")) if name != "latest"]
        self.assertEqual(len(runs), 1)
        self.assertTrue(os.path.exists(os.path.join(self.cwd, "tmp", "runs", runs[0], "report.md")))
        self.assertFalse(os.path.exists(os.path.join(self.cwd, "tmp", "runs", runs[0], ".hydra")))

    def test_keys_that_it_does_not_state_can_be_given(self) -> None:
        self.small_groups()
        config = self.config("--config-dir", "mine", "run.representative_max_new_tokens=8", "report.top=5",
                             "+dataset/sampling@dataset.sampling=random", "pipeline.ncu.regions.enable=true",
                             "profiling/ncu@pipeline.ncu=ncu.high", "workload=command", warnings=1)
        self.assertEqual(config["run"]["representative_max_new_tokens"], 8)
        self.assertIs(config["dataset"]["sampling"]["randomize"], True)
        self.assertEqual(config["pipeline"]["ncu"]["ncu_cli"]["set"], "roofline")
        self.assertEqual(config["workload"]["kind"], "command")

    def test_a_relative_program_is_found_although_it_starts_in_the_run_folder(self) -> None:
        self.small_groups()
        with open(os.path.join(self.cwd, "where.sh"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\npwd > \"$1\"\n")
        os.chmod(os.path.join(self.cwd, "where.sh"), 0o755)
        done = self.lpo("run", "--config-dir", "mine", "hydra.run.dir=run", *SHORT, "pipeline.static_analysis.enable=false",
                        "--", "./where.sh", "here.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.path.realpath(self.text("here.txt").strip()), os.path.realpath(self.run_dir))

    def test_mirrors_at_the_root(self) -> None:
        """Compatibility aliases at root level: analysis.static and torch_profiler mirror the stages."""
        self.small_groups()
        with open(os.path.join(DOCUMENTS, "config.yaml"), encoding="utf-8") as f:
            document = f.read()
        self.put("config.yaml", document + "analysis:\n  static: ${pipeline.static_analysis}\ntorch_profiler: ${pipeline.torch_profiler}\n")
        pipeline = self.config("--config-dir", "mine", "torch_profiler.enabled=false", warnings=3)["pipeline"]
        self.assertIs(pipeline["torch_profiler"]["enable"], False)
        self.assertIs(pipeline["static_analysis"]["write_reports"], True)

    def test_groups_from_the_root(self) -> None:
        """/profiling/torch@pipeline.torch_profiler: torch-profiler.default, as the text of the document writes it"""
        self.small_groups()
        with open(os.path.join(DOCUMENTS, "config.yaml"), encoding="utf-8") as f:
            self.put("config.yaml", f.read().replace("  - profiling/", "  - /profiling/"))
        pipeline = self.config("--config-dir", "mine", "profiling/ncu@pipeline.ncu=ncu.rtx3090.memory")["pipeline"]
        self.assertEqual(pipeline["ncu"]["ncu_cli"]["sections"], ["SpeedOfLight", "MemoryWorkloadAnalysis"])

    def test_every_stage_over_it(self) -> None:
        self.small_groups()
        tools = os.path.join(SOURCE, "tests", "pipeline", "tools")
        done = self.lpo("run", "--config-dir", "mine", "hydra.run.dir=run", *SHORT[:-1], "pipeline.nsys.enable=true",
                        "pipeline.ncu.enable=true", f"pipeline.ncu.program={os.path.join(tools, 'ncu')}",
                        f"pipeline.nsys.program={os.path.join(tools, 'nsight', 'target-linux-x64', 'nsys')}")
        self.assertEqual(done.returncode, 0, done.stderr)
        states = {name: self.stage(name)["state"] for name in ("static_analysis", "torch_profiler", "nsys", "ncu")}
        self.assertEqual(states, {"static_analysis": "done", "torch_profiler": "skipped", "nsys": "done", "ncu": "done"})
        self.assertIn("--capture-range=nvtx --capture-range-end=stop --kill=none --nvtx-capture=prefill", self.text("nsys", "cmd.txt"))
        command = self.text("ncu", "cmd.txt")
        for words in ("--target-processes all", "--set roofline", "--section SpeedOfLight --section MemoryWorkloadAnalysis "
                      "--section Occupancy --section SchedulerStats", "--nvtx --nvtx-include decode/",
                      "--kernel-name 'regex:^(axpy|fma_loop|square)$'"):
            self.assertIn(words, command)
        self.has("nsys/run.nsys-rep", "nsys/summary_cuda_gpu_kern_sum.csv", "ncu/raw.csv", "ncu/sections.txt", "env.json",
                 "config.yaml", "inputs.yaml", "stakeholder_summary.md", "kernels.md")

    def test_a_config_that_is_not_for_lpo_stands_alone(self) -> None:
        self.put("config.yaml", "device: a\nmodel: b\n")
        self.assertEqual(self.config("--config-dir", "mine", "device=c", "model=d"), {"device": "c", "model": "d"})


class Scripts(Documents):
    def test_the_kernel_scripts_take_the_old_command_line(self) -> None:
        words = ["--kernel-regex", "flash_fwd.*", "--extra-sections", "SourceCounters", "WarpStateStats", "--num-kernel-call-skip", "5",
                 "--num-kernel-call-profile=2", "--force-overwrite", "--dry-run", "--", "/bin/echo", "--size", "2048"]
        shown = []
        for script in (["python3", "ncu-profile-kernels.py"], ["bash", "ncu-profile-kernels.sh"]):
            path = os.path.join(SOURCE, "scripts", "ncu", "release", script[1])
            done = subprocess.run([script[0], path, *words], cwd=self.cwd, text=True, capture_output=True,
                                  env=os.environ | self.environment() | {"LPO": LPO})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("deprecated"), 1, done.stderr)
            for section in ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "SchedulerStats", "SourceCounters", "WarpStateStats"):
                self.assertIn("--section " + section, done.stdout)
            self.assertIn("--kernel-name-base demangled", done.stdout)
            self.assertIn("--launch-skip 5 --launch-count 2 ", done.stdout)
            self.assertIn("regex:flash_fwd.*", done.stdout)
            self.assertNotIn("--metrics", done.stdout)
            self.assertIn(" /bin/echo --size 2048\n", done.stdout)
            shown.append(re.sub(r"tmp/ncu-profile/[0-9-]+", "tmp/ncu-profile/TIME", done.stdout))
        self.assertEqual(shown[0], shown[1])


class Tokens(Documents):
    def test_what_the_user_set_for_profilers_wins_in_ncu_too(self) -> None:
        for words, tokens in (([], "4"), (["run.representative_max_new_tokens=6"], "6")):
            done = self.lpo("run", "--dry-run", "run.device=cpu", "pipeline.ncu.enable=true",
                            "pipeline.ncu.regions.enable=true", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            ncu = next(line for line in done.stdout.splitlines() if " --export " in line)
            self.assertEqual(re.search(r"--(?:max-new-)?tokens (\d+)", ncu).group(1), tokens)


class Lists(Documents):
    def rows(self, *words: str) -> int:
        done = self.lpo("report", "run", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.text("report.md").split("## Most expensive kernels\n")[1].split("\n#")[0]
        return sum(bool(re.match(r"\| \d", line)) for line in table.splitlines())

    def test_reports_list_as_many_kernels_as_the_run_looks_at(self) -> None:
        os.makedirs(self.path("native"))
        shutil.copy(os.path.join(SOURCE, "tests", "data", "native", "torch_llama.lpot"), self.path("native"))
        for report, want in (("{}", 2), ("{top: 3}", 3), ("{top: null}", 2)):
            with self.subTest(report):
                with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                    f.write(f"run: {{top_n_kernels: 2}}\nreport: {report}\n")
                self.assertEqual(self.rows(), want)
        self.assertEqual(self.rows("report.top=4"), 4)


class Settings(Documents):
    def test_any_program_finds_the_settings_in_a_file(self) -> None:
        done = self.lpo_run(*SHORT, "--", "sh", "-c", 'cat "$LPO_SETTINGS" > seen.json')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "seen.json"), encoding="utf-8") as f:
            seen = json.load(f)
        self.assertEqual((seen["run"]["device"], seen["infer"]["max_new_tokens"]), ("cpu", 2))
        self.assertEqual(seen["effective"]["repeats"], 1)

    def test_a_list_that_is_missing_ends_it_before_anything_starts(self) -> None:
        for words in ([], ["--", "true"]):
            done = self.lpo_run(*SHORT, "run.dataset_subset_filelist=nowhere.txt", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("nowhere.txt", done.stderr)
            self.assertFalse(os.path.exists(self.run_dir))


class Toy(Documents):
    """What the documents give to every workload reaches the built-in model too, or is refused."""

    def metrics(self, *words: str) -> dict:
        done = self.lpo_run(*SHORT, "pipeline.native.enable=false", "pipeline.static_analysis.enable=false", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.json("workload", "direct_inference", "metrics.json")

    def test_sampling(self) -> None:
        for words, samples in ((["dataset.sampling.num_samples_per_epoch=null"], 1), (["run.stage1_repeats=3"], 3),
                               (["dataset/sampling@dataset.sampling=random"], 8),
                               (["dataset.sampling.num_epochs=2", "dataset.sampling.num_samples_per_epoch=2"], 4)):
            with self.subTest(words):
                metrics = self.metrics("run.repeats=2", *words)
                self.assertEqual([(s["sample"], s["repeat"]) for s in metrics["samples"]],
                                 [(f"synthetic-{i}", repeat) for i in range(samples) for repeat in range(2)])
                lines = self.text("workload", "direct_inference", "predictions.jsonl").splitlines()
                prompts = {tuple(json.loads(line)["prompt_tokens"]) for line in lines}
                self.assertEqual((len(lines), len(prompts)), (samples, samples))
                shutil.rmtree(self.path())

    def test_infer_and_run(self) -> None:
        settings = self.metrics("run.repeats=2", "run.warmup=1", "infer.batch_size=2", "infer.prompt_tokens=5",
                                "infer.temperature=0.5", "infer.top_k=3", "infer.seed=9")["settings"]
        want = {"repeats": 2, "warmup": 1, "batch": 2, "prompt-tokens": 5, "max-new-tokens": 2, "temperature": 0.5,
                "top-k": 3, "sample-seed": 9}
        self.assertEqual({key: settings[key] for key in want}, want)

    def test_device(self) -> None:
        done = self.lpo("run", "--dry-run", "+stage1_runner.device=cuda:1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--device 1 ", done.stdout)

    def test_files_are_refused(self) -> None:
        with open(os.path.join(self.cwd, "list.txt"), "w", encoding="utf-8") as f:
            f.write("a.png\n")
        for word in ("run.dataset_subset_filelist=list.txt", "dataset.subset_filelist=list.txt", "dataset.root=data"):
            with self.subTest(word):
                done = self.lpo_run(*SHORT, word)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("reads no files", done.stderr)
                self.assertFalse(os.path.exists(self.run_dir))

    def test_graph(self) -> None:
        done = self.lpo("run", "--dry-run", "workload.toy.graph=true", "run.device=cpu")
        self.assertEqual(done.returncode, 2)
        self.assertIn("workload.toy.cuda=true", done.stderr)
        done = self.lpo("run", "--dry-run", "workload.toy.graph=true", "workload.program=/bin/toy_llm_cuda")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/bin/toy_llm_cuda --graph ", done.stdout)


class Words(Documents):
    def test_words_after_two_dashes_are_verbatim(self) -> None:
        words = ["${run.device}", "${nope}", "a,b", "x=1", "--", "???", ""]
        done = self.lpo_run(*SHORT, "--", "sh", "-c", 'for w; do printf "%s\\n" "$w"; done > words', "-", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "words"), encoding="utf-8") as f:
            self.assertEqual(f.read().split("\n")[:-1], words)

    def test_words_of_a_config_are_interpolated(self) -> None:
        config = self.config("workload=command", "workload.argv=[bench,'--device','${run.device}']", "run.device=cpu")
        self.assertEqual(config["workload"]["argv"], ["bench", "--device", "cpu"])


if __name__ == "__main__":
    tap.main()
