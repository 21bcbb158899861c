#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo diff in CI: limits, budgets, files for people and servers, and a real `git bisect run`. Prints TAP."""
from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402
from traces import Kernel, Program, Region  # noqa: E402

RUN = os.path.join(HERE, "..", "data", "runs", "h200_llama")


class Gates(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        self.a = Program().write(os.path.join(self.cwd, "a.json"))
        self.b = Program().scaled("flash_fwd_kernel", 1.5).write(os.path.join(self.cwd, "b.json"))

    def diff(self, *words: str, want: int = 0) -> subprocess.CompletedProcess:
        done = self.lpo("diff", *words)
        self.assertEqual(done.returncode, want, f"{words}: {done.stdout[:600]}{done.stderr}")
        return done

    def checks(self, *words: str, want: int = 0) -> dict:
        out = json.loads(self.diff("--json", *words, want=want).stdout)
        return {c["check"]: c for c in out["checks"]}

    def test_a_limit_that_one_run_cannot_break(self) -> None:
        """Changes below 1.5 % are real only over several runs: the user is told, and told how to find them."""
        b = Program().scaled(None, 1.012).write(os.path.join(self.cwd, "c.json"))
        out = " ".join(self.diff(self.a, b, "--fail-over", "1%").stdout.split())
        self.assertIn("a change under 1.5 % would not show", out)
        self.assertIn("the limit of 1% for wall counts as 1.5 %", out)
        self.assertNotIn("counts as", self.diff(self.a, b, "--fail-over", "2%").stdout)
        self.assertNotIn("counts as", self.diff(self.a, self.a, "--", b, b, "--fail-over", "0.5%", want=4).stdout)

    def test_options_stand_anywhere(self) -> None:
        for words in (["--fail-over", "3%", self.a, "--", self.b], [self.a, "--", self.b, "--fail-over=3%"],
                      [self.a, self.b, "--fail-over", "3 %"], ["--fail-over=3", self.a, self.b]):
            self.diff(*words, want=4)
        self.assertIn("twice", self.diff(self.a, "--", self.b, "--", self.b, want=2).stderr)

    def test_budgets(self) -> None:
        for budget, want, state in (("wall=30%", 0, "passed"), ("wall=1%", 4, "failed"),
                                    ("region:*layer*/attn=10%", 4, "failed"), ("region:*layer*/attn=60%", 0, "passed"),
                                    ("region:*/mlp=1%", 0, "passed"), ("region:nowhere=1%", 0, "nothing matched"),
                                    ("kernel:flash*=10%", 4, "failed"), ("kernel:flash*=80us", 4, "failed"),
                                    ("kernel:flash*=95us", 0, "passed"), ("class:attention=20%", 4, "failed"),
                                    ("class:gemm=1%", 0, "passed"), ("part:compute.attention=20%", 4, "failed"),
                                    ("part:compute=50%", 0, "passed"), ("operator:aten::mm=1%", 0, "nothing matched"),
                                    ("memory=1GiB", 0, "nothing matched")):
            with self.subTest(budget):
                checks = self.checks(self.a, self.b, "--budget", budget, want=want)
                self.assertEqual([c["state"] for c in checks.values()], [state])
        worst = self.checks(self.a, self.b, "--budget", "region:*=1%", want=4)["region:*"]
        self.assertTrue(worst["name"].endswith("/attn"), worst)  # the row that grew most

    def test_chance_keeps_a_budget(self) -> None:
        b = Program().jittered(0.03, 5).write(os.path.join(self.cwd, "c.json"))
        checks = self.checks(self.a, b, "--budget", "kernel:*=0%")
        self.assertEqual(checks["kernel:*"]["state"], "within chance")

    def test_wrong_budgets(self) -> None:
        for budget, said in (("regoin:x=1%", "did you mean 'region'"), ("wall", "NAME=LIMIT"), ("wall=fast", "like 3% or"),
                             ("region=1%", "needs a name"), ("wall:x=1%", "takes no name"), ("class:nothing=1%", "no class"),
                             ("memory=3ms", "40GiB"), ("wall=-1%", "like 3% or"), ("region:regex:(=1%", "region:regex:(")):
            with self.subTest(budget):
                self.assertIn(said, self.diff(self.a, self.b, "--budget", budget, want=2).stderr)

    def test_slower_kernels_of_a_program_that_waits_for_its_host(self) -> None:
        """Its wall time stays, and the limit still fails: the kernels fill the idle time."""
        with open(self.a, encoding="utf-8") as f:
            trace = json.load(f)
        slower = copy.deepcopy(trace)
        for e in trace["traceEvents"] + slower["traceEvents"]:
            if e["cat"] == "kernel":
                e["ts"] = e["ts"] * 3
        for e in slower["traceEvents"]:
            if e["cat"] == "kernel" and e["name"] == "ampere_bf16_gemm_up":
                e["dur"] *= 1.3
        a, b = self.write("idle.json", trace), self.write("slower.json", slower)
        checks = self.checks(a, b, "--fail-over", "5%", want=4)
        self.assertEqual(checks["wall"]["name"], "GPU time of kernels that compute")
        self.checks(b, a, "--fail-over", "5%")
        self.checks(a, a, "--fail-over", "0%")

    def test_a_file_of_budgets(self) -> None:
        file = self.write("budgets.yaml", "diff:\n  budgets:\n    region:*/attn: 5%\n    wall: 50%\n")
        self.assertEqual({k: c["state"] for k, c in self.checks(self.a, self.b, "--budgets", file, want=4).items()},
                         {"region:*/attn": "failed", "wall": "passed"})
        for text, said in (("diff: {}\n", "no diff.budgets"), ("diff: {budgets: [1]}\n", "must be a map"),
                           ("diff: {budgets: {wall: [1]}}\n", "is not text"), ("a: [", "cannot read the budgets")):
            self.assertIn(said, self.diff(self.a, self.b, "--budgets", self.write("bad.yaml", text), want=1 if "cannot" in said else 2).stderr)

    def run_folder(self, name: str, config: str = "", **figures: float) -> str:
        """A copy of a real run whose metrics and config are changed."""
        path = os.path.join(self.cwd, name)
        shutil.copytree(RUN, path)
        with open(os.path.join(path, "config.yaml"), "a", encoding="utf-8") as f:
            f.write(config)
        for folder, _, files in os.walk(os.path.join(path, "workload")):
            if "metrics.json" not in files:
                continue
            file = os.path.join(folder, "metrics.json")
            with open(file, encoding="utf-8") as f:
                metrics = json.load(f)
            for key, factor in figures.items():
                for s in metrics["samples"] if key != "peak_device_bytes" else [metrics]:
                    s[key] *= factor
            with open(file, "w", encoding="utf-8") as f:
                json.dump(metrics, f)
        return path

    def test_figures_of_a_run_folder(self) -> None:
        a = self.run_folder("run-a")
        b = self.run_folder("run-b", "diff: {budgets: {tokens_per_s: 5%, ttft: 5%, memory: 10%, energy: 1%}}\n",
                            tokens_per_s=0.5, ttft_ms=3, peak_device_bytes=1.5)
        checks = self.checks(a, b, want=4)
        self.assertEqual({k: c["state"] for k, c in checks.items()},
                         {"tokens_per_s": "failed", "ttft": "failed", "memory": "failed", "energy": "passed"})
        self.assertAlmostEqual(checks["tokens_per_s"]["worse"], 1)
        self.checks(a, a, "--budget", "tokens_per_s=5%", "--budget", "ttft=1s", "--budget", "memory=1GiB")
        self.checks(a, a, "--budget", "ttft=1ms", want=4)
        self.checks(a, a, "--budget", "tokens_per_s=1000", want=4)

    def sampled(self, name: str, **columns: int) -> str:
        """A copy of a real run in whose NVML samples these columns have one value."""
        path = self.run_folder(name)
        file = os.path.join(path, "nvml", "samples.csv")
        with open(file, encoding="utf-8") as f:
            rows = [line.rstrip("\n").split(",") for line in f]
        for row in rows[1:]:
            for column, value in columns.items():
                row[rows[0].index(column)] = str(value)
        with open(file, "w", encoding="utf-8") as f:
            f.write("".join(",".join(row) + "\n" for row in rows))
        return path

    def test_clocks_and_power_while_the_program_ran(self) -> None:
        busy = {"gpu_percent": 90, "sm_mhz": 1980, "power_mw": 600000, "throttle_reasons": 1}
        a = self.sampled("run-a", **busy)

        def reasons(*b: str) -> dict:
            out = json.loads(self.diff("--json", a, "--", *b).stdout)
            self.assertTrue(out["comparable"])
            self.assertFalse(any(d["fatal"] for d in out["differences"]), out["differences"])
            return {d["key"]: (d["a"], d["b"]) for d in out["differences"] if d["key"] in ("sm_clock", "power", "slowed")}

        self.assertEqual(reasons(a), {})
        self.assertEqual(reasons(self.sampled("near", **{**busy, "sm_mhz": 1950, "power_mw": 560000})), {})
        slow = self.sampled("slow", **{**busy, "sm_mhz": 1410, "power_mw": 350000, "throttle_reasons": 0x24})
        self.assertEqual(reasons(slow), {"sm_clock": ("1980", "1410"), "power": ("600", "350"),
                                         "slowed": ("in no sample", "in 100 % of the samples (power cap, heat (software))")})
        self.assertIn("a different clock: median of 1980 MHz in A, 1410 MHz in B", self.diff(a, slow).stdout)
        # a GPU at rest, cells that NVML did not answer, and one slow repeat of three are no reason
        self.assertEqual(reasons(self.sampled("rest", **{**busy, "gpu_percent": 0, "sm_mhz": 345})), {})
        self.assertEqual(reasons(self.sampled("unknown", **{**busy, "sm_mhz": "", "power_mw": "", "throttle_reasons": ""})), {})
        self.assertEqual(reasons(a, slow, a), {})
        # a history keeps them
        self.assertEqual(self.lpo("history", "add", "main", a).returncode, 0)
        out = json.loads(self.diff("--json", "--baseline", "main", slow).stdout)
        self.assertLessEqual({"power", "slowed", "sm_clock"}, {d["key"] for d in out["differences"]})

    def surrounded(self, name: str, version: str, **variables: str) -> str:
        """A copy of a real run with these versions and variables."""
        path = self.run_folder(name)
        with open(os.path.join(path, "env.json"), "w", encoding="utf-8") as f:
            json.dump({"schema": "lpo.env/1", "lpo_version": "0.3.0", "tools": {"nsys": version}, "variables": variables,
                       "host": {"cpu": "Xeon", "kernel": "6.1"}}, f)
        return path

    def test_versions_and_variables(self) -> None:
        a = self.surrounded("run-a", "2025.1", NCCL_ALGO="Ring", CUDA_VISIBLE_DEVICES="0", SLURM_JOB_ID="1")
        b = self.surrounded("run-b", "2025.3", NCCL_ALGO="Tree", TORCH_BLAS_PREFER_HIPBLASLT="1", CUDA_VISIBLE_DEVICES="0", SLURM_JOB_ID="2")
        found = {x["key"]: (x["a"], x["b"]) for x in json.loads(self.diff("--json", a, b).stdout)["differences"]}
        self.assertEqual({k: v for k, v in found.items() if k.startswith(("env.", "version.", "cpu", "kernel", "lpo"))},
                         {"env.NCCL_ALGO": ("Ring", "Tree"), "env.TORCH_BLAS_PREFER_HIPBLASLT": ("not set", "1"), "version.nsys": ("2025.1", "2025.3")})
        out = " ".join(self.diff(a, b).stdout.split())
        self.assertIn("the version of nsys differs: 2025.1 in A, 2025.3 in B", out)
        self.assertIn("NCCL_ALGO is Ring in A and Tree in B", out)

    def test_clocks_of_the_stage_that_left_the_trace(self) -> None:
        """Samples of the other stages do not count."""
        a, b = (self.sampled(n, gpu_percent=90, sm_mhz=1980) for n in ("run-a", "run-b"))
        with open(os.path.join(b, "run.json"), encoding="utf-8") as f:
            stage = next(s for s in json.load(f)["stages"] if s["name"] == "torch_profiler")
        start = stage["started_unix_ns"]
        end = start + stage["wall_ns"]
        for inside, want in ((False, []), (True, ["sm_clock"])):
            file = os.path.join(b, "nvml", "samples.csv")
            with open(os.path.join(a, "nvml", "samples.csv"), encoding="utf-8") as f:
                rows = [line.split(",") for line in f]
            changed = 0
            for row in rows[1:]:
                if (start <= int(row[0]) <= end) == inside:
                    row[3] = "990"
                    changed += 1
            self.assertGreater(changed, 3)
            with open(file, "w", encoding="utf-8") as f:
                f.write("".join(map(",".join, rows)))
            out = json.loads(self.diff("--json", a, b).stdout)
            self.assertEqual([d["key"] for d in out["differences"] if d["key"] == "sm_clock"], want)

    def test_files(self) -> None:
        names = ["d.md", "d.html", "d.json", "d.csv", "d.txt", "d.xml"]
        words = [w for n in names for w in ("-o", n)]
        self.diff(self.a, self.b, "--fail-over", "3%", "--budget", "region:nowhere=1%", *words, want=4)
        text = {n: open(os.path.join(self.cwd, n), encoding="utf-8").read() for n in names}
        self.assertIn("| wall | failed |", text["d.md"])
        self.assertIn("flash_fwd", text["d.md"])
        self.assertEqual(json.loads(text["d.json"])["verdict"], "slower")
        self.assertIn("</html>", text["d.html"])
        self.assertIn("\"stacks\"", text["d.html"])  # its flame graph
        suite = xml.fromstring(text["d.xml"]).find("testsuite")
        self.assertEqual({k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")},
                         {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"})
        self.assertEqual([c.get("name") for c in suite], ["comparable", "region:nowhere", "wall"])
        self.assertIn("the limit is 3%", suite.find("testcase[@name='wall']/failure").get("message"))
        self.assertIn(".pdf", self.diff(self.a, self.b, "-o", "d.pdf", want=2).stderr)

    def test_how_it_reads(self) -> None:
        """A title that does not say more than the test; a reason once; a line between a warning and the next heading."""
        self.diff(self.a, self.a, "-o", "same.md")
        with open(os.path.join(self.cwd, "same.md"), encoding="utf-8") as f:
            self.assertEqual(f.readline(), "# A against B: no change beyond chance\n")
        other = Program(gpu="NVIDIA A100").write(os.path.join(self.cwd, "other.json"))
        out = self.diff(self.a, other).stdout
        self.assertEqual(out.count("the GPU differs"), 1)
        unknown = Program(gpu="").write(os.path.join(self.cwd, "unknown.json"))
        lines = self.diff(self.a, unknown).stdout.splitlines()
        warning = next(i for i, line in enumerate(lines) if line.startswith("warning: "))
        self.assertEqual(lines[warning + 1:warning + 3], ["", "Where the wall time changed"])

    def test_junit_of_sides_that_cannot_be_compared(self) -> None:
        other = Program(make=lambda: Region("elsewhere", [Kernel("unlike", 5000)]))
        other.ranges = False
        file = other.write(os.path.join(self.cwd, "<other> & 'A'.json"))
        out = self.diff(self.a, file, "--fail-over", "3%", "-f", "junit", want=2).stdout
        error = xml.fromstring(out).find("testsuite/testcase/error")
        self.assertIn("<other> & 'A'", error.get("message"))


class Bisect(LpoCase):
    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *identity, *words], cwd=self.cwd, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.strip()

    def test_exit_codes_for_git(self) -> None:
        a = Program(steps=3).write(os.path.join(self.cwd, "a.json"))
        slow = Program(steps=3).scaled(None, 1.2).write(os.path.join(self.cwd, "b.json"))
        other = Program(steps=3, gpu="NVIDIA A100").write(os.path.join(self.cwd, "c.json"))
        for words, want in ((["--git-bisect", "--fail-over", "5%", a, a], 0), (["--git-bisect", "--fail-over", "5%", a, slow], 1),
                            (["--git-bisect", "--fail-over", "5%", a, other], 125), (["--bisect", a, slow], 1),
                            (["--bisect", a, a], 0), (["--bisect", a, "nothing.json"], 125),
                            (["--bisect", "nothing.json", a], 128), (["--bisect", a], 128),
                            (["--bisect", "--make", "false", a, a], 125), (["--bisect", "--make", "cp b.json n.json", a, "n.json"], 1)):
            self.assertEqual(self.lpo("diff", *words).returncode, want, words)

    def test_a_real_bisection(self) -> None:
        Program(steps=3).write(os.path.join(self.cwd, "good.json"))
        self.write("make.py", f"import sys\nsys.path.insert(0, {HERE!r})\nfrom traces import Kernel, Program, Region\n"
                   "text = open('factor').read()\nassert text != 'broken'\n"
                   "Program(steps=3).scaled('flash_fwd_kernel', float(text)).jittered(0.01, 3).write('new.json')\n")
        self.write(".gitignore", "good.json\nnew.json\n__pycache__\n")
        self.git("init", "-q")
        commits = []
        for i in range(12):
            self.write("factor", "broken" if i == 5 else "1.4" if i >= 8 else "1.0")
            self.write("number", str(i))
            self.git("add", "-A")
            self.git("commit", "-q", "-m", f"commit {i}")
            commits.append(self.git("rev-parse", "HEAD"))
        self.git("bisect", "start", commits[-1], commits[0])
        out = self.git("bisect", "run", LPO, "diff", "--bisect", "--fail-over", "2%", "--make",
                       f"{sys.executable} make.py", "good.json", "new.json")
        self.assertIn(f"{commits[8]} is the first bad commit", out)


if __name__ == "__main__":
    tap.main()
