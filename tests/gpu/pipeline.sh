#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: the whole pipeline on the toy CUDA model and on a small Llama in PyTorch, from
# a portable build carried there (make portable). Run folders, cut small, go to $OUT.
# nsys and kernels by themselves: nsight.sh.
#   tests/gpu/pipeline.sh [toy] [llama] [ncu]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
lpo=$PWD/build-portable/lpo
work=$(mktemp -d)
what=${*:-toy llama ncu}
log() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

# An 8-layer Llama with random weights: nothing is downloaded.
cat >"$work/config.json" <<'J'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816,
 "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000,
 "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "torch_dtype": "bfloat16",
 "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2}
J
hf=(workload=hf model=hf "model.path=$work/config.json"
    infer.prompt_tokens=512 infer.max_new_tokens=16 run.repeats=3 pipeline.static_analysis.enable=false)

run() { # run NAME override…: one lpo run into its own folder
    local name=$1
    shift
    log "$name"
    "$lpo" run "hydra.run.dir=$work/runs/$name" "$@"
    echo "exit code $?"
}

log doctor
"$lpo" doctor
case " $what " in *" toy "*)
    scripts/build-toy-cuda.sh build-portable/workloads/toy_llm_cuda
    run toy pipeline.static_analysis.enable=false
    "$lpo" regions "$work"/runs/toy/native/*.lpot | head -40
    run toy-graph pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false 'workload.toy.extra_args=[--graph,--start-end-ranges]'
    "$lpo" regions "$work"/runs/toy-graph/native/*.lpot | head -30
    ;;
esac
case " $what " in *" llama "*)
    run llama "${hf[@]}" pipeline.torch_profiler.enable=true pipeline.nvml.enable=true
    "$lpo" regions "$work"/runs/llama/native/*.lpot | head -60
    head -c 1500 "$work"/runs/llama/workload/direct_inference/metrics.json
    tail -5 "$work"/runs/llama/workload/*/stderr.log
    ;;
esac
case " $what " in *" ncu "*)
    run llama-ncu "${hf[@]}" pipeline.direct_inference.enable=false run.repeats=1 run.warmup=0 infer.max_new_tokens=4 \
        pipeline.ncu.enable=true pipeline.ncu.regions.enable=true 'pipeline.ncu.regions.include=[prefill,decode*]'
    cat "$work"/runs/llama-ncu/ncu/cmd.txt; tail -6 "$work"/runs/llama-ncu/ncu/run.log
    ls -la "$work"/runs/llama-ncu/ncu
    ;;
esac
log "packing"
find "$work/runs" -type f -size +12M -delete
tar -C "$work/runs" -czf "$OUT/runs.tgz" . && ls -la "$OUT"
