#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the collector costs a launch-bound decode, against nothing and against torch.profiler.

    collect_bench.py --library liblpo-collect.so --out DIR [--rounds 12] [--seconds 200] [--only NAME,NAME]
    collect_bench.py --list         one short prefill and decode, for comparing kernel lists

An 8-layer random-weight Llama (hidden 1024, 16 heads, 8 KV heads, bf16): prefill of 512 tokens, 64 tokens of greedy
decode, eager; then the decode step as a CUDA graph, 256 replays. Two runs of one program may differ by a third, and one
process by a tenth from the next, so every variant lives in processes of its own, all forked from one parent that has
imported torch, warmed up and waiting; a round lets each of them do one repeat in turn, all on the same core. A
variant's cost is the median over rounds of its time against the mean of the processes without a collector in that round.
"""
import argparse
import contextlib
import gc
import json
import os
import random
import statistics
import sys
import time
import traceback

# torch.cuda.is_available() would start CUDA in the parent of the forks; asked through NVML it does not.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

PROMPT, TOKENS, REPLAYS, WARMUP = 512, 64, 256, 2

# name, settings of the collector (None: not loaded), torch.profiler?
VARIANTS = [
    ("none", None, False),
    ("ours", {}, False),
    ("torch.profiler", None, True),
    ("nvtx only", {"GPU": 0}, False),
    ("subscriber only", {"KERNELS": 0, "COPIES": 0, "LAUNCHES": 0}, False),
    ("callbacks only", {"KERNELS": 0, "COPIES": 0}, False),
    ("no callbacks", {"LAUNCHES": 0}, False),
    ("no copies", {"COPIES": 0}, False),
    ("per thread 0", {"CUPTI_PER_THREAD": 0}, False),
    ("per thread 1", {"CUPTI_PER_THREAD": 1}, False),
    ("not zeroed", {"CUPTI_ZEROED": 0}, False),
    ("no flush period", {"CUPTI_FLUSH_MS": 0}, False),
    ("buffers 512 KiB", {"CUPTI_BUFFER_KB": 512, "CUPTI_BUFFERS": 8}, False),
    ("buffers 16 MiB", {"CUPTI_BUFFER_KB": 16384}, False),
    ("device buffers", {"DEVICE_BUFFER_KB": 16384, "DEVICE_BUFFERS": 8}, False),
    ("CUPTI's own buffers", {"DEVICE_BUFFER_KB": 0, "DEVICE_BUFFERS": 0, "CUPTI_BUFFER_KB": 4096}, False),
    ("device buffer 64 MiB", {"DEVICE_BUFFER_KB": 65536, "DEVICE_BUFFERS": 2}, False),
    ("host pinned", {"HOST_PINNED": 1}, False),
    ("graphs by node", {"GRAPH_NODES": 1}, False),
    ("no calls", {"CALLS": 0}, False),
    ("calls of the driver", {"CALLS": 1}, False),
    ("outside a window", {"CAPTURE_WAIT": 1}, False),
    ("every step a window", {"CAPTURE_RANGE": "*step"}, False),
    ("every 8th step", {"CAPTURE_RANGE": "*step", "CAPTURE_EVERY": 8}, False),
    ("every 8th counted", {"CAPTURE_RANGE": "*step", "CAPTURE_EVERY": 8, "CAPTURE_COUNT": 1}, False),
]
# Without --only: what the docs show. The first two decide, so they have two processes each.
MAIN = ("none", "ours", "torch.profiler", "nvtx only", "subscriber only", "callbacks only", "no callbacks",
        "graphs by node")
TWICE = ("none", "ours")


MODELS = {}


def make_model(layers, seed=0, stay=False):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    if layers in MODELS:
        return MODELS[layers][0].to("cuda"), MODELS[layers][1]
    torch.manual_seed(seed)
    config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=layers,
                         num_attention_heads=16, num_key_value_heads=8, max_position_embeddings=2048)
    # On the CPU first: then the GPU sees copies only, and no kernels that fill weights. Forks share it.
    MODELS[layers] = LlamaForCausalLM(config).to(torch.bfloat16).eval(), config
    return MODELS[layers] if stay else make_model(layers)


def range_hooks(model):
    from torch.cuda import nvtx

    for i, layer in enumerate(model.model.layers):
        layer.register_forward_pre_hook(lambda *_, name=f"layer{i}": (nvtx.range_push(name), None)[1])
        layer.register_forward_hook(lambda *_: (nvtx.range_pop(), None)[1])


def generate(model, ids, tokens):
    """Prefill and decode; seconds of each."""
    import torch
    from torch.cuda import nvtx

    torch.cuda.synchronize()
    start = time.perf_counter()
    nvtx.range_push("prefill")
    out = model(input_ids=ids, use_cache=True)
    token = out.logits[:, -1:].argmax(-1)
    nvtx.range_pop()
    torch.cuda.synchronize()
    middle = time.perf_counter()
    nvtx.range_push("decode")
    for _ in range(tokens):
        nvtx.range_push("step")
        out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
        token = out.logits[:, -1:].argmax(-1)
        nvtx.range_pop()
    nvtx.range_pop()
    torch.cuda.synchronize()
    return middle - start, time.perf_counter() - middle


def capture_with(model, token, kwargs):
    import torch
    from torch.cuda import nvtx

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            model(input_ids=token, **kwargs)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    nvtx.range_push("capture")
    try:
        with torch.cuda.graph(graph):
            model(input_ids=token, **kwargs)
    finally:
        nvtx.range_pop()
    torch.cuda.synchronize()
    return graph


def capture_step(model, ids):
    """A decode step as a CUDA graph, and the token it reads, which must live as long. Without a cache: transformers'
    static cache counts its own length on the GPU, so that replaying one step again and again runs off its end."""
    token = ids[:, :1].clone()
    return capture_with(model, token, {"use_cache": False}), token


def replay(graph):
    import torch
    from torch.cuda import nvtx

    torch.cuda.synchronize()
    start = time.perf_counter()
    nvtx.range_push("graph_decode")
    for _ in range(REPLAYS):
        nvtx.range_push("graph_step")
        graph.replay()
        nvtx.range_pop()
    nvtx.range_pop()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def settle():
    """Keeps the launching thread on one core from here on; the helpers of CUDA and CUPTI, already started, stay free.
    Without it the same program varied by a third from process to process."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[len(cores) // 2]})


def profiled(wanted):
    from torch.profiler import ProfilerActivity, profile

    return profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) if wanted else contextlib.nullcontext()


def eager(state):
    with profiled(state["profile"]):
        return generate(state["model"], state["ids"], TOKENS)[1] * 1e3


def graphed(state):
    with profiled(state["profile"]):
        return replay(state["graph"]) * 1e3


KINDS = {"eager": eager, "graph": graphed}


def prepare(profile):
    import torch

    model, _ = make_model(8)
    range_hooks(model)
    state = {"model": model, "profile": profile, "ids": torch.randint(0, 32000, (1, PROMPT), device="cuda")}
    for _ in range(WARMUP):
        eager(state)
    state["graph"], state["token"] = capture_step(model, state["ids"])
    graphed(state)
    gc.collect()
    gc.disable()
    settle()
    return state


def serve(profile, commands, answers):
    """A process of one variant: one repeat for every line it gets."""
    import torch

    try:
        with torch.inference_mode():
            state = prepare(profile)
            print("ready", file=answers, flush=True)
            while (kind := commands.readline().strip()) in KINDS:
                print(KINDS[kind](state), file=answers, flush=True)
    except BaseException:
        print(traceback.format_exc().replace("\n", " | ")[-1500:], file=answers, flush=True)


class Child:
    """A fork that has started CUDA under its own environment, so that CUDA and NVTX load the collector there."""

    def __init__(self, name, settings, profile, library, folder):
        self.name, self.times = name, {kind: [] for kind in KINDS}
        command_read, command_write = os.pipe()
        answer_read, answer_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(command_write)
            os.close(answer_read)
            os.environ.update(environment(settings, library, folder))
            with os.fdopen(command_read) as commands, os.fdopen(answer_write, "w") as answers:
                serve(profile, commands, answers)
            sys.exit(0)  # the ordinary way out: the collector writes its last blocks there
        os.close(command_read)
        os.close(answer_write)
        self.commands, self.answers = os.fdopen(command_write, "w"), os.fdopen(answer_read)
        self.error = None

    def ready(self):
        line = self.answers.readline().strip()
        self.error = None if line == "ready" else line or "died"
        return self.error is None

    def repeat(self, kind):
        print(kind, file=self.commands, flush=True)
        line = self.answers.readline().strip()
        try:
            self.times[kind].append(float(line))
        except ValueError:
            self.error = line or "died"

    def end(self):
        """By a line, not by closing the pipe: the later children hold its other end as well."""
        if not self.error:
            print("end", file=self.commands, flush=True)
        os.waitpid(self.pid, 0)


def environment(settings, library, folder):
    if settings is None:
        return {}
    os.makedirs(folder, exist_ok=True)
    return {"NVTX_INJECTION64_PATH": library, "CUDA_INJECTION64_PATH": library, "LPO_COLLECT_DIR": folder,
            **{f"LPO_COLLECT_{key}": str(value) for key, value in settings.items()}}


def ratios(children, name, kind):
    """Per round, the variant's time over the mean of the processes without a collector."""
    def rounds(wanted):
        rows = [c.times[kind] for c in children if c.name == wanted]
        return [statistics.mean(row) for row in zip(*rows)]

    return [a / b for a, b in zip(rounds(name), rounds("none"))]


def table(children, kind, what):
    print(f"\n{what}\n{'variant':22} {'median ms':>10} {'best':>8}  {'over none':>9}  {'middle half of rounds':>22}")
    for name in dict.fromkeys(c.name for c in children):
        values = [v for c in children if c.name == name for v in c.times[kind]]
        over = sorted(ratios(children, name, kind))
        if not over:
            continue
        quarter = len(over) // 4
        print(f"{name:22} {statistics.median(values):10.1f} {min(values):8.1f}  {100 * statistics.median(over) - 100:+8.1f}%"
              f"  {100 * over[quarter] - 100:+10.1f}% … {100 * over[-1 - quarter] - 100:+.1f}%")


def run_rounds(children, rounds, until, kinds):
    order = random.Random(0)
    for round_ in range(rounds):
        if time.time() > until:
            return round_
        for kind in kinds:
            for child in order.sample(children, len(children)):
                if not child.error:
                    child.repeat(kind)
    return rounds


def list_run():
    import torch

    with torch.inference_mode():
        model, _ = make_model(2)
        range_hooks(model)
        ids = torch.arange(64, device="cpu").reshape(1, 64).to("cuda")
        generate(model, ids, 2)


def imports():
    """Before the forks, so that they share it all; CUDA is not started here."""
    started = time.time()
    import torch  # noqa: F401
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: F401
    make_model(8, stay=True)
    print(f"imports {time.time() - started:.1f} s", flush=True)


def start_children(args):
    """A warmed-up process, or two, for each variant of --only."""
    started, children = time.time(), []
    for name, settings, profile in [v for v in VARIANTS if v[0] in args.only.split(",")]:
        for copy in range(args.copies or (2 if name in TWICE else 1)):
            folder = os.path.join(args.out, "traces", f"{name.replace(' ', '_')}-{copy}")
            children.append(Child(name, settings, profile, os.path.abspath(args.library), folder))
    for child in children:
        if not child.ready():
            print(f"{child.name}: {child.error}", flush=True)
    print(f"{len(children)} processes ready after {time.time() - started:.1f} s", flush=True)
    return children


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--library")
    parser.add_argument("--out", default=".")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=200, help="no new round after so many")
    parser.add_argument("--only", default=",".join(MAIN), help="comma-separated variants")
    parser.add_argument("--copies", type=int, default=0, help="processes of each variant (0: two of the first two, else one)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="what a round repeats: eager, graph or both")
    args = parser.parse_args()
    if args.list:
        list_run()
        return 0
    started = time.time()
    imports()
    children = start_children(args)
    kinds = args.kinds.split(",")
    done = run_rounds(children, args.rounds, started + args.seconds, kinds)
    for child in children:
        child.end()
    print(f"{done} rounds, {time.time() - started:.0f} s")
    with open(os.path.join(args.out, "overhead.json"), "w") as f:
        json.dump([{"variant": c.name, "error": c.error, **c.times} for c in children], f, indent=1)
    titles = {"eager": f"eager decode, {TOKENS} tokens",
              "graph": f"a decode step without a cache as a CUDA graph, {REPLAYS} replays"}
    for kind in kinds:
        table(children, kind, titles[kind])
    return 1 if any(child.error for child in children) else 0


if __name__ == "__main__":
    sys.exit(main())
