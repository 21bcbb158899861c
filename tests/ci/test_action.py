# SPDX-License-Identifier: Apache-2.0
"""The steps of action.yml, carried out as a runner does, with a GitHub of our own behind them."""
from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent)]

import tap  # noqa: E402

DATA = ROOT / "tests/data/kineto"


class GitHub(http.server.BaseHTTPRequestHandler):
    comments, asked, code = [], [], 200

    def answer(self, body, code=None):
        text = json.dumps(body).encode()
        self.send_response(code or self.code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def handle_request(self):
        GitHub.asked.append((self.command, self.path.split("?")[0], self.headers["Authorization"]))
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        if GitHub.code != 200:
            return self.answer({"message": "no"})
        if self.command == "GET":
            page = int(re.search(r"page=(\d+)$", self.path).group(1))
            return self.answer(GitHub.comments[(page - 1) * 100:page * 100])
        if self.command == "POST":
            GitHub.comments.append({"id": len(GitHub.comments) + 1, **body})
        else:
            next(c for c in GitHub.comments if c["id"] == int(self.path.rsplit("/", 1)[1])).update(body)
        return self.answer({})

    do_GET = do_POST = do_PATCH = handle_request

    def log_message(self, *words):
        pass


def steps():
    """env and run of each step, and whether it has a condition: as much of YAML as action.yml uses."""
    text = (ROOT / "action.yml").read_text()
    defaults = dict(re.findall(r"^  ([\w-]+):\n(?:    (?!default).*\n)*    default: '?([^'\n]*)'?$", text, re.M))
    found = []
    for part in re.split(r"^    - ", text.split("  steps:\n")[1], flags=re.M)[1:]:
        env = dict(re.findall(r"^        (\w+): (.*)$", part.split("run: |")[0], re.M))
        run = "\n".join(line[8:] for line in part.split("run: |\n")[1].splitlines())
        found.append((env, run, re.search(r"if: (.*)", part)))
    return defaults, found


class Action(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        GitHub.comments, GitHub.asked, GitHub.code = [], [], 200

    def carry_out(self, folder, event=None, **inputs):
        defaults, found = steps()
        inputs = {**defaults, "token": "T0KEN", "lpo": os.environ["LPO_BIN"], "output": f"{folder}/out", **inputs}
        Path(f"{folder}/event.json").write_text(json.dumps({"pull_request": {"number": 7}} if event is None else event))
        outputs, said, code = {}, "", 0
        for env, run, condition in found:
            if condition and "inputs.comment" in condition.group(1) and inputs["comment"] != "true":
                continue

            def value(text):
                return re.sub(r"\$\{\{ *(?:inputs\.([\w-]+)|steps\.diff\.outputs\.(\w+)) *\}\}",
                              lambda m: inputs[m.group(1)] if m.group(1) else outputs.get(m.group(2), ""), text)

            full = {**os.environ, **{k: value(v) for k, v in env.items()}, "GITHUB_ACTION_PATH": str(ROOT),
                    "GITHUB_OUTPUT": f"{folder}/output", "GITHUB_STEP_SUMMARY": f"{folder}/summary.md",
                    "GITHUB_EVENT_PATH": f"{folder}/event.json", "GITHUB_REPOSITORY": "o/r",
                    "GITHUB_API_URL": f"http://127.0.0.1:{self.server.server_address[1]}"}
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", run], env=full, cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            said += done.stdout
            code = done.returncode
            if os.path.exists(f"{folder}/output"):
                outputs.update(line.split("=", 1) for line in Path(f"{folder}/output").read_text().splitlines())
            if code:
                break
        return code, outputs, said

    def test_no_change_passes_with_one_comment_that_is_updated(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = str(DATA / "mi250_train.json.gz")
            for again in range(2):
                code, outputs, said = self.carry_out(folder, before=trace, after=trace, **{"fail-over": "3%"})
                self.assertEqual((code, outputs["regression"]), (0, "false"), said)
                self.assertEqual(len(GitHub.comments), 1)
            self.assertTrue(GitHub.comments[0]["body"].startswith("<!-- lpo diff -->\n"))
            self.assertIn("PATCH", [a[0] for a in GitHub.asked])
            body = GitHub.comments[0]["body"]
            self.assertEqual((body.count("<!-- lpo diff -->"), body.count("<details>")), (1, body.count("</details>")))
            self.assertTrue(0 < body.index("#### Verdict") < len(body) <= 65536)
            self.assertTrue(all(a[2] == "Bearer T0KEN" for a in GitHub.asked))
            self.assertEqual(Path(f"{folder}/summary.md").read_text().count(Path(f"{folder}/out/comment.md").read_text()), 2)
            self.assertTrue(os.path.exists(f"{folder}/out/checks.xml"))

    def test_a_limit_that_is_broken_fails_after_the_comment(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = str(DATA / "mi250_train.json.gz")
            code, outputs, said = self.carry_out(folder, before=trace, after=trace, arguments="--budget wall=1us")
            self.assertEqual((code, outputs["regression"]), (4, "true"), said)
            self.assertEqual(len(GitHub.comments), 1)

    def test_a_program_is_profiled_and_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            toy = str(Path(os.environ["LPO_BIN"]).parent / "workloads/toy_llm")
            say = [os.environ["LPO_BIN"], "run", "-q", "-o", "base", "--", toy]
            subprocess.run(say, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            code, outputs, said = self.carry_out(folder, before="base", program=f"{toy} >&2 && true", repeats="2")
            self.assertEqual((code, outputs["regression"]), (0, "false"), said)
            self.assertEqual(sorted(p.name for p in Path(f"{folder}/out").glob("run-*")), ["run-1", "run-2"])
            code, _, said = self.carry_out(folder, before="base", program="exit 3", repeats="1")
            self.assertEqual(code, 1, said)

    def test_what_cannot_be_compared_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            code, _, said = self.carry_out(folder, before="/no/such", after=str(DATA / "mi250_train.json.gz"))
            self.assertNotEqual(code, 0)
            self.assertIn("/no/such", said)
            self.assertEqual(GitHub.comments, [])

    def test_comments_are_found_on_later_pages_and_left_out_without_a_pull_request(self):
        GitHub.comments = [{"id": i + 1, "body": "x"} for i in range(150)] + [{"id": 151, "body": "<!-- lpo diff -->\nold"}]
        with tempfile.TemporaryDirectory() as folder:
            trace = str(DATA / "mi250_train.json.gz")
            self.carry_out(folder, before=trace, after=trace)
            self.assertEqual(len(GitHub.comments), 151)
            self.assertNotIn("old", GitHub.comments[150]["body"])
            GitHub.asked = []
            code, _, said = self.carry_out(folder, event={"ref": "main"}, before=trace, after=trace)
            self.assertEqual((code, GitHub.asked), (0, []), said)

    def test_a_permission_that_is_missing_is_named(self):
        GitHub.code = 403
        with tempfile.TemporaryDirectory() as folder:
            trace = str(DATA / "mi250_train.json.gz")
            code, _, said = self.carry_out(folder, before=trace, after=trace)
            self.assertNotEqual(code, 0)
            self.assertIn("pull-requests: write", said)


if __name__ == "__main__":
    tap.main()
