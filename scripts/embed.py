#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT.c HEADER NAME=FILE…: files as C arrays NAME[] and NAME_len. A missing FILE ('-') is empty.

NAME,sha256=FILE gives NAME_sha256 too, as a page's Content-Security-Policy writes it."""
import base64
import hashlib
import pathlib
import sys


def array(name, data):
    lines = [", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24)]
    body = ",\n".join(lines + ["0"])
    return f"const char {name}[] = {{\n{body}\n}};\nconst size_t {name}_len = {len(data)};\n"


def main():
    out = ['/* Made by scripts/embed.py; not to be edited. */\n#include "%s"\n' % sys.argv[2]]
    for word in sys.argv[3:]:
        name, path = word.split("=", 1)
        name, _, more = name.partition(",")
        data = b"" if path == "-" else pathlib.Path(path).read_bytes()
        # char is signed here: bytes over 127 are written as the negative number that they are
        out.append(array(name, [b - 256 if b > 127 else b for b in data]))
        if more:
            digest = base64.b64encode(hashlib.new(more, data).digest()).decode()
            out.append(f'const char {name}_{more}[] = "{more}-{digest}";\n')
    pathlib.Path(sys.argv[1]).write_text("\n".join(out))


main()
