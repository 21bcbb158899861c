#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with PyTorch: ranges of modules and NVTX ranges in PyTorch's profiler, in programs that know nothing of lpo.
# A small Llama eager, under torch.compile and in the threads of DataParallel, a program that marks itself by torch.cuda.nvtx, and one with
# emit_nvtx. Outputs must be those of a run without lpo, kernels of each region those of the other stage.
#   tests/gpu/modules.sh      less than two minutes, with build-portable/ (make portable); $OUT gets modules.txt;  LPO, PYTHON
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
lpo=${LPO:-$PWD/build-portable/lpo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stages=(pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.torch_profiler.enable=true)
run() { # KIND, SETTINGS…
    local kind=$1
    shift
    timeout 120 "$lpo" run -q "hydra.run.dir=$work/$kind" "${stages[@]}" "$@" -- "$PYTHON" tests/gpu/modules.py run "$kind" >"$work/$kind.txt" 2>&1 ||
        { echo "FAILED: $kind: lpo run"; tail -5 "$work/$kind.txt"; }
}
{
    for kind in eager compile parallel nvtx emit; do
        "$PYTHON" tests/gpu/modules.py run "$kind" >"$work/$kind.plain" 2>"$work/$kind.err" || { echo "FAILED: $kind alone"; tail -3 "$work/$kind.err"; } &
    done
    wait
    for kind in eager compile parallel; do run $kind pipeline.native.modules=true & done
    run nvtx &
    run emit pipeline.native.enable=false &
    wait
    for kind in eager compile parallel nvtx emit; do
        echo "== $kind"
        "$PYTHON" tests/gpu/modules.py check "$kind" "$lpo" "$work" || echo "FAILED: $kind"
    done
    cp "$work"/parallel/torch_profiler/*.json.gz "$OUT/" 2>/dev/null
    echo "== cost"
    "$PYTHON" tests/gpu/modules.py cost "$lpo" "$work" || echo "FAILED: cost"
} 2>&1 | tee "$OUT/modules.txt"
! grep -q FAILED "$OUT/modules.txt"
