#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the git tags of CHANGELOG.md: for each version with a date, v<version> at the last commit up to that day
(UTC) whose meson.build has this version. The message is the section. Tags that exist stay; -n only prints."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECTION = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)\n(.*?)(?=^## |\Z)", re.M | re.S)


def git(*words: str, text: str | None = None) -> str:
    return subprocess.run(["git", "-C", ROOT, *words], input=text, text=True, check=True, stdout=subprocess.PIPE).stdout


def commit_of(version: str, day: str) -> str | None:
    """The newest that has it; almost always the first one asked."""
    for commit in git("rev-list", f"--until={day}T23:59:59Z", "HEAD").split():
        if f"version: '{version}'" in git("show", f"{commit}:meson.build"):
            return commit
    return None


def main() -> int:
    missing = 0
    present = set(git("tag", "--list").split())
    for version, day, text in SECTION.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")):
        tag = "v" + version
        commit = None if tag in present else commit_of(version, day)
        if tag in present:
            print(f"{tag}: there is one")
        elif commit is None:
            print(f"{tag}: no commit up to {day} has this version", file=sys.stderr)
            missing = 1
        else:
            print(f"{tag}: {git('log', '-1', '--format=%h %cs %s', commit).strip()}")
            if sys.argv[1:] != ["-n"]:
                git("tag", "--annotate", "--cleanup=verbatim", "--file=-", tag, commit, text=f"{tag}\n\n{text.strip()}\n")
    return missing


if __name__ == "__main__":
    sys.exit(main())
