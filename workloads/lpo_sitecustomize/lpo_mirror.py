# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges for PyTorch's profiler, which does not see them: every push is also a record_function.

Followed are torch.cuda.nvtx, the package nvtx and lpo.py. A start/end range may end on another thread, where a
record_function cannot: those are left out.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable

EMIT_NVTX = ("emit_nvtx was left out: together with torch.profiler it crashes PyTorch. Operators are in this trace without "
             "it; for NVTX ranges of operators use the native or the nsys stage")

OTHER_THREADS = ("ranges and operators of other threads (DataParallel, pools of workers) are not in this trace: PyTorch's profiler "
                 "followed only the thread that started it. A newer PyTorch follows all, unless profile_memory is set; the native stage "
                 "always does")


class _Open(threading.local):
    """Records that are open on this thread; every domain of NVTX has a stack of its own."""

    def __init__(self) -> None:
        self.stacks: dict[Any, list[Any]] = {}


class Mirror:
    def __init__(self, recording: Callable[[], bool], note: Callable[[str], None], unseen: Callable[[], bool] = lambda: False) -> None:
        """unseen: does the profiler not follow the thread that asks?"""
        self.recording, self.note, self.unseen = recording, note, unseen
        self.noted = False
        self.here = _Open()
        self.record: Any = None

    def push(self, name: Any, domain: Any = None) -> None:
        record = None
        if self.record is not None and self.recording():
            if not self.noted and self.unseen():
                self.noted = True
                self.note(OTHER_THREADS)
            record = self.record(str(name))
            record.__enter__()
        self.here.stacks.setdefault(domain, []).append(record)

    def pop(self, domain: Any = None) -> None:
        stack = self.here.stacks.get(domain)
        record = stack.pop() if stack else None
        if record is not None:
            record.__exit__(None, None, None)

    def mark(self, name: Any) -> None:
        if self.record is not None and self.recording():
            with self.record(str(name)):
                pass

    def close(self) -> None:
        """Ends what this thread left open: a profiler must not be stopped inside a record."""
        for domain, stack in self.here.stacks.items():
            while stack:
                self.pop(domain)

    # Who pushes

    def torch_is_here(self) -> None:
        import torch

        self.record = torch.autograd.profiler.record_function
        nvtx = torch.cuda.nvtx
        nvtx.range_push = self.after(nvtx.range_push, lambda msg: self.push(msg))
        nvtx.range_pop = self.after(nvtx.range_pop, lambda: self.pop())
        nvtx.mark = self.after(nvtx.mark, lambda msg: self.mark(msg))
        self.refuse_emit_nvtx(torch.autograd.profiler.emit_nvtx)

    @staticmethod
    def after(original: Callable[..., Any], then: Callable[..., None]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            then(*args, **kwargs)
            return result

        called.__name__, called.__doc__ = original.__name__, original.__doc__
        called.lpo_mirrored = True  # type: ignore[attr-defined]
        return called

    def refuse_emit_nvtx(self, emit_nvtx: Any) -> None:
        original, mirror = emit_nvtx.__enter__, self

        def enter(this: Any) -> Any:
            if this.enabled:
                mirror.note(EMIT_NVTX)
                this.enabled = False  # its __exit__ does nothing then
                return this
            return original(this)

        emit_nvtx.__enter__ = enter

    def nvtx_is_here(self) -> None:
        """The package nvtx: push_range, pop_range and mark, and annotate around a block or a function."""
        import nvtx

        inner = getattr(nvtx, "nvtx", nvtx)
        for name, then in (("push_range", self.package_push), ("pop_range", self.package_pop), ("mark", self.package_mark)):
            if hasattr(nvtx, name):
                wrapped = self.after(getattr(nvtx, name), then)
                setattr(nvtx, name, wrapped)
                setattr(inner, name, wrapped)
        if isinstance(getattr(nvtx, "annotate", None), type):
            self.follow_annotate(nvtx.annotate)

    def package_push(self, message: Any = None, color: Any = None, domain: Any = None, **more: Any) -> None:
        self.push(message or "(unnamed)", ("nvtx", domain))

    def package_pop(self, domain: Any = None) -> None:
        self.pop(("nvtx", domain))

    def package_mark(self, message: Any = None, *more: Any, **others: Any) -> None:
        self.mark(message or "(unnamed)")

    def follow_annotate(self, annotate: Any) -> None:
        mirror, inside = self, "nvtx.annotate"
        init, enter, leave, call = annotate.__init__, annotate.__enter__, annotate.__exit__, annotate.__call__

        def wrapped_init(this: Any, message: Any = None, *args: Any, **kwargs: Any) -> None:
            init(this, message, *args, **kwargs)
            this.lpo_name = message

        def wrapped_enter(this: Any) -> Any:
            result = enter(this)
            mirror.push(this.lpo_name or "(unnamed)", inside)
            return result

        def wrapped_leave(this: Any, *error: Any) -> Any:
            mirror.pop(inside)
            return leave(this, *error)

        def wrapped_call(this: Any, function: Any) -> Any:
            this.lpo_name = this.lpo_name or getattr(function, "__name__", None)
            if issubclass(annotate, contextlib.ContextDecorator):
                return call(this, function)  # an older version: enters this around each call
            annotated = call(this, function)

            @functools.wraps(function)
            def named(*args: Any, **kwargs: Any) -> Any:
                mirror.push(this.lpo_name or "(unnamed)", inside)
                try:
                    return annotated(*args, **kwargs)
                finally:
                    mirror.pop(inside)

            return named

        annotate.__init__, annotate.__call__ = wrapped_init, wrapped_call
        annotate.__enter__, annotate.__exit__ = wrapped_enter, wrapped_leave

    def lpo_is_here(self, module: Any) -> None:
        if hasattr(module, "_observer"):
            module._observer = self
