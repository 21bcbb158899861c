# SPDX-License-Identifier: Apache-2.0
"""The profiler that sitecustomize installs: waits for torch, records, writes at the end.

The settings file (JSON):
    out_dir          folder for <pid>.trace.json.gz, and <pid>.status.json beside it; a rank of a job: rank3.trace.json.gz
    ranks            which ranks of a job record: "all", "node" (local rank 0) or numbers with commas (default all)
    launchers        the variables that say which rank this is: [rank, local rank, world size] of each launcher
    activities       ["cpu", "cuda"]; those this torch lacks are left out
    record_shapes, profile_memory, with_stack       as torch.profiler names them
    schedule         {"wait", "warmup", "active", "repeat"}: steps; active 0 or absent is the whole program
    step             what ends a step: "module" (a call of an outermost nn.Module: one forward pass),
                     "optimizer" (an optimizer's step), "range" (a record_function of the name below)
    step_range       that name; "step" by default
    nvtx             ranges of torch.cuda.nvtx, of the package nvtx and of lpo.py are in the trace too (default true)
    all_threads      record operators of every thread where torch can (default true; not with profile_memory, which
                     records nothing then)

Recording begins with `import torch`; where a GPU is to be recorded, with the program's first use of CUDA, since
to begin earlier would fix CUDA_VISIBLE_DEVICES before the program could set it. A module called before that
means a model on the CPU: it begins there, without the GPU. It ends with the program. With a schedule, every
finished active phase is one file: <pid>.trace.json.gz, <pid>.1.trace.json.gz and so on. A child made by fork writes nothing:
it shares its parent's profiler. A child that starts Python anew is a process of its own, with its own files.
"""
from __future__ import annotations

import atexit
import gzip
import json
import os
import sys
import threading
from typing import Any, Callable, Optional

import lpo_annotate
import lpo_mirror
import lpo_on_import
import lpo_rank

MARKER = "lpo:step:"
USER_SCOPE = 7  # at::RecordScope::USER_SCOPE


class Recorder:
    """One profiler in one process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.out = str(settings["out_dir"])
        self.pid = os.getpid()
        self.rank = lpo_rank.find(settings.get("launchers") or [])
        self.name = ""  # what its files begin with; see claim()
        self.files: list[str] = []
        self.state = "waiting for torch"
        self.error: Optional[str] = None
        self.notes: list[str] = []
        self.mirror: Optional[lpo_mirror.Mirror] = None
        self.torch: Any = None
        self.profiler: Any = None
        self.phases = Phases(settings.get("schedule") or {})
        self.kineto = False
        self.steps = 0
        self.depth = 0  # nesting of module calls
        self.begin_ns = 0
        self.thread = 0  # that started the profiler
        self.all_threads = False

    # Names

    def claim(self) -> str:
        """The first process of a rank is named after it, by making its status file; the others have their pid as well."""
        if not self.name:
            self.name = str(self.pid) if self.rank is None else f"rank{self.rank.rank}"
            try:
                if self.rank is not None:
                    os.close(os.open(os.path.join(self.out, self.name + ".status.json"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            except FileExistsError:
                self.name += f".{self.pid}"
        return self.name

    # Status

    def status(self) -> None:
        """Writes a status file beside the traces, so that lpo can say why a trace is missing."""
        os.makedirs(self.out, exist_ok=True)
        path = os.path.join(self.out, f"{self.claim()}.status.json")
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump({
                # the name alone: arguments may hold secrets, which only lpo itself can recognise
                "schema": "lpo.torch_process/2", "pid": self.pid, "rank": self.rank.rank if self.rank else None, "program": (getattr(sys, "argv", None) or [""])[0],
                "state": self.state,
                "error": self.error, "notes": self.notes, "files": self.files, "python": sys.version.split()[0],
                "torch": getattr(self.torch, "__version__", None), "settings": self.settings,
            }, file, indent=2)
        os.replace(path + ".tmp", path)

    def guard(self, action: Callable[[], None]) -> None:
        """Runs one step of ours; a failure ends the recording, not the program."""
        if os.getpid() != self.pid or self.state == "failed":
            return
        try:
            action()
        except Exception as error:
            self.state, self.error = "failed", f"{type(error).__name__}: {error}"
            self.profiler = None
            try:
                self.status()
            except Exception:
                pass

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # Starting

    def follow_nvtx(self) -> None:
        """The mirror is asked at every push, also before recording begins and after it has ended."""
        mirror = self.mirror = lpo_mirror.Mirror(lambda: self.profiler is not None and os.getpid() == self.pid, self.note, self.unseen)
        lpo_on_import.when_imported("torch", lambda: self.guard(mirror.torch_is_here))
        lpo_on_import.when_imported("nvtx", lambda: self.guard(mirror.nvtx_is_here))
        lpo_on_import.when_imported("lpo", lambda: self.guard(lambda: mirror.lpo_is_here(sys.modules["lpo"])))
        mirror.lpo_is_here(lpo_annotate.load())

    def torch_is_here(self) -> None:
        import torch

        self.torch = torch
        if not self.records_gpu():
            self.start()
            return
        self.state = "waiting for CUDA"
        torch.cuda._lazy_call(lambda: self.guard(self.start))
        from torch.nn.modules.module import register_module_forward_pre_hook

        def called(module: Any, inputs: Any) -> None:
            handle.remove()
            if not torch.cuda.is_initialized():
                self.guard(self.start)

        handle = register_module_forward_pre_hook(called)

    def records_gpu(self) -> bool:
        """True when a GPU is wanted, this torch can use one, and there is one; does not initialise CUDA."""
        wanted = [str(a).lower() for a in self.settings.get("activities") or ["cuda"]]
        here = os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")
        return "cuda" in wanted and here and self.torch.version.cuda is not None

    def start(self) -> None:
        if self.profiler is not None:
            return
        import time
        import warnings

        import torch.profiler as profiler

        self.kineto = profiler.kineto_available()
        extra: dict[str, Any] = {}
        if self.phases.active:
            self.follow(str(self.settings.get("step") or "module"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's stderr is not ours
            if self.phases.active and self.kineto:
                extra = {"schedule": profiler.schedule(**vars(self.phases)), "on_trace_ready": self.write}
            threads = self.threads()
            self.thread, self.all_threads = threading.get_ident(), bool(threads)
            self.profiler = profiler.profile(
                activities=self.activities(profiler), record_shapes=bool(self.settings.get("record_shapes")),
                profile_memory=bool(self.settings.get("profile_memory")),
                with_stack=bool(self.settings.get("with_stack")), **threads, **extra)
            self.begin_ns = time.time_ns()
            self.say_rank("preset_metadata_json")
            self.profiler.start()
            if not self.phases.active:
                self.say_rank("add_metadata_json")
        self.state = "recording"
        atexit.unregister(self.at_exit)  # handlers run last in, first out: ours must stop the profiler before torch's own handlers run
        atexit.register(self.at_exit)

    def say_rank(self, how: str) -> None:
        """torch writes the rank into the trace where torch.distributed is in use when recording begins, which for us is
        too early. Newer ones take it before they start, older ones after."""
        add = getattr(self.profiler, how, None)
        if self.rank is None or not self.kineto or add is None:
            return
        try:
            add("distributedInfo", json.dumps(self.rank.as_info()))
        except Exception as error:
            self.note(f"the trace does not say which rank it is: {type(error).__name__}: {error}")

    def activities(self, profiler: Any) -> list[Any]:
        known = {str(a).rpartition(".")[2].lower(): a for a in profiler.supported_activities()}
        wanted = [str(a).lower() for a in self.settings.get("activities") or ["cpu", "cuda"]]
        if self.state == "waiting for CUDA" and not self.cuda_in_use():
            wanted = [name for name in wanted if name != "cuda"] or ["cpu"]
        chosen = [known[name] for name in wanted if name in known]
        return chosen or [known["cpu"]]

    def cuda_in_use(self) -> bool:
        """True when CUDA is initialised, or is being initialised by this thread."""
        cuda = self.torch.cuda
        return cuda.is_initialized() or hasattr(getattr(cuda, "_tls", None), "is_initializing")

    def threads(self) -> dict[str, Any]:
        """Operators of every thread, where this torch can. Allocations are reported to the thread that started the
        profiler alone: with both, torch 2.11 records no allocation at all."""
        if not self.settings.get("all_threads", True) or self.settings.get("profile_memory"):
            return {}
        try:
            from torch._C._profiler import _ExperimentalConfig

            return {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}
        except Exception:
            return {}

    def unseen(self) -> bool:
        """Is this thread one that the profiler does not follow? Threads of autograd are followed without being asked for."""
        if self.all_threads or threading.get_ident() == self.thread:
            return False
        return not getattr(self.torch.autograd, "_profiler_enabled", lambda: True)()

    # Steps

    def follow(self, what: str) -> None:
        rules = {"module": self.follow_modules, "optimizer": self.follow_optimizers, "range": self.follow_ranges}
        if what not in rules:
            raise ValueError(f"step is '{what}'; it must be one of {', '.join(rules)}")
        rules[what]()

    def step(self) -> None:
        if self.profiler is None or threading.current_thread() is not threading.main_thread():
            return
        self.steps += 1
        self.guard(self.profiler.step if self.kineto else self.mark)

    def mark(self) -> None:
        """Without Kineto a profiler must not be stopped inside an open range (1.13 aborts): a marker in the
        events says where the step ended, and writing cuts there."""
        with self.torch.autograd.profiler.record_function(f"{MARKER}{self.steps}"):
            pass

    def follow_modules(self) -> None:
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        main = threading.main_thread()

        def enter(module: Any, inputs: Any) -> None:
            if threading.current_thread() is main:
                self.depth += 1

        def leave(module: Any, inputs: Any, output: Any) -> None:
            if threading.current_thread() is not main:
                return
            self.depth = max(0, self.depth - 1)
            if self.depth == 0:
                self.step()

        register_module_forward_pre_hook(enter)
        register_module_forward_hook(leave)

    def follow_optimizers(self) -> None:
        optimizer = self.torch.optim.Optimizer
        original = optimizer.__init__
        recorder = self

        def wrapped(this: Any, *args: Any, **kwargs: Any) -> None:
            original(this, *args, **kwargs)
            if getattr(this, "_lpo_followed", False):
                return
            this._lpo_followed = True
            step = this.step

            def counted(*a: Any, **k: Any) -> Any:
                result = step(*a, **k)
                recorder.step()
                return result

            this.step = counted

        optimizer.__init__ = wrapped

    def follow_ranges(self) -> None:
        name = str(self.settings.get("step_range") or "step")
        record = self.torch.autograd.profiler.record_function
        original = record.__exit__
        recorder = self

        def leave(this: Any, *args: Any) -> Any:
            result = original(this, *args)
            if getattr(this, "name", None) == name:
                recorder.step()
            return result

        record.__exit__ = leave

    # Ending

    def at_exit(self) -> None:
        self.guard(self.stop)

    def stop(self) -> None:
        if self.profiler is None:
            never = {"waiting for torch": "the program never imported torch",
                     "waiting for CUDA": "the program imported torch but called nothing with it"}
            self.state = never.get(self.state, self.state)
            self.status()
            return
        if self.mirror is not None:
            self.mirror.close()
        profiler, self.profiler = self.profiler, None
        profiler.stop()  # with a schedule and Kineto, writes a phase that was cut short
        if not self.kineto:
            for events in self.phases.cut(list(profiler.events())):
                self.write(profiler, events)
        elif not self.phases.active:
            self.write(profiler)
        self.state = "written" if self.files else (
            f"no step of the schedule was reached: the program made {self.steps}, recording begins after "
            f"{self.phases.wait + self.phases.warmup}")
        self.status()

    def write(self, profiler: Any, events: Optional[list[Any]] = None) -> None:
        """Writes the next file: everything the profiler recorded, or only these events."""
        os.makedirs(self.out, exist_ok=True)
        number = len(self.files)
        begin = self.claim()
        name = f"{begin}.trace.json.gz" if number == 0 else f"{begin}.{number}.trace.json.gz"
        temporary = os.path.join(self.out, f".{name}")
        if events is None:
            profiler.export_chrome_trace(temporary)  # gzip by its ending
        else:
            write_events(events, temporary, self.begin_ns, self.rank)
        os.replace(temporary, os.path.join(self.out, name))
        self.files.append(name)


class Phases:
    """The schedule: wait, warm up, record; repeated."""

    def __init__(self, schedule: dict[str, Any]) -> None:
        self.wait, self.warmup, self.active = (int(schedule.get(k) or 0) for k in ("wait", "warmup", "active"))
        self.repeat = int(schedule.get("repeat") or 1)

    def cut(self, events: list[Any]) -> list[list[Any]]:
        """The events of each active phase, by the markers that end the steps; all of them without a schedule."""
        if not self.active:
            return [events]
        ends = sorted(e.time_range.start for e in events if e.name.startswith(MARKER))
        starts = [float("-inf")] + ends  # of step 0, 1, 2, ...
        round_length = self.wait + self.warmup + self.active
        cuts = []
        for number in range(self.repeat):
            first = number * round_length + self.wait + self.warmup
            if first >= len(starts):
                break
            last = first + self.active
            until = starts[last] if last < len(starts) else float("inf")
            cuts.append([e for e in events if starts[first] <= e.time_range.start < until
                         and not e.name.startswith(MARKER)])
        return cuts


def write_events(found: list[Any], path: str, begin_ns: int, rank: Optional[lpo_rank.Rank]) -> None:
    """The trace of a torch built without Kineto, in Kineto's shape: operators and annotations with times."""
    events = []
    for event in found:
        name, span = event.name, event.time_range
        annotation = event.scope == USER_SCOPE
        args: dict[str, Any] = {"External id": event.id}
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        events.append({
            "ph": "X", "cat": "user_annotation" if annotation else "cpu_op", "name": name, "pid": os.getpid(),
            "tid": event.thread, "ts": round(span.start, 3), "dur": round(span.elapsed_us(), 3), "args": args})
    whole = {"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "baseTimeNanoseconds": begin_ns,
             "traceEvents": events, "traceName": path}
    if rank is not None:
        whole["distributedInfo"] = rank.as_info()
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(whole, file)


def install(path: str) -> None:
    """Reads the settings and waits for torch. Called once, by sitecustomize."""
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    recorder = Recorder(settings)
    if not lpo_rank.is_chosen(recorder.rank, str(settings.get("ranks") or "all")) or lpo_rank.is_launcher():
        return
    if settings.get("nvtx", True):
        recorder.follow_nvtx()
    lpo_on_import.when_imported("torch", lambda: recorder.guard(recorder.torch_is_here))
    atexit.register(recorder.at_exit)
