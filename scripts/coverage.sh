#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much of src/ the tests reach: builds with gcc's counters, runs every test, prints lines and branches
# by folder and in all. The page with every line is build-coverage/html/index.html.
set -uo pipefail
cd "$(dirname "$0")/.."
build=build-coverage
if ! command -v gcovr >/dev/null; then
    as_root=; [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get install -y --no-install-recommends gcovr >/dev/null || exit 3
fi
[ -f $build/build.ninja ] || CC=gcc meson setup $build -Db_coverage=true >/dev/null || exit 1
find $build -name '*.gcda' -delete
scripts/test.sh $build >$build/test.log 2>&1 || echo "coverage: tests failed: $build/test.log" >&2
tail -1 $build/test.log
mkdir -p $build/html
# Children that are killed leave no counters, so the figure is a lower bound.
gcovr --root . --object-directory $build --filter 'src/' --gcov-ignore-parse-errors --json $build/coverage.json 2>/dev/null || exit 1
gcovr --root . --add-tracefile $build/coverage.json --html-details $build/html/index.html 2>/dev/null
gcovr --root . --add-tracefile $build/coverage.json --json-summary $build/summary.json >/dev/null 2>&1
python3 - $build/summary.json <<'PY'
import collections, json, sys
lines = collections.defaultdict(lambda: [0, 0])
summary = json.load(open(sys.argv[1]))
for f in summary["files"]:
    room = f["filename"].split("/")[1]
    lines[room][0] += f["line_covered"]
    lines[room][1] += f["line_total"]
for room, (covered, total) in sorted(lines.items()):
    print(f"{room:10} {100 * covered / total:5.1f} % of {total} lines")
print(f"{'all':10} {summary['line_percent']:5.1f} % of {summary['line_total']} lines, "
      f"{summary['branch_percent']:.1f} % of {summary['branch_total']} branches")
PY
