#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The counters stage for real, on a driver, an NVML and a libcupti of ours. Prints TAP."""
from __future__ import annotations

import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
import lpoc  # noqa: E402
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

BUILD = os.environ["LPO_BUILD_ROOT"]
NVML = os.path.join(BUILD, "tests", "pipeline", "fake_nvml.so")
PM = os.path.join(BUILD, "tests", "gpu", "libfake-pm.so")
CLIENT = os.path.join(BUILD, "tests", "pipeline", "inside_client")
WORDS = ["pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=false", "pipeline.torch_profiler.enable=false"]
TOY = ["run.repeats=1", "run.warmup=0", "infer.max_new_tokens=4", "infer.prompt_tokens=16", "model.layers=1", "workload.toy.cuda=false"]
# Ends only when the sampler has written something, so that no clock decides what is in its file.
WAITS = "for i in $(seq 2000); do [ $(stat -c %s run/counters/$0 2>/dev/null || echo 0) -gt 2000 ] && exit 0; sleep 0.01; done; exit 1"


class Counters(LpoCase):
    modes = ""

    def environment(self) -> dict[str, str]:
        return {"LPO_NVML": NVML, "LPO_LIBCUDA": PM, "LPO_LIBCUPTI": PM, "FAKE_PM": self.modes, "FAKE_PM_ROUNDS": "0"}

    def go(self, *words: str, env: dict[str, str] | None = None, code: int = 0) -> str:
        done = self.lpo_run(*WORDS, *([] if "--" in words else TOY), *words, env=env)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, output)
        self.assertNotIn("Sanitizer", output)
        return output

    def samples(self, name: str):
        with open(self.path("counters", name), "rb") as f:
            return lpoc.read(f.read())

    def files(self) -> list[str]:
        folder = self.path("counters")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def test_samples_beside_the_native_stage(self) -> None:
        output = self.go()
        facts, metrics, items = self.samples("gpu0.lpoc")
        self.assertEqual(self.files(), ["gpu0.lpoc"])  # run.device says which GPU
        self.assertEqual((facts["beside"], facts["device.index"], facts["interval_ns"]), ("native", "0", "50000"))
        self.assertEqual(len(metrics), 9)
        self.assertGreater(sum(i[0] == "sample" for i in items), 100)
        self.assertEqual(items[-1][1][6], 1)  # it was told to stop, and wrote its end
        stage = self.stage("counters")
        self.assertEqual(stage["state"], "done")
        self.assertIn("counters/gpu0.lpoc", stage["files"])
        self.assertTrue(any("samples (GH100, 9 metrics" in note for note in stage["notes"]), stage)
        self.assertNotIn("failed", output)

    def test_the_settings_reach_the_sampler(self) -> None:
        self.go("pipeline.counters.interval=200us", "pipeline.counters.metrics=[dram__bytes_read.sum,lts__t_bytes.sum]",
                "run.device=cuda:1")
        facts, metrics, _ = self.samples("gpu1.lpoc")
        self.assertEqual(facts["interval_ns"], "200000")
        self.assertEqual([m[0] for m in metrics], ["dram__bytes_read.sum", "lts__t_bytes.sum"])

    def test_a_share_of_a_core(self) -> None:
        self.modes = "h200,no_nvlink"
        for words, interval in ((["pipeline.counters.core=0.03"], "3200000"), ([], "100000"), (["pipeline.counters.core=1"], "100000")):
            with self.subTest(words):
                self.go(*words)
                self.assertEqual(self.samples("gpu0.lpoc")[0]["interval_ns"], interval)
                self.assertEqual(self.stage("counters")["state"], "done")
                os.rename(self.run_dir, self.run_dir + interval + "".join(words))

    def test_a_share_of_a_core_inside_the_program(self) -> None:
        self.modes = "h200,no_nvlink"
        self.inside(words=["pipeline.counters.core=0.03"])
        self.assertEqual(self.samples("gpu0.lpoc")[0]["interval_ns"], "3200000")

    def test_an_interval_that_became_longer_is_a_note(self) -> None:
        # what a sampler says at its end, word for word
        lines = ("ready GH100, 7 metrics, every 1600 us, CUPTI 130000\\ndone samples=900 lost=12 lost_ns=200000000 cpu_ns=280000000 "
                 "wall_ns=10000000000 rounds=30 ended_by=1 decode_ns=1 evaluate_ns=1 empty_ns=1 interval_ns=3200000 lengthened={}\\n")
        for times in (0, 1):
            self.go("pipeline.counters.where=inside", "pipeline.counters.core=0.03", "--", "sh", "-c",
                    f"mkdir -p run/counters; printf '{lines.format(times)}' > run/counters/gpu0.lpoc.said", env={"CUDA_VISIBLE_DEVICES": "0"})
            notes = self.stage("counters")["notes"]
            self.assertIn("GPU 0 inside native: 900 samples (GH100, 7 metrics, every 1600 us, CUPTI 130000); the sampler used 2.8 % of one core", notes)
            longer = ("GPU 0 inside native: the interval was lengthened to 3.200 ms, so that the sampler takes at most 3 % of one core "
                      "(pipeline.counters.core)")
            self.assertEqual(longer in notes, times > 0, notes)
            os.rename(self.run_dir, f"{self.run_dir}-{times}")

    def test_a_share_that_is_none(self) -> None:
        for value, shown in (("0", "an integer (0)"), ("0.001", "a number (0.001)"), ("1.5", "a number (1.5)"), ("-0.03", "a number (-0.03)"),
                             ("nan", "a number (nan)"), ("3%", "a string ('3%')"), ("null", "null")):
            with self.subTest(value):
                output = self.go(f"pipeline.counters.core={value}", code=2)
                self.assertIn(f"'pipeline.counters.core' must be a number from 0.01 to 1, not {shown} (from ", output)

    def test_every_gpu_that_a_program_may_see(self) -> None:
        self.go("--", "sh", "-c", WAITS, "gpu1.lpoc")
        self.assertEqual(self.files(), ["gpu0.lpoc", "gpu1.lpoc"])
        self.assertEqual(self.samples("gpu1.lpoc")[0]["device.uuid"], "a1" * 16)

    def test_only_the_gpus_that_are_visible(self) -> None:
        self.go("--", "sh", "-c", WAITS, "gpu0.lpoc", env={"CUDA_VISIBLE_DEVICES": "1"})
        self.assertEqual(self.files(), ["gpu0.lpoc"])

    def test_beside_other_stages_where_asked(self) -> None:
        self.go("pipeline.counters.with=[native,direct_inference]", "pipeline.direct_inference.enable=true")
        self.assertEqual(self.files(), ["direct_inference-gpu0.lpoc", "gpu0.lpoc"])
        self.assertEqual(self.samples("direct_inference-gpu0.lpoc")[0]["beside"], "direct_inference")

    def inside(self, *client: str, code: int = 0, env: dict[str, str] | None = None, words: tuple[str, ...] | list[str] = ()) -> str:
        return self.go("pipeline.counters.where=inside", *words, "--", CLIENT, self.path("counters", "gpu0.lpoc"), *client, code=code,
                       env={"CUDA_VISIBLE_DEVICES": "0", **(env or {})})

    def test_inside_the_program(self) -> None:
        # what the sampler's thread holds is lost in a forked child, and no leak
        no_leaks = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        for word in ("", "fork"):
            with self.subTest(word):
                self.inside(word, env=no_leaks if word else None)
                facts, _, items = self.samples("gpu0.lpoc")
                self.assertEqual(self.files(), ["gpu0.lpoc"])
                self.assertGreater(sum(i[0] == "sample" for i in items), 100)
                self.assertEqual(items[-1][1][6], 1)
                stage = self.stage("counters")
                self.assertEqual(stage["state"], "done")
                self.assertIn("GPU 0 inside native: ", stage["notes"][0])
                traces = [name for name in os.listdir(self.path("native")) if name.endswith(".lpot")]
                self.assertTrue(any(f"{facts['pid']}." in name for name in traces), (facts["pid"], traces))  # the program's own process
                os.rename(self.run_dir, self.run_dir + "-" + word)

    def test_inside_a_program_that_crashes_keeps_its_samples(self) -> None:
        self.inside("abort", code=1)
        self.assertEqual(self.files(), ["gpu0.lpoc"])
        with open(self.path("counters", "gpu0.lpoc"), "rb") as f:
            self.assertGreater(sum(i[0] == "sample" for i in lpoc.read(f.read(), check=False)[2]), 50)
        self.assertIn("the program ended before the sampler inside could write its totals", " ".join(self.stage("counters")["notes"]))

    def test_inside_without_the_permission_the_program_goes_on(self) -> None:
        self.modes = "no_permission"
        output = self.go("pipeline.counters.where=inside", "--", CLIENT, __file__)
        self.assertIn("counters: skipped: this user may not read the GPU's counters", output)

    def test_inside_a_program_that_never_starts_cuda(self) -> None:
        output = self.go("pipeline.counters.where=inside", "--", "true")
        self.assertIn("counters: skipped: the program did not start CUDA with the collector inside", output)

    def test_no_permission_is_one_line_and_the_run_goes_on(self) -> None:
        self.modes = "no_permission"
        output = self.go()
        self.assertIn("counters: skipped: this user may not read the GPU's counters", output)
        self.assertEqual(self.stage("counters")["state"], "skipped")
        self.assertEqual(self.stage("native")["state"], "done")
        self.assertEqual(self.files(), [])
        self.has("report.md")

    def test_what_was_asked_for_and_cannot_be_had_is_missing(self) -> None:
        self.modes = "mig"
        self.go("pipeline.counters.enable=true", code=3)
        self.assertEqual(self.stage("counters")["state"], "missing")
        self.assertIn("only while MIG is off", self.stage("counters")["message"])
        self.assertEqual(self.stage("native")["state"], "done")
        self.has("report.md")

    def test_losses_and_a_full_file_are_notes(self) -> None:
        self.modes = "overflow"
        self.go("pipeline.counters.max_mb=1", "--", "sh", "-c",
                "for i in $(seq 6000); do grep -q 'size limit' run/counters/gpu0.lpoc && exit 0; sleep 0.01; done; exit 1",
                env={"CUDA_VISIBLE_DEVICES": "0"})
        notes = " ".join(self.stage("counters")["notes"])
        self.assertIn("no samples of", notes)
        self.assertIn("sampling ended at pipeline.counters.max_mb", notes)
        self.assertEqual(self.samples("gpu0.lpoc")[2][-1][1][6], 2)

    def test_an_overflow_that_ends_sampling_is_a_note_and_no_failure(self) -> None:
        self.modes = "overflow,no_restart"
        self.go("pipeline.counters.enable=true", "--", "sh", "-c",
                "for i in $(seq 6000); do grep -q 'sampling ended' run/counters/gpu0.lpoc && exit 0; sleep 0.01; done; exit 1",
                env={"CUDA_VISIBLE_DEVICES": "0"})
        counters = self.stage("counters")
        self.assertEqual((counters["state"], counters["files"]), ("done", ["counters/gpu0.lpoc"]))
        self.assertIn("no samples of", " ".join(counters["notes"]))

    def test_nothing_is_said_where_there_is_no_use_for_it(self) -> None:
        for words, env, why in ((["run.device=cpu"], {}, "the workload runs on the CPU"),
                                ([], {"LPO_NVML": "/nonexistent"}, "there is no NVIDIA GPU here")):
            with self.subTest(why):
                output = self.go(*words, env=env)
                self.assertNotIn("counters", output)
                self.assertEqual(self.stage("counters")["message"], why)
                self.assertFalse(os.path.exists(self.path("counters")))
                os.rename(self.run_dir, self.run_dir + why[:5].strip())

    def test_a_program_that_cannot_start_leaves_no_sampler(self) -> None:
        self.write("not-a-program", "#!/nonexistent/interpreter\n")
        os.chmod(os.path.join(self.cwd, "not-a-program"), 0o755)
        self.go("--", "./not-a-program", code=1)
        self.assertEqual(self.samples("gpu0.lpoc")[2][-1][1][6], 1)

    def test_a_killed_lpo_leaves_no_sampler(self) -> None:
        child = self.lpo_start(*WORDS, "--", "sleep", "600")
        path = self.path("counters", "gpu0.lpoc")
        self.until(lambda: os.path.exists(path) and os.path.getsize(path) > 2000)
        pid = int(lpoc.read(open(path, "rb").read())[0]["pid"])
        child.send_signal(signal.SIGKILL)
        child.communicate()
        self.until(lambda: not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read().split(")")[1][:3])
        self.assertEqual(self.samples("gpu0.lpoc")[2][-1][1][6], 3)

    def test_doctor_says_whether_counters_can_be_had(self) -> None:
        self.assertIn("sampling   yes  GH100, 9 metrics, every 50 us", self.lpo("doctor").stdout)
        self.modes = "no_permission"
        self.assertIn("sampling   no   this user may not read the GPU's counters: run as root", self.lpo("doctor").stdout)

    def until(self, holds) -> None:
        for _ in range(6000):
            if holds():
                return
            time.sleep(0.01)
        self.fail("it did not happen")


if __name__ == "__main__":
    tap.main()
