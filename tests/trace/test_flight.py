#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flight recorders of NCCL: jobs that hang are simulated here, call by call, so who is missing and where is known; lpo must say the
same of the dumps, as pickles and as JSON. Then annotations of the nodes of CUDA graphs. Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
T0 = 1724779239936775119


def lpo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LPO, *words], capture_output=True, text=True, timeout=60)


class Job:
    """Ranks that run one program of collectives over groups. `stop`: (rank, step) where a rank leaves the program; `other`: where it
    calls something else instead."""

    def __init__(self, groups: dict[str, list[int]], program: list[tuple[str, str]], world: int) -> None:
        self.groups, self.program, self.world = groups, program, world
        self.calls: list[list[dict]] = [[] for _ in range(world)]

    def run(self, stop: tuple[int, int] | None = None, other: tuple[int, int] | None = None) -> None:
        at, numbers = [0] * self.world, [dict.fromkeys(self.groups, 0) for _ in range(self.world)]
        waiting: list[dict | None] = [None] * self.world
        arrived: dict[tuple[str, int], list[dict]] = {}
        clock, moved = 0, True
        while moved:
            moved = False
            for rank in range(self.world):
                while waiting[rank] is None and at[rank] < len(self.program) and stop != (rank, at[rank]):
                    group, name = self.program[at[rank]]
                    step, at[rank], moved = at[rank], at[rank] + 1, True
                    if rank not in self.groups[group]:
                        continue
                    clock += 1
                    numbers[rank][group] += 1
                    odd = other == (rank, step)
                    call = {"group": group, "number": numbers[rank][group], "name": "broadcast" if odd else name, "rank": rank,
                            "line": step, "created": T0 + clock, "state": "started"}
                    self.calls[rank].append(call)
                    waiting[rank] = call
                    here = arrived.setdefault((group, call["number"]), [])
                    here.append(call)
                    if len(here) == len(self.groups[group]) and len({c["name"] for c in here}) == 1:
                        for c in here:
                            c["state"] = "completed"
                            waiting[c["rank"]] = None

    def dump(self, rank: int) -> dict:
        handles = {name: i for i, name in enumerate(g for g in self.groups if rank in self.groups[g])}
        status = {str(i): {"last_enqueued_collective": -1, "last_started_collective": -1, "last_completed_collective": -1} for i in
                  handles.values()}
        entries = []
        for i, c in enumerate(self.calls[rank]):
            s = status[str(handles[c["group"]])]
            s["last_enqueued_collective"] = c["number"]
            if c["state"] == "completed":
                s["last_completed_collective"] = c["number"]
            entries.append({
                "frames": [{"name": "all_reduce", "filename": "/usr/lib/python3/dist-packages/torch/distributed/x.py", "line": 7},
                           {"name": "step", "filename": "/srv/job/train.py", "line": c["line"]}],
                "record_id": i, "pg_id": handles[c["group"]], "process_group": (c["group"], "group " + c["group"]),
                "collective_seq_id": c["number"], "p2p_seq_id": 0, "op_id": i, "profiling_name": "nccl:" + c["name"],
                "time_created_ns": c["created"], "input_sizes": [[3, 4]], "input_dtypes": ["Float"], "output_sizes": [[3, 4]],
                "output_dtypes": ["Float"], "state": c["state"], "time_discovered_started_ns": None,
                "time_discovered_completed_ns": None, "retired": c["state"] == "completed", "timeout_ms": 600000, "is_p2p": False})
        return {"version": "2.5", "pg_config": {g: {"name": g, "desc": "group " + g, "ranks": str(m)} for g, m in self.groups.items()
                                                if rank in m}, "pg_status": status, "entries": entries}


def texts(value):
    """As PyTorch's JSON has it: numbers of the state are texts."""
    return {k: {n: str(v) for n, v in of.items()} for k, of in value.items()}


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name: str) -> str:
        return os.path.join(self.dir.name, name)


class Hangs(Files):
    def report(self, job: Job, ranks=None, form: str = "2") -> dict:
        paths = []
        for rank in range(job.world) if ranks is None else ranks:
            paths.append(self.path(f"nccl_trace_rank_{rank}" + (".json" if form == "json" else "")))
            dump = job.dump(rank)
            if form == "json":
                dump["pg_status"] = texts(dump["pg_status"])
                with open(paths[-1], "w") as f:
                    json.dump(dump, f)
            else:
                with open(paths[-1], "wb") as f:
                    pickle.dump(dump, f, protocol=int(form))
        done = lpo("report", *paths, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_simulated_jobs(self) -> None:
        pick = random.Random(36)
        for n in range(24):
            world = pick.choice([2, 4, 8])
            groups = {"0": list(range(world))} | {f"tp{i}": [2 * i, 2 * i + 1] for i in range(world // 2)}
            names = list(groups)
            program = [(pick.choice(names), pick.choice(["all_reduce", "all_gather", "reduce_scatter"])) for _ in range(30)]
            rank = pick.randrange(world)
            mine = [i for i, (group, _) in enumerate(program) if rank in groups[group]]
            step = pick.choice(mine)
            group, name = program[step]
            job = Job(groups, program, world)
            mismatch = n % 3 == 0
            job.run(**({"other": (rank, step)} if mismatch else {"stop": (rank, step)}))
            with self.subTest(n=n, world=world, rank=rank, step=step, mismatch=mismatch):
                report = self.report(job, form=pick.choice(["2", "4", "5", "json"]))
                first = report["flight"]["verdicts"][0]
                number = sum(1 for g, _ in program[:step + 1] if g == group)
                self.assertEqual(report["findings"][0]["id"], first["id"])
                self.assertEqual((first["group"], first["number"]), (group, number))
                if mismatch:
                    self.assertEqual(first["id"], "mismatched-collective")
                    self.assertIn(f"rank {rank} calls broadcast", first["title"])
                else:
                    self.assertEqual(first["id"], "missing-rank")
                    self.assertEqual(first["missing"], [rank])
                    self.assertEqual(first["waiting"], sorted(r for r in groups[group] if r != rank))
                    self.assertEqual(first["place"], f"job/train.py({step}): step")
                    self.assertTrue(report["findings"][0]["title"].startswith(f"Rank {rank} did not come to {name} {number} "))

    def test_nothing_hangs(self) -> None:
        job = Job({"0": [0, 1]}, [("0", "all_reduce")] * 5, 2)
        job.run()
        self.assertEqual(self.report(job)["flight"]["verdicts"], [])

    def test_a_profile_that_names_its_groups_is_a_profile(self) -> None:
        with open(self.path("t.json"), "w") as f:
            json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
                       "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
                                        "args": {"device": 0, "stream": 7}}]}, f)
        done = lpo("top", self.path("t.json"), "--json")
        self.assertEqual([k["name"] for k in json.loads(done.stdout)["kernels"]], ["k"])

    def test_beside_a_trace_with_a_ladder(self) -> None:
        job = Job({"0": [0, 1]}, [("0", "all_reduce")] * 5, 2)
        job.run(stop=(1, 3))
        alone = self.report(job)["findings"]
        with open(self.path("trace.json.gz"), "wb") as f, open(os.path.join(HERE, "../data/kineto/h200_llama8.json.gz"), "rb") as of:
            f.write(of.read())
        both = json.loads(lpo("report", self.dir.name, "--json").stdout)
        self.assertEqual([f["title"] for f in alone], [f["title"] for f in both["findings"] if f["share"] is None])
        self.assertEqual(len(both["findings"]), len(both["ladder"]["rungs"]) + len(alone))
        self.assertIn(alone[0]["title"], lpo("report", self.dir.name, "--findings").stdout.replace("\n", " "))

    def test_a_rank_without_a_dump(self) -> None:
        job = Job({"0": [0, 1, 2]}, [("0", "all_reduce")] * 5, 3)
        job.run(stop=(2, 3))
        first = self.report(job, ranks=[0, 1])["flight"]["verdicts"][0]
        self.assertEqual((first["id"], first["missing"], first["waiting"]), ("missing-dump", [2], [0, 1]))

    def test_all_came_and_it_does_not_end(self) -> None:
        job = Job({"0": [0, 1]}, [("0", "all_reduce")] * 2, 2)
        job.run()
        for calls in job.calls:
            calls[-1]["state"] = "started"
        self.assertEqual(self.report(job)["flight"]["verdicts"][0]["id"], "stuck-collective")

    def test_one_rank_does_not_finish(self) -> None:
        job = Job({"0": [0, 1, 2]}, [("0", "all_reduce")] * 2, 3)
        job.run()
        job.calls[1][-1]["state"] = "started"
        first = self.report(job)["flight"]["verdicts"][0]
        self.assertEqual((first["id"], first["waiting"]), ("stuck-collective", [1]))
        self.assertTrue(first["title"].startswith("Rank 1 does not finish all_reduce 2 "), first["title"])

    def test_a_message_that_nobody_takes(self) -> None:
        job = Job({"0": [0, 1]}, [("0", "all_reduce")] * 2, 2)
        job.run()
        dumps = [job.dump(rank) for rank in (0, 1)]
        dumps[0]["entries"].append(dumps[0]["entries"][-1] | {"is_p2p": True, "p2p_seq_id": 3, "profiling_name": "nccl:send 0->1",
                                                              "state": "started"})
        job.dump = lambda rank: dumps[rank]
        report = self.report(job)
        self.assertEqual(report["flight"]["verdicts"][0]["waiting"], [0])
        self.assertTrue(report["findings"][0]["title"].startswith("Rank 0 does not finish send 0->1 3 "), report["findings"][0]["title"])

    def test_groups_that_are_parts_of_the_job(self) -> None:
        """A dump names the groups of its own rank: their sizes say nothing about several jobs."""
        groups = {"0": [0, 1, 2, 3], "1": [0, 1], "2": [2, 3]}
        job = Job(groups, [("1", "all_gather"), ("2", "all_gather"), ("0", "all_reduce")] * 3, 4)
        job.run(stop=(3, 4))
        dumps = [job.dump(rank) for rank in range(4)]
        for rank, dump in enumerate(dumps):
            dump["pg_config"] = {k: v for k, v in dump["pg_config"].items() if rank in groups[k]}
        job.dump = lambda rank: dumps[rank]
        report = self.report(job)
        self.assertEqual([v["missing"] for v in report["flight"]["verdicts"]][0], [3])
        self.assertNotIn("not of one job", json.dumps(report))

    def test_nothing_says_who_is_in_the_group(self) -> None:
        job = Job({"0": [0, 1, 2]}, [("0", "all_reduce")] * 5, 3)
        job.run(stop=(1, 3))
        dumps = [{"version": "2.1", "entries": job.dump(rank)["entries"]} for rank in range(3)]
        job.dump = lambda rank: dumps[rank]
        first = self.report(job)["flight"]["verdicts"][0]
        self.assertEqual((first["id"], first["missing"], first["waiting"]), ("missing-rank", [1], [0, 2]))

    def test_a_message_in_front_of_a_collective(self) -> None:
        """Rank 1 waits for all, rank 0 for rank 1 to take its message: that comes first."""
        job = Job({"0": [0, 1]}, [("0", "all_reduce")] * 2, 2)
        job.run(stop=(0, 1))
        dumps = [job.dump(rank) for rank in (0, 1)]
        dumps[0]["entries"].append(dumps[0]["entries"][-1] | {"is_p2p": True, "p2p_seq_id": 1, "profiling_name": "nccl:send 0->1",
                                                              "state": "started"})
        job.dump = lambda rank: dumps[rank]
        report = self.report(job)
        self.assertEqual([(v["call"], v["waiting"]) for v in report["flight"]["verdicts"]], [("send 0->1", [0]), ("all_reduce", [1])])

    def test_two_groups_that_wait_for_each_other(self) -> None:
        job = Job({"a": [0, 1], "b": [0, 1]}, [("a", "all_reduce"), ("b", "all_reduce")], 2)
        job.run(stop=(1, 0))
        job.calls[1].append({"group": "b", "number": 1, "name": "all_reduce", "rank": 1, "line": 9, "created": T0, "state": "started"})
        report = self.report(job)
        self.assertEqual([v["missing"] for v in report["flight"]["verdicts"]], [[0], [1]])
        self.assertIn("deadlock", report["findings"][0]["evidence"][2]["text"])

    def test_files_that_are_cut(self) -> None:
        job = Job({"0": [0, 1]}, [("0", "all_reduce")] * 3, 2)
        job.run()
        for whole, name in ((pickle.dumps(job.dump(0), protocol=4), "x_0"), (json.dumps(job.dump(0)).encode(), "x_0.json")):
            for length in range(200, len(whole), 97):
                with open(self.path(name), "wb") as f:
                    f.write(whole[:length])
                self.assertIn(lpo("report", self.path(name), "--json").returncode, (0, 1, 2))


class Nodes(Files):
    """Replays of CUDA graphs, with what their nodes were captured in from a file beside the trace."""

    def trace(self, name: str, nodes: list[int], rank: int | None = None) -> str:
        events = [{"ph": "X", "cat": "user_annotation", "name": "decode", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
                  {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
                   "args": {"correlation": 7}}]
        events += [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20 + 10 * i, "dur": 5,
                    "args": {"correlation": 7, "device": 0, "stream": 7, "graph id": 2, "graph node id": node}}
                   for i, node in enumerate(nodes)]
        with gzip.open(self.path(name), "wt") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}
                      | ({"distributedInfo": {"rank": rank, "world_size": 2}} if rank is not None else {}), f)
        return self.path(name)

    def captured(self, *paths: str) -> dict[str, int]:
        done = lpo("regions", *paths, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["scopes"][0]["regions"]
        return {r["path"]: r["captured_here"]["gpu_ns"] for r in rows if "captured_here" in r}

    def test_annotations(self) -> None:
        trace = self.trace("000000.1.pt.trace.json.gz", [100, 101, 102, 103, 104])
        scopes = {100: [{"name": "layer"}, {"name": "attn", "stream": 3}], 101: [{"name": "layer"}, {"name": "mlp"}], 102: "bare",
                  (2 << 32) | 103: {"str": "old"}}
        want = {"layer": 10000, "layer/attn": 5000, "layer/mlp": 5000, "bare": 5000, "old": 5000}
        for protocol in (2, 3, 4, 5):
            with open(self.path("kernel_annotations_rank0_x.pkl"), "wb") as f:
                pickle.dump(scopes, f, protocol=protocol)
            self.assertEqual(self.captured(trace, f.name), want)
            self.assertEqual(self.captured(f.name, trace), want)
        os.remove(f.name)
        with open(self.path("kernel_annotations_rank0_x.json"), "w") as f:
            json.dump({str(k): v for k, v in scopes.items()}, f)
        self.assertEqual(self.captured(self.dir.name), want)

    def test_stacks(self) -> None:
        trace = self.trace("trace.json.gz", [100, 101])
        with gzip.open(self.path("stacks.json.gz"), "wt") as f:
            json.dump({"100": "/srv/app/model.py:32:forward\n/srv/app/train.py:88:step\n", "101": "/srv/app/train.py:89:step"}, f)
        self.assertEqual(self.captured(trace, self.path("stacks.json.gz")),
                         {"app\\/train.py(88): step": 5000, "app\\/train.py(88): step/app\\/model.py(32): forward": 5000,
                          "app\\/train.py(89): step": 5000})

    def test_annotations_and_stacks(self) -> None:
        trace = self.trace("trace.json.gz", [100])
        for name, content in (("a.json", {"100": [{"name": "layer"}]}), ("b.json", {"100": "/srv/app/model.py:32:forward"})):
            with open(self.path(name), "w") as f:
                json.dump(content, f)
        want = {"layer": 5000, "layer/app\\/model.py(32): forward": 5000}
        self.assertEqual(self.captured(trace, self.path("a.json"), self.path("b.json")), want)
        self.assertEqual(self.captured(trace, self.path("b.json"), self.path("a.json")), want)

    def test_each_rank_has_its_own(self) -> None:
        for rank in (0, 1):
            self.trace(f"rank{rank}.json.gz", [100], rank)
            with open(self.path(f"kernel_annotations_rank{rank}_x.pkl"), "wb") as f:
                pickle.dump({100: [{"name": f"of {rank}"}]}, f)
        self.assertEqual(self.captured(self.dir.name), {"of 0": 5000, "of 1": 5000})


if __name__ == "__main__":
    tap.main()
