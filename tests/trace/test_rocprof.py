#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rocprofv3's JSON: kernels, copies, calls and ROCTx ranges of a file that is made here, and the sums of a public one by a second
reading. Prints TAP."""
from __future__ import annotations

import collections
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

LPO = os.path.abspath(os.environ.get("LPO_BIN", "build/lpo"))
REAL = sorted(glob.glob(os.path.join(HERE, "..", "..", "..", "shared", "data", "traces", "rocprof", "*.json.gz")))


def at(start: int, end: int, correlation: int, **more) -> dict:
    return {"size": 9, "thread_id": 7, "correlation_id": {"internal": correlation, "external": 0}, "start_timestamp": start,
            "end_timestamp": end} | more


def dispatch(start: int, end: int, correlation: int, kernel: int) -> dict:
    return at(start, end, correlation, kind=3, operation=2, stream_id={"handle": 5}, dispatch_info={
        "agent_id": {"handle": 20}, "queue_id": {"handle": 1}, "kernel_id": kernel, "group_segment_size": 64,
        "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 2, "z": 1}})


MADE = {"rocprofiler-sdk-tool": [{
    "metadata": {"pid": 908, "command": ["private"]},
    "agents": [{"id": {"handle": 10}, "type": 1, "product_name": "a CPU"},
               {"id": {"handle": 20}, "type": 2, "product_name": "AMD Instinct MI350X", "cu_count": 256, "logical_node_type_id": 3}],
    "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
                                   {"kind": "MARKER", "operations": ["roctxMarkA", "roctxRangePushA"]}],
                "marker_api": [{"key": 50, "value": "step/1"}, {"key": 51, "value": "a mark"}]},
    "kernel_symbols": [{"kernel_id": 8, "kernel_name": "_Z4axpyv", "formatted_kernel_name": "axpy()", "arch_vgpr_count": 32}],
    "buffer_records": {
        "kernel_dispatch": [dispatch(1000, 1400, 1, 8), dispatch(2000, 2100, 2, 8), dispatch(9000, 9050, 3, 99)],
        "hip_api": [at(900, 950, 1, kind=1, operation=0), at(1900, 1950, 2, kind=1, operation=0), at(2200, 2300, 4, kind=1, operation=1)],
        "memory_copy": [at(2500, 2600, 4, kind=2, operation=1, bytes=4096, src_agent_id={"handle": 10}, dst_agent_id={"handle": 20})],
        "marker_api": [at(800, 1800, 50, kind=2, operation=1), at(1000, 1000, 51, kind=2, operation=0)]}}]}


SUFFIX = "_0000_908"
SCHEMA = {
    "rocpd_string": "id, guid, string", "rocpd_info_process": "id, guid, nid, ppid, pid, init, fini, start, end, command",
    "rocpd_info_thread": "id, guid, nid, ppid, pid, tid, name", "rocpd_info_agent":
    "id, guid, nid, pid, type, absolute_index, logical_index, type_index, uuid, name, model_name, vendor_name, product_name, user_name, extdata",
    "rocpd_info_kernel_symbol": "id, guid, nid, pid, code_object_id, kernel_name, display_name, arch_vgpr_count",
    "rocpd_event": "id, guid, category_id, stack_id, parent_stack_id, correlation_id, extdata",
    "rocpd_kernel_dispatch": "id, guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size,"
    " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id",
    "rocpd_memory_copy": "id, guid, nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id",
    "rocpd_region": "id, guid, nid, pid, tid, start, end, name_id, event_id",
}


def database(tool: dict, path: str) -> str:
    """The JSON of one process as the database that rocprofv3 writes of the same records."""
    db = sqlite3.connect(path)
    for table, columns in SCHEMA.items():
        db.execute(f"create table {table}{SUFFIX} ({', '.join(c.strip() if c.strip() != 'id' else 'id integer primary key' for c in columns.split(','))})".replace(" end", ' "end"'))
        db.execute(f"create view {table} as select * from {table}{SUFFIX}")
    ids: dict[str, int] = {}

    def add(table: str, **row) -> int:
        names = ", ".join(f'"{n}"' for n in row)
        return db.execute(f"insert into {table}{SUFFIX} ({names}) values ({', '.join('?' * len(row))})", list(row.values())).lastrowid

    def string(text: str) -> int:
        if text not in ids:
            ids[text] = add("rocpd_string", string=text)
        return ids[text]

    records, texts = tool["buffer_records"], {m["key"]: m["value"] for m in tool["strings"].get("marker_api", [])}
    kinds = tool["strings"]["buffer_records"]
    process = add("rocpd_info_process", pid=tool["metadata"]["pid"])
    threads: dict[int, int] = {}

    def thread(r: dict) -> int:
        if r["thread_id"] not in threads:
            threads[r["thread_id"]] = add("rocpd_info_thread", pid=process, tid=r["thread_id"])
        return threads[r["thread_id"]]

    def event(r: dict, category: str, **more) -> int:
        return add("rocpd_event", category_id=string(category), stack_id=r["correlation_id"]["internal"],
                   correlation_id=r["correlation_id"]["external"], extdata=json.dumps(more))

    agents = {a["id"]["handle"]: add("rocpd_info_agent", type="GPU" if a["type"] == 2 else "CPU", type_index=a.get("logical_node_type_id"),
                                     product_name=a["product_name"], extdata=json.dumps({"cu_count": a.get("cu_count"),
                                                                                         "max_engine_clk_fcompute": a.get("max_engine_clk_fcompute", 0)}))
              for a in tool["agents"]}
    for k in tool["kernel_symbols"]:
        if k.get("kernel_id"):
            add("rocpd_info_kernel_symbol", id=k["kernel_id"], kernel_name=k.get("kernel_name"), display_name=k.get("formatted_kernel_name"),
                arch_vgpr_count=k.get("arch_vgpr_count"))
    for r in records.get("kernel_dispatch", []):
        i = r["dispatch_info"]
        add("rocpd_kernel_dispatch", tid=thread(r), agent_id=agents[i["agent_id"]["handle"]], kernel_id=i["kernel_id"],
            queue_id=i["queue_id"]["handle"], stream_id=r.get("stream_id", {}).get("handle", 0), start=r["start_timestamp"],
            end=r["end_timestamp"], group_segment_size=i["group_segment_size"], event_id=event(r, "KERNEL_DISPATCH"),
            **{f"{n}_size_{c}": i[f"{n}_size"][c] for n in ("workgroup", "grid") for c in "xyz"})
    for r in records.get("memory_copy", []):
        add("rocpd_memory_copy", tid=thread(r), start=r["start_timestamp"], end=r["end_timestamp"], size=r["bytes"],
            src_agent_id=agents[r["src_agent_id"]["handle"]], dst_agent_id=agents[r["dst_agent_id"]["handle"]],
            stream_id=r.get("stream_id", {}).get("handle", 0), event_id=event(r, "MEMORY_COPY"))
    for name in ("hip_api", "hsa_api", "marker_api"):
        for r in records.get(name, []):
            text = texts.get(r["correlation_id"]["internal"]) if name == "marker_api" else None
            add("rocpd_region", tid=thread(r), start=r["start_timestamp"], end=r["end_timestamp"],
                name_id=string(kinds[r["kind"]]["operations"][r["operation"]]),
                event_id=event(r, name.upper(), **({"message": text} if text else {})))
    db.commit()
    db.close()
    return path


class Rocpd(unittest.TestCase):
    def same(self, tool: dict) -> None:
        with tempfile.TemporaryDirectory() as folder:
            js = os.path.join(folder, "a.json")
            with open(js, "w") as f:
                json.dump({"rocprofiler-sdk-tool": [tool]}, f)
            db = database(tool, os.path.join(folder, "b.db"))
            for command in ("top", "regions"):
                said = []
                for path in (js, db):
                    done = subprocess.run([LPO, command, path, "--json"], capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    said.append(json.loads(done.stdout))
                self.assertEqual(said[0], said[1])

    def test_a_database_says_what_the_json_says(self) -> None:
        self.same(MADE["rocprofiler-sdk-tool"][0])

    @unittest.skipUnless(REAL, "needs ../shared/data/traces/rocprof")
    def test_a_public_file_as_a_database(self) -> None:
        with gzip.open(REAL[0]) as f:
            self.same(json.load(f)["rocprofiler-sdk-tool"][0])

    def test_damaged(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = database(MADE["rocprofiler-sdk-tool"][0], os.path.join(folder, "b.db"))
            with open(path, "rb") as f:
                whole = f.read()
            for at in range(0, len(whole), 1777):
                with open(path, "wb") as f:
                    f.write(whole[:at] + bytes([whole[at] ^ 0x5a]) + whole[at + 1:] if at % 2 else whole[:at])
                done = subprocess.run([LPO, "top", path], capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 1), done.stderr)


class Rocprof(unittest.TestCase):
    def ask(self, command: str, content: bytes | str) -> dict:
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            if isinstance(content, bytes):
                f.write(content)
                f.flush()
            done = subprocess.run([LPO, command, f.name if isinstance(content, bytes) else content, "--json"], capture_output=True,
                                  text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_kernels_and_copies(self) -> None:
        kernels = {k["name"]: (k["launches"], k["gpu_ns"]) for k in self.ask("top", json.dumps(MADE).encode())["kernels"]}
        self.assertEqual(kernels["axpy()"], (2, 500))
        self.assertEqual(kernels["(kernel without a name)"], (1, 50))

    def test_ranges_by_the_launch(self) -> None:
        regions = {r["path"]: r for r in self.ask("regions", json.dumps(MADE).encode())["scopes"][0]["regions"]}
        self.assertEqual((regions["step\\/1"]["launches"], regions["step\\/1"]["gpu_ns_inclusive"]), (1, 400))
        self.assertEqual(len([p for p in regions if "mark" in p]), 0)

    def test_cut(self) -> None:
        whole = json.dumps(MADE).encode()
        for length in range(30, len(whole), 53):
            with tempfile.NamedTemporaryFile(suffix=".json") as f:
                f.write(whole[:length])
                f.flush()
                done = subprocess.run([LPO, "regions", f.name], capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    @unittest.skipUnless(REAL, "needs ../shared/data/traces/rocprof")
    def test_public_files(self) -> None:
        for path in REAL:
            want: dict[str, int] = collections.defaultdict(int)
            with gzip.open(path) as f:
                for process in json.load(f)["rocprofiler-sdk-tool"]:
                    names = {k["kernel_id"]: k["formatted_kernel_name"] for k in process["kernel_symbols"]}
                    for r in process["buffer_records"]["kernel_dispatch"]:
                        want[names[r["dispatch_info"]["kernel_id"]]] += r["end_timestamp"] - r["start_timestamp"]
            self.assertEqual({k["name"]: k["gpu_ns"] for k in self.ask("top", path)["kernels"]}, want)


if __name__ == "__main__":
    tap.main()
