# SPDX-License-Identifier: Apache-2.0
"""What was measured, in the schema that toy_llm writes too (docs/workloads.md)."""
from __future__ import annotations

import json
import math
import os
import platform
import resource
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Optional

SCHEMA = "lpo.workload_metrics/1"


@dataclass
class Measurement:
    """One repeat of one batch. Times in milliseconds; None is unknown, which is not 0."""

    sample: str
    repeat: int
    batch: int
    prompt_tokens: int
    tokens: int
    prefill_ms: float
    ttft_ms: Optional[float]
    decode_ms: Optional[float]
    total_ms: float
    inter_token_ms: list[float] = field(default_factory=list)
    peak_host_bytes: Optional[int] = None
    peak_device_bytes: Optional[int] = None

    @property
    def tokens_per_s(self) -> Optional[float]:
        """Tokens that decode generated, per second of decode."""
        if not self.decode_ms or not self.inter_token_ms:
            return None
        return 1e3 * self.batch * len(self.inter_token_ms) / self.decode_ms

    def as_dict(self) -> dict[str, Any]:
        keys = ("sample", "repeat", "batch", "prompt_tokens", "tokens", "prefill_ms", "ttft_ms", "decode_ms",
                "total_ms", "tokens_per_s", "inter_token_ms", "peak_host_bytes", "peak_device_bytes")
        return {key: getattr(self, key) for key in keys}


def peak_host_bytes() -> int:
    """The peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _percentile(ordered: list[float], p: float) -> float:
    at = p * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def stats(values: list[float]) -> Optional[dict[str, Any]]:
    """Mean, spread and percentiles (interpolated); None for no values, no spread for one."""
    if not values:
        return None
    ordered, n = sorted(values), len(values)
    mean = sum(values) / n
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else None
    return {
        "count": n, "mean": mean, "std": spread, "min": ordered[0], "max": ordered[-1],
        "p50": _percentile(ordered, 0.50), "p90": _percentile(ordered, 0.90), "p99": _percentile(ordered, 0.99),
    }


def aggregate(runs: list[Measurement]) -> dict[str, Any]:
    """Statistics over all measured repeats; inter_token_ms over every step of all of them."""
    out: dict[str, Any] = {}
    for key in ("prefill_ms", "ttft_ms", "decode_ms", "total_ms", "tokens_per_s"):
        out[key] = stats([v for v in (getattr(run, key) for run in runs) if v is not None])
    out["inter_token_ms"] = stats([ms for run in runs for ms in run.inter_token_ms])
    return out


def versions() -> dict[str, str]:
    """Of packages that decide which kernels run; those that are here."""
    found = {"python": platform.python_version()}
    for name in ("torch", "triton", "transformers", "flash-attn", "nvidia-cudnn-cu12", "nvidia-nccl-cu12"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def document(model: dict[str, Any], settings: dict[str, Any], load_ms: float, runs: list[Measurement],
             failures: list[dict[str, str]], notes: list[str]) -> dict[str, Any]:
    """The whole metrics file."""
    device = [run.peak_device_bytes for run in runs if run.peak_device_bytes is not None]
    return {
        "schema": SCHEMA, "workload": "hf_generate", "model": model, "settings": settings,
        "versions": versions(),
        "load_ms": load_ms, "peak_host_bytes": peak_host_bytes(),
        "peak_device_bytes": max(device) if device else None, "aggregate": aggregate(runs),
        "samples": [run.as_dict() for run in runs], "failures": failures, "notes": notes,
    }


def write_text(path: str, text: str) -> None:
    """Writes a temporary file and renames it, so that the file is either complete or absent."""
    beside = f"{path}.tmp.{os.getpid()}"
    with open(beside, "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(beside, path)


def write_json(path: str, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, default=str, allow_nan=False) + "\n")
