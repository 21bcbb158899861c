#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make dist` leaves: the sources of `make wheel` built in two folders give the same bytes; the single programs
read what lpo reads, from an empty folder, on x86-64 and, by qemu, on arm64. Minutes: without an optimizer. Prints TAP."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests"))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
DATA = ROOT / "tests" / "data"
READ = ["kineto/h200_llama8.json.gz", "native/torch_llama.lpot", "nsys/h200_ranges.nsys-rep", "ncu/llama8_four.ncu-rep.gz",
        "jax/h200_train.json.gz", "memory/h200_train.pickle.gz", "nsys/h200_ranges.sqlite.gz"]
EPOCH = {"SOURCE_DATE_EPOCH": "1700000000", "BUILDTYPE": "plain", "CCACHE_DISABLE": "1",
         "ARM64_ROOT": os.environ.get("ARM64_ROOT", str(ROOT / "build-arm64"))}


def call(*words, env=None, cwd=None):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, cwd=cwd, env=os.environ | (env or {}))
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr[-2000:]}"
    return done.stdout


def sums(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as held:
            cls.folder = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory(prefix="lpo-dist-")))
            call(sys.executable, ROOT / "scripts/wheel.py", "--sdist", cls.folder, env=EPOCH)
            cls.made = []
            for name in ("one", "a folder/of another length"):  # a blank, and deeper
                tree = cls.folder / name
                tree.mkdir(parents=True)
                call("tar", "xzf", next(cls.folder.glob("*.tar.gz")), "--strip-components=1", "-C", tree)
                call("scripts/dist.sh", env=EPOCH, cwd=tree)
                call(sys.executable, "scripts/wheel.py", env=EPOCH, cwd=tree)
                cls.made.append(tree / "dist")
            cls.keep = held.pop_all()

    @classmethod
    def tearDownClass(cls):
        cls.keep.close()

    def single(self, machine):
        found = list(self.made[0].glob(f"lpo-*-linux-{machine}"))
        if not found:
            self.skipTest(f"no compiler or libraries for {machine}: `make deps-arm64`")
        return found[0]

    def test_two_folders_give_the_same_bytes(self):
        self.assertEqual(sums(self.made[0]), sums(self.made[1]))
        self.assertGreaterEqual(len(sums(self.made[0])), 6)

    def test_sums_are_of_every_file(self):
        self.assertIn("OK", call("sha256sum", "-c", "SHA256SUMS", cwd=self.made[0]))
        named = {line.split()[1] for line in (self.made[0] / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(named, {n for n in sums(self.made[0]) if n != "SHA256SUMS" and not n.endswith(".whl")})

    def test_the_parts_of_a_single_program_are_named(self):
        document = json.loads(self.single("x86_64").with_name(self.single("x86_64").name + ".spdx.json").read_text())
        self.assertIn("glibc", [p["name"] for p in document["packages"]])

    def read_all(self, program, *before):
        """Carried to an empty folder of a machine without a cache, it says what lpo says."""
        with tempfile.TemporaryDirectory(prefix="lpo-single-") as folder:
            carried = shutil.copy(program, folder)
            home = {"HOME": f"{folder}/home", "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", "PATH": os.environ["PATH"]}
            self.assertEqual(call(*before, carried, "version"), call(LPO, "version"))
            for name in READ:
                for words in (["top", "--json"], ["regions", "--json"], ["report", "--json"]):
                    if name.startswith(("memory", "ncu")) and words[0] != "report":
                        continue
                    with self.subTest(name, command=words[0]):
                        mine, theirs = (json.loads(call(*p, words[0], DATA / name, *words[1:], cwd=folder, env=home))
                                        for p in ([*before, carried], [LPO]))
                        self.assertEqual(drop(mine), drop(theirs))
            self.assertIn("report.html", call(*before, carried, "demo", "-o", "d", cwd=folder, env=home))
            self.assertIn("200", call(*before, carried, "sql", DATA / READ[0], "select 100 + 100", cwd=folder, env=home))
            # no cache can be written: the folder for temporary files
            call(*before, carried, "report", DATA / READ[0], "-o", "r", cwd=folder,
                 env={"HOME": "/proc/none", "XDG_CACHE_HOME": "", "TMPDIR": folder})
            self.assertTrue(list(pathlib.Path(folder).glob("llm-perf-opt-*/*/conf/hardware/*.yaml")))

    def test_x86_64_reads(self):
        program = self.single("x86_64")
        self.assertNotRegex(call("readelf", "-lW", program), "INTERP|DYNAMIC")
        self.read_all(program)

    def test_arm64_reads(self):
        program = self.single("aarch64")
        self.assertRegex(call("readelf", "-h", program), "AArch64")
        qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
        if not qemu:
            self.skipTest("no qemu-aarch64-static: `make deps-arm64`")
        self.read_all(program, qemu)


def drop(value):
    """Without what differs between two runs of one program."""
    if isinstance(value, dict):
        return {k: drop(v) for k, v in value.items() if not re.search("^(generated|created|made)", k)}
    return [drop(v) for v in value] if isinstance(value, list) else value


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or not shutil.which("meson"):
        tap.skip_all("packages are made on x86-64, with meson")
    tap.main()
