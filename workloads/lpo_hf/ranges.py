# SPDX-License-Identifier: Apache-2.0
"""Named ranges around the work: NVTX for the tracers, record_function for torch.profiler.

A profiler sees `prefill`, `decode`, `decode/step`; hooks on the model's modules add what lies inside.
Warm-up is one range of its own with everything inside it silent, so it never mixes with the rest.
"""
from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import Any, Iterator

from . import nvtx

_LAYER_LISTS = {"layers", "layer", "h", "blocks", "block", "resblocks"}
_PROJECTORS = re.compile(r"^(multi_modal_projector|mm_projector|projector|aligner)$")
_VISION = re.compile(r"^(vision_tower|vision_model|vision_encoder|image_encoder|visual|clip|clip_model)$")
_SAM = re.compile(r"^(sam|sam_model)$")
_ATTENTION = re.compile(r"attn|attention")
_MLP = re.compile(r"^(mlp|ffn|feed_forward|block_sparse_moe|moe)$")


class Ranges:
    """Opens and closes ranges in every back end that is available. Used by one thread."""

    def __init__(self, torch: Any, enabled: bool, record: object) -> None:
        self.on = enabled
        self.depth = 0
        self._client = None
        self._nvtx: Any = None
        self._record: Any = None
        self._records: list[Any] = []
        if not enabled:
            return
        if torch.cuda.is_available():
            self._nvtx = torch.cuda.nvtx
        else:
            self._client = nvtx.client()
        mirrored = self._nvtx and getattr(self._nvtx.range_push, "lpo_mirrored", False)  # the stage records NVTX itself
        if not mirrored and (record is True or (record == "auto" and os.environ.get("LPO_TORCH_PROFILE"))):
            self._record = torch.autograd.profiler.record_function

    def push(self, name: str) -> None:
        if not self.on:
            return
        self.depth += 1
        if self._nvtx:
            self._nvtx.range_push(name)
        elif self._client:
            self._client.push(name.encode())  # type: ignore[misc]
        if self._record:
            self._records.append(self._record(name).__enter__())

    def pop(self) -> None:
        if not self.on:
            return
        self.depth -= 1
        if self._record:
            self._records.pop().__exit__(None, None, None)
        if self._nvtx:
            self._nvtx.range_pop()
        elif self._client:
            self._client.pop()  # type: ignore[misc]

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """A range around a block; what a failing block left open inside is closed with it."""
        before = self.depth
        self.push(name)
        try:
            yield
        finally:
            while self.on and self.depth > before:
                self.pop()

    @contextmanager
    def switched(self, on: bool) -> Iterator[None]:
        """Switches the ranges off (or on again) inside a block."""
        before, self.on = self.on, on and (self._nvtx or self._client or self._record) is not None
        try:
            yield
        finally:
            self.on = before


def _vision_name(attribute: str, module: Any) -> str:
    if _SAM.match(attribute):
        return "sam"
    if _PROJECTORS.match(attribute):
        return "projector"
    if _VISION.match(attribute):
        return "sam" if type(module).__name__.lower().startswith("sam") else "clip"
    return ""


def _inside(path: str, chosen: dict[str, str], name: str) -> bool:
    """Does a module around this one carry the same name already?"""
    parts = path.split(".")
    return any(chosen.get(".".join(parts[:i])) == name for i in range(1, len(parts)))


def _child_name(attribute: str) -> str:
    if "norm" in attribute:
        return attribute
    if _ATTENTION.search(attribute):
        return "attn"
    return "mlp" if _MLP.match(attribute) else attribute


def region_names(model: Any, level: str) -> dict[str, str]:
    """Module path to range name, for the level asked: none, stages, layers or modules."""
    chosen: dict[str, str] = {}
    in_layers: list[str] = []
    if level == "none":
        return chosen
    for path, module in model.named_modules():
        attribute = path.rpartition(".")[2]
        name = _vision_name(attribute, module)
        if name and not _inside(path, chosen, name):
            chosen[path] = name
        if level == "stages":
            continue
        if attribute == "lm_head":
            chosen[path] = "lm_head"
        within = any(path.startswith(prefix + ".") for prefix in in_layers)
        if attribute in _LAYER_LISTS and type(module).__name__ in ("ModuleList", "Sequential") and not within:
            in_layers.append(path)
            for index, layer in module.named_children():
                chosen[f"{path}.{index}"] = f"layer{index}"
                if level == "modules":
                    for child, _ in layer.named_children():
                        chosen[f"{path}.{index}.{child}"] = _child_name(child)
    return chosen


def attach(model: Any, ranges: Ranges, level: str) -> int:
    """Hooks that open and close a range around each chosen module. Returns how many."""
    names = region_names(model, level)
    modules = dict(model.named_modules())

    def watch(module: Any, name: str) -> None:
        module.register_forward_pre_hook(lambda _module, _inputs: ranges.push(name))
        module.register_forward_hook(lambda _module, _inputs, _output: ranges.pop())

    for path, name in names.items():
        watch(modules[path], name)
    return len(names)
