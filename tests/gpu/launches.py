# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu/windows.sh counted: programs that reach the driver in several ways, and traces of them compared.

    launches.py run torch|backward|triton|cupy     40 calls of the range "step", with the same launches in every run
    launches.py compare FULL.lpot PART.lpot BY RANGE      recorded and counted kernels of PART must be those of FULL, in all and in
                                                   calls of RANGE; BY is who counted: callback, hook, or unknown
"""
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collect"))
STEPS, PAUSE_S = 40, 0.02  # time for CUPTI to leave
UNRECORDED, CHOSEN = 18, 19  # of lpot_counter


def with_torch(prepare):
    """Steps on the main thread while another thread launches outside every range."""
    import torch
    from torch.cuda import nvtx

    step = prepare(torch)
    step()
    torch.cuda.synchronize()

    def beside():
        a = torch.zeros(256, device="cuda")
        for _ in range(4000):
            a.add_(1)
            time.sleep(0)

    other = threading.Thread(target=beside)
    other.start()
    for _ in range(STEPS):
        nvtx.range_push("step")
        step()
        nvtx.range_pop()
        time.sleep(PAUSE_S)
    other.join()
    torch.cuda.synchronize()


def prepare_torch(torch):
    """cuBLAS, cuBLASLt, PyTorch's own kernels, sorting and attention."""
    a, half = torch.randn(512, 512, device="cuda"), torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)
    layer = torch.nn.Linear(512, 2048, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(1, 8, 128, 64, device="cuda", dtype=torch.bfloat16)

    def step():
        with torch.no_grad():
            torch.mm(a, a).relu_().sum()
            torch.nn.functional.gelu(layer(half))
            torch.nn.functional.layer_norm(half, (512,))
            torch.nn.functional.scaled_dot_product_attention(q, q, q)
            torch.sort(a.flatten())

    return step


def prepare_backward(torch):
    """The backward thread of autograd launches without a range of its own."""
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(64, 256, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        model(x).square().mean().backward()
        optimizer.step()

    return step


def prepare_triton(torch):
    import launches_triton

    a, b, out = (torch.randn(1 << 16, device="cuda") for _ in range(3))

    def step():
        for _ in range(5):
            launches_triton.add(a, b, out)

    return step


def run_cupy():
    import cupy
    from cupy.cuda import nvtx

    a = cupy.random.rand(512, 512, dtype=cupy.float32)
    for i in range(STEPS + 1):  # the first compiles, outside the range
        if i:
            nvtx.RangePush("step")
        (a @ a).sum()
        cupy.sort(a.ravel())
        cupy.exp(a * 2 + 1)
        if i:
            nvtx.RangePop()
        time.sleep(PAUSE_S)
    cupy.cuda.runtime.deviceSynchronize()


def run(name):
    if name == "cupy":
        run_cupy()
    else:
        with_torch({"torch": prepare_torch, "backward": prepare_backward, "triton": prepare_triton}[name])


def in_range(trace, name):
    return sum(1 for w in trace.kernels() if w["path"] and name in w["path"])


def compare(full_path, part_path, by, name):
    from lpot import Trace

    full, part = Trace(full_path), Trace(part_path)
    said = part.facts.get("launches.counted")
    rows = [("kernels", len(full.kernels()), len(part.kernels()), part.totals.get(UNRECORDED, 0)),
            (f"kernels in {name}", in_range(full, name), in_range(part, name), part.totals.get(CHOSEN, 0))]
    wrong = [] if said == by else [f"counted by {said}, not by {by}"]
    for what, want, recorded, counted in rows:
        print(f"{what}: {recorded} recorded and {counted} counted by {said}: {recorded + counted}; {want} in the full trace; "
              f"{len(part.windows)} windows")
        if by != "unknown" and recorded + counted != want:
            wrong.append(f"{what}: {recorded + counted}, in the full trace {want}")
    for note in part.notes:
        print("note", note)
    print("FAILED: " + "; ".join(wrong) if wrong else "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[2]) if sys.argv[1] == "run" else compare(*sys.argv[2:6]))
