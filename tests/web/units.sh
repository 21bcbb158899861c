#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unit tests of the page's TypeScript (units.ts), bundled by esbuild and run by node. Prints TAP.
root=${LPO_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
for program in esbuild node; do
    command -v $program >/dev/null || { echo "1..0 # SKIP $program is not installed"; exit 0; }
done
node -e 'process.exit(typeof DecompressionStream === "undefined" ? 1 : 0)' || { echo "1..0 # SKIP node is older than 18"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
esbuild "$root/tests/web/units.ts" --bundle --platform=node --format=cjs --log-level=warning --outfile="$work/units.test.cjs" || exit 1
node --test --test-reporter=tap "$work/units.test.cjs" >"$work/tap"
code=$?
# meson reads plain TAP: the tests of the one file, without node's frame around them
awk '/^TAP version|^# /{next} {sub(/^    /, "")} /^(ok|not ok)/ && !/units\.test/ {n++; sub(/ok [0-9]+/, "ok " n); print; next} /^1\.\./{next} {print "# " $0} END {print "1.." n+0}' "$work/tap"
exit $code
