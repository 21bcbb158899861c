# SPDX-License-Identifier: Apache-2.0
"""The injected profiler, in programs that know nothing of it."""
from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
WORKLOADS = HERE.parent.parent / "workloads"
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tap  # noqa: E402
import torch_python  # noqa: E402

PYTHON = torch_python.find()
DECODER = [str(WORKLOADS / "torch_decoder.py"), "--max-new-tokens", "4", "--repeats", "1", "--warmup", "0"]


class Profiled:
    """A Python program under the injection: its result and what was written."""

    def __init__(self, words, settings=None, python=None, path=(), raw=None):
        self.folder = tempfile.TemporaryDirectory(prefix="lpo-torch-")
        root = Path(self.folder.name)
        self.out = root / "out"
        text = raw if raw is not None else json.dumps(dict({"out_dir": str(self.out), "record_shapes": True},
                                                           **(settings or {})))
        (root / "settings.json").write_text(text)
        env = dict(os.environ, LPO_TORCH_PROFILE=str(root / "settings.json"),
                   PYTHONPATH=os.pathsep.join([str(WORKLOADS / "lpo_sitecustomize"), *map(str, path)]))
        done = subprocess.run([python or PYTHON, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        self.code, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr

    def statuses(self):
        return [json.loads(p.read_text()) for p in sorted(self.out.glob("*.status.json"))]

    def traces(self):
        """Events of every trace, in the order they were written."""
        names = [name for status in self.statuses() for name in status["files"]]
        return [json.load(gzip.open(self.out / name))["traceEvents"] for name in names]


def names(events, category):
    return Counter(e["name"] for e in events if e.get("cat") == category)


class WholeProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.decoder = Profiled(DECODER)

    def test_operators_and_ranges(self):
        run = self.decoder
        self.assertEqual((run.code, run.stderr), (0, ""))
        status, = run.statuses()
        self.assertEqual((status["state"], status["error"], len(status["files"])), ("written", None, 1))
        events, = run.traces()
        ranges = names(events, "user_annotation")
        self.assertEqual((ranges["prefill"], ranges["decode"], ranges["step"]), (1, 1, 3))
        self.assertEqual((ranges["layer0"], ranges["attn"], ranges["lm_head"]), (4, 8, 4))
        operators = names(events, "cpu_op")
        self.assertEqual(operators["aten::linear"], 4 * (2 * 7 + 1))
        self.assertEqual(operators["aten::softmax"], 4 * 2)
        linear = next(e for e in events if e["name"] == "aten::linear")
        self.assertEqual(linear["args"]["Input Dims"][:2], [[1, 32, 128], [128, 128]])

    def test_operators_lie_in_their_ranges(self):
        events, = self.decoder.traces()
        step = [e for e in events if e["name"] == "step"]
        inside = [e for e in events if e["name"] == "aten::linear" and any(
            s["ts"] <= e["ts"] and e["ts"] + e["dur"] <= s["ts"] + s["dur"] and s["tid"] == e["tid"] for s in step)]
        self.assertEqual(len(inside), 3 * 15)

    def test_the_program_is_not_disturbed(self):
        plain = subprocess.run([PYTHON, "-c", "import sys; print(sys.argv); sys.exit(7)", "a"],
                               stdout=subprocess.PIPE, text=True, check=False)
        run = Profiled(["-c", "import sys; print(sys.argv); sys.exit(7)", "a"])
        self.assertEqual((run.code, run.stdout, run.stderr), (plain.returncode, plain.stdout, ""))
        self.assertEqual(run.statuses()[0]["state"], "the program never imported torch")

    def test_a_program_that_raises_still_has_its_trace(self):
        run = Profiled(["-c", "import torch; torch.ones(2).add(1); raise SystemExit('bye')"])
        self.assertEqual((run.code, run.stderr), (1, "bye\n"))
        self.assertGreaterEqual(names(run.traces()[0], "cpu_op")["aten::add"], 1)


class Schedule(unittest.TestCase):
    def check(self, step, schedule, want):
        run = Profiled(DECODER, {"step": step, "schedule": schedule})
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual([names(events, "cpu_op")["aten::softmax"] // 2 for events in run.traces()], want)
        return run

    def test_forward_passes(self):
        """a module step is one forward pass: skip 1, warm up 1, record 2"""
        self.check("module", {"wait": 1, "warmup": 1, "active": 2}, [2])

    def test_rounds(self):
        """two rounds are two files"""
        self.check("module", {"wait": 0, "warmup": 1, "active": 1, "repeat": 2}, [1, 1])

    def test_ranges(self):
        """a range step: the prefill lies in the first one"""
        self.check("range", {"wait": 0, "warmup": 1, "active": 2}, [2])

    def test_a_phase_cut_short_by_the_end(self):
        self.check("module", {"wait": 2, "warmup": 0, "active": 50}, [2])

    def test_never_reached(self):
        run = self.check("optimizer", {"wait": 1, "warmup": 0, "active": 1}, [])
        self.assertEqual(run.statuses()[0]["state"],
                         "no step of the schedule was reached: the program made 0, recording begins after 1")

    def test_optimizer(self):
        code = ("import torch\np = torch.nn.Parameter(torch.ones(3))\no = torch.optim.SGD([p], lr=0.1)\n"
                "for i in range(5):\n o.zero_grad(); p.exp().sum().backward(); o.step()\n")
        run = Profiled(["-c", code], {"step": "optimizer", "schedule": {"wait": 1, "warmup": 1, "active": 2}})
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual([names(events, "cpu_op")["aten::exp"] for events in run.traces()], [2])


class Threads(unittest.TestCase):
    """torch records allocations or every thread's operators, not both."""

    def asked(self, settings):
        sys.path.insert(0, str(WORKLOADS / "lpo_sitecustomize"))
        import lpo_torch_profile

        stub = types.ModuleType("torch._C._profiler")
        stub._ExperimentalConfig = dict
        chain = {"torch": types.ModuleType("torch"), "torch._C": types.ModuleType("torch._C"), "torch._C._profiler": stub}
        with mock.patch.dict(sys.modules, chain):
            return lpo_torch_profile.Recorder(dict(settings, out_dir="/nowhere")).threads()

    def test_every_thread(self):
        self.assertEqual(self.asked({}), {"experimental_config": {"profile_all_threads": True}})

    def test_not_when_told(self):
        self.assertEqual(self.asked({"all_threads": False}), {})

    def test_not_with_memory(self):
        self.assertEqual(self.asked({"profile_memory": True}), {})


class Guest(unittest.TestCase):
    def test_bad_settings_do_not_matter_to_the_program(self):
        for raw, code in (("{", "print(1.0)"), ("[]", "print(1.0)"), ("{}", "print(1.0)"),
                          ('{"out_dir": "/proc/nonexistent/x"}', "import torch; print(torch.ones(1).item())")):
            with self.subTest(raw):
                run = Profiled(["-c", code], raw=raw)
                self.assertEqual((run.code, run.stdout, run.stderr), (0, "1.0\n", ""))

    def test_an_unknown_step_is_told_in_the_status(self):
        run = Profiled(DECODER, {"step": "moon", "schedule": {"active": 1}})
        self.assertEqual((run.code, run.stderr), (0, ""))
        self.assertEqual(run.statuses()[0]["state"], "failed")
        self.assertIn("step is 'moon'", run.statuses()[0]["error"])

    def test_another_sitecustomize_still_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "sitecustomize.py").write_text("import builtins\nbuiltins.chained = __name__\n")
            run = Profiled(["-c", "print(chained)"], path=[folder])
        self.assertEqual((run.code, run.stdout, run.stderr), (0, "sitecustomize\n", ""))

    def test_one_trace_per_process(self):
        code = ("import os, subprocess, sys\nimport torch\n"
                "if len(sys.argv) < 2:\n subprocess.run([sys.executable, __file__, 'child'], check=True)\n"
                " pid = os.fork()\n if pid == 0:\n  torch.ones(2).mul(3); os._exit(0)\n os.waitpid(pid, 0)\n"
                "torch.ones(2).add(1)\n")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.py"
            path.write_text(code)
            run = Profiled([str(path)])
        self.assertEqual((run.code, run.stderr), (0, ""))
        statuses = run.statuses()
        self.assertEqual(len({s["pid"] for s in statuses}), 2)
        self.assertEqual([s["state"] for s in statuses], ["written", "written"])
        for events in run.traces():
            self.assertGreaterEqual(names(events, "cpu_op")["aten::add"], 1)
            self.assertEqual(names(events, "cpu_op")["aten::mul"], 0)

    def test_no_torch_at_all(self):
        run = Profiled(["-S", "-c", "print(1)"], python=sys.executable)
        self.assertEqual((run.code, run.stdout), (0, "1\n"))


if __name__ == "__main__":
    if PYTHON is None:
        tap.skip_all(torch_python.REASON)
    tap.main()
