# SPDX-License-Identifier: Apache-2.0
"""RanksCase: the traces of a job's ranks as files, and the report that lpo makes of them."""
from __future__ import annotations

import gzip
import json
import os

from lpo_case import LpoCase

SHARED = os.path.join(os.environ["LPO_SOURCE_ROOT"], "..", "shared", "data", "traces", "kineto")
HOUR = 3_600_000_000_000


class RanksCase(LpoCase):
    def report(self, traces: list[dict], *words: str) -> dict:
        paths = []
        for i, trace in enumerate(traces):
            paths.append(os.path.join(self.cwd, f"trace{i}.json"))
            with open(paths[-1], "w", encoding="utf-8") as f:
                f.write(json.dumps(trace))
        done = self.lpo("report", "--json", *paths, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def write(self, folder: str, traces: list[dict], names: list[str]) -> dict:
        for trace, name in zip(traces, names):
            path = os.path.join(self.cwd, folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with (gzip.open(path, "wt", 1) if name.endswith(".gz") else open(path, "w", encoding="utf-8")) as f:
                f.write(json.dumps(trace))
        done = self.lpo("report", "--json", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def real(self, name: str) -> dict:
        path = os.path.join(SHARED, name)
        if not os.path.exists(path):
            self.skipTest(f"{name} is not here")
        with gzip.open(path, "rt", encoding="utf-8") as f:
            return json.load(f)
