#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo run --multirun --dry-run --json` on every `multirun` case of tests/data/hydra. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

LPO = os.environ["LPO_BIN"]
CASES = os.path.join(os.environ.get("LPO_SOURCE_ROOT", "."), "tests", "data", "hydra", "cases-run.json")


def write_tree(folder, tree):
    for path, text in tree.items():
        full = os.path.join(folder, path)
        os.makedirs(full if path.endswith("/") else os.path.dirname(full), exist_ok=True)
        if not path.endswith("/"):
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)


def check(case, tree):
    """None, or what differs."""
    env = {"PATH": os.environ["PATH"], "HOME": "/home/user", "LANG": "C.UTF-8", "LPO_JOB_NAME": "app"}
    with tempfile.TemporaryDirectory(prefix="lpo-multirun-") as folder:
        write_tree(folder, tree)
        done = subprocess.run([LPO, "run", "--config-dir", "conf", "--dry-run", "--json", *case["argv"]], cwd=folder,
                              env=env | case.get("env", {}), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect = case["expect"]
    if expect["exit"] != 0:
        fine = done.returncode == 2 and done.stderr and not done.stdout
        return None if fine else f"ends with {done.returncode}, says {done.stderr!r}"
    if done.returncode != 0:
        return f"ends with {done.returncode}: {done.stderr}"
    if json.loads(done.stdout)["schema"] != "lpo.jobs/1":
        return "no schema"
    have = [(job["num"], job["overrides"]) for job in json.loads(done.stdout)["jobs"]]
    want = [(job["num"], job["overrides"]) for job in expect["jobs"]]
    return None if have == want else f"jobs {have}\nnot {want}"


def main():
    with open(CASES, encoding="utf-8") as f:
        data = json.load(f)
    count = failed = 0
    for case in data["cases"]:
        if case["kind"] != "multirun":
            continue
        problem = check(case, data["trees"][case["tree"]])
        count += 1
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {count} - {case['id']}")
        for line in (problem or "").splitlines():
            print("# " + line)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
