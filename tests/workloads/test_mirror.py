# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges of a program in the trace of PyTorch's profiler."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tap  # noqa: E402
import torch_python  # noqa: E402
from test_torch_profile import PYTHON, Profiled, names  # noqa: E402

# Debian's torch has no CUDA, and torch.cuda.nvtx raises there: a stand-in for its C part
CUDA = ("import torch, types\ntorch.cuda.nvtx._nvtx = types.SimpleNamespace(rangePushA=lambda m: 0, rangePop=lambda: 0,\n"
        "  rangeStartA=lambda m: 0, rangeEnd=lambda i: None, markA=lambda m: None)\nx = torch.ones(2)\n")
# The package nvtx as it is: what it calls in C is not here. OLD is its first form, a ContextDecorator.
NVTX = """
import contextlib, functools
calls = []
class annotate(BASE):
    def __init__(self, message=None, color=None, domain=None, category=None): self.message = message
    def __enter__(self): calls.append("push"); return self
    def __exit__(self, *exc): calls.append("pop"); return False
    def __call__(self, func):
        if contextlib.ContextDecorator in type(self).__mro__: return super().__call__(func)
        @functools.wraps(func)
        def inner(*args, **kwargs):
            calls.append("push"); result = func(*args, **kwargs); calls.append("pop"); return result
        return inner
def mark(message=None, color="blue", domain=None): calls.append("mark")
def push_range(message=None, color="blue", domain=None, category=None): calls.append("push")
def pop_range(domain=None): calls.append("pop")
"""


def annotations(run):
    events, = run.traces()
    return [e["name"] for e in sorted((e for e in events if e.get("cat") == "user_annotation"), key=lambda e: e["ts"])]


class TorchNvtx(unittest.TestCase):
    def test_ranges_and_marks(self):
        run = Profiled(["-c", CUDA + "from torch.cuda import nvtx\nnvtx.range_push('a')\nx.mul(2)\n"
                        "with nvtx.range('step {}', 3):\n x.add(1)\nnvtx.mark('m')\nnvtx.range_pop()\nnvtx.range_pop()\n"])
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual(annotations(run), ["a", "step 3", "m"])
        events, = run.traces()
        spans = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for e in events}
        self.assertTrue(spans["a"][0] <= spans["step 3"][0] <= spans["aten::add"][0])
        self.assertTrue(spans["aten::add"][1] <= spans["step 3"][1] <= spans["a"][1])
        self.assertFalse(spans["step 3"][0] <= spans["aten::mul"][0] <= spans["step 3"][1])

    def test_an_exception_and_a_range_that_stays_open(self):
        run = Profiled(["-c", CUDA + "try:\n with torch.cuda.nvtx.range('a'): raise KeyError\nexcept KeyError: pass\n"
                        "torch.cuda.nvtx.range_push('b')\ntorch.cuda.nvtx.range_push('c')\nx.add(1)\n"])
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual(annotations(run), ["a", "b", "c"])

    def test_threads_have_stacks_of_their_own(self):
        run = Profiled(["-c", CUDA + "import threading\nnvtx = torch.cuda.nvtx\ndef f():\n nvtx.range_pop(); nvtx.range_push('t'); nvtx.range_pop()\n"
                        "nvtx.range_push('a')\nt = threading.Thread(target=f); t.start(); t.join()\nnvtx.range_pop()\n"])
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertIn("a", annotations(run))
        # this torch either follows the thread, or a note says that it does not
        self.assertEqual("t" in annotations(run), not any("other threads" in note for note in run.statuses()[0]["notes"]))

    def test_threads_of_autograd_are_followed(self):
        run = Profiled(["-c", CUDA + "y = torch.ones(2, requires_grad=True)\n"
                        "def hook(g):\n torch.cuda.nvtx.range_push('h'); torch.cuda.nvtx.range_pop(); return g\n"
                        "z = (y * 2).sum(); y.register_hook(hook); z.backward()\n"])
        self.assertEqual((run.code, run.stderr, run.statuses()[0]["notes"]), (0, "", []))
        self.assertIn("h", annotations(run))

    def test_off_when_told(self):
        run = Profiled(["-c", CUDA + "torch.cuda.nvtx.range_push('a')\nx.add(1)\n"], {"nvtx": False})
        self.assertEqual((run.code, annotations(run)), (0, []))

    def test_without_cuda_the_call_raises_as_ever(self):
        run = Profiled(["-c", "import torch\ntry: torch.cuda.nvtx.range_push('a')\nexcept RuntimeError: print('refused')\ntorch.ones(1).add(1)\n"])
        self.assertEqual((run.code, run.stdout, annotations(run)), (0, "refused\n", []))


class Others(unittest.TestCase):
    def package(self, base, code):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "nvtx").mkdir()
            (Path(folder) / "nvtx" / "__init__.py").write_text(
                "from nvtx.nvtx import annotate, mark, push_range, pop_range, calls\n")
            (Path(folder) / "nvtx" / "nvtx.py").write_text(NVTX.replace("BASE", base))
            return Profiled(["-c", "import torch, nvtx\nx = torch.ones(2)\n" + code + "print(''.join(c[1] for c in nvtx.calls))\n"],
                            path=[folder])

    def test_the_package_nvtx(self):
        for base in ("object", "contextlib.ContextDecorator"):
            with self.subTest(base):
                run = self.package(base, "@nvtx.annotate()\ndef f(): x.add(1)\n@nvtx.annotate('named')\ndef g(): f()\n"
                                   "with nvtx.annotate('block', color='red'): g()\n"
                                   "nvtx.push_range('p', domain='d'); nvtx.mark('m'); nvtx.pop_range('d'); nvtx.pop_range()\n")
                self.assertEqual((run.code, run.stderr), (0, ""))
                self.assertEqual(annotations(run), ["block", "named", "f", "p", "m"])
                self.assertEqual(run.stdout, "uuuooouaoo\n")  # the program's own calls: push, pop, mark

    def test_lpo(self):
        run = Profiled(["-c", "import lpo, torch\n@lpo.range\ndef f(): torch.ones(2).add(1)\nwith lpo.range('decode', tokens=3): f()\n"])
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual(annotations(run), ["decode", "f"])

    def test_modules(self):
        os.environ["LPO_TORCH_MODULES"] = "2"
        try:
            run = Profiled(["-c", "import torch\ntorch.nn.Sequential(torch.nn.Linear(2, 2))(torch.ones(2))\n"])
        finally:
            del os.environ["LPO_TORCH_MODULES"]
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual(annotations(run), ["Sequential", "0"])


class EmitNvtx(unittest.TestCase):
    CODE = ("import torch\nwith torch.autograd.profiler.emit_nvtx():\n torch.ones(2).add(1)\n"
            "with torch.autograd.profiler.emit_nvtx(enabled=False):\n print('goes on')\n")

    def test_refused_with_a_reason(self):
        run = Profiled(["-c", self.CODE])
        self.assertEqual((run.code, run.stdout, run.stderr), (0, "goes on\n", ""))
        status, = run.statuses()
        self.assertEqual(status["state"], "written")
        self.assertEqual(len(status["notes"]), 1)
        self.assertIn("emit_nvtx was left out: together with torch.profiler it crashes PyTorch", status["notes"][0])
        self.assertEqual(names(run.traces()[0], "cpu_op")["aten::add"], 1)

    def test_the_run_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([os.environ["LPO_BIN"], "run", f"hydra.run.dir={folder}/out", "run.device=cpu",
                                   "pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false",
                                   "pipeline.native.enable=false", "pipeline.torch_profiler.enable=true", "--", PYTHON, "-c", self.CODE],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            stages = json.loads((Path(folder) / "out" / "run.json").read_text())["stages"]
        notes = json.dumps(stages)
        self.assertIn("emit_nvtx was left out", notes)


if __name__ == "__main__":
    if PYTHON is None:
        tap.skip_all(torch_python.REASON)
    tap.main()
