#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts TAP lines in Meson's testlog.json and prints `N passed, N failed[, N skipped]`.

Meson's own summary counts programs; a reader wants tests. A program that dies before its plan is
complete, or fails without a `not ok` line, counts as one failure. Exit code 1 when anything failed.
"""
import json
import re
import sys

PLAN_SKIP = re.compile(r"^1\.\.0 +# *SKIP\b *(.*)", re.I | re.M)
LINE = re.compile(r"^(not ok|ok)\b(.*)$", re.M)
WHY = re.compile(r"^not ok\b.*\n((?:#.*\n?)*)", re.M)


def count(test: dict) -> tuple[int, int, int, list[str]]:
    """(passed, failed, skipped) of one test program, and what is to be said of its failures."""
    out = test.get("stdout", "")
    whole = PLAN_SKIP.search(out)
    if whole:
        print(f"skipped: {test['name']}: {whole.group(1)}")
        return 0, 0, 1, []
    passed = failed = skipped = 0
    for verdict, rest in LINE.findall(out):
        if re.search(r"#\s*skip", rest, re.I):
            print(f"skipped: {test['name']}:{rest}")
            skipped += 1
        elif verdict == "ok":
            passed += 1
        else:
            failed += 1
    said = []
    for fault in WHY.finditer(out):
        said += [f"failed: {test['name']}: {fault.group(0).splitlines()[0]}", *fault.group(1).splitlines()[-12:]]
    if test["result"] in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS") and not failed:
        failed = 1
        said += [f"failed: {test['name']}: {test['result']}, exit status {test.get('returncode')}, "
                 f"after {test.get('duration', 0):.0f} s; the last of its output:",
                 *out.splitlines()[-6:], *test.get("stderr", "").splitlines()[-6:]]
    if not (passed or failed or skipped):
        passed = int(test["result"] == "OK")
    return passed, failed, skipped, said


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as log:
        counts = [count(json.loads(line)) for line in log if line.strip()]
    passed, failed, skipped = (sum(row[column] for row in counts) for column in range(3))
    # the failures last, where a log that is cut still has them
    for line in (line for row in counts for line in row[3]):
        print(line[:400])
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
