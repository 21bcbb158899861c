#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long forms of the tests in tests/torture, of ranks on a bad disk and of those that go through
# all traces: every kill and every fault, thousands of mutants of every format, every metamorphic
# pair. Prints what was done; fails when anything broke a promise of docs/reliability.md. Takes
# about half an hour on two quiet cores.
#   scripts/torture.sh BUILD [TEST…]    BUILD: a folder set up with sanitizers; all tests of torture/
#   scripts/torture.sh --list BUILD     only says which tests those are
set -uo pipefail
cd "$(dirname "$0")/.."
# By their names, as older Mesons do not know patterns; a suite may stand before a name.
long_tests() {
    meson test -C "$1" --no-rebuild --list 2>/dev/null | sed -E 's|^[^ ]+ / ||' |
        grep -E '^(torture/|ranks/bad-disk|report/pages|region/oracle|(analysis|trace)/.*-oracle)'
}
if [ "${1:-}" = --list ]; then long_tests "$2"; exit; fi
build=${1:-build-san}
tests=("${@:2}")
ninja -C "$build" >"$build/ninja.log" 2>&1 || { tail -60 "$build/ninja.log"; exit 1; }
[ ${#tests[@]} -gt 0 ] || mapfile -t tests < <(long_tests "$build")
[ ${#tests[@]} -gt 0 ] || { echo "no long tests in $build" >&2; exit 1; }
export LPO_TORTURE=long ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
meson test -C "$build" --no-rebuild --print-errorlogs --num-processes "${LPO_TORTURE_JOBS:-$(nproc)}" --timeout-multiplier 0 --logbase torture "${tests[@]}"
failed=$?
python3 - "$build/meson-logs/torture.json" <<'EOF'
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    test = json.loads(line)
    print(f"{test['name']}: {test['result']}, {test['duration']:.0f} s")
    for text in (test.get("stdout") or "").splitlines():
        if text.startswith("# ") and any(word in text for word in (" mutants,", " pairs ", " points", " kills", " faults", " files,")):
            print("   ", text[2:])
EOF
exit $failed
