#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target, or those named, for FUZZ_SECONDS each (60), FUZZ_JOBS at once (one per
# core). What they learn stays in build-fuzz/corpus for the next time. Fails on any finding and
# says where it lies and how to run it again.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-fuzz
seconds=${FUZZ_SECONDS:-60}
jobs=${FUZZ_JOBS:-$(nproc)}

if ! command -v clang >/dev/null || ! ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-* >/dev/null 2>&1; then
    as_root=; [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get install -y --no-install-recommends clang libclang-rt-14-dev >/dev/null
fi
[ -f $build/build.ninja ] ||
    CC=clang meson setup $build -Dfuzzers=true -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
ninja -C $build build.ninja >/dev/null # new rows since it was set up
mapfile -t all < <(meson introspect $build --targets | python3 -c '
import json, sys
print("\n".join(sorted(t["name"][5:] for t in json.load(sys.stdin) if t["name"].startswith("fuzz_"))))')
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
ninja -C $build "${targets[@]/#/fuzz/fuzz_}" >$build/ninja.log 2>&1 || { tail -40 $build/ninja.log; exit 1; }

# One target: its seeds and what earlier runs learned, then the clock.
fuzz_one() {
    local name=$1 corpus=$build/corpus/$1 found=$build/findings/$1 n=0
    local args=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1)
    mkdir -p "$corpus" "$found"
    if [ -d fuzz/seeds/"$name" ]; then cp -f fuzz/seeds/"$name"/* "$corpus"/; fi
    if [ -f fuzz/seeds/"$name".lines ]; then
        while IFS= read -r line; do
            printf '%s' "$line" >"$corpus/line-$((n += 1))"
        done <fuzz/seeds/"$name".lines
    fi
    if [ -f fuzz/seeds/"$name".dict ]; then args+=(-dict=fuzz/seeds/"$name".dict); fi
    if UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        $build/fuzz/fuzz_"$name" "${args[@]}" -artifact_prefix="$found/" "$corpus" >"$found.log" 2>&1; then
        printf 'ok      %-16s %10s inputs in %s s\n' "$name" \
            "$(awk '/stat::number_of_executed_units/ { print $2 }' "$found.log")" "$seconds"
    else
        grep -m1 -E 'ERROR|runtime error|SUMMARY' "$found.log" || true
        printf 'FOUND   %-16s see %s and %s\n' "$name" "$found.log" "$found/"
        printf '        again: %s/fuzz/fuzz_%s %s/<file>\n' $build "$name" "$found"
        return 1
    fi
}

failed=0 running=0
for name in "${targets[@]}"; do
    if [ $running -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    fuzz_one "$name" &
    running=$((running + 1))
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit $failed
