#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: CUDA graphs timed as a whole against every kernel of them recorded, by two native runs each of
# an 8-layer Llama in PyTorch whose decode is a graph, and of the toy model's (on one stream, on two, and a small one whose traces are test data). Launches
# of every kernel in every region, at launch and at capture, must be equal; the script prints how far the shares of time are
# from the measured ones.
#   tests/gpu/graphs.sh        half a minute; $OUT gets graphs.txt and the traces of the small one
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
lpo=$PWD/build-portable/lpo
work=$(mktemp -d)
python3 tests/gpu/hf_models.py "$work/models" || exit 1
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 8/' "$work/models/llama/config.json" >"$work/llama.json"
[ -x build-portable/workloads/toy_llm_cuda ] || scripts/build-toy-cuda.sh build-portable/workloads/toy_llm_cuda || exit 1
only=(pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.torch_profiler.enable=false run.repeats=1 run.warmup=1)
llama=(workload=hf model=hf "model.path=$work/llama.json" workload.hf.cuda_graph=true infer.prompt_tokens=128 infer.max_new_tokens=64)
toy=(workload.toy.cuda=true 'workload.toy.extra_args=[--graph]' model.layers=8 infer.max_new_tokens=64)
streams=(workload.toy.cuda=true 'workload.toy.extra_args=[--graph,--two-streams]' model.layers=8 infer.max_new_tokens=64)
small=(workload.toy.cuda=true 'workload.toy.extra_args=[--graph]' model.layers=2 infer.prompt_tokens=8 infer.max_new_tokens=5 run.warmup=0)
all=(llama toy streams small)
for how in whole nodes; do
    for what in "${all[@]}"; do
        declare -n words=$what
        "$lpo" run -q "hydra.run.dir=$work/$what-$how" "${only[@]}" "${words[@]}" "pipeline.native.graphs=$how" >"$work/$what-$how.txt" 2>&1 ||
            tail -5 "$work/$what-$how.txt" &
    done
done
wait
for what in "${all[@]}"; do
    echo "== $what"
    python3 tests/gpu/graphs.py "$lpo" "$work/$what-whole" "$work/$what-nodes" || failed=1
    "$lpo" top "$work/$what"-whole/native/*.lpot 2>&1 | cut -c1-110 | head -9
done 2>&1 | tee "$OUT/graphs.txt"
for how in whole nodes; do cp "$work"/small-$how/native/*.lpot "$OUT/small-$how.lpot"; done
exit "${failed:-0}"
