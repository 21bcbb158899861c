#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The collector and its clients under ThreadSanitizer, in a build of their own: a race must fail the tests wherever they
# are run, and this sanitizer cannot share a build with the others.
set -uo pipefail
root=${LPO_SOURCE_ROOT:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NVTX_INJECTION64_PATH=$work/liblpo-collect.so CUDA_INJECTION64_PATH=$work/liblpo-collect.so
export TSAN_OPTIONS=exitcode=66:halt_on_error=0
build() { ${CC:-cc} -std=gnu17 -O1 -g -D_GNU_SOURCE -fsanitize=thread -fPIC -I"$root/src" -I"$root/include" "$@" -ldl -lpthread; }
if ! build -fvisibility=hidden -shared -Wl,-z,nodelete -o "$work/liblpo-collect.so" "$root"/src/collect/*.c "$root"/src/collect/*/*.c "$root/src/util/crc32c.c" 2>"$work/log" ||
    ! build -shared -Wl,-soname,libcupti.so.13 -o "$work/libcupti.so.13" "$root"/tests/collect/fake_*.c 2>"$work/log" ||
    ! build -rdynamic -o "$work/nvtx_client" "$root"/tests/collect/nvtx_client*.c 2>"$work/log" ||
    ! build -rdynamic -o "$work/gpu_client" "$root"/tests/collect/gpu_client*.c "$root/tests/collect/nvtx_client_hooks.c" "$work/libcupti.so.13" -Wl,-rpath,"$work" 2>"$work/log"; then
    echo "1..0 # SKIP no ThreadSanitizer with this compiler: $(grep -m1 -E 'error|cannot' "$work/log")"
    exit 0
fi
# Asks the collector for all that can be asked from outside, again and again, then lets the program end. Once it answers,
# it also takes the signal.
ask() {
    for _ in {1..600}; do
        "${LPO_BIN:?}" ctl "$work/out" status >/dev/null 2>&1 && break
        sleep 0.05
    done
    for _ in 1 2 3; do
        for word in start status "mark here" dump stop; do
            # shellcheck disable=SC2086
            "$LPO_BIN" ctl "$work/out" $word
        done
        for file in "$work"/out/*.ctl; do
            [[ $1 = *SIGNAL=12* ]] && pid=${file##*/} && kill -USR2 "${pid%.ctl}"
        done
    done >/dev/null 2>&1
    touch "$work/end"
}
# scenario and settings, one per line
rows=(
    "nvtx_client plain"
    "nvtx_client every"
    "nvtx_client threads"
    "nvtx_client threads LPO_COLLECT_FLUSH_MS=1 LPO_COLLECT_BUFFER_KB=16"
    "nvtx_client many_threads"
    "nvtx_client across"
    "nvtx_client destructors"
    "nvtx_client forks"
    "nvtx_client exit_busy"
    "nvtx_client disk_trouble"
    "nvtx_client disk_threads LPO_COLLECT_FLUSH_MS=1 LPO_COLLECT_BUFFER_KB=16"
    "gpu_client disk_trouble"
    "gpu_client threads"
    "gpu_client threads LPO_COLLECT_FLUSH_MS=1 LPO_COLLECT_CUPTI_BUFFER_KB=64 FAKE_HOLD=1"
    "gpu_client reversed"
    "gpu_client graphs"
    "gpu_client graphs LPO_COLLECT_GRAPH_NODES=1"
    "gpu_client graph_threads"
    "gpu_client call_threads LPO_COLLECT_FLUSH_MS=1"
    "gpu_client window_threads LPO_COLLECT_CAPTURE_RANGE=decode LPO_COLLECT_CAPTURE_EVERY=3 LPO_COLLECT_FLUSH_MS=1"
    "gpu_client window_threads LPO_COLLECT_CAPTURE_RANGE=decode LPO_COLLECT_RING_MS=1000 LPO_COLLECT_RING_MB=1 LPO_COLLECT_SLOW_MS=1 LPO_COLLECT_FLUSH_MS=1"
    "gpu_client switched_threads LPO_COLLECT_CAPTURE_CONTROL=1 LPO_COLLECT_CAPTURE_SIGNAL=12 LPO_COLLECT_FLUSH_MS=1"
    "gpu_client switched_threads LPO_COLLECT_CAPTURE_CONTROL=1 LPO_COLLECT_CAPTURE_SIGNAL=12 LPO_COLLECT_CAPTURE_WAIT=1 LPO_COLLECT_CAPTURE_RANGE=decode LPO_COLLECT_CAPTURE_EVERY=2 LPO_COLLECT_CAPTURE_COUNT=1"
    "gpu_client switched_threads LPO_COLLECT_CAPTURE_CONTROL=1 LPO_COLLECT_CAPTURE_SIGNAL=12 LPO_COLLECT_RING_MS=200 LPO_COLLECT_RING_MB=1"
    "gpu_client switched_threads LPO_COLLECT_CAPTURE_CONTROL=1 LPO_COLLECT_CAPTURE_AFTER_MS=20 LPO_COLLECT_CAPTURE_FOR_MS=50"
    "gpu_client switched_threads LPO_COLLECT_CAPTURE_CONTROL=1 LPO_COLLECT_CAPTURE_WAIT=1 LPO_COLLECT_CAPTURE_ATTACH=1"
    "gpu_client window_threads LPO_COLLECT_CAPTURE_RANGE=decode LPO_COLLECT_CAPTURE_FIRST=3 LPO_COLLECT_CAPTURE_ATTACH=1"
    "gpu_client busy LPO_COLLECT_CAPTURE_RANGE=decode LPO_COLLECT_CAPTURE_ATTACH=2 LPO_COLLECT_CAPTURE_LINGER_MS=0"
    "gpu_client window_threads LPO_COLLECT_CAPTURE_RANGE=decode LPO_COLLECT_CAPTURE_EVERY=3 LPO_COLLECT_CAPTURE_ATTACH=2 LPO_COLLECT_CAPTURE_LINGER_MS=0"
    "gpu_client switched_threads LPO_COLLECT_CAPTURE_CONTROL=1 LPO_COLLECT_CAPTURE_SIGNAL=12 LPO_COLLECT_CAPTURE_WAIT=1 LPO_COLLECT_CAPTURE_ATTACH=2 LPO_COLLECT_CAPTURE_LINGER_MS=1"
)
[ $# -gt 0 ] && mapfile -t rows < <(printf '%s\n' "${rows[@]}" | grep -e "$1") # by hand: those that match
echo "1..${#rows[@]}"
failed=0
for i in "${!rows[@]}"; do
    read -r program scenario settings <<<"${rows[$i]}"
    mkdir -p "$work/out"
    [ "$scenario" = switched_threads ] && ask "$settings" &
    # shellcheck disable=SC2086
    output=$(env LPO_COLLECT_DIR="$work/out" GPU_CLIENT_END="$work/end" $settings timeout 300 "$work/$program" "$scenario" 2>&1)
    code=$?
    wait # for who asks
    if [ $code -eq 0 ] && [ -z "$output" ] && ls "$work"/out/*.lpot >/dev/null 2>&1; then
        echo "ok $((i + 1)) - ${rows[$i]}"
    else
        echo "not ok $((i + 1)) - ${rows[$i]} (exit $code)"
        echo "${output//$'\n'/$'\n'# }" | head -40 | sed 's/^/# /'
        failed=1
    fi
    rm -rf "$work/out" "$work/end"
done
exit $failed
