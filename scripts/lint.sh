#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What takes seconds: the format of C sources, the rules of the tree, license lines, links and lines of documentation.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
step() {
    local name=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$name: failed"; tail -40 <<<"$said"; failed=1; }
}
format() { git ls-files '*.c' '*.h' | xargs -P "$(nproc)" -n 64 clang-format --dry-run --Werror; }
# others wrap differently
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then step format format; else echo "format: not checked, no clang-format 14"; fi
step house scripts/check-house.py
step license scripts/spdx.py --check
step docs scripts/check-docs.py
# shellcheck disable=SC2046
step lines scripts/wrap-docs.py --check $(git ls-files '*.md' | grep -v '^tests/data/')
exit $failed
