# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-OCR: our own model of it, its inputs, and `lpo run workload=dsocr`, on a tiny config and the CPU."""
from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent / "workloads")]

import tap  # noqa: E402
import torch_python  # noqa: E402

torch_python.become()  # ends here as skipped where no interpreter has torch

import torch  # noqa: E402

import hf_generate  # noqa: E402
from lpo_hf import ocr_inputs  # noqa: E402
from lpo_hf.inputs import Encoder  # noqa: E402
from lpo_hf.ocr_model import DeepseekOcr, OcrConfig  # noqa: E402

LPO = os.environ.get("LPO_BIN", "")
TEXT = {"model_type": "deepseek_v2", "use_mla": False, "vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 48, "first_k_dense_replace": 1,
        "moe_intermediate_size": 16, "n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2,
        "max_position_embeddings": 8192, "bos_token_id": 0, "eos_token_id": 1}
CONFIG = {"architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2", "torch_dtype": "float32",
          "language_config": TEXT, "projector_config": {"input_dim": 48, "n_embed": 32},
          "vision_config": {"image_size": 128, "width": {
              "sam_vit_b": {"width": 32, "layers": 2, "heads": 2, "global_attn_indexes": [1],
                            "downsample_channels": [16, 24]},
              "clip-l-14-224": {"width": 24, "layers": 2, "heads": 2, "image_size": 224, "patch_size": 14}}}}
PARAMETERS = 909584  # `lpo analyze` counts the same from this config


class Page:
    """What the program asks of a Pillow image."""

    def __init__(self, width, height):
        self.width, self.height = width, height

    def tobytes(self):
        return bytes(range(256)) * (self.width * self.height * 3 // 256) + bytes(self.width * self.height * 3 % 256)


class Run:
    """One run of the program in a folder of its own; `pages` are the sizes of the images by name."""

    def __init__(self, pages=None, files=None, config=CONFIG, model=None, **sections):
        self.folder = tempfile.TemporaryDirectory(prefix="lpo-dsocr-test-")
        self.root = Path(self.folder.name)
        for name, text in dict(files or {}, **{f"data/images/{name}": "" for name in pages or {}}).items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        base = {"model": model or {"name": "tiny", "path": None, "config": config},
                "infer": {"prompt_tokens": 12, "max_new_tokens": 3, "image_size": 128, "prompt": "<image>\nread"},
                "run": {"device": "cpu", "repeats": 2, "warmup": 1}, "workload": {"hf": {"dtype": "float32"}},
                "dataset": {"annotations": "OmniDocBench.json", "fallback_patterns": ["images/*.jpg"]}}
        for key, value in sections.items():
            base.setdefault(key, {}).update(value)
        (self.root / "settings.json").write_text(json.dumps(base).replace("@", str(self.root)))
        words = [f"--{name}={self.root / file}" for name, file in
                 (("settings", "settings.json"), ("metrics", "metrics.json"), ("predictions", "predictions.jsonl"))]
        out, err = io.StringIO(), io.StringIO()

        def opened(_encoder, sample):
            return Page(*pages[sample.path.name])

        with mock.patch.object(Encoder, "_image", opened), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            self.code = hf_generate.run(words)
        self.err = err.getvalue()

    @property
    def metrics(self):
        return json.loads((self.root / "metrics.json").read_text())


class Model(unittest.TestCase):
    def test_parameters_are_those_of_the_config(self):
        model = DeepseekOcr(OcrConfig(CONFIG))
        self.assertEqual(sum(p.numel() for p in model.parameters()), PARAMETERS)

    def test_a_cache_changes_nothing(self):
        torch.manual_seed(1)
        model = DeepseekOcr(OcrConfig(CONFIG)).eval()
        ids = torch.randint(0, 299, (2, 7))
        with torch.inference_mode():
            whole = model(ids).logits
            part = model(ids[:, :5])
            rest = model(ids[:, 5:6], past_key_values=part.past_key_values)
            last = model(ids[:, 6:], past_key_values=rest.past_key_values)
        self.assertTrue(torch.allclose(whole[:, 5], rest.logits[:, -1], atol=1e-4))
        self.assertTrue(torch.allclose(whole[:, 6], last.logits[:, -1], atol=1e-4))

    def test_padding_changes_nothing(self):
        torch.manual_seed(2)
        model = DeepseekOcr(OcrConfig(CONFIG)).eval()
        ids = torch.randint(0, 299, (1, 5))
        keep = torch.tensor([[0, 0, 1, 1, 1, 1, 1]])
        padded = torch.cat([torch.zeros(1, 2, dtype=torch.long), ids], 1)
        with torch.inference_mode():
            alone = model(ids).logits[:, -1]
            beside = model(padded, attention_mask=keep, position_ids=(keep.cumsum(-1) - 1).clamp(min=0)).logits[:, -1]
        self.assertTrue(torch.allclose(alone, beside, atol=1e-4))

    def test_the_page_is_seen(self):
        torch.manual_seed(3)
        model = DeepseekOcr(OcrConfig(CONFIG)).eval()
        count = ocr_inputs.image_tokens(128, 64, 2, 1)
        ids, at = torch.zeros(1, count + 2, dtype=torch.long), torch.tensor([[True] * count + [False] * 2])
        crops, whole = torch.randn(2, 3, 64, 64), torch.randn(1, 3, 128, 128)
        given = dict(images_seq_mask=at, images_spatial_crop=torch.tensor([[2, 1]]))
        with torch.inference_mode():
            one = model(ids, images=[(crops, whole)], **given).logits
            same = model(ids, images=[(crops, whole)], **given).logits
            other = model(ids, images=[(crops, whole * 0)], **given).logits
        self.assertTrue(torch.equal(one, same))
        self.assertFalse(torch.allclose(one, other))


class Shapes(unittest.TestCase):
    def test_tokens_of_a_page(self):
        # the model's own sizes: 1024 alone is 16 rows of 16 and a newline, and a separator
        self.assertEqual(ocr_inputs.image_tokens(1024, 640, 1, 1), 273)
        self.assertEqual(ocr_inputs.image_tokens(1280, 640, 1, 1), 421)
        self.assertEqual(ocr_inputs.image_tokens(1024, 640, 2, 3), 273 + 30 * 21)

    def test_crops_follow_the_page(self):
        for width, height, want in ((600, 640, (1, 1)), (1280, 640, (2, 1)), (1170, 1654, (2, 3)),
                                    (2000, 2000, (3, 3)), (700, 700, (2, 2)), (900, 8000, (1, 9))):
            self.assertEqual(ocr_inputs.grid_of(width, height, 640), want, (width, height))


class Program(unittest.TestCase):
    def test_synthetic_pages_without_transformers(self):
        with mock.patch.dict(sys.modules, {"transformers": None}):
            run = Run(infer={"batch_size": 2})
        self.assertEqual(run.code, 0, run.err)
        m = run.metrics
        self.assertEqual(m["model"]["parameters"], PARAMETERS)
        self.assertTrue(m["model"]["random_weights"])
        self.assertEqual([(s["batch"], s["prompt_tokens"], s["tokens"]) for s in m["samples"]], [(2, 24, 6)] * 2)

    def test_crops_of_a_synthetic_page(self):
        count = ocr_inputs.image_tokens(128, 64, 2, 3)
        run = Run(infer={"crop_mode": True, "crop_size": 64, "prompt_tokens": count + 4})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.metrics["samples"][0]["prompt_tokens"], count + 4)

    def test_pages_of_the_list_in_its_order(self):
        pages = {"b.jpg": (100, 50), "a.jpg": (64, 64)}
        listed = json.dumps([{"page_info": {"image_path": name}} for name in pages])
        run = Run(pages, {"data/OmniDocBench.json": listed},
                  dataset={"root": "@/data", "sampling": {"num_samples_per_epoch": 2}})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual([s["sample"] for s in run.metrics["samples"]],
                         ["images/b.jpg"] * 2 + ["images/a.jpg"] * 2)
        # bos, 2 rows of 2 and a newline, a separator, and "\nread" as bytes
        self.assertEqual(run.metrics["samples"][0]["prompt_tokens"], 1 + 7 + 5)

    def test_patterns_without_a_list_and_pages_of_two_shapes_in_a_batch(self):
        run = Run({"a.jpg": (64, 64), "b.jpg": (128, 64)}, dataset={
            "root": "@/data", "sampling": {"num_samples_per_epoch": 2}},
            infer={"batch_size": 2, "crop_mode": True, "crop_size": 64})
        self.assertEqual(run.code, 0, run.err)
        one, two = ocr_inputs.image_tokens(128, 64, 1, 1), ocr_inputs.image_tokens(128, 64, 2, 1)
        self.assertEqual(run.metrics["samples"][0]["prompt_tokens"], one + two + 2 * 6)

    def test_what_is_wrong_is_said(self):
        weights = {"m/config.json": json.dumps(CONFIG), "m/model.safetensors": ""}
        for given, text in (
                (dict(infer={"prompt_tokens": 7}), "a page is 7 tokens"),
                (dict(infer={"image_size": 100}), "infer.image_size is 100; it must be a multiple of 64"),
                (dict(config={"model_type": "llama"}), "model.config is not that of DeepSeek-OCR"),
                (dict(config={**CONFIG, "projector_config": None}), "has no 'projector_config'"),
                (dict(files=weights, model={"path": "@/m"}), "needs workload.hf.trust_remote_code=true"),
                (dict(files={"data/OmniDocBench.json": "{}x"}, dataset={"root": "@/data"}), "is not a list of pages")):
            run = Run(**given)
            self.assertEqual(run.code, 2, run.err)
            self.assertIn(text, run.err)
        forced = Run(files=weights, model={"path": "@/m"}, workload={"hf": {"dtype": "float32", "random_weights": True}})
        self.assertEqual(forced.code, 0, forced.err)


def words_of(config, prefix="model.config"):
    """The config as overrides."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from words_of(value, f"{prefix}.{key}")
        elif key not in ("architectures", "torch_dtype"):
            yield f"{prefix}.{key}={str(value).replace(' ', '').replace('True', 'true').replace('False', 'false')}"


PNG = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + b"IHDR" + (1170).to_bytes(4, "big") + (1654).to_bytes(4, "big")
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xdb\x00\x03c\xff\xc2\x00\x11\x08" + (700).to_bytes(2, "big") \
    + (500).to_bytes(2, "big") + b"\x03"


@unittest.skipIf(not LPO, "LPO_BIN is not set")
class Inputs(unittest.TestCase):
    """inputs.yaml lists the samples that the program takes, from a folder too."""

    def inputs(self, files, *words):
        with tempfile.TemporaryDirectory(prefix="lpo-inputs-") as scratch:
            for name, content in files.items():
                path = Path(scratch) / "data" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            done = subprocess.run([LPO, "run", "workload=command", "workload.argv=[true]", "dataset=omnidocbench",
                                   "dataset.root=data", "hydra.run.dir=out", "pipeline.native.enable=false",
                                   "pipeline.static_analysis.enable=false", *words], cwd=scratch, env=os.environ | {"LPO_LIBCUDA": "/no/driver"},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            text = (Path(scratch) / "out" / "inputs.yaml").read_text()
        lines = [line.strip(" -") for line in text[text.index("\nsamples"):].splitlines() if line]
        return [line for line in lines if line != "samples:"]

    def test_patterns_sizes_and_broken_files(self):
        files = {"images/b.jpg": JPEG, "images/a.png": PNG, "images/cut.jpg": JPEG[:15], "images/.c.jpg": JPEG,
                 "images/deep/d.jpg": JPEG, "images/e.txt": b"x"}
        all_of_them = "dataset.sampling.num_samples_per_epoch=null"
        self.assertEqual(self.inputs(files, all_of_them), [
            "path: images/a.png", "bytes: 24", "width: 1170", "height: 1654",
            "path: images/b.jpg", f"bytes: {len(JPEG)}", "width: 500", "height: 700",
            "path: images/cut.jpg", "bytes: 15"])
        self.assertEqual(self.inputs(files)[0::4], ["path: images/a.png"])
        deep = self.inputs(files, all_of_them, "dataset.fallback_patterns=['**/*.jpg']")
        self.assertEqual([line for line in deep if line.startswith("path")],
                         ["path: images/b.jpg", "path: images/cut.jpg", "path: images/deep/d.jpg"])

    def test_the_list_of_pages_and_a_shuffle(self):
        pages = json.dumps([{"page_info": {"image_path": name}} for name in ("z.jpg", "a.jpg")]).encode()
        files = {"OmniDocBench.json": pages, "images/a.jpg": JPEG, "images/z.jpg": PNG}
        self.assertEqual(self.inputs(files), ["path: images/z.jpg", "bytes: 24", "width: 1170", "height: 1654"])
        shuffled = self.inputs(files, "dataset/sampling=random")
        self.assertIn("path: images/a.jpg", shuffled)
        self.assertIn("samples_shuffled: true", shuffled)
        self.assertEqual(self.inputs(dict(files, **{"OmniDocBench.json": b"["})), ["samples: null"])


@unittest.skipIf(not LPO, "LPO_BIN is not set")
class Pipeline(unittest.TestCase):
    def test_lpo_run(self):
        with tempfile.TemporaryDirectory(prefix="lpo-dsocr-run-") as scratch:
            folder = Path(scratch) / "out"
            words = [LPO, "run", "workload=dsocr", f"workload.python={sys.executable}", f"hydra.run.dir={folder}",
                     "run.device=cpu", "run.repeats=1", "workload.hf.dtype=float32", "infer.image_size=128",
                     "infer.prompt_tokens=12", "infer.max_new_tokens=3", "pipeline.native.enable=false",
                     "pipeline.torch_profiler.enable=true", *words_of(CONFIG)]
            done = subprocess.run(words, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            metrics = json.loads((folder / "workload" / "direct_inference" / "metrics.json").read_text())
            self.assertEqual(metrics["samples"][0]["prompt_tokens"], 12)
            static = json.loads((folder / "static_analysis" / "static_compute.json").read_text())
            self.assertEqual(static["parameters"]["total"], PARAMETERS)
            told = (folder / "report.md").read_text()
            for name in ("prefill", "sam", "clip", "projector", "decode"):
                self.assertIn(name, told)


    def vision(self, side):
        """FLOPs of the encoders for one square of `side` pixels."""
        with tempfile.TemporaryDirectory(prefix="lpo-dsocr-vision-") as scratch:
            (Path(scratch) / "config.json").write_text(json.dumps(CONFIG))
            done = subprocess.run([LPO, "analyze", "--json", "--image", str(side), scratch], stdout=subprocess.PIPE, check=True)
            return json.loads(done.stdout)["vision"]["flops"]

    def static(self, *words, **sizes):
        """The static analysis of pages of these sizes (none: synthetic ones), cut into squares of 64."""
        with tempfile.TemporaryDirectory(prefix="lpo-dsocr-static-") as scratch:
            for name, (width, height) in sizes.items():
                path = Path(scratch) / "data" / "images" / f"{name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(PNG[:16] + width.to_bytes(4, "big") + height.to_bytes(4, "big"))
            done = subprocess.run([LPO, "run", "workload=dsocr", "hydra.run.dir=out", "run.device=cpu", *words,
                                   *(["dataset.root=data"] if sizes else []), "infer.image_size=128", "infer.crop_size=64",
                                   "infer.crop_mode=true", "dataset.sampling.num_samples_per_epoch=null",
                                   "pipeline.native.enable=false", "pipeline.direct_inference.enable=false",
                                   "pipeline.torch_profiler.enable=false", *words_of(CONFIG)], cwd=scratch,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            out = json.loads((Path(scratch) / "out" / "static_analysis" / "static_compute.json").read_text())
        return out["vision"], done.stdout

    def test_the_parts_of_a_page_are_counted(self):
        for sizes, parts, exact in (({}, ocr_inputs.grid_of(1170, 1654, 64), True),  # a synthetic page
                                    ({"a": (128, 64), "b": (120, 60)}, (2, 1), True), ({"a": (64, 64)}, None, True),
                                    ({"a": (64, 64), "b": (128, 64), "c": (900, 8000)}, (2, 2), False)):
            with self.subTest(sizes):
                vision, said = self.static(**sizes)
                count = parts[0] * parts[1] if parts else 0
                self.assertEqual(vision.get("parts"), count or None)
                self.assertEqual(vision["flops"], self.vision(128) + count * self.vision(64))
                self.assertEqual("is not exact" in said, not exact)

    def test_static_analysis_of_real_pages(self):
        """As many tokens as the program itself makes of the same pages."""
        for crop, want in (("false", 7 + 6), ("true", 7 + 6 + (ocr_inputs.image_tokens(128, 64, 2, 3) - 7))):
            with tempfile.TemporaryDirectory(prefix="lpo-dsocr-static-") as scratch:
                (Path(scratch) / "data" / "images").mkdir(parents=True)
                (Path(scratch) / "data" / "images" / "a.png").write_bytes(PNG)
                (Path(scratch) / "data" / "images" / "b.jpg").write_bytes(JPEG[:15])  # broken: not counted
                words = [LPO, "run", "workload=dsocr", "hydra.run.dir=out", "run.device=cpu", "dataset.root=data",
                         "dataset.sampling.num_samples_per_epoch=null", "infer.image_size=128",
                         "infer.crop_size=64", f"infer.crop_mode={crop}",
                         "infer.prompt='<image>\\nread'", "pipeline.static_analysis.use_synthetic_inputs=false",
                         "pipeline.native.enable=false", "pipeline.direct_inference.enable=false",
                         "pipeline.torch_profiler.enable=false", *words_of(CONFIG)]
                words = [word.replace("\\n", "_") for word in words]
                done = subprocess.run(words, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stdout)
                static = (Path(scratch) / "out" / "static_analysis" / "static_compute.md").read_text()
                self.assertIn(f"prefill of {want} tokens", static)
                self.assertNotIn("not exact", done.stdout)  # the one page that can be read is counted as it is shown
                vision = json.loads((Path(scratch) / "out" / "static_analysis" / "static_compute.json").read_text())["vision"]
                self.assertEqual(vision["flops"], self.vision(128) + (6 * self.vision(64) if crop == "true" else 0))
                self.assertEqual(vision.get("parts"), 6 if crop == "true" else None)
                self.assertIn(f"1 real samples of {want} to {want} tokens", done.stdout)


if __name__ == "__main__":
    tap.main()
