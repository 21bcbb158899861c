#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with gcc and PyTorch: what the calls that can block cost, what windows cost outside and inside, and
# whether every eighth step of a decode stands for all of them:
#   tests/gpu/windows.sh [cost] [rows] [outside] [same] [graphs] [attach] [inside] [stopped]
# all without words. The first three measure for at most $SECONDS_EACH (240) each, the others take 100. $OUT gets PART.txt
# and traces, and from those three a file of figures, a line each, also where the time did not suffice for all rounds.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
PYTHON=${PYTHON:-python3}
SECONDS_EACH=${SECONDS_EACH:-240}
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
        "$PYTHON" ${program:-tests/gpu/windows.py run} "$@" || fail "$name: the program failed"
}
biggest() { ls -S "$work/$1"/*.lpot 2>/dev/null | head -1; } # a program may start small ones of its own
compare() { "$PYTHON" tests/gpu/windows.py compare "$(biggest "$1")" "$(biggest "$2")" "$3" "$4" || fail "$2 against $1"; }
bench() { # WHAT
    mkdir -p "$work/$1"
    timeout "$SECONDS_EACH" "$PYTHON" bench/gpu/windows_bench.py --what "$1" --library "$lib" --out "$work/$1" --rounds 12 \
        --seconds $((SECONDS_EACH - 30)) ||
        fail "$1: not every program was measured"
    cp "$work/$1/figures.txt" "$OUT/$1-figures.txt"
    cp "$work/$1/windows.json" "$OUT/$1.json"
}
cost() { bench windows; }
rows() { bench rows; }
outside() { bench outside; }
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
leaving() { # NAME KIND SETTINGS… -- WORDS…: a program of detach.py with CUPTI in windows alone
    local name=$1 kind=$2 settings=(CAPTURE_RANGE=window CAPTURE_ATTACH=2)
    shift 2
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    program=tests/gpu/detach.py traced "$name" "${settings[@]}" -- "$@"
    "$PYTHON" tests/gpu/detach.py check "$(biggest "$name")" "$kind" || fail "$name"
}
inside() { # CUPTI in windows alone: what runs when a window closes, captures meanwhile, threads, memory; and the same calls as a full recording
    leaving flight flight CAPTURE_LINGER_MS=0 -- flight
    for mode in global thread_local relaxed; do
        leaving "capture-$mode" capture CAPTURE_LINGER_MS=0 -- capture $mode
    done
    leaving threads threads CAPTURE_LINGER_MS=0 -- threads 10
    leaving alone threads CAPTURE_LINGER_MS=0 -- alone 20
    leaving graphs graphs CAPTURE_LINGER_MS=0 -- graphs 8
    traced all -- eager
    traced in-steps CAPTURE_RANGE=step CAPTURE_EVERY=4 CAPTURE_IN_A_ROW=4 CAPTURE_ATTACH=2 CAPTURE_LINGER_MS=0 -- eager
    traced all-nodes GRAPH_NODES=1 -- graph
    traced in-graph CAPTURE_RANGE=graph_step CAPTURE_FIRST=20 CAPTURE_EVERY=8 CAPTURE_IN_A_ROW=8 CAPTURE_ATTACH=2 CAPTURE_LINGER_MS=0 -- graph
    compare all in-steps step 2
    compare all-nodes in-graph graph_step 5
    traced in-both 'CAPTURE_RANGE=*p*' CAPTURE_ATTACH=2 CAPTURE_LINGER_MS=0 -- graph # the capture in one window, its launches in another
    "$PYTHON" tests/gpu/detach.py nodes "$(biggest all-nodes)" "$(biggest in-both)" || fail in-both
}
stopped() { # kernels that run when `lpo ctl stop` is said have their times
    for how in 0 1 2; do
        program=tests/gpu/detach.py traced "stopped-$how" CAPTURE_CONTROL=1 CAPTURE_WAIT=1 CAPTURE_ATTACH=$how -- stopped
        "$PYTHON" tests/gpu/detach.py check "$(biggest "stopped-$how")" stopped || fail "stopped-$how"
    done
}
for part in "${@:-cost rows outside same graphs attach inside stopped}"; do
    for p in $part; do
        echo "== $p"
        "$p" 2>&1 | tee "$OUT/$p.txt"
        ! grep -q FAILED "$OUT/$p.txt" || failed=1
    done
done
echo "windows: $([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
