# SPDX-License-Identifier: Apache-2.0
"""The settings file: the composed config's sections, checked, as one frozen object.

The file is what `lpo run` writes for every stage: `model`, `infer`, `dataset`, `run`, `workload`,
and `effective` with what the stage's own rules made of them. Keys that are not ours are passed over.
"""
from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from .errors import UserError

RANGES = ("none", "stages", "layers", "modules")
DTYPES = ("float32", "float16", "bfloat16")
SHORT_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Dataset:
    """Where samples come from and which of them are taken."""

    root: Optional[Path]  # None: synthetic samples
    filelist: Optional[Path]
    patterns: tuple[str, ...]
    epochs: int
    per_epoch: Optional[int]  # None: all
    randomize: bool
    seed: int
    annotations: Optional[str] = None  # a JSON list of pages under root, as OmniDocBench has


@dataclass(frozen=True)
class Settings:
    """All settings of the program."""

    model_path: Optional[Path]  # a model folder, or a config.json; None: model_config
    model_config: Optional[dict[str, Any]]  # what a config.json would hold
    model_name: str
    random_weights: Union[bool, str]  # "auto": when the folder has no weights
    trust_remote_code: bool
    dtype: str
    attn: Optional[str]
    compile: bool
    cuda_graph: bool
    ranges: str
    record_function: Union[bool, str]  # "auto": when a profiler was injected
    device: str
    batch_size: int
    prompt_tokens: int
    max_new_tokens: int
    temperature: float
    top_k: int
    no_repeat_ngram: int  # so many tokens in a row are not generated twice; 0: any may be
    seed: int
    prompt: str
    stop_at_eos: bool
    image_size: Optional[int]
    crop_mode: bool  # DeepSeek-OCR: a large page is cut into squares of crop_size too
    crop_size: int
    repeats: int
    warmup: int
    dataset: Dataset


class _Reader:
    """Takes typed values out of nested dictionaries; an error names the key."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root

    def get(self, key: str) -> Any:
        value: Any = self.root
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def first(self, *keys: str) -> str:
        """The first key that has a value, else the last."""
        return next((key for key in keys if self.get(key) is not None), keys[-1])

    def integer(self, key: str, default: Optional[int], least: int) -> Any:
        value = self.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UserError(f"{key} is {value!r}; it must be a whole number of at least {least}")
        return value

    def real(self, key: str, default: float) -> float:
        value = self.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise UserError(f"{key} is {value!r}; it must be a number of at least 0")
        return float(value)

    def boolean(self, key: str, default: bool) -> bool:
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise UserError(f"{key} is {value!r}; it must be true or false")
        return value

    def auto(self, key: str) -> Union[bool, str]:
        value = self.get(key)
        if value is None or value == "auto":
            return "auto"
        if value in ("true", "false"):
            return value == "true"
        if not isinstance(value, bool):
            raise UserError(f"{key} is {value!r}; it must be auto, true or false")
        return value

    def text(self, key: str, default: Optional[str]) -> Any:
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise UserError(f"{key} is {value!r}; it must be text")
        return value

    def choice(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise UserError(f"{key} is {value!r}; it must be one of {', '.join(choices)}")
        return value

    def path(self, key: str) -> Optional[Path]:
        value = self.text(key, None)
        return Path(value).expanduser() if value else None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise UserError(f"{key} is {value!r}; it must be a list of text")
        return tuple(value)


def _dataset(r: _Reader) -> Dataset:
    return Dataset(
        root=r.path("dataset.root"),
        filelist=r.path("run.dataset_subset_filelist") or r.path("dataset.subset_filelist"),
        annotations=r.text("dataset.annotations", None),
        patterns=r.texts("dataset.fallback_patterns"),
        epochs=r.integer("dataset.sampling.num_epochs", 1, 1),
        per_epoch=r.integer("dataset.sampling.num_samples_per_epoch", None, 1),
        randomize=r.boolean("dataset.sampling.randomize", False),
        seed=r.integer("dataset.sampling.seed", 0, 0),
    )


def _dtype(r: _Reader) -> str:
    """workload.hf.dtype, else what the model's config says."""
    if r.get("workload.hf.dtype") is not None:
        return r.choice("workload.hf.dtype", "bfloat16", DTYPES)
    value = r.text("model.dtype", "bfloat16")
    value = SHORT_DTYPES.get(value, value.removeprefix("torch."))
    if value not in DTYPES:
        raise UserError(f"model.dtype is {value!r}; it must be one of {', '.join((*SHORT_DTYPES, *DTYPES))}")
    return value


def _attention(r: _Reader) -> Optional[str]:
    """workload.hf.attn, else what flash_attention asks for; None: the library's choice."""
    flash = r.auto("workload.hf.flash_attention")
    if r.get("workload.hf.attn") is not None or flash == "auto":
        return r.text("workload.hf.attn", None)
    if not flash:
        return "eager"
    return "flash_attention_2" if importlib.util.find_spec("flash_attn") else None


def _check_patches(r: _Reader) -> None:
    """DeepSeek-OCR's tokens per page follow from these, which its weights fix."""
    for key, only in (("model.preprocess.patch_size", 16), ("model.preprocess.downsample_ratio", 4)):
        if r.get(key) not in (None, only):
            raise UserError(f"{key} is {r.get(key)!r}; the weights of DeepSeek-OCR are for {only}")


def parse(root: dict[str, Any]) -> Settings:
    """Checks every value; the first wrong one raises UserError with its key."""
    r = _Reader(root)
    path, config = r.path("model.path"), r.get("model.config")
    if path is None and not isinstance(config, dict):
        raise UserError("model.path is not set; give a model folder or a config.json")
    _check_patches(r)
    return Settings(
        model_path=path,
        model_config=config if isinstance(config, dict) else None,
        model_name=r.text("model.name", path.name if path else "model"),
        random_weights=r.auto("workload.hf.random_weights"),
        trust_remote_code=r.boolean("workload.hf.trust_remote_code", False),
        dtype=_dtype(r),
        attn=_attention(r),
        compile=r.boolean("workload.hf.compile", False),
        cuda_graph=r.boolean("workload.hf.cuda_graph", False),
        ranges=r.choice("workload.hf.ranges", "layers", RANGES),
        record_function=r.auto("workload.hf.record_function"),
        device=r.text("run.device", "cuda:0"),
        batch_size=r.integer("infer.batch_size", 1, 1),
        prompt_tokens=r.integer("infer.prompt_tokens", 512, 1),
        max_new_tokens=r.integer("effective.max_new_tokens", None, 1)
        or r.integer("infer.max_new_tokens", 64, 1),
        temperature=r.real(r.first("effective.temperature", "infer.temperature"), 0.0),
        top_k=r.integer("infer.top_k", 0, 0),
        no_repeat_ngram=r.integer("infer.no_repeat_ngram_size", 0, 0),
        seed=r.integer("infer.seed", 0, 0),
        prompt=r.text("infer.prompt", "Describe the image."),
        stop_at_eos=r.boolean("infer.stop_at_eos", False),
        image_size=r.integer("infer.image_size", None, 1),
        crop_mode=r.boolean("infer.crop_mode", False),
        crop_size=r.integer("infer.crop_size", 640, 1),
        repeats=r.integer("effective.repeats", None, 1) or r.integer("run.repeats", 1, 1),
        warmup=r.integer(r.first("effective.warmup", "run.warmup"), 1, 0),
        dataset=_dataset(r),
    )


def _fill_hidden(root: dict[str, Any]) -> None:
    """Puts back what lpo keeps out of the file: LPO_SETTINGS_SECRETS is {"model.hf_token": "..."}."""
    for key, value in json.loads(os.environ.get("LPO_SETTINGS_SECRETS") or "{}").items():
        *above, last = key.split(".")
        at: Any = root
        for part in above:
            at = at[int(part)] if isinstance(at, list) else at.get(part) if isinstance(at, dict) else None
        if isinstance(at, list):
            at[int(last)] = value
        elif isinstance(at, dict):
            at[last] = value


def load(path: str) -> Settings:
    """The settings in the JSON file at `path`."""
    try:
        root = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the settings '{path}': {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"the settings '{path}' are not JSON: {error}") from error
    if not isinstance(root, dict):
        raise UserError(f"the settings '{path}' are not a JSON object")
    _fill_hidden(root)
    return parse(root)
