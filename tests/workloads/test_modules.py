# SPDX-License-Identifier: Apache-2.0
"""A range for each call of an nn.Module, in programs that know nothing of it."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = HERE.parent.parent / "workloads"
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tap  # noqa: E402
import torch_python  # noqa: E402

PYTHON = torch_python.find()
MODEL = """
import threading, torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.mlp = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    def forward(self, x): return self.mlp(self.attn(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.bad = nn.ModuleList(Block() for _ in range(2)), False
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        if self.bad: raise ValueError("bad")
        return x
net, x = Net(), torch.ones(1, 4)
"""


def run(code, depth="0", tool=None, path=()):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(WORKLOADS / "lpo_sitecustomize"), *path]), LPO_TORCH_MODULES=depth,
                   LPO_TEST_NVTX_LOG=str(log), NVTX_INJECTION64_PATH=os.environ["LPO_TEST_RECORDER"] if tool is None else tool)
        env.pop("LPO_TORCH_PROFILE", None)
        done = subprocess.run([PYTHON, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        heard = log.read_text().splitlines() if log.exists() else []
    return done.returncode, done.stdout, done.stderr, heard


ONE = ["Net", "Net/layers.0", "Net/layers.0/attn", "Net/layers.0/mlp", "Net/layers.0/mlp/0", "Net/layers.0/mlp/1",
       "Net/layers.1", "Net/layers.1/attn", "Net/layers.1/mlp", "Net/layers.1/mlp/0", "Net/layers.1/mlp/1"]


class Modules(unittest.TestCase):
    def test_an_id_of_another_module_is_looked_up_again(self):
        # a module in another place has the id of one that is gone: the module is compared, not only its id
        code = ("net(x); old = id(net.layers[0]); net.layers[0] = nn.Identity(); kept = [nn.ReLU()]\n"
                "while id(kept[-1]) != old and len(kept) < 10000: kept.append(nn.ReLU())\n"
                "net.layers[1] = kept[-1]; print(id(kept[-1]) == old); net(x)\n")
        _, out, err, heard = run(MODEL + code)
        self.assertEqual((out, err), ("True\n", ""))
        self.assertEqual(heard[-3:], ["Net", "Net/layers.0", "Net/layers.1"])

    def test_every_call_has_its_path(self):
        self.assertEqual(run(MODEL + "net(x); net(x)\n"), (0, "", "", ONE + ONE))

    def test_down_to_a_depth(self):
        self.assertEqual(run(MODEL + "net(x)\n", "2")[3], ["Net", "Net/layers.0", "Net/layers.1"])
        self.assertEqual(run(MODEL + "net(x)\n", "1")[3], ["Net"])

    def test_ranges_of_the_program_stand_around(self):
        heard = run("import lpo\n" + MODEL + "with lpo.range('decode'): net(x)\n", "1")[3]
        self.assertEqual(heard, ["decode", "decode/Net"])

    def test_an_exception_leaves_no_range_open(self):
        heard = run(MODEL + "net.bad = True\ntry: net(x)\nexcept ValueError: print('caught')\nnet.bad = False\nnet(x)\n", "1")
        self.assertEqual(heard, (0, "caught\n", "", ["Net", "Net"]))

    def test_threads_have_their_own(self):
        heard = run(MODEL + "ts = [threading.Thread(target=net, args=(x,)) for _ in range(4)]\n"
                    "[t.start() for t in ts]; [t.join() for t in ts]\n")[3]
        self.assertEqual(Counter(heard), Counter({"thread:" + path: 4 for path in ONE}))

    def test_a_module_that_came_later(self):
        code = MODEL + ("net(x)\nnet.layers[1].attn = nn.Tanh()\nnet(x)\n"
                        "class Odd(nn.Module):\n"
                        "  def forward(self, x): return nn.Tanh()(x)\n"
                        "odd = Odd()\nfor _ in range(40): odd(x)\n")
        heard = Counter(run(code)[3])
        self.assertEqual((heard["Net/layers.1/attn"], heard["Odd/Tanh"], heard["Odd"]), (2, 40, 40))

    def test_replicas_of_a_model(self):
        """what DataParallel makes for each call: copies of modules, used by threads"""
        heard = run(MODEL + "copies = [n._replicate_for_data_parallel() for n in (net, net)]\n"
                    "for c in copies: c.layers = net.layers\n"
                    "ts = [threading.Thread(target=c, args=(x,)) for c in copies]\n[t.start() for t in ts]; [t.join() for t in ts]\n",
                    "2")[3]
        self.assertEqual(Counter(heard), Counter({"thread:" + path: 2 for path in ("Net", "Net/layers.0", "Net/layers.1")}))

    def test_compiling_sees_no_range(self):
        """a branch on torch.compiler.is_compiling(), which torch.compile knows; torch 1.13 has none, so a stand-in"""
        code = ("import types, sys, torch\nhappens = [True]\n"
                "torch.compiler = types.SimpleNamespace(is_compiling=lambda: happens[0])\n"
                "import lpo_annotate, lpo_modules\nlpo_modules.install(lpo_annotate.load(), 0)\n"
                + MODEL + "net(x); happens[0] = False; net(x)\n")
        heard = run(code, "")[3]
        self.assertEqual(heard, ONE)

    def test_where_nobody_listens_nothing_is_wrapped(self):
        code = MODEL + "net(x); print(nn.Module.__call__.__code__.co_filename.endswith('module.py'))\n"
        self.assertEqual(run(code, tool=""), (0, "True\n", "", []))
        self.assertEqual(run(code, depth=""), (0, "True\n", "", []))

    def test_bad_depths_do_not_matter_to_the_program(self):
        self.assertEqual(run(MODEL + "net(x)\n", "many"), (0, "", "", []))

    def test_a_program_without_torch(self):
        self.assertEqual(run("print(1)")[:3], (0, "1\n", ""))

    def test_scripted_and_traced_models(self):
        code = MODEL + ("traced = torch.jit.trace(net, x)\nprint(torch.equal(traced(x), net(x)))\n"
                        "import torch.fx\nfx = torch.fx.symbolic_trace(net)\nprint(torch.equal(fx(x), net(x)))\n")
        self.assertEqual(run(code)[:2], (0, "True\nTrue\n"))


if __name__ == "__main__":
    if PYTHON is None:
        tap.skip_all(torch_python.REASON)
    tap.main()
