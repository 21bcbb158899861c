#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo view with a client of our own: what it serves, what it refuses, that it follows a run and ends with it. Prints TAP."""
import base64
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import zlib

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests"))
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

TRACE = str(ROOT / "tests/data/nsys/h200_ranges.sqlite.gz")


def numbers(packed):
    """util/pack.h taken apart: the varints."""
    out, value, shift = [], 0, 0
    for b in zlib.decompress(base64.b64decode(packed), -15):
        value |= (b & 0x7F) << shift
        shift += 7
        if not b & 0x80:
            out.append(value)
            value = shift = 0
    return out


def signed(v):
    return -(v + 1) // 2 if v % 2 else v // 2


def operations(answer):
    """(start, length) of each."""
    rest, now, out = iter(numbers(answer["packed"])), 0, []
    for _ in range(answer["count"]):
        now += next(rest)
        out.append((now, next(rest)))
        if next(rest) % 2:  # drawn as one: how many
            next(rest)
        next(rest)
        if next(rest):  # the thread of its launch: how long before
            next(rest)
    return out


def slices(answer):
    rest, now, out = iter(numbers(answer["packed"])), 0, []
    for _ in range(answer["count"]):
        now += signed(next(rest))
        out.append((now, next(rest), answer["frames"][next(rest)]["name"]))
    return out


class View(LpoCase):
    def setUp(self):
        super().setUp()
        self.started = []

    def tearDown(self):
        for p in self.started:
            p.kill()
            p.communicate()
        super().tearDown()

    def view(self, *words, env=None):
        """Starts it; returns the process, once it has said where."""
        p = subprocess.Popen([LPO, "view", *words], cwd=self.cwd, text=True, env=os.environ | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(p)
        self.url = p.stdout.readline().strip()
        self.assertTrue(self.url.startswith("http://127.0.0.1:"), self.url or p.stderr.read())
        at = urllib.parse.urlsplit(self.url)
        self.port, self.secret = at.port, at.path.strip("/")
        return p

    def get(self, name="", method="GET", path=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.putrequest(method, path or f"/{self.secret}/{name}", skip_host="Host" in headers, skip_accept_encoding=True)
        for key, value in headers.items():
            c.putheader(key, value)
        c.endheaders()
        answer = c.getresponse()
        answer.body = answer.read()
        c.close()
        return answer

    def ask(self, name):
        answer = self.get(name)
        self.assertEqual(answer.status, 200, name)
        return json.loads(answer.body)

    def raw(self, data, half=False):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as s:
            s.sendall(data)
            if half:
                s.shutdown(socket.SHUT_WR)
            got = b""
            while piece := s.recv(65536):
                got += piece
        return got

    def test_the_page_is_that_of_the_report_and_may_ask(self):
        self.view(TRACE, "--port", "0")
        page = self.get()
        self.assertEqual((page.status, page.getheader("Content-Type")), (200, "text/html; charset=utf-8"))
        self.assertEqual((self.lpo("report", TRACE, "-o", "out").returncode, page.getheader("Cache-Control")), (0, "no-store"))
        with open(os.path.join(self.cwd, "out/report.html"), encoding="utf-8") as f:
            file = f.read()
        served = page.body.decode()
        # the same but for the words that let it ask, and what says that it may
        self.assertIn("; connect-src 'self'\">", served)
        self.assertNotIn("connect-src", file)
        self.assertEqual(served.replace("; connect-src 'self'", "").replace(', "served": {"version": 1, "running": false}', ""), file)
        self.assertIsNone(page.getheader("Access-Control-Allow-Origin"))
        self.assertEqual(page.getheader("Cross-Origin-Resource-Policy"), "same-origin")
        self.assertEqual(self.ask("state"), {"version": 1, "running": False})

    def test_events_between_two_times_are_those_of_the_trace(self):
        self.view(TRACE, "--port", "0")
        done = self.lpo("sql", TRACE, "select start_ns, gpu_ns from gpu_ops order by device, stream, start_ns", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [list(r.values()) if isinstance(r, dict) else r for r in json.loads(done.stdout)]
        zero = min(r[0] for r in rows)
        want = [(r[0] - zero, r[1]) for r in rows]
        whole = self.ask("events?lane=0&from=-1&to=9223372036854775807")
        self.assertEqual((operations(whole), whole["step_ns"]), (want, 0))
        begin, end = want[3][0], want[6][0]
        self.assertEqual(operations(self.ask(f"events?lane=0&from={begin}&to={end}")), [w for w in want if w[0] < end and w[0] + w[1] > begin])
        # a thread: nothing of it is missing, and a part of it is a part of all
        host = self.ask("events?thread=0&from=-9223372036854775808&to=9223372036854775807")
        self.assertEqual((host["least_ns"], host["left_out"]), (0, 0))
        everything = slices(host)
        self.assertIn("cudaLaunchKernel_v7000", [s[2] for s in everything])
        middle = everything[len(everything) // 2]
        part = slices(self.ask(f"events?thread=0&from={middle[0]}&to={middle[0] + middle[1]}"))
        self.assertEqual(part, [s for s in everything if s[0] < middle[0] + middle[1] and (s[0] + s[1] > middle[0] or s[0] >= middle[0])])

    def test_what_is_refused(self):
        self.view(TRACE, "--port", "0")
        for status, name, how in [
            (404, "no such name", {"path": "/"}), (404, "another secret", {"path": "/" + "0" * 32 + "/"}), (404, "a part of the secret", {"path": f"/{self.secret[:-1]}/"}),
            (404, "no slash", {"path": f"/{self.secret}"}), (404, "a file", {"name": "../../../etc/passwd"}), (404, "an encoded file", {"name": "%2e%2e/%2e%2e/etc/passwd"}),
            (404, "a name in other letters", {"name": "State"}), (404, "a lane that is not there", {"name": "events?lane=99&from=0&to=1"}),
            (404, "a thread that is not there", {"name": "events?thread=4294967296&from=0&to=1"}),
            (400, "no lane", {"name": "events?from=0&to=1"}), (400, "no end", {"name": "events?lane=0&from=0"}), (400, "no number", {"name": "events?lane=0&from=x&to=1"}),
            (400, "a long number", {"name": "events?lane=0&from=0&to=9223372036854775808"}), (400, "a lane below zero", {"name": "events?lane=-1&from=0&to=1"}),
            (405, "POST", {"method": "POST"}), (405, "OPTIONS", {"method": "OPTIONS"}), (405, "HEAD", {"method": "HEAD"}),
            (403, "another host", {"Host": "evil.example"}), (403, "a host that begins so", {"Host": "localhost.evil.example"}), (403, "a port that is none", {"Host": "localhost:1@evil"}),
            (400, "a whole address", {"path": "http://127.0.0.1/"}),
        ]:
            with self.subTest(name):
                answer = self.get(**how)
                self.assertEqual(answer.status, status)
                self.assertNotIn(b"root:", answer.body)
        for host in ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:9"]:
            self.assertEqual(self.get("state", Host=host).status, 200, host)

    def test_bytes_that_are_no_request(self):
        p = self.view(TRACE, "--port", "0")
        for data, status in [
            (b"\r\n\r\n", b"400"), (b"GET /\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\n\r\n", b"400"), (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", b"505"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: yes\r\n\r\n", b"400"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000, b"431"), (b"\x16\x03\x01" + b"\0" * 9000, b"431"),
        ]:
            self.assertEqual(self.raw(data).split(b" ")[1], status, data[:40])
        self.assertEqual(self.raw(b"GET / HTTP/1.1\r\n", half=True), b"")  # gone before its end
        self.assertEqual(self.get("state").status, 200)
        self.assertIsNone(p.poll())

    def test_who_is_slow_or_silent_stops_nobody(self):
        self.view(TRACE, "--port", "0")
        silent = [socket.create_connection(("127.0.0.1", self.port), timeout=30) for _ in range(8)]
        slow = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        request = f"GET /{self.secret}/state HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        for i in range(0, len(request) - 1):
            slow.sendall(request[i:i + 1])
        begun = time.monotonic()
        self.assertEqual(self.get().status, 200)
        self.assertLess(time.monotonic() - begun, 5)
        slow.sendall(request[-1:])
        self.assertIn(b"200 OK", slow.recv(65536))
        for s in [slow, *silent]:
            s.close()

    def test_only_this_machine_can_come(self):
        self.view(TRACE, "--port", "0")
        with open("/proc/net/tcp", encoding="ascii") as f:
            bound = [line.split()[1] for line in f if line.split()[3] == "0A" and line.split()[1].endswith(f":{self.port:04X}")]
        self.assertEqual(bound, [f"0100007F:{self.port:04X}"])

    def test_ports(self):
        self.view(TRACE, "--port", "0")
        taken = str(self.port)
        done = self.lpo("view", TRACE, "--port", taken)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"cannot listen at port {taken} of this machine; --port N takes another", done.stderr)
        for words in [("--port", "70000"), ("--port", "x"), ("--port", "-1")]:
            self.assertEqual(self.lpo("view", TRACE, *words).returncode, 2, words)
        self.assertEqual(self.lpo("view").returncode, 2)
        done = self.lpo("view", "nothing.json")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nothing.json", done.stderr)
        # the usual port, or another where somebody has it: two at once both come up
        self.view(TRACE)
        first = self.port
        self.view(TRACE)
        self.assertNotEqual(first, self.port)
        self.assertEqual(self.get("state").status, 200)

    def test_open_and_the_end(self):
        shown = os.path.join(self.cwd, "shown")
        self.write("bin/xdg-open", f"#!/bin/sh\necho \"$1\" > {shown}.new && mv {shown}.new {shown}\n")
        os.chmod(os.path.join(self.cwd, "bin/xdg-open"), 0o755)
        p = self.view(TRACE, "--port", "0", "--open", env={"DISPLAY": ":7", "PATH": f"{self.cwd}/bin:{os.environ['PATH']}"})
        self.wait_for(lambda: os.path.exists(shown))
        with open(shown, encoding="utf-8") as f:
            self.assertEqual(f.read().strip(), self.url)
        self.assertIn("ssh -L", p.stderr.readline())
        p.send_signal(signal.SIGINT)
        self.assertNotEqual(p.wait(30), 0)

    def test_a_run_is_followed_to_its_end(self):
        go = os.path.join(self.cwd, "go")
        run = self.lpo_start("run.repeats=1", "--", "sh", "-c", f"i=0; while [ ! -e {go} ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done")
        self.started.append(run)
        self.wait_for(lambda: os.path.exists(self.path("run.json")))
        p = self.view("run", "--port", "0")
        first = self.ask("state")
        self.assertTrue(first["running"])
        self.assertIn('"running": true', self.get().body.decode())
        with open(go, "w", encoding="utf-8"):
            pass
        run.communicate(timeout=100)
        self.assertEqual(run.returncode, 0)
        self.wait_for(lambda: not self.ask("state")["running"])
        self.assertIsNone(p.poll())  # until the last page was fetched
        self.assertGreater(self.ask("state")["version"], first["version"])
        self.assertIn('"running": false', self.get().body.decode())
        self.assertEqual(p.wait(30), 0, "it did not end with the run")
        self.assertFalse([f for f in os.listdir(self.run_dir) if "view" in f])


if __name__ == "__main__":
    tap.main()
