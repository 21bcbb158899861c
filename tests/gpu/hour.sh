#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with gcc and PyTorch: do CUPTI's device buffers, or the collector, grow with launches of a CUDA graph?
#   tests/gpu/hour.sh [MINUTES]      60 without: half of them with graphs timed as a whole, half with a record of every kernel, one
#                                    after the other, as the memory is that of the whole GPU. $OUT gets hour.txt and both tables
# Four minutes tell a leak of one byte a launch from none; the hour is for what grows slower. The GPU must have no other program.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
minutes=$(awk "BEGIN { print ${1:-60} / 2 }")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$work/liblpo-collect.so
scripts/build-collect.sh "$lib" >/dev/null || exit 1
one() { # NAME GRAPH_NODES
    mkdir -p "$work/$1"
    LPO_COLLECT_MAX_MB=0 NVTX_INJECTION64_PATH="$lib" CUDA_INJECTION64_PATH="$lib" LPO_COLLECT_DIR="$work/$1" LPO_COLLECT_GRAPH_NODES="$2" \
        "$PYTHON" tests/gpu/hour.py "$minutes" "$OUT/hour-$1.tsv" >"$work/$1.txt" 2>&1 || echo "FAILED: $1" >>"$work/$1.txt"
}
{
    for name in whole nodes; do
        one $name "$([ $name = nodes ] && echo 1 || echo 0)"
        sed "s/^/$name: /" "$work/$name.txt"
        rm -rf "${work:?}/$name"
    done
} 2>&1 | tee "$OUT/hour.txt"
! grep -q FAILED "$OUT/hour.txt"
