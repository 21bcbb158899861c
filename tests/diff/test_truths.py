#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo diff on traces whose difference is known to the nanosecond. Prints TAP."""
from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402
from traces import Kernel, Program, Region  # noqa: E402

TABLES = ("regions", "operators", "kernels")


class DiffCase(LpoCase):
    ending = ".json"  # Kineto

    def file(self, name: str, program: Program) -> str:
        return program.write(os.path.join(self.cwd, name.removesuffix(".json") + self.ending))

    def diff(self, *words: str, want: int = 0) -> dict:
        done = self.lpo("diff", "--json", *words)
        self.assertEqual(done.returncode, want, done.stderr)
        out = json.loads(done.stdout)
        wall = out["wall"]
        if wall["a_ns"] is not None:
            self.assertEqual(sum(wall["parts"].values()), wall["b_ns"] - wall["a_ns"])
        for d in out["devices"]:
            self.assertEqual(sum(d["parts"].values()), d["b_ns"] - d["a_ns"])
        for table in TABLES:
            key = "delta_step_ns" if out["length"]["unit"] else "delta_ns"
            changes = [abs(r[key]) for r in out[table]]
            self.assertEqual(changes, sorted(changes, reverse=True))
        return out

    def pair(self, a: Program, b: Program, *words: str, want: int = 0) -> dict:
        return self.diff(self.file("a.json", a), self.file("b.json", b), *words, want=want)

    def silent(self, out: dict) -> None:
        self.assertEqual(out["verdict"], "no change")
        self.assertFalse(out["wall"]["significant"])
        for table in TABLES:
            self.assertEqual([r for r in out[table] if r["significant"]], [], table)


class Truths(DiffCase):
    def test_a_trace_against_itself_is_silent(self) -> None:
        p = Program()
        out = self.pair(p, p, "--fail-over", "0%")
        self.silent(out)
        self.assertTrue(out["comparable"])
        self.assertEqual(out["reasons"], [])
        self.assertEqual(out["groups"], [])
        self.assertEqual(out["wall"]["a_ns"], out["wall"]["b_ns"])

    def test_one_percent_of_jitter_is_silent(self) -> None:
        for seed in range(3):
            self.silent(self.pair(Program().jittered(0.01, seed), Program().jittered(0.01, 100 + seed)))
        self.silent(self.pair(Program(), Program().jittered(0.01, 7)))

    def test_one_slower_kernel_is_the_first_row(self) -> None:
        for a, b in ((Program(), Program()), (Program().jittered(0.01, 1), Program().jittered(0.01, 2))):
            b = b.scaled("ampere_bf16_gemm_up", 1.3)
            out = self.pair(a, b, "--fail-over", "3%", want=4)
            first = out["kernels"][0]
            self.assertEqual(first["name"], "ampere_bf16_gemm_up")
            self.assertEqual(first["class"], "GEMM")
            self.assertEqual(first["a"], first["a"] | {"launches": 40, "gpu_ns": a.gpu_ns("ampere_bf16_gemm_up")})
            self.assertEqual(first["b"], first["b"] | {"launches": 40, "gpu_ns": b.gpu_ns("ampere_bf16_gemm_up")})
            self.assertEqual(first["delta_ns"], first["b"]["gpu_ns"] - first["a"]["gpu_ns"])
            self.assertEqual([k["name"] for k in out["kernels"] if k["significant"]], ["ampere_bf16_gemm_up"])
            self.assertAlmostEqual(first["change"], 0.3, delta=0.01)
            self.assertEqual(out["verdict"], "slower")
            self.assertEqual([r["path"] for r in out["regions"] if r["significant"]][-1],
                             "ProfilerStep#*/forward/layer*/mlp")
            self.assertEqual(out["wall"]["parts"]["compute.gemm"],
                             b.gpu_ns() - a.gpu_ns() - sum(b.gpu_ns(n) - a.gpu_ns(n) for n in others(a)))

    def test_the_limit_is_beyond_chance_and_beyond_p(self) -> None:
        slower = Program().scaled("ampere_bf16_gemm_up", 1.3)  # 8 % of the wall time
        self.pair(Program(), slower, "--fail-over", "20%")
        self.pair(slower, Program(), "--fail-over", "3%")  # faster is no regression
        self.pair(Program(), slower)  # no limit was given

    def test_everything_slower(self) -> None:
        out = self.pair(Program(), Program().scaled(None, 1.1), "--fail-over", "5%", want=4)
        self.assertAlmostEqual(out["wall"]["change"], 0.1, delta=0.01)
        self.assertTrue(all(k["significant"] for k in out["kernels"]))

    def test_a_slower_kernel_with_one_call(self) -> None:
        a = Program(steps=1).jittered(0.01, 1)
        out = self.pair(a, Program(steps=1).jittered(0.01, 2).scaled("ampere_bf16_gemm_head", 1.3))
        self.assertEqual(out["kernels"][0]["name"], "ampere_bf16_gemm_head")
        self.assertEqual(out["kernels"][0]["n"], {"a": 1, "b": 1})
        self.assertEqual([k["name"] for k in out["kernels"] if k["significant"]], ["ampere_bf16_gemm_head"])

    def test_fused_kernels_are_one_group_in_their_region(self) -> None:
        a, b = Program(), Program().fused("norm", "triton_fused_norm", 5021)
        out = self.pair(a, b)
        self.assertEqual(len(out["groups"]), 1)
        group = out["groups"][0]
        self.assertEqual(group["region"], "ProfilerStep#*/forward/layer*/norm")
        self.assertEqual(group["kind"], "fused")
        self.assertEqual(sorted(group["a"]["kernels"]), ["mean_kernel", "mul_kernel", "pow_kernel", "rsqrt_kernel"])
        self.assertEqual(group["b"]["kernels"], ["triton_fused_norm"])
        self.assertEqual((group["a"]["launches"], group["b"]["launches"]), (160, 40))
        self.assertEqual(group["delta_ns"], b.gpu_ns() - a.gpu_ns())
        kinds = {k["name"]: (k["kind"], k["significant"]) for k in out["kernels"]}
        self.assertEqual(kinds["triton_fused_norm"], ("added", True))
        self.assertEqual(kinds["pow_kernel"], ("removed", True))

    def test_a_fusion_over_two_regions_is_in_the_one_around_both(self) -> None:
        b = Program()
        for region in b.regions("norm"):
            region.kernels = []
        for region in b.regions("attn"):
            region.kernels.insert(0, Kernel("norm_and_qkv_kernel", 44003))
            region.kernels = [k for k in region.kernels if k.name != "ampere_bf16_gemm_qkv"]
        out = self.pair(Program(), b)
        sizes = [abs(g["delta_ns"]) for g in out["groups"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        for kernel in (k for k in out["kernels"] if "group" in k):
            group = out["groups"][kernel["group"]]
            self.assertIn(kernel["name"], group["a"]["kernels"] + group["b"]["kernels"])
        regions = {g["region"]: g for g in out["groups"]}
        inner = regions["ProfilerStep#*/forward/layer*/attn"]
        self.assertEqual((inner["a"]["kernels"], inner["b"]["kernels"]),
                         (["ampere_bf16_gemm_qkv"], ["norm_and_qkv_kernel"]))

    def test_a_kernel_that_moved_to_another_region_gave_way_to_nothing(self) -> None:
        """As torch.compile does: the layers are gone, one region launches the same products and a fused kernel."""
        a = Program()
        b = a.fused("norm", "triton_fused_norm", 5000)
        for s in b.steps:
            kernels = [k for inner in s.inside for k in b.kernels(inner)]
            s.inside = [Region("compiled", kernels)]
        out = self.pair(a, b)
        self.assertEqual([(g["region"], g["kind"]) for g in out["groups"]], [("ProfilerStep#*/forward", "fused")])
        group = out["groups"][0]
        self.assertEqual(group["a"]["kernels"], ["mean_kernel", "mul_kernel", "pow_kernel", "rsqrt_kernel"])  # largest first
        self.assertEqual(group["b"]["kernels"], ["triton_fused_norm"])
        self.assertEqual((group["a"]["launches"], group["b"]["launches"]), (160, 40))
        self.assertEqual(group["delta_ns"], b.gpu_ns() - a.gpu_ns())

    def test_another_order_is_silent(self) -> None:
        self.silent(self.pair(Program().jittered(0.01, 1), Program().jittered(0.01, 1).reordered(3)))

    def test_a_dropped_kernel(self) -> None:
        a, b = Program(), Program().dropped("silu_mul_kernel")
        out = self.pair(a, b)
        first = out["kernels"][0]
        self.assertEqual((first["name"], first["kind"]), ("silu_mul_kernel", "removed"))
        self.assertEqual(first["delta_ns"], -a.gpu_ns("silu_mul_kernel"))
        self.assertEqual([k["name"] for k in out["kernels"] if k["significant"]], ["silu_mul_kernel"])

    def job(self, name: str, ranks: tuple, *slower: tuple) -> str:
        """A folder with two ranks; the first of them has slow attention."""
        folder = os.path.join(self.cwd, name)
        os.mkdir(folder)
        for seed, rank in enumerate(ranks):
            p = Program(rank=rank).jittered(0.01, seed)
            if seed == 0:
                p = p.scaled("flash_fwd_kernel", 1.5)
            for kernel, factor in slower:
                p = p.scaled(kernel, factor)
            self.file(f"{name}/rank{rank}.json", p)
        return folder

    def test_swapped_ranks_are_silent(self) -> None:
        out = self.diff(self.job("a", (0, 1)), self.job("b", (1, 0)))
        self.silent(out)
        self.assertEqual(out["wall"]["a_ns"], out["wall"]["b_ns"])
        self.assertEqual((out["wall"]["scope_a"], out["wall"]["scope_b"]), ("rank:0/device:0", "rank:1/device:0"))

    def test_a_slower_kernel_of_swapped_ranks(self) -> None:
        out = self.diff(self.job("a", (0, 1)), self.job("b", (1, 0), ("ampere_bf16_gemm_up", 1.3)), "--fail-over", "3%", want=4)
        first = out["kernels"][0]
        self.assertEqual((first["name"], first["a"]["launches"], first["b"]["launches"]), ("ampere_bf16_gemm_up", 80, 80))
        self.assertAlmostEqual(first["delta_ns"] / first["a"]["gpu_ns"], 0.3, delta=0.001)
        self.assertEqual([k["name"] for k in out["kernels"] if k["significant"]], ["ampere_bf16_gemm_up"])

    def test_runs_of_different_length_are_compared_per_step(self) -> None:
        a, b = Program(steps=10), Program(steps=25)
        out = self.pair(a, b, "--fail-over", "1%")
        self.silent(out)
        self.assertEqual((out["length"]["a"], out["length"]["b"]), (10, 25))
        self.assertEqual(out["kernels"][0]["delta_ns"], 1.5 * out["kernels"][0]["a"]["gpu_ns"])
        slower = self.pair(a, b.scaled("flash_fwd_kernel", 1.3), "--fail-over", "1%", want=4)
        self.assertEqual(slower["kernels"][0]["name"], "flash_fwd_kernel")
        self.assertAlmostEqual(slower["kernels"][0]["delta_step_ns"],
                               (b.scaled("flash_fwd_kernel", 1.3).gpu_ns("flash_fwd_kernel") / 25
                                - a.gpu_ns("flash_fwd_kernel") / 10))

    def test_lengths_are_inferred_without_ranges(self) -> None:
        a, b = Program(steps=10), Program(steps=20)
        a.ranges = b.ranges = False
        out = self.pair(a, b, "--fail-over", "1%")
        self.assertTrue(out["length"]["inferred"])
        self.assertEqual(out["unit"]["kind"], "launch")
        self.assertEqual(out["length"]["b"], 2 * out["length"]["a"])
        self.silent(out)

    def test_two_percent_of_a_region_with_a_thousand_calls(self) -> None:
        def many() -> Region:
            return Region("work", [], [Region("hot", [Kernel("hot_kernel", 20011)]) for _ in range(100)]
                          + [Region("cold", [Kernel("cold_kernel", 30011)]) for _ in range(20)])
        a = Program(make=many).jittered(0.05, 1, normal=True)
        b = Program(make=many).scaled("hot_kernel", 1.02).jittered(0.05, 2, normal=True)
        out = self.pair(a, b)
        hot = next(r for r in out["regions"] if r["path"].endswith("/hot"))
        self.assertEqual(hot["n"], {"a": 1000, "b": 1000})
        self.assertTrue(hot["significant"])
        self.assertAlmostEqual(hot["change"], 0.02, delta=0.01)
        self.assertTrue(hot["change_low"] < 0.02 < hot["change_high"])
        self.assertFalse(next(r for r in out["regions"] if r["path"].endswith("/cold"))["significant"])

    def test_five_repeats_a_side(self) -> None:
        def files(side: str, factor: float) -> list[str]:
            return [self.file(f"{side}{i}.json", Program(steps=3).scaled(None, factor)
                              .jittered(0.02, 10 * ord(side) + i, normal=True)) for i in range(5)]
        a, b, c = files("a", 1), files("b", 1.03), files("c", 1)
        out = self.diff("--fail-over", "1%", *a, "--", *b, want=4)
        self.assertEqual((out["wall"]["basis"], out["wall"]["n"]), ("runs", {"a": 5, "b": 5}))
        self.assertTrue(out["wall"]["change_low"] < 0.03 < out["wall"]["change_high"])
        self.silent(self.diff("--fail-over", "1%", *a, "--", *c))


def others(p: Program) -> set[str]:
    """Kernels that are not of class GEMM."""
    return {k.name for k in p.kernels() if "gemm" not in k.name}


class TruthsOfNative(Truths):
    ending = ".lpot"


class TruthsOfNsys(Truths):
    ending = ".sqlite"
    test_swapped_ranks_are_silent = test_a_slower_kernel_of_swapped_ranks = None  # an export does not name its rank


class Comparable(DiffCase):
    def test_one_program_under_three_profilers(self) -> None:
        """The same records in three formats: another profiler is a warning, and nothing changed."""
        files = [Program().write(os.path.join(self.cwd, "p" + ending)) for ending in (".json", ".sqlite", ".lpot")]
        for a in files:
            for b in (f for f in files if f != a):
                out = self.diff(a, b, "--fail-over", "0%")
                self.silent(out)
                self.assertTrue(out["comparable"])
                self.assertIn("source", [d["key"] for d in out["differences"]])
                self.assertEqual(out["wall"]["delta_ns"], 0)
                self.assertEqual([k["delta_ns"] for k in out["kernels"] if k["delta_ns"]], [])

    def test_another_gpu_is_said_first(self) -> None:
        out = self.pair(Program(), Program(gpu="NVIDIA A100"), "--fail-over", "3%")
        self.assertTrue(out["comparable"])
        self.assertEqual([(d["key"], d["work"], d["fatal"]) for d in out["differences"]], [("gpu", True, False)])
        self.assertEqual(out["reasons"][0], "the GPU differs: NVIDIA H200 in A, NVIDIA A100 in B")
        self.assertTrue(out["sentence"].index(out["reasons"][0]) < out["sentence"].index("all time of a step"))
        self.pair(Program(), Program(gpu="NVIDIA A100").scaled(None, 1.2), "--fail-over", "3%", want=4)

    def test_a_gpu_that_is_not_recorded_is_a_warning(self) -> None:
        out = self.pair(Program(), Program(gpu=""))
        self.assertTrue(out["comparable"])
        self.assertIn("not recorded", out["reasons"][0])

    def test_a_run_that_was_recorded_in_part(self) -> None:
        part = Program()
        part.window = True
        whole, part = (p.write(os.path.join(self.cwd, n)) for p, n in ((Program(), "whole.lpot"), (part, "part.lpot")))
        self.assertEqual(self.diff(whole, part)["reasons"],
                         ["one side was recorded in part: recorded from start to end in A, recorded in windows in B"])

    def test_nothing_in_common(self) -> None:
        other = Program(make=lambda: Region("elsewhere", [Kernel("unlike", 5000)]))
        other.ranges = False
        out = self.pair(Program(), other, "--fail-over", "3%", want=2)
        self.assertIn("no kernel, region or operator is on both sides", out["reasons"][0])

    def test_another_program_under_the_same_profiler(self) -> None:
        """A step of the profiler is no proof that two programs are one; a few kernels in common are a warning."""
        def other() -> Region:
            return Region("elsewhere", [Kernel("unlike", 500_000)])

        def near() -> Region:
            return Region("elsewhere", [Kernel("unlike", 500_000), Kernel("pow_kernel", 3011)])
        out = self.pair(Program(), Program(make=other), "--fail-over", "3%", want=2)
        self.assertEqual(out["verdict"], "not comparable")
        out = self.pair(Program(), Program(make=near))
        self.assertTrue(out["comparable"])
        self.assertEqual(out["reasons"], ["these may be different programs: kernels that both sides have take 1 % of the GPU time of A, 1 % of B"])

    def test_wrong_words(self) -> None:
        a = self.file("a.json", Program(steps=1))
        for words, said in ((["diff", a], "1 run is given, not two"), (["diff", a, a, a], "3 runs are given"),
                            (["diff", a, "--"], "no run stands after"), (["diff", "--", a], "no run stands before"),
                            (["diff", a, a, "--fail-over", "much"], "must be a percentage"),
                            (["diff", a, a, "--fail-over", "-3%"], "must be a percentage"),
                            (["diff", a, a, "--fail-over", "nan"], "must be a percentage")):
            done = self.lpo(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)
        done = self.lpo("diff", a, "nothing.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing.json", done.stderr)


if __name__ == "__main__":
    tap.main()
