#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/glibc_floor.c defines each name that would keep the portable build from glibc 2.28. Prints TAP.

    test_glibc_floor.py FILE…      what is installed: programs and libraries

The portable build itself takes minutes. The build under test needs the same names of glibc: a
program's dynamic symbols list them, also where the sanitizer's library is found first and gives
no version. Their version is what this machine's glibc gives a new link. The libraries that the
portable build links statically are asked too."""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests"))
import tap  # noqa: E402

FLOOR = (2, 28)
WRITTEN_FOR = (2, 36)  # Debian 12, where packages are made: a newer glibc has newer names of its own
FILES = [pathlib.Path(word) for word in sys.argv[1:]]
SOURCE = ROOT / "packaging" / "glibc_floor.c"


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def library(name):
    return output("cc", f"-print-file-name={name}").strip()


@functools.cache
def versions():
    """name -> the version of glibc that a new link binds it to."""
    out = {}
    for name in ("libc.so.6", "libm.so.6"):
        for symbol, major, minor in re.findall(r"(\S+)@@GLIBC_(\d+)\.(\d+)", output(
                "nm", "-D", "--defined-only", "--with-symbol-versions", library(name))):
            out[symbol] = int(major), int(minor)
    return out


def undefined(path, *options):
    text = output("nm", *options, "--undefined-only", str(path))
    return {word.partition("@")[0] for word in re.findall(r"^\s+[Uwv] (\S+)", text, re.M)}


def defined(path):
    return set(re.findall(r"^\w+ [TDBRWV] (\S+)", output("nm", "--defined-only", str(path)), re.M))


def static_libraries(path):
    """What the portable build links into this file: the libraries it loads here, and SQLite, which is opened late."""
    names = re.findall(r"NEEDED.*\[(lib[\w-]+)\.so", output("readelf", "-d", str(path)))
    if "sqlite3_open_v2" in defined(path):
        names.append("libsqlite3")
    return [found for name in names if os.path.isabs(found := library(name + ".a"))
            and name not in ("libc", "libm", "libdl", "libpthread", "libasan", "libubsan", "libgcov")]


@functools.cache
def too_new(path):
    """Names that this file needs in a version above the floor."""
    needed = undefined(path, "-D")
    for archive in static_libraries(path):
        needed |= undefined(archive)
    return {name for name in needed if versions().get(name, FLOOR) > FLOOR}


@functools.cache
def floor(program):
    """Names that glibc_floor.c defines, for a program or for a library."""
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "floor.o")
        output("cc", "-c", "-D_GNU_SOURCE", "-fno-builtin", "-w", *(["-DLPO_FLOOR_PROGRAM"] if program else []), str(SOURCE), "-o", made)
        return defined(made)


def is_program(path):
    return not re.search(r"\.so\b", path.name)


class Floor(unittest.TestCase):
    def test_every_name_above_it_is_defined(self):
        for path in FILES:
            missing = too_new(path) - floor(is_program(path))
            with self.subTest(path.name):
                self.assertEqual(missing, set(), f"{path.name} does not run on glibc 2.28: glibc_floor.c must define these")

    def test_the_check_sees_them(self):
        """a name that is above the floor everywhere: it would fail without its line"""
        for path in FILES:
            self.assertIn("__libc_start_main" if is_program(path) else "dlopen", too_new(path), path.name)

    def test_every_name_is_needed(self):
        """a line that no file needs is either of the past, or this check does not see who needs it"""
        needed = set().union(*(too_new(path) for path in FILES))
        above = {name for name in floor(True) if versions().get(name, FLOOR) > FLOOR}
        self.assertEqual(above - needed, set())


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        tap.skip_all("the portable build is for x86-64")
    running = tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2])
    if running > WRITTEN_FOR:
        tap.skip_all(f"the portable build is made with glibc {WRITTEN_FOR[0]}.{WRITTEN_FOR[1]}, this is {running[0]}.{running[1]}")
    tap.main()
