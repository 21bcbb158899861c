#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library and the collector: recorded and counted launches are all that the program made."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["LPO_SOURCE_ROOT"])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/collect"), str(Path(__file__).resolve().parent)]
sys.dont_write_bytecode = True
import tap  # noqa: E402
from count_case import HERE, LIBRARY, WAYS, collected, numbers  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402
from lpot import Trace  # noqa: E402

RANGE = {"CAPTURE_RANGE": "decode", "CAPTURE_COUNT": 1}
START, WINDOW, INSIDE = ({"CAPTURE_ATTACH": n, "CAPTURE_LINGER_MS": 0} for n in (0, 1, 2))
UNRECORDED, CHOSEN = 18, 19  # of lpot_counter


class Counted(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)

    def tearDown(self) -> None:
        self.scratch.cleanup()

    def trace(self, way, scenario, *settings, preload=(LIBRARY,)):
        """The program's own numbers, its trace, and what lpo makes of the windows."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        merged = {k: v for s in (RANGE, *settings) for k, v in s.items()}
        output, code = collected(way, scenario, folder, preload, **merged)
        self.assertEqual(code, 0, output)
        path = max(folder.glob("*.lpot"), key=lambda p: p.stat().st_size)
        done = subprocess.run([LPO, "report", str(path), "--json"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        (row,) = json.loads(done.stdout)["windows"]
        return numbers(output), Trace(str(path)), row

    def check_all(self, got, trace, row, by):
        self.assertEqual(trace.facts["launches.counted"], by)
        recorded = trace.kernels()
        self.assertEqual(len(recorded) + trace.totals.get(UNRECORDED, 0), got["kernels"][0])
        inside = sum(1 for k in recorded if k["path"] and "decode" in k["path"])
        self.assertEqual(inside + trace.totals.get(CHOSEN, 0), got["chosen"][0])
        self.assertEqual([text for _, _, text in trace.notes if "counted" in text], [])
        self.assertIsNotNone(row["all_launches"])

    def check_unknown(self, trace, row, why):
        self.assertEqual(trace.facts["launches.counted"], "unknown")
        self.assertIsNone(row["all_launches"])
        (said,) = [text for _, _, text in trace.notes if "not counted" in text]
        self.assertIn(why, said)

    def test_every_way_and_every_time_of_cupti(self):
        for attach, by in ((START, "callback"), (WINDOW, "hook"), (INSIDE, "hook")):
            for way in WAYS:
                with self.subTest(way, by=by):
                    got, trace, row = self.trace(way, "windows", attach, {"CAPTURE_EVERY": 8})
                    self.assertEqual((got["kernels"], got["chosen"], row["calls_recorded"]), ([61], [40], 3))
                    self.check_all(got, trace, row, by)
                    self.assertEqual(row["all_launches"], 40)

    def test_every_function(self):
        for attach in (START, INSIDE):
            with self.subTest(attach=attach):
                got, trace, _ = self.trace("proc2", "each", attach)
                self.assertEqual((got["kernels"], trace.totals[UNRECORDED]), ([11], 11))

    def test_cupti_comes_and_goes(self):
        """fifty times, while four threads launch by every function"""
        for way in ("linked", "proc2"):
            with self.subTest(way):
                got, trace, row = self.trace(way, "comes_and_goes", INSIDE, {"CAPTURE_EVERY": 2})
                self.assertEqual((row["calls"], row["calls_recorded"]), (100, 50))
                self.check_all(got, trace, row, "hook")

    def test_before_the_first_window(self):
        got, trace, row = self.trace("dlsym", "windows", WINDOW, {"CAPTURE_FIRST": 15})
        self.assertEqual(row["calls_recorded"], 6)
        self.check_all(got, trace, row, "hook")

    def test_threads_without_a_range(self):
        """and without one window"""
        got, trace, _ = self.trace("dlsym", "threads", INSIDE)
        self.assertEqual(trace.totals[UNRECORDED], got["kernels"][0])

    def test_a_forked_child_is_not_counted(self):
        got, trace, row = self.trace("linked", "forks", INSIDE, {"CAPTURE_EVERY": 8})
        self.check_all(got, trace, row, "hook")

    def test_graphs_outside_windows(self):
        """what they ran is not known, so neither is the number of all kernels"""
        for attach in (START, INSIDE):
            with self.subTest(attach=attach):
                _, trace, row = self.trace("dlsym", "graphs", attach, {"CAPTURE_EVERY": 4})
                self.assertEqual(row["calls_recorded"], 2)
                self.assertNotEqual(trace.facts["launches.counted"], "unknown")
                self.assertIsNone(row["all_launches"])

    def test_without_the_library(self):
        _, trace, row = self.trace("dlsym", "windows", INSIDE, {"CAPTURE_EVERY": 8}, preload=())
        self.check_unknown(trace, row, "liblpo-count.so is not in the process")

    def test_a_program_that_the_library_did_not_see(self):
        """it initialised CUDA, and asked for no launch function here"""
        _, trace, row = self.trace("linked", "idle", INSIDE, {"CAPTURE_FIRST": 2})
        self.check_unknown(trace, row, "without liblpo-count.so")

    def test_more_functions_of_a_name_than_places(self):
        _, trace, row = self.trace("dlsym", "variants", INSIDE, {"CAPTURE_EVERY": 8})
        self.check_unknown(trace, row, "past liblpo-count.so")

    def test_cupti_that_was_refused(self):
        folder = self.folder / "refused"
        folder.mkdir()
        os.environ["FAKE_FAIL"] = "cuptiSubscribe_v2:39"
        try:
            _, trace, row = self.trace("dlsym", "windows", START, {"CAPTURE_EVERY": 8})
        finally:
            del os.environ["FAKE_FAIL"]
        self.check_unknown(trace, row, "CUPTI was not there")


class Preloaded(LpoCase):
    """The native stage preloads it where CUPTI is not always there, in front of what is there."""
    WORDS = ("pipeline.native.capture.range=decode", "pipeline.native.capture.count=true")

    def planned(self, *words, env=None):
        done = self.lpo_run("--dry-run", *self.WORDS, *words, "--", "/bin/true", env={"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", **(env or {})})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [word for word in done.stdout.partition("# native")[2].split() if word.startswith("LD_PRELOAD=")]

    def test_where_it_is_needed(self):
        for attach, want in (("start", []), ("window", [f"LD_PRELOAD={LIBRARY}"]), ("inside", [f"LD_PRELOAD={LIBRARY}"])):
            with self.subTest(attach):
                self.assertEqual(self.planned(f"pipeline.native.capture.attach={attach}"), want)

    def test_what_is_there_is_kept(self):
        inside = "pipeline.native.capture.attach=inside"
        rows = (((), {"LD_PRELOAD": "libm.so.6:libdl.so.2"}, f"LD_PRELOAD={LIBRARY}:libm.so.6:libdl.so.2"),
                (("+workload.env.LD_PRELOAD=libtheirs.so",), {"LD_PRELOAD": "libm.so.6"}, f"LD_PRELOAD={LIBRARY}:libtheirs.so"),
                (("+workload.env.LD_PRELOAD=null",), {"LD_PRELOAD": "libm.so.6"}, f"LD_PRELOAD={LIBRARY}"))
        for words, env, want in rows:
            with self.subTest(want):
                self.assertEqual(self.planned(inside, *words, env=env), [want])

    def test_a_run(self):
        """from the config to the report"""
        env = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", "LD_LIBRARY_PATH": f"{HERE}:{HERE.parent / 'collect'}"}
        done = self.lpo_run(*self.WORDS, "pipeline.native.capture.every=8", "pipeline.native.capture.attach=inside",
                            "pipeline.static_analysis.enable=false", "pipeline.torch_profiler.enable=false", "--",
                            str(HERE / "count_client"), "proc2", "windows", env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (row,) = self.json("report.json")["windows"]
        self.assertEqual((row["calls"], row["calls_recorded"], row["all_launches"]), (20, 3, 40))


if __name__ == "__main__":
    tap.main()
