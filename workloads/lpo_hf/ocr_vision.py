# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-OCR's two image encoders in plain torch, with the checkpoint's names: SAM-B and CLIP-L.

SAM sees pixels in windows, its neck and two convolutions make one vector of every 64 x 64 pixels, and
CLIP goes on from those vectors. All sizes come from the config, so that a tiny model runs anywhere.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn
from torch.nn import functional as F


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Optional[torch.Tensor] = None,
           causal: bool = False) -> torch.Tensor:
    """Attention over [batch, heads, tokens, size]. `mask` is added to the scores. torch 1 has no fused one."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        ahead = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).triu(k.shape[2] - q.shape[2] + 1)
        scores = scores.masked_fill(ahead, float("-inf"))
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1) @ v


# SAM


class Norm2d(nn.Module):
    """Layer norm over the channels of [batch, channels, height, width]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(1, keepdim=True)
        spread = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight[:, None, None] * ((x - mean) / torch.sqrt(spread + 1e-6)) + self.bias[:, None, None]


def _relative(size: int, table: torch.Tensor) -> torch.Tensor:
    """[size, size, head] out of a table of 2 * size - 1 rows, which is resampled where the image is smaller."""
    if table.shape[0] != 2 * size - 1:
        table = F.interpolate(table.float().T[None], size=2 * size - 1, mode="linear")[0].T.to(table.dtype)
    at = torch.arange(size, device=table.device)
    return table[at[:, None] - at[None, :] + size - 1]


class SamAttention(nn.Module):
    """Attention over a square of patches, with relative positions in both directions."""

    def __init__(self, width: int, heads: int, side: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.rel_pos_h = nn.Parameter(torch.zeros(2 * side - 1, self.size))
        self.rel_pos_w = nn.Parameter(torch.zeros(2 * side - 1, self.size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, width, channels = x.shape
        q, k, v = self.qkv(x).view(batch, height * width, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        square = q.reshape(batch, self.heads, height, width, self.size)
        down = torch.einsum("bnhwc,hkc->bnhwk", square, _relative(height, self.rel_pos_h))
        along = torch.einsum("bnhwc,wkc->bnhwk", square, _relative(width, self.rel_pos_w))
        bias = (down[..., :, None] + along[..., None, :]).reshape(batch, self.heads, height * width, height * width)
        mixed = attend(q, k, v, bias).transpose(1, 2).reshape(batch, height, width, channels)
        return self.proj(mixed)


class SamMlp(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin2(F.gelu(self.lin1(x)))


class SamBlock(nn.Module):
    """`window` patches a side see each other; 0: the whole image."""

    def __init__(self, width: int, heads: int, inner: int, window: int, side: int) -> None:
        super().__init__()
        self.window = window
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attn = SamAttention(width, heads, window or side)
        self.mlp = SamMlp(width, inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        y = self._windowed(y) if self.window else self.attn(y)
        x = x + y
        return x + self.mlp(self.norm2(x))

    def _windowed(self, x: torch.Tensor) -> torch.Tensor:
        """The image is padded to whole windows, as the model does."""
        batch, height, width, channels = x.shape
        w = self.window
        padded = F.pad(x, (0, 0, 0, -width % w, 0, -height % w))
        rows, columns = padded.shape[1] // w, padded.shape[2] // w
        parts = padded.view(batch, rows, w, columns, w, channels).transpose(2, 3).reshape(-1, w, w, channels)
        back = self.attn(parts).reshape(batch, rows, columns, w, w, channels).transpose(2, 3)
        return back.reshape(batch, rows * w, columns * w, channels)[:, :height, :width]


class PatchEmbed(nn.Module):
    def __init__(self, width: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, patch)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(x).permute(0, 2, 3, 1)


class Sam(nn.Module):
    """Pixels to [batch, channels, side / 64, side / 64]."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, layers, heads = config["width"], config["layers"], config["heads"]
        patch, image = config.get("patch_size", 16), config.get("image_size", 1024)
        window, neck = config.get("window_size", 14), config.get("output_channels", 256)
        first, second = config.get("downsample_channels", (512, 1024))
        inner = int(width * config.get("mlp_ratio", 4))
        whole = set(config.get("global_attn_indexes", ()))
        self.patch_embed = PatchEmbed(width, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, image // patch, image // patch, width))
        self.blocks = nn.ModuleList(SamBlock(width, heads, inner, 0 if i in whole else window, image // patch)
                                    for i in range(layers))
        self.neck = nn.Sequential(nn.Conv2d(width, neck, 1, bias=False), Norm2d(neck),
                                  nn.Conv2d(neck, neck, 3, padding=1, bias=False), Norm2d(neck))
        self.net_2 = nn.Conv2d(neck, first, 3, stride=2, padding=1, bias=False)
        self.net_3 = nn.Conv2d(first, second, 3, stride=2, padding=1, bias=False)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(pixels)
        positions = self.pos_embed
        if positions.shape[1:3] != x.shape[1:3]:
            table = positions.permute(0, 3, 1, 2).float()
            table = F.interpolate(table, size=x.shape[1:3], mode="bicubic", align_corners=False)
            positions = table.permute(0, 2, 3, 1).to(x.dtype)
        x = x + positions
        for block in self.blocks:
            x = block(x)
        return self.net_3(self.net_2(self.neck(x.permute(0, 3, 1, 2))))


# CLIP


class ClipEmbeddings(nn.Module):
    """A class token, then the vectors of SAM, with positions. The checkpoint's own convolution is unused."""

    def __init__(self, width: int, image: int, patch: int) -> None:
        super().__init__()
        self.side = image // patch
        self.class_embedding = nn.Parameter(torch.randn(width))
        self.patch_embedding = nn.Conv2d(3, width, patch, patch, bias=False)
        self.position_embedding = nn.Embedding(self.side ** 2 + 1, width)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        batch, width, side, _ = features.shape
        table = self.position_embedding.weight
        if side != self.side:
            square = table[1:].T.reshape(1, width, self.side, self.side).float()
            square = F.interpolate(square, size=(side, side), mode="bicubic", align_corners=False)
            table = torch.cat([table[:1], square.flatten(2)[0].T.to(table.dtype)])
        first = self.class_embedding.expand(batch, 1, -1)
        return torch.cat([first, features.flatten(2).transpose(1, 2)], 1) + table


class ClipAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv_proj(x).view(batch, tokens, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        return self.out_proj(attend(q, k, v).transpose(1, 2).reshape(batch, tokens, width))


class ClipMlp(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc1(x)
        return self.fc2(y * torch.sigmoid(1.702 * y))  # CLIP's own form of GELU


class ClipLayer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.self_attn = ClipAttention(width, heads)
        self.mlp = ClipMlp(width, inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.layer_norm1(x))
        return x + self.mlp(self.layer_norm2(x))


class ClipStack(nn.Module):
    def __init__(self, width: int, heads: int, inner: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ClipLayer(width, heads, inner) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Clip(nn.Module):
    """SAM's output to [batch, 1 + vectors, width]."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width = config["width"]
        self.embeddings = ClipEmbeddings(width, config.get("image_size", 224), config.get("patch_size", 14))
        self.pre_layrnorm = nn.LayerNorm(width)  # as the checkpoint spells it
        self.transformer = ClipStack(width, config["heads"], int(width * config.get("mlp_ratio", 4)), config["layers"])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.transformer(self.pre_layrnorm(self.embeddings(features)))
