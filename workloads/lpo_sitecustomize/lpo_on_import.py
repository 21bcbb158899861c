# SPDX-License-Identifier: Apache-2.0
"""Calls back when a program imports a module, without importing it itself."""
from __future__ import annotations

import importlib.abc
import sys
from typing import Any, Callable


class _After(importlib.abc.Loader):
    """A loader that calls back when its module is fully imported."""

    def __init__(self, inner: Any, then: list[Callable[[], None]]) -> None:
        self.inner, self.then = inner, then

    def create_module(self, spec: Any) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.inner.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self.inner
        module.__loader__ = self.inner
        for then in self.then:
            then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Watch(importlib.abc.MetaPathFinder):
    """Stands first among the import finders until everything it waits for was imported."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callable[[], None]]] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        then = self.waiting.pop(fullname, None)
        if then is None:
            return None
        if not self.waiting:
            sys.meta_path.remove(self)
        for finder in [f for f in sys.meta_path if f is not self]:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _After(spec.loader, then)
                return spec
        return None


_watch = _Watch()


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Calls `then` once, after the module `name` was imported by whoever needs it. Calls for one name keep their order."""
    if not _watch.waiting:
        sys.meta_path.insert(0, _watch)
    _watch.waiting.setdefault(name, []).append(then)
