# SPDX-License-Identifier: Apache-2.0
"""The decode step as a CUDA graph: one launch per token instead of hundreds.

A graph replays fixed addresses, so everything that changes from step to step lives in tensors that
are written in place: token, position, mask, and a static cache that counts on the device.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .inputs import Batch

if TYPE_CHECKING:
    from .decode import Decoder

_WARM_STEPS = 2


class GraphStep:
    """The captured step of one batch shape. Raises what capturing raises."""

    def __init__(self, decoder: "Decoder", batch: Batch) -> None:
        torch, loaded = decoder.torch, decoder.loaded
        self.torch, self.decoder, self.start = torch, decoder, batch.length
        limit = batch.length + decoder.settings.max_new_tokens + _WARM_STEPS + 1
        dtype = getattr(torch, decoder.settings.dtype)
        self.cache = decoder.transformers.StaticCache(config=loaded.text_config(), max_cache_len=limit)
        self.token = torch.zeros((batch.size, 1), dtype=torch.long, device=loaded.device)
        self.position = torch.zeros_like(self.token)
        self.cache_position = torch.zeros((1,), dtype=torch.long, device=loaded.device)
        self.mask = torch.zeros((batch.size, 1, 1, limit), dtype=dtype, device=loaded.device)
        self.closed = torch.finfo(dtype).min
        self.graph = torch.cuda.CUDAGraph()
        self._capture(batch)

    def _forward(self) -> Any:
        extra = {"cache_position": self.cache_position} if self.decoder.takes_cache_position else {}
        out = self.decoder.model(input_ids=self.token, position_ids=self.position, attention_mask=self.mask,
                                 past_key_values=self.cache, use_cache=True, **extra)
        return out.logits

    def _capture(self, batch: Batch) -> None:
        torch = self.torch
        self.prefill(batch)
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up at first use, which is not allowed while capturing
            for index in range(_WARM_STEPS):
                self._advance(index)
                self._forward()
        torch.cuda.current_stream().wait_stream(aside)
        self._advance(_WARM_STEPS)
        with torch.cuda.graph(self.graph):
            self.logits = self._forward()

    def _advance(self, index: int) -> None:
        at = self.start + index
        self.mask[..., at] = 0
        self.cache_position.fill_(at)
        if index:
            self.position.add_(1)

    def prefill(self, batch: Batch) -> Any:
        """Starts a new sequence: an empty cache, the prompt in it, the mask over positions to come."""
        self.cache.reset()
        out = self.decoder.prefill(batch, self.cache)
        self.mask.fill_(self.closed)
        if batch.keep is None:
            self.mask[..., : self.start] = 0
            self.position.fill_(self.start)
        else:
            self.mask[:, 0, 0, : self.start].masked_fill_(batch.keep.bool(), 0)
            self.position.copy_(batch.keep.sum(-1, keepdim=True))
        return out

    def step(self, token: Any, index: int) -> Any:
        """Logits [batch, 1, vocab]; valid until the next step."""
        self.token.copy_(token)
        self._advance(index)
        self.graph.replay()
        return self.logits
