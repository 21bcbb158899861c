# SPDX-License-Identifier: Apache-2.0
"""Prefill, then one token at a time with the cache, and the clock beside it."""
from __future__ import annotations

import inspect
import time
from typing import Any, Optional

from .errors import one_line
from .graph import GraphStep
from .inputs import Batch
from .metrics import Measurement, peak_host_bytes
from .model import Loaded
from .ranges import Ranges
from .settings import Settings


class Marks:
    """Points in time. On CUDA they are events in the stream, so that taking one waits for nothing."""

    def __init__(self, torch: Any, device: Any) -> None:
        self.torch, self.cuda = torch, device.type == "cuda"
        self.points: list[Any] = []

    def mark(self) -> None:
        if self.cuda:
            event = self.torch.cuda.Event(enable_timing=True)
            event.record()
            self.points.append(event)
        else:
            self.points.append(time.perf_counter())

    def milliseconds(self) -> list[float]:
        """Of every point since the first; waits for the device."""
        first = self.points[0]
        if self.cuda:
            self.torch.cuda.synchronize()
            return [first.elapsed_time(point) for point in self.points]
        return [(point - first) * 1e3 for point in self.points]


class Decoder:
    """Runs batches through one model and measures them."""

    def __init__(self, torch: Any, transformers: Any, loaded: Loaded, settings: Settings, ranges: Ranges) -> None:
        self.torch, self.transformers = torch, transformers
        self.loaded, self.settings, self.ranges = loaded, settings, ranges
        self.model = loaded.model
        parameters = inspect.signature(loaded.model.forward).parameters
        self.last_only = {name: 1 for name in ("logits_to_keep", "num_logits_to_keep") if name in parameters}
        self.takes_cache_position = "cache_position" in parameters
        self.graphs: dict[Any, Optional[GraphStep]] = {}

    # Choosing

    def _without_repeats(self, logits: Any, seen: list[Any]) -> Any:
        """Masks each token that would end a sequence of infer.no_repeat_ngram_size tokens a second time."""
        size = self.settings.no_repeat_ngram
        tokens = self.torch.cat(seen, dim=1)
        if size < 1 or tokens.shape[1] < size:
            return logits
        windows = tokens.unfold(1, size, 1)
        begun = (windows[:, :, :-1] == tokens[:, None, tokens.shape[1] - size + 1:]).all(-1)
        hits = self.torch.zeros_like(logits, dtype=self.torch.float32)
        hits.scatter_add_(1, windows[:, :, -1], begun.float())
        return logits.masked_fill(hits > 0, float("-inf"))

    def _choose(self, logits: Any, generator: Any, seen: list[Any]) -> Any:
        """[batch, vocab] to [batch, 1], without leaving the device."""
        if self.settings.no_repeat_ngram:
            logits = self._without_repeats(logits, seen)
        if self.settings.temperature <= 0:
            return logits.argmax(-1, keepdim=True)
        scores = logits.float() / self.settings.temperature
        if 0 < self.settings.top_k < scores.shape[-1]:
            least = scores.topk(self.settings.top_k, dim=-1).values[:, -1:]
            scores = scores.masked_fill(scores < least, float("-inf"))
        return self.torch.multinomial(scores.softmax(-1), 1, generator=generator)

    def _ended(self, token: Any, done: Any) -> Any:
        """Which sequences have met an end token so far."""
        end = getattr(self.loaded.text_config(), "eos_token_id", None)
        for number in end if isinstance(end, list) else [end] if end is not None else []:
            hit = token[:, 0] == number
            done = hit if done is None else done | hit
        return done

    # Forward passes

    def prefill(self, batch: Batch, cache: Any = None) -> Any:
        extra: dict[str, Any] = dict(self.last_only)
        if cache is not None:
            extra["past_key_values"] = cache
        if batch.keep is not None:
            extra["attention_mask"] = batch.keep
            extra["position_ids"] = (batch.keep.cumsum(-1) - 1).clamp(min=0)
        return self.model(**batch.inputs, use_cache=True, **extra)

    def _step(self, batch: Batch, token: Any, cache: Any, index: int) -> Any:
        extra: dict[str, Any] = {}
        if batch.keep is not None:
            ones = batch.keep.new_ones((batch.size, index + 1))
            extra["attention_mask"] = self.torch.cat([batch.keep, ones], dim=1)
            extra["position_ids"] = batch.keep.sum(-1, keepdim=True) + index
        return self.model(input_ids=token, past_key_values=cache, use_cache=True, **extra)

    # CUDA graphs

    def prepare(self, batch: Batch) -> None:
        """Captures the decode step for this shape, once, before anything is timed."""
        if not self.settings.cuda_graph or self.loaded.kind == "encoder" or batch.shape in self.graphs:
            return
        self.graphs[batch.shape] = None
        if self.loaded.device.type != "cuda":
            self.loaded.notes.append("cuda_graph: there is no CUDA device; decode runs eagerly")
            return
        try:
            with self.torch.inference_mode(), self.ranges.switched(True), self.ranges.span("capture"):
                self.graphs[batch.shape] = GraphStep(self, batch)
        except Exception as error:
            self.loaded.notes.append(f"cuda_graph: this model cannot be captured, decode runs eagerly: "
                                     f"{one_line(error)}")

    # Measuring

    def run(self, batch: Batch, repeat: int) -> tuple[Measurement, Any]:
        """One repeat: its times, and the tokens [batch, n] (None for a model that makes none)."""
        torch, cuda = self.torch, self.loaded.device.type == "cuda"
        if cuda:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        marks = Marks(torch, self.loaded.device)
        with torch.inference_mode():
            if self.loaded.kind == "encoder":
                tokens = None
                self._encode(batch, marks)
            else:
                tokens = self._generate(batch, marks)
        at = marks.milliseconds()
        steps = [later - earlier for earlier, later in zip(at[2:], at[3:])]
        return Measurement(
            sample=batch.name, repeat=repeat, batch=batch.size, prompt_tokens=batch.prompt_tokens,
            tokens=int(tokens.numel()) if tokens is not None else 0,
            prefill_ms=at[1], ttft_ms=at[2] if tokens is not None else None,
            decode_ms=at[-1] - at[2] if steps else None, total_ms=at[-1], inter_token_ms=steps,
            peak_host_bytes=peak_host_bytes(),
            peak_device_bytes=torch.cuda.max_memory_allocated() if cuda else None,
        ), tokens

    def _encode(self, batch: Batch, marks: Marks) -> None:
        marks.mark()
        with self.ranges.span("prefill"):
            self.model(**batch.inputs)
        marks.mark()

    def _generate(self, batch: Batch, marks: Marks) -> Any:
        generator = self.torch.Generator(device=self.loaded.device).manual_seed(self.settings.seed)
        graph = self.graphs.get(batch.shape)
        marks.mark()
        with self.ranges.span("prefill"):
            out = graph.prefill(batch) if graph else self.prefill(batch)
            marks.mark()
            prompt = [batch.ids] if self.settings.no_repeat_ngram else []
            token = self._choose(out.logits[:, -1], generator, prompt)
        marks.mark()
        tokens, done = [token], None
        with self.ranges.span("decode"):
            for index in range(self.settings.max_new_tokens - 1):
                if self.settings.stop_at_eos:
                    done = self._ended(token, done)
                    if done is not None and bool(done.all()):
                        break
                with self.ranges.span("step"):
                    if graph:
                        logits = graph.step(token, index)
                    else:
                        out = self._step(batch, token, out.past_key_values, index)
                        logits = out.logits
                    token = self._choose(logits[:, -1], generator, prompt + tokens)
                tokens.append(token)
                marks.mark()
        return self.torch.cat(tokens, dim=1)
