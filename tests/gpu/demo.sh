#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: the run that `lpo demo` shows, an 8-layer Llama with random weights under every stage that is there,
# from a portable build carried there (make portable). The run folder, without what no report reads, goes to $OUT/demo.tgz;
# scripts/demo.sh makes demo/ of it.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
work=/opt/demo # where it was recorded stands in the files: a name that says nothing of the machine
rm -rf "$work" && mkdir -p "$work"
cp -r build-portable "$work/lpo" && cp -r conf "$work/conf" && cd "$work" || exit
lpo=$work/lpo/lpo
cat >"$work/config.json" <<'J'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632,
 "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000,
 "max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "torch_dtype": "bfloat16",
 "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2}
J
"$lpo" run "hydra.run.dir=$work/demo" workload=hf model=hf "model.path=$work/config.json" infer.prompt_tokens=1024 \
    infer.max_new_tokens=16 run.representative_max_new_tokens=4 run.repeats=2 run.warmup=1 pipeline.nvml.enable=true \
    pipeline.counters.interval=200us pipeline.ncu.enable=true pipeline.ncu.ncu_cli.set=null \
    'pipeline.ncu.ncu_cli.sections=[SpeedOfLight,Occupancy,MemoryWorkloadAnalysis]' \
    'pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum,dram__bytes.sum]' pipeline.ncu.timeout=200s \
    pipeline.ncu.sampling.mode=representative pipeline.ncu.sampling.per_config=1 pipeline.ncu.sampling.max_new_tokens=2 \
    run.top_n_kernels=10 "$@"
echo "exit code $?"
cp "$work/config.json" "$work/demo/model_config.json"
find "$work/demo" -type f | xargs ls -la
find "$work/demo" -type f -size +14M -delete
tar -C "$work" -czf "$OUT/demo.tgz" demo && ls -la "$OUT"
