#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with PyTorch: ranks of one job on one GPU. Two and four of them with gloo under torchrun and lpo outside (native,
# PyTorch's profiler), one with NCCL, two with an lpo in each task, two of which one is under ncu. Each part has its own time limit,
# all together 150 s at most. LPO is the program (build-portable/lpo), TORCHRUN the launcher.
#   tests/gpu/ranks.sh [two] [four] [nccl] [inside] [ncu]      all without words; $OUT gets PART.txt and the run folders
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
SLOW=${SLOW:-1} # times the limits, on a machine that is busy with other things
LPO=$(realpath "${LPO:-build-portable/lpo}")
TORCHRUN=${TORCHRUN:-$PYTHON -m torch.distributed.run}
here=$PWD
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
unset RANK LOCAL_RANK WORLD_SIZE
export OMP_NUM_THREADS=1 # ranks that spin for each other need their cores
off=(pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.counters.enable=false)
native=("${off[@]}" pipeline.torch_profiler.enable=false)
port=29500
launch() { # COUNT: the words of the launcher
    port=$((port + 1))
    echo "$TORCHRUN --nnodes=1 --nproc_per_node=$1 --master_addr=127.0.0.1 --master_port=$port"
}
profiled() { # SECONDS COMMAND…, in the part's own folder
    local seconds=$(($1 * SLOW))
    shift
    timeout -k 5 "$seconds" "$@" || echo "FAILED: exit code $? within $seconds s: $*"
}
job=("$here/tests/gpu/ranks.py" job)
two() { profiled 70 "$LPO" run hydra.run.dir=run "${off[@]}" -- $(launch 2) "${job[@]}" gloo; }
four() { profiled 50 "$LPO" run hydra.run.dir=run "${native[@]}" -- $(launch 4) "${job[@]}" gloo; }
nccl() { profiled 40 "$LPO" run hydra.run.dir=run "${native[@]}" -- $(launch 1) "${job[@]}" nccl; }
inside() { profiled 50 $(launch 2) --no_python "$LPO" run hydra.run.dir=run "${native[@]}" run.ranks_wait=20s -- "$PYTHON" "${job[@]}" gloo; }
ncu() { # ten kernels, so that it ends soon
    profiled 70 "$LPO" run hydra.run.dir=run "${native[@]}" pipeline.native.enable=false pipeline.ncu.enable=true pipeline.ncu.ncu_cli.set=basic \
        pipeline.ncu.ncu_cli.nvtx.include=null pipeline.ncu.ncu_cli.launch_count=10 "pipeline.ncu.timeout=$((60 * SLOW))s" -- $(launch 2) "${job[@]}" gloo
}
failed=0 begin=$SECONDS
for part in "${@:-two four nccl inside ncu}"; do
    for p in $part; do
        if [ $((SECONDS - begin)) -gt $((150 * SLOW)) ]; then
            echo "== $p: not run, the time is over"
            continue
        fi
        echo "== $p, after $((SECONDS - begin)) s"
        rm -rf "${OUT:?}/$p"
        mkdir -p "$OUT/$p"
        (
            cd "$OUT/$p" || exit
            "$p"
            "$PYTHON" "$here/tests/gpu/ranks.py" check "$LPO" "$p" run || echo "FAILED: check of $p"
        ) >"$OUT/$p.txt" 2>&1
        grep -E "^(ok|FAILED)" "$OUT/$p.txt"
        ! grep -q FAILED "$OUT/$p.txt" || failed=1
    done
done
echo "ranks: $([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
