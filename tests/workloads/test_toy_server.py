# SPDX-License-Identifier: Apache-2.0
"""toy_server and toy_client alone: what they answer, what they refuse, how they end."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tap  # noqa: E402

BUILT = Path(os.environ["LPO_BUILD_ROOT"]) / "workloads"
MODEL = ["--layers", "1", "--hidden", "32", "--ffn", "32", "--vocab", "256", "--heads", "2", "--kv-heads", "1", "--prompt-tokens",
         "40", "--max-new-tokens", "24"]


class Server(unittest.TestCase):
    def setUp(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = subprocess.Popen([str(BUILT / "toy_server"), "--port", str(self.port), "--batch", "3", *MODEL],
                                       stdout=subprocess.PIPE, text=True)
        self.assertIn("ready on", self.server.stdout.readline())

    def tearDown(self) -> None:
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
        self.server.communicate()
        self.assertEqual(self.server.returncode, 0)

    def send(self, data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 60) as s:
            s.sendall(data)
            s.settimeout(60)
            got = b""
            try:
                while chunk := s.recv(65536):
                    got += chunk
            except ConnectionResetError:
                pass
            return got

    def post(self, body: str, path: str = "/generate") -> bytes:
        return self.send(f"POST {path} HTTP/1.1\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}".encode())

    def tokens(self, body: dict) -> list[int]:
        got = self.post(json.dumps(body)).decode()
        self.assertTrue(got.startswith("HTTP/1.1 200"), got)
        self.assertIn("data: [DONE]", got)
        return [json.loads(line[6:])["token"] for line in got.split("\n") if line.startswith("data: {")]

    def test_health(self) -> None:
        self.assertTrue(self.send(b"GET /health HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK"))

    def test_one_token_after_another(self) -> None:
        self.assertEqual(len(self.tokens({"prompt": [1, 2, 3], "max_tokens": 7})), 7)
        self.assertEqual(self.tokens({"prompt": "abc", "max_tokens": 5}), self.tokens({"prompt": [97, 98, 99], "max_tokens": 5}))

    def test_what_it_refuses(self) -> None:
        for body in ("", "{", "[]", "{}", '{"prompt": []}', '{"prompt": [256]}', '{"prompt": [-1]}', '{"prompt": ["a"]}',
                     '{"prompt": "x", "max_tokens": 0}', '{"prompt": "x", "max_tokens": 64}', json.dumps({"prompt": "x" * 65}),
                     '{"prompt": "x", "max_tokens": 99999999999}'):
            self.assertIn(b" 400 ", self.post(body)[:20], body)
        self.assertIn(b" 404 ", self.post("{}", "/other")[:20])
        self.assertIn(b" 400 ", self.send(b"hello there\r\n\r\n")[:20])
        for head in (b"POST /generate HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                     b"POST /generate HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"GET /" + b"x" * 20000):
            self.assertEqual(self.send(head), b"", head[:60])
        self.test_health()

    def test_a_client_that_goes_away_leaves_its_place(self) -> None:
        for _ in range(8):
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                body = json.dumps({"prompt": "abc", "max_tokens": 24})
                s.sendall(f"POST /generate HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        self.assertEqual(len(self.tokens({"prompt": "x", "max_tokens": 3})), 3)

    def test_a_second_one_on_the_same_port(self) -> None:
        done = subprocess.run([str(BUILT / "toy_server"), "--port", str(self.port)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cannot listen on 127.0.0.1, port {self.port}", done.stderr)

    def test_what_the_client_measures(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "client.json"
            done = subprocess.run([str(BUILT / "toy_client"), "--port", str(self.port), "--requests", "9", "--concurrency", "5",
                                   "--prompt-tokens", "10", "--max-tokens", "8", "--rate", "1000", "--result", str(out)],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            got = json.loads(out.read_text())
        self.assertEqual((got["completed"], got["failed"], got["input_tokens"]), (9, 0, 90))
        self.assertEqual(got["itl_ms"]["count"], got["output_tokens"] - 9)
        self.assertTrue(9 * 4 <= got["output_tokens"] <= 9 * 8)
        self.assertEqual([got[k]["count"] for k in ("ttft_ms", "tpot_ms", "e2e_ms")], [9, 9, 9])
        for key in ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"):
            s = got[key]
            self.assertTrue(0 <= s["min"] <= s["p50"] <= s["p90"] <= s["p99"] <= s["max"], key)
        self.assertLessEqual(got["ttft_ms"]["max"], got["e2e_ms"]["max"])

    def test_one_request_has_no_spread(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "client.json"
            subprocess.run([str(BUILT / "toy_client"), "--port", str(self.port), "--requests", "1", "--prompt-tokens", "10", "--result",
                            str(path)],
                           stdout=subprocess.DEVNULL, check=True)
            got = json.loads(path.read_text())
        self.assertEqual((got["e2e_ms"]["count"], got["e2e_ms"]["std"]), (1, None))
        self.assertEqual(got["e2e_ms"]["mean"], got["e2e_ms"]["p50"])

    def test_a_client_whose_requests_are_all_refused(self) -> None:
        done = subprocess.run([str(BUILT / "toy_client"), "--port", str(self.port), "--requests", "2", "--prompt-tokens", "90"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 requests failed, the last: a request was refused", done.stderr)


if __name__ == "__main__":
    tap.main()
