#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of README.md and docs/*.md, and compares what they show. Prints TAP.

An example is a fenced block marked `console`. Of it, lines that start with "$ lpo " or "$ build/lpo " are run, all of
a block in one scratch folder; what stands below a command, up to the next "$ " line, is the output it must
give, standard error included. "…" alone on a line stands for any lines, inside a line for any text. A
command with nothing below it has only to succeed; "# exits 2" after it says which status it ends with. Other
commands ("$ make …", "$ cat …") are not run. "console gpu" needs a GPU and is skipped unless LPO_GPU=1; "console no-run"
is never run. The scratch folder sees conf/, tests/ and workloads/ of the source.

Also: every command of `lpo -h` has a page docs/<command>.md, and the page names each of its options; the commands and
options of SKILL.md and docs/agents.md are there, and SKILL.md begins as agents expect it.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
LPO = os.environ["LPO_BIN"]
LIMIT_S = 60
# Commands of the design: pages may show them before they are built.
PLANNED = {"run", "config", "report", "regions", "top", "operators", "kernels", "analyze", "diff", "doctor"}


def blocks(path):
    """(line, mark, lines) of every fenced console block."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    found, start = [], None
    for i, line in enumerate(lines):
        text = line.strip()
        if start is None and text.startswith("```"):
            start, mark = i, text[3:].split()
        elif start is not None and text == "```":
            if mark[:1] == ["console"]:
                found.append((start + 1, mark[1:], lines[start + 1:i]))
            start = None
    return found


def steps(lines):
    """(command, expected lines) in order; a command that is not ours has None."""
    out, i = [], 0
    while i < len(lines):
        if not lines[i].startswith("$ "):
            if out:
                out[-1][1].append(lines[i])
            i += 1
            continue
        command = lines[i][2:]
        while command.endswith("\\") and i + 1 < len(lines):
            i += 1
            command = command[:-1] + lines[i].lstrip("> ")
        ours = command.startswith(("lpo ", "build/lpo "))
        out.append((command if ours else None, []))
        i += 1
    return out


def words(lines):
    """The lpo commands a block uses."""
    return [command.split()[1] for command, _ in steps(lines) if command]


def pattern(expected):
    """The shown output as a regular expression."""
    text = "\n".join(expected).rstrip()
    parts = []
    for line in text.split("\n"):
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*?".join(re.escape(p.rstrip() if p == line else p) for p in line.split("…")) + r"[ \t]*\n")
    return re.compile("".join(parts) + r"\s*\Z")


def run_block(lines, env):
    """None, or what went wrong."""
    with tempfile.TemporaryDirectory(prefix="lpo-docs-") as folder:
        os.makedirs(os.path.join(folder, "build"))
        os.symlink(LPO, os.path.join(folder, "build", "lpo"))
        for name in ("conf", "tests", "workloads"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
        env = env | {"PATH": os.path.join(folder, "build") + ":" + os.environ["PATH"]}
        for command, expected in steps(lines):
            if command is None:
                continue
            want = re.search(r"#\s*exits? (\d+)", command)
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True, timeout=LIMIT_S,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != (int(want[1]) if want else 0):
                return f"$ {command}\nends with {done.returncode}:\n{done.stdout[-2000:]}"
            shown = [l for l in expected if l.strip()]
            if shown and not pattern(expected).match(done.stdout.rstrip() + "\n"):
                return f"$ {command}\nprints:\n{done.stdout[-3000:]}\nthe page shows:\n" + "\n".join(expected)
    return None


EVERYWHERE = {"debug", "limit"}


def check_page(command):
    path = os.path.join(SOURCE, "docs", command + ".md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    shown = subprocess.run([LPO, command, "-h"], stdout=subprocess.PIPE, text=True, check=True).stdout
    options = set(re.findall(r"(?m)^  (?:-\w, )?--([a-z][\w-]*)", shown)) - {"help"}
    if command != "run":  # docs/run.md describes the options that every command has
        options -= EVERYWHERE
    absent = sorted(o for o in options if f"--{o}" not in text)
    return f"docs/{command}.md does not name: " + ", ".join("--" + o for o in absent) if absent else None


def check_agent_page(name, known):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        text = f.read()
    wrong, said = [], 0
    for command, rest in re.findall(r"`lpo ([a-z]+)([^`]*)`", text):
        said += 1
        shown = subprocess.run([LPO, command, "-h"], stdout=subprocess.PIPE, text=True).stdout if command in known else ""
        options = re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", rest.split(" -- ")[0])
        wrong += [f"lpo {command} {o}" for o in options if not re.search(rf"(?m)^  .*?{o}\b", shown)] + ([] if shown else [command])
    if name == "SKILL.md" and not re.match(r"---\nname: [a-z-]{1,64}\ndescription: \S.*\n(  .*\n)*---\n", text):
        wrong.append("the front matter")
    return f"{name}: not right: {', '.join(wrong)}" if wrong or said < 4 else None


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def row(self, name, problem=None, skip=None):
        self.count += 1
        self.failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {self.count} - {name}" + (f" # SKIP {skip}" if skip else ""))
        for line in (problem or "").splitlines():
            print("# " + line)
        sys.stdout.flush()


def main():
    tap = Tap()
    listing = subprocess.run([LPO, "-h"], stdout=subprocess.PIPE, text=True, check=True).stdout
    known = re.findall(r"(?m)^  ([a-z]+) ", listing)
    env = {k: v for k, v in os.environ.items() if not k.startswith("LPO_")}
    env["ASAN_OPTIONS"] = "detect_leaks=0"  # of libraries that examples load; ours are looked for in the unit tests
    pages = [os.path.join(SOURCE, "README.md"), *sorted(glob.glob(os.path.join(SOURCE, "docs", "*.md")))]
    for path in filter(os.path.exists, pages):
        for line, mark, lines in blocks(path):
            name = f"{os.path.relpath(path, SOURCE)}:{line}"
            if not any(command for command, _ in steps(lines)) or "no-run" in mark:
                continue
            planned = [w for w in words(lines) if w in PLANNED and w not in known]
            if planned:
                tap.row(name, skip=f"lpo {planned[0]} is not there yet")
                continue
            if "gpu" in mark and os.environ.get("LPO_GPU") != "1":
                tap.row(name, skip="needs a GPU")
                continue
            try:
                tap.row(name, run_block(lines, env))
            except subprocess.TimeoutExpired as e:
                tap.row(name, f"not done after {LIMIT_S} s: {e.cmd}")
    for command in known:
        if os.path.exists(os.path.join(SOURCE, "docs", command + ".md")):
            tap.row(f"docs/{command}.md", check_page(command))
        else:
            tap.row(f"docs/{command}.md", skip="not written yet")
    for name in ("SKILL.md", "docs/agents.md"):
        tap.row(name, check_agent_page(name, known))
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
