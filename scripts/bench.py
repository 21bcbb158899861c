#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the rows of bench/rows/*.toml; see bench/README.md.

    scripts/bench.py BUILD [--only NAME…] [--repeats N] [--strict]

Commands and their baselines take turns, so that what slows the machine slows both. Targets and ratios are
judged by the best run of each, since on a busy machine the rest measures the neighbours; the median stands beside it.
Prints a table, and leaves it as Markdown and JSON in BUILD/bench/. Fails when a command fails; a missed target
only with --strict.
"""
import argparse
import glob
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tomllib

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROW_SECONDS = 10  # a slow command is run fewer times, at least 5
FIELDS = {"name", "what", "command", "baseline", "make", "needs", "repeats", "max_ms", "max_ratio",
          "max_mib", "min_mib_s", "input", "exit", "env"}


def load_rows():
    rows = []
    for path in sorted(glob.glob(os.path.join(SOURCE, "bench", "rows", "*.toml"))):
        with open(path, "rb") as f:
            for row in tomllib.load(f)["row"]:
                unknown = set(row) - FIELDS
                if unknown or not {"name", "what", "command"} <= set(row):
                    sys.exit(f"bench: {path}: row {row.get('name')}: unknown or missing fields {unknown}")
                rows.append(row)
    names = [row["name"] for row in rows]
    doubled = {n for n in names if names.count(n) > 1}
    if doubled:
        sys.exit(f"bench: the same name twice: {doubled}")
    return rows


class Bench:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.out = os.path.join(self.build, "bench")
        self.places = {"lpo": os.path.join(self.build, "lpo"), "build": self.build, "source": SOURCE,
                       "shared": os.path.join(SOURCE, "..", "shared")}

    def fill(self, text, row):
        places = self.places | {"tmp": self.folder(row)}
        return re.sub(r"\{(%s)\}" % "|".join(places), lambda m: places[m[1]], text)

    def folder(self, row):
        return os.path.join(self.out, "tmp", row["name"])

    def missing(self, row):
        """What the row needs and does not find, or None."""
        for need in row.get("needs", []):
            need = self.fill(need, row)
            if not (os.path.exists(os.path.normpath(need)) if "/" in need else shutil.which(need)):
                return f"no {os.path.relpath(need, SOURCE) if '/' in need else need}"
        return None

    def prepare(self, row):
        os.makedirs(self.folder(row), exist_ok=True)
        if "make" in row:
            argv = [self.fill(word, row) for word in row["make"]]
            subprocess.run(argv, check=True, cwd=self.folder(row))

    def sample(self, argv, row, want_exit):
        """One run: (wall ns, CPU ns, peak KiB). Exits when the command fails."""
        log = os.path.join(self.folder(row), "output")
        env = os.environ | {k: self.fill(v, row) for k, v in row.get("env", {}).items()}
        done = subprocess.run([os.path.join(self.build, "bench", "sample"), log, *argv],
                              cwd=self.folder(row), env=env, stdout=subprocess.PIPE, check=True, text=True)
        wall, cpu, peak, status = map(int, done.stdout.split())
        if status != want_exit:
            with open(log, errors="replace") as f:
                sys.stderr.write(f.read()[-2000:])
            raise RuntimeError(f"exit status {status} of: {' '.join(argv)}")
        return wall, cpu, peak

    def measure(self, row, repeats):
        nothing = [os.path.join(self.build, "bench", "nothing")]
        command = [self.fill(word, row) for word in row["command"]]
        baseline = [self.fill(word, row) for word in row["baseline"]] if "baseline" in row else nothing
        runs, bases = [], []
        first, _, _ = self.sample(command, row, row.get("exit", 0))  # warms the file cache too
        repeats = max(5, min(repeats, int(ROW_SECONDS * 1e9 / first)))
        for _ in range(repeats):
            runs.append(self.sample(command, row, row.get("exit", 0)))
            bases.append(self.sample(baseline, row, 0))
        best, base = min(w for w, _, _ in runs), min(w for w, _, _ in bases)
        result = {"name": row["name"], "what": row["what"], "repeats": repeats, "ms": best / 1e6,
                  "median_ms": statistics.median(w for w, _, _ in runs) / 1e6,
                  "cpu_ms": statistics.median(c for _, c, _ in runs) / 1e6, "baseline_ms": base / 1e6,
                  "ratio": best / base, "mib": max(p for _, _, p in runs) / 1024}
        if "input" in row:
            size = os.path.getsize(self.fill(row["input"], row))
            result["mib_s"] = size / (1 << 20) / (best / 1e9)
        return result


CHECKS = [("ms", "max_ms", False, "{:.2f} ms"), ("ratio", "max_ratio", False, "{:.1f}×"),
          ("mib", "max_mib", False, "{:.1f} MiB"), ("mib_s", "min_mib_s", True, "{:.0f} MiB/s")]


def verdict(row, result):
    """The targets of the row, each with whether it was met."""
    words, met = [], True
    for figure, limit, at_least, text in CHECKS:
        if limit in row and figure in result:
            good = result[figure] >= row[limit] if at_least else result[figure] <= row[limit]
            words.append(("≥ " if at_least else "≤ ") + text.format(row[limit]))
            met = met and good
    return ", ".join(words), met


def table(results):
    lines = ["| what | best | median | processor | to the baseline | peak memory | rate | target | met |",
             "|---|---:|---:|---:|---:|---:|---:|---|---|"]
    for r in results:
        if "skipped" in r:
            lines.append(f"| {r['name']}: {r['what']} | n/a | n/a | n/a | n/a | n/a | n/a | | skipped: {r['skipped']} |")
            continue
        rate = f"{r['mib_s']:.0f} MiB/s" if "mib_s" in r else ""
        lines.append(f"| {r['name']}: {r['what']} | {r['ms']:.2f} ms | {r['median_ms']:.2f} ms | {r['cpu_ms']:.2f} ms "
                     f"| {r['ratio']:.1f}× | {r['mib']:.1f} MiB | {rate} | {r['target']} | {'yes' if r['met'] else '**no**'} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--repeats", type=int, help="at most, instead of each row's own (30)")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed")
    args = parser.parse_args()

    bench, results, failed = Bench(args.build), [], False
    for row in load_rows():
        if args.only and row["name"] not in args.only:
            continue
        entry = {"name": row["name"], "what": row["what"]}
        lack = bench.missing(row)
        if lack:
            results.append(entry | {"skipped": lack})
            continue
        try:
            bench.prepare(row)
            result = bench.measure(row, args.repeats or row.get("repeats", 30))
        except (RuntimeError, subprocess.CalledProcessError, OSError) as e:
            print(f"bench: {row['name']}: {e}", file=sys.stderr)
            results.append(entry | {"skipped": "it failed"})
            failed = True
            continue
        result["target"], result["met"] = verdict(row, result)
        results.append(result)
        print(f"{row['name']:<20} {result['ms']:9.2f} ms {result['ratio']:8.1f}x {result['mib']:8.1f} MiB"
              f"   {result['target']}{'' if result['met'] else '   MISSED'}", flush=True)
    text = table(results)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    with open(os.path.join(bench.out, "bench.md"), "w") as f:
        f.write(f"`make bench` on {machine}; the baseline is an empty static program unless said otherwise.\n\n{text}\n")
    with open(os.path.join(bench.out, "bench.json"), "w") as f:
        json.dump({"machine": machine, "rows": results}, f, indent=2)
    print(f"\n{text}\n\nwritten to {os.path.relpath(bench.out)}/bench.md")
    missed = [r["name"] for r in results if not r.get("met", True)]
    return 1 if failed or (missed and args.strict) else 0


if __name__ == "__main__":
    sys.exit(main())
