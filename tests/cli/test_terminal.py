#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others wrote never commands the terminal: file names, the output of programs, names of ranges and kernels, config keys.

Every command runs on a pseudo-terminal; what arrives there holds no control character but line ends, tabs and the two sequences
that redraw the line of progress, no mark that is invisible or turns the direction, and no broken UTF-8.
"""
from __future__ import annotations

import json
import os
import pathlib
import pty
import re
import select
import subprocess
import time
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

# ESC and C1 sequences, a bell, a bidi override, an invisible tag, NEL and a line separator, bytes that are no UTF-8.
HOSTILE = "\x1b]0;gone\x07\x1b[2J\u009b31m\u202e\u2066\U000e0041\u0085\u2028\x7f\ufeff"
BROKEN = HOSTILE.encode() + b"\x9b31m\xff"
NAMES = ["k\0a", "k\0b", "k", "esc" + HOSTILE, 'q"\'\\#: {[', "nl\n- x: 1\r", "nonchar\ufffe\uffff", "face\U0001f600\ufe0f", "~", "", " "]
FORBIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")


def on_terminal(argv: list, cwd: str, env: dict | None = None) -> bytes:
    """Everything that a command writes to its terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(argv, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm"} | (env or {}))
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    child.wait(timeout=60)
    os.close(ours)
    return text


def trace(names: list[str]) -> dict:
    events = []
    for i, name in enumerate(names):
        at, args = 100 * (i + 1), {"correlation": i + 1}
        events += [dict(ph="X", cat="user_annotation", name="r " + name, pid=1, tid=1, ts=at, dur=50),
                   dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=at + 1, dur=2, args=args),
                   dict(ph="X", cat="kernel", name=name, pid=0, tid=7, ts=at + 10, dur=5 + i, args=args | {"device": 0, "stream": 7})]
    return {"schemaVersion": 1, "traceEvents": events}


class Terminal(LpoCase):
    def clean(self, text: bytes) -> str:
        text = re.sub(rb"\x1b\[(0|1|2|33|36)m", b"", text)  # colour, of lpo itself
        shown = text.replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n").decode("utf-8")  # raises on broken bytes
        self.assertIsNone(FORBIDDEN.search(shown), repr(shown))
        return shown

    def show(self, *words, env: dict | None = None) -> str:
        return self.clean(on_terminal([LPO, *words], self.cwd, env))

    def test_file_names(self):
        """file names, given as bytes"""
        name = os.path.join(self.cwd.encode(), BROKEN.replace(b"/", b""))
        for suffix, content in [(b".json", b"{}"), (b".sqlite", b"SQLite format 3\0"), (b".csv", b"a,b\n"), (b"", b"\x1b[2J")]:
            with open(name + suffix, "wb") as f:
                f.write(content)
            for command in ("top", "regions", "analyze", "report"):
                self.assertIn("\\u{1b}", self.show(command, name + suffix))
        self.assertIn("\\u{1b}", self.show("top", name + b".absent"))

    def test_words(self):
        """commands, options, overrides and config keys"""
        word = BROKEN
        for words in ([word], ["top", b"--" + word], ["config", word + b"=1"], ["config", b"+key=" + word], ["config", b"+" + word + b"=1"],
                      ["config", b"--config-name", word], ["config", b"--config-dir", word], ["run", b"workload=" + word],
                      ["run", b"hydra.run.dir=/dev/null/" + word], ["run", "--resume", word], ["analyze", "--hardware", word, "."]):
            self.assertNotEqual(self.show(*words), "", words)

    def test_config_file(self):
        """keys and values of a config file, printed as YAML and as JSON"""
        with open(os.path.join(self.cwd, "mine.yaml"), "w", encoding="utf-8") as f:
            json.dump({"key" + HOSTILE: "value" + HOSTILE, "deep": {HOSTILE: [HOSTILE]}}, f)
        for more in ([], ["--json"], ["--resolve"], ["--package", "deep"], ["--info", "defaults"], ["key=1"], ["deep=${nothing}"]):
            self.show("config", "--config-dir", ".", "--config-name", "mine", *more)

    def test_child_output(self):
        """the last lines of a program, its name, and what a failed stage says"""
        script = os.path.join(self.cwd, "hostile.sh")
        with open(script, "wb") as f:
            f.write(b"#!/bin/sh\nprintf '%s\\n' '" + BROKEN + b"' >&2\nsleep 0.6\nprintf '%s' '" + BROKEN + b"' >&2\nsleep 0.6\nexit 3\n")
        os.chmod(script, 0o755)
        odd = os.path.join(self.cwd, "prog\x1b[2J\u202e")
        os.symlink(script, odd)
        shown = self.show("run", "hydra.run.dir=run", "pipeline.static_analysis.enable=false", "--", odd, HOSTILE)
        self.assertIn("failed", shown)
        self.show("report", "run")
        self.show("run", "--resume", "run")
        for name in ("lpo.log", "report.md", "stakeholder_summary.md"):
            self.clean(pathlib.Path(self.path(name)).read_bytes())

    def test_a_stage_says_what_it_waits_for(self):
        """a program that prints nothing: the stage, how long, and the program"""
        self.assertRegex(self.show("run", "--once", "-o", "out", "--", "sh", "-c", "sleep 1"), r"native +\d\.\d s  waiting for sh")

    def test_names_in_traces(self):
        """ranges and kernels: tables, JSON and the pages of a report"""
        with open(os.path.join(self.cwd, "t.json"), "w", encoding="utf-8") as f:
            json.dump(trace(NAMES), f)
        for words in (["top"], ["top", "--json"], ["regions"], ["regions", "--json"]):
            self.show(words[0], "t.json", *words[1:])

    def test_a_report_ends_with_the_answer(self):
        """on a terminal: the verdict, at most three rungs, and the page; in a pipe one path in a line"""
        trace_of = os.path.join(os.environ["LPO_SOURCE_ROOT"], "tests", "data", "kineto", "h200_llama8.json.gz")
        lines = self.show("report", trace_of, "-o", "out").splitlines()
        self.assertEqual(lines[-1], "page: " + os.path.join("out", "report.html"))
        rungs = [line for line in lines[lines.index("what to do first"):] if re.match(r"\d\. ", line)]
        self.assertIn(len(rungs), (1, 2, 3), lines)
        piped = subprocess.run([LPO, "report", trace_of, "-o", "out"], cwd=self.cwd, capture_output=True, text=True, check=True)
        self.assertEqual([line for line in piped.stdout.splitlines() if not os.path.exists(os.path.join(self.cwd, line))], [])

    def narrow(self, *words: str, codes: tuple = (0,)) -> list[str]:
        """The lines of stdout in a terminal of 80 columns, none of them wider."""
        leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if words[0] == "doctor" else {}  # of libraries that it loads
        done = subprocess.run([LPO, *words], cwd=self.cwd, capture_output=True, text=True, env=os.environ | {"COLUMNS": "80"} | leaks)
        self.assertIn(done.returncode, codes, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line for line in lines if len(line) > 80], [])
        return lines

    def test_every_command_fits_80_columns(self):
        """tables and help of every command, over traces of every source"""
        data = os.path.join(os.environ["LPO_SOURCE_ROOT"], "tests", "data")
        traces = ("kineto/h200_llama8.json.gz", "kineto/h200_llama_memory.json.gz", "native/llama8.lpot", "native/toy.lpot",
                  "nsys/h100_2gpu_cut.sqlite.gz", "ncu/ranges_raw.csv.gz", "ncu/llm_light_raw.csv.gz")
        helped = [line.split()[0] for line in self.narrow("-h") if re.match(r"  [a-z]", line)]
        self.assertGreater(len(helped), 15)
        for command in helped:
            with self.subTest(command=command):
                self.narrow(command, "-h")
        for name in traces:
            path = os.path.join(data, name)
            for words in (["regions"], ["regions", "-s", "all", "--metrics", "--fold-over", "0"], ["top"], ["top", "--full-names"],
                          ["report", "--findings"], ["sql"], *([["operators"]] if "llama8.json" in name else [])):
                with self.subTest(words=words, file=name):
                    rest = ["select * from kernels limit 3"] if words == ["sql"] else []
                    self.narrow(words[0], path, *words[1:], *rest)
        for words in (["doctor"], ["sql", "--tables"], ["diff", os.path.join(data, traces[0]), os.path.join(data, traces[1])],
                      ["reference", "h200_sxm", "gemm", "gemm_dtype=bfloat16", "m=512", "n=4096", "k=4096"],
                      ["run", "-q", "--once", "run.repeats=1"], ["report", "--findings"]):
            with self.subTest(words=words):
                self.narrow(*words, codes=(0, 3) if words == ["doctor"] else (0,))

    def test_long_work_says_how_far_it_is(self):
        """reading takes seconds: what is read and how far, on stderr where that is a terminal, and nothing of it is left"""
        events = [json.dumps(dict(ph="X", cat="kernel", name=f"k{i % 7}", pid=0, tid=7, ts=10 * i, dur=5, args={"device": 0, "stream": 7}))
                  for i in range(50000)]
        copies, took = 1, 0.0
        while took < 2.5:  # a fast machine reads more
            for n in (0, 1):
                with open(os.path.join(self.cwd, f"trace_rank{n}.json"), "w", encoding="utf-8") as f:
                    f.write('{"schemaVersion": 1, "traceEvents": [' + ",".join(",".join(events) for _ in range(copies)) + "]}")
            began = time.monotonic()
            shown = on_terminal([LPO, "top", "trace_rank0.json", "trace_rank1.json"], self.cwd).decode()
            took = time.monotonic() - began
            copies *= 2
        lines = re.findall(r"\r\x1b\[K([^\r]*)", shown)
        self.assertRegex(lines[0], r"^reading trace_rank[01]\.json \([12] of 2\), [\d.]+ [KMG]iB of [\d.]+ [KMG]iB, [1-9]\d* s$")
        self.assertTrue(lines[-1].startswith("\n") or not lines[-1].startswith("reading"), lines[-1])
        piped = subprocess.run([LPO, "top", "trace_rank0.json", "trace_rank1.json"], cwd=self.cwd, capture_output=True, text=True, check=True)
        self.assertNotIn("reading", piped.stderr)

    def test_values_of_sql_are_whole(self):
        """rows that are wider than the screen: a line for each value, nothing cut; a pipe gets the table"""
        query = "select 'x' as a, '" + "0123456789" * 12 + "' as long_one, 7 as b"
        trace_of = os.path.join(os.environ["LPO_SOURCE_ROOT"], "tests", "data", "native", "toy.lpot")
        lines = self.narrow("sql", trace_of, query)
        self.assertEqual((lines[0], lines[1].split()), ("row 1", ["a", "x"]))
        self.assertEqual("".join(line.split()[-1] for line in lines[2:-1]), "0123456789" * 12)
        piped = subprocess.run([LPO, "sql", trace_of, query], capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual(piped[1].split(), ["x", "0123456789" * 12, "7"])

    def test_top_yaml(self):
        """top -o writes YAML that PyYAML reads, and names that differ after a NUL stay apart"""
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not installed")
        with open(os.path.join(self.cwd, "t.json"), "w", encoding="utf-8") as f:
            json.dump(trace(NAMES), f)
        top = json.loads(self.lpo("top", "t.json", "--json", "-o", "top.yaml").stdout)["kernels"]
        with open(os.path.join(self.cwd, "top.yaml"), "rb") as f:
            read = yaml.safe_load(f)["kernels"]
        self.assertEqual([k["name"] for k in read], [k["name"] for k in top])
        self.assertLessEqual({n for n in NAMES if n}, {k["name"] for k in read})
        regions = json.loads(self.lpo("regions", "t.json", "--json").stdout)["scopes"][0]["regions"]
        self.assertEqual(len({r["path"] for r in regions}), len(regions))
        self.assertLessEqual({"r k\0a", "r k\0b", "r k"}, {r["path"] for r in regions})

    def test_folded_names(self):
        """lines of the region table: names that differ after a NUL are not folded into one"""
        with open(os.path.join(self.cwd, "t.json"), "w", encoding="utf-8") as f:
            json.dump(trace(["k\0a", "k\0b", "k"]), f)
        lines = self.lpo("regions", "t.json").stdout.splitlines()
        for name in ("r k", "r k\\u{0}a", "r k\\u{0}b"):
            self.assertEqual(sum(line.startswith(name + "  ") and " 50 us" in line for line in lines), 1, lines)

    def test_files_get_exact_bytes(self):
        """a pipe gets the bytes as they are"""
        out = subprocess.run([LPO, "config", "--config-dir", ".", "--config-name", "mine", "--json"], cwd=self.cwd, capture_output=True)
        self.assertEqual(out.returncode, 2)
        with open(os.path.join(self.cwd, "mine.yaml"), "w", encoding="utf-8") as f:
            f.write('a: "\u00e9\\u202e"\n')
        done = self.lpo("config", "--config-dir", ".", "--config-name", "mine", "--json")
        self.assertEqual(json.loads(done.stdout)["a"], "\u00e9\u202e")


if __name__ == "__main__":
    tap.main()
