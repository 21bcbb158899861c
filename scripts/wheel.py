#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python packages of this tree, and the build backend that pyproject.toml names (PEP 517).

    wheel.py [--stage DIR] [OUT]    a wheel in OUT (dist/) of the portable build, or of what was installed below DIR
    wheel.py --sdist [OUT]          the sources

The wheel holds the program as a script, and its collector, config, workloads and manual pages as data, so that
`pip install` puts them where `make install PREFIX=…` would. Same sources, same bytes (SOURCE_DATE_EPOCH, else the commit).
"""
from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "llm_perf_opt"
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
TAG = "py3-none-manylinux_2_28_x86_64"  # the floor of packaging/glibc_floor.c
LEFT_OUT = ("share/llm-perf-opt/python/",)  # the package itself


def command(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=more.get("cwd", ROOT), check=False,
                          env={**os.environ, **more.get("env", {})})
    if done.returncode:
        sys.exit(f"wheel: {' '.join(map(str, words))}: {done.stderr.decode().strip() or done.stdout.decode()[-2000:]}")
    return done.stdout.decode()


def moment():
    """Of every file: what SOURCE_DATE_EPOCH says, else when the commit was made; zip knows no year before 1980."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given and (ROOT / ".git").exists():
        given = command("git", "log", "-1", "--format=%ct").strip()
    return max(int(given or 0), 315532800)


def metadata():
    lines = ["Metadata-Version: 2.1", f"Name: {NAME.replace('_', '-')}", f"Version: {VERSION}",
             "Summary: Where the time of a large language model goes on a GPU, and what to fix first",
             "License: Apache-2.0", "Requires-Python: >=3.8", "Provides-Extra: pandas",
             "Requires-Dist: pandas; extra == 'pandas'", "Description-Content-Type: text/markdown", "",
             (ROOT / "README.md").read_text()]
    return "\n".join(lines).encode()


def package_files():
    """(name in the wheel, path) of the Python packages."""
    for top in ("lpo", "llm_perf_opt"):
        for path in sorted((ROOT / "python" / top).rglob("*")):
            if path.suffix == ".py" or path.name == "py.typed":
                yield str(path.relative_to(ROOT / "python")), path


def installed_files(stage):
    """(name in the wheel, path) of what `make install` put below `stage`, a folder with bin/, lib/ and share/."""
    data = f"{NAME}-{VERSION}.data"
    for path in sorted(p for p in stage.rglob("*") if p.is_file()):
        name = str(path.relative_to(stage))
        if name == "bin/lpo":
            yield f"{data}/scripts/lpo", path
        elif name.startswith(("bin/", "lib/", "libexec/", "share/")) and not name.startswith(LEFT_OUT):
            yield f"{data}/data/{name}", path


def write_wheel(stage, out, tag):
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{NAME}-{VERSION}-{tag}.whl"
    info = f"{NAME}-{VERSION}.dist-info"
    stamp = time.gmtime(moment())[:6]
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        def add(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name, stamp)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f'"{name}",sha256={digest},{len(data)}' if "," in name else f"{name},sha256={digest},{len(data)}")

        for name, path in [*package_files(), *installed_files(stage)]:
            add(name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
        add(f"{info}/METADATA", metadata())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: llm-perf-opt\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
        add(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode())
    return wheel


def portable_stage(folder):
    """The tarball of scripts/dist.sh, unpacked."""
    tarball = command("scripts/dist.sh", folder, "tarball").split()[-1]
    with tarfile.open(tarball) as t:
        t.extractall(folder)
    os.unlink(tarball)
    return next(p for p in pathlib.Path(folder).iterdir() if p.is_dir())


def build_here(folder):
    """For `pip install .`: built with what this machine has, for this machine."""
    build = pathlib.Path(folder) / "build"
    command("meson", "setup", build, "-Dtests=false", "-Dbuildtype=release", "--strip", "--prefix=/usr", "--libdir=lib")
    command("meson", "install", "-C", build, env={"DESTDIR": str(pathlib.Path(folder) / "root")})
    return pathlib.Path(folder) / "root" / "usr"


def sources():
    if (ROOT / ".git").exists():
        return command("git", "ls-files", "-z").split("\0")[:-1]
    return [str(p.relative_to(ROOT)) for p in sorted(ROOT.rglob("*")) if p.is_file() and p.name != "PKG-INFO"]


def write_sdist(out):
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{NAME}-{VERSION}.tar.gz"
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, moment()) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as t:
        def add(name, data, mode):
            entry = tarfile.TarInfo(f"{NAME}-{VERSION}/{name}")
            entry.size, entry.mode, entry.mtime = len(data), mode, moment()
            t.addfile(entry, io.BytesIO(data))

        for name in sorted(sources()):
            source = ROOT / name
            if source.is_file():
                add(name, source.read_bytes(), 0o755 if os.access(source, os.X_OK) else 0o644)
        add("PKG-INFO", metadata(), 0o644)
    return path


# PEP 517
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        import platform
        return write_wheel(build_here(folder), pathlib.Path(wheel_directory), f"py3-none-linux_{platform.machine()}").name


def build_sdist(sdist_directory, config_settings=None):
    return write_sdist(pathlib.Path(sdist_directory)).name


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--stage", type=pathlib.Path)
    words.add_argument("--sdist", action="store_true")
    words.add_argument("out", nargs="?", type=pathlib.Path, default=ROOT / "dist")
    given = words.parse_args()
    if given.sdist:
        print(write_sdist(given.out))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(write_wheel(given.stage or portable_stage(folder), given.out, TAG))


if __name__ == "__main__":
    main()
