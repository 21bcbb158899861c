#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with gcc and PyTorch: what the calls that can block cost, what windows cost outside and inside, and
# whether every eighth step of a decode stands for all of them. Four parts of less than a minute each:
#   tests/gpu/windows.sh [calls] [cost] [same] [graphs]      all without words; $OUT gets PART.txt, PART.json, traces
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$work/liblpo-collect.so
scripts/build-collect.sh "$lib" >/dev/null || exit 1
failed=0
bench() { # PART VARIANTS
    mkdir -p "$work/$1"
    timeout 110 "$PYTHON" bench/gpu/collect_bench.py --library "$lib" --out "$work/$1" --rounds 14 --seconds 50 --only "$2" || failed=1
    cp "$work/$1/overhead.json" "$OUT/$1.json" 2>/dev/null
}
traced() { # NAME SETTINGS… -- WORDS…
    local name=$1 settings=()
    shift
    while [ "$1" != -- ]; do settings+=("LPO_COLLECT_$1"); shift; done
    shift
    mkdir -p "$work/$name"
    timeout 60 env NVTX_INJECTION64_PATH="$lib" CUDA_INJECTION64_PATH="$lib" LPO_COLLECT_DIR="$work/$name" "${settings[@]}" \
        "$PYTHON" tests/gpu/windows.py run "$@" || { echo "$name: the program failed"; failed=1; }
}
calls() { bench calls "none,ours,no calls,calls of the driver"; }
cost() { bench cost "none,outside a window,every 8th step,every 8th counted"; }
same() {
    traced full -- eager
    traced eighth CAPTURE_RANGE=step CAPTURE_EVERY=8 CAPTURE_COUNT=1 -- eager
    traced late CAPTURE_RANGE=step CAPTURE_FIRST=60 -- eager
    for t in "$work"/full/*.lpot; do cp "$t" "$OUT/full.lpot"; done
    for t in "$work"/eighth/*.lpot; do cp "$t" "$OUT/eighth.lpot"; done
    "$PYTHON" tests/gpu/windows.py compare "$work"/full/*.lpot "$work"/eighth/*.lpot step 2 || failed=1
    "$PYTHON" tests/gpu/windows.py compare "$work"/full/*.lpot "$work"/late/*.lpot step 10 || failed=1
}
graphs() { # switching kernel records between launches of a graph must not crash, whichever way graphs are recorded
    for how in 0 1; do
        traced "graph-full-$how" GRAPH_NODES=$how -- graph
        traced "graph-eighth-$how" GRAPH_NODES=$how CAPTURE_RANGE=graph_step CAPTURE_EVERY=8 -- graph
        "$PYTHON" tests/gpu/windows.py compare "$work/graph-full-$how"/*.lpot "$work/graph-eighth-$how"/*.lpot graph_step 5 || failed=1
    done
}
for part in "${@:-calls cost same graphs}"; do
    for p in $part; do
        echo "== $p"
        "$p" 2>&1 | tee "$OUT/$p.txt"
        [ "${PIPESTATUS[0]}" = 0 ] || failed=1
    done
done
grep -q 'FAILED' "$OUT"/*.txt && failed=1
echo "windows: $([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
