"""Three CUDA graphs of five kernels each, replayed in ranges A, B, A2 and C; A is gone when C is made.

For scripts/gpu/collect.sh: with LPO_COLLECT_GRAPH_LAUNCHES=4 each range but A2 must show 20 kernels and 8 whole graphs.
"""
import torch
from torch.cuda import nvtx


def captured(value):
    for _ in range(2):
        value.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            value.add_(1)
    return graph


def replayed(name, graph, times):
    with nvtx.range(name):
        for _ in range(times):
            graph.replay()
        torch.cuda.synchronize()


x = torch.zeros(1 << 20, device="cuda")
first = captured(x)
replayed("A", first, 12)
second = captured(x)
replayed("B", second, 12)
replayed("A2", first, 3)
del first
torch.cuda.synchronize()
third = captured(x)
replayed("C", third, 12)
