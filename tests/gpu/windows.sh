#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with gcc and PyTorch: what the calls that can block cost, what windows cost outside and inside, and
# whether every eighth step of a decode stands for all of them. Four parts, `cost` of at most 150 seconds, the others of 100:
#   tests/gpu/windows.sh [cost] [same] [graphs] [attach]      all without words; $OUT gets PART.txt, traces, and of `cost` figures.txt: a line for
#                                                    each figure, also where the time did not suffice for all rounds
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
PYTHON=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$work/liblpo-collect.so
scripts/build-collect.sh "$lib" >/dev/null || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; } # a part runs in a subshell, so the words count, see the end
traced() { # NAME SETTINGS… -- WORDS…
    local name=$1 settings=()
    shift
    while [ "$1" != -- ]; do settings+=("LPO_COLLECT_$1"); shift; done
    shift
    mkdir -p "$work/$name"
    timeout 60 env NVTX_INJECTION64_PATH="$lib" CUDA_INJECTION64_PATH="$lib" LPO_COLLECT_DIR="$work/$name" "${settings[@]}" \
        "$PYTHON" tests/gpu/windows.py run "$@" || fail "$name: the program failed"
}
biggest() { ls -S "$work/$1"/*.lpot 2>/dev/null | head -1; } # a program may start small ones of its own
compare() { "$PYTHON" tests/gpu/windows.py compare "$(biggest "$1")" "$(biggest "$2")" "$3" "$4" || fail "$2 against $1"; }
cost() {
    mkdir -p "$work/cost"
    timeout 145 "$PYTHON" bench/gpu/windows_bench.py --library "$lib" --out "$work/cost" --rounds 12 --seconds 115 ||
        fail "cost: not every program was measured"
    cp "$work/cost/figures.txt" "$work/cost/windows.json" "$OUT/" 2>/dev/null
}
same() {
    traced full -- eager
    traced eighth CAPTURE_RANGE=step CAPTURE_EVERY=8 CAPTURE_COUNT=1 -- eager
    traced late CAPTURE_RANGE=step CAPTURE_FIRST=60 -- eager
    cp "$(biggest full)" "$OUT/full.lpot"
    cp "$(biggest eighth)" "$OUT/eighth.lpot"
    compare full eighth step 2
    compare full late step 10
}
graphs() { # switching kernel records between launches of a graph must not crash, whichever way graphs are recorded
    for how in 0 1; do
        traced "graph-full-$how" GRAPH_NODES=$how -- graph
        traced "graph-eighth-$how" GRAPH_NODES=$how CAPTURE_RANGE=graph_step CAPTURE_EVERY=8 -- graph
        compare "graph-full-$how" "graph-eighth-$how" graph_step 5
        cp "$(biggest "graph-full-$how")" "$OUT/graph-full-$how.lpot"
        cp "$(biggest "graph-eighth-$how")" "$OUT/graph-eighth-$how.lpot"
    done
}
attach() { # CUPTI with the first window: steps, and launches of a graph that was made before it came, are those of a full recording
    traced all -- eager # one after the other: programs that share a GPU have kernels of milliseconds
    traced at-step CAPTURE_RANGE=step CAPTURE_FIRST=60 CAPTURE_ATTACH=1 -- eager
    traced all-nodes GRAPH_NODES=1 -- graph
    traced at-graph CAPTURE_RANGE=graph_step CAPTURE_FIRST=200 CAPTURE_EVERY=8 CAPTURE_ATTACH=1 -- graph
    compare all at-step step 10
    compare all-nodes at-graph graph_step 10
}
for part in "${@:-cost same graphs attach}"; do
    for p in $part; do
        echo "== $p"
        "$p" 2>&1 | tee "$OUT/$p.txt"
        ! grep -q FAILED "$OUT/$p.txt" || failed=1
    done
done
echo "windows: $([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
