#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with gcc and PyTorch: do CUPTI's device buffers, or the collector, grow with launches of a CUDA graph?
#   tests/gpu/hour.sh [MINUTES]      2 without: three programs at once, without a collector, with graphs timed as a whole, and with
#                                    a record of every kernel. $OUT gets hour.txt and their tables
# Two minutes have as many launches as hours of a server. Graphs timed as a whole are known to grow by 16 bytes a launch in CUPTI itself.
# The GPU must have no other program: device memory is that of all three.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
minutes=${1:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$work/liblpo-collect.so
scripts/build-collect.sh "$lib" >/dev/null || exit 1
one() { # NAME KNOWN SETTINGS…: so many KiB for 1,000 launches are CUPTI's
    local name=$1 known=$2
    shift 2
    mkdir -p "$work/$name"
    env LPO_COLLECT_DIR="$work/$name" LPO_COLLECT_MAX_MB=0 "$@" "$PYTHON" tests/gpu/hour.py "$minutes" "$OUT/hour-$name.tsv" "$known" >"$work/$name.txt" 2>&1 ||
        echo "FAILED: $name" >>"$work/$name.txt"
    sed "s/^/$name: /" "$work/$name.txt"
}
injected=(NVTX_INJECTION64_PATH="$lib" CUDA_INJECTION64_PATH="$lib")
{
    one none 0 &
    one whole 17 "${injected[@]}" LPO_COLLECT_GRAPH_NODES=0 &
    one nodes 0 "${injected[@]}" LPO_COLLECT_GRAPH_NODES=1 &
    wait
} 2>&1 | tee "$OUT/hour.txt"
! grep -q FAILED "$OUT/hour.txt"
