# SPDX-License-Identifier: Apache-2.0
"""The Python package: the wheel in an empty environment, what `import lpo` gives, handlers of trainings."""
from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT / "python")]

import tap  # noqa: E402
import lpo  # noqa: E402
from lpo import _training as training  # noqa: E402

TRACE = ROOT / "tests/data/kineto/h200_llama8.json.gz"
ALL = "--all" in sys.argv
# Debian's python3 has no ensurepip without a package of its own
PYTHONS = sorted({p for name in ("python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3")
                  for p in [shutil.which(name)] if p} |
                 {str(p) for p in Path.home().glob(".pyenv/versions/3.*/bin/python3")}) if ALL else \
    [os.environ.get("LPO_TEST_PYTHON", sys.executable)]


def answer(*words, **more):
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def make_wheel(folder):
    stage = Path(folder) / "stage"
    build = os.environ["LPO_BUILD_ROOT"]
    code, out, err = answer("meson", "install", "-C", build, "--no-rebuild", "--destdir", stage)
    assert code == 0, out + err
    prefix = next(p.parent.parent for p in stage.rglob("bin/lpo"))
    code, out, err = answer(sys.executable, ROOT / "scripts/wheel.py", "--stage", prefix, folder)
    assert code == 0, err
    return Path(out.strip())


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.wheel = make_wheel(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_it_can_be_installed_without_a_network_and_runs(self):
        tried = 0
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                if answer(python, "-c", "import sys, ensurepip; sys.exit(sys.version_info < (3, 8))")[0]:
                    continue  # older, or Debian's without venv
                tried += 1
                self.assertEqual(answer(python, "-m", "venv", f"{folder}/v")[0], 0)
                env = {k: v for k, v in os.environ.items() if not k.startswith(("LPO_BIN", "PYTHON"))}
                code, _, err = answer(f"{folder}/v/bin/python", "-m", "pip", "install", "-q", "--no-index", self.wheel, env=env)
                self.assertEqual(code, 0, err)
                code, out, err = answer(f"{folder}/v/bin/lpo", "run", "run.repeats=1", cwd=folder, env=env)
                self.assertEqual(code, 0, err)
                self.assertIn("report.html", out)
                script = f"import lpo; print(len(lpo.open({str(TRACE)!r}).kernels()), lpo.program())"
                code, out, err = answer(f"{folder}/v/bin/python", "-c", script, cwd=folder, env=env)
                self.assertEqual((code, out.split()[1:]), (0, [f"{folder}/v/bin/lpo"]), err)
                code, out, err = answer(f"{folder}/v/bin/python", "-m", "llm_perf_opt.runners.llm_profile_runner",
                                        "--dry-run", cwd=folder, env=env)
                self.assertEqual(code, 0, err)
                self.assertIn("lpo run --config-name llm_profile_runner --dry-run", err)
        if not tried:
            self.skipTest("no python3 from 3.8 on with ensurepip")

    def test_every_file_is_recorded_with_its_hash(self):
        import base64

        with zipfile.ZipFile(self.wheel) as z:
            names = set(z.namelist())
            record = next(n for n in names if n.endswith("/RECORD"))
            rows = [line.rsplit(",", 2) for line in z.read(record).decode().splitlines()]
            self.assertEqual({r[0].strip('"') for r in rows}, names)
            for name, digest, _ in rows:
                if digest:
                    want = base64.urlsafe_b64encode(hashlib.sha256(z.read(name.strip('"'))).digest()).rstrip(b"=").decode()
                    self.assertEqual(digest, "sha256=" + want)

    def test_the_same_sources_give_the_same_bytes(self):
        once = self.wheel.read_bytes()
        stage = next(p.parent.parent for p in Path(self.folder.name).rglob("bin/lpo"))
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = answer(sys.executable, ROOT / "scripts/wheel.py", "--stage", stage, folder)
            self.assertEqual(code, 0, err)
            self.assertEqual(Path(out.strip()).read_bytes(), once)


class Reports(unittest.TestCase):
    def test_rows_are_those_of_the_program(self):
        t = lpo.open(TRACE)
        top = json.loads(answer(lpo.program(), "top", TRACE, "--json")[1])["kernels"]
        self.assertEqual(t.kernels(), top)
        self.assertEqual(sum(k["launches"] for k in t.kernels()), sum(k["launches"] for k in top))
        self.assertEqual(t.findings, t.json["findings"])
        self.assertGreater(len(t.operators()), 100)
        self.assertEqual(t.wall[0]["span_ns"], sum(t.wall[0][k] for k in
                         ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")))
        self.assertIn("(outside)", [r["path"] for r in t.regions()])
        self.assertRaises(KeyError, t.regions, "rank:7")

    def test_a_notebook_gets_the_page_and_tables(self):
        t = lpo.open(TRACE)
        self.assertTrue(t._repr_html_().startswith("<iframe srcdoc="))
        self.assertIn("&lt;!doctype html&gt;", t._repr_html_().lower())
        self.assertEqual(lpo.Rows([{"a": "<b>", "c": None}])._repr_html_().count("&lt;b&gt;"), 1)

    def test_a_frame_where_pandas_is(self):
        rows = lpo.Rows([{"a": 1}])
        if importlib.util.find_spec("pandas") is None:
            self.assertRaises(ImportError, rows.frame)
        else:
            self.assertEqual(list(rows.frame().columns), ["a"])

    def test_diff_says_whether_it_regressed(self):
        d = lpo.diff(TRACE, TRACE, fail_over="3%")
        self.assertFalse(d.regressed)
        self.assertEqual(d.wall["a_ns"], d.wall["b_ns"])

    def test_what_is_not_there_is_said(self):
        self.assertRaises(FileNotFoundError, lpo.open, "no/such/trace.json")
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            f.write(b"not a trace")
            f.flush()
            with self.assertRaises(lpo.LpoError) as caught:
                lpo.open(f.name).kernels()
        self.assertNotEqual(caught.exception.code, 0)
        self.assertIn(f.name, str(caught.exception))

    def test_run_gives_the_report_of_its_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            r = lpo.run(["run.repeats=1", "pipeline.static_analysis.enable=false"], output=folder + "/r", cwd=folder)
            self.assertIn("prefill", [x["path"] for x in r.regions()])
            with self.assertRaises(lpo.LpoError) as caught:
                lpo.run(["no.such.key=1"], cwd=folder)
            self.assertEqual(caught.exception.code, 2)

    def test_only_what_is_asked_for_is_loaded(self):
        code, out, err = answer(sys.executable, "-c", "import sys, lpo; print('json' in sys.modules, 'subprocess' in sys.modules)",
                                env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual((code, out), (0, "False False\n"), err)


class Profiler:
    """As much of torch.profiler.profile as the handler and the callback use."""
    step_num = 7

    def __init__(self, **options):
        self.options, self.steps, self.open = options, 0, None

    def __enter__(self):
        self.open = True

    def __exit__(self, *why):
        self.open = False

    def step(self):
        self.steps += 1

    def export_chrome_trace(self, path):
        shutil.copy(TRACE, path)


class Training(unittest.TestCase):
    def said(self, handler, *profilers):
        with self.assertLogs("lpo", logging.INFO) as logs:
            for p in profilers:
                handler(p)
            handler.wait()
        return [r.getMessage() for r in logs.records]

    def test_a_trace_becomes_a_report_and_three_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = self.said(lpo.trace_handler(folder), Profiler())
            self.assertTrue(os.path.exists(f"{folder}/step7/rank0.json.gz"))
            self.assertTrue(os.path.exists(f"{folder}/step7/report/report.html"))
            self.assertLessEqual(len(lines), 3)
            self.assertTrue(all(line.startswith("lpo: ") for line in lines), lines)

    def test_rank_0_reports_on_all_ranks_that_are_there(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="2"):
            lpo.trace_handler(folder)(Profiler())
            os.environ["RANK"] = "0"
            self.said(lpo.trace_handler(folder, wait_s=5), Profiler())
            self.assertEqual(sorted(os.listdir(f"{folder}/step7")), ["rank0.json.gz", "rank1.json.gz", "report"])

    def test_a_report_that_fails_does_not_end_the_training(self):
        class Broken(Profiler):
            def export_chrome_trace(self, path):
                with gzip.open(path, "wb") as f:
                    f.write(b"nothing")

        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("no report", self.said(lpo.trace_handler(folder), Broken())[0])

    def test_a_trainer_profiles_the_steps_that_were_asked_for(self):
        made = []

        def make(**options):
            made.append(Profiler(**options))
            return made[-1]

        class State:
            global_step = 0

        with tempfile.TemporaryDirectory() as folder:
            c = lpo.callback(folder, steps=(3, 5), make=make)
            state, opened = State(), []
            c.on_train_begin(None, state, None)
            for i in range(8):
                c.on_step_begin(None, state, None)
                opened.append(bool(made and made[-1].open))
                state.global_step = i + 1
                c.on_step_end(None, state, None)
            c.on_train_end(None, state, None)
            self.assertEqual(opened, [False, False, True, True, True, False, False, False])
            self.assertEqual((len(made), made[0].steps, made[0].open), (1, 2, False))
            self.assertTrue(os.path.exists(f"{folder}/step7/report/report.json"))
        self.assertRaises(ValueError, lpo.callback, steps=(0, 3))

    def test_lightning_counts_steps_its_own_way(self):
        made = []

        class Trainer:
            global_step = 0

        with tempfile.TemporaryDirectory() as folder:
            c = lpo.callback(folder, steps=(2, 2), make=lambda **o: made.append(Profiler(**o)) or made[-1])
            t = Trainer()
            c.setup(t, None, stage="fit")
            for i in range(4):
                c.on_train_batch_start(t, None, None, i)
                t.global_step = i + 1
                c.on_train_batch_end(t, None, None, None, i)
            c.on_train_end(t, None)
            self.assertEqual((len(made), made[0].steps), (1, 0))

    def test_the_summary_says_what_is_missing(self):
        lines = training._summary({"window": {"wall_ns": 5_000_000, "steps": 2}, "findings": []}, 1, 4)
        self.assertIn("3 of 4 ranks", lines[0])
        self.assertIn("nothing large", lines[1])


class Types(unittest.TestCase):
    def test_mypy_finds_nothing(self):
        mypy = shutil.which("mypy")
        if not mypy:
            self.skipTest("no mypy")
        code, out, err = answer(mypy, "--no-error-summary", "--cache-dir", "/dev/null", cwd=ROOT)
        self.assertEqual(code, 0, out + err)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    tap.main()
