#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo killed, and let down by the system, at every single call that touches a file or a process.

faults.c counts the calls of one ordinary run; then the run is repeated once for every call of every
kind, killed right before it or with that call failing. Each time the same promises are checked
(docs/reliability.md): no process is left, nothing outside the run folder is touched, the folder is
complete or not there, every JSON file in it is whole, `lpo report` reads it, `lpo run --resume`
finishes it.

The short form, in `make test`, takes a few points of each kind; LPO_TORTURE=long takes all of them.

The library cannot be loaded into a program with sanitizers: a plain one is taken (LPO_TORTURE_BIN, or the one that
`make` leaves in build/).
"""
from __future__ import annotations

import concurrent.futures
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



def plain_program() -> str | None:
    """The first lpo that was built without sanitizers."""
    built = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT", ".")) / "build" / "lpo"
    for path in (os.environ.get("LPO_TORTURE_BIN"), os.environ["LPO_BIN"], built):
        if path and os.path.exists(path) and b"__asan_init" not in pathlib.Path(path).read_bytes():
            return os.path.abspath(path)
    return None


LPO = plain_program()
FAULTS = os.environ["LPO_FAULTS"]
LONG = os.environ.get("LPO_TORTURE") == "long"
KILLED_POINTS, FAILED_POINTS = 3, 2  # of each kind of call, in the short form
MEMORY_POINTS = 300 if LONG else 6
FEWER_CALLS = 8  # by so much may two runs differ
WORKERS = 4  # most of the time is spent waiting for the disk
KINDS = ["rename", "fsync", "write", "open", "spawn", "unlink", "mkdir", "flock", "read", "pipe"]
ERRORS = {"rename": ["EACCES", "EIO"], "fsync": ["EIO"], "write": ["ENOSPC", "EIO", "short"],
          "open": ["EMFILE", "EACCES", "EMFILE:once", "ENOMEM:once"], "spawn": ["ENOMEM", "EACCES"],
          "unlink": ["EACCES"], "mkdir": ["ENOSPC", "EACCES"], "flock": ["ENOLCK", "ENOMEM:once"],
          "read": ["EIO", "EIO:once", "EINTR:once", "short"], "pipe": ["EMFILE"]}
# What stands in every run folder from its first moment, and what a finished one has besides.
FIRST = ["run.json", "config.yaml", "overrides.yaml", "env.json", "inputs.yaml", "hardware.json"]
LAST = [*FIRST, "lpo.log", "report.md", "report.json", "stakeholder_summary.md"]
FAKES = pathlib.Path(os.environ["LPO_BUILD_ROOT"]) / "tests"
GPU = {"LPO_NVML": str(FAKES / "pipeline" / "fake_nvml.so"), "LPO_LIBCUDA": str(FAKES / "gpu" / "libfake-pm.so"),
       "LPO_LIBCUPTI": str(FAKES / "gpu" / "libfake-pm.so"), "FAKE_PM_ROUNDS": "0"}
# Every stage, those that run beside the others included; tools that are not here are part of it.
STAGES = ["hydra.run.dir=here/run", *(f"pipeline.{stage}.enable=true" for stage in
          ("static_analysis", "direct_inference", "native", "torch_profiler", "nsys", "ncu", "nvml", "counters")), "--", "/bin/true"]
STAGE_KINDS = {"rename": ["EIO", "kill"], "write": ["ENOSPC", "kill"], "open": ["EMFILE", "kill"], "fsync": ["EIO"], "spawn": ["ENOMEM"],
               "mkdir": ["ENOSPC"], "flock": ["ENOLCK"], "read": ["EIO"], "pipe": ["EMFILE"], "unlink": ["EACCES", "kill"]}
WORDS = ["hydra.run.dir=here/run", "pipeline.static_analysis.enable=false", "--", "/bin/true"]


def spread(count: int, points: int) -> list[int]:
    """At most `points` of them: a run makes tens of thousands of these."""
    return sorted({1 + round(i * (count - 1) / (points - 1)) for i in range(points)})


def picked(count: int, points: int) -> list[int]:
    """The calls to stop at: all, or a few that are spread over the run."""
    if LONG or count <= points:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (points - 1)) for i in range(points)})


def work_of(pid: int) -> float:
    """Seconds that a process and those that it waited for have worked; one that has ended and was not waited for has them, too."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


class World:
    """A folder with things that must survive, and a run in it."""

    def __init__(self) -> None:
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-torture-")
        self.root = pathlib.Path(self.temp.name)
        self.run_dir = self.root / "here" / "run"
        self.mark = uuid.uuid4().hex
        self.stalled = self.root.with_name(self.root.name + ".stalled")
        for name in ("native", "workload", "direct_inference", "here/native"):
            (self.root / name).mkdir(parents=True)
            (self.root / name / "precious.txt").write_text("mine\n")
        (self.root / "config.yaml").write_text("mine: true\n")
        self.before = self.outside()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_) -> None:
        self.stalled.unlink(missing_ok=True)
        self.temp.cleanup()

    def outside(self) -> dict[str, bytes]:
        """Every file that is not in the run folder."""
        return {str(p.relative_to(self.root)): p.read_bytes() for p in self.root.rglob("*")
                if p.is_file() and self.run_dir not in p.parents}

    def lpo(self, *words: str, **faults: str) -> subprocess.CompletedProcess:
        env = dict(os.environ, LPO_TORTURE_MARK=self.mark)
        if faults:
            env |= {"LD_PRELOAD": FAULTS} | {k: str(v) for k, v in faults.items()}
        return subprocess.run([LPO, *words], cwd=self.root, env=env, capture_output=True, text=True,
                              errors="replace", timeout=600)

    def start(self, *words: str, **faults: str) -> subprocess.Popen:
        env = dict(os.environ, LPO_TORTURE_MARK=self.mark, LD_PRELOAD=FAULTS, LPO_FAULT_NOTE=str(self.stalled),
                   **{k: str(v) for k, v in faults.items()})
        # Ctrl-C as a user has it: a shell that starts jobs in the background passes on that it is ignored
        return subprocess.Popen([LPO, *words], cwd=self.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, errors="replace",
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def is_stalled(self) -> bool:
        return self.stalled.exists()

    def processes(self) -> list[str]:
        """Processes that carry the mark of this world and still live."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (folder / "environ").read_bytes():
                    if (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                        found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found

    def wait_until_alone(self) -> list[str]:
        end = time.monotonic() + 120
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        return left


class Sweep(unittest.TestCase):
    counts: dict[str, int]

    @classmethod
    def setUpClass(cls) -> None:
        with World() as world:
            counted = world.root / "counts"
            done = world.lpo("run", *WORDS, LPO_FAULT_COUNT=counted)
            assert done.returncode == 0, done.stderr
            cls.counts = {name: int(n) for name, n in (line.split() for line in counted.read_text().splitlines())}
        assert cls.counts["rename"] and cls.counts["write"], cls.counts

    def whole_json(self, world: World) -> None:
        for path in world.run_dir.rglob("*.json"):
            json.loads(path.read_text())  # a damaged one fails the test

    def unharmed(self, world: World) -> None:
        """What holds after any end."""
        self.assertEqual(world.wait_until_alone(), [], "processes were left")
        after = {k: v for k, v in world.outside().items()
                 if k in world.before or not any(part.startswith(".lpo-tmp-") for part in pathlib.Path(k).parts)}
        self.assertEqual(after, world.before, "something outside the run folder was touched")
        if world.run_dir.exists():
            self.whole_json(world)
            missing = [n for n in FIRST if not (world.run_dir / n).is_file()]
            self.assertEqual(missing, [], "the folder is neither complete nor absent")

    def finished(self, world: World) -> None:
        """The run can be brought to its end, and then nothing is missing or lies around."""
        if world.run_dir.exists():
            report = world.lpo("report", "here/run")
            self.assertEqual(report.returncode, 0, report.stderr)
            again = world.lpo("run", "--resume", "here/run")
        else:
            again = world.lpo("run", *WORDS)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual([n for n in LAST if not (world.run_dir / n).is_file()], [])
        self.assertEqual(json.loads((world.run_dir / "run.json").read_text())["state"], "done")
        self.assertEqual([str(p) for p in (world.root / "here").rglob("*tmp*")], [])

    def sweep(self, what: str, check, points: list[dict]) -> None:
        """check(point) for each, some at a time; a row of the result for each."""
        print(f"# {what}: {len(points)} points", flush=True)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            ends = [pool.submit(check, point) for point in points]
            for point, end in zip(points, ends):  # printed as they end
                with self.subTest(**point):
                    end.result()

    def reached(self, point: dict, attempt) -> None:
        """attempt(world, at) for the point; for a call before it where this run makes fewer of them (attempt says False)."""
        for at in range(point["at"], max(point["at"] - FEWER_CALLS, 0), -1):
            with World() as world:
                if attempt(world, at):
                    return
        self.fail(f"no {point['call']} was reached from {point['at']} down")

    def check_killed(self, point: dict) -> None:
        def killed(world: World, at: int) -> bool:
            ended = world.lpo("run", *WORDS, LPO_FAULT_CALL=point["call"], LPO_FAULT_AT=at, LPO_FAULT="kill")
            if ended.returncode == 0:
                return False
            self.assertEqual(ended.returncode, -9, ended.stderr)
            self.unharmed(world)
            self.finished(world)
            return True
        self.reached(point, killed)

    def test_killed(self) -> None:
        """killed right before the call"""
        # a read changes nothing, and how often lpo looks at a child's output depends on the child
        self.sweep("killed", self.check_killed, [{"call": kind, "at": n} for kind in KINDS if kind != "read"
                                       for n in picked(self.counts[kind], KILLED_POINTS)])

    def check_failed(self, point: dict) -> None:
        with World() as world:
            ended = world.lpo("run", *WORDS, LPO_FAULT_CALL=point["call"], LPO_FAULT_AT=point["at"],
                              LPO_FAULT=point["error"])
            self.assertIn(ended.returncode, (0, 1, 2, 3), ended.stderr)
            if ended.returncode:
                self.assertTrue(ended.stderr.strip(), "failed without a word")
            self.unharmed(world)
            if ended.returncode == 0:
                self.assertEqual([n for n in LAST if not (world.run_dir / n).is_file()], [],
                                 "said to be done, and files are missing")
            self.finished(world)

    def test_failed(self) -> None:
        """the call fails, and so do all after it unless it says once"""
        self.sweep("a call fails", self.check_failed, [{"call": kind, "error": error, "at": n} for kind in KINDS for error in ERRORS[kind]
                                       for n in picked(self.counts[kind], FAILED_POINTS)])

    def check_stages(self, point: dict) -> None:
        with World() as world:
            ended = world.lpo("run", *STAGES, LPO_FAULT_CALL=point["call"], LPO_FAULT_AT=point["at"], LPO_FAULT=point["error"], **GPU)
            self.assertIn(ended.returncode, (0, 1, 2, 3) if point["error"] != "kill" else (-9, 0, 1, 3), ended.stderr)
            self.assertTrue(ended.stderr.strip() or ended.returncode <= 0, "failed without a word")
            self.unharmed(world)
            if world.run_dir.exists():
                report = world.lpo("report", "here/run")
                self.assertEqual(report.returncode, 0, report.stderr)

    def test_stages(self) -> None:
        """a call fails, or lpo is killed there, while stages begin, run and end, also beside each other"""
        with World() as world:
            counted = world.root / "counts"
            done = world.lpo("run", *STAGES, LPO_FAULT_COUNT=counted, **GPU)
            self.assertIn(done.returncode, (0, 1, 3), done.stderr)
            states = {s["name"]: s["state"] for s in json.loads((world.run_dir / "run.json").read_text())["stages"]}
            self.assertTrue(all(states[name] != "skipped" for name in ("nvml", "counters")), states)
            counts = {name: int(n) for name, n in (line.split() for line in counted.read_text().splitlines())}
        self.sweep("every stage", self.check_stages, [{"call": kind, "error": error, "at": n} for kind, errors in STAGE_KINDS.items()
                   for error in errors for n in picked(counts[kind], 12 if kind == "rename" and error == "EIO" else 2)])

    def stalls(self, world: World, child: subprocess.Popen) -> bool:
        """True when lpo hangs in the call; False when it ended without it."""
        while child.poll() is None and not world.is_stalled():
            time.sleep(0.05)
        if world.is_stalled():
            return True
        self.assertEqual(child.returncode, 0, child.communicate()[1])
        return False

    def check_interrupted(self, point: dict) -> None:
        """lpo hangs in that call, as it would in a long read, and the user presses Ctrl-C."""
        def interrupted(world: World, at: int) -> bool:
            child = world.start("run", *WORDS, LPO_FAULT_CALL=point["call"], LPO_FAULT_AT=at, LPO_FAULT="stall")
            if not self.stalls(world, child):
                return False
            before = work_of(child.pid)
            child.send_signal(signal.SIGINT)
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.assertLess(work_of(child.pid) - before, 1)  # a second, wherever the machine has nothing else to do
            _, errors = child.communicate(timeout=600)
            self.assertEqual(child.returncode, 130, errors)
            self.unharmed(world)
            self.assertEqual(list(world.root.rglob(".lpo-tmp-*")), [], "what was begun lies around")
            if world.run_dir.exists():
                state = json.loads((world.run_dir / "run.json").read_text())
                self.assertIn(state["state"], ("interrupted", "running"))
                self.assertEqual(list(world.run_dir.rglob(".lpo-tmp-*")), [])
            self.finished(world)
            return True
        self.reached(point, interrupted)

    def test_interrupted(self) -> None:
        """Ctrl-C while lpo itself works"""
        self.sweep("Ctrl-C", self.check_interrupted, [{"call": kind, "at": n} for kind in ("rename", "fsync")
                                            for n in picked(self.counts[kind], KILLED_POINTS)])

    def other_reports(self, world: World) -> None:
        """A finished run whose reports have other bytes: those that are the same are not written again."""
        first = world.lpo("run", *WORDS)
        self.assertEqual(first.returncode, 0, first.stderr)
        for path in world.run_dir.glob("*report*.*"):
            path.write_bytes(path.read_bytes() + b"\n")

    def check_report_interrupted(self, point: dict) -> None:
        """The same in `lpo report`: what was there is kept, whole, and nothing else lies around."""
        def interrupted(world: World, at: int) -> bool:
            self.other_reports(world)
            before = sorted(str(p) for p in (world.root / "here").rglob("*"))
            child = world.start("report", "here/run", LPO_FAULT_CALL="rename", LPO_FAULT_AT=at, LPO_FAULT="stall")
            if not self.stalls(world, child):
                return False
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, errors)
            self.unharmed(world)
            self.assertEqual(sorted(str(p) for p in (world.root / "here").rglob("*")), before)
            self.finished(world)
            return True
        self.reached({"call": "rename", **point}, interrupted)

    def check_memory(self, point: dict) -> None:
        """No memory at that call and after it, or only there: one message, and what is written is whole."""
        with World() as world:
            ended = world.lpo("run", *WORDS, LPO_FAULT_CALL="malloc", LPO_FAULT_AT=point["at"], LPO_FAULT=point["error"])
            self.assertIn(ended.returncode, (0, 1, 2, 3), ended.stderr)
            if ended.returncode:
                self.assertTrue(ended.stderr.strip(), "failed without a word")
                self.assertLessEqual(ended.stderr.count("out of memory"), 1, ended.stderr)
            self.unharmed(world)
            self.finished(world)

    def test_memory(self) -> None:
        """an allocation of `lpo run` fails"""
        self.sweep("an allocation fails", self.check_memory,
                   [{"error": error, "at": n} for error in ("ENOMEM", "ENOMEM:once")
                    for n in spread(self.counts["malloc"], MEMORY_POINTS)])

    def check_report_memory(self, point: dict) -> None:
        with World() as world:
            done = world.lpo("report", self.trace, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            ended = world.lpo("report", self.trace, "--json", LPO_FAULT_CALL="malloc", LPO_FAULT_AT=point["at"],
                              LPO_FAULT=point["error"])
            if ended.returncode == 0:  # what failed was not needed
                self.assertTrue(point["error"] != "ENOMEM" or point["at"] > point["of"] // 2, "nothing failed")
                self.assertEqual(ended.stdout, done.stdout)
                return
            self.assertIn(ended.returncode, (1, 2, 3), ended.stderr)
            self.assertTrue(ended.stderr.strip(), "failed without a word")
            self.assertEqual(ended.stdout, "", "half of a document")
            world.lpo("report", self.trace, "-o", "here/run", LPO_FAULT_CALL="malloc", LPO_FAULT_AT=point["at"],
                      LPO_FAULT=point["error"])
            self.whole_json(world)

    def test_report_memory(self) -> None:
        """an allocation of `lpo report` fails"""
        type(self).trace = str(pathlib.Path(__file__).resolve().parent.parent / "data" / "native" / "toy.lpot")
        with World() as world:
            counted = world.root / "counts"
            world.lpo("report", self.trace, "--json", LPO_FAULT_COUNT=counted)
            count = dict(line.split() for line in counted.read_text().splitlines())["malloc"]
        self.sweep("an allocation of a report fails", self.check_report_memory,
                   [{"error": error, "at": n, "of": int(count)} for error in ("ENOMEM", "ENOMEM:once")
                    for n in spread(int(count), MEMORY_POINTS)])

    def test_report_interrupted(self) -> None:
        """Ctrl-C while `lpo report` writes"""
        with World() as world:
            self.other_reports(world)
            counted = world.root / "counts"
            world.lpo("report", "here/run", LPO_FAULT_COUNT=counted)
            count = int(dict(line.split() for line in counted.read_text().splitlines())["rename"])
        self.assertGreater(count, 0, "a report that writes nothing")
        self.sweep("Ctrl-C in a report", self.check_report_interrupted, [{"at": n} for n in picked(count, KILLED_POINTS)])


if __name__ == "__main__":
    if not LPO:
        tap.skip_all("no lpo without sanitizers: run make first")
    tap.main()
