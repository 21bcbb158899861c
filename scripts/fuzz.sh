#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target, or those named, for FUZZ_SECONDS each (60), FUZZ_JOBS at once (one per
# core), and prints how many inputs each one has run. It starts from the seeds and from what was
# kept of earlier runs (fuzz/corpus); what it learns stays in build-fuzz/corpus for the next time.
# Fails on any finding and says where it lies and how to run it again.
#   scripts/fuzz.sh [TARGET…]          run
#   scripts/fuzz.sh --keep [TARGET…]   minimise build-fuzz/corpus and pack it into fuzz/corpus
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-fuzz
seconds=${FUZZ_SECONDS:-60}
jobs=${FUZZ_JOBS:-$(nproc)}
most_bytes=${FUZZ_KEEP_BYTES:-70000} # packed, of one target: all of them together stay below 2 MB
keep=
if [ "${1:-}" = --keep ]; then keep=yes && shift; fi

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

# The seeds of a target, and what was kept of earlier runs, among what this checkout has learned.
fill() {
    local name=$1 corpus=$build/corpus/$1 n=0
    mkdir -p "$corpus"
    if [ -d fuzz/seeds/"$name" ]; then cp -f fuzz/seeds/"$name"/* "$corpus"/; fi
    if [ -f fuzz/seeds/"$name".lines ]; then
        while IFS= read -r line; do
            printf '%s' "$line" >"$corpus/line-$((n += 1))"
        done <fuzz/seeds/"$name".lines
    fi
    if [ -f fuzz/corpus/"$name".tar.zst ]; then tar -C "$corpus" -xf fuzz/corpus/"$name".tar.zst; fi
}

# One target: its corpus, then the clock.
fuzz_one() {
    local name=$1 corpus=$build/corpus/$1 found=$build/findings/$1 ran
    local args=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -entropic=0 -print_final_stats=1)
    mkdir -p "$found"
    fill "$name"
    if [ -f fuzz/seeds/"$name".dict ]; then args+=(-dict=fuzz/seeds/"$name".dict); fi
    if UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        $build/fuzz/fuzz_"$name" "${args[@]}" -artifact_prefix="$found/" "$corpus" >"$found.log" 2>&1; then
        ran=$(awk '/stat::number_of_executed_units/ { print $2 }' "$found.log")
        echo "$ran" >>$build/executions
        printf 'ok      %-16s %10s inputs in %s s\n' "$name" "$ran" "$seconds"
    else
        grep -m1 -E 'ERROR|runtime error|SUMMARY' "$found.log" || true
        printf 'FOUND   %-16s see %s and %s\n' "$name" "$found.log" "$found/"
        printf '        again: %s/fuzz/fuzz_%s %s/<file>\n' $build "$name" "$found"
        return 1
    fi
}

# The fewest inputs that reach what all of them reach, smallest first, as many as fit.
keep_one() {
    local name=$1 corpus=$build/corpus/$1 least=$build/least/$1 list=$build/least/$1.list packed=fuzz/corpus/$1.tar.zst
    fill "$name"
    rm -rf "$least" && mkdir -p "$least" fuzz/corpus
    $build/fuzz/fuzz_"$name" -merge=1 -timeout=10 -rss_limit_mb=2048 "$least" "$corpus" >"$least.log" 2>&1 ||
        { tail -3 "$least.log"; return 1; }
    (cd "$least" && find . -type f -printf '%s %f\n' | sort -n -k1,1 -k2,2 | cut -d' ' -f2) >"$list"
    while :; do
        tar -C "$least" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 -cf - -T "$list" |
            zstd -q -19 -f -o "$packed"
        [ "$(stat -c %s "$packed")" -gt "$most_bytes" ] || break
        head -n $(($(wc -l <"$list") * 4 / 5)) "$list" >"$list.less" && mv "$list.less" "$list"
    done
    printf 'kept    %-16s %6s inputs, %6s bytes packed\n' "$name" "$(wc -l <"$list")" "$(stat -c %s "$packed")"
}

: >$build/executions
failed=0 running=0
for name in "${targets[@]}"; do
    if [ $running -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    if [ -n "$keep" ]; then keep_one "$name" & else fuzz_one "$name" & fi
    running=$((running + 1))
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
[ -n "$keep" ] || printf 'in all  %27s inputs of %s targets\n' "$(awk '{ n += $1 } END { print n + 0 }' $build/executions)" ${#targets[@]}
exit $failed
