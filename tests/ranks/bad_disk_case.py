# SPDX-License-Identifier: Apache-2.0
"""The base class of tests with one lpo in each task and the run folder on a bad disk (bad_disk.c)."""
from __future__ import annotations

import json
import os
import subprocess
import sys

from launch import VARIABLES
from lpo_case import LPO, LpoCase

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["LPO_BUILD_ROOT"]
CLIENT = os.path.join(BUILD, "tests", "collect", "nvtx_client")
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
WORDS = ["workload=command", "pipeline.direct_inference.enable=false", "pipeline.static_analysis.enable=false", "pipeline.counters.enable=false",
         "hydra.run.dir=shared/run"]
# The library is no part of the sanitizers, and comes before them.
PRELOAD = {"LD_PRELOAD": os.environ["LPO_BAD_DISK_LIBRARY"], "ASAN_OPTIONS": "verify_asan_link_order=0"}
LIMIT_OF_ONE = 'limit=null; [ $RANK != 1 ] || limit=5s; for a do shift; case "$a" in *LIMIT) a="${a%LIMIT}$limit";; esac; set -- "$@" "$a"; done'
LIMIT = 300  # seconds in which every job must have ended, whatever its disk does


def some(*rows: str, short: int = 1) -> tuple[str, ...]:
    """`make test` takes the first; `make torture` all."""
    return rows if os.environ.get("LPO_TORTURE") == "long" else rows[:short]


class BadDiskCase(LpoCase):
    words = WORDS

    def setUp(self) -> None:
        super().setUp()
        for names in VARIABLES.values():
            for name in names:
                os.environ.pop(name, None)
        self.shared = os.path.join(self.cwd, "shared")
        os.mkdir(self.shared)
        self.run_dir = os.path.join(self.shared, "run")

    def start(self, env: dict[str, str], *words: str, rank: int | None = None, count: int = 3, job: str = "1",
              program: list[str] | None = None, launcher: tuple[str, ...] = ()) -> subprocess.Popen:
        """`env` is for one rank, or for all. A word that ends with LIMIT ends with 5s for rank 1 and with null for the others."""
        exports = " ".join(f"{k}='{v}'" for k, v in (PRELOAD | {"LPO_BAD_DISK": self.shared} | env).items())
        script = f'{"" if rank is None else f"[ $RANK != {rank} ] || "}export {exports}; {LIMIT_OF_ONE}; exec "$@"'
        return subprocess.Popen([*LAUNCH, *launcher, "torchrun", str(count), "sh", "-c", script, "sh", LPO, "run", *self.words, *words, "--",
                                 *(program or [CLIENT, "plain"])], cwd=self.cwd, text=True, env=os.environ | {"LPO_JOB_ID": job},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")

    def end(self, job: subprocess.Popen) -> str:
        try:
            output = job.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            job.kill()
            self.fail("it hangs")
        self.assertNotIn("Sanitizer", output)
        self.assertNotIn("runtime error", output)
        return output

    def traces(self) -> list[str]:
        return sorted(n for n in os.listdir(self.path("native")) if n.endswith(".lpot"))

    def decode_calls(self) -> int:
        done = self.lpo("regions", "--json", *(self.path("native", n) for n in self.traces()))
        return next(r["visits"] for r in json.loads(done.stdout)["scopes"][0]["regions"] if r["path"] == "decode")

    def again(self) -> None:
        self.tearDown()
        self.setUp()
