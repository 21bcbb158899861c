# SPDX-License-Identifier: Apache-2.0
"""Small files with a million of something that a program has a few of: names, streams, processes, levels, counters.

Each kind of each format is a function that writes one file of `n` things. The work of a reader or of a table that searches a list for
each of them, or keeps a table for each, grows with the square of n: with a million that is hours.
"""
from __future__ import annotations

import gzip
import sqlite3
import struct
from collections.abc import Callable, Iterable

from mutants import crc32c

Writer = Callable[[str, int], None]
FLOODS: dict[str, Writer] = {}
SUFFIX = {"kineto": ".json.gz", "nsys": ".sqlite", "ncu": ".csv", "native": ".lpot"}


def flood(write: Writer) -> Writer:
    """`kineto_streams` is the flood "kineto streams"."""
    FLOODS[write.__name__.replace("_", " ")] = write
    return write


def suffix(name: str) -> str:
    return SUFFIX[name.split()[0]]


# Kineto -----------------------------------------------------------------------------------------------------------------------


def kineto(path: str, events: Iterable[str]) -> None:
    with gzip.open(path, "wt", compresslevel=1) as f:
        f.write('{"schemaVersion":1,"traceEvents":[')
        f.write(",".join(events))
        f.write("]}")


def span(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, args: str = "") -> str:
    return f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}'


def kernel(name: str, i: int, ts: float, device: int = 0, stream: int = 7, more: str = "") -> str:
    return span("kernel", name, device, stream, ts, 1, f'"device":{device},"stream":{stream},"correlation":{i}{more}')


def launch(i: int, ts: float, pid: int = 1, tid: int = 1, name: str = "cudaLaunchKernel") -> str:
    return span("cuda_runtime", name, pid, tid, ts, 1, f'"correlation":{i}')


@flood
def kineto_kernels(path: str, n: int) -> None:
    kineto(path, (kernel(f"k{i}", i, 2 * i) for i in range(n)))


@flood
def kineto_long_kernel_names(path: str, n: int) -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, {}ul> >(int)"
    kineto(path, (kernel(name.replace("{}", str(i)), i, 2 * i) for i in range(n // 2)))


@flood
def kineto_launched_kernels(path: str, n: int) -> None:
    """Below ten ranges: each kernel is in ten lists."""
    ranges = [span("user_annotation", f"r{i}", 1, 1, i, 10 * n - 2 * i) for i in range(10)]
    kineto(path, [*ranges, *(e for i in range(n // 4) for e in (launch(i, 100 + 2 * i), kernel(f"k{i}", i, 101 + 2 * i)))])


@flood
def kineto_ranges(path: str, n: int) -> None:
    kineto(path, (span("user_annotation", f"r{i}", 1, 1, 2 * i, 1) for i in range(n)))


@flood
def kineto_ranges_with_kernels(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 3) for e in (span("user_annotation", f"r{i}", 1, 1, 10 * i, 8), launch(i, 10 * i + 1),
                                                     kernel(f"k{i % 100}", i, 10 * i + 2))))


@flood
def kineto_levels(path: str, n: int) -> None:
    kineto(path, (span("user_annotation", f"r{i % 7}", 1, 1, i, 4 * n - 2 * i) for i in range(n)))


@flood
def kineto_overlaps(path: str, n: int) -> None:
    kineto(path, (span("user_annotation", f"r{i % 1000}", 1, 1, i * 10, 2550 + i % 7 * 10) for i in range(n)))


@flood
def kineto_operators(path: str, n: int) -> None:
    kineto(path, (span("cpu_op", f"aten::op{i}", 1, 1, 2 * i, 1) for i in range(n)))


@flood
def kineto_operators_with_kernels(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 3) for e in (span("cpu_op", f"aten::op{i}", 1, 1, 10 * i, 8), launch(i, 10 * i + 1),
                                                     kernel(f"k{i % 100}", i, 10 * i + 2))))


@flood
def kineto_shapes(path: str, n: int) -> None:
    kineto(path, (span("cpu_op", "aten::mm", 1, 1, 2 * i, 1, f'"Input Dims":[[{i},2],[2,{i}]],"Input type":["float","float"]') for i in range(n)))


@flood
def kineto_deep_operators(path: str, n: int) -> None:
    kineto(path, [*(span("cpu_op", f"aten::op{i % 7}", 1, 1, i, 4 * n - 2 * i) for i in range(n // 2)),
                  *(e for i in range(n // 8) for e in (launch(i, n + i), kernel("k", i, n + i + 1)))])


@flood
def kineto_deep_python(path: str, n: int) -> None:
    kineto(path, [*(span("python_function", f"a.py({i}): f", 1, 1, i, 4 * n - 2 * i) for i in range(n // 2)),
                  *(e for i in range(n // 8) for e in (launch(i, n + 9 * i), kernel("k", i, n + 9 * i + 1)))])


@flood
def kineto_streams(path: str, n: int) -> None:
    kineto(path, (kernel("k", i, 2 * i, stream=i) for i in range(n)))


@flood
def kineto_devices(path: str, n: int) -> None:
    kineto(path, (kernel("k", i, 2 * i, device=i) for i in range(n)))


@flood
def kineto_threads(path: str, n: int) -> None:
    kineto(path, (span("user_annotation", f"r{i % 5}", 1, i, 2 * i, 1) for i in range(n)))


@flood
def kineto_threads_that_launch(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 3) for e in (span("user_annotation", "r", 1, i, 10 * i, 8), launch(i, 10 * i + 1, tid=i),
                                                     kernel(f"k{i % 100}", i, 10 * i + 2))))


@flood
def kineto_processes(path: str, n: int) -> None:
    kineto(path, (span("user_annotation", f"r{i % 5}", i, i, 2 * i, 1) for i in range(n)))


@flood
def kineto_processes_that_launch(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 3) for e in (span("user_annotation", "r", i, i, 10 * i, 8), launch(i, 10 * i + 1, i, i),
                                                     kernel(f"k{i % 100}", i, 10 * i + 2, device=i % 64))))


@flood
def kineto_named_processes(path: str, n: int) -> None:
    kineto(path, [*(f'{{"ph":"M","name":"process_name","pid":{i},"tid":0,"args":{{"name":"p{i}"}}}}' for i in range(n)), kernel("k", 1, 1)])


@flood
def kineto_marks(path: str, n: int) -> None:
    kineto(path, [*(f'{{"ph":"i","s":"t","cat":"user_annotation","name":"m{i}","pid":1,"tid":1,"ts":{i}}}' for i in range(n)), kernel("k", 1, 1)])


@flood
def kineto_counters(path: str, n: int) -> None:
    kineto(path, [*(f'{{"ph":"C","name":"c{i}","pid":1,"tid":1,"ts":{i},"args":{{"v{i}":{i}}}}}' for i in range(n)), kernel("k", 1, 1)])


@flood
def kineto_memory(path: str, n: int) -> None:
    kineto(path, (f'{{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":{i},"args":{{"Total Allocated":{i},'
                  f'"Addr":{i},"Bytes":512,"Device Id":{i % 3},"Device Type":1}}}}' for i in range(n)))


@flood
def kineto_calls(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 3) for e in (launch(n + i, 10 * i + 3, name=f"cudaWait_{i}"), launch(i, 10 * i + 1),
                                                     kernel("k", i, 10 * i + 2))))


@flood
def kineto_copies(path: str, n: int) -> None:
    kineto(path, (span("gpu_memcpy", f"Memcpy HtoD {i}", 0, 7, 2 * i, 1, f'"device":0,"stream":7,"correlation":{i},"bytes":{i}') for i in range(n)))


@flood
def kineto_one_correlation(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 2) for e in (launch(1, 10 * i + 1), kernel(f"k{i % 9}", 1, 10 * i + 2))))


@flood
def kineto_graphs(path: str, n: int) -> None:
    kineto(path, (kernel(f"k{i % 9}", i // 3, 2 * i, more=f',"graph id":{i},"graph node id":{i}') for i in range(n)))


@flood
def kineto_at_one_moment(path: str, n: int) -> None:
    kineto(path, (e for i in range(n // 3) for e in (span("user_annotation", f"r{i % 9}", 1, 1, 5, 9), launch(i, 6), kernel(f"k{i % 9}", i, 7))))


@flood
def kineto_flows(path: str, n: int) -> None:
    kineto(path, [*(f'{{"ph":"{"sf"[i % 2]}","id":{i},"cat":"ac2g","name":"ac2g","pid":1,"tid":{i},"ts":{i},"bp":"e"}}' for i in range(n)), kernel("k", 1, 1)])


@flood
def kineto_collectives(path: str, n: int) -> None:
    kineto(path, (kernel(f"ncclDevKernel_AllReduce_Sum_{i}", i, 2 * i, stream=i % 50,
                         more=f',"Process Group Name":"{i}","Collective name":"allreduce","Group size":{i}') for i in range(n)))


# Nsight Systems ---------------------------------------------------------------------------------------------------------------

NSYS = """
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, text TEXT, domainId INTEGER,
    globalTid INTEGER, textId INTEGER);
"""
PID = 1 << 24


def nsys(path: str, strings: Iterable = (), kernels: Iterable = (), calls: Iterable = (), ranges: Iterable = ()) -> None:
    """Rows: (id, text); (start, end, device, stream, correlation, pid, name); (start, end, tid, correlation, name); (start, end, type, tid, text, domain)."""
    db = sqlite3.connect(path)
    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + NSYS)
    db.executemany("INSERT INTO StringIds VALUES(?, ?)", strings)
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName) VALUES(?,?,?,?,?,?,?)", kernels)
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId) VALUES(?,?,?,?,?)", calls)
    db.executemany("INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, text, domainId) VALUES(?,?,?,?,?,?)", ranges)
    db.commit()
    db.close()


PUSH_POP, START_END, MARK = 59, 60, 34


@flood
def nsys_kernels(path: str, n: int) -> None:
    nsys(path, ((i, f"k{i}") for i in range(n)), ((2 * i, 2 * i + 1, 0, 7, i, PID, i) for i in range(n)))


@flood
def nsys_launched_kernels(path: str, n: int) -> None:
    n //= 4
    nsys(path, [(0, "cudaLaunchKernel"), *((i + 1, f"k{i}") for i in range(n))], ((100 + 4 * i, 102 + 4 * i, 0, 7, i, PID, i + 1) for i in range(n)),
         ((99 + 4 * i, 100 + 4 * i, PID | 1, i, 0) for i in range(n)), ((i, 10 * n - i, PUSH_POP, PID | 1, f"r{i}", 0) for i in range(10)))


@flood
def nsys_ranges(path: str, n: int) -> None:
    nsys(path, ranges=((2 * i, 2 * i + 1, PUSH_POP, PID | 1, f"r{i}", 0) for i in range(n)))


@flood
def nsys_start_end_ranges(path: str, n: int) -> None:
    nsys(path, [(0, "cudaLaunchKernel"), (1, "k")], ((8 * i, 8 * i + 1, 0, 7, i, PID, 1) for i in range(n // 4)),
         ((8 * i - 1, 8 * i, PID | 1, i, 0) for i in range(n // 4)), ((4 * i, 4 * i + 3000, START_END, PID | 1, f"r{i}", 0) for i in range(n // 4)))


@flood
def nsys_levels(path: str, n: int) -> None:
    nsys(path, ranges=((i, 4 * n - i, PUSH_POP, PID | 1, f"r{i % 7}", 0) for i in range(n)))


@flood
def nsys_domains(path: str, n: int) -> None:
    nsys(path, ranges=[*((0, None, 75, PID | 1, f"d{i}", i) for i in range(n // 2)), *((2 * i, 2 * i + 1, PUSH_POP, PID | 1, "r", i) for i in range(n // 2))])


@flood
def nsys_marks(path: str, n: int) -> None:
    nsys(path, ranges=((i, None, MARK, PID | 1, f"m{i}", 0) for i in range(n)))


@flood
def nsys_streams(path: str, n: int) -> None:
    nsys(path, [(0, "k")], ((2 * i, 2 * i + 1, 0, i, i, PID, 0) for i in range(n)))


@flood
def nsys_devices(path: str, n: int) -> None:
    nsys(path, [(0, "k")], ((2 * i, 2 * i + 1, i, 7, i, PID, 0) for i in range(n)))


@flood
def nsys_threads(path: str, n: int) -> None:
    nsys(path, ranges=((2 * i, 2 * i + 1, PUSH_POP, i << 16, "r", 0) for i in range(n)))


@flood
def nsys_processes(path: str, n: int) -> None:
    nsys(path, [(0, "cudaLaunchKernel"), (1, "k")], ((8 * i, 8 * i + 1, i % 64, 7, i, i << 24, 1) for i in range(n // 3)),
         ((8 * i - 1, 8 * i, i << 24 | 1, i, 0) for i in range(n // 3)), ((8 * i - 2, 8 * i + 3, PUSH_POP, i << 24 | 1, "r", 0) for i in range(n // 3)))


@flood
def nsys_calls(path: str, n: int) -> None:
    n //= 3
    nsys(path, [(0, "cudaLaunchKernel"), (1, "k"), *((i + 2, f"cudaWait{i}") for i in range(n))], ((8 * i, 8 * i + 1, 0, 7, i, PID, 1) for i in range(n)),
         [*((8 * i - 1, 8 * i, PID | 1, i, 0) for i in range(n)), *((8 * i + 1, 8 * i + 6, PID | 1, n + i, i + 2) for i in range(n))])


@flood
def nsys_one_correlation(path: str, n: int) -> None:
    nsys(path, [(0, "cudaLaunchKernel"), (1, "k")], ((8 * i, 8 * i + 1, 0, 7, 1, PID, 1) for i in range(n // 2)),
         ((8 * i - 1, 8 * i, PID | 1, 1, 0) for i in range(n // 2)))


# Nsight Compute ---------------------------------------------------------------------------------------------------------------

NCU = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC", "Section Name",
       "Metric Name", "Metric Unit", "Metric Value"]


def ncu(path: str, rows: Iterable[tuple]) -> None:
    """Rows: (id, process, kernel, stream, device, metric, value)."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(f'"{c}"' for c in NCU) + "\n")
        f.writelines(f'"{i}","{p}","python","127.0.0.1","{k}","1","{s}","(32, 1, 1)","(1, 1, 1)","{d}","9.0","Speed","{m}","ns","{v}"\n'
                     for i, p, k, s, d, m, v in rows)


TIME = "gpu__time_duration.sum"


@flood
def ncu_kernels(path: str, n: int) -> None:
    ncu(path, ((i, 1, f"k{i}", 7, 0, TIME, "5") for i in range(n)))


@flood
def ncu_metrics(path: str, n: int) -> None:
    """One kernel with a hundred thousand metrics, each of its own name."""
    ncu(path, ((0, 1, "k", 7, 0, f"m{i}.sum", "5") for i in range(n // 10)))


@flood
def ncu_metrics_of_kernels(path: str, n: int) -> None:
    """Every kernel has a metric of its own: a table of all kernels by all metrics has no end."""
    ncu(path, ((i, 1, f"k{i}", 7, 0, f"m{i}.sum", "5") for i in range(n // 10)))


@flood
def ncu_processes(path: str, n: int) -> None:
    ncu(path, ((i, i, "k", 7, i % 64, TIME, "5") for i in range(n)))


@flood
def ncu_streams_and_devices(path: str, n: int) -> None:
    ncu(path, ((i, 1, "k", i, i, TIME, "5") for i in range(n)))


# Our own format ---------------------------------------------------------------------------------------------------------------

FACTS, DEFS, THREAD, GPU, FOOTER = 1, 2, 3, 4, 6
PUSH, POP, START, MARK_EVENT, LAUNCH, RETURN, DOMAIN, INLINE = 1, 2, 3, 5, 6, 7, 0x10, 0x40


def number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def signed(value: int) -> bytes:
    return number(value << 1 ^ value >> 63)


def text(value: str) -> bytes:
    return number(len(value)) + value.encode()


def native(path: str, blocks: Iterable[tuple[int, int, Iterable[bytes]]]) -> None:
    """Blocks: (kind, stream, records); cut where they grow, and framed with their checksum."""
    with open(path, "wb") as f:
        f.write(b"LPOTRACE" + struct.pack("<HHI", 1, 3, 0))
        sequences: dict[tuple[int, int], int] = {}
        clock = [0]

        def put(kind: int, stream: int, payload: bytes) -> None:
            sequence = sequences.get((kind, stream), 0)
            sequences[kind, stream] = sequence + 1
            head = struct.pack("<IHHI", 0x424f504c, kind, 0, len(payload))
            clock[0] += 100 * len(payload)  # an event takes 100 ns and some bytes
            rest = struct.pack("<IIQQ", stream, sequence, clock[0], 1700000000 * 10**9 + clock[0])
            f.write(head + struct.pack("<I", crc32c(payload, crc32c(rest, crc32c(head)))) + rest + payload)

        put(FACTS, 0, text("pid") + text("42") + text("clock") + text("tsc"))
        for kind, stream, records in blocks:
            payload = bytearray()
            for record in records:
                payload += record
                if len(payload) > 60000:
                    put(kind, stream, bytes(payload))
                    payload.clear()
            if payload:
                put(kind, stream, bytes(payload))
        put(FOOTER, 0, b"")


def event(tag: int, *parts: bytes) -> bytes:
    return bytes([tag]) + number(100) + b"".join(parts)


def named(i: int, tag: int = PUSH) -> bytes:
    return event(tag | INLINE, text(f"r{i}"))


SHAPE = number(32) * 6 + number(0) * 5


@flood
def native_ranges(path: str, n: int) -> None:
    native(path, [(THREAD, 1, (named(i) + event(POP) for i in range(n)))])


@flood
def native_levels(path: str, n: int) -> None:
    native(path, [(THREAD, 1, (named(i % 7) for i in range(n)))])


@flood
def native_marks(path: str, n: int) -> None:
    native(path, [(THREAD, 1, (named(i, MARK_EVENT) for i in range(n)))])


@flood
def native_threads(path: str, n: int) -> None:
    native(path, ((THREAD, i + 1, [named(i % 7) + event(POP)]) for i in range(n // 4)))


@flood
def native_domains(path: str, n: int) -> None:
    native(path, [(DEFS, 0, [bytes([1]) + text("d"), *(bytes([1]) + text(f"d{i}") + bytes([2]) + number(i + 2) for i in range(n // 2))]),
                  (THREAD, 1, (event(PUSH | DOMAIN | INLINE, number(i + 1), text("r")) for i in range(n // 2)))])


@flood
def native_open_start_end_ranges(path: str, n: int) -> None:
    native(path, [(THREAD, 1, (event(START | INLINE, number(i), text(f"r{i}")) for i in range(n)))])


@flood
def native_kernels(path: str, n: int) -> None:
    """Each with a name and a stream of its own; ids of places and shapes follow each other."""
    n //= 4
    native(path, [(DEFS, 0, (bytes([1]) + text(f"k{i}") for i in range(n))),
                  (THREAD, 1, (event(LAUNCH, signed(1)) + event(RETURN) for _ in range(n))),
                  (GPU, 0, [b"\1" + number(0) + number(1) + number(7), *(b"\2" + number(i + 1) + SHAPE for i in range(n)),
                            *(b"\3" + number(i) + signed(1700000000 * 10**9 if i == 0 else 10) + number(5) + signed(1) for i in range(n))])])


@flood
def native_places(path: str, n: int) -> None:
    n //= 4
    native(path, [(GPU, 0, (b"\1" + number(i) + number(1) + number(i) + b"\6" + number(i) + b"\0" + number(0) + number(4) +
                            signed(1700000000 * 10**9 if i == 0 else 10) + number(5) + signed(1) for i in range(n)))])
