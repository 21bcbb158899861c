#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: counters of representatives laid over a native trace, against every kernel measured.
# A random-weight Llama in PyTorch (WORKLOAD=toy: the CUDA build of toy_llm, of the same sizes; it starts at once, so that the wall times are ncu's); LAYERS and TOKENS choose its size,
# METRICS what ncu counts, SECTIONS=preset the preset's sections with them, OVERRIDES more words for lpo. Prints, per region, the error of DRAM bytes, operations and time, and
# the wall times. Numbers in $OUT/representative.json.
#   tests/gpu/representative.sh [native] [rep] [rep1] [long] [all]
# native: the trace alone, for runs of ncu alone (ALONE=1). rep: the preset. rep1: one launch per configuration. long: the
# preset with four times the tokens. all: everything; with BUDGET=SECONDS it is stopped after ten times rep (or rep1), or when
# the budget for the whole script is spent, and then prints how many kernels it had.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
lpo=$PWD/build-portable/lpo
work=$(mktemp -d)
LAYERS=${LAYERS:-8} TOKENS=${TOKENS:-16}
cat >"$work/config.json" <<J
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816,
 "num_hidden_layers": $LAYERS, "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000,
 "max_position_embeddings": 2048, "torch_dtype": "bfloat16", "tie_word_embeddings": false}
J
counted=gpu__time_duration.sum,dram__bytes.sum,sm__ops_path_tensor_src_bf16_dst_fp32.sum
sizes=("model.layers=$LAYERS" model.hidden=1024 model.ffn=2816 model.heads=16 model.kv_heads=8 model.vocab=32000)
case ${WORKLOAD:-hf} in
toy) counted=gpu__time_duration.sum,dram__bytes.sum,smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
    [ -x build-portable/workloads/toy_llm_cuda ] || scripts/build-toy-cuda.sh build-portable/workloads/toy_llm_cuda
    base=(workload.toy.cuda=true "${sizes[@]}") ;;
*) base=(workload=hf model=hf "model.path=$work/config.json") ;;
esac
[ "${SECTIONS:-}" = preset ] || base+=(pipeline.ncu.ncu_cli.sections=[])
base+=(infer.prompt_tokens=512 run.repeats=1 run.warmup=1
    pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false
    pipeline.torch_profiler.enable=false pipeline.ncu.enable=true pipeline.ncu.ncu_cli.set=null
    pipeline.ncu.regions.enable=true 'pipeline.ncu.regions.include=[prefill,decode]'
    "pipeline.ncu.ncu_cli.metrics=[${METRICS:-$counted}]" pipeline.ncu.ncu_cli.export.csv=false)
[ -n "${ALONE:-}" ] && base+=(pipeline.native.enable=false)
base+=(${OVERRIDES:-})

run() { # run NAME LIMIT override…
    local log=$work/$1/ncu/run.log
    echo "$1 (at $SECONDS s)"
    timeout -k 20 "$2" "$lpo" run -q "hydra.run.dir=$work/$1" "${base[@]}" "${@:3}" >"$work/$1.txt" 2>&1 || echo "exit code $? after at most $2 s"
    grep -E '^(native|ncu)' "$work/$1.txt"
    [ -f "$log" ] && echo "$(grep -ac '==PROF== Profiling' "$log") kernels: $(grep -ao '[0-9]* pass.*' "$log" | sort | uniq -c | tr '\n' ';')"
    cp "$work/$1/report.json" "$OUT/$1.json"
    [ "$1" = all ] || keep "$1"
}
keep() { # reports and traces, so that the rule can be tried again without a GPU
    (cd "$work" && ls "$1"/ncu/run.ncu-rep "$1"/native/*.lpot 2>/dev/null | tar -c -T - | gzip -1 >"$OUT/$1.tgz")
}
for name in ${*:-rep rep1 long all}; do
    case $name in
    native) run native 100 infer.max_new_tokens=$TOKENS pipeline.ncu.enable=false pipeline.native.enable=true ;;
    rep) run rep 400 infer.max_new_tokens=$TOKENS ;;
    rep1) run rep1 300 infer.max_new_tokens=$TOKENS pipeline.ncu.sampling.per_config=1 ;;
    long) run long 300 infer.max_new_tokens=$((TOKENS * 4)) ;;
    all) limit=3600
        [ -n "${BUDGET:-}" ] && limit=$(python3 tests/gpu/representative.py limit "$work" $((BUDGET - SECONDS)))
        run all "$limit" infer.max_new_tokens=$TOKENS pipeline.ncu.sampling.mode=all ;;
    esac
done
[ -f "$OUT/all.json" ] && [ -f "$work/all/ncu/run.ncu-rep" ] || exit 0
"$lpo" regions --json "$work"/all/ncu/run.ncu-rep >"$OUT/all-ncu.json"
python3 tests/gpu/representative.py compare "$work" "$OUT"
