# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/windows.sh inside and stopped: programs that CUPTI comes to and leaves while they run, and what their traces must hold.

    detach.py flight              four windows of 100 products; the window ends when the last is launched, not when it ended
    detach.py stopped             the same; the windows are opened and closed from outside, as `lpo ctl` does it
    detach.py capture MODE        graphs are captured, in a mode of CUDA, while windows open and close on another thread and
                                  on the capturing one; each replay must give the right result
    detach.py threads SECONDS     three threads launch, a fourth opens windows; the memory of GPU and process must not grow without end
    detach.py alone SECONDS       one thread launches and opens windows, on one core with the threads of the collector: these run when it is
                                  in the middle of a launch. Memory that is freed under it shows in what Python allocates
    detach.py graphs SECONDS      a graph is launched now and then while another thread opens windows: CUPTI must stay, the results be right
    detach.py check FILE.lpot flight|stopped|capture|threads|graphs
    detach.py nodes FULL.lpot PART.lpot      a graph that was captured in one window and launched in the next: its kernels come from
                                             the ranges that a full recording names
"""
import random
import statistics
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collect"))
RANGE, WINDOWS, PRODUCTS = "window", 4, 100
# CUPTI keeps 0.6 and 0.1 MiB each time that it comes, 256 times at most, and has its own buffers when it stays.
GPU_MIB, PROCESS_MIB = 256 * 0.75 + 64, 256 * 0.15 + 128


def flight():
    import torch
    from torch.cuda import nvtx

    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    for _ in range(WINDOWS):
        nvtx.range_push(RANGE)
        for _ in range(PRODUCTS):
            torch.mm(a, a)
        nvtx.range_pop()
        time.sleep(0.6)
    torch.cuda.synchronize()


def stopped():
    import os

    import torch
    from torch.cuda import nvtx

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/gpu"))
    from windows_bench import control

    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    torch.mm(a, a)
    torch.cuda.synchronize()
    waits = []
    for _ in range(WINDOWS):
        control(os.environ["LPO_COLLECT_DIR"], os.getpid(), "start")
        nvtx.range_push(RANGE)
        for _ in range(PRODUCTS):
            torch.mm(a, a)
        nvtx.range_pop()
        started = time.perf_counter()
        control(os.environ["LPO_COLLECT_DIR"], os.getpid(), "stop")
        waits.append(time.perf_counter() - started)
        torch.mm(a, a)
    torch.cuda.synchronize()
    print("stop took " + ", ".join(f"{1e3 * w:.0f}" for w in waits) + " ms")


def poke(stop, pause_s, lengths):
    """Opens and closes windows until told to stop."""
    import torch
    from torch.cuda import nvtx

    a = torch.zeros(64, device="cuda")
    while not stop.is_set():
        started = time.perf_counter()
        nvtx.range_push(RANGE)
        lengths.append(time.perf_counter() - started)
        if pause_s >= 0:
            with torch.cuda.stream(torch.cuda.Stream()):
                a.add_(0)
        nvtx.range_pop()
        time.sleep(abs(pause_s))


def capture_once(torch, nvtx, mode, inside):
    a = torch.ones(1 << 16, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        a.mul_(2)
        if inside:
            nvtx.range_push(RANGE)
        time.sleep(0.03)  # others have time for what they do
        if inside:
            nvtx.range_pop()
            time.sleep(0.03)
        a.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    return float(a[0]) == 3 and float(a[-1]) == 3


def capture(mode):
    import torch
    from torch.cuda import nvtx

    stop, lengths = threading.Event(), []
    torch.zeros(1, device="cuda")
    # Without a launch of its own: a global capture forbids some of what a launch may need.
    thread = threading.Thread(target=poke, args=(stop, -0.01, lengths))
    thread.start()
    right, failures = 0, []
    for i in range(30):
        try:
            right += capture_once(torch, nvtx, mode, inside=i % 3 == 0)
        except RuntimeError as e:
            failures.append(str(e).splitlines()[0])
            break
    stop.set()
    thread.join()
    print(f"{mode}: {right} of 30 captures right, {len(lengths)} windows of the other thread {failures}")
    if right != 30:
        print("FAILED: a capture")


def threads(seconds):
    import torch

    stop, lengths, done, total = threading.Event(), [], [], [0]

    def launch():
        a = torch.eye(256, device="cuda") * 1.0
        n = 0
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop.is_set():
                a = torch.mm(a, a)
                n += 1
                if n % 2000 == 0:
                    torch.cuda.current_stream().synchronize()
            torch.cuda.current_stream().synchronize()
        done.append(bool((a == torch.eye(256, device="cuda")).all()))
        total[0] += n

    def memory():
        free, _ = torch.cuda.mem_get_info()
        with open("/proc/self/statm", encoding="ascii") as f:
            return free / 2**20, int(f.read().split()[1]) * 4096 / 2**20

    torch.zeros(1, device="cuda")
    workers = [threading.Thread(target=launch) for _ in range(3)]
    for w in workers:
        w.start()
    opener = threading.Thread(target=poke, args=(stop, 0.02, lengths))
    opener.start()
    series = []
    for _ in range(4):
        time.sleep(seconds / 4)
        series.append((len(lengths), *memory()))
    (windows, *early), (_, *late) = series[0], series[-1]
    stop.set()
    for w in [*workers, opener]:
        w.join()
    times = sorted(lengths)
    print(f"{len(lengths)} windows, {total[0]} launches; opening one: median {1e3 * statistics.median(times):.1f} ms, longest {1e3 * times[-1]:.1f} ms; "
          f"from window {windows} on GPU memory {early[0] - late[0]:+.0f} MiB, process {late[1] - early[1]:+.0f} MiB")
    print("  windows, MiB of the GPU free, MiB of the process:", "; ".join(f"{n} {g:.0f} {p:.0f}" for n, g, p in series))
    if done != [True] * 3 or early[0] - late[0] > GPU_MIB or late[1] - early[1] > PROCESS_MIB:
        print(f"FAILED: results {done}, memory early {early}, late {late}")


def alone(seconds):
    import os

    import torch
    from torch.cuda import nvtx

    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})  # before CUDA starts threads
    a, windows, kept, until = torch.zeros(64, 64, device="cuda"), 0, [], time.monotonic() + seconds
    while time.monotonic() < until:
        nvtx.range_push(RANGE)
        a = a * 0.5
        nvtx.range_pop()
        windows, leaves = windows + 1, time.monotonic() + 0.025
        while time.monotonic() < leaves:
            a = a * 0.5 + 1
            kept = [*kept[-500:], ["x" * (len(kept) % 100)]]
    right = abs(float(a.max()) - 2) < 1e-3
    print(f"{windows} windows; right: {right}")
    if not right:
        print("FAILED: the result is wrong")


def graphs(seconds):
    import torch

    a = torch.zeros(1 << 20, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(50):
            a.add_(1)
    stop, lengths, replays, chance = threading.Event(), [], 0, random.Random(0)
    opener = threading.Thread(target=poke, args=(stop, 0.03, lengths))
    opener.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(chance.randint(1, 20)):
            graph.replay()
            replays += 1
        time.sleep(chance.random() * 0.06)
        if chance.random() < 0.2:
            torch.cuda.synchronize()
    stop.set()
    opener.join()
    torch.cuda.synchronize()
    right = bool((a == 50 * replays).all())
    print(f"{replays} launches of a graph, {len(lengths)} windows, {sum(t > 0.002 for t in lengths)} of them with CUPTI coming; right: {right}")
    if not right:
        print("FAILED: the result is wrong")


def check(path, kind):
    from lpot import Trace

    t, wrong = Trace(path), []
    kernels = [w for w in t.works if w["kind"] == 3]
    lost = sum(1 for w in t.works if w["path"] is None)
    untimed = sum(1 for w in kernels if "end" not in w)
    mine = [w for w in kernels if w["path"] and w["path"][-1] == RANGE]
    print(f"{kind}: {len(t.windows)} windows, {t.window_calls[1]} of {t.window_calls[0]} calls, {len(kernels)} kernels, {len(mine)} of the range, "
          f"{lost} without a launch, {untimed} without times, {len(t.launches)} launches")
    want = {"flight": WINDOWS * PRODUCTS, "stopped": WINDOWS * PRODUCTS, "threads": t.window_calls[1], "capture": 0}.get(kind)
    if want is not None and len(mine) != want:
        wrong.append(f"{len(mine)} kernels of the range recorded, not {want}")
    alone = [w["corr"] for w in kernels if not w["graph"]]
    if len(set(alone)) != len(alone):
        wrong.append("two kernels have the same launch")
    if lost or untimed:
        wrong.append(f"{lost} kernels have no launch, {untimed} no times")
    for note in t.notes:
        print("  note", note)
    print("FAILED: " + "; ".join(wrong) if wrong else "passed")
    return 1 if wrong else 0


def nodes(full_path, part_path):
    from lpot import Trace

    found = []
    for path in (full_path, part_path):
        t = Trace(path)
        captured = Counter((w["name"], w["captured"] or ()) for w in t.works if w["kind"] == 3 and w["graph"])
        found.append(captured)
        print(f"{len(t.windows)} windows, {sum(captured.values())} kernels of graphs, {len({c for _, c in captured})} ranges in which they were captured")
    same = found[0] == found[1] and any(c for _, c in found[0])
    print("passed" if same else f"FAILED: only in the full trace {(found[0] - found[1]).most_common(3)}, only in the other {(found[1] - found[0]).most_common(3)}")
    return 0 if same else 1


if __name__ == "__main__":
    if sys.argv[1] in ("check", "nodes"):
        sys.exit((check if sys.argv[1] == "check" else nodes)(sys.argv[2], sys.argv[3]))
    {"flight": flight, "stopped": stopped, "capture": capture, "threads": lambda s: threads(float(s)), "alone": lambda s: alone(float(s)), "graphs": lambda s: graphs(float(s))}[sys.argv[1]](*sys.argv[2:])
