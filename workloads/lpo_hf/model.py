# SPDX-License-Identifier: Apache-2.0
"""From a folder or a config.json to a model on its device. Nothing is ever downloaded."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional

from .errors import EXIT_FAILED, EXIT_MISSING, UserError, memory_ran_out, one_line
from .settings import Settings

_AUTO = ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModelForVision2Seq", "AutoModel")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt")
_PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")


@dataclass
class Loaded:
    """A model that is ready to run, with its tokenizer and facts."""

    model: Any
    config: Any
    kind: str  # text, image_text, encoder
    device: Any
    tokenizer: Any = None
    processor: Any = None
    load_ms: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def text_config(self) -> Any:
        getter = getattr(self.config, "get_text_config", None)
        return getter() if getter else getattr(self.config, "text_config", None) or self.config

    @property
    def vocab_size(self) -> int:
        return int(getattr(self.text_config(), "vocab_size", 0) or 0)


def pick_device(torch: Any, name: str) -> Any:
    """The torch device of run.device, or an error. CUDA is queried here, not initialised."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"run.device is '{name}': {one_line(error)}") from error
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        raise UserError(f"run.device is '{name}' but torch {torch.__version__} sees no CUDA device; "
                        "run.device=cpu runs without one", EXIT_MISSING)
    count = torch.cuda.device_count()
    if (device.index or 0) >= count:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        raise UserError(f"run.device is '{name}' but {count} are visible"
                        + (f" (CUDA_VISIBLE_DEVICES={visible})" if visible else ""), EXIT_MISSING)
    return device


def start_device(torch: Any, device: Any) -> None:
    """Initialises CUDA. Profilers that wait for CUDA record from here on, so this is before the first range and after the imports."""
    if device.type == "cuda":
        torch.cuda.init()
        torch.cuda.set_device(device)


def _config_folder(path: Path) -> tuple[Path, Optional[tempfile.TemporaryDirectory]]:
    """A folder with this config as config.json; a temporary one for a file of another name."""
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UserError(f"the model folder '{path}' has no config.json")
        return path, None
    if not path.is_file():
        raise UserError(f"model.path '{path}' is neither a folder nor a file")
    if path.name == "config.json":
        return path.parent, None
    temporary = tempfile.TemporaryDirectory(prefix="lpo-hf-")
    shutil.copy(path, os.path.join(temporary.name, "config.json"))
    return Path(temporary.name), temporary


def has_weights(folder: Path) -> bool:
    """Does the folder hold any weights that transformers could load?"""
    return any(any(folder.glob(p)) for p in ("*.safetensors", "pytorch_model*.bin"))


def wants_random(settings: Settings) -> bool:
    """True for a config.json alone, a folder without weights, or where the settings ask for it."""
    if settings.model_path is None or settings.model_path.is_file():
        return True
    if isinstance(settings.random_weights, bool):
        return settings.random_weights
    return not has_weights(settings.model_path)


@contextmanager
def _defaults(torch: Any, dtype: Any, device: Any) -> Iterator[None]:
    """New parameters get this dtype, and where torch can, are made on this device at once."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        if hasattr(torch.device, "__enter__"):
            with torch.device(device):
                yield
        else:
            yield
    finally:
        torch.set_default_dtype(before)


def _parts(config: Any) -> list[Any]:
    """The config and the configs inside it (text, vision)."""
    inner = [v for v in vars(config).values() if hasattr(v, "model_type") and hasattr(v, "to_dict")]
    return [config] + inner


def _prepare_config(config: Any, dtype: Any, attn: Optional[str]) -> None:
    for part in _parts(config):
        name = "dtype" if hasattr(part, "dtype") else "torch_dtype"
        setattr(part, name, dtype)
        if attn:
            part._attn_implementation = attn


def _class_of(transformers: Any, config: Any, remote: bool) -> Any:
    """The class the config names, or the first Auto class that takes it."""
    if remote and getattr(config, "auto_map", None):
        for name in config.auto_map:
            if name.startswith("AutoModel"):
                return getattr(transformers, name)
    for name in getattr(config, "architectures", None) or []:
        found = getattr(transformers, name, None)
        if found is not None:
            return found
    for name in _AUTO:
        auto = getattr(transformers, name, None)
        mapping = getattr(auto, "_model_mapping", None)
        if mapping is not None and type(config) in mapping:
            return auto
    raise UserError(f"transformers {transformers.__version__} has no model for "
                    f"{getattr(config, 'architectures', None) or config.model_type}")


def _random(cls: Any, config: Any, torch: Any, settings: Settings, device: Any) -> Any:
    dtype = getattr(torch, settings.dtype)
    torch.manual_seed(settings.seed)
    _prepare_config(config, dtype, settings.attn)
    with _defaults(torch, dtype, device):
        if hasattr(cls, "from_config"):  # an Auto class
            extra = {"trust_remote_code": True} if settings.trust_remote_code else {}
            return cls.from_config(config, **extra)
        return cls(config)


def _pretrained(cls: Any, transformers: Any, torch: Any, settings: Settings) -> Any:
    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    name = "dtype" if (major, minor) >= (4, 56) else "torch_dtype"
    extra: dict[str, Any] = {name: getattr(torch, settings.dtype)}
    if settings.attn:
        extra["attn_implementation"] = settings.attn
    if settings.trust_remote_code:
        extra["trust_remote_code"] = True
    return cls.from_pretrained(str(settings.model_path), local_files_only=True, **extra)


def _helper(transformers: Any, name: str, files: tuple[str, ...], settings: Settings, notes: list[str]) -> Any:
    """The folder's tokenizer or processor; None where it has none or it cannot be loaded."""
    if transformers is None or settings.model_path is None:
        return None
    folder = settings.model_path if settings.model_path.is_dir() else settings.model_path.parent
    if not any((folder / file).is_file() for file in files):
        return None
    extra = {"trust_remote_code": True} if settings.trust_remote_code else {}
    try:
        return getattr(transformers, name).from_pretrained(str(folder), local_files_only=True, **extra)
    except Exception as error:  # many kinds of errors, none of them fatal
        notes.append(f"the folder's {name} cannot be used: {one_line(error)}")
        return None


def _kind(model: Any, config: Any) -> str:
    generates = getattr(model, "can_generate", None)
    if generates is not None and not generates():
        return "encoder"
    return "image_text" if getattr(config, "vision_config", None) is not None else "text"


def _facts(torch: Any, loaded: Loaded, settings: Settings, random: bool) -> dict[str, Any]:
    parameters = list(loaded.model.parameters())
    device = loaded.device
    return {
        "name": settings.model_name,
        "architecture": type(loaded.model).__name__,
        "parameters": sum(p.numel() for p in parameters),
        "weight_bytes": sum(p.numel() * p.element_size() for p in parameters),
        "dtype": settings.dtype,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "random_weights": random,
        "config": json.loads(json.dumps(loaded.config.to_dict(), default=str)),
    }


@contextmanager
def _told(settings: Settings) -> Iterator[None]:
    """A failure in here becomes one line that names the model."""
    model = settings.model_path or settings.model_name
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if memory_ran_out(error):
            raise UserError(f"cannot make the model of '{model}': out of memory on {settings.device}; "
                            "use a smaller model, a smaller workload.hf.dtype or another run.device", EXIT_FAILED) from error
        raise UserError(f"cannot make the model of '{model}': {one_line(error)}") from error


def choose(transformers: Any, settings: Settings) -> tuple[Any, Any]:
    """The config and the class it asks for. Imports the class's code, which takes seconds, and touches no device."""
    assert settings.model_path is not None
    folder, temporary = _config_folder(settings.model_path)
    remote = {"trust_remote_code": True} if settings.trust_remote_code else {}
    try:
        with _told(settings):
            config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, **remote)
            return config, _class_of(transformers, config, settings.trust_remote_code)
    finally:
        if temporary:
            temporary.cleanup()


def load(torch: Any, transformers: Any, settings: Settings, chosen: tuple[Any, Any], device: Any) -> Loaded:
    """Weights on the device, tokenizer, processor."""
    config, cls = chosen
    begin = time.perf_counter()
    random = wants_random(settings)
    with _told(settings):
        model = (_random(cls, config, torch, settings, device) if random
                 else _pretrained(cls, transformers, torch, settings))
        model = model.to(device).eval()
    loaded = Loaded(model, model.config, _kind(model, model.config), device)
    loaded.tokenizer = _helper(transformers, "AutoTokenizer", _TOKENIZER_FILES, settings, loaded.notes)
    loaded.processor = _helper(transformers, "AutoProcessor", _PROCESSOR_FILES, settings, loaded.notes)
    loaded.load_ms = (time.perf_counter() - begin) * 1e3
    loaded.facts = _facts(torch, loaded, settings, random)
    return loaded
