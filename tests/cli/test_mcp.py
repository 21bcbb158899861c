#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo mcp with a client of our own: what it answers, what it refuses, and that broken messages do no harm."""
from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent)]

import tap  # noqa: E402

LPO = os.environ["LPO_BIN"]
TRACES = ROOT / "tests/data/kineto"
TRACE = "h200_llama8.json.gz"


class Client:
    def __init__(self, *words, cwd=None):
        self.process = subprocess.Popen([LPO, "mcp", *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd)
        self.number = 0
        self.heard = []  # notifications

    def send(self, message):
        self.process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.process.stdin.flush()

    def read(self, seconds=60):
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return json.loads(self.process.stdout.readline()) if ready else None

    def ask(self, method, **params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            got = self.read()
            if got is None or got.get("id") == self.number:
                return got
            self.heard.append(got)

    def call(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(20)


def printed(*words):
    return json.loads(subprocess.run([LPO, *map(str, words)], stdout=subprocess.PIPE, check=True).stdout)


class Mcp(unittest.TestCase):
    def setUp(self):
        self.client = Client(TRACES)

    def tearDown(self):
        self.assertEqual(self.client.end(), 0)

    def test_a_version_is_agreed_on(self):
        for asked, want in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-06-18")):
            got = self.client.ask("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "t", "version": "1"})
            self.assertEqual((got["result"]["protocolVersion"], got["result"]["serverInfo"]["name"]), (want, "lpo"))

    def test_tools_are_described(self):
        tools = {t["name"]: t for t in self.client.ask("tools/list")["result"]["tools"]}
        self.assertEqual(sorted(tools), ["diff", "explain", "findings", "kernels", "ladder", "operators", "regions", "report",
                                         "sql", "timeline"])
        self.assertEqual(tools["explain"]["inputSchema"]["required"], ["id"])

    def test_numbers_are_those_of_the_commands(self):
        top = printed("top", TRACES / TRACE, "--json")["kernels"]
        got = self.client.call("kernels", files=TRACE, limit=3, offset=1)
        self.assertEqual([k["gpu_ns"] for k in got["kernels"]], [k["gpu_ns"] for k in top[1:4]])
        self.assertEqual(got["shown"], f"kernels: 3 of {len(top)}")
        self.assertEqual(got["source"].split()[:2], ["lpo", "top"])
        report = printed("report", TRACES / TRACE, "--json")
        got = self.client.call("findings", files=[TRACE])
        self.assertEqual([f["saving_ns"] for f in got["findings"]], [f["saving_ns"] for f in report["findings"]])
        one = report["findings"][0]["id"]
        got = self.client.call("explain", files=TRACE, id=one)
        self.assertEqual((got["finding"]["id"], got["finding"]["saving_ns"]), (one, report["findings"][0]["saving_ns"]))
        self.assertIn("what_would_falsify_it", got)
        same = self.client.call("diff", before=TRACE, after=TRACE)
        self.assertEqual(same["wall"]["delta_ns"], 0)

    def test_an_answer_keeps_to_its_size(self):
        for size in (1500, 4000, 16000):
            for tool in ("report", "operators", "regions"):
                answer = self.client.call(tool, files=TRACE, max_bytes=size)
                self.assertLessEqual(len(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()), size + 200, tool)

    def test_nothing_outside_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/etc/passwd", f"{folder}/link.json")
            os.symlink(folder, f"{folder}/self")
            inner = Client(folder)
            for path in ("../../../etc/passwd", "/etc/passwd", "link.json", str(TRACES / TRACE), "self/../../etc/passwd"):
                self.assertRegex(inner.call("kernels", files=path), "outside|no such", path)
            self.assertEqual(inner.end(), 0)

    def test_what_is_wrong_is_an_answer(self):
        for arguments in ({"files": "none.json"}, {"limit": "3"}, {"nothing": 1}, {"files": []}, {"files": [3]}):
            self.assertIsInstance(self.client.call("kernels", **arguments), str, arguments)
        self.assertIsInstance(self.client.call("run", program=["true"]), str)
        self.assertEqual(self.client.call("explain", files=TRACE, id="no-such")["unknown"][:8], "There is")
        self.assertEqual(self.client.ask("tools/call", name="nothing")["error"]["code"], -32602)
        self.assertEqual(self.client.ask("no/method")["error"]["code"], -32601)
        self.assertEqual(self.client.ask("resources/read", uri="lpo://docs/../README.md")["error"]["code"], -32002)

    def test_pages_can_be_read(self):
        names = [r["uri"] for r in self.client.ask("resources/list")["result"]["resources"]]
        text = self.client.ask("resources/read", uri="lpo://docs/agents.md")["result"]["contents"][0]["text"]
        if "lpo://docs/agents.md" in names:
            self.assertEqual(text, (ROOT / "docs/agents.md").read_text())

    def test_calls_wait_in_line_and_can_be_cancelled(self):
        c = self.client
        for i in (101, 102, 103):
            c.send({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "report", "arguments": {"files": TRACE}}})
        for i in (101, 103):
            c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}})
        ids = [c.read()["id"], c.ask("ping")["id"]]
        self.assertEqual(ids[0], 102)

    def test_progress_is_heard_while_it_takes_long(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/slow.json")
            slow = Client(folder)
            slow.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                       "params": {"name": "kernels", "arguments": {"files": "slow.json"}, "_meta": {"progressToken": "t"}}})
            heard = slow.read()
            self.assertEqual((heard["method"], heard["params"]["progressToken"]), ("notifications/progress", "t"))
            slow.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
            self.assertEqual(slow.ask("ping")["result"], {})
            self.assertEqual(slow.end(), 0)

    def test_broken_messages_are_answered_and_do_no_harm(self):
        for line, code in ((b"{", -32700), (b"[]", -32600), (b"{}", -32600), (b'{"id":1}', -32600), (b"nul\x00l", -32700),
                           (b"[" * 5000, -32700), (b'"' + b"x" * (5 << 20) + b'"', -32600)):
            self.client.send(line)
            self.assertEqual(self.client.read()["error"]["code"], code, line[:20])
        rng = random.Random(int(os.environ.get("LPO_TEST_SEED", "7")))
        good = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
                           "params": {"name": "kernels", "arguments": {"files": "none.json", "limit": 3}}}).encode()
        for _ in range(400):
            line = bytearray(good)
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(line))
                line[at:at + rng.randint(0, 3)] = bytes(rng.choice(b'{}[]",:0123456789truefalsnid \\\xc3\xff') for _ in range(rng.randint(0, 3)))
            self.client.send(bytes(line).replace(b"\n", b" "))
        end = time.monotonic() + 60
        self.client.send({"jsonrpc": "2.0", "id": "last", "method": "ping"})
        while time.monotonic() < end:
            got = self.client.read()
            if got and got.get("id") == "last":
                return
        self.fail("no answer after broken messages")


class Run(unittest.TestCase):
    def test_a_program_is_run_only_where_that_was_allowed(self):
        with tempfile.TemporaryDirectory() as folder:
            client = Client(folder, "--allow-run", cwd=folder)
            self.assertIn("run", [t["name"] for t in client.ask("tools/list")["result"]["tools"]])
            result = client.ask("tools/call", name="run", arguments={"overrides": ["run.repeats=1"]})["result"]
            self.assertFalse(result["isError"], result)
            found = list(Path(folder).rglob("report.json"))
            self.assertEqual(len(found), 1)
            client.end()


if __name__ == "__main__":
    tap.main()
