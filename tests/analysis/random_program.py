# SPDX-License-Identifier: Apache-2.0
"""Programs that never ran, for wall_oracle.py: processes, threads and streams that launch, copy, replay graphs and
wait, with everything that a real capture has of oddities, written as Kineto JSON and as an export of nsys."""
import json
import sqlite3
from collections import defaultdict, namedtuple
from decimal import Decimal

# Times are nanoseconds. `corr` is that of the process; None: the source has none. `node`: of a CUDA graph, or None.
Call = namedtuple("Call", "pid tid name start end corr driver")
Op = namedtuple("Op", "kind name device stream start end pid corr node")
Range = namedtuple("Range", "pid tid name start end cat")

LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "hipLaunchKernel", "hipExtModuleLaunchKernel", "cuLaunchKernelEx")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "hipDeviceSynchronize")
OTHERS = ("cudaMalloc", "cudaFree", "cudaEventRecord", "cudaEventQuery", "cuModuleLoadData", "cudaHostAlloc",
          "cudaGraphInstantiate", "cudaStreamIsCapturing")
KERNELS = ("gemm", "relu", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",
           "void flash_fwd_kernel<128>", "vectorized_elementwise_kernel")


class Program:
    """A simulation: each thread goes on from call to call, each stream runs one operation after another."""

    def __init__(self, rng):
        self.rng, self.calls, self.ops, self.ranges = rng, [], [], []
        self.unit = rng.choice((1, 7, 100, 1000))  # few different times meet often
        self.free = defaultdict(int)               # (device, stream): when it is
        self.corr = defaultdict(int)
        self.devices = rng.randint(1, 4)
        for pid in rng.sample(range(100, 120), rng.randint(1, 3)):
            device = rng.randrange(self.devices)
            for tid in range(1, rng.randint(2, 4)):
                self.thread(pid, pid * 10 + tid, device if rng.random() < .8 else rng.randrange(self.devices))
        self.spoil()

    def time(self, *choices):
        return self.unit * self.rng.choice(choices)

    def thread(self, pid, tid, device):
        now, streams = self.time(0, 0, 3, 40), self.rng.sample((0, 7, 13, 20), self.rng.randint(1, 3))
        acts = [self.kernel] * 6 + [self.copy] * 2 + [self.memset, self.graph, self.wait, self.wait, self.other]
        for i in range(self.rng.randint(1, 25)):
            act, start = self.rng.choice(acts), now
            now = act(pid, tid, device, self.rng.choice(streams), now)
            if self.rng.random() < .2:
                self.ranges.append(Range(pid, tid, self.rng.choice(("step", "layer", "aten::mm")), start, now,
                                         self.rng.choice(("user_annotation", "cpu_op", "python_function"))))
            now += self.time(0, 0, 1, 2, self.rng.randint(0, 30))

    def call(self, pid, tid, name, start, length, linked=True):
        """The call, and the number that links it; now and then the row of the driver inside it."""
        self.corr[pid] += 1
        corr = self.corr[pid] if linked else None
        self.calls.append(Call(pid, tid, name, start, start + length, corr, False))
        if linked and self.rng.random() < .2:
            inner = start + (length and self.rng.randint(0, length))
            self.calls.append(Call(pid, tid, "cu" + name.removeprefix("cuda"), inner, self.rng.randint(inner, start + length),
                                   corr, True))
        return corr

    def run(self, kind, name, pid, device, stream, start, length, corr, node=None):
        """As early as the stream allows, or later: it may wait for another one."""
        start = max(start + self.time(-1, 0, 0, 1, 2), self.free[device, stream])
        start += self.time(0, 0, 0, 0, 1, 25)
        self.free[device, stream] = start + length
        self.ops.append(Op(kind, name, device, stream, start, start + length, pid, corr, node))
        return start + length

    def kernel(self, pid, tid, device, stream, now):
        length = self.time(0, 1, 1, 2)
        corr = self.call(pid, tid, self.rng.choice(LAUNCHES), now, length)
        self.run("kernel", self.rng.choice(KERNELS), pid, device, stream, now, self.time(0, 1, 3, self.rng.randint(0, 20)), corr)
        return now + length

    def copy(self, pid, tid, device, stream, now):
        blocks = self.rng.random() < .5
        first, corr = now, self.call(pid, tid, "cudaMemcpy" if blocks else "cudaMemcpyAsync", now, self.time(0, 1, 2))
        end = self.run("copy", "Memcpy HtoD (Pageable -> Device)", pid, device, stream, now, self.time(0, 1, 9), corr)
        call = next(c for c in self.calls[::-1] if c.corr == corr and c.pid == pid and not c.driver)
        if not blocks:
            return call.end
        self.calls[self.calls.index(call)] = call._replace(end=max(call.end, end + self.time(0, 1)))
        return max(first, call.end, end + self.time(1))

    def memset(self, pid, tid, device, stream, now):
        corr = self.call(pid, tid, "cudaMemsetAsync", now, self.time(0, 1))
        self.run("set", "Memset (Device)", pid, device, stream, now, self.time(0, 1, 2), corr)
        return now + self.time(1)

    def graph(self, pid, tid, device, stream, now):
        length = self.time(1, 2, 15)
        corr = self.call(pid, tid, self.rng.choice(("cudaGraphLaunch", "hipGraphLaunch")), now, length)
        for node in range(self.rng.randint(1, 6)):
            kind = self.rng.choice(("kernel", "kernel", "kernel", "copy", "set"))
            self.run(kind, self.rng.choice(KERNELS) if kind == "kernel" else "Memcpy DtoD (Device -> Device)", pid, device,
                     self.rng.choice((stream, stream, stream + 1)), now, self.time(0, 1, 4), corr, 1000 + node)
        return now + length

    def wait(self, pid, tid, device, stream, now):
        ends = [o.end for o in self.ops if o.device == device and (o.stream == stream or self.rng.random() < .3)]
        end = max([now, *ends]) + self.time(0, 0, 1, 12)
        self.call(pid, tid, self.rng.choice(WAITS), now, end - now, self.rng.random() < .7)
        return end

    def other(self, pid, tid, device, stream, now):
        length = self.time(0, 1, 8, self.rng.randint(0, 60))
        self.call(pid, tid, self.rng.choice(OTHERS), now, length, self.rng.random() < .5)
        return now + length

    def spoil(self):
        """A capture that began late or ended early, records without a number, work of nobody."""
        if self.rng.random() < .3:
            cut = self.time(self.rng.randint(0, 60))
            self.calls = [c for c in self.calls if c.start >= cut]
        self.calls = [c for c in self.calls if self.rng.random() < .97]
        self.ops = [o._replace(corr=None) if self.rng.random() < .03 else o for o in self.ops]
        if not self.ops:
            self.run("kernel", "gemm", 100, 0, 7, 0, self.unit, None)


def kineto(program, rank=None):
    """The document, with times as "@1.234@": a double has too few digits for them."""
    rng, events = program.rng, []
    base = rng.choice((0, 1700000000000000000, 6000000))
    pids = {pid: i * 1000000 for i, pid in enumerate(sorted({c.pid for c in program.calls} | {o.pid for o in program.ops}))}

    def event(cat, name, pid, tid, start, end, args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": f"@{Decimal(base + start) / 1000}@",
                       "dur": f"@{Decimal(end - start) / 1000}@", "args": args})

    cats = {"kernel": "kernel", "copy": "gpu_memcpy", "set": "gpu_memset"}
    for o in program.ops:
        args = {"device": o.device, "stream": o.stream, "context": 1}
        if o.corr is not None:
            args["correlation"] = pids[o.pid] + o.corr
        if o.node is not None:
            args["graph node id"] = o.node
        event(cats[o.kind], o.name, o.device, o.stream, o.start, o.end, args)
        if rng.random() < .1:  # has a stream, and is no work
            event(rng.choice(("gpu_user_annotation", "cuda_sync")), "step", o.device, o.stream, o.start, o.end + program.unit,
                  {"stream": o.stream, "device": o.device})
    for c in program.calls:
        args = {} if c.corr is None else {"correlation": pids[c.pid] + c.corr}
        event("cuda_driver" if c.driver else "cuda_runtime", c.name, c.pid, c.tid, c.start, c.end, args)
    for r in program.ranges:
        event(r.cat, r.name, r.pid, r.tid, r.start, r.end, {})
    rng.shuffle(events)
    doc = {"schemaVersion": 1, "traceEvents": events}
    if rank is not None:
        doc["distributedInfo"] = {"rank": rank}
    return json.dumps(doc).replace('"@', "").replace('@"', "")


def nsys(program, path):
    rng, db = program.rng, sqlite3.connect(path)
    op = "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphNodeId INTEGER"
    call = "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER"
    db.executescript(f"""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ({call});
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({op}, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({op}, bytes INTEGER, copyKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET ({op}, bytes INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER,
                                  endGlobalTid INTEGER, domainId INTEGER, rangeId INTEGER)""")
    names = {n: i for i, n in enumerate(sorted({c.name for c in program.calls} | {o.name for o in program.ops}), 1)}
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, n) for n, i in names.items()])
    tables = {"kernel": "KERNEL", "copy": "MEMCPY", "set": "MEMSET"}
    for o in rng.sample(program.ops, len(program.ops)):
        row = (o.start, o.end, o.device, o.stream, o.corr if o.corr is not None else rng.choice((None, 0)), 1 << 56 | o.pid << 24, o.node)
        more = {"kernel": (names[o.name],) * 2, "copy": (64, 1), "set": (64,)}[o.kind]
        db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_{tables[o.kind]} VALUES ({', '.join('?' * len(row + more))})", row + more)
    for c in rng.sample(program.calls, len(program.calls)):
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
                   (c.start, c.end, 1 << 56 | c.pid << 24 | c.tid, c.corr, names[c.name]))
    for r in program.ranges:
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?, NULL, 0, NULL)",
                   (r.start, r.end, r.name, 1 << 56 | r.pid << 24 | r.tid))
    db.commit()
    db.close()
