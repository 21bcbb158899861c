#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the other ranks of a job left in ranks/ is in the report: nsys, NVML and counters of other machines, and everything where
rank 0 was lost. Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
import tap  # noqa: E402
from launch import VARIABLES  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

BUILD = os.environ["LPO_BUILD_ROOT"]
DATA = os.path.join(HERE, "..", "data")
CLIENT = os.path.join(BUILD, "tests", "collect", "nvtx_client")
FAKE_NVML = os.path.join(BUILD, "tests", "pipeline", "fake_nvml.so")
NSYS = os.path.join(HERE, "..", "pipeline", "tools", "nsight", "target-linux-x64", "nsys")
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
WORDS = ["workload=command", "hydra.run.dir=run", *(f"pipeline.{name}.enable=false" for name in
                                                   ("direct_inference", "torch_profiler", "static_analysis", "counters"))]


class Members(LpoCase):
    def setUp(self) -> None:
        super().setUp()
        for names in VARIABLES.values():
            for name in names:
                os.environ.pop(name, None)

    def job(self, count: int, *words: str, launcher: tuple[str, ...] = (), program: list[str] | None = None, code: int = 0,
            env: dict[str, str] | None = None) -> str:
        done = subprocess.run([*LAUNCH, *launcher, "torchrun", str(count), LPO, "run", *WORDS, *words, "--", *(program or [CLIENT, "plain"])],
                              cwd=self.cwd, env=os.environ | {"LPO_JOB_ID": "1"} | (env or {}), text=True, capture_output=True, timeout=120)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, output)
        self.assertNotIn("Sanitizer", output)
        return output

    def regions(self, *paths: str) -> dict[str, dict]:
        done = self.lpo("regions", "--json", *paths)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {s["scope"]: s for s in json.loads(done.stdout)["scopes"]}

    def test_nsys_of_every_rank(self) -> None:
        self.job(3, "pipeline.native.enable=false", "pipeline.nsys.enable=true", f"pipeline.nsys.program={NSYS}", program=["true"])
        self.has("nsys/run.sqlite", "ranks/rank1/nsys/run.sqlite", "ranks/rank2/nsys/run.sqlite")
        alone = self.regions(self.path("nsys", "run.sqlite"))["aggregate"]
        together = self.regions(self.run_dir)
        self.assertLessEqual({"rank:0", "rank:1", "rank:2"}, set(together))
        self.assertEqual((together["aggregate"]["gpu_ns"], together["aggregate"]["launches"]), (3 * alone["gpu_ns"], 3 * alone["launches"]))
        for rank in range(3):
            self.assertEqual(together[f"rank:{rank}"]["gpu_ns"], alone["gpu_ns"])
        wall = {row["scope"] for row in self.json("report.json")["wall"]}
        self.assertEqual(wall, {f"rank:{i}/device:0" for i in range(3)})

    def test_power_of_another_machine(self) -> None:
        """Two machines of two ranks: one samples on each."""
        words = ["pipeline.native.enable=false", "pipeline.direct_inference.enable=true", "pipeline.nvml.enable=true", "pipeline.nvml.interval_ms=20",
                 "report.private=true"]
        self.job(4, *words, launcher=("--nodes", "2"), env={"LPO_NVML": FAKE_NVML, "FAKE_NVML": ""}, program=["sleep", "0.3"])
        self.has("nvml/samples.csv", "ranks/rank2/nvml/samples.csv")
        self.assertFalse(os.path.exists(self.path("ranks", "rank1", "nvml")))
        tables = [item for section in self.json("report.json")["sections"] for item in section["items"] if item["type"] == "table"]
        rows = next(t["rows"] for t in tables if t["id"] == "power_machines")
        self.assertEqual([(r["rank"], r["gpu"], r["stage"]) for r in rows], [(2, 0, "direct_inference"), (2, 1, "direct_inference")])
        self.assertEqual({r["host"] for r in rows}, {os.uname().nodename})
        for row, watts in zip(rows, (200, 50)):
            self.assertGreater(row["samples"], 1)
            self.assertEqual(row["power_max_w"], watts)

    def test_charts_of_another_machine(self) -> None:
        """Power over time of each machine's GPUs on one chart, in the page and in the timeline; also of one that ran half a
        minute before; of one whose clock says another day, none."""
        words = ["pipeline.native.enable=false", "pipeline.direct_inference.enable=true", "pipeline.nvml.enable=true", "pipeline.nvml.interval_ms=20"]
        self.job(4, *words, launcher=("--nodes", "2"), env={"LPO_NVML": FAKE_NVML, "FAKE_NVML": ""}, program=["sleep", "0.3"])

        def scopes() -> list[str]:
            page = json.loads(self.text("report.html").split('<script type="application/json" id="lpo-data">')[1].split("</script>")[0])
            return [line["scope"] for chart in page["charts"] if chart["title"] == "Power" for line in chart["lines"]]

        both = ["device:0", "device:1", "machine of rank 2, device:0", "machine of rank 2, device:1"]
        self.assertEqual(scopes(), both)
        path = self.path("ranks", "rank2", "nvml", "samples.csv")
        with open(path, encoding="utf-8") as f:
            head, *rows = f.read().splitlines()
        at = head.split(",").index("unix_ns")
        for earlier_ns, drawn in ((40 * 10**9, both), (10**15, both[:2])):
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join([head, *(",".join(str(int(v) - earlier_ns) if i == at else v for i, v in enumerate(r.split(","))) for r in rows)]) + "\n")
            self.lpo_report()
            self.assertEqual(scopes(), drawn)

    def test_counters_of_another_machine(self) -> None:
        """The same trace and samples, once as rank 0's own and once left in the folder of rank 1."""
        figures = []
        for folder in ("", "ranks/rank1"):
            shutil.rmtree(self.run_dir, ignore_errors=True)
            for stage, name, source in (("native", "rank1.lpot", "llama8.lpot.gz"), ("counters", "gpu0.lpoc", "llama8.lpoc.gz")):
                os.makedirs(self.path(folder, stage))
                with gzip.open(os.path.join(DATA, "counters", source)) as packed, open(self.path(folder, stage, name), "wb") as out:
                    shutil.copyfileobj(packed, out)
            done = self.lpo("report", "--json", self.run_dir)
            self.assertEqual(done.returncode, 0, done.stderr)
            figures.append(json.loads(done.stdout)["counters"]["gpus"])
        self.assertTrue(figures[0])
        self.assertEqual(*figures)

    def test_rank_0_is_killed(self) -> None:
        """Nobody moved anything: the report of the folder has what the others recorded."""
        pid = """$(sed -n 's/^  "pid": \\([0-9]*\\).*/\\1/p' run/run.json)"""
        script = f'if [ "$RANK" = 0 ]; then kill -9 {pid}; sleep 100; fi; exec {CLIENT} plain'
        self.job(3, program=["sh", "-c", script], code=1)
        self.has("ranks/rank1/native/rank1.lpot", "ranks/rank2/native/rank2.lpot")
        report = self.lpo_report()
        self.assertIn("decode", report)
        scopes = self.regions(self.run_dir)
        self.assertLessEqual({"rank:1", "rank:2"}, set(scopes))
        self.assertEqual([r["visits"] for r in scopes["aggregate"]["regions"] if r["path"] == "decode"], [2])

    def test_a_trace_under_two_names_counts_once(self) -> None:
        """A disk on which rank 0 could link a trace to its place, and not remove the old name."""
        self.job(2)
        os.makedirs(self.path("ranks", "rank1", "native"), exist_ok=True)
        os.link(self.path("native", "rank1.lpot"), self.path("ranks", "rank1", "native", "rank1.lpot"))
        self.assertEqual([r["visits"] for r in self.regions(self.run_dir)["aggregate"]["regions"] if r["path"] == "decode"], [2])

    def test_odd_things_in_ranks(self) -> None:
        """Other names, links and files are no ranks."""
        self.job(2)
        before = self.lpo_report()
        os.makedirs(self.path("ranks", "rank3x", "native"))
        shutil.copy(self.path("native", "rank1.lpot"), self.path("ranks", "rank3x", "native", "rank3.lpot"))
        os.symlink(self.path("ranks", "rank3x"), self.path("ranks", "rank4"))
        self.write(self.path("ranks", "rank5"), "a file")
        self.assertEqual(self.lpo_report(), before)


if __name__ == "__main__":
    tap.main()
