# SPDX-License-Identifier: Apache-2.0
"""A model folder with its own Python code: run by that code where it is trusted, and by nothing else. Prints TAP."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tap  # noqa: E402
import torch_python  # noqa: E402

torch_python.become()  # ends here as skipped where no interpreter has torch

import torch  # noqa: E402

TEXT = {"model_type": "deepseek_v2", "vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 1, "num_key_value_heads": 1, "intermediate_size": 32, "first_k_dense_replace": 1,
        "moe_intermediate_size": 16, "n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2}
CONFIG = {**TEXT, "architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2", "language_config": TEXT,
          "auto_map": {"AutoConfig": "modeling_tiny_ocr.DeepseekOCRConfig",
                       "AutoModel": "modeling_tiny_ocr.DeepseekOCRForCausalLM"},
          "projector_config": {"input_dim": 48, "n_embed": 32},
          "vision_config": {"image_size": 128, "width": {
              "sam_vit_b": {"width": 24, "layers": 1, "heads": 1, "global_attn_indexes": [0],
                            "downsample_channels": [16, 24]},
              "clip-l-14-224": {"width": 24, "layers": 1, "heads": 1, "image_size": 224, "patch_size": 14}}}}


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="lpo-remote-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.folder = self.root / "model"
        self.folder.mkdir()
        shutil.copy(HERE / "remote" / "modeling_tiny_ocr.py", self.folder)
        (self.folder / "config.json").write_text(json.dumps(CONFIG))

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join(str(p) for p in (HERE / "standin", ROOT / "workloads"))
        # a collector built with a sanitizer wants its runtime loaded first, which Python does not do
        return os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                             "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"} | more

    def save_weights(self) -> int:
        """Weights that the folder's own code made; their number."""
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import json, torch, modeling_tiny_ocr as m\n"
                "model = m.DeepseekOCRForCausalLM(m.DeepseekOCRConfig(json.load(open(sys.argv[1] + '/config.json'))))\n"
                "torch.save(model.state_dict(), sys.argv[1] + '/pytorch_model.bin')\n"
                "print(sum(p.numel() for p in model.parameters()))\n")
        done = subprocess.run([sys.executable, "-c", code, str(self.folder)], env=self.environment(), text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def generate(self, trust: bool, code: int = 0, **env: str) -> subprocess.CompletedProcess:
        settings = {"model": {"name": "tiny", "path": str(self.folder)},
                    "infer": {"prompt_tokens": 12, "max_new_tokens": 3, "image_size": 128, "prompt": "<image>\nread"},
                    "run": {"device": "cpu", "repeats": 2, "warmup": 1},
                    "workload": {"hf": {"dtype": "float32", "trust_remote_code": trust}}, "dataset": {}}
        (self.root / "settings.json").write_text(json.dumps(settings))
        done = subprocess.run([sys.executable, str(ROOT / "workloads" / "hf_generate.py"),
                               "--settings", str(self.root / "settings.json"),
                               "--metrics", str(self.root / "metrics.json")], env=self.environment(**env), text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def model(self) -> dict:
        return json.loads((self.root / "metrics.json").read_text())["model"]

    def test_its_weights_run_by_its_code(self) -> None:
        parameters = self.save_weights()
        self.generate(True)
        model = self.model()
        self.assertEqual((model["architecture"], model["parameters"], model["random_weights"]),
                         ("DeepseekOCRForCausalLM", parameters, False))
        samples = json.loads((self.root / "metrics.json").read_text())["samples"]
        self.assertEqual([(s["prompt_tokens"], s["tokens"]) for s in samples], [(12, 3)] * 2)

    def test_without_weights_they_are_random(self) -> None:
        self.generate(True)
        self.assertEqual((self.model()["architecture"], self.model()["random_weights"]), ("DeepseekOCRForCausalLM", True))

    def test_its_code_does_not_run_where_it_is_not_trusted(self) -> None:
        self.save_weights()
        with open(self.folder / "modeling_tiny_ocr.py", "a", encoding="utf-8") as f:
            f.write(f"open({str(self.root / 'ran')!r}, 'w')\n")
        done = self.generate(False, code=2)
        self.assertIn("workload.hf.trust_remote_code=true", done.stderr)
        self.assertFalse((self.root / "ran").exists())

    def test_its_parts_have_ranges(self) -> None:
        recorder = os.environ.get("LPO_TEST_RECORDER")
        if not recorder:
            self.skipTest("LPO_TEST_RECORDER is not set")
        self.generate(True, NVTX_INJECTION64_PATH=recorder, LPO_TEST_NVTX_LOG=str(self.root / "nvtx"))
        seen = Counter((self.root / "nvtx").read_text().splitlines())
        for path, visits in (("prefill", 2), ("prefill/sam", 2), ("prefill/clip", 2), ("prefill/projector", 2),
                             ("prefill/layer0", 2), ("decode", 2), ("decode/step", 4), ("decode/step/layer1", 4)):
            self.assertEqual(seen[path], visits, (path, seen))

    @unittest.skipIf(not os.environ.get("LPO_BIN"), "LPO_BIN is not set")
    def test_lpo_run(self) -> None:
        self.save_weights()
        words = [os.environ["LPO_BIN"], "run", "workload=dsocr", f"workload.python={sys.executable}", "run.device=cpu",
                 f"hydra.run.dir={self.root / 'out'}", f"model.path={self.folder}", "workload.hf.trust_remote_code=true",
                 "workload.hf.dtype=float32", "infer.image_size=128", "infer.prompt_tokens=12", "infer.max_new_tokens=3",
                 "run.repeats=1", "run.warmup=0"]
        done = subprocess.run(words, cwd=self.root, env=self.environment(), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        stages = {s["name"]: s["state"] for s in json.loads((self.root / "out" / "run.json").read_text())["stages"]}
        self.assertEqual({name: stages[name] for name in ("direct_inference", "native", "torch_profiler")},
                         dict.fromkeys(("direct_inference", "native", "torch_profiler"), "done"))
        report = (self.root / "out" / "report.md").read_text()
        for name in ("sam", "clip", "projector", "prefill", "decode"):
            self.assertRegex(report, rf"\b{name}\b")


if __name__ == "__main__":
    tap.main()
