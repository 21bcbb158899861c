#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large bf16 products in NVTX ranges: a program without a model whose MFU is easy to work out by hand.

    gemm.py run [--size 8192] [--products 100] [--visits 5]      the workload; prints its own seconds as JSON
    gemm.py needs [--size 8192] [--products 100]                 what one visit of range `gemm` needs, for report.needs
    gemm.py compare RUN [--peak-tflops 989]                      lpo's MFU of a run beside the one by hand

A visit of `gemm` is `products` products and the wait for the last of them, so that the GPU is busy from its first
kernel to its end. Seconds are those between two CUDA events around the products of each visit."""
import argparse
import json
import os
import sys

MOST_OFF = 0.02


def flops_of(size: int) -> int:
    return 2 * size**3


def bytes_of(size: int) -> int:
    return 3 * size * size * 2  # two read, one written, two bytes each


def run(args: argparse.Namespace) -> int:
    import torch

    a, b = (torch.randn(args.size, args.size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(args.visits)]
    nvtx = torch.cuda.nvtx
    nvtx.range_push("warmup")
    for _ in range(args.products):
        torch.mm(a, b, out=out)
    torch.cuda.synchronize()
    nvtx.range_pop()
    for start, end in events:
        nvtx.range_push("gemm")
        start.record()
        for _ in range(args.products):
            torch.mm(a, b, out=out)
        end.record()
        torch.cuda.synchronize()
        nvtx.range_pop()
    seconds = [start.elapsed_time(end) / 1e3 for start, end in events]
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "size": args.size, "products": args.products,
                      "visits": args.visits, "visit_seconds": seconds,
                      "seconds_per_product": sum(seconds) / (args.visits * args.products)}))
    return 0


def needs(args: argparse.Namespace) -> int:
    flops, moved = flops_of(args.size) * args.products, bytes_of(args.size) * args.products
    print(f"report.needs={{gemm: {{flops: {flops}, bytes: {moved}, dtype: bfloat16}}}}")
    return 0


def own_seconds(folder: str, stage: str) -> dict:
    """The last line of JSON that the program printed under a stage."""
    with open(os.path.join(folder, "workload", stage, "stdout.log"), encoding="utf-8") as f:
        return json.loads([line for line in f if line.startswith("{")][-1])


def compare(args: argparse.Namespace) -> int:
    with open(os.path.join(args.run, "report.json"), encoding="utf-8") as f:
        limits = json.load(f).get("limits", {"regions": []})
    row = next((r for r in limits["regions"] if r["path"] == "gemm"), None)
    if not row or row["mfu"] is None:
        print(f"{args.run}/report.json has no MFU of region 'gemm': see its report.md and workload/native/stderr.log")
        return 1
    own = own_seconds(args.run, "native")
    by_hand = flops_of(own["size"]) / own["seconds_per_product"] / (args.peak_tflops * 1e12)
    off = row["mfu"] / by_hand - 1
    per_product = row["measured_ns"] / row["runs"] / own["products"]
    print(f"lpo:     {limits['hardware']} ({limits['source']}), {row['dtype']} sheet {row['sheet_peak_flops'] / 1e12:g} "
          f"TFLOP/s; {row['runs']:.0f} visits, {per_product / 1e6:.4f} ms a product, {row['flop_rate'] / 1e12:.1f} TFLOP/s; "
          f"limited by {row['held_by']}: {row['evidence']}")
    print(f"by hand: {own['gpu']}, {args.peak_tflops:g} TFLOP/s; {own['seconds_per_product'] * 1e3:.4f} ms a product, "
          f"{flops_of(own['size']) / own['seconds_per_product'] / 1e12:.1f} TFLOP/s")
    try:
        bare = own_seconds(args.run, "direct_inference")["seconds_per_product"]
        print(f"without any profiler: {bare * 1e3:.4f} ms a product")
    except (OSError, IndexError):
        pass
    print(f"gemm: MFU {row['mfu']:.4f} by lpo, {by_hand:.4f} by hand: {off:+.3%}"
          f"{'  MORE THAN 2 %' if abs(off) > MOST_OFF else ''}")
    return int(abs(off) > MOST_OFF)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, does in (("run", run), ("needs", needs)):
        sub = commands.add_parser(name)
        sub.set_defaults(does=does)
        sub.add_argument("--size", type=int, default=8192)
        sub.add_argument("--products", type=int, default=100)
        sub.add_argument("--visits", type=int, default=5)
    sub = commands.add_parser("compare")
    sub.set_defaults(does=compare)
    sub.add_argument("run")
    sub.add_argument("--peak-tflops", type=float, default=989, help="dense bf16 peak of the GPU's sheet")
    args = parser.parse_args()
    return args.does(args)


if __name__ == "__main__":
    sys.exit(main())
