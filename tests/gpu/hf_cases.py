#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/gpu/hf.sh: many models in one process, since starting torch costs most of the time."""
from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "workloads"), str(ROOT / "tests" / "gpu")]
from hf_models import CLIP, DEEPSEEK, LLAMA, LLAVA, QWEN3  # noqa: E402

# name, config, changes to the settings
CASES = [
    ("llama", LLAMA, {}),
    ("llama-modules", LLAMA, {"workload": {"ranges": "modules"}}),
    ("llama-none", LLAMA, {"workload": {"ranges": "none"}}),
    ("llama-graph", LLAMA, {"workload": {"cuda_graph": True}}),
    ("llama-eager-attn", LLAMA, {"workload": {"attn": "eager"}}),
    ("llama-batch", LLAMA, {"infer": {"batch_size": 4, "temperature": 0.8, "top_k": 50}}),
    ("qwen3", QWEN3, {"workload": {"ranges": "modules"}}),
    ("qwen3-graph", QWEN3, {"workload": {"cuda_graph": True}}),
    ("deepseek-v2", DEEPSEEK, {"workload": {"ranges": "modules"}}),
    ("llava", LLAVA, {"workload": {"ranges": "stages"}}),
    ("clip", CLIP, {"infer": {"batch_size": 2}}),
]
COMPILED = ("llama-compile", dict(LLAMA, num_hidden_layers=2), {"workload": {"compile": True}})  # last: it takes longest


class Report:
    """Counts, and says what failed."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, name: str, good: bool, why: object = "") -> None:
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print(f"{'ok' if good else 'FAILED'}: {name} {'' if good else why}", flush=True)


def settings_of(path: Path, changes: dict) -> dict:
    return {
        "model": {"name": path.parent.name, "path": str(path)},
        "infer": dict({"prompt_tokens": 512, "max_new_tokens": 33, "batch_size": 1, "seed": 0},
                      **changes.get("infer", {})),
        "run": {"device": "cuda:0", "repeats": 3, "warmup": 1}, "dataset": changes.get("dataset", {}),
        "workload": {"hf": dict({"dtype": "bfloat16", "ranges": "layers"}, **changes.get("workload", {}))},
    }


def prepare(out: Path, name: str, config: dict | None, changes: dict, model: Path | None = None) -> list[str]:
    """Writes a case's files; returns the words for hf_generate.py."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    text = json.dumps(settings_of(model or folder / "config.json", changes), indent=1)
    (folder / "settings.json").write_text(text)
    return ["--settings", str(folder / "settings.json"), "--metrics", str(folder / "metrics.json"),
            "--predictions", str(folder / "predictions.jsonl")]


def tokens_of(path: Path) -> list[list[int]]:
    return [json.loads(line)["tokens"] for line in path.read_text().splitlines()]


def run_case(report: Report, out: Path, name: str, config: dict | None, changes: dict, model: Path | None = None) -> None:
    import hf_generate

    words, err, begin = prepare(out, name, config, changes, model), io.StringIO(), time.time()
    with contextlib.redirect_stderr(err):
        code = hf_generate.run(words)
    report.check(f"{name} ({time.time() - begin:.1f} s)", code == 0, err.getvalue())
    if code != 0:
        return
    metrics = json.loads((out / name / "metrics.json").read_text())
    print("   ", metrics["model"]["parameters"], "parameters;", "notes:", metrics["notes"])
    rate = metrics["aggregate"]["tokens_per_s"]
    report.check(f"{name}: metrics", metrics["aggregate"]["prefill_ms"]["count"] == 3
                 and metrics["peak_device_bytes"] > 0 and (rate is None) == (name == "clip"), metrics["aggregate"])
    asked = config is not None and changes.get("workload", {}).get("cuda_graph")
    if asked:
        report.check(f"{name}: captured", not metrics["notes"], metrics["notes"])


def same_tokens(report: Report, out: Path, one: str, two: str) -> None:
    """How far two runs agree. Kernels differ between them, so in bf16 a tie may break another way late."""
    try:
        a, b = tokens_of(out / one / "predictions.jsonl")[0], tokens_of(out / two / "predictions.jsonl")[0]
    except OSError as error:
        report.check(f"{one} and {two}: same tokens", False, error)
        return
    agree = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), len(a))
    report.check(f"{one} and {two}: the first {agree} of {len(a)} tokens agree", agree >= 8, (a, b))


def toy_tokens(report: Report, out: Path) -> None:
    """The toy model in transformers, from its safetensors: the tokens toy_llm chose."""
    data = out / "toy" / "data"
    data.mkdir(exist_ok=True)
    lines = [json.loads(line) for line in (out / "toy" / "predictions.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        (data / f"{number}.json").write_text(json.dumps({"tokens": line["prompt_tokens"]}))
    changes = {"workload": {"dtype": "float32"}, "infer": {"max_new_tokens": 24, "batch_size": 2},
               "dataset": {"root": str(data), "fallback_patterns": ["*.json"]}}
    run_case(report, out, "toy-weights", None, changes, out / "toy" / "model")
    got = tokens_of(out / "toy-weights" / "predictions.jsonl")
    report.check("toy_llm and transformers choose the same tokens", got == [line["tokens"] for line in lines], got)


def profiled(report: Report, out: Path, name: str, schedule: dict, step: str) -> None:
    """The injected profiler around the program as the pipeline starts it."""
    folder = out / f"profile-{name}-{step or 'whole'}"
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {"out_dir": str(folder), "activities": ["cpu", "cuda"], "record_shapes": True, "schedule": schedule,
              "step": step or "module"}
    (folder / "profile.json").write_text(json.dumps(chosen))
    env = dict(os.environ, LPO_TORCH_PROFILE=str(folder / "profile.json"),
               PYTHONPATH=str(ROOT / "workloads" / "lpo_sitecustomize"))
    words = [sys.executable, str(ROOT / "workloads" / "hf_generate.py"), "--settings",
             str(out / name / "settings.json"), "--metrics", str(folder / "metrics.json")]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    report.check(f"{folder.name}: exit code", done.returncode == 0, done.stderr)
    statuses = [json.loads(p.read_text()) for p in folder.glob("*.status.json")]
    files = [name for status in statuses for name in status["files"]]
    report.check(f"{folder.name}: one trace written", len(files) == 1, statuses)
    for file in files:
        events = json.load(gzip.open(folder / file))["traceEvents"]
        kernels = sum(e.get("cat") == "kernel" for e in events)
        ranges = {e["name"] for e in events if e.get("cat") == "user_annotation"}
        size = (folder / file).stat().st_size
        report.check(f"{folder.name}: {kernels} kernels, {len(events)} events, {size} bytes",
                     kernels > 100 and ("layer0" in ranges), sorted(ranges)[:20])


def try_case(report: Report, out: Path, name: str, config: dict, changes: dict) -> None:
    try:
        run_case(report, out, name, config, changes)
    except Exception as error:  # a case that breaks is a failed case
        report.check(name, False, repr(error))


def main() -> int:
    out, report = Path(sys.argv[1]), Report()
    for case in CASES:
        try_case(report, out, *case)
    for other in ("llama-modules", "llama-none", "llama-graph"):
        same_tokens(report, out, "llama", other)
    same_tokens(report, out, "qwen3", "qwen3-graph")
    try:
        toy_tokens(report, out)
    except Exception as error:
        report.check("toy_llm in transformers", False, repr(error))
    profiled(report, out, "qwen3", {}, "")
    profiled(report, out, "qwen3", {"wait": 40, "warmup": 2, "active": 8}, "module")
    try_case(report, out, *COMPILED)
    print(f"hf: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
