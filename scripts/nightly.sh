#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nightly.sh BUILD SAN: everything that can be tested without a GPU, one step after the other: static analysis, every
# test with both compilers under sanitizers and with none, the long forms of the torture tests, every fuzz target, and
# what is released. Hours. One line per step; its output is in build-nightly/STEP.log. Fails when any step did.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} san=${2:-build-san} logs=build-nightly
mkdir -p $logs
failed=0
step() {
    local name=$1 from=$SECONDS verdict=ok
    shift
    "$@" >"$logs/$name.log" 2>&1 || { verdict=FAILED failed=1; }
    printf '%-8s %-8s %5d s  %s\n' "$verdict" "$name" $((SECONDS - from)) "$(tail -1 "$logs/$name.log")"
    [ $verdict = ok ] || grep -hE '^(failed:|not ok|FOUND)|error:' "$logs/$name.log" | head -20
}
step check   scripts/check.sh
step plain   scripts/test.sh "$build"
step torture scripts/torture.sh "$san"
step fuzz    env FUZZ_SECONDS=90 scripts/fuzz.sh # an hour in all
step dist    scripts/dist.sh
step image   scripts/image.py
step deb     scripts/deb.sh
exit $failed
