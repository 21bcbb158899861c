#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Config trees of users who come back. `lpo config` prints a tree with its own config.yaml as Hydra does, a run understands
the older keys in it, and a key that lpo does not know is a warning. Prints TAP."""
import glob
import json
import os
import re
import shlex
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

SOURCE = os.environ.get("LPO_SOURCE_ROOT", ".")

ARCH = "name: deepseek_ocr\ndtype: fp16\npreprocess: {enable: true, base_size: 512, image_size: 320, crop_mode: true, patch_size: 16}\n"
INFER = "temperature: 0.7\nmax_new_tokens: 96\ndo_sample: false\nno_repeat_ngram_size: 20\ndecoder_prompt: Read it.\n"
DATA = "name: pages\nroot: ${hydra:runtime.cwd}/data/pages\nsubset_filelist: null\nfallback_patterns: ['*.png']\n"
TORCH = ("enabled: true\nactivities: [cpu, cuda]\nrecord_shapes: false\nprofile_memory: false\nwith_stack: false\n"
         "group_by_input_shape: true\nwarmup_rounds: 2\nwarmup_synthetic: true\n")
NCU = "target_processes: all\nnvtx_include: decode*\nset: roofline\nmetrics: sm__a.avg,dram__b.sum\ncsv: true\n"
COMMON = {
    "dataset/pages.yaml": DATA,
    "model/deepseek_ocr/arch/own.yaml": ARCH,
    "model/deepseek_ocr/infer/own.yaml": INFER,
    "profiling/ncu/own.yaml": NCU,
    "profiling/ncu/memory.yaml": "set: full\nsections: [SpeedOfLight]\nmetrics: null\n",
}
HYDRA = "hydra: {run: {dir: '${hydra:runtime.cwd}/out'}, output_subdir: null, job: {chdir: true}}\n"
LISTS = "defaults:\n  - dataset: pages\n  - model/deepseek_ocr/arch@model: own\n  - model/deepseek_ocr/infer@infer: own\n"
STAGE2 = ("defaults:\n  - /profiling/torch@torch_profiler: own\n  - /profiling/nsys@nsys: own\n  - /profiling/ncu@ncu: own\n  - _self_\n"
          "artifacts: {stage2_dir: '${hydra:runtime.cwd}/tmp/stage2'}\nrun: {mode: deep, top_n_kernels: 7, stage1_repeats: 2}\n"
          "hydra: {run: {dir: '${artifacts.stage2_dir}'}, output_subdir: null, job: {chdir: true}}\n"
          "stage1_runner: {disable_static: true, device: 'cuda:1'}\nnsys: {gating_nvtx: true}\nncu: {gating_nvtx: true}\n")
ERAS = {
    "two runners": COMMON | {
        "config.yaml": LISTS + "  - profiling/torch@torch_profiler: own\n  - runner@stage1_runner: stage1.default\n  - _self_\n"
                       "experiment: stage1\nrepeats: 4\ndevice: cuda:1\nuse_flash_attn: false\noutputs: {save_predictions: true}\n" + HYDRA,
        "profiling/torch/own.yaml": TORCH + "rep_max_new_tokens: 48\n",
        "profiling/nsys/own.yaml": "trace: cuda,nvtx,osrt\nsample: none\ncapture: nvtx\nnvtx_capture: prefill\n",
        "runner/stage1.default.yaml": "analysis: {static: {enabled: true, write_reports: true}}\n",
        "runner/stage2.yaml": STAGE2,
    },
    "one pipeline": COMMON | {
        "config.yaml": LISTS + "  - profiling/torch@pipeline.torch_profiler: own\n  - profiling/nsys@pipeline.nsys: own\n"
                       "  - profiling/ncu@pipeline.ncu: own\n  - _self_\nrepeats: 4\ndevice: cuda:1\nuse_flash_attn: false\n"
                       "run: {mode: deep, stage1_repeats: 2, top_n_kernels: 7}\npipeline:\n  static_analysis: {enable: true}\n"
                       "  torch_profiler: {enable: '${pipeline.torch_profiler.enabled}'}\n"
                       "  nsys: {enable: false, gating_nvtx: true}\n  ncu: {enable: false, gating_nvtx: true}\n" + HYDRA,
        "profiling/torch/own.yaml": TORCH + "rep_max_new_tokens: 48\n",
        "profiling/nsys/own.yaml": "trace: cuda,nvtx,osrt\ncapture_range: nvtx\ncapture_range_end: null\nnvtx_capture: prefill\n",
        "runner/stage2.yaml": STAGE2,
    },
    "outputs of stages": COMMON | {
        "config.yaml": LISTS + "  - dataset/sampling@dataset.sampling: own\n  - profiling/torch@pipeline.torch_profiler: own\n"
                       "  - output/torch@pipeline.torch_profiler.output: own\n  - output/direct@pipeline.direct_inference.output: own\n"
                       "  - profiling/nsys@pipeline.nsys: own\n  - profiling/ncu@pipeline.ncu: own\n  - _self_\n"
                       "device: cuda:1\nuse_flash_attn: false\nrun: {mode: deep, top_n_kernels: 7, representative_max_new_tokens: 48}\n"
                       "pipeline:\n  direct_inference: {enable: true}\n  torch_profiler: {enable: '${pipeline.torch_profiler.enabled}'}\n"
                       "  nsys: {enable: false, gating_nvtx: true}\n  ncu: {enable: false, gating_nvtx: true}\n  workload: {kept: here}\n" + HYDRA,
        "dataset/sampling/own.yaml": "num_epochs: 1\nnum_samples_per_epoch: 2\nrandomize: false\nseed: null\n",
        "profiling/torch/own.yaml": TORCH,
        "profiling/nsys/own.yaml": "trace: cuda,nvtx,osrt\ncapture_range: none\ncapture_range_end: null\nnvtx_capture: prefill\n",
        "output/torch/own.yaml": "prediction: {enable: true, save_dir: pred}\nvisualization: {enable: true}\n",
        "output/direct/own.yaml": "prediction: {enable: false, save_dir: pred}\n",
    },
}
# what stands in the settings of a stage's workload, whatever the era called it
MEANT = {
    "run.device": "cuda:1", "run.top_n_kernels": 7, "run.representative_max_new_tokens": 48, "infer.image_size": 512,
    "infer.crop_size": 320, "infer.crop_mode": True, "infer.prompt": "Read it.", "infer.no_repeat_ngram_size": 20,
    "workload.hf.flash_attention": False, "model.dtype": "fp16", "effective.temperature": 0, "effective.warmup": 2,
    "dataset.sampling.num_samples_per_epoch": 2,
}


def at(config, key):
    for part in key.split("."):
        config = config[part]
    return config


class Trees(LpoCase):
    def tree(self, files) -> None:
        for name, text in files.items():
            path = os.path.join(self.cwd, "conf", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

    def plan(self, *words: str):
        done = self.lpo("run", "--dry-run", "--config-dir", "conf", *words)
        return done, [line for line in done.stderr.splitlines() if "deprecated" not in line]


class Eras(Trees):
    def test_each_composes_and_plans(self) -> None:
        for era, files in ERAS.items():
            with self.subTest(era), tempfile.TemporaryDirectory() as self.cwd:
                self.tree(files | {"../data/pages/a.png": ""})
                for words in ([], ["--config-name", "runner/stage2"], ["--config-name", "deep_profile_runner"],
                              ["--config-name", "llm_profile_runner"], ["profiling/ncu@pipeline.ncu=memory", "pipeline.ncu.enable=true"]):
                    with self.subTest(words=words):
                        done, others = self.plan(*words)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertTrue(all("unknown key 'pipeline." in line for line in others), others)
                        self.assertEqual("nsys profile" in done.stdout, "runner/stage2" in words or "deep_profile_runner" in words)
                        self.assertEqual("# ncu: ncu" in done.stdout, words[:1] != [] and "llm_profile_runner" not in words)
                        self.assertEqual("--set full" in done.stdout, "profiling/ncu@pipeline.ncu=memory" in words)

    def test_old_keys_keep_their_meaning(self) -> None:
        program = "import os, sys, shutil\nshutil.copy(sys.argv[2], os.path.join(os.environ['KEEP'], 'settings.json'))\n"
        for era, files in ERAS.items():
            with self.subTest(era), tempfile.TemporaryDirectory() as self.cwd:
                self.tree(files | {"../p.py": program, "../data/pages/a.png": ""})
                done = self.lpo("run", "--config-dir", "conf", "--only", "torch_profiler", f"++workload.program={self.cwd}/p.py",
                                f"++workload.python={sys.executable}", "++model.path=null", "++model.config={}",
                                "++dataset.sampling.num_samples_per_epoch=2", "++run.top_n_kernels=7", env={"KEEP": self.cwd})
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(os.path.join(self.cwd, "settings.json"), encoding="utf-8") as f:
                    settings = json.load(f)
                for key, want in MEANT.items():
                    with self.subTest(key):
                        self.assertEqual(at(settings, key), want)

    def test_the_tasks_of_the_original(self) -> None:
        """stage1-run, stage2-profile, stage-all-run and direct-infer-dev20, word for word, with a list of another machine's paths"""
        pages = [f"page_{i}.png" for i in range(3)]
        lists = "".join(f"/data2/somebody/datasets/pages/images/{p}\n" for p in pages)
        program = "import os, sys, shutil\nshutil.copy(sys.argv[2], os.path.join(os.environ['KEEP'], 'settings.json'))\n"
        sampling = ["dataset.sampling.num_epochs=1", "dataset.sampling.num_samples_per_epoch=3", "dataset.sampling.randomize=false"]
        off = ["pipeline.nsys.enable=false", "pipeline.ncu.enable=false"]
        subset = "dataset.subset_filelist=data/subsets/dev-3.txt"
        first = [subset, "device=cuda:0", "infer.max_new_tokens=64", "pipeline.torch_profiler.activities=[cpu,cuda]"]
        files = ERAS["outputs of stages"] | {"../p.py": program, "../data/subsets/dev-3.txt": lists,
                                             "dataset/sampling/default.yaml": "num_epochs: 1\nnum_samples_per_epoch: null\nrandomize: false\n"}
        tasks = (("llm_profile_runner", [*first, *off, *sampling], {"static_analysis", "native", "torch_profiler"}),
                 ("llm_profile_runner", [*first, "pipeline.static_analysis.enable=false", *off, *sampling], {"native", "torch_profiler"}),
                 ("llm_profile_runner", [*first, "pipeline.torch_profiler.output.prediction.enable=true",
                                         "dataset/sampling@dataset.sampling=default", *sampling, *off], {"static_analysis", "native", "torch_profiler"}),
                 ("deep_profile_runner", ["pipeline.nsys.enable=true", "pipeline.ncu.enable=false", "pipeline.static_analysis.enable=false"], {"native", "nsys"}),
                 ("direct_inference_runner", [subset, "device=cuda:0", "pipeline.direct_inference.enable=true", "pipeline.torch_profiler.enable=false",
                                              "pipeline.static_analysis.enable=false", *off, *sampling, "infer.max_new_tokens=8192",
                                              "pipeline.direct_inference.output.prediction.enable=true",
                                              "pipeline.direct_inference.output.visualization.enable=true"], {"direct_inference"}))
        self.tree(files | {f"../data/pages/images/{p}": "" for p in pages})
        mine = ["++workload.kind=hf", f"++workload.program={self.cwd}/p.py", f"++workload.python={sys.executable}", "++model.path=null", "++model.config={}"]
        for runner, words, stages in tasks:
            with self.subTest(words=words):
                done, others = self.plan("--config-name", runner, *words, *mine)
                others = [line for line in others if "'pipeline.workload'" not in line]  # a key of the tree's own
                self.assertEqual((done.returncode, others), (0, []), done.stderr)
                planned = set(re.findall(r"(?m)^# (\w+): ", done.stdout))
                self.assertEqual(planned | {"direct_inference"}, stages | {"direct_inference"})  # on in this tree's own config
        done = self.lpo("run", "--config-dir", "conf", "--config-name", "direct_inference_runner", *tasks[-1][1], *mine, "-o", "kept",
                        env={"KEEP": self.cwd})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "kept", "inputs.yaml"), encoding="utf-8") as f:
            self.assertEqual(re.findall(r"page_\d\.png", f.read()), pages)
        with open(os.path.join(self.cwd, "settings.json"), encoding="utf-8") as f:
            self.assertEqual(at(json.load(f), "infer.max_new_tokens"), 8192)

    def test_an_unknown_key_is_a_warning(self) -> None:
        self.tree({"config.yaml": "pipeline: {nsys: {enabel: true, mine: 1}}\nmy_own: {anything: 1}\nworkload: {kind: toy}\n"})
        done, others = self.plan()
        self.assertEqual((done.returncode, len(others)), (0, 2), others)
        self.assertIn("did you mean 'pipeline.nsys.enable'?", others[0])
        self.assertEqual(self.plan("--strict")[0].returncode, 2)
        self.assertEqual(self.plan("pipeline.nsys.nonsense=1")[0].returncode, 2)  # Hydra's own rule

    def test_what_a_file_says_last_holds(self) -> None:
        """Old and new spellings of one key, in the order of the files; the command line after them."""
        files = {"profiling/ncu/own.yaml": NCU, "profiling/torch/own.yaml": "enabled: true\n"}
        lists = "defaults:\n  - profiling/ncu@pipeline.ncu: own\n  - profiling/torch@pipeline.torch_profiler: own\n  - _self_\n"
        for name, text, words, ncu_set, torch in (
                ("a preset's", "pipeline: {x: 1}\n", [], "roofline", True),
                ("today's word over an older preset", "pipeline: {ncu: {ncu_cli: {set: full}}, torch_profiler: {enable: false}}\n", [], "full", False),
                ("an older word after it", "pipeline: {ncu: {set: basic}}\n", [], "basic", True),
                ("the command line's", "pipeline: {ncu: {set: basic}}\n", ["pipeline.ncu.ncu_cli.set=full"], "full", True),
                ("the command line's older word", "pipeline: {ncu: {set: basic}}\n", ["pipeline.ncu.set=full", "torch_profiler.enabled=false"], "full", False)):
            with self.subTest(name), tempfile.TemporaryDirectory() as self.cwd:
                self.tree(files | {"config.yaml": lists + text})
                done, _ = self.plan("pipeline.ncu.enable=true", "++workload.kind=command",
                                    f"++workload.argv=[{sys.executable},-c,pass]", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                argv = shlex.split(next(line for line in done.stdout.splitlines() if "--set" in line))
                self.assertEqual(argv[argv.index("--set") + 1], ncu_set)
                self.assertEqual("# torch_profiler: torch profiler" in done.stdout, torch)


class Printed(Trees):
    def test_hydras_cases_by_the_command(self) -> None:
        """lpo config --config-dir: what Hydra printed, or exit 2 where it failed."""
        for path in sorted(glob.glob(os.path.join(SOURCE, "tests/data/hydra/cases-*.json"))):
            with open(path, encoding="utf-8") as f:
                data = json.load(f)
            for name, files in data.get("trees", {}).items():
                with self.subTest(tree=name), tempfile.TemporaryDirectory() as folder:
                    self.cwd = os.path.realpath(folder)
                    self.make(files)
                    wrong = [case["id"] for case in data["cases"] if case.get("tree") == name and case["kind"] == "compose"
                             and not self.holds(case)]
                    self.assertEqual(wrong, [])

    def make(self, files) -> None:
        for name, text in files.items():
            path = os.path.join(self.cwd, name)
            os.makedirs(path if name.endswith("/") else os.path.dirname(path), exist_ok=True)
            if not name.endswith("/"):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)

    def holds(self, case) -> bool:
        name = ["--config-name", case["config_name"]] if case.get("config_name") else []
        env = {"HOME": "/home/user", "LANG": "C.UTF-8", "LPO_JOB_NAME": "app", **case.get("env", {})}
        done = self.lpo("config", "--config-dir", "conf", *name, "--", *case["overrides"], env=env)
        if case["expect"]["compose"] != "ok":
            return done.returncode == 2
        want = re.escape(case["expect"]["yaml"].replace("{{CWD}}", self.cwd))
        return re.fullmatch(re.sub(r"\\\{\\\{NOW:.*?\\\}\\\}", ".*", want), done.stdout, re.S) is not None


if __name__ == "__main__":
    tap.main()
