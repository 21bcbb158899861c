# SPDX-License-Identifier: Apache-2.0
"""Reports while a training goes on: a handler for torch.profiler, a callback for trainers. torch is not imported here."""
from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from typing import Any, Callable, List, Optional

from ._program import LpoError, program

_log = logging.getLogger("lpo")


def _rank_and_world() -> "tuple[int, int]":
    """Of torch.distributed where it is initialised, else of the launcher's environment."""
    dist = getattr(sys.modules.get("torch"), "distributed", None)
    try:
        if dist is not None and dist.is_available() and dist.is_initialized():
            return int(dist.get_rank()), int(dist.get_world_size())
    except (AttributeError, RuntimeError):
        pass  # a torch built without it
    for rank, world in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
        if rank in os.environ and world in os.environ:
            return int(os.environ[rank]), int(os.environ[world])
    return 0, 1


def _tell(traces: List[str], out: str, wait_s: float) -> None:
    """On a thread: lpo makes the report in a child process, and the log gets three lines."""
    until = time.monotonic() + wait_s
    while not all(os.path.exists(t) for t in traces) and time.monotonic() < until:
        time.sleep(0.2)
    there = [t for t in traces if os.path.exists(t)]
    try:
        done = subprocess.run([program(), "report", *there, "-o", out], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode:
            _log.warning("lpo: no report of %s: %s", there[0], done.stderr.decode("utf-8", "replace").strip())
            return
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            answer = json.load(f)
    except (OSError, ValueError, LpoError) as why:
        _log.warning("lpo: no report of %s: %s", there[0] if there else out, why)
        return
    for line in _summary(answer, len(there), len(traces)):
        _log.info("%s", line)
    _log.info("lpo: %s", os.path.join(out, "report.html"))


def _summary(answer: Any, read: int, expected: int) -> List[str]:
    window = (answer.get("window") or {}).get("wall_ns")
    steps = (answer.get("window") or {}).get("steps")
    first = (answer.get("findings") or [None])[0]
    missing = f"; {expected - read} of {expected} ranks were not there yet" if read < expected else ""
    lines = []
    if window:
        lines.append(f"lpo: {window / 1e6:.1f} ms" + (f" in {steps} steps" if steps else "") + missing)
    if first:
        where = f" ({first['where']})" if first.get("where") else ""
        lines.append(f"lpo: first {first['title']}{where}: {first['saving_ns'] / 1e6:.1f} ms could be saved")
    else:
        lines.append("lpo: nothing large could be saved")
    return lines


def trace_handler(folder: "str | os.PathLike[str]", *, report: bool = True, wait_s: float = 60.0) -> Callable[[Any], None]:
    """For ``torch.profiler.profile(on_trace_ready=lpo.trace_handler("runs/x"))``.

    Every trace goes to ``folder/step<N>/rank<R>.json.gz``. Rank 0 then has lpo make the report, over all ranks whose
    traces are there, in a child process: the training goes on meanwhile. The logger "lpo" gets three lines.

    Parameters
    ----------
    folder : path
        Made where it is missing; all ranks that are to be in one report need to see it.
    report : bool
        False: only the traces.
    wait_s : float
        How long rank 0 waits for the traces of the other ranks.

    Returns
    -------
    callable
        With a method ``wait()``: blocks until the reports begun so far are there. A process that ends waits by itself.
    """
    return _Handler(os.fspath(folder), report, wait_s)


class _Handler:
    def __init__(self, folder: str, report: bool, wait_s: float) -> None:
        self.folder, self.report, self.wait_s = folder, report, wait_s
        self.threads: List[threading.Thread] = []

    def __call__(self, profiler: Any) -> None:
        rank, world = _rank_and_world()
        out = os.path.join(self.folder, f"step{getattr(profiler, 'step_num', 0)}")
        os.makedirs(out, exist_ok=True)
        traces = [os.path.join(out, f"rank{r}.json.gz") for r in range(world)]
        partial = os.path.join(out, f".rank{rank}.{os.getpid()}.json.gz")
        profiler.export_chrome_trace(partial)
        os.replace(partial, traces[rank])  # who waits for it never sees half of it
        if self.report and rank == 0:
            t = threading.Thread(target=_tell, args=(traces, os.path.join(out, "report"), self.wait_s), name="lpo-report")
            t.start()
            self.threads.append(t)

    def wait(self) -> None:
        for t in self.threads:
            t.join()
        self.threads.clear()


class _Callback:
    """What Trainer and Lightning call; methods that are not here do nothing."""

    def __init__(self, folder: str, first: int, last: int, make: Optional[Callable[..., Any]]) -> None:
        self.first, self.last = first, last
        self.handler = _Handler(folder, True, 60.0)
        self.profiler: Any = None
        self._make = make

    def _begin(self, step: int) -> None:
        if step != self.first or self.profiler is not None:
            return
        if self._make is None:
            from torch import profiler

            self._make = profiler.profile
        self.profiler = self._make(record_shapes=True)
        self.profiler.__enter__()

    def _step_done(self, step: int) -> None:
        if self.profiler is None:
            return
        if step < self.last:
            self.profiler.step()
        else:
            self._finish()

    def _finish(self) -> None:
        if self.profiler is not None:
            p, self.profiler = self.profiler, None
            p.__exit__(None, None, None)
            self.handler(p)

    # Hugging Face: state.global_step counts the steps that are done
    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._begin(int(state.global_step) + 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._step_done(int(state.global_step))

    # Hugging Face gives (args, state, control), Lightning (trainer, module)
    def on_train_end(self, *args: Any, **more: Any) -> None:
        self._finish()
        self.handler.wait()

    # Lightning: batch_idx counts from 0 in each epoch, trainer.global_step optimizer steps
    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int, *more: Any) -> None:
        self._begin(int(getattr(trainer, "global_step", batch_idx)) + 1)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int, *more: Any) -> None:
        self._step_done(int(getattr(trainer, "global_step", batch_idx + 1)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") or name in ("setup", "teardown"):
            return lambda *args, **more: None
        raise AttributeError(name)


def callback(folder: "str | os.PathLike[str]" = "lpo-runs", *, steps: "tuple[int, int]" = (10, 12),
             make: Optional[Callable[..., Any]] = None) -> Any:
    """For Hugging Face's Trainer and for Lightning: profiles steps N to M, then makes the report.

    Parameters
    ----------
    folder : path
        As of `trace_handler`.
    steps : (int, int)
        First and last step that is profiled; the first step of a training is 1.
    make : callable, optional
        Makes the profiler; else ``torch.profiler.profile``.

    Examples
    --------
    >>> Trainer(model, callbacks=[lpo.callback("runs/x", steps=(10, 12))])    # doctest: +SKIP
    """
    first, last = steps
    if not 1 <= first <= last:
        raise ValueError(f"steps={steps}: first and last step, counted from 1")
    # Both frameworks ask for instances of a class of their own, of which nobody else is one.
    bases = [getattr(sys.modules[m], c) for m, c in (("transformers", "TrainerCallback"), ("lightning.pytorch", "Callback"),
                                                     ("pytorch_lightning", "Callback")) if hasattr(sys.modules.get(m), c)]
    return type("Callback", (_Callback, *bases), {})(os.fspath(folder), first, last, make)
