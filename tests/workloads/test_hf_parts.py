# SPDX-License-Identifier: Apache-2.0
"""The parts of hf_generate.py that need no torch: settings, samples, statistics, NVTX, names."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent / "workloads")]

import tap  # noqa: E402
from lpo_hf import metrics, ranges, samples, settings  # noqa: E402
from lpo_hf.errors import UserError, memory_ran_out, one_line  # noqa: E402


def parsed(**sections):
    root = {"model": {"path": "/m"}}
    root.update(sections)
    return settings.parse(root)


class SettingsTest(unittest.TestCase):
    def test_defaults(self):
        s = parsed()
        self.assertEqual((s.max_new_tokens, s.repeats, s.warmup, s.dtype, s.ranges), (64, 1, 1, "bfloat16", "layers"))
        self.assertIsNone(s.dataset.root)

    def test_effective_wins(self):
        s = parsed(infer={"max_new_tokens": 64}, run={"repeats": 5}, effective={"max_new_tokens": 3, "repeats": 1})
        self.assertEqual((s.max_new_tokens, s.repeats), (3, 1))

    def test_run_filelist_wins(self):
        s = parsed(dataset={"root": "/d", "subset_filelist": "a"}, run={"dataset_subset_filelist": "b"})
        self.assertEqual(s.dataset.filelist, Path("b"))

    def test_wrong_values_name_their_key(self):
        rows = [
            ({"infer": {"batch_size": 0}}, "infer.batch_size"),
            ({"infer": {"batch_size": True}}, "infer.batch_size"),
            ({"infer": {"max_new_tokens": "8"}}, "infer.max_new_tokens"),
            ({"infer": {"temperature": -1}}, "infer.temperature"),
            ({"workload": {"hf": {"ranges": "all"}}}, "workload.hf.ranges"),
            ({"workload": {"hf": {"dtype": "int8"}}}, "workload.hf.dtype"),
            ({"workload": {"hf": {"random_weights": "yes"}}}, "workload.hf.random_weights"),
            ({"dataset": {"fallback_patterns": "*.txt"}}, "dataset.fallback_patterns"),
            ({"model": {}}, "model.path"),
        ]
        for sections, key in rows:
            with self.subTest(key), self.assertRaises(UserError) as caught:
                parsed(**sections)
            self.assertIn(key, str(caught.exception))
            self.assertEqual(caught.exception.code, 2)


class SamplesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        for name in ("b.txt", "a.txt", "sub/c.png", "sub/d.txt", "skip.md"):
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")

    def tearDown(self):
        self.folder.cleanup()

    def dataset(self, **changes):
        base = dict(root=self.root, filelist=None, patterns=("**/*.txt", "**/*.png"), epochs=1, per_epoch=None,
                    randomize=False, seed=0)
        base.update(changes)
        return settings.Dataset(**base)

    def names(self, **changes):
        return [s.name for s in samples.choose(self.dataset(**changes))]

    def test_patterns_in_order(self):
        self.assertEqual(self.names(), ["a.txt", "b.txt", "sub/c.png", "sub/d.txt"])

    def test_epochs_and_number(self):
        self.assertEqual(self.names(epochs=2, per_epoch=1), ["a.txt", "a.txt"])

    def test_shuffle_is_seeded_and_differs_by_epoch(self):
        once, again = self.names(randomize=True, epochs=8), self.names(randomize=True, epochs=8)
        self.assertEqual(once, again)
        epochs = [tuple(once[i:i + 4]) for i in range(0, 32, 4)]
        self.assertTrue(all(sorted(e) == sorted(epochs[0]) for e in epochs))
        self.assertGreater(len(set(epochs)), 1)
        self.assertNotEqual(once, self.names(randomize=True, epochs=8, seed=3))

    def test_file_list(self):
        listed = self.root / "list"
        listed.write_text("# comment\n\nsub/d.txt\nmissing.txt\n")
        self.assertEqual(self.names(filelist=listed), ["sub/d.txt", "missing.txt"])

    def test_empty_and_missing_lists(self):
        empty = self.root / "empty"
        empty.write_text("\n# nothing\n")
        for path, says in ((empty, "lists no sample"), (self.root / "none", "cannot read")):
            with self.subTest(says), self.assertRaisesRegex(UserError, says):
                self.names(filelist=path)

    def test_nothing_matches(self):
        with self.assertRaisesRegex(UserError, "no file under"):
            self.names(patterns=("*.wav",))

    def test_no_root(self):
        with self.assertRaisesRegex(UserError, "is not a folder"):
            self.names(root=self.root / "nowhere")

    def test_synthetic(self):
        self.assertEqual(self.names(root=None, epochs=2, per_epoch=2), [f"synthetic-{i}" for i in range(4)])

    def test_batches_keep_kinds_apart(self):
        groups = samples.batches(samples.choose(self.dataset()), 3)
        self.assertEqual([[s.name for s in g] for g in groups], [["a.txt", "b.txt"], ["sub/c.png"], ["sub/d.txt"]])


class MetricsTest(unittest.TestCase):
    def test_statistics(self):
        s = metrics.stats([5, 1, 4, 2, 3])
        self.assertEqual((s["count"], s["mean"], s["min"], s["max"], s["p50"]), (5, 3, 1, 5, 3))
        self.assertAlmostEqual(s["std"], 1.58113883)
        self.assertAlmostEqual(s["p90"], 4.6)
        self.assertAlmostEqual(s["p99"], 4.96)

    def test_one_value_has_no_spread_and_none_has_nothing(self):
        self.assertIsNone(metrics.stats([7])["std"])
        self.assertIsNone(metrics.stats([]))

    def test_rate_counts_decode_only(self):
        run = metrics.Measurement("s", 0, 2, 10, 8, 5.0, 5.5, 30.0, 36.0, [10.0, 10.0, 10.0])
        self.assertAlmostEqual(run.tokens_per_s, 200.0)
        self.assertIsNone(metrics.Measurement("s", 0, 2, 10, 2, 5.0, 5.5, None, 6.0).tokens_per_s)

    def test_one_line(self):
        self.assertEqual(one_line(ValueError("first\nsecond")), "ValueError: first")
        self.assertEqual(one_line(KeyError()), "KeyError")


class Module:
    """As much of nn.Module as naming looks at."""

    def __init__(self, kind="Module", **children):
        self.children = children
        self.__class__ = type(kind, (Module,), {})

    def named_children(self):
        return self.children.items()

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self.children.items():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)


def layers(count, **children):
    return Module("ModuleList", **{str(i): Module("Layer", **{n: Module() for n in children}) for i in range(count)})


class MemoryTest(unittest.TestCase):
    def test_out_of_memory_in_the_words_of_every_allocator(self):
        for error, want in (
            (RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB."), True),
            (RuntimeError("[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to "
                          "allocate 4000000000000 bytes. Error code 12 (Cannot allocate memory)"), True),
            (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."), True),
            (MemoryError(), True),
            (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        ):
            self.assertEqual(memory_ran_out(error), want, error)


class NamesTest(unittest.TestCase):
    def model(self):
        tower = Module("CLIPVisionModel", vision_model=Module(encoder=Module(layers=layers(1, self_attn=1, mlp=1))))
        moe = Module("ModuleList", **{"0": Module("Layer", mlp=Module(experts=Module("ModuleList", **{"0": Module()})),
                                                  self_attn=Module(), input_layernorm=Module())})
        inner = Module(vision_tower=tower, multi_modal_projector=Module(), language_model=Module(layers=moe))
        return Module(model=inner, lm_head=Module())

    def test_levels(self):
        names = ranges.region_names(self.model(), "modules")
        self.assertEqual(ranges.region_names(self.model(), "none"), {})
        self.assertEqual(ranges.region_names(self.model(), "stages"),
                         {"model.vision_tower": "clip", "model.multi_modal_projector": "projector"})
        self.assertEqual(names["model.language_model.layers.0"], "layer0")
        self.assertEqual(names["model.language_model.layers.0.self_attn"], "attn")
        self.assertEqual(names["model.language_model.layers.0.mlp"], "mlp")
        self.assertEqual(names["model.language_model.layers.0.input_layernorm"], "input_layernorm")
        self.assertEqual(names["model.vision_tower.vision_model.encoder.layers.0"], "layer0")
        self.assertEqual(names["lm_head"], "lm_head")
        self.assertNotIn("model.vision_tower.vision_model", names)
        self.assertNotIn("model.language_model.layers.0.mlp.experts.0", names)
        self.assertNotIn("model.language_model.layers.0.mlp", ranges.region_names(self.model(), "layers"))

    def test_sam_is_told_from_clip(self):
        model = Module(sam_model=Module(), vision_model=Module("CLIPVit"), projector=Module(),
                       vision_encoder=Module("SamVisionEncoder"))
        self.assertEqual(sorted(ranges.region_names(model, "stages").values()), ["clip", "projector", "sam", "sam"])


class NvtxTest(unittest.TestCase):
    def run_client(self, library):
        log = tempfile.NamedTemporaryFile(delete=False)
        self.addCleanup(os.unlink, log.name)
        code = ("from lpo_hf import nvtx\nc = nvtx.client()\nprint(c is not None)\n"
                "if c:\n c.push(b'a'); c.push('b\u00e9'.encode()); c.pop(); c.pop()\n")
        env = dict(os.environ, PYTHONPATH=str(HERE.parent.parent / "workloads"), LPO_TEST_NVTX_LOG=log.name)
        env.pop("NVTX_INJECTION64_PATH", None)
        if library:
            env["NVTX_INJECTION64_PATH"] = library
        done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, check=True, text=True)
        return done.stdout.strip(), Path(log.name).read_text(encoding="utf-8").splitlines()

    def test_ranges_reach_the_tool(self):
        recorder = os.environ.get("LPO_TEST_RECORDER")
        if not recorder:
            self.skipTest("LPO_TEST_RECORDER is not set")
        self.assertEqual(self.run_client(recorder), ("True", ["a", "a/b\u00e9"]))

    def test_no_tool_and_a_wrong_tool(self):
        self.assertEqual(self.run_client(None), ("False", []))
        self.assertEqual(self.run_client("/nonexistent.so"), ("False", []))
        self.assertEqual(self.run_client("libm.so.6"), ("False", []))


class ProgramTest(unittest.TestCase):
    def run_program(self, text):
        program = HERE.parent.parent / "workloads" / "hf_generate.py"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "settings.json"
            if text is not None:
                path.write_text(text)
            blocked = Path(folder) / "torch.py"
            blocked.write_text("raise ImportError('no torch today')\n")
            env = dict(os.environ, PYTHONPATH=folder)
            done = subprocess.run([sys.executable, str(program), "--settings", str(path)], env=env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stderr.splitlines()

    def test_one_line_and_a_code(self):
        rows = [
            (None, 2, "cannot read the settings"),
            ("{", 2, "are not JSON"),
            ("[]", 2, "not a JSON object"),
            (json.dumps({"model": {"path": "/m"}, "infer": {"batch_size": -1}}), 2, "infer.batch_size"),
            (json.dumps({"model": {"path": "/m"}}), 3, "cannot import torch: ImportError: no torch today"),
        ]
        for text, code, says in rows:
            with self.subTest(says):
                got, lines = self.run_program(text)
                self.assertEqual((got, len(lines)), (code, 1), lines)
                self.assertIn(says, lines[0])


if __name__ == "__main__":
    tap.main()
