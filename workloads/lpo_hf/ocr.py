# SPDX-License-Identifier: Apache-2.0
"""When a model is DeepSeek-OCR, and when our own code for it runs instead of the folder's."""
from __future__ import annotations

import json
from typing import Any, Optional

from .errors import UserError
from .model import has_weights
from .settings import Settings


def is_ocr(config: Any) -> bool:
    """Has this config (a dictionary) SAM and CLIP side by side, as only DeepSeek-OCR has?"""
    vision = config.get("vision_config") if isinstance(config, dict) else None
    width = vision.get("width") if isinstance(vision, dict) else None
    return isinstance(width, dict) and "sam_vit_b" in width and "clip-l-14-224" in width


def _config_of(settings: Settings) -> Optional[dict[str, Any]]:
    if settings.model_path is None:
        return settings.model_config
    path = settings.model_path / "config.json" if settings.model_path.is_dir() else settings.model_path
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # whoever loads the model says what is wrong with it
    return value if isinstance(value, dict) else None


def own_config(settings: Settings) -> Optional[dict[str, Any]]:
    """The config when our own model is to run; None: transformers loads the model."""
    config = _config_of(settings)
    if not is_ocr(config):
        if settings.model_path is None:
            raise UserError("model.path is not set, and model.config is not that of DeepSeek-OCR; give a model "
                            "folder or a config.json")
        return None
    assert config is not None
    folder = settings.model_path is not None and settings.model_path.is_dir()
    if folder and settings.trust_remote_code and config.get("auto_map"):
        return None
    if folder and settings.random_weights is not True and has_weights(settings.model_path):
        raise UserError(f"the weights in '{settings.model_path}' are run by the folder's own code, which needs "
                        "workload.hf.trust_remote_code=true; workload.hf.random_weights=true runs the same model "
                        "with random weights")
    for key in ("language_config", "projector_config"):
        if not isinstance(config.get(key), dict):
            raise UserError(f"the config of DeepSeek-OCR has no '{key}'")
    return config


def choose(config: dict[str, Any]) -> tuple[Any, Any]:
    """The config as an object, and our class; imports torch."""
    from .ocr_model import DeepseekOcr, OcrConfig

    return OcrConfig(config), DeepseekOcr
