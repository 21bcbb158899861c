# SPDX-License-Identifier: Apache-2.0
"""From samples to tensors: tokenizer or processor where the model folder has one, else by hand."""
from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import Any, Optional

from .errors import UserError, one_line
from .model import Loaded
from .samples import Sample
from .settings import Settings


@dataclass
class Batch:
    """The inputs of one forward pass."""

    names: list[str]
    inputs: dict[str, Any]  # input_ids, pixel_values, ... on the device
    keep: Any = None  # [batch, length] of 0 and 1 where prompts were padded on the left; None: no padding

    @property
    def name(self) -> str:
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} and {len(self.names) - 1} more"

    @property
    def ids(self) -> Any:
        return self.inputs.get("input_ids")

    @property
    def size(self) -> int:
        first = next(iter(self.inputs.values()))
        return int(first.shape[0])

    @property
    def length(self) -> int:
        return int(self.ids.shape[1]) if self.ids is not None else 0

    @property
    def prompt_tokens(self) -> int:
        """Of all sequences, padding not counted."""
        if self.keep is not None:
            return int(self.keep.sum())
        return self.size * self.length

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple((key, _shape(value)) for key, value in sorted(self.inputs.items())) + (self.keep is None,)


def _shape(value: Any) -> tuple[Any, ...]:
    """Of a tensor, or of every tensor in a list."""
    return tuple(value.shape) if hasattr(value, "shape") else tuple(_shape(item) for item in value)


class Encoder:
    """Makes batches for one model."""

    def __init__(self, torch: Any, loaded: Loaded, settings: Settings) -> None:
        self.torch, self.loaded, self.settings = torch, loaded, settings

    def encode(self, group: list[Sample], failed: Any) -> Optional[Batch]:
        """A batch of the samples that can be read; `failed(name, why)` is called for the others."""
        if group[0].path is None:
            return self._synthetic(group[0])
        good: list[tuple[str, Any]] = []
        for sample in group:
            try:
                good.append((sample.name, self._image(sample) if sample.is_image else self._text(sample)))
            except Exception as error:
                failed(sample.name, one_line(error))
        if not good:
            return None
        names = [name for name, _ in good]
        values = [value for _, value in good]
        return self._images(names, values) if group[0].is_image else self._texts(names, values)

    # Text

    def _text(self, sample: Sample) -> list[int]:
        assert sample.path is not None
        text = sample.path.read_text(encoding="utf-8", errors="replace")
        if sample.path.suffix == ".json":  # {"prompt": text}, or {"tokens": [...]} to skip the tokenizer
            value = json.loads(text)
            if not isinstance(value, dict):
                raise ValueError("not a JSON object with a prompt or tokens")
            if value.get("tokens"):
                return [int(token) for token in value["tokens"]]
            text = str(value.get("prompt") or value.get("text") or "")
        if not text.strip():
            raise ValueError("the file has no text")
        return self.tokens_of(text)

    def tokens_of(self, text: str) -> list[int]:
        """By the model's tokenizer; without one, bytes are as good as tokens for timing."""
        if self.loaded.tokenizer is not None:
            return list(self.loaded.tokenizer(text)["input_ids"])
        return [byte % max(self.loaded.vocab_size, 1) for byte in text.encode()]

    def _texts(self, names: list[str], rows: list[list[int]]) -> Batch:
        torch, device = self.torch, self.loaded.device
        length = max(len(row) for row in rows)
        padded = [[0] * (length - len(row)) + row for row in rows]
        batch = Batch(names, {"input_ids": torch.tensor(padded, dtype=torch.long, device=device)})
        if any(len(row) < length for row in rows):
            marks = [[0] * (length - len(row)) + [1] * len(row) for row in rows]
            batch.keep = torch.tensor(marks, dtype=torch.long, device=device)
        return batch

    # Images

    def _image(self, sample: Sample) -> Any:
        try:
            from PIL import Image
        except ImportError as error:
            raise ValueError("reading images needs Pillow in this interpreter") from error
        with Image.open(sample.path) as image:
            return image.convert("RGB")

    def _images(self, names: list[str], images: list[Any]) -> Batch:
        if self.loaded.processor is not None:
            return Batch(names, self._processed(images))
        size = self.image_size()
        pixels = self.torch.stack([self._pixels(image, size) for image in images])
        return Batch(names, self._with_image_tokens(pixels))

    def _processed(self, images: list[Any]) -> dict[str, Any]:
        processor, prompt = self.loaded.processor, self.settings.prompt
        if self.loaded.kind == "encoder":
            made = processor(images=images, return_tensors="pt")
        else:
            text = prompt
            if getattr(processor, "chat_template", None):
                content = [{"type": "image"}, {"type": "text", "text": prompt}]
                text = processor.apply_chat_template([{"role": "user", "content": content}],
                                                     add_generation_prompt=True)
            elif getattr(processor, "image_token", None):
                text = f"{processor.image_token}\n{prompt}"
            made = processor(text=[text] * len(images), images=images, return_tensors="pt")
        dtype = getattr(self.torch, self.settings.dtype)
        return {key: value.to(self.loaded.device, dtype) if value.is_floating_point() else value.to(self.loaded.device)
                for key, value in made.items() if key != "attention_mask"}

    def _pixels(self, image: Any, size: int) -> Any:
        torch = self.torch
        raw = bytearray(image.resize((size, size)).tobytes())
        values = torch.frombuffer(raw, dtype=torch.uint8).reshape(size, size, 3).permute(2, 0, 1)
        return ((values.float() / 255 - 0.5) / 0.5).to(self.loaded.device, getattr(torch, self.settings.dtype))

    def image_size(self) -> int:
        """Side of the images for this model, in pixels: from infer.image_size, or from its config."""
        vision = getattr(self.loaded.config, "vision_config", None) or self.loaded.config
        size = self.settings.image_size or getattr(vision, "image_size", None)
        if not isinstance(size, int):
            raise UserError("this model's image size is not in its config; set infer.image_size")
        return size

    def _with_image_tokens(self, pixels: Any) -> dict[str, Any]:
        """The prompt with as many image tokens before it as the vision tower will produce."""
        inputs = {"pixel_values": pixels}
        config = self.loaded.config
        if self.loaded.kind == "encoder":
            if getattr(config, "text_config", None) is not None:  # CLIP and similar models take both
                inputs["input_ids"] = self._random_ids(pixels.shape[0], 8, self.settings.seed)
            return inputs
        token = getattr(config, "image_token_id", None) or getattr(config, "image_token_index", None)
        patch = getattr(config.vision_config, "patch_size", None)
        if token is None or not isinstance(patch, int):
            raise UserError("this model needs its processor to make image inputs; put it in the model folder")
        count = (pixels.shape[-1] // patch) ** 2
        if getattr(config, "vision_feature_select_strategy", "default") == "full":
            count += 1
        row = [token] * count + self.tokens_of(self.settings.prompt)
        inputs["input_ids"] = self.torch.tensor([row] * pixels.shape[0], device=self.loaded.device)
        return inputs

    # Synthetic

    def _random_ids(self, rows: int, length: int, seed: int) -> Any:
        generator = self.torch.Generator().manual_seed(seed)
        vocab = max(self.loaded.vocab_size, 1)
        token = getattr(self.loaded.config, "image_token_id", None) or getattr(self.loaded.config,
                                                                               "image_token_index", None)
        high = min(vocab, token) if isinstance(token, int) and token > 1 else vocab
        return self.torch.randint(0, high, (rows, length), generator=generator).to(self.loaded.device)

    def _synthetic(self, sample: Sample) -> Batch:
        size, seed = self.settings.batch_size, self.settings.seed + sample.index
        if self.loaded.kind == "text":
            ids = self._random_ids(size, self.settings.prompt_tokens, seed)
            return Batch([sample.name], {"input_ids": ids})
        if "pixel_values" not in _arguments(self.loaded.model):
            return Batch([sample.name], {"input_ids": self._random_ids(size, self.settings.prompt_tokens, seed)})
        edge = self.image_size()
        vision = getattr(self.loaded.config, "vision_config", None) or self.loaded.config
        channels = getattr(vision, "num_channels", 3)
        generator = self.torch.Generator().manual_seed(seed)
        pixels = self.torch.randn((size, channels, edge, edge), generator=generator)
        pixels = pixels.to(self.loaded.device, getattr(self.torch, self.settings.dtype))
        return Batch([sample.name], self._with_image_tokens(pixels))


def _arguments(model: Any) -> set[str]:
    return set(inspect.signature(model.forward).parameters)
