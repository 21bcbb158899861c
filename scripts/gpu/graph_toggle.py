"""Can CUPTI be switched between whole graphs and nodes while a program runs? toggle.py sync|async

The collector is loaded and records nodes; this program switches GRAPH_TRACE on and off by itself between launches.
"""
import ctypes
import faulthandler
import sys

import torch
from torch.cuda import nvtx

faulthandler.enable()
GRAPH_TRACE = 51


def cupti():
    for line in open("/proc/self/maps"):
        if "libcupti" in line:
            return ctypes.CDLL(line.split()[-1])
    raise SystemExit("no libcupti here")


x = torch.zeros(1 << 20, device="cuda")
x.add_(1)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    for _ in range(5):
        x.add_(1)
lib = cupti()
for step, (name, call) in enumerate([("nodes", None), ("whole", lib.cuptiActivityEnable),
                                     ("nodes2", lib.cuptiActivityDisable), ("whole2", lib.cuptiActivityEnable)]):
    if sys.argv[1] == "sync":
        torch.cuda.synchronize()
    if call:
        print(name, "returned", call(GRAPH_TRACE), flush=True)
    with nvtx.range(name):
        for _ in range(4):
            graph.replay()
torch.cuda.synchronize()
print("lived", flush=True)
