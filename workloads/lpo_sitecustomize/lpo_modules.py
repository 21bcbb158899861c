# SPDX-License-Identifier: Apache-2.0
"""An NVTX range around every call of an nn.Module, down to a depth, in a program that has none.

The range of an outermost module has the name of its class, one inside it the path from the module around it: regions
read LlamaForCausalLM/model/layers.0/self_attn. Module.__call__ is wrapped, and no hook registered: a hook of all modules
turns PyTorch's fast paths off, and before PyTorch 2.1 it is not called when forward raises.
"""
from __future__ import annotations

import functools
import threading
import weakref
from typing import Any, Callable

REBUILDS = 16  # of the names of one model: a program may go on making modules


class _Names:
    """Paths of the modules of one outermost module."""

    def __init__(self, root: Any) -> None:
        self.root = weakref.ref(root)
        self.rebuilds = 0
        self.paths: dict[int, tuple[Any, str]] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.build()

    def build(self) -> None:
        root = self.root()
        if root is not None:
            self.paths = {id(m): (weakref.ref(m), path) for path, m in root.named_modules()}

    def path_of(self, module: Any) -> str:
        """The path of a module; its class where it has none. Ids are used again, so the module is compared too."""
        known = self.paths.get(id(module))
        if (known is None or known[0]() is not module) and self.rebuilds < REBUILDS:
            self.rebuilds += 1
            self.build()
            known = self.paths.get(id(module))
        return known[1] if known is not None and known[0]() is module else type(module).__name__

    def text(self, around: str, path: str, module: Any) -> str:
        text = self.texts.get((around, path))
        if text is None:
            inner = path[len(around) + 1:] if around and path.startswith(around + ".") else path
            text = self.texts[around, path] = inner or type(module).__name__
        return text


class _Here(threading.local):
    """The modules that run on this thread now, outermost first, by their paths."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.names: Any = None


def _compiling(torch: Any) -> Callable[[], bool]:
    """Is torch.compile reading this call? It knows this function and takes the branch of it as constant."""
    asks = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return asks if asks is not None else lambda: False


def install_later(depth: int) -> None:
    """When torch is imported, and where something listens to ranges: a tool of NVTX, or PyTorch's profiler."""
    import lpo_annotate
    import lpo_on_import

    ranges = lpo_annotate.load()

    def install_now() -> None:
        try:
            if ranges.listening():
                install(ranges, depth)
        except Exception:  # the program must not suffer
            pass

    lpo_on_import.when_imported("torch", install_now)


def install(ranges: Any, depth: int) -> None:
    """Wraps the calls of all modules. Called when torch was imported; depth 0 is no limit."""
    import torch

    push, pop = ranges.push, ranges.pop
    module = torch.nn.Module
    original = module.__call__
    is_compiling = _compiling(torch)
    known: Any = weakref.WeakKeyDictionary()
    here = _Here()
    most = depth if depth > 0 else 1 << 30

    def enter(this: Any) -> None:
        if not here.open:
            names = known.get(this)
            if names is None:
                names = known[this] = _Names(this)
            here.names = names
            path, around = "", ""
        else:
            names, around = here.names, here.open[-1]
            path = names.path_of(this)
        push(names.text(around, path, this))
        here.open.append(path)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or len(here.open) >= most:
            return original(self, *args, **kwargs)
        try:
            enter(self)
        except Exception:  # a module that cannot be hashed or listed has no range; the program goes on
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            here.open.pop()
            pop()

    module.__call__ = call
