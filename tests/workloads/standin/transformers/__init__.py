# SPDX-License-Identifier: Apache-2.0
"""What hf_generate.py calls of transformers, on a small decoder of our own.

A stand-in for tests only: the same names, arguments and results as the real package for the calls that
hf_generate.py makes, and errors where the real one would raise.
"""
from __future__ import annotations

import importlib.util
import json
import os
from types import SimpleNamespace
from typing import Any, Optional

import torch
from torch import nn
from torch_decoder import Decoder

__version__ = "5.17.0"


class Config:
    """A config.json as attributes; inner dictionaries with a model_type are configs too."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.dtype = None
        self.architectures = None
        for key, value in values.items():
            setattr(self, key, Config(value) if isinstance(value, dict) and "model_type" in value else value)

    def get_text_config(self) -> "Config":
        return getattr(self, "text_config", self)

    def to_dict(self) -> dict[str, Any]:
        return {k: v.to_dict() if isinstance(v, Config) else v for k, v in vars(self).items()}


PretrainedConfig = Config


def remote_class(folder: str, values: dict[str, Any], auto: str) -> Any:
    """The class that auto_map names for an Auto class, from the Python file beside config.json."""
    module, name = values["auto_map"][auto].split(".")
    spec = importlib.util.spec_from_file_location(module, os.path.join(folder, module + ".py"))
    assert spec and spec.loader
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return getattr(code, name)


class AutoConfig:
    @staticmethod
    def from_pretrained(folder: str, local_files_only: bool = False, trust_remote_code: bool = False) -> Config:
        assert local_files_only and os.environ["HF_HUB_OFFLINE"] == "1", "must never reach for the network"
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            values = json.load(file)
        if "AutoConfig" not in (values.get("auto_map") or {}):
            return Config(values)
        if not trust_remote_code:
            raise ValueError(f"The repository {folder} contains custom code which must be executed to correctly load the model.")
        config = remote_class(folder, values, "AutoConfig")(values)
        config.folder = folder
        return config


class AutoModel:
    """Only for folders with their own code."""

    @staticmethod
    def from_pretrained(folder: str, local_files_only: bool = False, trust_remote_code: bool = False, **extra: Any) -> Any:
        config = AutoConfig.from_pretrained(folder, local_files_only, trust_remote_code)
        return remote_class(folder, config.to_dict(), "AutoModel").from_pretrained(
            folder, local_files_only=local_files_only, config=config, **extra)

    @staticmethod
    def from_config(config: Config, trust_remote_code: bool = False) -> Any:
        assert trust_remote_code
        return remote_class(config.folder, config.to_dict(), "AutoModel")(config)


class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, folder: str, local_files_only: bool = False) -> "AutoTokenizer":
        assert local_files_only
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            json.load(file)
        return cls()

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [1] + [2 + ord(c) % 26 for c in text]}

    def decode(self, ids: list[int]) -> str:
        return "".join(chr(ord("a") + i % 26) for i in ids)


def read_safetensors(path: str) -> dict[str, torch.Tensor]:
    """Float tensors by name: eight bytes of header length, a JSON header, the numbers."""
    with open(path, "rb") as file:
        raw = file.read()
    size = int.from_bytes(raw[:8], "little")
    out = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        assert entry["dtype"] == "F32"
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        out[name] = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.float32).reshape(entry["shape"])
    return out


class PreTrainedModel(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config

    @classmethod
    def can_generate(cls) -> bool:
        return True

    @classmethod
    def from_pretrained(cls, folder: str, local_files_only: bool = False, dtype: Any = None,
                        attn_implementation: Optional[str] = None, config: Optional[Config] = None) -> "PreTrainedModel":
        assert local_files_only
        model = cls(config or AutoConfig.from_pretrained(folder, local_files_only=True))
        path = os.path.join(folder, "model.safetensors")
        if os.path.exists(path):
            model.decoder.load_state_dict({k.replace("model.", ""): v for k, v in read_safetensors(path).items()})
        else:
            model.load_state_dict(torch.load(os.path.join(folder, "pytorch_model.bin")))
        return model.to(dtype)


class WithDecoder(PreTrainedModel):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        text = config.get_text_config()
        self.model = nn.Module()
        self.decoder = Decoder(text.vocab_size, text.hidden_size, text.num_hidden_layers, text.num_attention_heads,
                               text.num_key_value_heads, text.intermediate_size)


class LlamaForCausalLM(WithDecoder):
    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None,
                logits_to_keep=0):
        assert use_cache, "decode needs the cache"
        if os.environ.get("STANDIN_FAIL_LENGTH") == str(input_ids.shape[1]):
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB\nand a second line")
        if int(input_ids.max()) >= self.config.vocab_size:
            raise IndexError("index out of range in self")
        logits, cache = self.decoder(input_ids, past_key_values or [], attention_mask, position_ids)
        return SimpleNamespace(logits=logits, past_key_values=cache)


class Tower(nn.Module):
    def __init__(self, config: Config, hidden: int) -> None:
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, hidden, config.patch_size, config.patch_size)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.patch_embedding(pixels).flatten(2).transpose(1, 2)


class LlavaForConditionalGeneration(WithDecoder):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        hidden = config.text_config.hidden_size
        self.model.vision_tower = Tower(config.vision_config, hidden)
        self.model.multi_modal_projector = nn.Linear(hidden, hidden)

    def forward(self, input_ids=None, pixel_values=None, attention_mask=None, position_ids=None,
                past_key_values=None, use_cache=None):
        embedded = self.decoder.embed_tokens(input_ids)
        if pixel_values is not None:
            features = self.model.multi_modal_projector(self.model.vision_tower(pixel_values))
            where = input_ids == self.config.image_token_index
            if int(where.sum()) != features.shape[0] * features.shape[1]:
                raise ValueError(f"{int(where.sum())} image tokens for {features.shape[1]} image features")
            embedded = embedded.masked_scatter(where[..., None], features)
        logits, cache = self.decoder(input_ids, past_key_values or [], attention_mask, position_ids, embedded)
        return SimpleNamespace(logits=logits, past_key_values=cache)


class CLIPVisionModel(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.vision_model = Tower(config, config.hidden_size)

    @classmethod
    def can_generate(cls) -> bool:
        return False

    def forward(self, pixel_values=None):
        return SimpleNamespace(last_hidden_state=self.vision_model(pixel_values))
