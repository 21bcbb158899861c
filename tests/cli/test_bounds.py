#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for hours or gigabytes: lpo answers within seconds, with a report or a clear error."""
from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure
import tap
from lpo_case import LPO, LpoCase

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
HOSTILE = os.path.join(DATA, "hostile")
NATIVE = os.path.join(DATA, "native", "toy.lpot")
FORMATS = ("text", "md", "csv", "json", "perfetto")
SECONDS, BYTES, HANGS = 10, 1 << 30, 600
with open(LPO, "rb") as program:
    if b"__asan_init" in program.read():  # shadow memory and checks are not the file's fault
        SECONDS, BYTES = 60, 4 << 30


class Bounds(LpoCase):
    def answer(self, *words: str, stdin=subprocess.DEVNULL) -> tuple[int, str, str]:
        """Runs lpo and checks what it took: seconds of work, memory, no signal, no undefined behaviour.

        The processor's seconds, not those of the clock: other work on the machine is not the file's fault. Only
        what waits for ever is ended by the clock."""
        with open(os.path.join(self.cwd, "out"), "w+b") as out, open(os.path.join(self.cwd, "err"), "w+b") as err:
            code, work, memory = measure.run([LPO, *words], HANGS, cwd=self.cwd, stdin=stdin, stdout=out, stderr=err)
            out.seek(0)
            err.seek(0)
            texts = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        self.assertNotEqual(code, -signal.SIGKILL, f"{words} did not end within {HANGS} s")
        self.assertLess(work, SECONDS, words)
        self.assertLess(memory, BYTES, words)
        self.assertIn(code, (0, 1, 2), texts[1][-2000:])
        self.assertNotIn("runtime error", texts[1])
        self.assertNotIn("out of memory", texts[1])
        return code, *texts

    def file(self, name: str, content: bytes) -> str:
        path = os.path.join(self.cwd, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def hostile(self):
        """Each file kept from an attack, unpacked where a reader does not do that itself."""
        folders = [HOSTILE, os.path.join(DATA, "..", "..", "..", "shared", "data", "hostile")]
        names = {n: f for f in folders if os.path.isdir(f) for n in os.listdir(f) if not n.endswith(".md")}
        for name, folder in sorted(names.items()):
            path = os.path.join(folder, name)
            if name.endswith((".lpot.gz", ".sqlite.gz")):
                with gzip.open(path) as f:
                    path = self.file(name[:-3], f.read())
            yield name, path

    def test_files_kept_from_attacks_in_every_format(self):
        every = "report.formats=[md,json,html,csv,svg,perfetto]"
        for name, path in self.hostile():
            for words in (*(["regions", "-f", form] for form in FORMATS), ["top"], ["top", "--json"], ["operators"],
                          ["export", "-o", "x.sqlite"], ["export", "-o", "x.perfetto.json"],
                          ["report", "--json"], ["report", every, "-o", name + ".report"]):
                with self.subTest(name=name, words=words):
                    self.answer(*words, path)

    def test_a_key_of_thousands_of_levels(self):
        code, _, err = self.answer("config", "+a" + ".a" * 30000 + "=1")
        self.assertEqual(code, 2)
        self.assertIn("30001 levels", err)

    def test_a_sweep_of_more_jobs_than_there_may_be_is_wrong_usage(self):
        code, _, _ = self.answer("run", "-m", "--dry-run", "+a=range(0,100000)", "+b=1,2")
        self.assertEqual(code, 2)

    def limited(self, kind: int, most: int, *words: str):
        return subprocess.run([LPO, *words], cwd=self.cwd, capture_output=True, text=True, timeout=HANGS,
                              preexec_fn=lambda: resource.setrlimit(kind, (most, most)))

    @unittest.skipIf(SECONDS > 10, "sanitizers have their own needs")
    def test_limits_of_the_shell_end_in_words(self):
        done = self.limited(resource.RLIMIT_FSIZE, 20480, "report", NATIVE, "-o", "out")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("File too large", done.stderr)
        done = self.limited(resource.RLIMIT_STACK, 64 << 10, "top", NATIVE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_name_of_a_megabyte_is_cut_once_and_stays_apart(self):
        def events(count):
            for i in range(count):
                yield {"ph": "X", "cat": "user_annotation", "name": "x" * 1000000 + str(i % 2), "pid": 1, "tid": 1, "ts": i, "dur": 1}
        path = self.kineto("long.json.gz", events(50))
        code, out, _ = self.answer("regions", "--json", path)
        self.assertEqual(code, 0)
        paths = {r["path"] for s in json.loads(out)["scopes"] for r in s["regions"] if r["kind"] == "push_pop"}
        self.assertEqual(len(paths), 2)
        self.assertLess(len(out), 1 << 20)
        code, out, _ = self.answer("regions", "-f", "perfetto", path)
        self.assertEqual(len([e for e in json.loads(out)["traceEvents"] if e["ph"] == "X"]), 50)
        self.assertLess(len(out), 1 << 20)

    def test_a_long_path_around_every_kernel_is_cut_in_each_row(self):
        """of a database; rows of one path still have one text"""
        def events():
            for i in range(40):
                yield {"ph": "X", "cat": "user_annotation", "name": f"{i}" + "x" * 30000, "pid": 1, "tid": 1, "ts": i, "dur": 10**6 - 2 * i}
            for i in range(3000):
                yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1000 + i, "dur": 1, "args": {"correlation": i}}
                yield {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1001 + i, "dur": 1,
                       "args": {"correlation": i, "device": 0, "stream": 7}}
        path = self.kineto("paths.json.gz", events())
        self.assertEqual(self.answer("export", path, "-o", "x.sqlite")[0], 0)
        database = os.path.join(self.cwd, "x.sqlite")
        self.assertLess(os.path.getsize(database), 64 << 20)
        with contextlib.closing(sqlite3.connect(database)) as db:
            (found,) = db.execute("select count(*) from gpu_ops join regions on gpu_ops.region = regions.path "
                                  "where length(path) < 5000 and regions.scope = 'aggregate'").fetchone()
        self.assertEqual(found, 3000)

    def test_an_endless_list_of_tables_is_an_error_with_its_remedy(self):
        code, _, err = self.answer("regions", os.path.join(HOSTILE, "dag_master.sqlite"))
        self.assertEqual(code, 1)
        self.assertIn("stopped after", err)
        self.assertIn("--limit", err)

    def test_paths_beyond_the_budget_count_with_the_region_around(self):
        code, out, _ = self.answer("regions", "--json", os.path.join(HOSTILE, "k_paths3.json.gz"))
        self.assertEqual(code, 0)
        self.assertIn("counted in the region around", out)
        json.loads(out)

    def test_times_at_the_ends_of_int64_are_marked(self):
        code, out, _ = self.answer("top", os.path.join(HOSTILE, "extreme.sqlite"))
        self.assertEqual(code, 0)
        self.assertIn("no clock can have shown", out)
        self.assertNotIn("-", out.split("In all", 1)[1].split("\n")[0])

    def test_a_long_default_value_in_every_row(self):
        path = os.path.join(self.cwd, "default.sqlite")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER)")
        db.executemany("INSERT INTO NVTX_EVENTS VALUES(?, ?, 59, 1)", ((i, i + 1) for i in range(100000)))
        db.execute(f"ALTER TABLE NVTX_EVENTS ADD COLUMN text TEXT DEFAULT '{'x' * 900000}'")
        db.commit()
        db.close()
        code, out, _ = self.answer("regions", path)
        self.assertEqual(code, 0)
        self.assertIn("several times larger than the file", out)

    def test_a_view_of_the_file_is_not_run(self):
        path = os.path.join(self.cwd, "view.sqlite")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE StringIds(id INTEGER, value TEXT)")
        db.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                   "SELECT i AS start, i AS end, 59 AS eventType, 1 AS globalTid FROM n")
        db.commit()
        db.close()
        self.answer("regions", path)

    def test_a_stream_that_inflates_without_end(self):
        member = gzip.compress(bytes(10 << 20), 9)
        head = gzip.compress(b"SQLite format 3\0")
        code, _, err = self.answer("regions", self.file("bomb.sqlite.gz", head + member * 120))
        self.assertEqual(code, 1)
        self.assertIn("--limit", err)

    def test_twelve_lines_of_nested_interpolations(self):
        for name, line in ("text", "'" + "${a%d}" * 10 + "'"), ("map", "{p: '${a%d}', q: '${a%d}', r: '${a%d}'}"):
            with self.subTest(name=name):
                lines = ["a0: " + "x" * 100]
                lines += [f"a{i}: " + line.replace("%d", str(i - 1)) for i in range(1, 40)]
                self.write("conf/config.yaml", "\n".join(lines) + "\n")
                code, _, err = self.answer("config", "--config-dir", "conf", "--resolve")
                self.assertEqual(code, 2)
                self.assertIn("interpolations", err)
                self.assertIn("--limit", err)

    def kineto(self, name: str, events) -> str:
        path = os.path.join(self.cwd, name + ".json.gz")
        with gzip.open(path, "wt", compresslevel=1) as f:
            f.write('{"traceEvents":[' + ",".join(json.dumps(e) for e in events) + "]}")
        return path

    def test_reports_of_what_a_program_has_a_few_of(self):
        """Streams and blocking calls by name: a list that is searched for each of many took minutes."""
        def event(cat, name, tid, ts, dur, i):
            return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur,
                    "args": {"correlation": i, "device": 0, "stream": tid}}

        n = 200000
        files = {
            "streams": [event("kernel", "k", i, 2 * i, 1, i) for i in range(n)],
            "calls": [e for i in range(n) for e in (event("cuda_runtime", f"cudaWait_{i}", 1, 100 * i + 1, 97, n + i),
                                                    event("cuda_runtime", "cudaLaunchKernel", 1, 100 * i - 1, 1, i),
                                                    event("kernel", "k", 7, 100 * i, 1, i))],
        }
        for name, events in files.items():
            with self.subTest(name=name):
                code, out, _ = self.answer("report", "--json", self.kineto(name, events))
                self.assertEqual(code, 0)
                self.assertEqual(json.loads(out)["wall"][0]["idle_ns"], {"streams": 1000, "calls": 99000}[name] * (n - 1))

    def test_more_kernel_names_than_are_listed(self):
        """The most expensive are listed and the others summed, to the nanosecond."""
        n, most = 120000, 100000
        path = self.kineto("names", ({"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 1 + i % 5,
                                      "args": {"device": 0, "stream": 7}} for i in range(n)))
        total = sum(1000 * (1 + i % 5) for i in range(n))
        code, out, _ = self.answer("report", path, "-o", "reports")
        self.assertEqual(code, 0)
        with open(os.path.join(self.cwd, "reports", "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        with open(os.path.join(self.cwd, "reports", "kernels.md"), encoding="utf-8") as f:
            self.assertIn("120,000", f.read()[-4000:])
        code, out, _ = self.answer("regions", "--json", path)
        regions = json.loads(out)["scopes"][0]["regions"]
        for where in report, regions[-1]:
            kernels, rest = where["kernels"], where["kernels_left_out"]
            self.assertEqual((len(kernels), rest["kernels"]), (most, n - most))
            self.assertEqual(rest["gpu_ns"] + sum(k["gpu_ns"] for k in kernels), total)
            self.assertEqual(rest["launches"] + sum(k["launches"] for k in kernels), n)
            self.assertEqual(max(k["gpu_ns"] for k in kernels), kernels[0]["gpu_ns"])
        self.assertEqual(regions[-1]["distinct_kernels"], n)
        self.assertTrue(any("more kernels than are listed" in note["text"] for note in report["notes"]))
        code, out, _ = self.answer("top", "--json", path)
        self.assertEqual(len(json.loads(out)["kernels"]), n)

    def test_more_regions_than_a_document_holds(self):
        """Each range has a name of its own: the most expensive are listed, the others counted."""
        n = 250000
        path = self.kineto("ranges", ({"ph": "X", "cat": "user_annotation", "name": f"r{i}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 1 + i % 5}
                                      for i in range(n)))
        code, out, _ = self.answer("regions", "--json", path)
        self.assertEqual(code, 0)
        self.assertLess(len(out), 256 << 20)
        for scope in json.loads(out)["scopes"]:
            regions = [r for r in scope["regions"] if r["path"] != "(outside)"]
            self.assertEqual(len(regions) + scope["regions_left_out"]["regions"], n)
            self.assertGreater(len(regions), n // 2)
            self.assertEqual(sum(r["host_ns"] > 1000 for r in regions), n * 4 // 5)  # what is left out is the cheapest
        code, out, _ = self.answer("--limit", "10", "regions", "--json", path)
        self.assertNotIn("regions_left_out", out)

    def test_a_page_of_more_streams_than_can_be_drawn(self):
        """The page looked for a step that makes them few, and there is none."""
        path = os.path.join(self.cwd, "streams.json.gz")
        with gzip.open(path, "wt", compresslevel=1) as f:
            f.write('{"traceEvents":[' + ",".join(
                '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":%d,"ts":%d,"dur":1,"args":{"device":0,"stream":%d}}'
                % (i, 2 * i, i) for i in range(400000)) + "]}")
        code, out, _ = self.answer("report", path, "-o", "reports")
        self.assertEqual(code, 0)
        with open(os.path.join(self.cwd, "reports", "report.json"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn("more streams than are listed", text)
        self.assertEqual(json.loads(text)["wall"][0]["idle_ns"], 1000 * 399999)

    def test_counts_that_multiply(self):
        """Each of these took minutes or gigabytes: a table per process, a list per level, a path per overlap."""
        def span(cat, name, pid, tid, ts, dur, **args):
            return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}

        def nest(n, pid=1):
            return [span("user_annotation", f"n{i}", pid, 1, i, 10**9 - 2 * i) for i in range(n)]

        def launches(n, pid=lambda i: 1, device=lambda i: 0, name=lambda i: "k"):
            for i in range(n):
                yield span("cuda_runtime", "cudaLaunchKernel", pid(i), pid(i), 1000 + i, 1, correlation=i)
                yield span("kernel", name(i), device(i), 7, 1001 + i, 1, correlation=i, device=device(i), stream=7)

        files = {
            "processes": [*(span("user_annotation", "r", p, p, 1, 9000) for p in range(20000)), *launches(20000, lambda i: i)],
            "devices": list(launches(20000, device=lambda i: i)),
            "levels": [*nest(250), *launches(40000, name=lambda i: f"k{i}")],
            "overlaps": [span("user_annotation", f"n{i % 1000}", 1, 1, i * 10, 2550 + i % 7 * 10) for i in range(30000)],
        }
        for name, events in files.items():
            with self.subTest(name=name):
                code, out, _ = self.answer("regions", "--json", self.kineto(name, events))
                self.assertEqual(code, 0)
                json.loads(out)

    def test_start_end_ranges_in_sixty_thousand_processes(self):
        path = os.path.join(self.cwd, "processes.sqlite")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, text TEXT)")
        db.executemany("INSERT INTO NVTX_EVENTS VALUES(?, ?, ?, ?, 'r')",
                       ((p, p + 5, 59 if t else 60, p << 24 | t) for p in range(1, 60001) for t in range(8)))
        db.commit()
        db.close()
        code, out, _ = self.answer("regions", path)
        self.assertEqual(code, 0)
        self.assertIn("60,000", out)

    def test_a_sparse_file_that_claims_a_terabyte(self):
        for name, head in ("s.json", b'{"traceEvents":[\n'), ("t.json", b'{"traceEvents":[{"name":"'), ("s.lpot", None):
            with self.subTest(name=name):
                if head is None:
                    with open(NATIVE, "rb") as f:
                        head = f.read()
                path = self.file(name, head)
                os.truncate(path, 1 << 40)
                self.answer("regions", path)

    def test_a_fifo_that_nobody_writes_to(self):
        os.mkfifo(os.path.join(self.cwd, "fifo"))
        code, _, err = self.answer("regions", "fifo")
        self.assertEqual(code, 1)
        self.assertIn("nothing came", err)

    def test_a_fifo_in_the_place_of_any_file(self):
        for name, words in (("config.yaml", ["config", "--config-dir", "."]), ("config.json", ["analyze", "config.json"]),
                            ("m.gguf", ["analyze", "m.gguf"]), ("m.safetensors", ["analyze", "m.safetensors"]),
                            ("run.json", ["report", "."])):
            with self.subTest(name):
                path = os.path.join(self.cwd, name)
                os.mkfifo(path)
                code, _, err = self.answer(*words)
                os.unlink(path)
                self.assertNotEqual(code, 0)
                self.assertIn(name.removesuffix(".yaml"), err)

    def test_a_pipe_or_a_link_among_the_traces_of_a_run_is_a_problem(self):
        """What could not be looked at is not the same as nothing."""
        os.makedirs(os.path.join(self.run_dir, "native"))
        os.symlink(NATIVE, os.path.join(self.run_dir, "native", "1.lpot"))
        os.mkfifo(os.path.join(self.run_dir, "native", "2.lpot"))
        self.put("config.yaml", "{}\n")
        for words in ["regions", "run"], ["report", "run", "-o", "reports"]:
            self.answer(*words)
        with open(os.path.join(self.cwd, "reports", "report.md"), encoding="utf-8") as f:
            self.assertIn("native/1.lpot' is a pipe, a link or a device", f.read())

    def test_a_folder_of_pipes_and_links_says_so(self):
        os.mkdir(os.path.join(self.cwd, "traces"))
        os.mkfifo(os.path.join(self.cwd, "traces", "a.json"))
        code, _, err = self.answer("regions", "traces")
        self.assertEqual(code, 1)
        self.assertIn("pipes, links and devices in it are left alone", err)

    def test_a_folder_of_hostile_files(self):
        """Every file of a folder is looked at: streams without end, holes, pipes, names."""
        os.mkdir(os.path.join(self.cwd, "traces"))
        zeros = gzip.compress(bytes(10 << 20), 9)
        self.file("traces/a.sqlite.gz", gzip.compress(b"SQLite format 3\0") + zeros * 60)
        self.file("traces/b.json.gz", gzip.compress(b'{"traceEvents":[') + zeros * 60)
        self.file("traces/c.csv.gz", gzip.compress(b'"ID","Process ID","') + zeros * 60)
        self.file("traces/d.zst", b"\x28\xb5\x2f\xfd" + bytes(100))
        self.file("traces/e\x1b[2J\n.lpot", b"LPOTRACE" + bytes(100))
        os.truncate(self.file("traces/f.json", b'{"traceEvents":[\n'), 1 << 40)
        os.mkfifo(os.path.join(self.cwd, "traces", "g.json"))
        os.symlink("/dev/zero", os.path.join(self.cwd, "traces", "h.json"))
        for words in ["regions", "traces"], ["report", "traces", "--json"], ["top", "traces"]:
            with self.subTest(words=words):
                self.answer(*words)

    def exporting(self):
        """lpo that waits for a program nsys which has begun to write its export; its TMPDIR."""
        scratch, bin = os.path.join(self.cwd, "scratch"), os.path.join(self.cwd, "bin")
        os.mkdir(scratch)
        self.write("bin/nsys", '#!/bin/sh\nprintf half >"$5"; printf more >"$5-journal"; exec sleep 60\n')
        os.chmod(os.path.join(bin, "nsys"), 0o755)
        self.file("r.nsys-rep", b"NVIDIA Tegra Profiler Report 2031@1@1@1-0v0." + b"opaque" * 10)
        child = subprocess.Popen([LPO, "regions", "r.nsys-rep"], cwd=self.cwd, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL,
                                 env=os.environ | {"TMPDIR": scratch, "PATH": bin + ":" + os.environ["PATH"]})
        self.wait_for(lambda: any(f.endswith("-journal") for _, _, files in os.walk(scratch) for f in files))
        return child, scratch

    def test_the_folder_of_an_export_is_swept_after_a_kill(self):
        child, scratch = self.exporting()
        child.kill()
        child.wait()
        self.file("scratch/lpo-pipe-abcdef", b"of a killed process, too")
        for name in os.listdir(scratch):
            os.utime(os.path.join(scratch, name), (0, 0))
        with open(NATIVE, "rb") as f:
            done = subprocess.run([LPO, "regions", "-"], stdin=f, capture_output=True, env=os.environ | {"TMPDIR": scratch})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(scratch), [])

    def test_the_folder_of_an_export_in_use_is_not_swept(self):
        child, scratch = self.exporting()
        before = sorted(os.listdir(scratch))
        for name in before:
            os.utime(os.path.join(scratch, name), (0, 0))
        with open(NATIVE, "rb") as f:
            subprocess.run([LPO, "regions", "-"], stdin=f, capture_output=True, env=os.environ | {"TMPDIR": scratch})
        self.assertEqual(sorted(os.listdir(scratch)), before)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=60), 130)
        self.assertLessEqual(len(os.listdir(scratch)), 1)  # a file that only nsys knows of keeps its folder

    def test_a_slow_pipe_is_waited_for(self):
        """Silent for longer than a FIFO that nobody opens may be, as a slow zcat is."""
        want = self.answer("regions", NATIVE)[1]
        slow = subprocess.Popen(["sh", "-c", 'head -c 100 "$1"; sleep 7; tail -c +101 "$1"', "sh", NATIVE],
                                stdout=subprocess.PIPE)
        out = subprocess.run([LPO, "regions", "-"], cwd=self.cwd, stdin=slow.stdout, capture_output=True, timeout=120)
        slow.stdout.close()
        slow.wait()
        self.assertEqual((out.returncode, out.stdout.decode()), (0, want), out.stderr)

    def stalled(self, name: str, stderr):
        """lpo that reads a pipe from which only the first bytes come; returned when it waits for the others."""
        os.mkfifo(os.path.join(self.cwd, name))
        scratch = os.path.join(self.cwd, "scratch")
        os.mkdir(scratch)
        child = subprocess.Popen([LPO, "regions", name], cwd=self.cwd, stdout=subprocess.DEVNULL, stderr=stderr,
                                 env=os.environ | {"TMPDIR": scratch})
        writer = os.open(os.path.join(self.cwd, name), os.O_WRONLY)
        self.addCleanup(os.close, writer)
        with open(NATIVE, "rb") as f:
            os.write(writer, f.read(100))
        while child.poll() is None and not any(os.path.getsize(os.path.join(scratch, n)) for n in os.listdir(scratch)):
            time.sleep(0.01)
        return child, scratch

    def test_ctrl_c_ends_a_long_read(self):
        child, scratch = self.stalled("long", subprocess.PIPE)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        self.assertEqual((child.returncode, err), (130, b"\nlpo: interrupted\n"))
        self.assertEqual(os.listdir(scratch), [])

    def test_a_terminal_is_told_what_is_waited_for(self):
        ours, theirs = os.openpty()
        child, _ = self.stalled("slow\x1b[2J", theirs)
        os.close(theirs)
        said = b""
        while b"Ctrl-C" not in said:
            said += os.read(ours, 1000)  # an end without the words raises
        child.send_signal(signal.SIGINT)
        child.wait()
        os.close(ours)
        self.assertIn(b"waiting for slow\\u{1b}[2J, for up to 60 s; Ctrl-C ends it", said)

    def test_pipes_and_standard_input_are_read(self):
        want = self.answer("regions", NATIVE)[1]
        with open(NATIVE, "rb") as f:
            self.assertEqual(self.answer("regions", "-", stdin=f)[1], want)
        for name in "-", "/dev/stdin":
            cat = subprocess.Popen(["cat", NATIVE], stdout=subprocess.PIPE)
            self.assertEqual(self.answer("regions", name, stdin=cat.stdout)[1], want)
            cat.stdout.close()
            cat.wait()

    def test_the_limit_is_checked(self):
        for words in ["--limit", "0", "regions", NATIVE], ["regions", "--limit=many", NATIVE], ["regions", "--limit"]:
            code, _, err = self.answer(*words)
            self.assertEqual(code, 2, words)
            self.assertIn("--limit", err)
        self.assertEqual(self.answer("--limit", "10", "regions", NATIVE)[0], 0)
        self.assertEqual(self.answer("regions", NATIVE, "--limit", "10")[0], 0)


if __name__ == "__main__":
    tap.main()
