# SPDX-License-Identifier: Apache-2.0
"""`lpo run` over each workload, from its command line to the files it leaves. No GPU needed."""
from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = HERE.parent.parent / "workloads"
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tap  # noqa: E402
import torch_python  # noqa: E402

LPO = os.environ.get("LPO_BIN", "")
PYTHON = torch_python.find()
QUIET = ["run.device=cpu", "pipeline.static_analysis.enable=false"]
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 300, "hidden_size": 32,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48,
         "max_position_embeddings": 1024}


class Pipeline:
    """One `lpo run` in a scratch folder, and its run folder."""

    def __init__(self, *words, env=None, files=None):
        self.scratch = tempfile.TemporaryDirectory(prefix="lpo-run-test-")
        root = Path(self.scratch.name)
        for name, text in (files or {}).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.folder = root / "out"
        words = [LPO, "run", f"hydra.run.dir={self.folder}", *QUIET, *words]
        done = subprocess.run(words, cwd=root, env=dict(os.environ, **(env or {})), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.code, self.out = done.returncode, done.stdout

    def metrics(self, stage):
        return json.loads((self.folder / "workload" / stage / "metrics.json").read_text())

    def visits(self):
        """Path to visits of the native trace, all processes together."""
        traces = [str(p) for p in (self.folder / "native").glob("*.lpot")]
        done = subprocess.run([LPO, "regions", "--json", *traces], stdout=subprocess.PIPE, text=True, check=True)
        scope = next(s for s in json.loads(done.stdout)["scopes"] if s["scope"] == "aggregate")
        return {r["path"]: r["visits"] for r in scope["regions"]}


# A collector built with a sanitizer wants its runtime loaded first, which Python did not do.
SANITIZED = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


def collector_loads() -> bool:
    """Can this Python load this build's collector? Not every sanitizer build's."""
    path = Path(os.environ.get("LPO_BUILD_ROOT", ".")) / "src" / "collect" / "liblpo-collect.so"
    code = f"import ctypes; ctypes.CDLL({str(path)!r})"
    return subprocess.run([PYTHON or sys.executable, "-c", code], env=dict(os.environ, **SANITIZED),
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class ToyTest(unittest.TestCase):
    def test_toy(self):
        run = Pipeline("model.layers=2", "infer.max_new_tokens=5", "run.repeats=2",
                       "run.representative_max_new_tokens=3")
        self.assertEqual(run.code, 0, run.out)
        direct, native = run.metrics("direct_inference"), run.metrics("native")
        self.assertEqual((direct["settings"]["max-new-tokens"], native["settings"]["max-new-tokens"]), (5, 3))
        self.assertEqual(len(direct["samples"]), 2)
        seen = run.visits()
        self.assertEqual((seen["load"], seen["warmup"], seen["prefill"], seen["decode"]), (1, 1, 2, 2))
        self.assertEqual(seen["decode/step/layer1/attn"], 4)
        self.assertNotIn("decode/step/layer2", seen)


@unittest.skipUnless(PYTHON, torch_python.REASON)
class TorchTest(unittest.TestCase):
    def test_hf(self):
        """the hf workload, with a stand-in for transformers"""
        if not collector_loads():
            self.skipTest("this build's collector cannot be loaded by Python (a sanitizer)")
        run = Pipeline("workload=hf", "model=hf", "model.path=model", f"workload.python={PYTHON}",
                       "workload.hf.dtype=float32", "workload.hf.ranges=modules", "infer.prompt_tokens=8",
                       "infer.max_new_tokens=4", "run.repeats=2",
                       env=dict(SANITIZED, PYTHONPATH=f"{HERE / 'standin'}:{WORKLOADS}"),
                       files={"model/config.json": json.dumps(LLAMA)})
        self.assertEqual(run.code, 0, run.out)
        self.assertEqual(run.metrics("direct_inference")["samples"][0]["tokens"], 4)
        seen = run.visits()
        self.assertEqual((seen["load"], seen["warmup"], seen["prefill"], seen["decode/step"]), (1, 1, 2, 6))
        self.assertEqual(seen["decode/step/layer0/attn"], 6)

    def test_torch_profiler_on_any_program(self):
        """lpo run -- python program, with torch.profiler put into it"""
        run = Pipeline("pipeline.torch_profiler.enable=true", "pipeline.native.enable=false",
                       "pipeline.direct_inference.enable=false", "--", PYTHON, str(WORKLOADS / "torch_decoder.py"))
        self.assertEqual(run.code, 0, run.out)
        trace, = (run.folder / "torch_profiler").glob("*.json.gz")
        events = json.load(gzip.open(trace))["traceEvents"]
        names = {e["name"] for e in events}
        self.assertTrue({"prefill", "decode", "step", "layer1", "aten::linear"} <= names)
        tables = (run.folder / "operators.md").read_text()
        self.assertIn("aten::linear", tables)

    def test_ranges_of_modules(self):
        """lpo run -- python program, with a range for each of its modules"""
        if not collector_loads():
            self.skipTest("this build's collector cannot be loaded by Python (a sanitizer)")
        program = "import torch\nn = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))\nfor _ in range(3): n(torch.ones(2))\n"
        run = Pipeline("pipeline.native.modules=true", "pipeline.native.modules_depth=2", "pipeline.torch_profiler.enable=false",
                       "pipeline.direct_inference.enable=false", "--", PYTHON, "-c", program, env=SANITIZED)
        self.assertEqual(run.code, 0, run.out)
        self.assertEqual({p: n for p, n in run.visits().items() if p != "(outside)"}, {"Sequential": 3, "Sequential/0": 3})

    def test_a_program_without_torch_is_told(self):
        """torch.profiler asked for, and the program never imports torch"""
        run = Pipeline("pipeline.torch_profiler.enable=true", "pipeline.native.enable=false",
                       "pipeline.direct_inference.enable=false", "--", PYTHON, "-c", "print(1)")
        self.assertEqual(run.code, 0, run.out)
        self.assertIn("the program never imported torch", run.out)

    def test_no_torch_is_one_clear_line(self):
        """an interpreter without torch: the stage fails, the run says why"""
        run = Pipeline("workload=hf", "model=hf", "model.path=model", f"workload.python={PYTHON}",
                       "pipeline.native.enable=false", env={"PYTHONPATH": "@blocked"},
                       files={"model/config.json": json.dumps(LLAMA), "@blocked/torch.py": "raise ImportError('gone')"})
        self.assertNotEqual(run.code, 0)
        text = (run.folder / "workload" / "direct_inference" / "stderr.log").read_text()
        self.assertIn("cannot import torch: ImportError: gone", text)
        self.assertEqual(len(text.splitlines()), 1)


if __name__ == "__main__":
    if not LPO:
        tap.skip_all("LPO_BIN is not set")
    tap.main()
