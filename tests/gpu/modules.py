# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/modules.sh.

    modules.py run eager|compile|parallel|nvtx|emit       a small Llama; prints a sum of its output
    modules.py check KIND LPO WORK                        WORK/KIND is a run folder, WORK/KIND.plain the output without lpo
    modules.py cost LPO WORK                              a forward pass with and without ranges of modules, in turns
"""
import json
import os
import subprocess
import sys
from pathlib import Path

LAYERS = 4


def make():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=LAYERS, num_attention_heads=4,
                         num_key_value_heads=2)
    return LlamaForCausalLM(config).eval().to(device), torch.arange(32, device=device).reshape(2, 16)


def run(kind):
    import torch

    model, ids = make()
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.inference_mode():
        if kind == "compile":
            from torch._dynamo.utils import counters

            model = torch.compile(model, backend="aot_eager")
            out = [model(ids, use_cache=False).logits for _ in range(3)][-1]
            print("graphs", counters["stats"]["unique_graphs"], "breaks", sum(counters["graph_break"].values()))
        elif kind == "parallel":
            from torch.nn.parallel import parallel_apply  # what DataParallel calls: a thread for each copy

            both = [model, model], [(ids,), (ids,)], [{"use_cache": False}] * 2, [ids.device] * 2
            out = [parallel_apply(*both)[0].logits for _ in range(3)][-1]
        elif kind == "nvtx":
            nvtx = torch.cuda.nvtx
            nvtx.range_push("warmup")
            model(ids, use_cache=False)
            nvtx.range_pop()
            for i in range(3):
                with nvtx.range("step"):
                    nvtx.mark(f"step {i}")
                    out = model(ids, use_cache=False).logits
        elif kind == "emit":
            with torch.autograd.profiler.emit_nvtx():
                out = model(ids, use_cache=False).logits
        else:
            out = [model(ids, use_cache=False).logits for _ in range(3)][-1]
        print("sum", out.double().sum().item())


def regions(lpo, files):
    """Kernel launches by the path of their region."""
    done = subprocess.run([lpo, "regions", "--json", *map(str, files)], stdout=subprocess.PIPE, text=True, check=True)
    scope = next(s for s in json.loads(done.stdout)["scopes"] if s["scope"] == "aggregate")
    return {r["path"]: (r["visits"], sum(k["launches"] for k in r.get("kernels", []) if not k["name"].startswith("Mem")))
            for r in scope["regions"]}


def check(kind, lpo, work):
    folder, wrong = Path(work) / kind, []
    plain = (Path(work) / f"{kind}.plain").read_text()
    for stage in ("native", "torch_profiler"):
        log = folder / "workload" / stage / "stdout.log"
        if log.exists() and log.read_text() != plain:
            wrong.append(f"{stage}: the program printed {log.read_text()!r}, without lpo {plain!r}")
    torch_seen = regions(lpo, (folder / "torch_profiler").glob("*.json.gz"))
    if kind == "emit":
        notes = json.dumps(json.loads((folder / "run.json").read_text())["stages"])
        if "emit_nvtx was left out" not in notes:
            wrong.append("no note about emit_nvtx")
        print(plain.strip(), "; emit_nvtx was left out")
    else:
        native = regions(lpo, (folder / "native").glob("*.lpot"))
        names = {"eager": ["LlamaForCausalLM/model/layers.3/self_attn", "LlamaForCausalLM/lm_head"], "compile": ["OptimizedModule"],
                 "parallel": ["LlamaForCausalLM/model"], "nvtx": ["step", "warmup"]}[kind]
        wrong += [f"no region {n} in {s}" for n in names for s, seen in (("native", native), ("torch_profiler", torch_seen)) if n not in seen]
        both = set(native) & set(torch_seen) - {"(outside)"}
        # the profiler of PyTorch begins with CUDA, ours with the program: what ran outside may differ
        # parallel: each call has new threads. PyTorch's trace has all of their ranges, but only a third of the kernels in them (seen
        # with 2.11: those of the first call's threads). Counts of calls are compared there, kernels printed, the trace kept
        most = 1 if kind == "parallel" else 2
        wrong += [f"{p}: native {native[p]}, torch {torch_seen[p]}" for p in sorted(both) if native[p][:most] != torch_seen[p][:most]]
        if kind == "parallel":
            print({n: {"native": native.get(n), "torch": torch_seen.get(n)} for n in (*names, "(outside)")})
        print(plain.strip().replace("\n", "; "), f"; {len(both)} regions in both, {sum(v or 0 for v, _ in native.values())} calls; ",
              {n: native.get(n) for n in names})
    print("FAILED: " + "; ".join(wrong[:6]) if wrong else "passed")
    return 1 if wrong else 0


COST = """
import statistics, sys, time
sys.path[:0] = ["tests/gpu", "workloads/lpo_sitecustomize"]
import torch, lpo_annotate, lpo_modules, modules
calls = {"without": torch.nn.Module.__call__}
for name, depth in (("depth 4", 4), ("every module", 0)):
    torch.nn.Module.__call__ = calls["without"]
    lpo_modules.install(lpo_annotate.load(), depth)
    calls[name] = torch.nn.Module.__call__
model, ids = modules.make()
wait = torch.cuda.synchronize if torch.cuda.is_available() else (lambda: None)
times = {name: [] for name in calls}
with torch.inference_mode():
    for _ in range(20): model(ids, use_cache=False)
    for _ in range(12):
        for name, call in calls.items():
            torch.nn.Module.__call__ = call
            wait()
            start = time.perf_counter()
            for _ in range(10): model(ids, use_cache=False)
            wait()
            times[name].append((time.perf_counter() - start) / 10)
for name, row in times.items():
    over = statistics.median(a / b for a, b in zip(row, times["without"]))
    print(f"{name:12} {statistics.median(row) * 1e6:8.1f} us  {100 * over - 100:+.1f} %")
"""


def cost(lpo, work):
    """A forward pass under the collector with and without ranges of modules, in turns, in one process."""
    library = Path(lpo).resolve().parent / "src/collect/liblpo-collect.so"
    env = dict(os.environ, NVTX_INJECTION64_PATH=str(library), CUDA_INJECTION64_PATH=str(library), LPO_COLLECT_DIR=f"{work}/cost")
    return subprocess.run([sys.executable, "-c", COST], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit({"run": run, "check": check, "cost": cost}[sys.argv[1]](*sys.argv[2:]))
