#!/usr/bin/env python3
"""What the collector costs a launch-bound decode, against nothing and against torch.profiler.

    collect_bench.py --library liblpo-collect.so --out DIR [--rounds 2] [--seconds 170]
    collect_bench.py --list         one short prefill and decode, for comparing kernel lists

An 8-layer random-weight Llama (hidden 1024, 16 heads, 8 KV heads, bf16): prefill of 512 tokens, 64 tokens of greedy
decode, eager; then the decode step as a CUDA graph. Importing torch takes 20 s and CUDA cannot be started twice in a
process, so one parent imports and every measurement is a fork of it that starts CUDA under its own environment.
Rounds go through all variants in turn; a variant's figure is the median over all its repeats.
"""
import argparse
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import time
import traceback

# torch.cuda.is_available() would start CUDA in the parent of the forks; asked through NVML it does not.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

PROMPT, TOKENS, REPEATS, WARMUP = 512, 64, 5, 2
REPLAYS, GRAPH_REPEATS = 256, 7

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
    ("whole graphs", {"GRAPH_NODES": 0}, False),
]
MAIN = ("none", "ours", "torch.profiler", "nvtx only", "callbacks only", "no callbacks")
GRAPH_VARIANTS = {"none", "ours", "torch.profiler", "whole graphs"}


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


def capture_step(model, config, ids):
    """A decode step as a CUDA graph, without a cache: transformers' static cache counts its own length on the GPU, so
    that replaying one step again and again runs off its end."""
    return capture_with(model, ids[:, :1].clone(), {"use_cache": False}), "no cache"


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


def eager_times(model, ids, profile, result):
    with profiled(profile):
        for i in range(WARMUP + REPEATS):
            prefill, decode = generate(model, ids, TOKENS)
            if i == 0:
                settle()
            if i >= WARMUP:
                result["prefill_ms"].append(prefill * 1e3)
                result["decode_ms"].append(decode * 1e3)


def graph_times(model, config, ids, profile, result):
    graph, result["graph_kind"] = capture_step(model, config, ids)
    settle()
    with profiled(profile):
        for i in range(2 + GRAPH_REPEATS):
            took = replay(graph) * 1e3
            if i >= 2:
                result["graph_ms"].append(took)


def measure(name, profile, graph):
    import torch

    result = {"variant": name, "prefill_ms": [], "decode_ms": [], "graph_ms": []}
    with torch.inference_mode():
        model, config = make_model(8)
        range_hooks(model)
        ids = torch.randint(0, 32000, (1, PROMPT), device="cuda")
        gc.collect()
        gc.disable()
        if graph:
            graph_times(model, config, ids, profile, result)
        else:
            eager_times(model, ids, profile, result)
    return result


def in_fork(name, settings, profile, graph, library, folder):
    """Runs one measurement in a child; the collector is loaded there by CUDA and NVTX themselves."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.environ.update(environment(settings, library, folder))
        try:
            answer = measure(name, profile, graph)
        except BaseException:
            answer = {"variant": name, "error": traceback.format_exc()[-2000:], "decode_ms": [], "graph_ms": [], "prefill_ms": []}
        with os.fdopen(write, "w") as f:
            json.dump(answer, f)
        sys.exit(0)  # the ordinary way out: the collector writes its last blocks there
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"variant": name, "error": "died", "decode_ms": [], "graph_ms": [], "prefill_ms": []}


def environment(settings, library, folder):
    if settings is None:
        return {}
    os.makedirs(folder, exist_ok=True)
    return {"NVTX_INJECTION64_PATH": library, "CUDA_INJECTION64_PATH": library, "LPO_COLLECT_DIR": folder,
            **{f"LPO_COLLECT_{key}": str(value) for key, value in settings.items()}}


def in_new(name, settings, profile, graph, library, folder):
    """The same in a fresh process: slower, for a machine where the forks cannot start CUDA."""
    done = subprocess.run([sys.executable, __file__, "--one", name, *(["--graph"] if graph else [])], capture_output=True, text=True,
                          env={**os.environ, **environment(settings, library, folder)})
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    return {"variant": name, "error": done.stderr[-2000:], "decode_ms": [], "graph_ms": [], "prefill_ms": []}


def table(results):
    print(f"{'variant':18} {'decode ms':>10} {'min':>8} {'over none':>9}   {'prefill':>8}   {'graph ms':>9} {'over none':>9}")
    base = {}
    for name, _, _ in VARIANTS:
        cells = [name]
        for key in ("decode_ms", "graph_ms"):
            values = [v for r in results if r["variant"] == name for v in r[key]]
            if not values:
                cells += [None, None, None]
                continue
            median = statistics.median(values)
            base.setdefault(key, median if name == "none" else None)
            over = 100 * (median / base[key] - 1) if base[key] else None
            cells += [median, min(values), over]
        if cells[1] is None:
            continue
        prefill = statistics.median([v for r in results if r["variant"] == name for v in r["prefill_ms"]] or [0])
        line = f"{name:18} {cells[1]:10.1f} {cells[2]:8.1f} {cells[3]:+8.1f}%   {prefill:8.2f}"
        if cells[4] is not None:
            line += f"   {cells[4]:9.2f} {cells[6]:+8.1f}%"
        print(line)
    for r in results:
        for key in ("error", "graph_error"):
            if key in r:
                print(f"{r['variant']}: {key}: {r[key]}")
    kinds = {r["graph_kind"] for r in results if "graph_kind" in r}
    print(f"graph: {REPLAYS} replays of one decode step ({', '.join(sorted(kinds)) or 'not measured'})")


def list_run():
    import torch

    with torch.inference_mode():
        model, _ = make_model(2)
        range_hooks(model)
        ids = torch.arange(64, device="cpu").reshape(1, 64).to("cuda")
        generate(model, ids, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", help="measure one variant here and print it")
    parser.add_argument("--graph", action="store_true", help="with --one: the graph, not the eager decode")
    parser.add_argument("--library")
    parser.add_argument("--out", default=".")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=170)
    parser.add_argument("--only", default="", help="comma-separated variants")
    args = parser.parse_args()
    if args.list:
        list_run()
        return
    if args.one:
        print(json.dumps(measure(args.one, args.one == "torch.profiler", args.graph)))
        return
    started = time.time()
    import torch  # noqa: F401  before the forks; CUDA is not started here
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: F401
    make_model(8, stay=True)
    print(f"imports {time.time() - started:.1f} s", flush=True)
    run = in_fork
    library = os.path.abspath(args.library)
    os.makedirs(args.out, exist_ok=True)
    chosen = [v for v in VARIANTS if not args.only or v[0] in args.only.split(",")]
    results = []
    for round_ in range(args.rounds):
        for name, settings, profile in list(chosen):
            if (name, settings, profile) not in chosen:
                continue
            # Past the time for all of them, the later rounds repeat the three that matter.
            if time.time() - started > args.seconds and (round_ == 0 or name not in ("none", "ours", "torch.profiler")):
                continue
            if time.time() - started > 1.3 * args.seconds:
                continue
            # one round of graphs is enough: they hardly vary
            for graph in ([False, True] if name in GRAPH_VARIANTS and round_ == 0 else [False]):
                folder = os.path.join(args.out, "traces", f"{round_}-{name.replace(' ', '_')}{'-graph' if graph else ''}")
                began = time.time()
                result = run(name, settings, profile, graph, library, folder)
                if not results and "error" in result:
                    print(f"  a fork cannot start CUDA, going on with fresh processes: {result['error'][-300:]}", flush=True)
                    run, chosen = in_new, [v for v in chosen if v[0] in MAIN]
                    result = run(name, settings, profile, graph, library, folder)
                result["round"], result["wall_s"] = round_, time.time() - began
                results.append(result)
                times = [round(v, 1) for v in result["graph_ms" if graph else "decode_ms"]]
                print(f"  round {round_} {name}{' graph' if graph else ''}: {result['wall_s']:.1f} s, {times}", flush=True)
                with open(os.path.join(args.out, "overhead.json"), "w") as f:
                    json.dump(results, f, indent=1)
    table(results)


if __name__ == "__main__":
    main()
