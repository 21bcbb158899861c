#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT.c HEADER NAME=FILE…: files as C arrays NAME[] and NAME_len. A missing FILE ('-') is empty.

NAME,sha256=FILE gives NAME_sha256 too, as a page's Content-Security-Policy writes it.
NAME,pack=PATH:PATH… is a ustar archive of files and folders, packed with zlib; NAME_whole is its size
unpacked, NAME_mark some digits that stand for its bytes. Same files, same bytes."""
import base64
import hashlib
import io
import pathlib
import sys
import tarfile
import zlib


def array(name, data):
    lines = [", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24)]
    body = ",\n".join(lines + ["0"])
    return f"const char {name}[] = {{\n{body}\n}};\nconst size_t {name}_len = {len(data)};\n"


def archive(paths):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for top in map(pathlib.Path, paths):
            for path in sorted(p for p in [top, *top.rglob("*")] if p.is_file()):
                entry = tarfile.TarInfo(str(path.relative_to(top.parent)))
                data = path.read_bytes()
                entry.size = len(data)
                t.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def main():
    out = ['/* Made by scripts/embed.py; not to be edited. */\n#include "%s"\n' % sys.argv[2]]
    for word in sys.argv[3:]:
        name, path = word.split("=", 1)
        name, _, more = name.partition(",")
        data = b"" if path == "-" else archive(path.split(":")) if more == "pack" else pathlib.Path(path).read_bytes()
        if more == "pack":
            out.append(f'const size_t {name}_whole = {len(data)};\nconst char {name}_mark[] = "{hashlib.sha256(data).hexdigest()[:12]}";\n')
            data = zlib.compress(data, 9) if data else data
        # char is signed here: bytes over 127 are written as the negative number that they are
        out.append(array(name, [b - 256 if b > 127 else b for b in data]))
        if more == "sha256":
            digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
            out.append(f'const char {name}_sha256[] = "sha256-{digest}";\n')
    pathlib.Path(sys.argv[1]).write_text("\n".join(out))


main()
