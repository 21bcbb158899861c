# SPDX-License-Identifier: Apache-2.0
"""lpo.h in programs of C and C++: it compiles without a warning, a tool hears it, and without one nothing happens."""
from __future__ import annotations

import os
import re
import shutil
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
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-O2", f"-I{ROOT / 'include'}"]
LANGUAGES = {"C99": (["-std=c99"], ("cc", "gcc", "clang"), ".c"), "C17": (["-std=gnu17"], ("gcc", "clang"), ".c"),
             "C++11": (["-std=c++11"], ("c++", "g++", "clang++"), ".cc"), "C++20": (["-std=c++20"], ("c++", "g++", "clang++"), ".cc")}

CALLS = """
#include <lpo.h>
#include <stdio.h>
void other(void);
int main(void)
{
    uint64_t window = lpo_window_begin(), request = lpo_start("request");

    lpo_push("outer");
    lpo_number("tokens", -7);
    lpo_number_real("ratio", 0.5);
    other();
    lpo_pop();
    lpo_mark("done");
    lpo_end(request);
    lpo_window_end(window);
    printf("%d\\n", lpo_listening());
    return 0;
}
"""
OTHER = '#include <lpo.h>\nvoid other(void);\nvoid other(void) { lpo_push("inner"); lpo_pop(); }\n'
BLOCKS = """
#include <lpo.h>
static void fails() { lpo::range r("fails"); throw 1; }
int main()
{
    lpo::window w;
    lpo::range outer("outer");
    try {
        fails();
    } catch (int) {
    }
    lpo::range inner("inner");
}
"""


def compiler(names):
    return next((found for found in map(shutil.which, names) if found), None)


class Program:
    def __init__(self, language, *sources):
        words, names, ending = LANGUAGES[language]
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "program"
        found = compiler(names)
        if found is None:
            raise unittest.SkipTest(f"no compiler for {language}")
        files = []
        for i, text in enumerate(sources):
            files.append(self.path.with_name(f"{i}{ending}"))
            files[-1].write_text(text)
        done = subprocess.run([found, *words, *STRICT, *map(str, files), "-o", str(self.path), "-ldl"], stderr=subprocess.PIPE,
                              text=True, check=False)
        self.complaints = done.stderr

    def run(self, tool):
        log = self.path.with_name("log")
        log.unlink(missing_ok=True)
        env = {k: v for k, v in os.environ.items() if k != "NVTX_INJECTION64_PATH"}
        env.update({"LPO_TEST_NVTX_LOG": str(log)}, **({"NVTX_INJECTION64_PATH": tool} if tool is not None else {}))
        done = subprocess.run([str(self.path)], env=env, stdout=subprocess.PIPE, text=True, check=False)
        heard = log.read_text().splitlines() if log.exists() else []
        return done.returncode, done.stdout, heard


HEARD = ["+lpo@window", "+request", "outer", "=lpo@tokens -7", "=lpo@ratio 0.5", "outer/inner", "=done", "-42", "-42"]


class Header(unittest.TestCase):
    def test_every_language(self):
        for language in LANGUAGES:
            with self.subTest(language):
                program = Program(language, CALLS, OTHER)
                self.assertEqual(program.complaints, "")
                for tool in (None, "", "/nowhere/lib.so", "libc.so.6"):
                    self.assertEqual(program.run(tool), (0, "0\n", []))
                self.assertEqual(program.run(RECORDER), (0, "1\n", HEARD))

    def test_blocks_of_cpp_end_with_them(self):
        program = Program("C++11", BLOCKS)
        self.assertEqual(program.complaints, "")
        self.assertEqual(program.run(RECORDER), (0, "", ["+lpo@window", "outer", "outer/fails", "outer/inner", "-42"]))

    def test_the_examples_of_the_page(self):
        page = (ROOT / "docs" / "annotate.md").read_text(encoding="utf-8")
        example, = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
        program = Program("C17", example)
        self.assertEqual(program.complaints, "")
        once = ["step", "=lpo@tokens 4", "step/attention"]
        self.assertEqual(program.run(RECORDER), (0, "", ["+lpo@window", *once, *once, *once, "-42"]))
        self.assertEqual(program.run(None), (0, "", []))


if __name__ == "__main__":
    tap.main()
