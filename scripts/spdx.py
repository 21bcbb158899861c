#!/usr/bin/env python3
"""Every source file begins with its license line. Part of `make check`.

    spdx.py             adds the line where it is missing
    spdx.py --check     says where it is missing, and fails
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = "SPDX-License-Identifier: Apache-2.0"
SLASH = {".c", ".h", ".cu", ".cuh"}
HASH = {".py", ".sh", ".yaml", ".toml", ".build", ".bash", ".fish", ".scd"}
NAMES = {"Makefile", "_lpo", "meson_options.txt", "packages.txt", ".clang-tidy", ".clang-format", ".editorconfig"}
# Data, and what other programs read line by line.
SKIP = ("tests/data/", "fuzz/seeds/", "docs/man/", "tests/cli/golden/", "web/dist/", "node_modules/")


def line_of(path, text):
    if path.suffix in SLASH:
        return f"/* {TEXT} */\n"
    if path.suffix in HASH or path.name in NAMES or text.startswith("#!"):
        return f"# {TEXT}\n"
    return None


def main():
    check = sys.argv[1:] == ["--check"]
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    bad = 0
    for name in files:
        path = ROOT / name
        if name.startswith(SKIP) or not path.is_file() or path.is_symlink():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        line = line_of(path, text)
        if not line or TEXT in text[:400]:
            continue
        bad = 1
        if check:
            print(f"{name}: no license line; run scripts/spdx.py")
            continue
        # These say who runs the script, what zsh completes, where Hydra puts the file: they stay first.
        head, _, rest = text.partition("\n")
        if head.startswith(("#!", "#compdef", "# @package")):
            path.write_text(f"{head}\n{line}{rest}", encoding="utf-8")
        else:
            path.write_text(line + text, encoding="utf-8")
    sys.exit(bad if check else 0)


if __name__ == "__main__":
    main()
