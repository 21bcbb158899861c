# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-OCR in plain torch: SAM and CLIP, a projector, and a decoder with a mixture of experts.

It stands in where the model folder's own code is not used, with random weights and the same names,
inputs and operations, so that a profile of it has the shape of the real one. Needs no transformers.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import torch
from torch import nn
from torch.nn import functional as F

from .ocr_vision import Clip, Sam, attend

Cache = list  # one (keys, values) per layer
SAM, CLIP = "sam_vit_b", "clip-l-14-224"  # keys of vision_config.width


class OcrConfig:
    """A config.json as an object, as far as the rest of the program looks at it."""

    model_type = "deepseek_vl_v2"

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self.vision_config = values["vision_config"]
        self.text = SimpleNamespace(**values["language_config"])

    def get_text_config(self) -> Any:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return self._values


class Norm(nn.Module):
    """x / sqrt(mean(x^2)) * weight"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype)


def rotate(x: torch.Tensor, position: torch.Tensor, base: float) -> torch.Tensor:
    """Rotary positions for [batch, heads, tokens, size] at [batch, tokens]."""
    half = x.shape[-1] // 2
    speed = base ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angle = position[:, None, :, None].float() * speed
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Attention(nn.Module):
    """Grouped-query attention over a cache that grows."""

    def __init__(self, c: Any) -> None:
        super().__init__()
        self.heads = c.num_attention_heads
        self.kv_heads = getattr(c, "num_key_value_heads", None) or self.heads
        self.size = c.hidden_size // self.heads
        self.base = float(getattr(c, "rope_theta", 10000.0))
        self.q_proj = nn.Linear(c.hidden_size, self.heads * self.size, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, self.kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, self.kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(self.heads * self.size, c.hidden_size, bias=False)

    def forward(self, x: torch.Tensor, position: torch.Tensor, past: Optional[tuple], mask: Optional[torch.Tensor]
                ) -> tuple[torch.Tensor, tuple]:
        batch, tokens, _ = x.shape

        def split(y: torch.Tensor, heads: int) -> torch.Tensor:
            return y.view(batch, tokens, heads, self.size).transpose(1, 2)

        q = rotate(split(self.q_proj(x), self.heads), position, self.base)
        k = rotate(split(self.k_proj(x), self.kv_heads), position, self.base)
        v = split(self.v_proj(x), self.kv_heads)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        now = (k, v)
        if self.kv_heads != self.heads:
            k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        mixed = attend(q, k, v, mask, causal=mask is None and past is None)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, tokens, -1)), now


class Mlp(nn.Module):
    """SwiGLU"""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Gate(nn.Module):
    """Which experts each token goes to, and how much each counts."""

    def __init__(self, hidden: int, experts: int, top: int) -> None:
        super().__init__()
        self.top = top
        self.weight = nn.Parameter(torch.randn(experts, hidden) * hidden ** -0.5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = F.linear(x.float(), self.weight.float()).softmax(-1)
        share, chosen = scores.topk(self.top, dim=-1, sorted=False)
        return share.to(x.dtype), chosen


class Experts(nn.Module):
    """Routed experts and shared ones. Tokens are sorted by expert, and the host learns how many each has: the
    model's own code does so too, which is why its decode cannot become a CUDA graph."""

    def __init__(self, c: Any) -> None:
        super().__init__()
        self.experts = nn.ModuleList(Mlp(c.hidden_size, c.moe_intermediate_size) for _ in range(c.n_routed_experts))
        self.gate = Gate(c.hidden_size, c.n_routed_experts, c.num_experts_per_tok)
        shared = getattr(c, "n_shared_experts", None)
        if shared:
            self.shared_experts = Mlp(c.hidden_size, c.moe_intermediate_size * shared)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        share, chosen = self.gate(flat)
        order = chosen.flatten().argsort()
        counts = torch.bincount(chosen.flatten(), minlength=len(self.experts)).tolist()
        tokens = flat[order // chosen.shape[1]]
        made, begin = [], 0
        for expert, count in zip(self.experts, counts):
            if count:
                made.append(expert(tokens[begin:begin + count]))
                begin += count
        back = torch.empty_like(tokens)
        back[order] = torch.cat(made)
        out = (back.view(*chosen.shape, -1) * share[..., None]).sum(1)
        if hasattr(self, "shared_experts"):
            out = out + self.shared_experts(flat)
        return out.view_as(x)


class Layer(nn.Module):
    def __init__(self, c: Any, index: int) -> None:
        super().__init__()
        self.input_layernorm = Norm(c.hidden_size)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c.hidden_size)
        dense = not getattr(c, "n_routed_experts", None) or index < getattr(c, "first_k_dense_replace", 0)
        self.mlp = Mlp(c.hidden_size, c.intermediate_size) if dense else Experts(c)

    def forward(self, x: torch.Tensor, position: torch.Tensor, past: Optional[tuple], mask: Optional[torch.Tensor]
                ) -> tuple[torch.Tensor, tuple]:
        mixed, now = self.self_attn(self.input_layernorm(x), position, past, mask)
        x = x + mixed
        return x + self.mlp(self.post_attention_layernorm(x)), now


class Projector(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.layers = nn.Linear(config["input_dim"], config["n_embed"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class OcrModel(nn.Module):
    """Images and tokens to hidden states. Names are those of the checkpoint, also the misspelt one."""

    def __init__(self, config: OcrConfig) -> None:
        super().__init__()
        c, values = config.text, config.to_dict()
        width = values["vision_config"]["width"]
        self.sam_model, self.vision_model = Sam(width[SAM]), Clip(width[CLIP])
        self.projector = Projector(values["projector_config"])
        self.image_newline = nn.Parameter(torch.randn(c.hidden_size) * c.hidden_size ** -0.5)
        self.view_seperator = nn.Parameter(torch.randn(c.hidden_size) * c.hidden_size ** -0.5)
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c, index) for index in range(c.num_hidden_layers))
        self.norm = Norm(c.hidden_size)

    def look(self, pixels: torch.Tensor) -> torch.Tensor:
        """[views, vectors, hidden]: what SAM and CLIP say of every place, joined."""
        coarse = self.sam_model(pixels)
        fine = self.vision_model(coarse)
        return self.projector(torch.cat([fine[:, 1:], coarse.flatten(2).transpose(1, 2)], -1))

    def _rows(self, grid: torch.Tensor) -> torch.Tensor:
        """[height, width, hidden] as tokens, one newline after each row."""
        line = self.image_newline.expand(grid.shape[0], 1, -1)
        return torch.cat([grid, line], 1).flatten(0, 1)

    def page(self, crops: torch.Tensor, whole: torch.Tensor, across: int, down: int) -> torch.Tensor:
        """The tokens of one page: its crops where it was cut, the whole page, a separator."""
        parts = []
        if across * down > 1:
            seen = self.look(crops)
            side = int(seen.shape[1] ** 0.5)
            grid = seen.view(down, across, side, side, -1).transpose(1, 2)
            parts.append(self._rows(grid.reshape(down * side, across * side, -1)))
        seen = self.look(whole)
        side = int(seen.shape[1] ** 0.5)
        parts.append(self._rows(seen.view(side, side, -1)))
        return torch.cat([*parts, self.view_seperator[None]])

    def forward(self, input_ids: torch.Tensor, images: Any, places: Any, crops: Any, mask: Optional[torch.Tensor],
                position: torch.Tensor, cache: Optional[Cache]) -> tuple[torch.Tensor, Cache]:
        x = self.embed_tokens(input_ids)
        for row in range(len(images) if images is not None and cache is None else 0):
            across, down = (int(n) for n in crops[row])
            seen = self.page(*images[row], across, down)
            x[row] = x[row].masked_scatter(places[row][:, None], seen.to(x.dtype))
        longer: Cache = []
        for index, layer in enumerate(self.layers):
            x, now = layer(x, position, cache[index] if cache else None, mask)
            longer.append(now)
        return self.norm(x), longer


class DeepseekOcr(nn.Module):
    """The whole model, called as the folder's own DeepseekOCRForCausalLM is."""

    def __init__(self, config: OcrConfig) -> None:
        super().__init__()
        self.config = config
        self.model = OcrModel(config)
        self.lm_head = nn.Linear(config.text.hidden_size, config.text.vocab_size, bias=False)

    def forward(self, input_ids: torch.Tensor, images: Any = None, images_seq_mask: Any = None,
                images_spatial_crop: Any = None, attention_mask: Optional[torch.Tensor] = None,
                position_ids: Optional[torch.Tensor] = None, past_key_values: Optional[Cache] = None,
                use_cache: bool = True, logits_to_keep: int = 0) -> Any:
        before = past_key_values[0][0].shape[2] if past_key_values else 0
        batch, tokens = input_ids.shape
        if position_ids is None:
            position_ids = torch.arange(before, before + tokens, device=input_ids.device).expand(batch, -1)
        mask = None if attention_mask is None else self._mask(attention_mask, before, tokens)
        x, cache = self.model(input_ids, images, images_seq_mask, images_spatial_crop, mask, position_ids,
                              past_key_values)
        return SimpleNamespace(logits=self.lm_head(x[:, -logits_to_keep:]), past_key_values=cache if use_cache else None)

    def _mask(self, keep: torch.Tensor, before: int, tokens: int) -> torch.Tensor:
        """Added to scores of [batch, 1, tokens, length]: nothing ahead, no padding. A padded row sees itself, since
        a softmax over nothing is not a number."""
        length = before + tokens
        ahead = torch.ones(tokens, length, dtype=torch.bool, device=keep.device).triu(before + 1)
        closed = ahead | (keep[:, None, :] == 0)
        own = torch.eye(tokens, length, dtype=torch.bool, device=keep.device) if before == 0 else None
        if own is not None:
            closed = closed & ~own
        dtype = self.lm_head.weight.dtype
        return torch.zeros(closed.shape, dtype=dtype, device=keep.device).masked_fill(
            closed, torch.finfo(dtype).min)[:, None]
