#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Capture and replay of a CUDA graph as torch.profiler records them, for `lpo operators CAPTURE REPLAY`. Needs PyTorch and a GPU.

    capture_replay.py record OUT      OUT/warm.json.gz: two eager runs; OUT/capture.json.gz: the capture alone;
                                      OUT/replay.json.gz: five replays; OUT/calls.json: what the capture called
    capture_replay.py check OUT LPO   operators found by the warm-up and by the capture alone must have the same replays
"""
import json
import pathlib
import subprocess
import sys

WIDTH, LAYERS, HEADS, TOKENS, REPLAYS = 1024, 4, 16, 256, 5


def model():
    import torch

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.qkv, self.o = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
            self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(a.transpose(1, 2).reshape(b, t, WIDTH))
            return x + self.down(torch.nn.functional.gelu(self.up(self.n2(x))))

    return torch.nn.Sequential(*[Layer() for _ in range(LAYERS)]).cuda().half().eval()


def record(out):
    import torch
    from torch.profiler import ProfilerActivity, profile

    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    net, x = model(), torch.randn(2, TOKENS, WIDTH, device="cuda", dtype=torch.half)
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def traced(name, run):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as p:
            run()
            torch.cuda.synchronize()
        p.export_chrome_trace(str(out / f"{name}.json.gz"))
        return p

    def eager():
        with torch.cuda.stream(side):
            net(x)
            net(x)

    def capture():
        with torch.cuda.graph(graph):
            net(x)

    with torch.no_grad():
        eager()
        torch.cuda.synchronize()
        traced("warm", eager)
        p = traced("capture", capture)
        traced("replay", lambda: [graph.replay() for _ in range(REPLAYS)])
    rows = [{"name": r.key, "shapes": str(r.input_shapes), "calls": r.count} for r in p.key_averages(group_by_input_shape=True)]
    (out / "calls.json").write_text(json.dumps(rows, indent=1))


def replayed(lpo, *files):
    done = subprocess.run([lpo, "operators", *map(str, files), "--json"], capture_output=True, text=True, check=True)
    doc = json.loads(done.stdout)
    rows = {(o["name"], json.dumps(o["shapes"])): (o["replayed"]["calls"], o["replayed"]["gpu_ns_self"], o["replayed"]["gpu_ns_total"])
            for o in doc["operators"] if "replayed" in o}
    return rows, doc["replays"]


def check(out, lpo):
    warm, by_warm_up = replayed(lpo, out / "warm.json.gz", out / "replay.json.gz")
    captured, by_capture = replayed(lpo, out / "capture.json.gz", out / "replay.json.gz")
    print("by the warm-up:", json.dumps(by_warm_up))
    print("by the capture:", json.dumps(by_capture))
    wrong = sorted(k for k in warm.keys() | captured.keys() if warm.get(k) != captured.get(k))
    for key in wrong:
        print("FAILED:", key, "warm-up", warm.get(key), "capture", captured.get(key))
    if not warm or by_capture["captured_launches"] != REPLAYS:
        print("FAILED: not every replay is joined")
    return bool(wrong) or not warm or by_capture["captured_launches"] != REPLAYS


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    sys.exit(record(folder) if sys.argv[1] == "record" else check(folder, sys.argv[3]))
