# SPDX-License-Identifier: Apache-2.0
"""lpo.py in a program: what a tool of NVTX hears, and that nothing happens where none listens."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent)]

import tap  # noqa: E402

RECORDER = os.environ.get("LPO_TEST_RECORDER", "")


def run(code, tool=RECORDER):
    """Exit code, output and errors of a program, and what the tool heard."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        env = {k: v for k, v in os.environ.items() if k != "NVTX_INJECTION64_PATH"}
        env.update(PYTHONPATH=str(ROOT / "python"), LPO_TEST_NVTX_LOG=str(log))
        if tool:
            env["NVTX_INJECTION64_PATH"] = tool
        done = subprocess.run([sys.executable, "-c", "import lpo\n" + code], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        heard = log.read_text().splitlines() if log.exists() else []
    return done.returncode, done.stdout, done.stderr, heard


RANGES = """
@lpo.range
def plain(x): return x + 1
@lpo.range("named", batch=2)
def other(): return plain(1)
with lpo.range("outer", tokens=7, ratio=0.5):
    print(plain(2), other(), plain.__name__)
lpo.mark("done")
"""


class Ranges(unittest.TestCase):
    def test_ranges_numbers_and_marks(self):
        code, out, err, heard = run(RANGES)
        self.assertEqual((code, out, err), (0, "3 2 plain\n", ""))
        self.assertEqual(heard, ["outer", "=lpo@tokens 7", "=lpo@ratio 0.5", "outer/plain", "outer/named", "=lpo@batch 2",
                                 "outer/named/plain", "=done"])

    def test_nobody_listens(self):
        for tool in ("", "/nowhere/lib.so", "libc.so.6"):
            with self.subTest(tool):
                self.assertEqual(run(RANGES + "print(lpo.listening())\n", tool), (0, "3 2 plain\nFalse\n", "", []))

    def test_an_exception_closes_its_ranges(self):
        heard = run("@lpo.range\ndef f(): raise KeyError\n"
                    "try:\n with lpo.range('a'): f()\nexcept KeyError: pass\nwith lpo.range('b'): pass\n")[3]
        self.assertEqual(heard, ["a", "a/f", "b"])

    def test_what_waits_is_a_start_end_range(self):
        heard = run("import asyncio\n@lpo.range\nasync def f():\n await asyncio.sleep(0); return 1\n"
                    "@lpo.range\ndef g():\n yield 1\n return 2\n"
                    "asyncio.run(f()); list(g())\ni = lpo.start('request'); lpo.end(i)\n")[3]
        self.assertEqual(heard, ["+f", "-42", "+g", "-42", "+request", "-42"])

    def test_an_asynchronous_generator_is_a_start_end_range(self):
        code, out, err, heard = run(
            "import asyncio\n@lpo.range\nasync def f():\n"
            " try:\n  for i in (1, 2, 3):\n   got = yield i\n   lpo.mark(str(got))\n"
            " except KeyError:\n  yield 9\n finally:\n  lpo.mark('closed')\n"
            "async def main():\n print([i async for i in f()])\n"
            " g = f(); await g.__anext__(); print(await g.asend('sent')); await g.aclose()\n"
            " g = f(); await g.__anext__(); print(await g.athrow(KeyError())); await g.aclose()\n"
            "asyncio.run(main())\n")
        self.assertEqual((code, out, err), (0, "[1, 2, 3]\n2\n9\n", ""))
        self.assertEqual(heard, ["+f", "=None", "=None", "=None", "=closed", "-42", "+f", "=sent", "=closed", "-42",
                                 "+f", "=closed", "-42"])

    def test_a_window_is_a_range_of_the_domain_lpo(self):
        heard = run("with lpo.window():\n lpo.push('x'); lpo.pop()\n")[3]
        self.assertEqual(heard, ["+lpo@window", "x", "-42"])

    def test_numbers_that_are_none(self):
        code, _, err, heard = run("lpo.push('r', a=None, b='7', c=True, d=1 << 70, e=10 ** 400, f=-3, g=[1])\n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(heard, ["r", "=lpo@c 1", "=lpo@d 1.18059e+21", "=lpo@f -3"])

    def test_numbers_of_other_libraries(self):
        code, _, err, heard = run("import numbers\nclass Whole(int): pass\n"
                                  "class Scalar:\n def __int__(self): return 5\n def __float__(self): return 5.0\n"
                                  "numbers.Integral.register(Scalar)\n"
                                  "class Tensor:\n def __float__(self): raise SystemError('waits for the GPU')\n"
                                  "lpo.push('r', a=Whole(4), b=Scalar(), c=Tensor())\n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(heard, ["r", "=lpo@a 4", "=lpo@b 5"])

    def test_names_that_are_no_text(self):
        code, _, err, heard = run("with lpo.range(7): lpo.push(None); lpo.pop(); lpo.mark(8)\nlpo.end(lpo.start(9))\n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(heard, ["7", "7/None", "=8", "+9", "-42"])

    def test_threads_and_odd_names(self):
        code, _, err, heard = run("import threading\n"
                                  "t = threading.Thread(target=lambda: (lpo.push('in'), lpo.pop()))\n"
                                  "lpo.push('\\u00e4 \\udcff'); t.start(); t.join(); lpo.pop(); lpo.pop()\n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(heard, ["ä ?", "thread:in", "!pop"])


class Documentation(unittest.TestCase):
    def test_the_example_of_the_page(self):
        page = (ROOT / "docs" / "annotate.md").read_text(encoding="utf-8")
        example, = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
        code, _, err, heard = run(example)
        self.assertEqual((code, err), (0, ""))
        once = ["step", "=lpo@tokens 4", "=lpo@requests 1", "step/attention", "step/mlp"]
        self.assertEqual(heard, ["=model loaded", "+lpo@window", *once, *once, *once, "-42"])


if __name__ == "__main__":
    tap.main()
