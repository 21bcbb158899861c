#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of documentation wrap at 100 characters.

    wrap-docs.py FILE…            wraps paragraphs and list items that have a longer line, in place
    wrap-docs.py --check FILE…    says which lines are longer, and fails

Tables, code, headings, YAML at the front and words that cannot be broken are left as they are.
"""
import re
import sys
import textwrap

WIDTH = 100
ITEM = re.compile(r"^(\s*)([-*]|\d+\.)\s+")
# Words that would start a list, a heading or a table at the beginning of a line; and "%".
MARK = re.compile(r" (?=([-+*#>|]|\d+[.)]) |%)")


def fill(lines):
    item = ITEM.match(lines[0])
    first = lines[0][:item.end()] if item else re.match(r"\s*", lines[0]).group()
    rest = " " * len(first)
    text = " ".join([lines[0][len(first):]] + [line.strip() for line in lines[1:]])
    text = re.sub(r"`[^`]*`", lambda m: m.group().replace(" ", "\0"), text)
    text = MARK.sub("\0", text)
    return [line.replace("\0", " ") for line in
            textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest,
                          break_long_words=False, break_on_hyphens=False)]


def blocks(lines):
    """(wrappable, lines): paragraphs and list items, and everything between them."""
    out, fence = [], False
    matter = lines.index("---", 1) if lines[:1] == ["---"] and "---" in lines[1:] else -1  # YAML before the text
    for i, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fence = not fence
            out.append((False, [line]))
        elif i <= matter or fence or not line.strip() or line.lstrip().startswith(("|", "#", ">", "<")):
            out.append((False, [line]))
        elif ITEM.match(line) or not out or not out[-1][0]:
            out.append((True, [line]))
        else:
            out[-1][1].append(line)
    return out


def main():
    check = sys.argv[1] == "--check"
    bad = 0
    for path in sys.argv[1 + check:]:
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        result = []
        for wrappable, block in blocks(lines):
            long = wrappable and any(len(line) > WIDTH for line in block)
            result += fill(block) if long else block
        if result == lines:
            continue
        if check:
            print(f"{path}: lines longer than {WIDTH}: run scripts/wrap-docs.py {path}")
            bad = 1
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(result) + "\n")
    sys.exit(bad)


if __name__ == "__main__":
    main()
