# SPDX-License-Identifier: Apache-2.0
"""hf_generate.py from its settings file to its output files, on real torch and a stand-in transformers."""
from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE / "standin"), str(HERE.parent.parent / "workloads")]

import tap  # noqa: E402
import torch_python  # noqa: E402

torch_python.become()  # ends here as skipped where no interpreter has torch

import torch  # noqa: E402
import transformers  # noqa: E402

import hf_generate  # noqa: E402

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 300, "hidden_size": 32,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48}
LLAVA = {"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava", "image_token_index": 299,
         "text_config": LLAMA, "vision_config": {"model_type": "clip_vision_model", "image_size": 28, "patch_size": 7}}
CLIP = {"architectures": ["CLIPVisionModel"], "model_type": "clip_vision_model", "hidden_size": 16, "image_size": 28,
        "patch_size": 7}


class Run:
    """One run of the program in a folder of its own."""

    def __init__(self, config=None, env=None, files=None, model_path=None, **sections):
        self.folder = tempfile.TemporaryDirectory(prefix="lpo-hf-test-")
        self.root = Path(self.folder.name)
        (self.root / "model").mkdir()
        if config is not None:
            (self.root / "model" / "config.json").write_text(json.dumps(config))
        for name, text in (files or {}).items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        text = json.dumps(self.settings(model_path, sections)).replace("@", str(self.root))
        (self.root / "settings.json").write_text(text)
        words = ["--settings", str(self.root / "settings.json"), "--metrics", str(self.root / "metrics.json"),
                 "--predictions", str(self.root / "predictions.jsonl")]
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, env or {}), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.code = hf_generate.run(words)
        self.out, self.err = out.getvalue(), err.getvalue().splitlines()

    def settings(self, model_path, sections):
        base = {"model": {"name": "small", "path": model_path or str(self.root / "model")},
                "infer": {"prompt_tokens": 6, "max_new_tokens": 4, "batch_size": 1, "seed": 3},
                "run": {"device": "cpu", "repeats": 2, "warmup": 1}, "workload": {"hf": {"dtype": "float32"}}}
        for key, value in sections.items():
            base.setdefault(key, {}).update(value)
        return base

    @property
    def metrics(self):
        return json.loads((self.root / "metrics.json").read_text())

    @property
    def predictions(self):
        return [json.loads(line) for line in (self.root / "predictions.jsonl").read_text().splitlines()]


class TextModel(unittest.TestCase):
    def test_random_weights_from_a_config_alone(self):
        run = Run(LLAMA, infer={"batch_size": 3})
        self.assertEqual(run.code, 0, run.err)
        m = run.metrics
        self.assertEqual((m["schema"], m["workload"]), ("lpo.workload_metrics/1", "hf_generate"))
        self.assertEqual(m["model"]["architecture"], "LlamaForCausalLM")
        self.assertTrue(m["model"]["random_weights"])
        self.assertEqual(len(m["samples"]), 2)
        for sample in m["samples"]:
            self.assertEqual((sample["batch"], sample["prompt_tokens"], sample["tokens"]), (3, 18, 12))
            self.assertEqual(len(sample["inter_token_ms"]), 3)
            self.assertAlmostEqual(sum(sample["inter_token_ms"]), sample["decode_ms"], places=6)
            self.assertLessEqual(sample["prefill_ms"], sample["ttft_ms"])
            self.assertAlmostEqual(sample["tokens_per_s"], 9e3 / sample["decode_ms"], places=3)
        self.assertEqual(m["aggregate"]["inter_token_ms"]["count"], 6)
        self.assertEqual([p["sequence"] for p in run.predictions], [0, 1, 2])
        self.assertTrue(all(len(p["tokens"]) == 4 for p in run.predictions))

    def test_same_seed_same_tokens(self):
        one, again = Run(LLAMA), Run(LLAMA)
        self.assertEqual(one.predictions, again.predictions)
        other = Run(LLAMA, infer={"seed": 4})
        self.assertNotEqual(one.predictions[0]["tokens"], other.predictions[0]["tokens"])

    def test_a_config_file_of_any_name(self):
        run = Run(files={"model/tiny.json": json.dumps(LLAMA)}, model_path="@/model/tiny.json")
        self.assertEqual(run.code, 0, run.err)

    def test_ranges_that_a_tool_sees(self):
        recorder = os.environ.get("LPO_TEST_RECORDER")
        if not recorder:
            self.skipTest("LPO_TEST_RECORDER is not set")
        log = tempfile.NamedTemporaryFile(delete=False)
        self.addCleanup(os.unlink, log.name)
        run = Run(LLAMA, env={"NVTX_INJECTION64_PATH": recorder, "LPO_TEST_NVTX_LOG": log.name},
                  workload={"hf": {"dtype": "float32", "ranges": "modules"}})
        self.assertEqual(run.code, 0, run.err)
        seen = Counter(Path(log.name).read_text().splitlines())
        self.assertEqual((seen["load"], seen["warmup"], seen["prefill"], seen["decode"], seen["decode/step"]),
                         (1, 1, 2, 2, 6))
        self.assertEqual(seen["decode/step/layer1/attn"], 6)
        self.assertEqual(seen["prefill/layer0/mlp"], 2)
        self.assertEqual(seen["decode/step/lm_head"], 6)
        self.assertNotIn("!pop", seen)
        self.assertFalse([path for path in seen if path.startswith("warmup/")])

    def test_prompts_from_files_with_one_bad_sample(self):
        files = {"data/a.txt": "hello", "data/b.txt": "a longer prompt", "data/empty.txt": "",
                 "data/list": "a.txt\nmissing.txt\nempty.txt\nb.txt\n", "model/tokenizer.json": "{}"}
        run = Run(LLAMA, files=files, infer={"batch_size": 4},
                  dataset={"root": "@/data", "subset_filelist": "@/data/list"})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(len(run.err), 2, run.err)
        self.assertIn("'missing.txt': FileNotFoundError", run.err[0])
        self.assertIn("'empty.txt': ValueError: the file has no text", run.err[1])
        self.assertEqual([f["sample"] for f in run.metrics["failures"]], ["missing.txt", "empty.txt"])
        self.assertEqual([p["sample"] for p in run.predictions], ["a.txt", "b.txt"])
        self.assertEqual(run.metrics["samples"][0]["prompt_tokens"], 6 + 16)
        self.assertTrue(all(isinstance(p["text"], str) for p in run.predictions))
        self.assertEqual(run.predictions[0]["tokens"], self.alone("hello"))
        self.assertEqual(run.predictions[1]["tokens"], self.alone("a longer prompt"))

    def alone(self, text):
        """Tokens of a prompt run by itself: padding in a batch must not change them."""
        run = Run(LLAMA, files={"data/x.txt": text, "model/tokenizer.json": "{}"},
                  dataset={"root": "@/data", "fallback_patterns": ["*.txt"]})
        self.assertEqual(run.code, 0, run.err)
        return run.predictions[0]["tokens"]

    def test_a_sample_out_of_memory_and_the_others_go_on(self):
        files = {"data/a.txt": "12345", "data/b.txt": "1234567"}
        run = Run(LLAMA, env={"STANDIN_FAIL_LENGTH": "5"}, files=files,
                  dataset={"root": "@/data", "fallback_patterns": ["*.txt"]})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.err, ["hf_generate: sample 'a.txt': out of memory on cpu; lower infer.batch_size or "
                                   "infer.prompt_tokens"])
        self.assertEqual({s["sample"] for s in run.metrics["samples"]}, {"b.txt"})

    def test_prompts_as_json(self):
        files = {"data/a.json": json.dumps({"tokens": [5, 6, 7]}), "data/b.json": json.dumps({"prompt": "abc"}),
                 "data/c.json": "[1]", "data/d.json": json.dumps({"tokens": [5, 900]})}
        run = Run(LLAMA, files=files, dataset={"root": "@/data", "fallback_patterns": ["*.json"]})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual([p["prompt_tokens"] for p in run.predictions], [[5, 6, 7], [97, 98, 99]])
        self.assertEqual([f["sample"] for f in run.metrics["failures"]], ["c.json", "d.json"])

    def test_all_samples_fail(self):
        run = Run(LLAMA, env={"STANDIN_FAIL_LENGTH": "6"})
        self.assertEqual(run.code, 1)
        self.assertEqual(len(run.err), 2, run.err)
        self.assertEqual(run.metrics["aggregate"]["prefill_ms"], None)

    def test_sampling_is_seeded(self):
        infer = {"temperature": 1.0, "top_k": 20, "max_new_tokens": 12}
        self.assertEqual(Run(LLAMA, infer=infer).predictions, Run(LLAMA, infer=infer).predictions)

    def test_weights_of_the_folder_are_loaded(self):
        made = Run(LLAMA)
        torch.manual_seed(9)
        model = transformers.LlamaForCausalLM(transformers.Config(LLAMA))
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(LLAMA))
            torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"))
            loaded = Run(model_path=folder)
            forced = Run(model_path=folder, workload={"hf": {"dtype": "float32", "random_weights": True}})
        self.assertEqual(loaded.code, 0, loaded.err)
        self.assertFalse(loaded.metrics["model"]["random_weights"])
        self.assertNotEqual(loaded.predictions, made.predictions)
        self.assertEqual(forced.predictions, made.predictions)


class ToyModel(unittest.TestCase):
    def test_toy_llm_and_torch_choose_the_same_tokens(self):
        program = Path(os.environ.get("LPO_BUILD_ROOT", "")) / "workloads" / "toy_llm"
        if not program.exists():
            self.skipTest("toy_llm is not built here")
        with tempfile.TemporaryDirectory() as folder:
            words = ["--layers", "3", "--hidden", "64", "--heads", "4", "--kv-heads", "2", "--ffn", "96", "--vocab", "200",
                     "--prompt-tokens", "12", "--max-new-tokens", "16", "--repeats", "1", "--batch", "2"]
            subprocess.run([str(program), *words, "--write-model", f"{folder}/model", "--predictions", f"{folder}/p"],
                           check=True, stdout=subprocess.DEVNULL)
            lines = [json.loads(line) for line in Path(folder, "p").read_text().splitlines()]
            files = {f"data/{i}.json": json.dumps({"tokens": line["prompt_tokens"]}) for i, line in enumerate(lines)}
            run = Run(files=files, model_path=f"{folder}/model", infer={"max_new_tokens": 16, "batch_size": 2},
                      dataset={"root": "@/data", "fallback_patterns": ["*.json"]})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual([p["tokens"] for p in run.predictions], [line["tokens"] for line in lines])


class VisionModel(unittest.TestCase):
    def test_images_and_text(self):
        recorder = os.environ.get("LPO_TEST_RECORDER", "")
        log = tempfile.NamedTemporaryFile(delete=False)
        self.addCleanup(os.unlink, log.name)
        run = Run(LLAVA, env={"NVTX_INJECTION64_PATH": recorder, "LPO_TEST_NVTX_LOG": log.name},
                  workload={"hf": {"dtype": "float32", "ranges": "stages"}})
        self.assertEqual(run.code, 0, run.err)
        sample = run.metrics["samples"][0]
        self.assertEqual(sample["prompt_tokens"], 16 + len("Describe the image."))
        seen = Counter(Path(log.name).read_text().splitlines())
        if recorder:
            self.assertEqual((seen["prefill/clip"], seen["prefill/projector"]), (2, 2))
            self.assertFalse([path for path in seen if "layer" in path or path.startswith("decode/step/")])

    def test_an_encoder_has_no_decode(self):
        run = Run(CLIP, infer={"batch_size": 2})
        self.assertEqual(run.code, 0, run.err)
        sample = run.metrics["samples"][0]
        self.assertEqual((sample["batch"], sample["tokens"], sample["decode_ms"], sample["ttft_ms"]),
                         (2, 0, None, None))
        self.assertGreater(sample["prefill_ms"], 0)
        self.assertEqual(run.predictions, [])


class WrongInput(unittest.TestCase):
    def test_one_line_and_a_code(self):
        hf = {"dtype": "float32"}
        rows = [
            (dict(config=None), 2, "has no config.json"),
            (dict(config=LLAMA, model_path="/nonexistent/x"), 2, "neither a folder nor a file"),
            (dict(config=LLAMA, run={"device": "cuda:0"}), 3, "sees no CUDA device"),
            (dict(config=LLAMA, run={"device": "gpu"}), 2, "run.device is 'gpu'"),
            (dict(config=dict(LLAMA, architectures=["NoSuchModel"])), 2, "has no model for ['NoSuchModel']"),
            (dict(config=LLAMA, files={"list": ""}, dataset={"subset_filelist": "@/list"}), 2, "lists no sample"),
            (dict(config=LLAMA, workload={"hf": dict(hf, compile=True)}), 3, "needs torch 2"),
        ]
        for arguments, code, says in rows:
            if "compile" in str(arguments) and hasattr(torch, "compile"):
                continue
            with self.subTest(says):
                run = Run(**arguments)
                self.assertEqual((run.code, len(run.err)), (code, 1), run.err)
                self.assertIn(says, run.err[0])

    def test_graph_without_cuda_is_a_note(self):
        run = Run(LLAMA, workload={"hf": {"dtype": "float32", "cuda_graph": True}})
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("no CUDA device", run.metrics["notes"][0])


if __name__ == "__main__":
    tap.main()
