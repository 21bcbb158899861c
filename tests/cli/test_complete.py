#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo __complete` and the scripts of completions/ that call it. Prints TAP."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.environ["LPO_BIN"]
SCRIPTS = os.path.join(HERE, "..", "..", "completions")
# With the program under test first on PATH, as "lpo".
ENV = os.environ | {"PATH": os.path.dirname(LPO) + os.pathsep + os.environ["PATH"]}


def offered(*words: str) -> list[str]:
    done = subprocess.run([LPO, "__complete", *words], capture_output=True, text=True, check=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def commands() -> list[str]:
    text = subprocess.run([LPO, "-h"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ")]


class Candidates(unittest.TestCase):
    def test_every_command_is_offered(self) -> None:
        self.assertEqual(offered(""), commands())

    def test_every_option_of_every_command_is_offered(self) -> None:
        for command in commands():
            text = subprocess.run([LPO, command, "-h"], capture_output=True, text=True, check=True).stdout
            named = {word.rstrip(",") for line in text.splitlines() if line.startswith("  -")
                     for word in line.split("  ")[1].split() if word.startswith("--")}
            self.assertEqual(set(offered(command, "--")), named, command)

    def test_a_key_and_its_values(self) -> None:
        self.assertEqual(offered("run", "pipeline.nsys.ena"), ["pipeline.nsys.enable="])
        self.assertEqual(offered("run", "++pipeline.nsys.ena"), ["++pipeline.nsys.enable="])
        self.assertEqual(offered("run", "pipeline.nsys.enable=f"), ["pipeline.nsys.enable=false"])

    def test_nothing_where_a_file_is_wanted(self) -> None:
        for words in (["top", "tr"], ["run", "--resume", ""], ["run", "--", "--he"], ["nonsense", ""]):
            self.assertEqual(offered(*words), [], words)


class Shells(unittest.TestCase):
    def test_bash(self) -> None:
        script = (f"source {SCRIPTS}/lpo.bash; COMP_LINE=$1; COMP_POINT=${{#1}}; _lpo 2>/dev/null; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        for line, want in (("lpo doc", "doctor"), ("lpo run --resu", "--resume"),
                           ("lpo run pipeline.nsys.enable=t", "true")):
            done = subprocess.run(["bash", "-c", script, "bash", line], env=ENV, capture_output=True, text=True)
            self.assertEqual(done.stdout.strip(), want)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self) -> None:
        done = subprocess.run(["fish", "-c", f"source {SCRIPTS}/lpo.fish; complete -C 'lpo doc'"], env=ENV,
                              capture_output=True, text=True)
        self.assertTrue(done.stdout.startswith("doctor"), done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_reads_its_script(self) -> None:
        done = subprocess.run(["zsh", "-f", "-n", f"{SCRIPTS}/_lpo"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    tap.main()
