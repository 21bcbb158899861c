#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of many ranks with known clocks, waits and latecomers (make_ranks.py), and real traces whose clocks are moved. Prints TAP."""
from __future__ import annotations

import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import make_ranks  # noqa: E402
import rank_sets  # noqa: E402
import tap  # noqa: E402
from lpo_case import LPO  # noqa: E402
from ranks_case import HOUR, RanksCase  # noqa: E402


class Ranks(RanksCase):
    def check(self, document: dict, truth: dict, off: int = 0, totals: bool = True) -> None:
        rows = document["ranks"]["rows"]
        for r, row in enumerate(rows):
            self.assertEqual(row["rank"], r)
            self.assertLessEqual(abs(row["offset_ns"] - truth["offsets"][r]), off)
            if totals:
                self.assertEqual((row["waiting_ns"], row["late"], row["delay_ns"]),
                                 (truth["waiting"][r], truth["late"][r], truth["delay"][r]))
        if truth["latest"] is not None:
            self.assertEqual(document["ranks"]["latest"]["rank"], truth["latest"])
        exposed = {w["scope"]: w["exposed_communication_ns"] for w in document["wall"]}
        for row in rows:  # the split adds up to the wall's own figure
            self.assertEqual(row["exposed_waiting_ns"] + row["exposed_sending_ns"] + row["exposed_unknown_ns"],
                             exposed[f"rank:{row['rank']}/device:0"])

    def test_eight_ranks_an_hour_apart(self) -> None:
        traces, truth = make_ranks.make(8, 20, late=5, offset=HOUR)
        document = self.report(traces)
        self.check(document, truth)
        late = document["ranks"]["latest"]
        self.assertEqual(late["kernel"], "slow_kernel(float*)")
        self.assertGreater(late["compute_ns"], 20 * 250_000)
        self.assertEqual(late["compute_ns"] + late["other_ns"] + late["idle_ns"], late["delay_ns"])
        self.assertEqual([(c["kind"], c["calls"], c["late_rank"]) for c in document["ranks"]["collectives"]][0], ("all-reduce", 20, 5))
        self.assertEqual(document["ranks"]["matched_collectives"], 40)

    def test_sixty_four_ranks(self) -> None:
        """all of them right, and the one that is late stands first, where a short page has room"""
        traces, truth = make_ranks.make(64, 6, late=63, offset=HOUR)
        document = self.report(traces)
        self.check(document, truth)
        rows = next(i["rows"] for s in document["sections"] for i in s["items"] if i.get("id") == "arrivals")
        self.assertEqual((len(rows), rows[0]["rank"], rows[0]["delay_ns"]), (64, 63, truth["delay"][63]))

    def test_ranks_that_began_to_record_later(self) -> None:
        traces, truth = make_ranks.make(8, 20, late=2, offset=HOUR, drop=17)
        self.check(self.report(traces), truth, totals=False)

    def test_ends_that_differ_by_microseconds(self) -> None:
        traces, truth = make_ranks.make(8, 50, late=3, offset=5_000_000_000)
        rng = random.Random(7)
        for trace in traces:
            for e in trace["traceEvents"]:
                if e["name"].startswith("nccl"):
                    e["dur"] += rng.choice((0, 1, 2, 3, 8))  # us
        self.check(self.report(traces), truth, off=10_000, totals=False)

    def check_line(self, document: dict, traces: list[dict], truth: dict, off: int) -> None:
        """the clock of each rank at every moment of its trace"""
        for r, row in enumerate(document["ranks"]["rows"]):
            first = 1_000_000_000
            for e in traces[r]["traceEvents"]:
                shown = round(e["ts"] * 1000)
                true = (shown - truth["offsets"][r] + truth["drifts"][r] * 1e-6 * first) / (1 + truth["drifts"][r] * 1e-6)
                said = row["offset_ns"] + row["drift_ppm"] * 1e-6 * (shown - row["offset_at_ns"])
                self.assertLessEqual(abs(said - (shown - true)), off, (r, row))

    def scatter(self, traces: list[dict], choices: tuple, seed: int = 7) -> None:
        rng = random.Random(seed)
        for trace in traces:
            for e in trace["traceEvents"]:
                if e["name"].startswith("nccl"):
                    e["dur"] += rng.choice(choices)  # us

    def test_clocks_that_run_at_different_speeds(self) -> None:
        traces, truth = make_ranks.make(8, 60, late=3, offset=HOUR, drift=80, gap=300_000_000)
        document = self.report(traces)
        self.check_line(document, traces, truth, 1000)
        for r, row in enumerate(document["ranks"]["rows"]):
            self.assertAlmostEqual(row["drift_ppm"], truth["drifts"][r] / (1 + truth["drifts"][r] * 1e-6), 3)
            self.assertLessEqual(abs(row["waiting_ns"] - truth["waiting"][r]), 60 * 2 * 100)
            self.assertEqual(row["matched"], 120)
        self.assertEqual(document["ranks"]["latest"]["rank"], 3)

    def test_clocks_at_different_speeds_and_ends_that_scatter(self) -> None:
        for seed, drop in ((1, 0), (2, 0), (3, 23)):
            traces, truth = make_ranks.make(8, 60, late=3, offset=HOUR, drift=80, gap=300_000_000, seed=seed, drop=drop)
            self.scatter(traces, (0, 1, 2, 3, 8), seed)
            document = self.report(traces)
            self.check_line(document, traces, truth, 10_000)
            self.assertEqual(document["ranks"]["latest"]["rank"], 3)

    def test_no_drift_is_said_where_there_is_none(self) -> None:
        for seed in range(4):
            traces, truth = make_ranks.make(8, 40, late=3, offset=HOUR, seed=seed)
            self.scatter(traces, (0, 1, 2, 3), seed)
            document = self.report(traces)
            self.assertEqual([r["drift_ppm"] for r in document["ranks"]["rows"]], [0] * 8)
            self.check(document, truth, off=3000, totals=False)

    def test_as_many_collectives_of_another_part(self) -> None:
        """every second rank recorded 10 steps later: counts are equal, the collectives are not"""
        traces, truth = make_ranks.make(4, 50, late=1, offset=HOUR)
        for r, trace in enumerate(traces):
            events = trace["traceEvents"]
            trace["traceEvents"] = events[80:] if r % 2 else events[:-80]
        rows = self.report(traces)["ranks"]["rows"]
        self.assertEqual([r["offset_ns"] for r in rows], truth["offsets"])
        self.assertEqual([r["matched"] for r in rows], [80, 60, 80, 60])

    def test_numbers_of_collectives_where_order_and_time_say_nothing(self) -> None:
        """Steps as alike as a clock's: a rank that began to record later fits at any of them, but for the numbers (Kineto's Seq)."""
        def traces(numbered: bool) -> list[dict]:
            out = []
            for r, (offset, first) in enumerate(((0, 0), (7_000_000, 4), (-HOUR, 9))):
                events = []
                for step in range(first, 30 if r else 24):  # rank 0 ended earlier
                    at = 1_000_000_000 + 1_000_000 * step
                    events += make_ranks.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", at + offset - 1000 * r, at + 200_000 + offset, 20, step + 1,
                                                **{"Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 3, "dtype": "Float",
                                                   "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2]"} | ({"Seq": 100 + step} if numbered else {}))
                out.append({"distributedInfo": {"rank": r, "world_size": 3}, "deviceProperties": [{"id": 0, "name": "H100"}], "traceEvents": events})
            return out

        ranks = self.report(traces(True))["ranks"]
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], [0, 7_000_000, -HOUR])
        self.assertEqual([r["matched"] for r in ranks["rows"]], [20, 20, 15])
        self.assertEqual(ranks["complete_collectives"], 15)
        self.assertNotEqual([r["offset_ns"] for r in self.report(traces(False))["ranks"]["rows"]], [0, 7_000_000, -HOUR])

    def test_numbers_that_are_wrong(self) -> None:
        """They must agree with the clocks: here each rank counts for itself, with a hole of its own."""
        traces, truth = make_ranks.make(4, 20, late=1, offset=HOUR)
        for r, trace in enumerate(traces):
            number = 0
            for e in trace["traceEvents"]:
                if "Collective name" in e["args"]:
                    number += 1 + (number == 3 + 2 * r)
                    e["args"]["Seq"] = number
        self.check(self.report(traces), truth)

    def test_groups_of_one_name_and_other_ranks(self) -> None:
        """tensor parallel pairs that are all called tp; the list of their ranks tells them apart"""
        traces, truth = make_ranks.make(4, 20, late=-1, offset=HOUR)
        for r, trace in enumerate(traces):
            for e in trace["traceEvents"]:
                if e["args"].get("Collective name") == "allreduce":
                    pair = r // 2 * 2
                    e["args"].update({"Process Group Name": "tp", "Group size": 2, "Process Group Ranks": f"[{pair}, {pair + 1}]"})
                    if pair:  # those are done by then: not at the end of the others
                        e["dur"] -= 20 + e["ts"] % 7
        document = self.report(traces)
        self.assertEqual([r["offset_ns"] for r in document["ranks"]["rows"]], truth["offsets"])
        self.assertEqual({c["kind"]: (c["ranks"], c["calls"]) for c in document["ranks"]["collectives"]},
                         {"all-reduce": (2, 40), "all-gather": (4, 20)})

    def test_groups_of_one_name_that_nothing_tells_apart(self) -> None:
        """the same pairs, all called tp and without a list of ranks: those that end together are one group"""
        traces, truth = make_ranks.make(8, 20, late=-1, offset=HOUR)
        waits = [0] * 8
        arrivals: dict = {}
        for r, trace in enumerate(traces):
            for i, e in enumerate(e for e in trace["traceEvents"] if e["args"].get("Collective name") == "allreduce"):
                e["args"].update({"Process Group Name": "tp", "Group size": 2})
                e["dur"] = round(e["dur"] - 11 * (r // 2), 3)  # each pair ends 11 us before the one before it
                arrivals.setdefault((r // 2, i), {})[r] = round(e["ts"] * 1000) - truth["offsets"][r]
            for i, e in enumerate(e for e in trace["traceEvents"] if e["args"].get("Collective name") == "_allgather_base"):
                arrivals.setdefault((-1, i), {})[r] = round(e["ts"] * 1000) - truth["offsets"][r]
        for of in arrivals.values():
            for r, ns in of.items():
                waits[r] += max(of.values()) - ns
        ranks = self.report(traces)["ranks"]
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], truth["offsets"])
        self.assertEqual({c["kind"]: (c["ranks"], c["calls"]) for c in ranks["collectives"]}, {"all-reduce": (2, 80), "all-gather": (8, 20)})
        self.assertEqual([r["waiting_ns"] for r in ranks["rows"]], waits)

    def test_an_all_to_all_of_other_sizes_on_each_rank(self) -> None:
        traces, truth = make_ranks.make(4, 20, late=2, offset=HOUR)
        rng = random.Random(3)
        for trace in traces:
            trace["traceEvents"] = [e for e in trace["traceEvents"] if e["args"].get("Collective name") != "_allgather_base"]
            for e in trace["traceEvents"]:
                if e["args"].get("Collective name") == "allreduce":
                    e["args"].update({"Collective name": "all_to_allv", "In msg nelems": rng.randrange(1000, 2000), "Out msg nelems": rng.randrange(1000, 2000)})
        document = self.report(traces)
        ranks = document["ranks"]
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], truth["offsets"])
        self.assertEqual((ranks["complete_collectives"], ranks["latest"]["rank"]), (20, 2))
        balance = {b["name"]: b for b in document["imbalance"]}
        self.assertEqual(set(balance), {"received", "sent"})
        for name, key in (("received", "Out msg nelems"), ("sent", "In msg nelems")):
            sizes = [[e["args"][key] for e in sorted(t["traceEvents"], key=lambda e: e["ts"]) if key in e["args"]] for t in traces]
            sums, b = [sum(s) for s in sizes], balance[name]
            self.assertEqual((b["what"], b["group"], b["ranks"], b["calls"], b["per_call"], b["most"], b["least"]),
                             ("all-to-all", "0", 4, 20, False, max(sums), min(sums)))
            self.assertEqual((b["most_rank"], b["least_rank"]), (sums.index(max(sums)), sums.index(min(sums))))
            self.assertAlmostEqual(b["mean"], sum(sums) / 4, 9)
            self.assertAlmostEqual(b["ratio"], max(sums) * 4 / sum(sums), 12)
            self.assertAlmostEqual(b["call_ratio"], sum(max(c) for c in zip(*sizes)) * 4 / sum(sums), 12)
        self.assertEqual([(c["kind"], c["bytes"]) for c in ranks["collectives"]], [("all-to-all", None)])

    def test_ranks_by_the_names_of_the_files(self) -> None:
        """no trace says its rank, names do: in many spellings, compressed or not, some missing"""
        ranks = [0, 1, 2, 3, 5, 6, 7, 11]
        for i, name in enumerate(("rank{}.json", "trace_rank_{}.json.gz", "host-a_r{}.trace.json", "rank{:03d}.pt.trace.json.gz", "1731730000.5-TP-{}.trace.json.gz")):
            traces, truth = make_ranks.make(8, 10, late=5, offset=HOUR)
            for trace in traces:
                del trace["distributedInfo"]
                for e in trace["traceEvents"]:
                    if "Group size" in e["args"]:
                        e["args"]["Group size"] = 8
            document = self.write(f"in{i}", traces, [name.format(r) for r in ranks])
            rows = document["ranks"]["rows"]
            self.assertEqual([r["rank"] for r in rows], ranks, name)
            self.assertEqual([r["offset_ns"] for r in rows], truth["offsets"])
            self.assertEqual([r["waiting_ns"] for r in rows], truth["waiting"])
            self.assertEqual(document["ranks"]["latest"]["rank"], 6)

    def test_what_a_trace_says_counts_more_than_its_name(self) -> None:
        traces, truth = make_ranks.make(4, 10, late=2, offset=HOUR)
        order = [2, 0, 3, 1]
        document = self.write("in", [traces[r] for r in order], ["rank0.json", "rank1.json.gz", "rank2.json", "rank3.json.gz"])
        self.check(document, truth)
        self.assertEqual(document["ranks"]["latest"]["rank"], 2)

    def test_a_file_alone_is_no_rank(self) -> None:
        traces, _ = make_ranks.make(2, 5, late=-1, offset=HOUR)
        del traces[0]["distributedInfo"]
        document = self.write("in", traces[:1], ["rank3.json"])
        self.assertEqual([w["scope"] for w in document["wall"]], ["device:0"])

    def pipeline(self) -> tuple[list[dict], list[int]]:
        """four stages that only send and receive, each with a clock of its own"""
        rng = random.Random(5)
        offsets = [0] + [rng.randrange(-HOUR, HOUR) for _ in range(3)]
        events: list[list[dict]] = [[] for _ in range(4)]
        now, correlation = 1_000_000_000, 0
        for _ in range(20):
            for way in ((0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)):
                now += rng.randrange(200_000, 300_000)
                for r, name in zip(way, ("send", "recv")):
                    correlation += 1
                    events[r] += make_ranks.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", now - 50_000 + offsets[r], now + offsets[r], 20, correlation,
                                                   **{"Collective name": name, "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 4, "dtype": "Float",
                                                      "Process Group Name": "pp", "Process Group Ranks": "[0, 1, 2, 3]",
                                                      "Dst Rank" if name == "send" else "Src Rank": way[0] + way[1] - r})
        return [{"distributedInfo": {"rank": r, "world_size": 4}, "deviceProperties": [{"id": 0, "name": "H100"}], "traceEvents": events[r]} for r in range(4)], offsets

    def test_stages_that_only_send_and_receive_have_clocks(self) -> None:
        traces, offsets = self.pipeline()
        ranks = self.report(traces)["ranks"]
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], offsets)
        self.assertEqual((ranks["matched_collectives"], ranks["complete_collectives"]), (120, 0))

    def test_groups_that_are_joined_by_sends_alone(self) -> None:
        """two stages of two ranks: all-reduce within a stage, sends between them"""
        traces, offsets = self.pipeline()
        for r, trace in enumerate(traces):  # only ranks 1 and 2 send to each other
            gone = {e["args"]["correlation"] for e in trace["traceEvents"] if r in (0, 3) or e["args"].get("Dst Rank", e["args"].get("Src Rank", 1)) not in (1, 2)}
            trace["traceEvents"] = [e for e in trace["traceEvents"] if e["args"]["correlation"] not in gone]
        for first in (0, 2):
            for i in range(20):
                for r in (first, first + 1):
                    at = 2_000_000_000 + 400_000 * i + 77 * i * i + offsets[r]
                    traces[r]["traceEvents"] += make_ranks.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", at - 90_000, at, 21, 10_000 + i, **{
                        "Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2, "dtype": "Float",
                        "Process Group Name": f"dp{first}", "Process Group Ranks": f"[{first}, {first + 1}]"})
        ranks = self.report(traces)["ranks"]
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], offsets)
        self.assertEqual(ranks["complete_collectives"], 40)

    def test_groups_of_two_are_joined_by_the_group_of_all(self) -> None:
        """Ranks 0 and 1, 2 and 3 meet in pairs of the same size; only the second group name tells them apart."""
        traces, truth = make_ranks.make(4, 10, late=-1, offset=HOUR)
        for r, trace in enumerate(traces):
            for e in trace["traceEvents"]:
                if e["args"].get("Collective name") == "allreduce":
                    e["args"].update({"Process Group Name": str(1 + r // 2), "Group size": 2})
        document = self.report(traces)
        for r, row in enumerate(document["ranks"]["rows"]):
            self.assertEqual(row["offset_ns"], truth["offsets"][r])
        self.assertEqual({c["kind"]: c["ranks"] for c in document["ranks"]["collectives"]}, {"all-reduce": 2, "all-gather": 4})

    def test_a_rank_without_a_counterpart_has_no_clock(self) -> None:
        traces, _ = make_ranks.make(3, 5, late=-1, offset=HOUR)
        for e in traces[2]["traceEvents"]:
            e["args"].pop("Collective name", None)
            e["name"] = e["name"].replace("ncclDevKernel_AllReduce", "ncclDevKernel_Other")
            if e["name"].startswith("nccl"):
                e["name"] = "ncclDevKernel_Strange()"
        rows = self.report(traces)["ranks"]["rows"]
        self.assertIsNone(rows[2]["offset_ns"])
        self.assertEqual(rows[2]["matched"], 0)
        self.assertEqual(rows[2]["exposed_waiting_ns"] + rows[2]["exposed_sending_ns"], 0)
        self.assertGreater(rows[2]["exposed_unknown_ns"], 0)

    def test_copies_of_a_real_rank_with_moved_clocks(self) -> None:
        first = self.real("a100_nccl_rank0_of2.json.gz")
        moved = json.loads(json.dumps(first))
        moved["distributedInfo"]["rank"] = 1
        for e in moved["traceEvents"]:
            if "ts" in e:
                e["ts"] = round(float(e["ts"]) + 1_234_567.891, 3)
        rows = self.report([first, moved])["ranks"]["rows"]
        self.assertEqual(rows[0]["collectives"], rows[0]["matched"])
        self.assertLessEqual(abs(rows[1]["offset_ns"] - 1_234_567_891), 1000)
        self.assertEqual(rows[1]["late"] + rows[0]["late"], 0)

    def test_eight_ranks_made_of_a_real_one(self) -> None:
        """arrivals and clocks are moved, ends are not; files shuffled, some compressed, one rank late in every third collective"""
        first, rng, late, count = self.real("a100_nccl_rank0_of2.json.gz"), random.Random(9), 6, 8
        offsets = [0] + [rng.randrange(-HOUR, HOUR) for _ in range(count - 1)]
        kernels = [e for e in first["traceEvents"] if e.get("cat") == "kernel" and "nccl" in e["name"]]
        begun = [[round(rng.uniform(0, 0.2) * e["dur"], 3) for _ in range(count)] for e in kernels]
        for i, e in enumerate(kernels):
            if i % 3 == 0:
                begun[i][late] = round(0.7 * e["dur"], 3)
        whole = [i for i, e in enumerate(kernels) if e["args"]["Collective name"] == "allreduce"]
        traces = []
        for r in range(count):
            trace, i = json.loads(json.dumps(first)), 0
            trace["distributedInfo"].update(rank=r, world_size=count)
            for e in trace["traceEvents"]:
                if e.get("cat") == "kernel" and "nccl" in e["name"]:
                    e["ts"], e["dur"] = e["ts"] + begun[i][r], e["dur"] - begun[i][r]
                    e["args"].update({"Group size": count, "Process Group Ranks": str(list(range(count)))})
                    i += 1
                if "ts" in e:
                    e["ts"] = round(e["ts"] + offsets[r] / 1000, 3)
            traces.append(trace)
        order = rng.sample(range(count), count)
        ranks = self.write("in", [traces[r] for r in order], [f"t{i}.json" + (".gz" if i % 2 else "") for i in range(count)])["ranks"]
        self.assertEqual((ranks["matched_collectives"], ranks["complete_collectives"], ranks["latest"]["rank"]), (len(kernels), len(whole), late))
        for r, row in enumerate(ranks["rows"]):
            self.assertLessEqual(abs(row["offset_ns"] - offsets[r]), 1000)
            self.assertLessEqual(abs(row["waiting_ns"] - sum(1000 * (max(begun[i]) - begun[i][r]) for i in whole)), 1000 * len(whole))

    def apart(self, traces: list[dict], words: str) -> None:
        """It is said first, and nothing of one is compared with the other."""
        document = self.report(traces)
        first = document["cautions"][0]
        self.assertEqual(first["id"], "several-jobs")
        self.assertIn(words, first["title"])
        for name in ("ranks", "rank_steps", "rank_regions", "imbalance"):
            self.assertFalse(document.get(name), name)
        self.assertNotIn("slow-rank", [f["id"] for f in document["findings"]])

    def test_ranks_of_two_jobs(self) -> None:
        two, eight, other = (self.real(f"{n}.json.gz") for n in ("a100_nccl_rank0_of2", "a100_train_rank3_of8", "v100_ddp_rank1_of2"))
        self.apart([two, eight], "some of them say that their job has 2 ranks, others 8")
        self.apart([two, other], "days or more lie between them")
        first, second = (make_ranks.make(n, 10, late=1, offset=HOUR)[0] for n in (2, 4))
        for trace in first + second:
            del trace["distributedInfo"]["world_size"]
        self.apart([first[0], second[3]], "the group of all ranks has 2 members in some and 4 in others")
        first, _ = make_ranks.make(4, 10, late=1, offset=HOUR)
        first[1]["distributedInfo"]["rank"] = 7
        self.apart(first, "there is a rank 7, and a job of 4 ranks")

    def test_random_sets_with_known_truth(self) -> None:
        """Jobs of every kind (rank_sets.py): totals exact, clocks within 10 us, the straggler named. `make torture` tries more."""
        long = os.environ.get("LPO_TORTURE") == "long"
        for ranks, seeds in ((8, range(1, 201 if long else 13)), (64, range(1, 41 if long else 3))):
            for seed in seeds:
                with self.subTest(f"{ranks} ranks, set {seed}"):
                    out = os.path.join(self.cwd, f"set{ranks}-{seed}")
                    self.assertEqual(rank_sets.check(LPO, out, rank_sets.make(out, seed, ranks)), [])

    def test_two_sampled_ranks_of_128(self) -> None:
        """two sampled ranks of 128: clocks agree to some microseconds, and nothing is said about who waits"""
        ranks = self.report([self.real("sampled_rank0_of128.json.gz"), self.real("sampled_rank1_of128.json.gz")])["ranks"]
        rows = ranks["rows"]
        self.assertLess(abs(rows[1]["offset_ns"]), 100_000)
        self.assertGreaterEqual(rows[1]["matched"], 2)
        self.assertEqual((ranks["complete_collectives"], ranks["collectives"]), (0, []))
        self.assertNotIn("latest", ranks)
        for row in rows:
            self.assertEqual((row["late"], row["exposed_waiting_ns"], row["exposed_sending_ns"]), (0, 0, 0))

    def test_a_group_with_a_rank_that_was_not_recorded(self) -> None:
        traces, truth = make_ranks.make(4, 10, late=1, offset=HOUR)
        ranks = self.report(traces[:3])["ranks"]  # the fourth may be the one that all wait for
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], truth["offsets"][:3])
        self.assertEqual((ranks["matched_collectives"], ranks["complete_collectives"]), (20, 0))
        self.assertNotIn("latest", ranks)

    def test_a_broadcast_has_no_latecomer(self) -> None:
        traces, truth = make_ranks.make(4, 10, late=1, offset=HOUR)
        for trace in traces:
            for e in trace["traceEvents"]:
                if e["args"].get("Collective name") == "allreduce":
                    e["args"]["Collective name"] = "broadcast"
        ranks = self.report(traces)["ranks"]
        self.assertEqual((ranks["matched_collectives"], ranks["complete_collectives"]), (20, 10))
        self.assertEqual([c["kind"] for c in ranks["collectives"]], ["all-gather"])
        self.assertEqual([r["offset_ns"] for r in ranks["rows"]], truth["offsets"])


if __name__ == "__main__":
    tap.main()
