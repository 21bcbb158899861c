#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links and paths in the documentation lead to something that exists. Part of `make check`.

Every relative link of a .md file, with its #heading, and every `path/…` in backticks that begins with a folder
of this tree. A `*` in a path is a glob, {a,b} gives several.
"""
import glob
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("python/", "src/", "tests/", "conf/", "docs/", "scripts/", "bench/", "workloads/", "fuzz/", "include/", "packaging/")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\s]+)`")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def anchors(path):
    """The ids that a Markdown viewer gives the headings of a page."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", text, re.M)}


def variants(text):
    parts = [p[1:-1].split(",") if p.startswith("{") else [p] for p in re.split(r"(\{[^}]*\})", text)]
    return ["".join(c) for c in itertools.product(*parts)]


def faults(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        target, _, heading = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            yield f"link to {link}, which does not exist"
        elif heading and path.suffix == ".md" and heading not in anchors(path):
            yield f"link to {link}: no such heading"
    for code in CODE.findall(text):
        if not code.startswith(FOLDERS) or "<" in code or "…" in code:
            continue
        for path in variants(code.rstrip("/")):
            if not glob.glob(str(ROOT / path)) and not glob.glob(str(ROOT / path.split("#")[0])):
                yield f"`{path}` does not exist"


def main():
    pages = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    bad = 0
    for name in pages.stdout.split():
        for fault in faults(ROOT / name):
            print(f"{name}: {fault}")
            bad = 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
