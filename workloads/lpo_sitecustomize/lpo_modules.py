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

MOST_INSIDE = 4096  # modules that are called from one place and remembered
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


class _Open:
    """A module that was called where it was called: its range, and the modules that were called inside it."""

    __slots__ = ("around", "depth", "inside", "module", "name", "names", "path")

    def __init__(self, around: Any, module: Any, names: Any, path: str, name: str) -> None:
        self.around, self.module, self.names, self.path = around, weakref.ref(module), names, path
        self.name = name.encode("utf-8", "replace")
        self.depth = around.depth + 1
        self.inside: dict[int, _Open] = {}


class _Top:
    """Around everything: no module runs."""

    __slots__ = ("depth", "inside")

    def __init__(self) -> None:
        self.depth = 0
        self.inside: dict[int, _Open] = {}


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


def _find(around: Any, this: Any, known: Any) -> _Open:
    """A module that is called there for the first time, or whose id was another one's."""
    if isinstance(around, _Top):
        names = known.get(this)
        if names is None:
            names = known[this] = _Names(this)
        found = _Open(around, this, names, "", names.text("", "", this))
    else:
        names = around.names
        path = names.path_of(this)
        found = _Open(around, this, names, path, names.text(around.path, path, this))
    if len(around.inside) >= MOST_INSIDE:
        around.inside.clear()  # a program that makes modules as it goes
    around.inside[id(this)] = found
    return found


def install(ranges: Any, depth: int) -> None:
    """Wraps the calls of all modules. Called when torch was imported; depth 0 is no limit.

    A model calls a thousand modules in a few milliseconds, so a call that was seen before is one look into a dictionary, and
    the tool is called without lpo.py between."""
    import torch

    push, pop = ranges._functions()
    module = torch.nn.Module
    original = module.__call__
    is_compiling = _compiling(torch)
    known: Any = weakref.WeakKeyDictionary()
    # The innermost module that runs on each thread. A list of one by the thread's id takes half the time of threading.local;
    # an id that is used again finds its list as the thread before left it: with no module running.
    threads: dict[int, list[Any]] = {}
    me = threading.get_ident
    most = depth if depth > 0 else 1 << 30

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        here = threads.get(me())
        if here is None:
            here = threads[me()] = [_Top()]
        around = here[0]
        if around.depth >= most:
            return original(self, *args, **kwargs)
        found = around.inside.get(id(self))
        if found is None or found.module() is not self:
            try:
                found = _find(around, self, known)
            except Exception:  # a module that cannot be hashed or listed has no range; the program goes on
                return original(self, *args, **kwargs)
        here[0] = found
        push(found.name)
        try:
            return original(self, *args, **kwargs)
        finally:
            here[0] = around
            pop()

    module.__call__ = call
