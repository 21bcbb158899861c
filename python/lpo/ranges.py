# SPDX-License-Identifier: Apache-2.0
"""Ranges, numbers and recording windows for lpo, in any Python program.

    import lpo

    @lpo.range
    def attention(x): ...

    with lpo.range("decode", tokens=len(batch)):
        ...
    lpo.mark("weights loaded")
    with lpo.window():                  # lpo run pipeline.native.capture.range=window
        serve(requests)

One file that needs nothing else: use the installed one, or copy it. It is a client of NVTX: the first call loads the tool
that NVTX_INJECTION64_PATH names (lpo, nsys and ncu set it). Where nothing listens every call is a no-op, so the calls may
stay in the program. PyTorch is not needed and not imported.
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import os
import threading
from numbers import Integral as _Integral, Real as _Real
from typing import Any, Callable, Optional

__all__ = ["end", "listening", "mark", "number", "pop", "push", "range", "start", "window"]

WINDOW = "window"  # the range of lpo.window(), in the domain below; the word for pipeline.*.capture.range
DOMAIN = "lpo"     # numbers are marks of this domain

# NVTX's table of functions: the client names its slots, the tool fills them in.
_SLOTS = 16
_CORE, _CORE2 = 1, 5                                        # modules
_START, _END, _PUSH, _POP, _MARK = 5, 7, 9, 11, 2           # slots of the first
_DOMAIN_MARK, _DOMAIN_START, _DOMAIN_END, _DOMAIN_CREATE = 1, 2, 3, 12  # and of the second
_CALLBACKS, _VERSION = 1, 3
_INT64, _DOUBLE, _ASCII = 2, 3, 1

_GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
_SetVersion = ctypes.CFUNCTYPE(None, ctypes.c_uint32)
_Export = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_table", _GetTable)]


class _Versions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("set_version", _SetVersion)]


class _Payload(ctypes.Union):
    _fields_ = [("int64", ctypes.c_int64), ("double", ctypes.c_double)]


class _Attributes(ctypes.Structure):
    """nvtxEventAttributes_t, version 3."""
    _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
                ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("payload", _Payload), ("message_type", ctypes.c_int32),
                ("message", ctypes.c_char_p)]


class _Tool:
    """The tool that listens. A function that it does not offer is None."""

    def __init__(self, path: Optional[str]) -> None:
        self.push: Optional[Callable[[bytes], int]] = None
        self.pop: Any = None
        self.start: Any = None
        self.end: Any = None
        self.mark: Any = None
        self.domain: Any = None
        self._domain_mark: Any = None
        self._domain_start: Any = None
        self._domain_end: Any = None
        if path:
            try:
                self._load(path)
            except (OSError, AttributeError):
                pass  # a program must not fail because a profiler is not there

    def _load(self, path: str) -> None:
        # Everything the tool keeps a pointer to must live as long as the process.
        self._slots = {module: (ctypes.c_void_p * _SLOTS)() for module in (_CORE, _CORE2, 2, 3, 4, 6)}
        self._tables = {module: self._table_of(slots) for module, slots in self._slots.items()}
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _GetTable(self._get_table))
        self._versions = _Versions(ctypes.sizeof(_Versions), 3, 0, _SetVersion(lambda version: None))
        self._export = _Export(self._export_table)
        self._library = ctypes.CDLL(path)
        init = self._library.InitializeInjectionNvtx2
        init.restype, init.argtypes = ctypes.c_int, [_Export]
        if init(self._export):
            self._take_functions()

    def _take_functions(self) -> None:
        # PYFUNCTYPE keeps the interpreter's lock: a call takes nanoseconds, giving the lock away takes longer
        def function(module: int, slot: int, *types: Any) -> Any:
            at = self._slots[module][slot]
            return ctypes.PYFUNCTYPE(*types)(at) if at else None

        attributes = ctypes.POINTER(_Attributes)
        self.push = function(_CORE, _PUSH, ctypes.c_int, ctypes.c_char_p)
        self.pop = function(_CORE, _POP, ctypes.c_int)
        self.start = function(_CORE, _START, ctypes.c_uint64, ctypes.c_char_p)
        self.end = function(_CORE, _END, None, ctypes.c_uint64)
        self.mark = function(_CORE, _MARK, None, ctypes.c_char_p)
        create = function(_CORE2, _DOMAIN_CREATE, ctypes.c_void_p, ctypes.c_char_p)
        self._domain_mark = function(_CORE2, _DOMAIN_MARK, None, ctypes.c_void_p, attributes)
        self._domain_start = function(_CORE2, _DOMAIN_START, ctypes.c_uint64, ctypes.c_void_p, attributes)
        self._domain_end = function(_CORE2, _DOMAIN_END, None, ctypes.c_void_p, ctypes.c_uint64)
        self.domain = create(DOMAIN.encode()) if create else None

    @staticmethod
    def _table_of(slots: Any) -> Any:
        size, first = ctypes.sizeof(ctypes.c_void_p), ctypes.addressof(slots)
        return (ctypes.c_void_p * _SLOTS)(*(first + size * i for i, _ in enumerate(slots)))

    def _get_table(self, module: int, table: Any, size: Any) -> int:
        if module not in self._tables:
            return 0
        table[0], size[0] = ctypes.addressof(self._tables[module]), _SLOTS
        return 1

    def _export_table(self, which: int) -> Optional[int]:
        found = {_CALLBACKS: self._callbacks, _VERSION: self._versions}.get(which)
        return ctypes.addressof(found) if found is not None else None

    def number(self, name: str, value: Any) -> None:
        payload = _Payload()
        if not isinstance(value, (int, float)):
            if not isinstance(value, _Real):
                return  # a tensor's value would wait for the GPU
            value = int(value) if isinstance(value, _Integral) else float(value)  # numpy's own kinds
        if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
            kind, payload.int64 = _INT64, value
        else:
            try:
                kind, payload.double = _DOUBLE, float(value)
            except OverflowError:
                return
        self._domain_mark(self.domain, _Attributes(3, ctypes.sizeof(_Attributes), 0, 0, 0, kind, 0, payload, _ASCII,
                                                   _encoded(name)))

    def open_window(self) -> int:
        return int(self._domain_start(self.domain, _Attributes(3, ctypes.sizeof(_Attributes), 0, 0, 0, 0, 0, _Payload(),
                                                               _ASCII, WINDOW.encode())))

    def close_window(self, identity: int) -> None:
        self._domain_end(self.domain, identity)


def _encoded(text: Any) -> bytes:
    """Any object is a name by its str(): a program must not fail where a profiler listens and run where none does."""
    return (text if isinstance(text, str) else str(text)).encode("utf-8", "replace")


_lock = threading.Lock()
_tool: Optional[_Tool] = None
_observer: Any = None  # has push(name) and pop(): PyTorch's profiler, where lpo put one into this process


def _find_tool() -> _Tool:
    global _tool
    with _lock:
        if _tool is None:
            _tool = _Tool(os.environ.get("NVTX_INJECTION64_PATH"))
        return _tool


def listening() -> bool:
    """Is there a profiler? For programs that would have to compute a number for it."""
    return _observer is not None or (_tool or _find_tool()).push is not None


def push(name: str, **numbers: float) -> None:
    """Opens a range on this thread, with numbers that belong to it."""
    if _observer is not None:
        _observer.push(name)
    tool = _tool or _find_tool()
    if tool.push is not None:
        tool.push(_encoded(name))
        for key in numbers:
            number(key, numbers[key])


def pop() -> None:
    """Closes the range that this thread opened last."""
    tool = _tool or _find_tool()
    if tool.pop is not None:
        tool.pop()
    if _observer is not None:
        _observer.pop()


def _functions() -> Any:
    """push(bytes) and pop() as directly as they can be had, for lpo's own hooks. Only after listening() was true."""
    tool = _find_tool()
    if _observer is None and tool.push is not None and tool.pop is not None:
        # without types of arguments and result ctypes converts less: bytes are a pointer in any case
        direct: Any = ctypes.PYFUNCTYPE(None)
        return direct(tool._slots[_CORE][_PUSH]), direct(tool._slots[_CORE][_POP])
    return lambda name: push(name.decode("utf-8", "replace")), pop


def number(name: str, value: float) -> None:
    """A number of the open range (tokens, requests, bytes): reports have its sum and mean for every region.
    int, float and numpy's scalars count."""
    tool = _tool or _find_tool()
    if tool.domain is not None and tool._domain_mark is not None:
        tool.number(name, value)


def mark(text: str) -> None:
    """A moment, shown on the timeline."""
    tool = _tool or _find_tool()
    if tool.mark is not None:
        tool.mark(_encoded(text))


def start(name: str) -> int:
    """Opens a range that any thread may close, by end() with what this returns: a request, for example."""
    tool = _tool or _find_tool()
    return int(tool.start(_encoded(name))) if tool.start is not None else 0


def end(identity: int) -> None:
    tool = _tool or _find_tool()
    if identity and tool.end is not None:
        tool.end(identity)


class range:  # noqa: A001 - as torch.cuda.nvtx names it
    """A range around a block, or around each call of a function:

        with lpo.range("decode", tokens=8): ...
        @lpo.range                          # the function's own name
        @lpo.range("attention")
    """

    __slots__ = ("name", "numbers")

    def __new__(cls, name: Any = None, **numbers: float) -> Any:
        made = super().__new__(cls)
        if callable(name):
            range.__init__(made, None, **numbers)
            return made(name)
        return made

    def __init__(self, name: Optional[str] = None, **numbers: float) -> None:
        self.name, self.numbers = name, numbers

    def __enter__(self) -> "range":
        push(self.name or "(unnamed)", **self.numbers)
        return self

    def __exit__(self, *error: Any) -> None:
        pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        name, numbers = self.name or function.__qualname__.rpartition("<locals>.")[2], self.numbers
        # What waits in the middle lets other code of its thread run, which must not lie inside it: no push there
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                identity = start(name)
                try:
                    return await function(*args, **kwargs)
                finally:
                    end(identity)
            return coroutine
        if inspect.isasyncgenfunction(function):
            @functools.wraps(function)
            async def stream(*args: Any, **kwargs: Any) -> Any:
                identity, inner = start(name), function(*args, **kwargs)
                try:
                    value = await inner.__anext__()
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # athrow(): the function's to handle
                            value = await inner.athrow(error)
                        else:
                            value = await inner.asend(sent)
                except StopAsyncIteration:
                    pass
                finally:
                    try:
                        await inner.aclose()
                    finally:
                        end(identity)
            return stream
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                identity = start(name)
                try:
                    return (yield from function(*args, **kwargs))
                finally:
                    end(identity)
            return generator

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            push(name, **numbers)
            try:
                return function(*args, **kwargs)
            finally:
                pop()
        return wrapped


class window:
    """What is to be recorded, of all threads, where the run was started with pipeline.native.capture.range=window;
    nothing otherwise. nsys and ncu take the same word."""

    __slots__ = ("_identity",)

    def __enter__(self) -> "window":
        tool = _tool or _find_tool()
        opens = tool.domain is not None and tool._domain_start is not None
        self._identity = tool.open_window() if opens else 0
        return self

    def __exit__(self, *error: Any) -> None:
        if self._identity:
            (_tool or _find_tool()).close_window(self._identity)
