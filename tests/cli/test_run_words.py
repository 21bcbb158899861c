#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo run as people type it: a program without --, --only, --output, the latest run, the program's own output. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ.get("LPO_SOURCE_ROOT", os.getcwd()), "tests"))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
NSYS = os.path.join(SOURCE, "tests", "data", "nsys", "h200_ranges.sqlite.gz")
LLAMA = os.path.join(SOURCE, "tests", "data", "native", "llama8.lpot")


class RunWords(LpoCase):
    def program(self, body: str) -> str:
        self.write("bin/prog", "#!/bin/sh\n" + body)
        os.chmod(os.path.join(self.cwd, "bin/prog"), 0o755)
        return "bin/prog"

    def test_a_program_without_dashes(self) -> None:
        for words, meant in (
                (["sh", "x.sh"], "lpo run -- sh x.sh"),
                (["run.repeats=2", "sh", "a b", "--fast", "k=v"], "lpo run run.repeats=2 -- sh 'a b' --fast k=v"),
                (["--only", "native", "sh", "-c", "true"], "lpo run --only native -- sh -c true"),
                (["-m", "no-such-program"], "lpo run -m -- no-such-program")):
            with self.subTest(words=words):
                done = self.lpo("run", *words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"did you mean: {meant}\n", done.stderr)
        done = self.lpo("run", "pipeline.nsys.enable")  # a key without its value is not a program
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("--", done.stderr)
        self.assertEqual(os.listdir(self.cwd), [])

    def test_a_program_that_is_not_there(self) -> None:
        done = self.lpo("run", "--", "./no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("'./no-such-program' was not found or is not executable", done.stderr)
        self.assertEqual(os.listdir(self.cwd), [])

    def test_words_that_other_programs_know(self) -> None:
        self.assertEqual(self.lpo("version").stdout, self.lpo("--version").stdout)
        self.assertEqual(self.lpo("help").stdout, self.lpo("-h").stdout)
        self.assertEqual(self.lpo("help", "report").stdout, self.lpo("report", "-h").stdout)
        for words, said in ((["help", "repot"], "lpo: unknown command 'repot'; did you mean 'report'? 'lpo -h' lists the commands\n"),
                            (["nonsense"], "lpo: unknown command 'nonsense'; 'lpo -h' lists the commands\n"),
                            (["report", "x", "--out", "y"], "lpo report: unknown option --out; did you mean --output?\n")):
            with self.subTest(words=words):
                done = self.lpo(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", said))

    def test_a_misspelt_key_is_answered_with_the_right_one(self) -> None:
        for word, said in (("pipline.nsys.enable=true", "did you mean 'pipeline.nsys.enable'?"),
                           ("run.repeat=3", "did you mean 'run.repeats'?")):
            with self.subTest(word=word):
                done = self.lpo("run", word)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr.splitlines()[0])
                self.assertNotIn("To append", done.stderr)
                shown = self.lpo("config", word)  # what run refuses config refuses, too
                self.assertEqual(shown.returncode, 2)
                self.assertIn(said, shown.stderr)

    def test_a_dry_run_says_what_would_not_run(self) -> None:
        off = ["pipeline.%s.enable=false" % s for s in ("static_analysis", "direct_inference", "native", "torch_profiler")]
        for name, words, said, warned in (
                ("regions without any", [*off, "pipeline.ncu.enable=true", "pipeline.ncu.regions.enable=true"], "# ncu: skipped: ", ""),
                ("no stage", off, "# no stage is enabled", ""),
                ("light", ["run.mode=light", "pipeline.nsys.enable=true"], "# nsys: skipped: not part of run.mode=light", ""),
                ("a list that is not there", ["--only", "static_analysis", "run.dataset_subset_filelist=/nope"], "# static", "/nope")):
            with self.subTest(name):
                done = self.lpo("run", "--dry-run", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(said, done.stdout)
                self.assertIn(warned, done.stderr)
        self.assertEqual(self.lpo("run", "--only", "static_analysis", "run.dataset_subset_filelist=/nope").returncode, 2)

    def test_a_key_that_is_added_may_be_unknown(self) -> None:
        """Hydra's rule for +; lpo says which of its own keys is near, and with --strict it is an error."""
        for word, near in (("+pipeline.nsys.enabel=true", "'pipeline.nsys.enable'"), ("+pipline.nsys.enable=true", "'pipeline'")):
            for strict in ([], ["--strict"]):
                with self.subTest(word=word, strict=strict):
                    for command in (["run", "--dry-run"], ["config"]):
                        done = self.lpo(*command, *strict, word)
                        self.assertEqual(done.returncode, 2 if strict else 0)
                        self.assertIn(near, done.stderr.splitlines()[0])
        mine = self.lpo("run", "--dry-run", "+mine.key=1")  # a section of the user's own, as Hydra has it
        self.assertEqual(mine.returncode, 0, mine.stderr)

    def test_only_one_stage_runs_it_once(self) -> None:
        done = self.lpo("run", "--only", "native", "-o", "out", "--", self.program("echo ran >> count\n"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "count"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "ran\n")
        states = {s["name"]: s["state"] for s in self.manifest(os.path.join(self.cwd, "out"))["stages"]}
        self.assertEqual({n for n, s in states.items() if s != "skipped"}, {"native"})

    def runs(self) -> int:
        with open(os.path.join(self.cwd, "count"), encoding="utf-8") as f:
            return len(f.read().split())

    def test_how_often_the_program_runs_is_said_before_it_does(self) -> None:
        done = self.lpo("run", "-o", "out", "--", self.program("echo ran >> count\n"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stderr.startswith("the program runs 3 times: direct_inference, native, torch_profiler\n"), done.stderr)
        self.assertIn("--once", done.stderr.splitlines()[1])
        self.assertEqual(self.runs(), 3)
        for words in (["-q", "-o", "q", "--", "true"], ["-o", "toy", "run.repeats=1"], ["-o", "one", "--once", "--", "true"]):
            self.assertNotIn("the program runs", self.lpo("run", *words).stderr)

    def test_once_is_one_run_of_it(self) -> None:
        done = self.lpo("run", "--once", "-o", "out", "--", self.program("echo ran >> count\n"))
        self.assertEqual((done.returncode, self.runs()), (0, 1), done.stderr)
        states = {s["name"]: s["state"] for s in self.manifest(os.path.join(self.cwd, "out"))["stages"]}
        self.assertEqual((states["native"], states["static_analysis"], states["direct_inference"]), ("done", "done", "skipped"))
        self.assertEqual(self.lpo("run", "--once", "--only", "nsys", "--", "true").returncode, 2)

    def test_without_a_gpu_the_host_is_judged(self) -> None:
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("a GPU is here")
        done = self.lpo("run", "-q", "--once", "run.repeats=1", "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = re.sub(r"\n(?!\d\.)", " ", done.stdout[done.stdout.index("what to do first"):done.stdout.index("\nreport: ")])
        self.assertIn("No GPU was used, so the host is judged: the model takes ", said)
        self.assertRegex(said, r"(?m)^1\. (prefill|decode): .* could be saved: it runs at .* of what the CPU allows")
        with open(os.path.join(self.cwd, "out", "report.md"), encoding="utf-8") as f:
            page = f.read()
        rows = re.findall(r"(?m)^\| (today|\d\. \S+|floor)[^|]* \|[^|]*\| ([\d.]+)\s(s|ms) \|", page)
        left = [float(n) * (1000 if unit == "s" else 1) for _, n, unit in rows]
        self.assertEqual(({r[0][3:] for r in rows[1:-1]}, len(rows)), ({"prefill", "decode"}, 4), rows)
        self.assertTrue(left[0] > left[1] > left[2] > 0, rows)
        self.assertAlmostEqual(left[2], left[3], places=1)  # the savings lead to the floor
        with open(os.path.join(self.cwd, "out", "report.json"), encoding="utf-8") as f:
            ladder = json.load(f)["host_ladder"]
        self.assertEqual(sum(r["saving_ns"] for r in ladder["rungs"]) + ladder["rungs"][-1]["after_ns"], ladder["measured_ns"])
        self.assertAlmostEqual(ladder["measured_ns"] / 1e6, left[0], delta=left[0] / 1000)
        self.assertTrue(all(0 < r["share"] < 1 for r in ladder["rungs"]), ladder)
        for absent in ("Where the wall time went", "Most expensive kernels", "Most expensive operators"):
            self.assertNotIn(absent, page)

    def test_standard_input(self) -> None:
        """passed on to one run of the program, refused where several would share it, nothing where there is none"""
        prog = self.program("cat > got-$1\n")
        for kind in ("pipe", "file"):
            with self.subTest(kind=kind):
                given = {"input": "a\nb\n"}
                if kind == "file":
                    self.write("given", "a\nb\n")
                    given = {"stdin": open(os.path.join(self.cwd, "given"), encoding="utf-8")}
                once = subprocess.run([LPO, "run", "-q", "--once", "-o", kind, "--", prog, kind], cwd=self.cwd, text=True,
                                      capture_output=True, timeout=120, **given)
                if kind == "file":
                    given["stdin"].seek(0)
                several = subprocess.run([LPO, "run", "-q", "-o", "several", "--", prog, "x"], cwd=self.cwd, text=True,
                                         capture_output=True, timeout=120, **given)
                if kind == "file":
                    given["stdin"].close()
                self.assertEqual(once.returncode, 0, once.stderr)
                with open(os.path.join(self.cwd, "got-" + kind), encoding="utf-8") as f:
                    self.assertEqual(f.read(), "a\nb\n")
                self.assertEqual(several.returncode, 2)
                self.assertRegex(several.stderr, "would run 3 times .*--once")
        self.assertFalse(os.path.exists(os.path.join(self.cwd, "several")))
        reads, writes = os.pipe()  # as ssh or a CI server leave one: nobody writes to it, and it stays open
        left = subprocess.run([LPO, "run", "-q", "-o", "left", "--", prog, "left"], cwd=self.cwd, stdin=reads, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(left.returncode, 0, left.stderr)
        os.close(reads)
        os.close(writes)
        swept = subprocess.run([LPO, "run", "-q", "-m", "--once", "run.repeats=1,2", "-o", "swept", "--", prog, "swept"], cwd=self.cwd,
                               input="a", capture_output=True, text=True, timeout=120)
        self.assertNotEqual(swept.returncode, 0)
        self.assertIn("the other jobs of the sweep", swept.stderr)

    def test_a_program_that_fails_by_itself_is_not_profiled(self) -> None:
        prog = self.program("echo ran >> count\nexit 3\n")
        done = self.lpo("run", "-o", "out", "--", prog)
        self.assertEqual((done.returncode, self.runs()), (1, 1), done.stderr)
        stages = {s["name"]: s for s in self.manifest(os.path.join(self.cwd, "out"))["stages"]}
        self.assertEqual(stages["direct_inference"]["state"], "failed")
        for name in ("native", "torch_profiler"):
            self.assertEqual(stages[name]["state"], "skipped")
            self.assertIn("--keep-going", stages[name]["message"])
        self.assertRegex(done.stdout, "native +skipped +the program failed without any profiler")
        self.assertTrue(os.path.exists(os.path.join(self.cwd, "out", "report.md")))
        os.remove(os.path.join(self.cwd, "count"))
        kept = self.lpo("run", "--keep-going", "-o", "kept", "--", prog)
        self.assertEqual((kept.returncode, self.runs()), (1, 3), kept.stderr)

    def test_only_names_stages(self) -> None:
        done = self.lpo("run", "--only", "native,direct_inferense", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'direct_inference'?", done.stderr)
        two = self.lpo("run", "--only", "native,direct_inference", "--dry-run", "--", "true")
        self.assertIn("# native:", two.stdout)
        self.assertIn("# direct_inference:", two.stdout)
        self.assertNotIn("static_analysis", two.stdout)

    def test_output_is_the_folder_whatever_its_name(self) -> None:
        for name in ("plain", "it's ${odd}, [and] \\ more"):
            with self.subTest(name=name):
                done = self.lpo("run", "-q", "--only", "direct_inference", f"--output={name}", "--", "true")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.manifest(os.path.join(self.cwd, name))["state"], "done")
        self.assertFalse(os.path.lexists(os.path.join(self.cwd, "latest")))

    def test_output_of_a_sweep(self) -> None:
        done = self.lpo("run", "-q", "-m", "run.repeats=1,2", "--only", "direct_inference", "-o", "all", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.manifest(os.path.join(self.cwd, "all", "1"))["state"], "done")

    def test_the_programs_output_is_shown_and_kept(self) -> None:
        prog = self.program("printf 'to out\\n\\033[1mbold'; echo 'to err' >&2\n")
        done = self.lpo("run", "--only", "native", "-o", "out", "--", prog)
        self.assertTrue(done.stdout.startswith("to out\n\033[1mbold"), done.stdout)
        self.assertIn("to err\n", done.stderr)
        with open(os.path.join(self.cwd, "out/workload/native/stdout.log"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "to out\n\033[1mbold")
        quiet = self.lpo("run", "-q", "--only", "native", "-o", "quiet", "--", prog)
        self.assertNotIn("to out", quiet.stdout)
        self.assertNotIn("to err", quiet.stderr)

    def test_a_sweep_ends_with_one_table(self) -> None:
        done = self.lpo("run", "-q", "-m", "infer.max_new_tokens=4,6", "run.repeats=1", "--only", "direct_inference", "-o", "all")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = done.stdout[done.stdout.index("jobs of the sweep"):].splitlines()
        self.assertRegex(table[2], r"^Job +State +Duration +Workload +Tokens/s +Swept")
        for num, tokens in ((0, 4), (1, 6)):
            self.assertRegex(table[3 + num], rf"^ *{num} +done .*  infer\.max_new_tokens={tokens}$")
        bad = self.lpo("run", "-q", "-m", "run.repeats=1,2", "-o", "bad", "--", "./none")
        self.assertEqual(bad.returncode, 127)
        self.assertEqual(bad.stdout.count("failed"), 2)

    def test_a_device_that_is_not_there(self) -> None:
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("a GPU is here")
        asked = self.lpo("run", "--only", "direct_inference", "run.repeats=1", "run.device=cuda:0", "-o", "a")
        self.assertIn("run.device=cuda:0: there is no NVIDIA GPU here", asked.stderr)
        silent = self.lpo("run", "--only", "direct_inference", "run.repeats=1", "-o", "b")
        self.assertNotIn("GPU here", silent.stderr)

    def test_latest_leads_to_the_last_run(self) -> None:
        none = self.lpo("report")
        self.assertEqual(none.returncode, 2)
        self.assertIn("tmp/profile-output/latest", none.stderr)
        for _ in range(2):
            self.assertEqual(self.lpo("run", "-q", "--only", "direct_inference", "--", "true").returncode, 0)
        above = os.path.join(self.cwd, "tmp/profile-output")
        last = sorted(n for n in os.listdir(above) if n != "latest")[-1]
        self.assertEqual(os.readlink(os.path.join(above, "latest")), last)
        done = self.lpo("report", "report.formats=[md]")
        self.assertEqual(done.stdout, f"tmp/profile-output/{last}/report.md\n")

    def test_latest_of_somebody_else_stays(self) -> None:
        self.write("tmp/profile-output/latest/mine", "x")
        self.assertEqual(self.lpo("run", "-q", "--only", "direct_inference", "--", "true").returncode, 0)
        self.assertEqual(os.listdir(os.path.join(self.cwd, "tmp/profile-output/latest")), ["mine"])

    def test_a_bare_word_is_a_part_of_a_kernels_name(self) -> None:
        def names(*words: str) -> set[str]:
            done = self.lpo("top", NSYS, "--json", *words)
            return {k["name"].split("(")[0] for k in json.loads(done.stdout)["kernels"]}

        self.assertEqual(names("-k", "xp"), {"axpy"})
        self.assertEqual(names("--no-kernels", "xp"), names() - {"axpy"})
        self.assertEqual(names("-k", "ax?"), set())  # a glob is over the whole name, as before

    def test_a_bare_word_of_r_is_a_part_of_a_regions_name(self) -> None:
        def paths(*words: str) -> set[str]:
            done = self.lpo("regions", LLAMA, "--json", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            return {r["path"] for r in json.loads(done.stdout)["scopes"][0]["regions"] if r["launches"]}

        layers = {p for p in paths() if "layer" in p.split("/")[-1] or any("layer" in n for n in p.split("/"))}
        self.assertGreater(len(layers), 8)
        self.assertEqual(paths("-r", "aye"), layers)
        self.assertEqual(paths("-i", "aye"), set())  # a name, as before
        self.assertEqual(paths("-r", "decode/step"), paths("-i", "decode/step"))


if __name__ == "__main__":
    tap.main()
