#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks beside each other, by step and by region: steps that are matched, bubbles of a pipeline, and what the chapter says. Prints TAP."""
from __future__ import annotations

import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import make_ranks  # noqa: E402
import tap  # noqa: E402
from ranks_case import HOUR, RanksCase  # noqa: E402


class RankSteps(RanksCase):
    def gpipe(self, stages: int, batches: int, steps: int, named: str = "ProfilerStep#%", kind: bool = True) -> tuple[list[dict], dict]:
        """All stages forward, then all backward; a receive runs from when its stage is free until the data comes. Truth by counting
        what is busy moment by moment: every time is a whole number of ticks."""
        rng, tick = random.Random(4), 10_000
        offsets = [0] + [rng.randrange(-HOUR, HOUR) for _ in range(stages - 1)]
        events: list[list[dict]] = [[] for _ in range(stages)]
        work: list[list[tuple[int, int]]] = [[] for _ in range(stages)]  # ticks
        comm: list[list[tuple[int, int]]] = [[] for _ in range(stages)]
        now, correlation, begins = 100, 0, []

        def put(r: int, name: str, start: int, end: int, **args) -> None:
            nonlocal correlation
            correlation += 1
            (comm if args else work)[r].append((start, end))
            events[r] += make_ranks.kernel(name, start * tick + offsets[r], end * tick + offsets[r], 20 if args else 7, correlation, **args)

        def send(a: int, b: int, ready: int, free: int) -> int:
            """`a` has the data at `ready`, `b` waits since `free`; the moment at which `b` has it"""
            end = max(ready, free) + 1
            for r, start, name, peer in ((a, ready, "send", b), (b, free, "recv", a)):
                put(r, "ncclDevKernel_SendRecv(ncclDevComm*)", start, end, **({
                    "Collective name": name, "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": stages, "dtype": "Float", "Process Group Name": "pp",
                    "Dst Rank" if name == "send" else "Src Rank": peer} if kind else {"x": 1}))
            return end

        for step in range(steps):
            begins.append(now)
            free = [now] * stages
            for way in (1, -1):
                order = list(range(stages))[::way]
                has = {}
                for m in range(batches):
                    for r in order:
                        at = free[r] if r == order[0] else send(r - way, r, has[r - way, m], free[r])
                        long = rng.randrange(9, 12)
                        put(r, "compute_kernel(float*)", at, at + long)
                        free[r] = has[r, m] = at + long
            now = max(max(free), max(e for c in comm for _, e in c)) + 3
        for r in range(stages):
            for i, begin in enumerate(begins):
                end = begins[i + 1] if i + 1 < steps else now
                events[r].append({"ph": "X", "cat": "user_annotation", "name": named.replace("%", str(i)), "pid": 7, "tid": 7,
                                  "ts": (begin * tick - 6000 + offsets[r]) / 1000, "dur": ((end - begin) * tick - 1) / 1000})
        last = max(e for all_ in (work, comm) for c in all_ for _, e in c)
        truth = {}
        for r in range(stages):
            busy = {t for a, b in work[r] for t in range(a, b)}
            both = busy | {t for a, b in comm[r] for t in range(a, b)}
            ends = begins[1:] + [last]
            truth[r] = {"bubble_ns": [tick * sum(t not in busy for t in range(a, b)) for a, b in zip(begins, ends)],
                        "idle_ns": tick * sum(t not in both for t in range(begins[0], last)), "step_ns": tick * (last - begins[0])}
        return [{"distributedInfo": {"rank": r, "world_size": stages}, "deviceProperties": [{"id": 0, "name": "H100"}],
                 "traceEvents": events[r]} for r in range(stages)], truth

    def test_bubbles_of_a_pipeline(self) -> None:
        traces, truth = self.gpipe(4, 8, 12)
        steps = self.report(traces)["rank_steps"]
        self.assertEqual(sorted(b["rank"] for b in steps["bubbles"]), [0, 1, 2, 3])
        for b in steps["bubbles"]:
            want = truth[b["rank"]]
            self.assertEqual((b["steps"], b["step_ns"], b["bubble_ns"], b["idle_ns"], b["waiting_ns"]),
                             (12, want["step_ns"], sum(want["bubble_ns"]), want["idle_ns"], sum(want["bubble_ns"]) - want["idle_ns"]))
            self.assertAlmostEqual(b["share"], b["bubble_ns"] / b["step_ns"], 12)
        self.assertEqual([b["share"] for b in steps["bubbles"]], sorted((b["share"] for b in steps["bubbles"]), reverse=True))
        for r, row in enumerate(steps["rows"]):
            self.assertEqual(row["bubble_ns"], truth[r]["bubble_ns"])

    def test_nothing_is_said_about_bubbles_without_sends(self) -> None:
        traces, _ = self.gpipe(4, 4, 12, kind=False)  # kernels named SendRecv: an all-to-all looks the same
        steps = self.report(traces)["rank_steps"]
        self.assertNotIn("bubbles", steps)
        self.assertNotIn("bubble_ns", steps["rows"][0])

    def test_regions_over_ranks_and_the_odd_one_out(self) -> None:
        traces, _ = make_ranks.make(8, 10, late=5, offset=HOUR)
        document = self.report(traces)
        own = [sum(round(e["dur"] * 1000) for e in t["traceEvents"] if e.get("cat") == "kernel") for t in traces]
        row = next(r for r in document["rank_regions"] if r["path"] == "(outside)")
        self.assertEqual((row["min_ns"], row["max_ns"], row["min_rank"], row["max_rank"]),
                         (min(own), max(own), own.index(min(own)), own.index(max(own))))
        for trace in traces:  # work of one rank in a region takes twice as long
            begin = min(e["ts"] for e in trace["traceEvents"]) - 10
            end = max(e["ts"] + e["dur"] for e in trace["traceEvents"])
            trace["traceEvents"].append({"ph": "X", "cat": "user_annotation", "name": "step", "pid": 7, "tid": 7, "ts": begin, "dur": end - begin})
        for e in traces[3]["traceEvents"]:
            if e["name"] == "compute_kernel(float*)":
                e["dur"] *= 4
        row = next(r for r in self.report(traces)["rank_regions"] if r["path"] == "step")
        self.assertEqual((row["max_rank"], row["odd_ranks"]), (3, [3]))

    def check_steps(self, steps: dict, truth: dict, first: int = 0) -> None:
        for r, row in enumerate(steps["rows"]):
            self.assertEqual((row["rank"], row["wall_ns"]), (r, truth["walls"][first:]))
            for key, at in (("compute_ns", 0), ("exposed_communication_ns", 1)):
                self.assertEqual(row[key], [step[r][at] for step in truth["steps"][first:]], (r, key))
            self.assertEqual(row["idle_ns"], [s[r][2] - s[r][0] - s[r][1] for s in truth["steps"][first:]])

    def test_ranks_and_steps(self) -> None:
        traces, truth = make_ranks.make(8, 20, late=5, offset=HOUR, named="ProfilerStep#%", late_steps=range(4, 7))
        document = self.report(traces)
        steps = document["rank_steps"]
        self.assertEqual((steps["numbered"], steps["steps"], steps["steps_per_column"], steps["left_out"]), (True, 20, 1, 0))
        self.check_steps(steps, truth)
        self.assertEqual([(c["first"], c["odd_rank"], c["odd_part"]) for c in steps["columns"] if c["odd_rank"] is not None],
                         [(i, 5, "compute") for i in range(4, 7)])
        for i, c in enumerate(steps["columns"]):
            compute = sorted(truth["steps"][i][r][0] for r in range(8))
            self.assertEqual((c["first"], c["last"], c["compute_ns"]), (i, i, compute[4]))
            if c["odd_rank"] is not None:
                self.assertEqual(c["odd_ns"], truth["steps"][i][5][0] - compute[4])
        self.assertEqual(document["ranks"]["latest"]["rank"], 5)

    def test_steps_without_numbers_are_matched_by_the_clock(self) -> None:
        """every second rank began to record three steps later; its first step is the fourth of the others"""
        traces, truth = make_ranks.make(4, 12, late=-1, offset=HOUR, named="train_step")
        for r in (1, 3):
            steps = sorted((e for e in traces[r]["traceEvents"] if e["name"] == "train_step"), key=lambda e: e["ts"])
            traces[r]["traceEvents"] = [e for e in traces[r]["traceEvents"] if e["ts"] >= steps[3]["ts"]]
        steps = self.report(traces)["rank_steps"]
        self.assertEqual((steps["numbered"], steps["steps"], steps["left_out"]), (False, 12, 0))
        for r, row in enumerate(steps["rows"]):
            lost = 3 if r % 2 else 0
            self.assertEqual(row["steps"], [0] * lost + [1] * (12 - lost))
            self.assertEqual(row["compute_ns"], [None] * lost + [step[r][0] for step in truth["steps"][lost:]])

    def test_many_steps_are_folded_and_none_is_lost(self) -> None:
        """2 ranks have 16,384 columns at most: 40,000 steps are three in a column"""
        count, traces = 40_000, []
        for r in range(2):
            events = [{"ph": "X", "cat": "user_annotation", "name": "train_step", "pid": 7, "tid": 7, "ts": 10 * i, "dur": 5 + i % 3}
                      for i in range(count)]
            events += make_ranks.kernel("k(float*)", 10_000, 11_000, 7, 1)
            traces.append({"distributedInfo": {"rank": r, "world_size": 2}, "deviceProperties": [{"id": 0, "name": "H100"}], "traceEvents": events})
        steps = self.report(traces)["rank_steps"]
        self.assertEqual((steps["steps"], steps["steps_per_column"], len(steps["columns"])), (count, 3, -(-count // 3)))
        for row in steps["rows"]:
            self.assertEqual((sum(row["steps"]), sum(row["wall_ns"])), (count, 10_000 * (count - 1) + 1000 * (5 + (count - 1) % 3)))
            self.assertEqual(len(row["wall_ns"]), len(steps["columns"]))

    def test_one_rank_has_no_table_of_steps(self) -> None:
        traces, _ = make_ranks.make(2, 5, late=-1, offset=HOUR, named="ProfilerStep#%")
        self.assertNotIn("rank_steps", self.report(traces[:1]))

    def test_one_rank_and_ranks_without_collectives_have_no_chapter(self) -> None:
        traces, _ = make_ranks.make(2, 5, late=-1, offset=HOUR)
        self.assertNotIn("ranks", self.report(traces[:1]))
        for trace in traces:
            trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith("nccl")]
        self.assertNotIn("ranks", self.report(traces))

    def test_the_chapter_names_the_latecomer(self) -> None:
        traces, _ = make_ranks.make(4, 10, late=1, offset=HOUR)
        self.report(traces)
        done = self.lpo("report", "-o", "out", *(f"trace{i}.json" for i in range(4)))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "out", "report.md"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn("Rank 1 is the straggler: last in ", text)
        self.assertIn("slow_kernel", text[text.index("Rank 1 is the straggler"):][:400])

    def test_the_chapter_names_the_rank_above_the_others(self) -> None:
        traces, _ = make_ranks.make(4, 10, late=1, offset=HOUR, named="ProfilerStep#%", late_steps=range(2, 4))
        self.report(traces)
        done = self.lpo("report", "-o", "out", *(f"trace{i}.json" for i in range(4)))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "out", "report.md"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn("Rank 1 differs most often: in 2 of 10 steps it computes, or is idle, for clearly longer than the others.", text)
        self.assertRegex(text, r"\| [23] \|.*rank 1, compute \+")
        with open(os.path.join(self.cwd, "out", "figures", "rank_steps.svg"), encoding="utf-8") as f:
            self.assertEqual(f.read().count("<title>rank 1, "), 10)

    def test_damaged_ranks(self) -> None:
        """values that no job has, in any event of any rank: a report comes out, and its parts add up"""
        times, numbers = (0, -1, 0.001, 9e12, -9e12, 1e18), (0, -1, 1, 1 << 40, 1 << 62, -(1 << 62), "x", None, [1], 1e300)
        for seed in range(12):
            rng = random.Random(seed)
            traces, _ = make_ranks.make(4, 6, late=1, offset=HOUR, seed=seed, named="ProfilerStep#%")
            for e in (e for t in traces for e in t["traceEvents"] if rng.random() < 0.15):
                args = e.setdefault("args", {})
                rng.choice((lambda: e.update(ts=rng.choice(times)), lambda: e.update(dur=rng.choice(times)), lambda: e.update(name="ProfilerStep#99999999999999999999"),
                            lambda: args.update({"Group size": rng.choice(numbers)}), lambda: args.update({"In msg nelems": rng.choice(numbers)}),
                            lambda: args.update({"Collective name": rng.choice(("send", "recv", "all_to_all", "")), "Dst Rank": rng.choice(numbers)}),
                            lambda: args.update({"Process Group Ranks": rng.choice(("", "[0", "x" * 5000))})))()
            document = self.report(traces)
            exposed = {w["scope"]: w["exposed_communication_ns"] for w in document["wall"]}
            for row in document.get("ranks", {}).get("rows", []):
                self.assertEqual(row["exposed_waiting_ns"] + row["exposed_sending_ns"] + row["exposed_unknown_ns"], exposed[f"rank:{row['rank']}/device:0"])
            for b in document.get("rank_steps", {}).get("bubbles", []):
                self.assertEqual(b["bubble_ns"], b["idle_ns"] + b["waiting_ns"])


if __name__ == "__main__":
    tap.main()
