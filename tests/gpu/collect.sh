#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The collector on a GPU machine with gcc, nvcc, ncu and PyTorch: what it costs, and whether its list of kernels is
# ncu's. Everything worth keeping goes to $OUT: overhead.json and log.txt, traces and ncu lists of the same programs.
#   PYTHON=python3   ROUNDS=15   SECONDS_MAX=200   SKIP_NCU=1 SKIP_BENCH=1 SKIP_TOY=1
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
WORK=$(mktemp -d)
mkdir -p "$OUT"
exec > >(tee "$OUT/log.txt") 2>&1
lib=$WORK/liblpo-collect.so
scripts/build-collect.sh "$lib" || exit 1
failed=0
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | tail -1)
under_ncu() { # CSV program…
    csv=$1; shift
    timeout 150 "$ncu" --nvtx --csv --page raw --print-kernel-base mangled --metrics launch__grid_size "$@" >"$csv" 2>"$WORK/ncu.err" ||
        { echo "ncu failed:"; tail -3 "$WORK/ncu.err" "$csv"; }
}
traced() { # FOLDER program…
    mkdir -p "$1"
    env NVTX_INJECTION64_PATH="$lib" CUDA_INJECTION64_PATH="$lib" LPO_COLLECT_DIR="$1" "${@:2}"
}
biggest() { ls -S "$1"/*.lpot 2>/dev/null | head -1; }

echo "== bench (PyTorch)"
if [ -z "${SKIP_BENCH:-}" ]; then
    "$PYTHON" bench/gpu/collect_bench.py --library "$lib" --out "$WORK" --rounds "${ROUNDS:-15}" --seconds "${SECONDS_MAX:-200}" || failed=1
    cp "$WORK/overhead.json" "$OUT/" 2>/dev/null
    t=$(biggest "$WORK/traces/ours-0")
    [ -n "$t" ] && { "$PYTHON" tests/collect/lpot.py "$t"; gzip -c "$t" >"$OUT/decode.lpot.gz"; ls -l "$t"; }
    for d in "$WORK"/traces/*; do
        t=$(biggest "$d")
        [ -n "$t" ] && { echo "-- $d: $(stat -c %s "$t") bytes"; "$PYTHON" tests/collect/lpot.py "$t" | grep -E 'note|totals|works|without'; }
    done
fi

echo "== toy"
if [ -z "${SKIP_TOY:-}" ] && [ -f workloads/toy/cuda.cu ]; then
    if scripts/build-toy-cuda.sh "$WORK/toy_llm_cuda"; then
        toy=("$WORK/toy_llm_cuda" --layers 2 --prompt-tokens 8 --max-new-tokens 3 --repeats 1 --warmup 0)
        traced "$WORK/toy" "${toy[@]}" >/dev/null || failed=1
        t=$(biggest "$WORK/toy")
        if [ -n "$t" ]; then
            cp "$t" "$OUT/toy.lpot"
            "$PYTHON" tests/collect/lpot.py "$t" | grep -v LPO_COLLECT
            if [ -n "$ncu" ] && [ -z "${SKIP_NCU:-}" ]; then
                under_ncu "$WORK/toy.csv" "${toy[@]}"
                gzip -c "$WORK/toy.csv" >"$OUT/toy_ncu.csv.gz"
                "$PYTHON" tests/collect/compare_ncu.py "$t" "$WORK/toy.csv" || failed=1
            fi
        fi
        traced "$WORK/toy_graph" "${toy[@]}" --graph --max-new-tokens 8 >/dev/null || failed=1
        t=$(biggest "$WORK/toy_graph")
        [ -n "$t" ] && { cp "$t" "$OUT/toy_graph.lpot"; "$PYTHON" tests/collect/lpot.py "$t" | grep -v '='; }
    fi
fi

echo "== PyTorch, kernel by kernel against ncu"
if [ -z "${SKIP_NCU:-}" ] && [ -n "$ncu" ]; then
    traced "$WORK/list" "$PYTHON" bench/gpu/collect_bench.py --list || failed=1
    t=$(biggest "$WORK/list")
    [ -n "$t" ] && cp "$t" "$OUT/torch_list.lpot"
    under_ncu "$WORK/list.csv" --target-processes all "$PYTHON" bench/gpu/collect_bench.py --list
    gzip -c "$WORK/list.csv" >"$OUT/torch_list_ncu.csv.gz"
    [ -n "$t" ] && { "$PYTHON" tests/collect/compare_ncu.py "$t" "$WORK/list.csv" || failed=1; }
fi
rm -rf "$WORK"
echo "collect: $([ $failed = 0 ] && echo passed || echo FAILED)"
sleep 0.2
exit $failed
