# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges from a Python without CUDA, for whatever tool NVTX_INJECTION64_PATH names.

NVTX is a contract more than a library: the client hands the tool a table of function pointers, the
tool fills in its own. With CUDA, torch.cuda.nvtx does this in C and is used instead.
"""
from __future__ import annotations

import ctypes
import os
from typing import Callable, Optional

_SLOTS, _PUSH, _POP = 16, 9, 11
_CORE, _CORE2 = 1, 5
_CALLBACKS, _VERSION = 1, 3

_GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p),
                             ctypes.POINTER(ctypes.c_uint))
_SetVersion = ctypes.CFUNCTYPE(None, ctypes.c_uint32)
_Export = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_table", _GetTable)]


class _Versions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("set_version", _SetVersion)]


class Client:
    """One instance of the table; alive as long as the ranges are used."""

    def __init__(self, path: str) -> None:
        self._slots = {module: (ctypes.c_void_p * _SLOTS)() for module in (_CORE, _CORE2)}
        self._tables = {module: self._table_of(slots) for module, slots in self._slots.items()}
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _GetTable(self._get_table))
        self._versions = _Versions(ctypes.sizeof(_Versions), 3, 0, _SetVersion(lambda version: None))
        self._export = _Export(self._export_table)
        self._tool = ctypes.CDLL(path)
        init = self._tool.InitializeInjectionNvtx2
        init.restype, init.argtypes = ctypes.c_int, [_Export]
        if not init(self._export):
            raise OSError(f"the NVTX tool '{path}' refused to start")
        core = self._slots[_CORE]
        self.push: Optional[Callable[[bytes], int]] = None
        self.pop: Optional[Callable[[], int]] = None
        if core[_PUSH] and core[_POP]:  # PYFUNCTYPE keeps the interpreter lock: a push takes nanoseconds
            self.push = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(core[_PUSH])
            self.pop = ctypes.PYFUNCTYPE(ctypes.c_int)(core[_POP])

    @staticmethod
    def _table_of(slots: ctypes.Array) -> ctypes.Array:
        size = ctypes.sizeof(ctypes.c_void_p)
        first = ctypes.addressof(slots)
        return (ctypes.c_void_p * _SLOTS)(*[first + i * size for i in range(_SLOTS)])

    def _get_table(self, module: int, table, size) -> int:  # type: ignore[no-untyped-def]
        if module not in self._tables:
            return 0
        table[0] = ctypes.addressof(self._tables[module])
        size[0] = _SLOTS
        return 1

    def _export_table(self, which: int) -> Optional[int]:
        found = {_CALLBACKS: self._callbacks, _VERSION: self._versions}.get(which)
        return ctypes.addressof(found) if found is not None else None


def client() -> Optional[Client]:
    """The client of the injected tool, or None where none is asked for or it cannot be used."""
    path = os.environ.get("NVTX_INJECTION64_PATH")
    if not path:
        return None
    try:
        made = Client(path)
    except (OSError, AttributeError):
        return None
    return made if made.push else None
