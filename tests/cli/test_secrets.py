#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets: every way in times every file that is written, and the way back with --resume. Prints TAP."""
from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from lpo_case import LPO, LpoCase  # noqa: E402

SECRET = "hf_S3kritValue9"
ODD = "a b'c\"d&e<f>\\g|h_9"  # every sign that some format quotes
QUICK = ["pipeline.static_analysis.enable=false", "run.repeats=1", "run.warmup=0", "infer.max_new_tokens=2"]
LONG_MAP = ", ".join(f"NAME_{i}: value{i}" for i in range(60))
PRINT = "import os, sys; open('seen', 'w').write(repr((sys.argv[1:], dict(os.environ))))"

TOY = os.path.join(os.path.dirname(LPO), "workloads", "toy_llm")

# name, words of lpo run, environment; S stands for the secret
PLACES = [
    ("a variable", [], {"HF_TOKEN": "S"}),
    ("a variable with an interpolation", ["+model.note='x ${oc.env:HF_TOKEN} y'"], {"HF_TOKEN": "S"}),
    ("an interpolation of a plain key", ["+infer.label='${oc.env:MY_PAT}'"], {"MY_PAT": "S"}),
    ("workload.env", ["+workload.env.HF_TOKEN=S"], {}),
    ("a map of the whole workload", ["++workload={env: {HF_TOKEN: S}}"], {}),
    ("a long map", ["++workload.env={" + LONG_MAP + ", HF_TOKEN: S}"], {}),
    ("a key of the model", ["+model.hf_token=S"], {}),
    ("a key of infer", ["+infer.api_key=S"], {}),
    ("a key far below", ["+infer.a={b: [{c: {client_secret: S}}]}"], {}),
    ("a map under a secret key", ["+infer.credentials={user: me, what: S}"], {}),
    ("an interpolation of a secret key", ["+infer.api_key=S", "+model.note='is ${infer.api_key}.'"], {}),
    ("PASS", [], {"DB_PASS": "S", "HF_NOTE": "S"}),
    ("PASSPHRASE", [], {"SSH_PASSPHRASE": "S", "HF_NOTE": "S"}),
    ("AUTH", [], {"REGISTRY_AUTH": "S", "HF_NOTE": "S"}),
    ("PAT", [], {"GITHUB_PAT": "S", "HF_NOTE": "S"}),
    ("a proxy's password", ["+workload.env.HTTPS_PROXY='http://me:S@proxy:3128'"], {}),
    ("a proxy of the environment", ["+model.note='${oc.env:https_proxy}'"], {"https_proxy": "http://me:S@proxy:3128"}),
    ("a token as a URL's user", ["+model.url='https://S@git.example/x'"], {}),
    ("an option", ["--", sys.executable, "-c", PRINT, "--token", "S"], {}),
    ("an option with =", ["--", sys.executable, "-c", PRINT, "--api-key=S"], {}),
    ("a word that holds a known value", ["--", sys.executable, "-c", PRINT, "x:S:y"], {"HF_TOKEN": "S"}),
    ("the command in a native trace", ["--", TOY, "--repeats", "1", "--max-new-tokens", "2", "--metrics", "x-S.json"],
     {"HF_TOKEN": "S"}),
    ("a header", ["--", sys.executable, "-c", PRINT, "-H", "Authorization: Bearer S"], {}),
    ("a header in a script", ["--", "sh", "-c", "true -H \"Authorization: Bearer S\" x"], {}),
    ("another header in a script", ["--", "sh", "-c", "true -H 'X-Api-Key: S' x"], {}),
    ("a user", ["--", sys.executable, "-c", PRINT, "-u", "me:S"], {}),
    ("a user in a script", ["--", "sh", "-c", "true -u me:S x"], {}),
    ("a parameter of an address", ["--", sys.executable, "-c", PRINT, "http://h/?a=b&access_token=S"], {}),
    ("a signed address", ["--", sys.executable, "-c", PRINT, "http://h/?X-Amz-Signature=S&sig=S"], {}),
    ("JSON", ["--", sys.executable, "-c", PRINT, '{"api_key":"S"}'], {}),
    ("a list", ["--", sys.executable, "-c", PRINT, "--config", "a=1,token=S"], {}),
    ("a token alone", ["--", sys.executable, "-c", PRINT, "ghp_xS0123456789abcdef"], {}),
    ("a private key", ["--", sys.executable, "-c", PRINT, "-----BEGIN PRIVATE KEY-----\nS\n-----END PRIVATE KEY-----"], {}),
    ("a script", ["--", "sh", "-c", "HF_TOKEN=S true && true --password S"], {}),
    ("a last line of stderr", ["--", "sh", "-c", "echo bad $HF_TOKEN >&2; exit 3"], {"HF_TOKEN": "S"}),
    ("a last line that is cut", ["--", "sh", "-c", "printf '%0190d%s\\n' 0 $HF_TOKEN >&2; exit 3"], {"HF_TOKEN": "S"}),
    ("what the program prints", ["--", "sh", "-c", "echo $HF_TOKEN; printf hf_S3; sleep 0.3; echo kritValue9 >&2; echo kritValue9"],
     {"HF_TOKEN": "S"}),
    ("the folder's name as a value", ["hydra.run.dir=out/run-${oc.env:HF_TOKEN}", "+model.note='${hydra:runtime.output_dir}'"],
     {"HF_TOKEN": "S"}),
    ("the folder's name", ["hydra.run.dir=out/run-${oc.env:HF_TOKEN}"], {"HF_TOKEN": "S"}),
]


def leaks(folder: str, secret: str) -> list[str]:
    """Files and folders below with the secret, its beginning or a form that quoting gives it, in their bytes or name."""
    quoted = [secret[:6], secret.replace("'", "'\\''"), secret.replace("'", "''"), secret.replace('"', '\\"'),
              secret.replace("&", "&amp;").replace("<", "&lt;"), secret.replace("\\", "\\\\").replace('"', '\\"')]
    found = []
    for base, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(base, name)
            if secret in name:
                found.append(path)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    data = f.read()
                found += [os.path.relpath(path, folder)] if any(q.encode() in data for q in quoted) else []
    return found


def put(word: str) -> str:
    """The secret in the place of the S that stands alone."""
    return re.sub(r"(?<![A-Za-z_])S(?![A-Za-z_])|(?<=ghp_x)S", SECRET.replace("hf_", "") if "ghp_x" in word else SECRET, word)


class Places(LpoCase):
    def ways(self, words: list[str], env: dict[str, str], secret: str) -> None:
        out = os.path.join(self.cwd, "out")
        dirs = [] if any(w.startswith("hydra.run.dir") for w in words) else ["hydra.run.dir=out/run"]
        done = subprocess.run([LPO, "run", *dirs, *QUICK, *words], cwd=self.cwd, text=True, capture_output=True,
                              env=os.environ | env, timeout=120)
        self.assertEqual(done.returncode, 1 if words[-1:] and "exit 3" in words[-1] else 0, done.stderr)
        self.assertTrue(os.path.isdir(out), done.stderr)
        self.assertEqual(leaks(out, secret), [])

    def test_no_place_leaks_into_any_file(self) -> None:
        for name, words, env in PLACES:
            with self.subTest(name):
                self.tearDown()
                self.setUp()
                given = [w if w == PRINT else put(w) for w in words]
                self.ways(given, {k: put(v) for k, v in env.items()}, SECRET)

    def test_signs_that_are_quoted_do_not_help_a_secret_out(self) -> None:
        self.ways(["+model.note='${oc.env:HF_TOKEN}'", "--", sys.executable, "-c", PRINT, "--x", f"<{ODD}>", "--token", ODD],
                  {"HF_TOKEN": ODD}, ODD)

    def test_a_sweep_hides_them_in_its_folder_names_and_its_list(self) -> None:
        other = "hf_An0therValue7"
        done = subprocess.run([LPO, "run", "-m", "hydra.sweep.dir=out", "hydra.sweep.subdir=${hydra.job.override_dirname}",
                               *QUICK, f"+model.hf_token={SECRET},{other}"], cwd=self.cwd, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for secret in (SECRET, other):
            self.assertEqual(leaks(os.path.join(self.cwd, "out"), secret), [])

    def test_a_sweep_keeps_no_secret_of_its_program(self) -> None:
        program = ["--", sys.executable, "-c", PRINT, "--token", SECRET]
        quick = [w for w in QUICK if w != "run.repeats=1"]
        for words, code in ((["run.repeats=1,2"], 0), (["run.repeats=1,2", "hydra/launcher=joblib"], 2)):
            with self.subTest(words):
                done = subprocess.run([LPO, "run", "-m", f"hydra.sweep.dir=out{code}", *quick, *words, *program], cwd=self.cwd,
                                      text=True, capture_output=True)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertNotIn(SECRET, done.stderr)
                self.assertEqual(leaks(os.path.join(self.cwd, f"out{code}"), SECRET), [])

    def test_plans_and_traces_are_for_their_owner(self) -> None:
        quick = [w for w in QUICK if w != "run.repeats=1"]
        done = subprocess.run([LPO, "run", "-m", "hydra.sweep.dir=out", *quick, "run.repeats=1,2", "pipeline.native.enable=true",
                               "--", TOY, "--max-new-tokens", "2"], cwd=self.cwd, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        modes = {}
        for base, _, names in os.walk(os.path.join(self.cwd, "out")):
            modes |= {os.path.join(base, n): stat.S_IMODE(os.stat(os.path.join(base, n)).st_mode) for n in names
                      if n == "plan.json" or n.endswith(".lpot")}
        self.assertGreaterEqual(len(modes), 3)
        self.assertEqual({oct(m) for m in modes.values()}, {"0o600"}, modes)

    def test_an_error_of_a_job_hides_them_in_the_list_of_jobs(self) -> None:
        done = subprocess.run([LPO, "run", "-m", "hydra.sweep.dir=out", *QUICK, f"+model.hf_token={SECRET}", "run.repeats=1,2",
                               "run.warmup=${model.hf_token}"], cwd=self.cwd, text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn(SECRET, done.stderr)
        with open(os.path.join(self.cwd, "out", "multirun.json"), encoding="utf-8") as f:
            self.assertIn("(hidden)", json.load(f)["jobs"][0]["error"])
        self.assertEqual(leaks(os.path.join(self.cwd, "out"), SECRET), [])

    def test_the_folder_that_the_program_is_given_is_the_one_that_was_made(self) -> None:
        done = subprocess.run([LPO, "run", f"hydra.run.dir=out/run-${{model.hf_token}}", *QUICK, f"+model.hf_token={SECRET}",
                               "+workload.env.OUT='${hydra:runtime.output_dir}'", "--", sys.executable, "-c", PRINT],
                              cwd=self.cwd, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "seen"), encoding="utf-8") as f:
            _, env = eval(f.read())
        self.assertTrue(os.path.isdir(env["OUT"]), env["OUT"])

    def test_the_program_gets_the_real_values(self) -> None:
        done = self.lpo_run(*QUICK, f"+workload.env.HF_TOKEN={SECRET}", "--", sys.executable, "-c", PRINT, "--token", SECRET)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.cwd, "seen"), encoding="utf-8") as f:
            argv, env = eval(f.read())
        self.assertEqual((argv, env["HF_TOKEN"]), (["--token", SECRET], SECRET))

    def test_settings_of_a_model_come_beside_their_file(self) -> None:
        program = self.write("program.py", "import json, os, sys\n"
                             "value = json.loads(os.environ['LPO_SETTINGS_SECRETS'])['model.hf_token']\n"
                             f"sys.exit(value != '{SECRET[:4]}' + '{SECRET[4:]}')\n")
        done = self.lpo_run(*QUICK, "workload=hf", "model=hf", "model.path=x", f"workload.program={self.cwd}/{program}",
                            f"workload.python={sys.executable}", f"+model.hf_token={SECRET}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.json("workload/direct_inference/settings.json")["model"]["hf_token"], "(hidden)")
        self.assertEqual(leaks(self.run_dir, SECRET), [])

    def test_plain_values_stay(self) -> None:
        plain = {"SORT_KEY": "time", "DB_PASS": "done", "MY_KEY": "1234", "A_TOKEN": "cuda", "SOME_AUTH": "basic"}
        done = self.lpo_run(*QUICK, "+model.eos_token=end", "+model.pad_token_id=7", env=plain)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.manifest()["state"], "done")
        self.assertNotIn("(hidden)", self.text("config.yaml") + self.text("report.md"))
        self.assertFalse(os.path.exists(self.path("hidden.yaml")))

    def test_a_file_in_which_something_is_hidden_is_for_its_owner(self) -> None:
        self.assertEqual(self.lpo_run(*QUICK, "+model.hf_token=" + SECRET).returncode, 0)
        mode = stat.S_IMODE(os.stat(self.path("config.yaml")).st_mode)
        self.assertEqual(oct(mode), oct(0o600))

    def test_the_folder_is_private_by_choice(self) -> None:
        self.assertEqual(self.lpo_run(*QUICK, "run.private_folder=true").returncode, 0)
        self.assertEqual(oct(stat.S_IMODE(os.stat(self.run_dir).st_mode)), oct(0o700))


class Resume(LpoCase):
    PROGRAM = ("import os, sys; sys.exit(0 if os.path.exists('go') and os.environ.get('HF_TOKEN') == sys.argv[2] == '"
               + SECRET[:4] + "' + '" + SECRET[4:] + "' else 1)")

    def fail_once(self) -> None:
        done = self.lpo_run(*QUICK, "pipeline.native.enable=false", f"+workload.env.HF_TOKEN={SECRET}", "--",
                            sys.executable, "-c", self.PROGRAM, "--api-key", SECRET)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.write("go", "")

    def test_takes_the_value_from_the_environment_again(self) -> None:
        self.fail_once()
        done = self.lpo("run", "--resume", self.run_dir, env={"HF_TOKEN": SECRET, "API_KEY": SECRET})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(leaks(self.run_dir, SECRET), [])

    def test_without_it_refuses_and_names_the_key(self) -> None:
        self.fail_once()
        done = self.lpo("run", "--resume", self.run_dir, env={"API_KEY": SECRET})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("workload.env.HF_TOKEN", done.stderr)
        self.assertIn("set the variable HF_TOKEN", done.stderr)
        self.assertEqual(self.stage("direct_inference")["state"], "failed")

    def test_a_command_takes_it_from_the_shell_around_it(self) -> None:
        self.fail_once()
        again = subprocess.run(["sh", self.path("direct_inference", "cmd.txt")], cwd=self.cwd, capture_output=True,
                               env=os.environ | {"HF_TOKEN": SECRET, "API_KEY": SECRET})
        self.assertEqual(again.returncode, 0, again.stderr)


class Git(LpoCase):
    def test_a_repository_runs_nothing_of_its_own(self) -> None:
        def git(*words: str) -> None:
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=self.cwd, check=True,
                           capture_output=True)

        hook = os.path.join(self.cwd, "hook.sh")
        self.write("hook.sh", f"#!/bin/sh\necho x >> {self.cwd}/ran-$1\ncat 2>/dev/null\nexit 0\n")
        os.chmod(hook, 0o755)
        git("init", "-q")
        self.write("kept.txt", "one\n")
        git("add", "kept.txt")
        git("commit", "-q", "-m", "x")
        self.write(".gitattributes", "*.txt filter=bad\n")
        git("config", "filter.bad.clean", f"{hook} clean")
        git("config", "core.fsmonitor", f"{hook} fsmonitor")
        self.write("kept.txt", "two\n")
        done = self.lpo_run(*QUICK, "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([n for n in os.listdir(self.cwd) if n.startswith("ran-")], [])
        self.assertEqual(self.json("env.json")["git"]["modified"], True)


if __name__ == "__main__":
    tap.main()
