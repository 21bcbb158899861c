# SPDX-License-Identifier: Apache-2.0
"""From pages to the inputs of DeepSeek-OCR: the whole page, its crops, and the tokens they stand at.

A page is shown whole, padded to infer.image_size, and with infer.crop_mode also in 2 to 9 squares of
infer.crop_size, as the model's own code does. Synthetic pages need no image library.
"""
from __future__ import annotations

import random
from typing import Any

from .errors import UserError
from .inputs import Batch, Encoder
from .samples import Sample

PAGE = (1654, 1170)  # height and width of a synthetic page: A4 at 141 dots per inch
PIXELS_A_TOKEN = 64  # SAM's patches of 16 pixels, and two convolutions that halve the side
MOST_CROPS = 9


def tokens_a_side(size: int) -> int:
    """Tokens on one side of a view of `size` pixels."""
    return -(-(size // 16) // 4)


def image_tokens(size: int, crop: int, across: int, down: int) -> int:
    """Tokens of a page: rows with a newline each, for the whole page and for its crops, and a separator."""
    whole, part = tokens_a_side(size), tokens_a_side(crop)
    cut = (part * across + 1) * part * down if across * down > 1 else 0
    return cut + (whole + 1) * whole + 1


def grid_of(width: int, height: int, crop: int) -> tuple[int, int]:
    """How many crops across and down: the shape nearest to the page's; (1, 1) for a page that needs none."""
    if width <= crop and height <= crop:
        return 1, 1
    shapes = sorted({(i, j) for i in range(1, MOST_CROPS + 1) for j in range(1, MOST_CROPS + 1)
                     if 2 <= i * j <= MOST_CROPS}, key=lambda s: (s[0] * s[1], s[0]))
    best, least = (1, 1), float("inf")
    for across, down in shapes:
        far = abs(width / height - across / down)
        if far < least:
            best, least = (across, down), far
        elif far == least and width * height > 0.5 * crop * crop * across * down:
            best = (across, down)
    return best


class PageEncoder(Encoder):
    """Makes batches of pages for one model."""

    def image_size(self) -> int:
        size = self.settings.image_size or self.loaded.config.to_dict()["vision_config"].get("image_size", 1024)
        for key, value in (("infer.image_size", size), ("infer.crop_size", self.settings.crop_size)):
            if value % PIXELS_A_TOKEN:
                raise UserError(f"{key} is {value}; it must be a multiple of {PIXELS_A_TOKEN}")
        return size

    # Pages

    def page(self, seed: int) -> Any:
        """[3, height, width] from 0 to 1: a white page with lines of black boxes, the same for a seed."""
        source, torch = random.Random(seed), self.torch
        height, width = PAGE
        page = torch.ones(3, height, width)
        for top in range(100, height - 100, 28):
            left, end = 100, width - source.choice((100, 100, 100, 400))
            while left < end:
                right = min(left + source.randint(16, 110), end)
                page[:, top:top + 16, left:right] = 0
                left = right + 12
        return page

    def _tensor(self, image: Any) -> Any:
        raw = bytearray(image.tobytes())
        flat = self.torch.frombuffer(raw, dtype=self.torch.uint8)
        return flat.reshape(image.height, image.width, 3).permute(2, 0, 1).float() / 255

    def _resized(self, page: Any, height: int, width: int) -> Any:
        made = self.torch.nn.functional.interpolate(page[None], size=(height, width), mode="bicubic",
                                                    align_corners=False, antialias=True)
        return made[0].clamp(0, 1)

    def _device(self, views: Any) -> Any:
        dtype = getattr(self.torch, self.settings.dtype)
        return ((views - 0.5) / 0.5).to(self.loaded.device, dtype)

    def _views(self, page: Any) -> tuple[Any, Any, int, int]:
        """The crops, the whole page, and how the crops lie. A page without crops has zeros for them."""
        size, crop = self.image_size(), self.settings.crop_size
        height, width = page.shape[1:]
        scale = size / max(height, width)
        high, wide = max(round(height * scale), 1), max(round(width * scale), 1)
        whole = self.torch.full((3, size, size), 0.5)
        top, left = (size - high) // 2, (size - wide) // 2
        whole[:, top:top + high, left:left + wide] = self._resized(page, high, wide)
        across, down = grid_of(width, height, crop) if self.settings.crop_mode else (1, 1)
        if across * down == 1:
            return self._device(self.torch.full((1, 3, size, size), 0.5)), self._device(whole[None]), 1, 1
        large = self._resized(page, down * crop, across * crop)
        parts = large.view(3, down, crop, across, crop).permute(1, 3, 0, 2, 4).reshape(-1, 3, crop, crop)
        return self._device(parts), self._device(whole[None]), across, down

    # Tokens

    def _image_token(self) -> int:
        tokenizer = self.loaded.tokenizer
        token = tokenizer.convert_tokens_to_ids("<image>") if tokenizer is not None else None
        return token if isinstance(token, int) and token >= 0 else self.loaded.vocab_size - 1

    def _words(self, text: str) -> list[int]:
        if self.loaded.tokenizer is not None:
            return list(self.loaded.tokenizer(text, add_special_tokens=False)["input_ids"])
        return self.tokens_of(text)

    def _row(self, count: int) -> tuple[list[int], list[bool]]:
        """The prompt's tokens, the page where it says <image> (or first), and which of them are the page's."""
        before, found, after = self.settings.prompt.partition("<image>")
        if not found:
            before, after = "", self.settings.prompt
        start = getattr(self.loaded.text_config(), "bos_token_id", None)
        head = ([start] if isinstance(start, int) else []) + (self._words(before) if before else [])
        tail = self._words(after) if after else []
        return (head + [self._image_token()] * count + tail, [False] * len(head) + [True] * count + [False] * len(tail))

    def _batch(self, names: list[str], rows: list[tuple[list[int], list[bool]]],
               views: list[tuple[Any, Any, int, int]]) -> Batch:
        torch, device = self.torch, self.loaded.device
        length = max(len(ids) for ids, _ in rows)
        batch = Batch(names, {
            "input_ids": torch.tensor([[0] * (length - len(ids)) + ids for ids, _ in rows], device=device),
            "images": [(crops, whole) for crops, whole, _, _ in views],
            "images_seq_mask": torch.tensor([[False] * (length - len(at)) + at for _, at in rows], device=device),
            "images_spatial_crop": torch.tensor([[across, down] for _, _, across, down in views]),  # the host reads it
        })
        if any(len(ids) < length for ids, _ in rows):
            batch.keep = torch.tensor([[0] * (length - len(ids)) + [1] * len(ids) for ids, _ in rows], device=device)
        return batch

    def _images(self, names: list[str], images: list[Any]) -> Batch:
        views = [self._views(self._tensor(image)) for image in images]
        size, crop = self.image_size(), self.settings.crop_size
        rows = [self._row(image_tokens(size, crop, across, down)) for _, _, across, down in views]
        return self._batch(names, rows, views)

    def _synthetic(self, sample: Sample) -> Batch:
        """infer.prompt_tokens in all, so that the run has the shape that the static analysis assumes."""
        seed = self.settings.seed + sample.index
        pages = [self.page(seed * 1000 + row) for row in range(self.settings.batch_size)]
        views = [self._views(page) for page in pages]
        count = image_tokens(self.image_size(), self.settings.crop_size, *views[0][2:])
        more = self.settings.prompt_tokens - count
        if more < 1:
            raise UserError(f"infer.prompt_tokens is {self.settings.prompt_tokens}; a page is {count} tokens with "
                            f"these infer.image_size and infer.crop_mode, and one more must follow")
        words = self._random_ids(len(pages), more, seed).tolist()
        token = self._image_token()
        rows = [([token] * count + row, [True] * count + [False] * more) for row in words]
        return self._batch([sample.name], rows, views)
