#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server around a small decoder in PyTorch with continuous batching, its client, and what must be true of a run with both.

    server.py serve PORT [--process spawn|fork|none] [--layers N] [--hidden N]   GET /health, POST /generate
    server.py load PORT --requests N --concurrency N --result FILE               writes lpo.client/1
    server.py check RUN_FOLDER STAGE…                                            reads what lpo run left

The engine runs in a process of its own (spawn, fork) or in a thread (none), as real servers do. Ranges: load, and step with
prefill and decode inside. Runs on the CPU as well, with torch 1.13 and later.
"""
from __future__ import annotations

import argparse
import http.client
import http.server
import json
import multiprocessing
import os
import queue
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT, VOCAB = 512, 4096

# --- the model ----------------------------------------------------------------------------------------------------------


class Ranges:
    """NVTX ranges: those of torch where it has CUDA, else our own client."""

    def __init__(self, torch) -> None:
        if torch.cuda.is_available():
            self.push, self.pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
            return
        sys.path.insert(0, os.path.join(HERE, "..", "..", "workloads"))
        from lpo_hf import nvtx
        self.client = nvtx.client()  # None: nobody listens
        self.push = (lambda name: self.client.push(name.encode())) if self.client else lambda name: None
        self.pop = self.client.pop if self.client else lambda: None


class Decoder:
    """Batches of slots, each with a length of its own; a cache for all of them."""

    def __init__(self, torch, layers: int, hidden: int, slots: int) -> None:
        self.torch, self.layers, self.hidden = torch, layers, hidden
        self.heads, self.size = hidden // 64, 64
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.dtype = torch.bfloat16 if self.device == "cuda" else torch.float32
        torch.manual_seed(1)

        def weight(*shape: int):
            return torch.randn(*shape, device=self.device, dtype=self.dtype) * 0.02

        self.embed, self.head = weight(VOCAB, hidden), weight(hidden, VOCAB)
        self.weights = [{"qkv": weight(hidden, 3 * hidden), "o": weight(hidden, hidden), "up": weight(hidden, 2 * hidden),
                         "down": weight(2 * hidden, hidden)} for _ in range(layers)]
        shape = (layers, slots, self.heads, CONTEXT, self.size)
        self.keys = torch.zeros(shape, device=self.device, dtype=self.dtype)
        self.values = torch.zeros(shape, device=self.device, dtype=self.dtype)
        self.position = torch.arange(CONTEXT, device=self.device)

    def attention(self, layer: int, x, slots, start):
        """x [batch, tokens, hidden], the tokens of slots[i] from start[i] on."""
        torch = self.torch
        batch, tokens, _ = x.shape
        q, k, v = (x @ self.weights[layer]["qkv"]).view(batch, tokens, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        at = start[:, None] + self.position[:tokens]
        self.keys[layer][slots[:, None], :, at] = k.transpose(1, 2)
        self.values[layer][slots[:, None], :, at] = v.transpose(1, 2)
        scores = q @ self.keys[layer][slots].transpose(-1, -2) * self.size ** -0.5
        later = self.position[None, None, :] > at[:, :, None]
        mixed = scores.masked_fill(later[:, None], float("-inf")).softmax(-1) @ self.values[layer][slots]
        return mixed.transpose(1, 2).reshape(batch, tokens, self.hidden) @ self.weights[layer]["o"]

    def forward(self, tokens: list, slots: list, start: list) -> list:
        """The next token of each sequence."""
        torch = self.torch
        with torch.no_grad():
            slot_index, begin = torch.tensor(slots, device=self.device), torch.tensor(start, device=self.device)
            x = self.embed[torch.tensor(tokens, device=self.device)]
            for layer in range(self.layers):
                x = x + self.attention(layer, x, slot_index, begin)
                x = x + torch.relu(x @ self.weights[layer]["up"]) @ self.weights[layer]["down"]
            return (x[:, -1] @ self.head).argmax(-1).tolist()


def engine(jobs, results, options: argparse.Namespace) -> None:
    """Takes (id, prompt, answer) from `jobs`, puts (id, token, last) into `results`; (None, 0, False) once when it is ready."""
    import torch
    signal.signal(signal.SIGTERM, signal.default_int_handler) if threading.current_thread() is threading.main_thread() else None
    ranges = Ranges(torch)
    ranges.push("load")
    model = Decoder(torch, options.layers, options.hidden, options.slots)
    model.forward([[1, 2, 3]], [0], [0])
    ranges.pop()
    results.put((None, 0, False))
    active: dict[int, list] = {}  # slot: [id, length, next token, tokens still to make]
    try:
        while True:
            fresh = []
            while len(active) + len(fresh) < options.slots:
                try:
                    fresh.append(jobs.get(timeout=0.0 if active or fresh else 1.0))
                except queue.Empty:
                    break
            if None in fresh:
                return
            if not fresh and not active:
                continue
            ranges.push("step")
            decoding = sorted(active)
            for job, prompt, answer in fresh:
                slot = min(set(range(options.slots)) - set(active))
                ranges.push("prefill")
                token = model.forward([prompt], [slot], [0])[0]
                ranges.pop()
                results.put((job, token, answer == 1))
                if answer > 1:
                    active[slot] = [job, len(prompt), token, answer - 1]
            if decoding:
                ranges.push("decode")
                tokens = model.forward([[active[s][2]] for s in decoding], decoding, [active[s][1] for s in decoding])
                ranges.pop()
                for slot, token in zip(decoding, tokens):
                    job, length, _, left = active[slot]
                    active[slot] = [job, length + 1, token, left - 1]
                    results.put((job, token, left == 1))
                    if left == 1:
                        del active[slot]
            ranges.pop()
    except KeyboardInterrupt:
        pass


# --- the server -----------------------------------------------------------------------------------------------------------


def serve(options: argparse.Namespace) -> int:
    waiting: dict[int, queue.Queue] = {}
    ready, numbers, lock = threading.Event(), iter(range(1, 1 << 60)), threading.Lock()
    if options.process == "none":
        jobs, results = queue.Queue(), queue.Queue()
        worker = threading.Thread(target=engine, args=(jobs, results, options), daemon=True)
    else:
        context = multiprocessing.get_context(options.process)
        jobs, results = context.Queue(), context.Queue()
        worker = context.Process(target=engine, args=(jobs, results, options))
    worker.start()

    def hand_out() -> None:
        while True:
            try:
                job, token, last = results.get(timeout=1)
            except queue.Empty:
                if not worker.is_alive():
                    print("the engine has died", file=sys.stderr, flush=True)
                    os._exit(5)
                continue
            if job is None:
                ready.set()
            else:
                waiting[job].put((token, last))

    class Page(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200 if ready.is_set() and self.path == "/health" else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                job = next(numbers)
                waiting[job] = queue.Queue()
            jobs.put((job, body["prompt"], body["max_tokens"]))
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            last = False
            while not last:
                token, last = waiting[job].get()
                line = f'data: {{"token": {token}}}\n\n'.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            del waiting[job]

        def log_message(self, *_words) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    threading.Thread(target=hand_out, daemon=True).start()
    server = Server(("127.0.0.1", options.port), Page)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    jobs.put(None)
    worker.join(20)
    return 0


# --- the client -------------------------------------------------------------------------------------------------------------


def one_request(port: int, number: int, options: argparse.Namespace) -> list[float]:
    """When it was sent and when each token came."""
    prompt = [(number * 131 + i * 7) % VOCAB for i in range(options.prompt_tokens)]
    answer = options.max_tokens - number % (options.max_tokens // 2 + 1)
    body = json.dumps({"prompt": prompt, "max_tokens": answer})
    times = [time.perf_counter()]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/generate", body)
    reply = connection.getresponse()
    while line := reply.readline():
        if line.startswith(b"data: "):
            times.append(time.perf_counter())
    connection.close()
    if len(times) != answer + 1:
        raise OSError(f"{len(times) - 1} tokens of {answer}")
    return times


def spread(values: list[float]) -> dict:
    values = sorted(v * 1e3 for v in values)

    def at(share: float) -> float:
        return values[min(len(values) - 1, round(share * (len(values) - 1)))]

    return {"count": len(values), "mean": statistics.fmean(values), "std": statistics.stdev(values) if len(values) > 1 else None,
            "min": values[0], "max": values[-1], "p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p99": at(0.99)}


def load(options: argparse.Namespace) -> int:
    todo, done, failed = queue.Queue(), [], []
    for number in range(options.requests):
        todo.put(number)

    def work() -> None:
        while True:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.append(one_request(options.port, number, options))
            except (OSError, http.client.HTTPException) as error:
                failed.append(str(error))

    begin = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(options.concurrency)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds = time.perf_counter() - begin
    for why in failed[:3]:
        print(f"a request failed: {why}", file=sys.stderr)
    if not done:
        return 1
    tokens = sum(len(t) - 1 for t in done)
    result = {"schema": "lpo.client/1", "client": "server.py", "completed": len(done), "failed": len(failed), "duration_s": seconds,
              "input_tokens": len(done) * options.prompt_tokens, "output_tokens": tokens, "requests_per_s": len(done) / seconds,
              "output_tokens_per_s": tokens / seconds, "ttft_ms": spread([t[1] - t[0] for t in done]),
              "itl_ms": spread([b - a for t in done for a, b in zip(t[1:], t[2:])]),
              "tpot_ms": spread([(t[-1] - t[1]) / (len(t) - 2) for t in done if len(t) > 2]), "e2e_ms": spread([t[-1] - t[0] for t in done])}
    if options.result:
        with open(options.result, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
    print(f"{len(done)} requests, {len(failed)} failed, {tokens / seconds:.1f} tokens/s, first token {result['ttft_ms']['p50']:.2f} ms")
    return 0


# --- the check -----------------------------------------------------------------------------------------------------------------


def regions_of(lpo: str, folder: str, stage: str) -> dict:
    pattern = {"native": ".lpot", "nsys": ".sqlite", "torch_profiler": ".json.gz"}[stage]
    files = [os.path.join(folder, stage, n) for n in sorted(os.listdir(os.path.join(folder, stage))) if n.endswith(pattern)]
    done = subprocess.run([lpo, "regions", "--json", *files], stdout=subprocess.PIPE, check=True)
    scopes = json.loads(done.stdout)["scopes"]
    return {r["path"]: r for r in next(s for s in scopes if s["scope"] == "aggregate")["regions"]}


def check(options: argparse.Namespace) -> int:
    wrong = []

    def insist(truth: bool, what: str) -> None:
        print(("ok   " if truth else "WRONG ") + what)
        if not truth:
            wrong.append(what)

    def read(stage: str, name: str) -> dict:
        with open(os.path.join(options.folder, "workload", stage, name), encoding="utf-8") as f:
            return json.load(f)

    for stage in options.stages:
        client, record = read(stage, "client.json"), read(stage, "server.json")
        print(f"{stage}: {client['output_tokens_per_s']:.1f} tokens/s, TTFT p50 {client['ttft_ms']['p50']:.2f} ms, ITL p50 "
              f"{client['itl_ms']['p50']:.2f} ms, ready after {record['ready_ms']:.0f} ms")
        insist(client["failed"] == 0 and record["problem"] is None, f"{stage}: every request was answered")
        for note in record["notes"]:
            print(f"{stage}: note: {note}")
        if stage not in ("native", "nsys"):
            continue
        regions = regions_of(options.lpo, options.folder, stage)
        prefill, decode = regions.get("step/prefill"), regions.get("step/decode")
        insist(bool(prefill and decode), f"{stage}: step/prefill and step/decode are there: {sorted(regions)[:8]}")
        if not (prefill and decode):
            continue
        calls = prefill["visits"]
        if stage == "native":  # a window; nsys sees the warm-up as well
            insist(calls == client["completed"], f"{stage}: {calls} prefills for {client['completed']} requests")
            insist("load" not in regions, f"{stage}: loading is outside the window")
            insist(record["window"]["processes"] == 1, f"{stage}: one process was recorded: {record['window']['processes']}")
        else:
            insist(calls >= client["completed"], f"{stage}: {calls} prefills for at least {client['completed']} requests")
        if options.gpu:
            for r in (prefill, decode):
                insist(r["launches"] >= r["visits"] * options.layers and r["gpu_ns_inclusive"] > 0,
                       f"{stage}: {r['path']}: {r['launches']} kernels, {(r['gpu_ns_inclusive'] or 0) / 1e6:.2f} ms on the GPU in {r['visits']} calls")
            outside = regions.get("(outside)", {"launches": 0})["launches"]
            insist(stage != "native" or outside == 0, f"{stage}: {outside} kernels outside every region")
    print("check: " + ("FAILED" if wrong else "passed"))
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    sub = parser.add_subparsers(dest="what", required=True)
    s = sub.add_parser("serve")
    s.add_argument("port", type=int)
    s.add_argument("--process", choices=["spawn", "fork", "none"], default="spawn")
    s.add_argument("--layers", type=int, default=8)
    s.add_argument("--hidden", type=int, default=1024)
    s.add_argument("--slots", type=int, default=8)
    s = sub.add_parser("load")
    s.add_argument("port", type=int)
    s.add_argument("--requests", type=int, default=64)
    s.add_argument("--concurrency", type=int, default=8)
    s.add_argument("--prompt-tokens", type=int, default=128)
    s.add_argument("--max-tokens", type=int, default=64)
    s.add_argument("--result")
    s = sub.add_parser("check")
    s.add_argument("folder")
    s.add_argument("stages", nargs="+")
    s.add_argument("--lpo", default="lpo")
    s.add_argument("--layers", type=int, default=8)
    s.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    return {"serve": serve, "load": load, "check": check}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
