#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Llama-like decoder in plain PyTorch, for demonstrations and for testing the profiler stage.

    torch_decoder.py [--layers N] [--prompt-tokens N] [--max-new-tokens N] [--metrics FILE] ...

Runs on the CPU or a GPU with torch 1.13 and later. Its ranges (load, prefill, decode, step, layerN, attn,
mlp, lm_head) are record_function annotations, and NVTX ranges where a tool listens.
"""
from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Optional

from lpo_hf import metrics, ranges

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"torch_decoder: {sys.executable} cannot import torch: {error}", file=sys.stderr)
    sys.exit(3)

Cache = list  # one (keys, values) per layer, or empty


class Norm(nn.Module):
    """x / sqrt(mean(x^2)) * weight"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotate(x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """Rotary positions for [batch, heads, tokens, size] at [batch, tokens]."""
    half = x.shape[-1] // 2
    speed = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = position[:, None, :, None] * speed
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1).to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention over a cache that grows."""

    def __init__(self, hidden: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, hidden // heads
        self.q_proj = nn.Linear(hidden, hidden, bias=False)
        self.k_proj = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x: torch.Tensor, position: torch.Tensor, past: Optional[tuple], keep: Optional[torch.Tensor]
                ) -> tuple[torch.Tensor, tuple]:
        batch, tokens, _ = x.shape

        def split(y: torch.Tensor, heads: int) -> torch.Tensor:
            return y.view(batch, tokens, heads, self.size).transpose(1, 2)

        q = rotate(split(self.q_proj(x), self.heads), position)
        k = rotate(split(self.k_proj(x), self.kv_heads), position)
        v = split(self.v_proj(x), self.kv_heads)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        share = self.heads // self.kv_heads
        scores = q @ k.repeat_interleave(share, 1).transpose(-1, -2) * self.size ** -0.5
        length = k.shape[2]
        ahead = torch.ones(tokens, length, dtype=torch.bool, device=x.device).triu(length - tokens + 1)
        scores = scores.masked_fill(ahead, -1e9)
        if keep is not None:
            scores = scores.masked_fill(keep[:, None, None, :] == 0, -1e9)
        mixed = scores.softmax(-1) @ v.repeat_interleave(share, 1)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, tokens, -1)), (k, v)


class Mlp(nn.Module):
    """SwiGLU"""

    def __init__(self, hidden: int, ffn: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, ffn, bias=False)
        self.up_proj = nn.Linear(hidden, ffn, bias=False)
        self.down_proj = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, hidden: int, heads: int, kv_heads: int, ffn: int) -> None:
        super().__init__()
        self.input_layernorm = Norm(hidden)
        self.self_attn = Attention(hidden, heads, kv_heads)
        self.post_attention_layernorm = Norm(hidden)
        self.mlp = Mlp(hidden, ffn)

    def forward(self, x: torch.Tensor, position: torch.Tensor, past: Optional[tuple], keep: Optional[torch.Tensor]
                ) -> tuple[torch.Tensor, tuple]:
        mixed, now = self.self_attn(self.input_layernorm(x), position, past, keep)
        x = x + mixed
        return x + self.mlp(self.post_attention_layernorm(x)), now


class Decoder(nn.Module):
    """Tokens and a cache in; logits of the last token and the longer cache out."""

    def __init__(self, vocab: int, hidden: int, layers: int, heads: int, kv_heads: int, ffn: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads, kv_heads, ffn) for _ in range(layers))
        self.norm = Norm(hidden)
        self.lm_head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens: torch.Tensor, cache: Cache, keep: Optional[torch.Tensor] = None,
                position: Optional[torch.Tensor] = None, embedded: Optional[torch.Tensor] = None
                ) -> tuple[torch.Tensor, Cache]:
        x = self.embed_tokens(tokens) if embedded is None else embedded
        if position is None:
            before = cache[0][0].shape[2] if cache else 0
            position = torch.arange(before, before + x.shape[1], device=x.device).expand(x.shape[0], -1)
        longer: Cache = []
        for index, layer in enumerate(self.layers):
            x, now = layer(x, position, cache[index] if cache else None, keep)
            longer.append(now)
        return self.lm_head(self.norm(x[:, -1:])), longer


def generate(model: Decoder, prompt: torch.Tensor, count: int, r: ranges.Ranges, repeat: int
             ) -> metrics.Measurement:
    """Greedy tokens, and how long they took."""

    def now() -> float:
        if prompt.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() * 1e3

    begin = now()
    with r.span("prefill"):
        logits, cache = model(prompt, [])
    prefill = now()
    token = logits[:, -1].argmax(-1, keepdim=True)
    marks = [now()]
    with r.span("decode"):
        for _ in range(count - 1):
            with r.span("step"):
                logits, cache = model(token, cache)
                token = logits[:, -1].argmax(-1, keepdim=True)
            marks.append(now())
    steps = [b - a for a, b in zip(marks, marks[1:])]
    return metrics.Measurement(
        "synthetic-0", repeat, prompt.shape[0], prompt.numel(), prompt.shape[0] * count, prefill - begin,
        marks[0] - begin, marks[-1] - marks[0] if steps else None, marks[-1] - begin, steps,
        metrics.peak_host_bytes(), torch.cuda.max_memory_allocated() if prompt.is_cuda else None)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for flag, default in (("layers", 2), ("hidden", 128), ("heads", 4), ("kv-heads", 2), ("ffn", 352),
                          ("vocab", 1024), ("batch", 1), ("prompt-tokens", 32), ("max-new-tokens", 8),
                          ("repeats", 2), ("warmup", 1), ("seed", 0)):
        parser.add_argument(f"--{flag}", type=int, default=default)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--metrics", help="where to write the timings")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    r = ranges.Ranges(torch, True, True)
    torch.manual_seed(args.seed)
    begin = time.perf_counter()
    with r.span("load"):
        model: Any = Decoder(args.vocab, args.hidden, args.layers, args.heads, args.kv_heads, args.ffn)
        model = model.to(args.device).eval()
    load_ms = (time.perf_counter() - begin) * 1e3
    ranges.attach(model, r, "modules")
    prompt = torch.randint(0, args.vocab, (args.batch, args.prompt_tokens)).to(args.device)
    with torch.inference_mode():
        with r.span("warmup"), r.switched(False):
            for _ in range(args.warmup):
                generate(model, prompt, args.max_new_tokens, r, 0)
        runs = [generate(model, prompt, args.max_new_tokens, r, i) for i in range(args.repeats)]
    if args.metrics:
        facts = {"name": "torch_decoder", "architecture": "Decoder", "dtype": "float32", "device": str(prompt.device),
                 "parameters": sum(p.numel() for p in model.parameters())}
        metrics.write_json(args.metrics, metrics.document(facts, vars(args), load_ms, runs, [], []))
    mean = sum(run.total_ms for run in runs) / len(runs)
    print(f"{len(runs)} repeats of {args.prompt_tokens} + {args.max_new_tokens} tokens: {mean:.2f} ms each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
