#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the sources: every key that code asks for has a row of that type, and every row is read. Prints TAP."""
import os
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests"))
import tap  # noqa: E402

LISTS = {"WORDS", "PATTERNS", "ARGS", "TEXTS"}
SCALARS = {"BOOL", "INT", "REAL", "TEXT", "DURATION"}
GETTERS = {
    "bool": {"BOOL"}, "int": {"INT"}, "real": {"REAL"}, "text": {"TEXT"}, "duration_ns": {"DURATION"},
    "list": LISTS, "joined": LISTS, "word": SCALARS, "map": {"MAP", "OPEN"},
    "is_set": LISTS | SCALARS | {"MAP", "OPEN"},
}
ROW = re.compile(r'^  "?([\w.]*)"?: \{(\w+): ', re.M)
CALL = re.compile(r'\blpo_settings_(' + "|".join(GETTERS) + r')\(([^;]*?)"([\w.%]+)"\)')
FIELD = re.compile(r'\bLPO_SETTING\(\s*\w+,\s*\w+,\s*LPO_S_(\w+),\s*"([\w.]+)"')

FILES = (".json", ".md", ".csv", ".html", ".svg", ".yaml", ".sqlite", ".txt", ".safetensors", ".log")



def rows():
    found = ROW.findall((ROOT / "conf/rules/settings.yaml").read_text())
    return {path: kind.upper() for path, kind in found}


def sources():
    for path in sorted((ROOT / "src").rglob("*.c")):
        if path.parent.name != "settings":
            yield path, path.read_text()


def literals(text):
    return set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))


class Uses(unittest.TestCase):
    def test_a_key_that_is_asked_for_has_a_row_of_that_type(self):
        table, wrong, calls = rows(), [], 0
        for path, text in sources():
            for getter, _, key in CALL.findall(text):
                calls += 1
                if "%" not in key and table.get(key) not in GETTERS[getter]:
                    wrong.append(f"{path.name}: lpo_settings_{getter} of '{key}', which is {table.get(key)}")
            for kind, key in FIELD.findall(text):
                calls += 1
                if table.get(key) != kind:
                    wrong.append(f"{path.name}: LPO_SETTING of '{key}' as {kind}, which is {table.get(key)}")
        self.assertEqual(wrong, [])
        self.assertGreater(calls, 50)

    def test_a_text_that_looks_like_a_key_is_one(self):
        """a text that looks like a key is one: keys that tables of ours hold"""
        table, wrong = rows(), []
        tops = "|".join(key for key in table if key and "." not in key)
        for path, text in sources():
            if path.parts[len(ROOT.parts) + 1] in ("hydra", "model"):
                continue  # Hydra's own keys, and names of modules
            for word in literals(text) - {"run.dir"}:  # hydra.run.dir
                if re.fullmatch(rf"(?:{tops})(?:\.[a-z][a-z_]+)+", word) and word not in table and \
                        not word.endswith(FILES):
                    wrong.append(f"{path.name}: '{word}' has no row")
        self.assertEqual(wrong, [])

    def test_every_row_is_read(self):
        """every row is read: by a getter, by the workload's program, or by another key"""
        everywhere = set().union(*(literals(text) for _, text in sources()))
        programs = "".join(p.read_text() for p in sorted((ROOT / "workloads").rglob("*.py")))
        conf = "".join(p.read_text() for p in sorted((ROOT / "conf").rglob("*.yaml")))
        macro = literals((ROOT / "src/pipeline/capture_words.h").read_text())
        unread = []
        for key, kind in rows().items():
            last = key.rpartition(".")[2]
            if kind in ("MAP", "OPEN") or last == "description":
                continue  # a map is read key by key; a description is for people
            found = key in everywhere or "${" + key + "}" in conf
            # every stage has these two, and their keys are made from its name
            found |= last in ("enable", "timeout") and f"pipeline.%s.{last}" in everywhere
            # the words of pipeline.<stage>.capture are rows of one macro
            stage, _, word = key.removeprefix("pipeline.").partition(".capture.")
            found |= f".capture.{word}" in macro and any(
                re.search(rf'LPO_CAPTURE_WORDS\(\w+, "{stage}"\)', text) for _, text in sources())
            # model, infer, dataset and workload reach the Python programs whole, as JSON; so do the
            # settings of torch.profiler
            if not key.startswith(("workload.toy.", "pipeline.")) or ".torch_profiler." in key:
                found |= re.search(rf'["\'.]{last}\b', programs) is not None
            if not found:
                unread.append(key)
        self.assertEqual(unread, [])


if __name__ == "__main__":
    tap.main()
