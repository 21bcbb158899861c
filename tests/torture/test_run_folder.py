#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose the run folder is, and that no process is left: the promises of docs/reliability.md that need no injected fault.

Every process started here carries a mark in its environment, so that what is left of it can be found.
"""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

LPO = os.environ["LPO_BIN"]
BARE = ["pipeline.static_analysis.enable=false", "pipeline.native.enable=false", "pipeline.torch_profiler.enable=false"]
# Programs that try to stay. Each writes the file "up" when what it started runs.
DAEMON = "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  open('up','w').close(); time.sleep(600)\n os._exit(0)\nos.wait()\n"
REFORK = """import os,time
if os.fork()==0:
    os.setsid()
    open('up','w').close()
    end = time.time() + 300
    while time.time() < end:
        if os.fork(): os._exit(0)
"""
WAIT = "import os,time\nwhile not os.path.exists('up'): time.sleep(0.01)\n"


def python(text: str) -> list[str]:
    return ["--", sys.executable, "-S", "-c", text]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-folder-")
        self.addCleanup(self.temp.cleanup)
        self.root = pathlib.Path(self.temp.name)
        self.run_dir = self.root / "run"
        self.mark = uuid.uuid4().hex

    def env(self, **more: str) -> dict[str, str]:
        return dict(os.environ, LPO_TORTURE_MARK=self.mark, **more)

    def lpo(self, *words: str, cwd: pathlib.Path | None = None, **env: str) -> subprocess.CompletedProcess:
        return subprocess.run([LPO, *words], cwd=cwd or self.root, env=self.env(**env), text=True, capture_output=True,
                              timeout=600)

    def start(self, *words: str, **env: str) -> subprocess.Popen:
        child = subprocess.Popen([LPO, *words], cwd=self.root, env=self.env(**env), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (child.kill(), child.wait()))
        return child

    def wait_for(self, path: str) -> None:
        end = time.monotonic() + 300
        while not (self.root / path).exists():
            self.assertLess(time.monotonic(), end, f"{path} did not appear")
            time.sleep(0.01)

    def made(self) -> None:
        done = self.lpo("run", "hydra.run.dir=run", *BARE, "--", "/bin/true")
        self.assertEqual(done.returncode, 0, done.stderr)

    def manifest(self) -> dict:
        return json.loads((self.run_dir / "run.json").read_text())

    def processes(self) -> list[tuple[int, str]]:
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (folder / "environ").read_bytes():
                    if (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                        found.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                continue
        return found

    def nobody_left(self) -> None:
        end = time.monotonic() + 120
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assertEqual(left, [])


class Owner(Case):
    def test_a_folder_of_others_is_refused(self) -> None:
        mine = self.root / "mine"
        for name in ("native", "workload", "direct_inference"):
            (mine / name).mkdir(parents=True)
            (mine / name / "precious.txt").write_text("mine\n")
        (mine / "config.yaml").write_text("mine: true\n")
        before = {p: p.read_bytes() for p in mine.rglob("*") if p.is_file()}
        for words, cwd in ((["hydra.run.dir=."], mine), (["hydra.run.dir=mine"], self.root)):
            done = self.lpo("run", *words, "--", "/bin/true", cwd=cwd)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("hydra.run.dir=", done.stderr)
            self.assertEqual({p: p.read_bytes() for p in mine.rglob("*") if p.is_file()}, before)
        self.assertEqual([p.name for p in self.root.iterdir()], ["mine"])

    def test_an_empty_folder_is_used(self) -> None:
        here = self.root / "here"
        here.mkdir()
        inode = here.stat().st_ino
        done = self.lpo("run", "hydra.run.dir=.", *BARE, "--", "/bin/true", cwd=here)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(here.stat().st_ino, inode, "the working folder was replaced under the shell")
        self.assertTrue((here / "run.json").is_file())

    def test_a_link_to_a_folder_stays_a_link(self) -> None:
        (self.root / "real").mkdir()
        (self.root / "run").symlink_to("real")
        self.made()
        self.assertTrue((self.root / "run").is_symlink())
        self.assertTrue((self.root / "real" / "run.json").is_file())

    def again(self) -> subprocess.CompletedProcess:
        """The one stage is to run again."""
        manifest = self.manifest()
        manifest["state"] = "interrupted"
        for stage in manifest["stages"]:
            if stage["name"] == "direct_inference":
                stage["state"] = "interrupted"
        (self.run_dir / "run.json").write_text(json.dumps(manifest))
        return self.lpo("run", "--resume", "run")

    def test_links_in_the_folder_lead_nowhere(self) -> None:
        self.made()
        outside = self.root / "outside"
        (self.run_dir / "workload").rename(outside)
        (self.run_dir / "workload").symlink_to("../outside")
        (self.root / "victim").write_text("mine\n")
        for name in ("report.md", "lpo.log"):
            (self.run_dir / name).unlink()
            (self.run_dir / name).symlink_to("../victim")
        before = sorted(str(p) for p in outside.rglob("*"))
        self.assertNotEqual(self.again().returncode, 0)
        self.assertEqual(sorted(str(p) for p in outside.rglob("*")), before)
        self.assertEqual((self.root / "victim").read_text(), "mine\n")

    def test_what_the_manifest_does_not_list_is_kept(self) -> None:
        self.made()
        (self.run_dir / "direct_inference" / "notes.txt").write_text("mine\n")
        done = self.again()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.run_dir / "direct_inference.kept-1" / "notes.txt").read_text(), "mine\n")
        notes = [n for s in self.manifest()["stages"] for n in s["notes"]]
        self.assertTrue(any("direct_inference.kept-1" in n for n in notes), notes)

    def test_what_cannot_be_looked_into_is_reported(self) -> None:
        done = self.lpo("run", "hydra.run.dir=run", "pipeline.static_analysis.enable=false", "--", "/bin/true")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.run_dir / "native").rename(self.run_dir / "native.old")
        (self.run_dir / "native").write_text("not a folder")
        self.lpo("report", "run")
        self.assertIn("native cannot be read", (self.run_dir / "report.md").read_text())


class Lock(Case):
    def test_two_resumes_at_once(self) -> None:
        one = self.start("run", "hydra.run.dir=run", *BARE, *python("import time\nopen('up','w').close(); time.sleep(600)"))
        self.wait_for("up")
        done = self.lpo("run", "--resume", "run")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"in use by process {one.pid} on ", done.stderr)
        self.assertEqual(self.manifest()["state"], "running")

    def test_a_reused_pid_does_not_block(self) -> None:
        self.made()
        manifest = self.manifest() | {"state": "running", "pid": os.getpid()}
        (self.run_dir / "run.json").write_text(json.dumps(manifest))
        done = self.lpo("run", "--resume", "run")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_scratch_files_of_the_dead_are_swept(self) -> None:
        scratch = self.root / "scratch"
        scratch.mkdir()
        for name, age in (("lpo-capture-old", 3600), ("lpo-inflate-old", 3600), ("lpo-capture-new", 0), ("other", 3600)):
            (scratch / name).write_text("x")
            os.utime(scratch / name, (time.time() - age,) * 2)
        self.lpo("doctor", TMPDIR=str(scratch))
        self.assertEqual(sorted(p.name for p in scratch.iterdir()), ["lpo-capture-new", "other"])


class Processes(Case):
    def test_a_daemon_ends_with_its_stage(self) -> None:
        for name, program in (("forks twice", DAEMON), ("forks on and on", REFORK)):
            with self.subTest(name):
                (self.root / "up").unlink(missing_ok=True)
                done = self.lpo("run", "hydra.run.dir=run", *BARE, *python(program + WAIT))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.nobody_left()

    def killed(self, program: str, also: str | None) -> None:
        child = self.start("run", "hydra.run.dir=run", *BARE, *python(program))
        self.wait_for("up")
        guards = sorted(pid for pid, line in self.processes() if "__guard" in line)
        self.assertEqual(len(guards), 2)
        child.send_signal(signal.SIGSTOP)  # so that it cannot do anything in between
        if also == "guard":
            os.kill(guards[0], signal.SIGKILL)
        elif also == "keeper":
            os.kill(guards[1], signal.SIGKILL)
        elif also == "group":
            os.killpg(guards[0], signal.SIGKILL)
        child.kill()
        child.wait()
        self.nobody_left()

    def test_lpo_is_killed(self) -> None:
        for also in (None, "guard", "keeper", "group"):
            for name, program in (("forks twice", DAEMON), ("forks on and on", REFORK)):
                with self.subTest(f"{name}, and the {also}"):
                    (self.root / "up").unlink(missing_ok=True)
                    self.killed(program + WAIT + "time.sleep(600)\n", also)

    def test_lpo_is_killed_right_after_the_program(self) -> None:
        """lpo is stopped while the program ends: what that left is ended without lpo."""
        child = self.start("run", "hydra.run.dir=run", *BARE, *python(DAEMON + WAIT + "time.sleep(1)\n"))
        self.wait_for("up")
        child.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 120
        while len(self.processes()) > 1 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([pid for pid, _ in self.processes()], [child.pid])

    def test_all_are_killed_in_one_moment(self) -> None:
        """With a cgroup the next lpo ends what nobody was left to end; without one the log says that this is not promised."""
        done = self.lpo("run", "hydra.run.dir=probe", *BARE, "--", "/bin/true")
        self.assertEqual(done.returncode, 0, done.stderr)
        log = (self.root / "probe" / "lpo.log").read_text()
        if "it had no cgroup of its own" in log:
            self.skipTest(next(line for line in log.splitlines() if "no cgroup" in line))
        for name, program in (("forks twice", DAEMON), ("forks on and on", REFORK)):
            with self.subTest(name):
                (self.root / "up").unlink(missing_ok=True)
                child = self.start("run", f"hydra.run.dir={name.split()[-1]}", *BARE, *python(program + WAIT + "time.sleep(600)\n"))
                self.wait_for("up")
                all_three = [child.pid, *(pid for pid, line in self.processes() if "__guard" in line)]
                self.assertEqual(len(all_three), 3)
                for sig in (signal.SIGSTOP, signal.SIGKILL):  # stopped first: none of them sees another one die
                    for pid in all_three:
                        os.kill(pid, sig)
                child.wait()
                while {pid for pid, _ in self.processes()} & set(all_three):
                    time.sleep(0.01)  # a killed process may take a moment
                done = self.lpo("run", "hydra.run.dir=next", *BARE, "--", "/bin/true")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.nobody_left()
                self.assertEqual(self.cgroups(child.pid), [])

    @staticmethod
    def cgroups(pid: int) -> list[str]:
        """Cgroups that an lpo made and that are still there."""
        return [str(p) for p in pathlib.Path("/sys/fs/cgroup").glob(f"**/lpo-run-{pid}-*")]

    def test_a_helper_that_hangs(self) -> None:
        tool = self.root / "ncu"
        tool.write_text("#!/bin/sh\necho > up\nsleep 600 &\nsleep 600\n")
        tool.chmod(0o755)
        child = self.start("run", "hydra.run.dir=run", *BARE, "pipeline.ncu.enable=true", f"pipeline.ncu.program={tool}",
                           "--", "/bin/true")
        self.wait_for("up")
        child.kill()
        child.wait()
        self.nobody_left()
        self.assertFalse(self.run_dir.exists(), "the folder is not complete")


if __name__ == "__main__":
    tap.main()
