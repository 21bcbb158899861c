#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a compiler does not know. Part of `make check` and of `make test`.

1. Includes point one way: a folder of src/ uses only folders that stand before it in ROOMS.
2. Some rooms have doors: their other headers are private.
3. An exported function is named after its folder: lpo_<folder>_… or lpo_<subfolder>_…; in util and
   hydra, where a file is a module, after its file.
4. No type name stands for two things.
5. The page of a folder (README.md) names each of its files, so that a reader finds one without a search.
6. Only pipeline/ and settings/ know a stage: no other room reads a key pipeline.<stage>.… or names a
   file in a stage's folder. Sentences for users may name keys; the rest comes from the stage's row.
7. What a room must not know (STRANGERS): rundir no analysis, writers no trace, a report no file of a trace.
8. Files that a comment names are there.
9. docs/architecture.md has the rooms in this order, and the files that it names are there.
10. docs/reliability.md names for each promise of its first table a test that is there.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Lowest first, as in src/meson.build.
ROOMS = ["util", "table", "hydra", "rules", "settings", "gpu", "model", "reference", "run", "trace", "region", "rundir", "analysis",
         "report", "writer", "pipeline", "sweep", "cli"]
APART = {"collect": {"collect", "lpo"}}  # a guest in other programs uses itself and include/lpo
MODULES = {"util", "hydra"}  # rooms in which a file is a module
ALIASES = {  # prefixes that are shorter than their file's name, because they are everywhere
    "util/xmalloc": ["lpo_x"], "util/json_write": ["lpo_jw_", "lpo_jv_", "lpo_json_"],
    "util/str": ["lpo_streq"], "trace/host": ["lpo_host_"],
    "util/sqlite_late": ["sqlite3_"], "table/table": ["lpo_cell_"],
    "gpu/inside/inside": ["lpo_xmalloc_"],  # in place of the program's, which ends the process
    "util/json_pull": ["lpo_json_pull_"], "util/json_skip": ["lpo_json_pull_"],
}
DOORS = {"hydra": {"hydra/compose.h"}}  # what others may include of a room
CLOSED = ("trace/kineto/", "trace/native/", "trace/nsys/", "trace/ncu/")  # private to their room

# A room, what its code does not say, why, and files that still do.
STRANGERS = [
    ("rundir", r"\blpo_analysis\b", "rundir only finds files", {"rundir/rundir.h"}),
    ("writer", r'^#include "((?:trace|region|rundir|analysis)/[^"]+)', "a writer knows a document, not what it was made of",
     set()),
    ("region", r"(?<!const )\bstruct lpo_trace \*", "a trace is const after reading", set()),
    ("analysis", r"(?<!const )\bstruct lpo_trace \*", "a trace is const after reading",
     {f"analysis/counters/{file}" for file in ("overlay.c", "overlay.h", "layer.h", "sampled.c", "sampled.h", "into_trace.c")}),
    ("report", r"\blpo_trace_read\w*\(", "events come from the model: a report opens no trace", {"report/region_rows.c"}),
]

# A definition at the left margin, which clang-format puts on one line with its name.
DEFINITION = re.compile(r"^(?!static\b|extern\b|typedef\b|#|LPO_)[a-z_][\w \t*]*?\b([a-z]\w*)\([^;{]*\)\s*\{", re.M)
TYPE = re.compile(r"^(?:struct|enum|union) (lpo_\w+) \{", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# A text that is a key and nothing else; in a sentence of advice there are other words.
STAGE_KEY = re.compile(r'"(pipeline\.\w+\.[\w.]*\w)"')
STAGE_NAME = re.compile(r'^const struct lpo_stage lpo_pipeline_\w+ = \{\s*\.name = "(\w+)"', re.M)
KNOW_STAGES = {"pipeline", "settings"}
MADE = {"report.md", "kernels.md", "operators.md", "regions.md", "hidden.yaml", "inputs.yaml"}  # by lpo, in a run folder
FILE_NAME = re.compile(r"(?<![\w/.*<>-])((?:[\w-]+/)*[\w-]+\.[ch])\b(?![\w.])")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def prefixes(path):
    """The prefixes that an exported function of this file may have."""
    folder, *rest = path.parent.parts
    out = [f"lpo_{folder}_"] + [f"lpo_{sub}_" for sub in rest]
    if folder in MODULES and not rest:
        module = path.stem
        out += [f"lpo_{module}_", f"lpo_{module.split('_')[0]}_"]
    return out + ALIASES.get(str(path.with_suffix("")), [])


def pages(source, path):
    """The text of the pages that stand over a file, up to its room's."""
    folders = [folder for folder in path.parents if folder != source and source in folder.parents]
    return "\n".join(page.read_text() for folder in folders if (page := folder / "README.md").exists())


def is_named(source, path):
    """As code, with or without its end; a command by the command's name."""
    word = path.stem.removeprefix("cmd_")
    code = " ".join(re.findall(r"```.*?```|`[^`]+`", pages(source, path), re.S))
    return re.search(rf"\b{re.escape(word)}\b", code) is not None


def stage_names(source):
    return sorted(name for path in (source / "pipeline").rglob("*.c") for name in STAGE_NAME.findall(path.read_text()))


def known_stages(text, stages):
    """What of this text only the stages themselves should know."""
    code = COMMENT.sub("", re.sub(INCLUDE, "", text))
    in_folder = re.compile(rf'"((?:{"|".join(stages)})/[^"]*)"') if stages else None
    return STAGE_KEY.findall(code) + (in_folder.findall(code) if in_folder else [])


def endings(root):
    """Every source and every end of its path: `region/tree.h` and `tree.h`."""
    found = set()
    for folder in ("src", "include", "tests", "workloads", "bench", "fuzz"):
        for path in (root / folder).rglob("*.[ch]"):
            parts = path.relative_to(root).parts
            found.update("/".join(parts[at:]) for at in range(len(parts)))
    return found


def check_architecture(root, sources):
    """The rooms in our order, and files that are there."""
    page = root / "docs" / "architecture.md"
    if not page.exists():
        return []
    text = page.read_text()
    named = re.findall(r"`([\w./-]+\.(?:c|h|py|ts|yaml|md))`", text)
    faults = [f"docs/architecture.md: there is no {name}" for name in named
              if name not in sources and not (root / name).exists() and not (root / "src" / name).exists()
              and not list((root / "web" / "src").rglob(name)) and name not in MADE]
    rooms = re.findall(r"^\| `(\w+)` \|", text, re.M)
    if rooms != ROOMS + list(APART):
        faults.append(f"docs/architecture.md: its rooms are {' '.join(rooms)}, ours {' '.join(ROOMS + list(APART))}")
    return faults


def check_promises(root):
    """A promise without a test does not stand there."""
    page = root / "docs" / "reliability.md"
    if not page.exists():
        return []
    text = page.read_text()
    named = re.findall(r"`((?:tests|fuzz|bench)/[\w./-]+\.\w+)`", text)
    faults = [f"docs/reliability.md: there is no {name}" for name in named if not (root / name).exists()]
    rows = text.partition("| promise |")[2].split("\n\n")[0].splitlines()[2:]
    if not rows:
        faults.append("docs/reliability.md: the table of promises is not there")
    return faults + [f"docs/reliability.md: no test holds '{row[2:60]}…'" for row in rows if "`tests/" not in row]


def check(source):
    sources = endings(source.parent)
    faults = check_architecture(source.parent, sources) + check_promises(source.parent)
    stages = stage_names(source)
    if not stages:
        faults.append("pipeline/ has no row of a stage that this check can find")
    types = collections.defaultdict(set)
    for path in sorted(source.rglob("*.[ch]")):
        name = path.relative_to(source)
        room = name.parts[0]
        text = path.read_text()
        if path.suffix == ".c" and not is_named(source, path):
            faults.append(f"{name}: {room}/README.md does not say what is in it")
        for include in INCLUDE.findall(text):
            other = include.split("/")[0]
            if room in APART:
                if other not in APART[room] and include != "util/crc32c.h":
                    faults.append(f"{name}: includes {include}; {room}/ stands apart")
            elif other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                faults.append(f"{name}: includes {include}; {room}/ stands before {other}/")
            elif other != room and other in DOORS and include not in DOORS[other]:
                faults.append(f"{name}: includes {include}; the door of {other}/ is {', '.join(DOORS[other])}")
            elif include.startswith(CLOSED) and other != room:
                faults.append(f"{name}: includes {include}, which is private to {other}/")
        faults += [f"{name}: {why}: {match.group(0)}" for place, what, why, known in STRANGERS
                   if place == room and str(name) not in known for match in re.finditer(what, COMMENT.sub("", text), re.M)]
        faults += [f"{name}: a comment names {other}, which is not there" for comment in COMMENT.findall(text)
                   for other in FILE_NAME.findall(comment) if other not in sources]
        if room not in KNOW_STAGES:
            faults += [f'{name}: knows "{what}" of a stage; its row in pipeline/ should give it'
                       for what in known_stages(text, stages)]
        if room in APART:
            continue
        for match in TYPE.finditer(text):
            types[match.group(1)].add(str(name))
        if path.suffix == ".c" and name.name != "main.c":
            for function in DEFINITION.findall(text):
                if function not in ("if", "for", "while", "switch") and not function.startswith(tuple(prefixes(name))):
                    if function != "lpo_" + name.stem.split("_")[0]:
                        faults.append(f"{name}: {function}() is not named after its folder ({' or '.join(prefixes(name))})")
    faults += [f"{name} means {len(files)} things: {', '.join(sorted(files))}"
               for name, files in sorted(types.items()) if len(files) > 1]
    return faults


if __name__ == "__main__":
    found = check(ROOT / "src")
    if sys.argv[1:] == ["--tap"]:
        print("1..1\n" + ("not ok" if found else "ok") + " 1 - the rules of the tree")
        print("\n".join("# " + fault for fault in found))
    else:
        print("\n".join(found) if found else "house: ok")
    sys.exit(1 if found else 0)
