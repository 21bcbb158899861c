# SPDX-License-Identifier: Apache-2.0
"""A second, independent reader of .lpot files, written from docs/trace-format.md alone.

    python3 lpot.py FILE      prints what is in it

The C reader is compared with it in test_lpot.py; on a GPU machine it stands in for lpo, which is not built there.
"""
import gzip
import struct
import sys
from collections import Counter


def crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError("past the end")
        self.at += n
        return self.data[self.at - n:self.at]

    def v(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def z(self):
        value = self.v()
        return (value >> 1) ^ -(value & 1)

    def text(self):
        return self.take(self.v())


def blocks(data, check_crc):
    at = 16
    while at + 40 <= len(data):
        magic, kind, flags, length, crc, stream, sequence, ticks, real = struct.unpack_from("<IHHIIIIQQ", data, at)
        if magic != 0x424F504C or at + 40 + length > len(data):
            return
        if check_crc and crc32c(data[at:at + 12] + data[at + 16:at + 40 + length]) != crc:
            return
        yield kind, stream, sequence, ticks, real, data[at + 40:at + 40 + length]
        at += 40 + length


class Trace:
    def __init__(self, path, check_crc=None):
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            data = f.read()
        if data[:8] != b"LPOTRACE" or struct.unpack_from("<H", data, 8)[0] != 1:
            raise ValueError(f"{path} is no trace of liblpo-collect.so, version 1")
        self.bytes = len(data)
        self.facts, self.notes, self.totals = {}, [], {}
        self.strings, self.domains, self.threads, self.thread_names = ["(unnamed)"], [""], {}, {}
        self.pairs, self.ranges, self.starts, self.ends = [], [], [], {}
        self.launches, self.nodes, self.clones, self.works = {}, {}, {}, []
        self.graphs, self.listed = {}, set()
        self.calls, self.windows, self.window_calls = [], [], (0, 0)
        self.stray_pops = 0
        streams, gpu = {}, []
        for kind, stream, sequence, ticks, real, payload in blocks(data, len(data) < 1 << 20 if check_crc is None else check_crc):
            self.pairs.append((ticks, real))
            if kind == 1:
                self.take_facts(Cursor(payload))
            elif kind == 2:
                self.take_defs(Cursor(payload))
            elif kind in (3, 10):
                streams.setdefault(stream, []).append((kind == 10, sequence, payload))
            elif kind in (4, 11):
                gpu.append((kind == 11, payload))
            elif kind == 5:
                c = Cursor(payload)
                self.notes.append((c.v(), c.v(), c.text().decode("utf-8", "replace")))
            elif kind == 6:
                c = Cursor(payload)
                while c.more():
                    counter = c.v()
                    self.totals[counter] = max(c.v(), self.totals.get(counter, 0))
            elif kind == 8:
                self.take_calls(stream, Cursor(payload))
            elif kind == 9:
                self.take_windows(Cursor(payload))
        for number, parts in sorted(streams.items()):
            self.take_stream(number, parts)
        self.take_gpu(gpu)
        self.join()

    def take_calls(self, thread, c):
        """CUDA calls that can block: (thread, name, start and end in ticks, count)."""
        ticks = 0
        while c.more():
            ticks += c.v()
            took, name, count = c.v(), self.strings[c.v()], c.v()
            self.calls.append((thread, name, ticks, ticks + took, count))

    def take_windows(self, c):
        """Which part of the run is in the file: (start and end in ticks, why)."""
        self.window_calls, ticks = (c.v(), c.v()), 0
        while c.more():
            start = ticks + c.v()
            ticks = start + c.v()
            self.windows.append((start, ticks, c.v()))

    def take_facts(self, c):
        while c.more():
            key = c.text().decode()
            self.facts[key] = c.text().decode("utf-8", "replace")

    def take_defs(self, c):
        while c.more():
            tag, body = c.byte(), Cursor(c.text())
            if tag == 1:
                self.strings.append(body.data.decode("utf-8", "replace"))
            elif tag == 2:
                self.domains.append(self.strings[body.v()])
            elif tag == 3:
                number, tid, name = body.v(), body.v(), body.v()
                self.threads[number] = (tid, self.strings[name])
            elif tag == 4:
                tid = body.v()
                self.thread_names[tid] = self.strings[body.v()]
            elif tag == 6:
                self.take_graph(body)

    def take_graph(self, c):
        """Nodes of a CUDA graph: kernels, copies (2) and sets (3)."""
        graph, more = c.v(), c.byte()
        nodes, node = self.graphs.setdefault(graph, []), 0
        while c.more():
            kind, node = c.byte(), node + c.z()
            if kind == 1:
                name, numbers = self.strings[c.v()], [c.v() for _ in range(7)]
                nodes.append({"kind": 3, "node": node, "name": name, "grid": tuple(numbers[:3]), "block": tuple(numbers[3:6])})
            else:
                nodes.append({"kind": {2: 4, 3: 6}[kind], "node": node, "bytes": c.v()})
        if not more:
            self.listed.add(graph)

    def name(self, c, flags):
        return c.text().decode("utf-8", "replace") if flags & 0x40 else self.strings[c.v()]

    @staticmethod
    def attributes(c, flags):
        if flags & 0x20:
            mask = c.v()
            if mask & 1:
                c.v()
            if mask & 2:
                c.take(4)
            if mask & 4:
                c.take(9)

    def take_stream(self, number, blocks):
        """Blocks of a thread; one that stands for itself (fresh) starts with the ranges that are open."""
        ticks = corr = node = original = again = expected = 0
        stack = []
        for fresh, sequence, payload in blocks:
            c = Cursor(payload)
            if fresh:
                if sequence != expected:
                    for _, _, row in stack:
                        self.ranges[row][4] = ticks
                    stack = []
                ticks, corr, node, original, again = 0, 0, 0, 0, len(stack)
            expected = sequence + 1
            ticks, corr, node, original = self.take_events(number, c, stack, again, (ticks, corr, node, original))
            again = 0

    def take_events(self, number, c, stack, again, bases):
        ticks, corr, node, original = bases
        while c.more():
            tag = c.byte()
            kind, flags = tag & 15, tag & 0xF0
            ticks += c.v()
            domain = self.domains[c.v()] if flags & 0x10 and kind <= 5 else ""
            if kind == 1:
                name = self.name(c, flags)
                self.attributes(c, flags)
                if flags & 0x80 and again:
                    again -= 1
                    continue
                self.ranges.append([number, domain, name, ticks, None])
                stack.append((domain, name, len(self.ranges) - 1))
            elif kind == 2:
                mine = [i for i, s in enumerate(stack) if s[0] == domain]
                if mine:
                    self.ranges[stack.pop(mine[-1])[2]][4] = ticks
                else:
                    self.stray_pops += 1
            elif kind == 3:
                ident, name = c.v(), self.name(c, flags)
                self.attributes(c, flags)
                self.starts.append((ident, domain, name, ticks))
            elif kind == 4:
                self.ends[c.v()] = ticks
            elif kind == 5:
                self.name(c, flags)
                self.attributes(c, flags)
            elif kind == 6:
                corr = (corr + c.z()) & 0xFFFFFFFF
                self.launches[corr] = (ticks, number, tuple((d + "@" if d else "") + n for d, n, _ in stack))
            elif kind == 7:
                pass
            elif kind == 8:
                node = (node + c.z()) & (1 << 64) - 1
                self.nodes.setdefault(node, tuple((d + "@" if d else "") + n for d, n, _ in stack))
            elif kind == 9:
                node = (node + c.z()) & (1 << 64) - 1
                original = (original + c.z()) & (1 << 64) - 1
                self.clones.setdefault(node, original)
            else:
                raise ValueError(f"event kind {kind}")
        return ticks, corr, node, original

    def take_gpu(self, blocks):
        state = [0, 0, 0, [], []]
        for fresh, payload in blocks:
            if fresh:
                state = [0, 0, 0, [], []]
            self.take_records(Cursor(payload), state)

    def take_records(self, c, state):
        start, corr, node, places, shapes = state
        while c.more():
            tag = c.byte()
            kind, flags = tag & 15, tag & 0xF0
            if kind == 1:
                places.append((c.v(), c.v(), c.v()))
                continue
            if kind == 2:
                name = self.strings[c.v()]
                numbers = [c.v() for _ in range(10)]
                shapes.append((name, tuple(numbers[:3]), tuple(numbers[3:6]), places[c.v()]))
                continue
            work = {"kind": kind, "graph": bool(flags & 0x10)}
            if kind == 3:
                work["name"], work["grid"], work["block"], work["place"] = shapes[c.v()]
            elif kind in (4, 5):
                work["place"] = places[c.v()]
                work["copy"] = (c.byte(), c.byte(), c.byte())
                work["bytes"] = c.v()
                if kind == 5:
                    c.v(), c.v()
            elif kind == 6:
                work["place"] = places[c.v()]
                work["memory"], _, work["bytes"] = c.byte(), c.v(), c.v()
            elif kind == 7:
                work["place"], work["graph_id"] = places[c.v()], c.v()
            else:
                raise ValueError(f"GPU record kind {kind}")
            if not flags & 0x20:
                start += c.z()
                work["start"] = start
                work["end"] = start + c.v()
            corr = (corr + c.z()) & 0xFFFFFFFF
            work["corr"] = corr
            if flags & 0x10:
                work["graph_id"] = c.v()
                node = (node + c.z()) & (1 << 64) - 1
                work["node"] = node
            self.works.append(work)
        state[:3] = start, corr, node

    def laid_out(self, work):
        """A whole launch of a graph as the works it stands for, without times; anything else as it is."""
        if work["kind"] != 7 or work["graph_id"] not in self.listed:
            return [work]
        return [{**node, **{k: work[k] for k in ("corr", "place", "graph_id")}, "graph": True, "whole": work}
                for node in self.graphs[work["graph_id"]]]

    def join(self):
        self.spans = [w["end"] - w["start"] for w in self.works if "end" in w]
        self.works = [part for work in self.works for part in self.laid_out(work)]
        for work in self.works:
            launch = self.launches.get(work["corr"])
            work["launched"] = launch[0] if launch else None
            work["path"] = launch[2] if launch else None
            node = work.get("node")
            for _ in range(16):
                if node not in self.clones:
                    break
                node = self.clones[node]
            work["captured"] = self.nodes.get(node)

    def kernels(self):
        """In the order of their launches; those of one graph launch in the order they ran."""
        found = [w for w in self.works if w["kind"] == 3]
        return sorted(found, key=lambda w: (w["launched"] or 0, w.get("whole", w).get("start", 0)))


def main():
    trace = Trace(sys.argv[1])
    print(f"{trace.bytes} bytes, {len(trace.works)} works, {len(trace.launches)} launches, {len(trace.ranges)} ranges, "
          f"{len(trace.starts)} start/end, {len(trace.nodes)} nodes, {len(trace.clones)} clones")
    for key, value in trace.facts.items():
        print(f"  {key} = {value}")
    for code, count, text in trace.notes:
        print(f"  note {code} x{count}: {text}")
    print("  totals", trace.totals)
    if trace.windows:
        print(f"  {len(trace.windows)} windows, {trace.window_calls[1]} of {trace.window_calls[0]} calls recorded")
    for name, count in Counter(call[1] for call in trace.calls).most_common():
        print(f"  {count:8} calls of {name}")
    kinds = Counter(w["kind"] for w in trace.works)
    lost = Counter(w["kind"] for w in trace.works if w["path"] is None)
    outside = sum(1 for w in trace.works if w["path"] == ())
    print(f"  works by kind {dict(kinds)}, without a launch {dict(lost)}, outside every range {outside}")
    paths = Counter("/".join(w["path"]) for w in trace.works if w["path"] is not None)
    for path, count in paths.most_common(20):
        print(f"  {count:8} {path or '(outside)'}")


if __name__ == "__main__":
    main()
