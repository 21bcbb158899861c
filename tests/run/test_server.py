#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo run workload=server`: a server, its warm-up, its load and its end, from the config to the report. Prints TAP."""
from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

BUILT = os.path.join(os.path.dirname(LPO), "workloads")
SERVER, CLIENT = os.path.join(BUILT, "toy_server"), os.path.join(BUILT, "toy_client")
MODEL = ["--layers", "1", "--hidden", "32", "--ffn", "32", "--vocab", "256", "--heads", "2", "--kv-heads", "1"]
ONLY = ["pipeline.static_analysis.enable=false", "pipeline.torch_profiler.enable=false", "workload=server"]
NATIVE = [*ONLY, "pipeline.direct_inference.enable=false"]
DIRECT = [*ONLY, "pipeline.native.enable=false"]
QUICK = ["workload.server.ready.timeout=60s", "workload.server.load.timeout=60s", "workload.server.stop.grace=20s"]

# A server in Python that does as the words after its port say.
PYTHON = textwrap.dedent("""
    import http.server, os, signal, subprocess, sys
    port, *how = sys.argv[1:]
    asked = []
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(503 if "busy" in how and len(asked) < 4 else 500 if "never" in how else 200)
            self.end_headers()
        def do_POST(self):
            print("POST", self.path, flush=True)
            if "short" in how:
                os._exit(9)
            self.send_response(200)
            self.end_headers()
        def log_message(self, *words):
            pass
    if "dies" in how:
        print("no weights found", file=sys.stderr)
        sys.exit(7)
    if "deaf" in how:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "leaves" in how:
        child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"])
        print("worker", child.pid, flush=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Page)
    if "line" in how:
        print("loading …", flush=True)
        print("INFO:  Application startup complete.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(3 if "rude" in how else 0)
    """)


class ServerCase(LpoCase):
    def server(self, stage: str = "native") -> dict:
        return self.json("workload", stage, "server.json")

    def python(self, *how: str) -> list[str]:
        self.write("server.py", PYTHON)
        return ["--", sys.executable, "server.py", "@port@", *how]

    def run_fine(self, *words: str, code: int = 0):
        done = self.lpo_run(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def regions(self) -> dict[str, dict]:
        traces = [self.path("native", n) for n in os.listdir(self.path("native")) if n.endswith(".lpot")]
        done = self.lpo("regions", "--json", *traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        scope = next(s for s in json.loads(done.stdout)["scopes"] if s["scope"] == "aggregate")
        return {r["path"]: r for r in scope["regions"]}

    def message(self, stage: str = "direct_inference") -> str:
        self.assertEqual(self.stage(stage)["state"], "failed")
        return self.stage(stage)["message"]


class Toy(ServerCase):
    """The server around the toy model, with the collector in it."""

    def load(self, requests: int = 6, **more: str) -> str:
        words = [CLIENT, "--port", "@port@", "--requests", str(requests), "--concurrency", "3", "--prompt-tokens", "8",
                 "--max-tokens", "6", "--result", "@out@/client.json"]
        return "workload.server.load.argv=[" + ",".join(words) + "]"

    def test_the_window_is_the_load_and_nothing_else(self) -> None:
        warmup = f"workload.server.warmup.argv=[{CLIENT},--port,@port@,--requests,5,--max-tokens,1,--prompt-tokens,3]"
        done = self.run_fine(*ONLY, *QUICK, self.load(), warmup, "--", SERVER, "--port", "@port@", *MODEL)
        self.assertRegex(done.stdout, r"(?s)\nrequests under load\n.*\nnative +.*6 +0 .*\ntime by region\n")
        record, client = self.server(), self.json("workload", "native", "client.json")
        self.assertEqual((client["completed"], client["failed"]), (6, 0))
        regions = self.regions()
        self.assertEqual(regions["step/prefill"]["visits"], 6)  # none of the five of the warm-up
        self.assertNotIn("load", regions)
        self.assertEqual(record["window"]["processes"], 1)
        self.assertLess(record["window"]["from_unix_ns"], record["window"]["to_unix_ns"])
        self.assertEqual((record["server_end"], record["client_end"]), ("exit code 0", "exit code 0"))
        for phase in ("ready_ms", "warmup_ms", "load_ms", "stop_ms"):
            self.assertGreater(record[phase], 0, phase)
        self.assertEqual((record["problem"], record["notes"]), (None, []))
        # the tokens that the client counted are those that the server decoded
        numbers = {r["range"]: r for r in self.json("report.json")["range_numbers"]}
        self.assertEqual(numbers["prefill"]["sum"], 6 * 8)
        self.assertEqual(numbers["decode"]["sum"], client["output_tokens"] - 6)

    def test_the_same_server_without_a_profiler(self) -> None:
        self.run_fine(*DIRECT, *QUICK, self.load(), "--", SERVER, "--port", "@port@", *MODEL)
        self.assertIsNone(self.server("direct_inference")["window"]["processes"])
        self.assertEqual(self.json("workload", "direct_inference", "client.json")["completed"], 6)

    def test_all_of_it_is_recorded_when_asked(self) -> None:
        self.run_fine(*NATIVE, *QUICK, self.load(), "workload.server.window.over=all", "--", SERVER, "--port", "@port@", *MODEL)
        self.assertIn("load", self.regions())

    def test_a_part_of_the_load(self) -> None:
        # the client waits for the end of the window, then sends its requests
        wait = f"until '{LPO}' ctl '{self.run_dir}/native' status | grep -q ': not recording, 1 window '; do sleep 0.05; done"
        client = self.write("client.sh", f"set -e\n{wait}\nexec '{CLIENT}' --port \"$LPO_SERVER_PORT\" --requests 2\n")
        self.run_fine(*NATIVE, *QUICK, f"workload.server.load.argv=[sh,{client}]", "workload.server.window.for=100ms", "--", SERVER,
                      "--port", "@port@", *MODEL)
        self.assertNotIn("step/prefill", self.regions())
        self.assertIn("left no client.json", self.stage("native")["notes"][0])

    def test_a_part_of_the_load_that_begins_later(self) -> None:
        # the client waits for its begin
        wait = f"until '{LPO}' ctl '{self.run_dir}/native' status | grep -q ': recording, 0 windows'; do sleep 0.05; done"
        client = self.write("client.sh", f"set -e\n{wait}\nexec '{CLIENT}' --port \"$LPO_SERVER_PORT\" --requests 2\n")
        self.run_fine(*NATIVE, *QUICK, f"workload.server.load.argv=[sh,{client}]", "workload.server.window.after=100ms", "--", SERVER,
                      "--port", "@port@", *MODEL)
        self.assertEqual(self.regions()["step/prefill"]["visits"], 2)

    def test_a_range_inside_the_window(self) -> None:
        done = self.run_fine(*NATIVE, *QUICK, self.load(), "pipeline.native.capture.range=prefill", "pipeline.native.capture.every=2", "--",
                             SERVER, "--port", "@port@", *MODEL)
        self.assertIn('Of 6 calls of "prefill" 3 were recorded: all times are of these.', done.stdout)
        self.assertEqual(self.regions()["step/prefill"]["visits"], 3)
        (window,) = self.json("report.json")["windows"]
        self.assertEqual((window["calls"], window["calls_recorded"]), (6, 3))

    def test_the_client_is_not_recorded(self) -> None:
        # toy_server as a client of itself would leave a second trace
        self.run_fine(*NATIVE, *QUICK, f"workload.server.load.argv=[sh,-c,'\"$0\" --help; env',{SERVER}]", "--", SERVER, "--port",
                      "@port@", *MODEL)
        out = self.text("workload", "native", "stdout.log")
        self.assertIn("LPO_SERVER_PORT=", out)
        self.assertNotIn("LPO_COLLECT", out)
        self.assertNotIn("INJECTION64", out)

    def test_a_killed_server_leaves_its_whole_window(self) -> None:
        # out of reach of the signal that a server may handle; its parent kills it instead
        parent = 'setsid "$0" --port "$LPO_SERVER_PORT" "$@" & pid=$!; trap "kill -9 $pid; exit 0" INT; wait'
        self.run_fine(*NATIVE, *QUICK, self.load(), "--", "sh", "-c", parent, SERVER, *MODEL)
        client, regions = self.json("workload", "native", "client.json"), self.regions()
        self.assertEqual(regions["step/prefill"]["visits"], 6)
        numbers = {r["range"]: r["sum"] for r in self.json("report.json")["range_numbers"]}
        self.assertEqual(numbers["decode"], client["output_tokens"] - 6)

    def test_the_built_in_pair_needs_no_words(self) -> None:
        self.run_fine(*NATIVE, *QUICK, "model=toy", "model.layers=1", "model.hidden=64", "model.ffn=64", "model.vocab=256",
                      "model.heads=2", "model.kv_heads=1")
        self.assertEqual(self.json("workload", "native", "client.json")["completed"], 32)
        self.assertIn("# Profile of toy_server", self.text("report.md"))

    def test_the_command_can_be_pasted(self) -> None:
        done = self.lpo("run", "--dry-run", *NATIVE, "hydra.run.dir=run", self.load(), "--", SERVER, "--port", "@port@", *MODEL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("__server --out ", done.stdout)
        self.assertIn(f"--server {3 + len(MODEL)} {SERVER} --port @port@", done.stdout)
        self.assertFalse(os.path.exists(self.run_dir))

    def test_every_stage_runs_the_same(self) -> None:
        stages = ("direct_inference", "native", "torch_profiler", "nsys", "ncu")
        done = self.lpo("run", "--dry-run", "workload=server", "hydra.run.dir=run", "--only", ",".join(stages), self.load(), "--", "python3",
                        "server.py", "@port@")
        self.assertEqual(done.returncode, 0, done.stderr)
        commands = [line.split("__server ")[1] for line in done.stdout.splitlines() if "__server " in line]
        self.assertEqual(len(commands), len(stages), done.stdout)
        same = {c.replace(f"workload/{s} ", "workload/STAGE ") for c, s in zip(commands, stages)}
        self.assertEqual(len(same), 1, same)


class Requests(ServerCase):
    """What the client measured, beside the regions."""

    DATA = os.path.join(HERE, "..", "data", "clients")

    def serve(self, name: str, result: str, *more: str) -> dict:
        copy = f"workload.server.load.argv=[cp,{os.path.join(self.DATA, name)},@out@/{result}]"
        self.run_fine(*DIRECT, *QUICK, copy, *more, *self.python())
        return self.json("report.json")

    def test_in_every_report_and_in_the_comparison(self) -> None:
        (row,) = self.serve("vllm.json", "client.json")["requests"]
        self.assertEqual((row["stage"], row["completed"], row["failed"]), ("direct_inference", 100, 0))
        self.assertEqual((row["ttft"]["p50_ns"], row["ttft"]["p95_ns"], row["e2e"]["p99_ns"]), (50250000, None, 1800000000))
        self.assertEqual((row["output_tokens"], row["output_tokens_per_s"]), (12800, 624.39))
        page = self.text("report.md")
        self.assertRegex(page, r"\| direct_inference \| First token \(TTFT\) \|.* 55.50 ms \|.* 50.25 ms \| 91 ms \|")
        self.assertIn("Under load: 624.4 tokens/s", self.text("stakeholder_summary.md"))
        self.assertIn("First token (TTFT)", self.text("report.html"))

    def test_the_last_line_of_a_client_that_appends(self) -> None:
        (row,) = self.serve("sglang.jsonl", "bench.jsonl", "workload.server.load.result=bench.jsonl")["requests"]
        self.assertEqual((row["completed"], row["itl"]["p95_ns"], row["e2e"]["mean_ns"]), (100, 30000000, 1450000000))

    def test_numbers_that_are_none(self) -> None:
        self.write("nan.json", '{"schema": "lpo.client/1", "completed": 20, "failed": 0, "duration_s": -Infinity,'
                               ' "ttft_ms": {"mean": 2.5, "std": NaN, "max": Infinity}, "itl_ms": {"mean": NaN}}')
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[cp,nan.json,@out@/client.json]", *self.python())
        (row,) = self.json("report.json")["requests"]
        self.assertEqual((row["completed"], row["ttft"]["mean_ns"]), (20, 2500000))
        self.assertNotIn("nan", json.dumps(row).lower())

    def test_a_name_that_the_client_chooses(self) -> None:
        self.write("deep/client.sh", 'mkdir -p "$LPO_SERVER_OUT/m-concurrency4" && cp "$1" "$LPO_SERVER_OUT/m-concurrency4/profile.json"\n')
        self.run_fine(*DIRECT, *QUICK, f"workload.server.load.argv=[sh,deep/client.sh,{os.path.join(self.DATA, 'aiperf.json')}]",
                      "workload.server.load.result=*/profile.json", *self.python())
        (row,) = self.json("report.json")["requests"]
        self.assertEqual(row["client"], "GenAI-Perf or AIPerf")

    def test_json_of_an_unknown_kind(self) -> None:
        self.write("odd.json", {"speed": "great"})
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[cp,odd.json,@out@/client.json]", *self.python())
        self.assertIn("is of a kind that lpo does not know", self.text("report.md"))
        self.assertNotIn("requests", self.json("report.json"))

    def test_no_json(self) -> None:
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[sh,-c,'echo no > \"$LPO_SERVER_OUT/client.json\"']", *self.python())
        self.assertIn("client.json", self.text("report.md"))

    def test_a_folder_that_points_elsewhere(self) -> None:
        self.serve("vllm.json", "client.json")
        record = self.server("direct_inference")
        for name in ("../../../client.json", "/etc/passwd", "a/../../x", ".."):
            self.put("workload/direct_inference/server.json", {**record, "client_result": name})
            self.lpo_report()
            self.assertNotIn("requests", self.json("report.json"))

    def test_a_comparison_names_them(self) -> None:
        # a comparison needs a trace on both sides
        words = f"workload.server.load.argv=[sh,-c,'\"$0\" --port \"$LPO_SERVER_PORT\" --requests 2 && cp \"$1\" \"$2\"',{CLIENT},"
        for folder, file in (("a", "vllm.json"), ("b", "slower.json")):
            with open(os.path.join(self.DATA, "vllm.json"), encoding="utf-8") as f:
                data = json.load(f)
            if folder == "b":
                data |= {"median_ttft_ms": 100.5, "output_throughput": 300.0}
            self.write(file, data)
            self.run_fine(*NATIVE, *QUICK, words + f"{file},@out@/client.json]", f"hydra.run.dir={folder}", "--", SERVER, "--port", "@port@",
                          *MODEL)
        done = self.lpo("diff", "a", "b", "--json")
        figures = {f["name"]: f for f in json.loads(done.stdout)["figures"]}
        self.assertEqual((figures["request_ttft_p50_ms"]["a"], figures["request_ttft_p50_ms"]["b"]), (50.25, 100.5))
        self.assertEqual((figures["output_tokens_per_s"]["a"], figures["output_tokens_per_s"]["b"]), (624.39, 300.0))


class Docs(ServerCase):
    def test_every_command_of_the_page_is_planned(self) -> None:
        with open(os.path.join(HERE, "..", "..", "docs", "servers.md"), encoding="utf-8") as f:
            blocks = [b.split("```")[0].replace("\\\n", " ") for b in f.read().split("```\n")[1:] if b.startswith("lpo run ")]
        self.assertGreaterEqual(len(blocks), 5)
        programs = os.path.join(self.cwd, "programs")
        os.mkdir(programs)
        for name in ("vllm", "python3", "trtllm-serve", "k6", "llama-server", "aiperf"):
            os.symlink("/bin/true", os.path.join(programs, name))
        for name in ("server", "client"):
            os.symlink("/bin/true", os.path.join(self.cwd, name))
        for block in blocks:
            words = shlex.split(block)
            done = self.lpo("run", "--dry-run", "hydra.run.dir=run", *words[2:], env={"PATH": f"{programs}:{os.environ['PATH']}"})
            self.assertEqual(done.returncode, 0, block + done.stderr)
            self.assertIn(" __server --out ", done.stdout)


class Ready(ServerCase):
    NOTHING = "workload.server.load.argv=[true]"

    def test_an_answer_of_503_is_not_ready(self) -> None:
        self.run_fine(*DIRECT, *QUICK, self.NOTHING, *self.python("busy"))
        self.assertGreaterEqual(self.server("direct_inference")["ready_ms"], 300)  # three refusals, 100 ms apart

    def test_a_line_of_its_output(self) -> None:
        self.run_fine(*DIRECT, *QUICK, self.NOTHING, "workload.server.ready.url=null",
                      "workload.server.ready.log='*Application startup complete*'", *self.python("line"))
        self.assertIn("Application startup", self.text("workload", "direct_inference", "stdout.log"))

    def test_never_ready(self) -> None:
        self.run_fine(*DIRECT, self.NOTHING, "workload.server.ready.timeout=1s", *self.python("never"), code=1)
        self.assertIn("the server was not ready after 1 s; GET http://127.0.0.1:", self.message())
        self.assertIn("status 500", self.message())
        self.assertIn("workload.server.ready.timeout", self.message())

    def test_no_such_line(self) -> None:
        self.run_fine(*DIRECT, self.NOTHING, "workload.server.ready.timeout=1s", "workload.server.ready.log=nothing",
                      *self.python("line"), code=1)
        self.assertIn("no line of its output is like 'nothing'", self.message())

    def test_it_dies_before(self) -> None:
        self.run_fine(*DIRECT, *QUICK, self.NOTHING, *self.python("dies"), code=1)
        self.assertIn("the server ended before it was ready: exit code 7; its last line: no weights found", self.message())
        self.assertEqual(self.server("direct_inference")["problem"], "the server ended before it was ready: exit code 7")

    def test_a_secret_that_the_server_prints_is_in_no_file(self) -> None:
        self.write("server.py", "import os, sys\nsys.exit('bad token ' + os.environ['HF_TOKEN'])\n")
        done = self.lpo_run(*DIRECT, *QUICK, self.NOTHING, "--", sys.executable, "server.py", env={"HF_TOKEN": "hf_Zx81kPq0vTn3"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("its last line: bad token", self.message())
        for folder, _, names in os.walk(self.run_dir):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(b"hf_Zx81kPq0vTn3", f.read(), name)

    def test_the_port_is_taken(self) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            self.run_fine(*DIRECT, *QUICK, self.NOTHING, f"workload.server.port={port}", *self.python(), code=1)
        self.assertIn(f"something listens on 127.0.0.1, port {port}, already", self.message())

    def test_what_can_be_known_before(self) -> None:
        for words, says in (([], "workload.server.load.argv is empty"),
                            ([self.NOTHING, "workload.server.ready.url=null"], "nothing says when the server is ready"),
                            ([self.NOTHING, "workload.server.ready.url=https://x/"], "is not plain http"),
                            ([self.NOTHING, "workload.server.ready.log='regex:('"], "workload.server.ready.log"),
                            ([self.NOTHING, "pipeline.native.capture.ring=5s"], "pipeline.native.capture.ring counts from the start"),
                            ([self.NOTHING, "workload.server.load.result=../x"], "workload.server.load.result")):
            done = self.lpo_run(*DIRECT, *words, *self.python())
            self.assertEqual(done.returncode, 2, says)
            self.assertIn(says, done.stderr)
            self.assertFalse(os.path.exists(self.run_dir), says)


class Load(ServerCase):
    def test_a_client_that_fails(self) -> None:
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[sh,-c,'exit 4']", *self.python(), code=1)
        self.assertIn("the client failed: exit code 4", self.message())
        self.assertEqual(self.server("direct_inference")["server_end"], "exit code 0")

    def test_a_warm_up_that_fails(self) -> None:
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[true]", "workload.server.warmup.argv=[false]", *self.python(),
                      code=1)
        self.assertIn("the warm-up failed: exit code 1", self.message())

    def test_a_client_that_takes_too_long(self) -> None:
        self.run_fine(*DIRECT, "workload.server.load.argv=[sleep,600]", "workload.server.load.timeout=1s", *self.python(), code=1)
        self.assertIn("the client took longer than 1 s (workload.server.load.timeout)", self.message())

    def test_the_server_dies_under_load(self) -> None:
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[sleep,600]", "workload.server.window.begin_url=@url@/x",
                      *self.python("short"), code=1)
        self.assertIn("the server ended while it was under load: exit code 9", self.message())

    def test_a_program_that_is_not_there(self) -> None:
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[/no/such/client]", *self.python(), code=3)
        self.assertIn("/no/such/client", self.stage("direct_inference")["message"])

    def test_the_servers_own_switch(self) -> None:
        self.run_fine(*DIRECT, *QUICK, "workload.server.load.argv=[true]", "workload.server.window.begin_url=@url@/start_profile",
                      "workload.server.window.end_url=@url@/stop_profile", *self.python())
        out = self.text("workload", "direct_inference", "stdout.log")
        self.assertIn("POST /start_profile\nPOST /stop_profile\n", out)


class End(ServerCase):
    NOTHING = "workload.server.load.argv=[true]"

    def test_what_a_server_says_at_its_end_is_no_failure(self) -> None:
        self.run_fine(*DIRECT, *QUICK, self.NOTHING, *self.python("rude"))
        self.assertEqual(self.server("direct_inference")["server_end"], "exit code 3")

    def test_one_that_ignores_both_signals_is_killed(self) -> None:
        self.run_fine(*DIRECT, "workload.server.stop.grace=300ms", self.NOTHING, *self.python("deaf"))
        self.assertIn("did not end within 0.3 s of SIGINT and of SIGTERM, and was killed", self.stage("direct_inference")["notes"][0])
        self.assertEqual(self.server("direct_inference")["server_end"], "killed by signal 9 (Killed)")

    def test_a_worker_that_it_leaves_is_ended(self) -> None:
        self.run_fine(*DIRECT, *QUICK, self.NOTHING, *self.python("leaves"))
        pid = int(self.text("workload", "direct_inference", "stdout.log").split()[1])
        self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(self.server("direct_inference")["server_end"], "exit code 0")

    def test_an_interrupt_ends_all_of_it(self) -> None:
        child = self.lpo_start(*DIRECT, *QUICK, "workload.server.load.argv=[sh,-c,'echo $$; exec sleep 600']", *self.python("line"))
        log = self.path("workload", "direct_inference", "stdout.log")
        self.wait_for(lambda: "complete" in open(log).read() and open(log).read().strip()[-1].isdigit())
        pid = int(open(log).read().split()[-1])
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))


if __name__ == "__main__":
    tap.main()
