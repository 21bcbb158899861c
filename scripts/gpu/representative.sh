#!/usr/bin/env bash
# On a GPU machine: counters of representatives laid over a native trace, against every kernel measured.
# A random-weight Llama in PyTorch; LAYERS and TOKENS choose its size, METRICS what ncu counts. Prints, per region, the
# error of DRAM bytes, tensor operations and time, and the wall times. Numbers in $OUT/representative.json.
# LIMIT stops a run after so many seconds and tells how many kernels it had.
#   scripts/gpu/representative.sh [rep] [rep1] [rep4] [all]    the preset; one per configuration; 4 x TOKENS; everything
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
base=(workload=hf model=hf "model.path=$work/config.json" infer.prompt_tokens=512 run.repeats=1 run.warmup=1
    pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.ncu.enable=true
    pipeline.ncu.regions.enable=true 'pipeline.ncu.regions.include=[prefill,decode]' pipeline.ncu.ncu_cli.sections=[]
    "pipeline.ncu.ncu_cli.metrics=[${METRICS:-$counted}]"
    pipeline.ncu.ncu_cli.export.csv=false)
run() { # NAME override…
    local began=$SECONDS
    timeout "${LIMIT:-600}" "$lpo" run -q "hydra.run.dir=$work/$1" "${base[@]}" "${@:2}" >"$work/$1.txt" 2>&1
    local code=$?
    grep -E '^(native|ncu)' "$work/$1.txt"
    [ $code = 124 ] && echo "stopped after $((SECONDS - began)) s"
    echo "$(grep -ac '==PROF== Profiling' "$work/$1/ncu/run.log") kernels: $(grep -ao '[0-9]* pass.*' "$work/$1/ncu/run.log" | sort | uniq -c | tr '\n' ';')"
    cp "$work/$1/report.json" "$OUT/$1.json"
}
what=${*:-rep rep1 rep4 all}
alone=pipeline.native.enable=false # where only the wall time of ncu, or its report, is wanted
for name in $what; do
    echo "$name"
    case $name in
    rep) run rep infer.max_new_tokens=$TOKENS ;;
    rep1) run rep1 infer.max_new_tokens=$TOKENS pipeline.ncu.sampling.per_config=1 ;;
    rep4) run rep4 infer.max_new_tokens=$((TOKENS * 4)) $alone ;;
    all) run all infer.max_new_tokens=$TOKENS pipeline.ncu.sampling.mode=all $alone ;;
    esac
done
# Reports and traces, so that the rule can be tried again without a GPU.
for name in rep rep1; do
    [ -d "$work/$name" ] && (cd "$work" && tar -czf "$OUT/$name.tgz" $name/ncu/run.ncu-rep $name/native/*.lpot)
done
[ -f "$work/all/ncu/run.ncu-rep" ] || exit 0
"$lpo" regions --json "$work"/all/ncu/run.ncu-rep >"$OUT/all-ncu.json"
python3 - "$OUT" "$work" <<'P'
import json, os, sys
out, work = sys.argv[1:]
def walls(name):
    m = json.load(open(f"{work}/{name}/run.json"))
    return {s["name"]: s["wall_ns"] / 1e9 for s in m["stages"] if s["state"] == "done"}
def regions(path):
    doc = json.load(open(path))
    scope = next(s for s in doc["scopes"] if s["scope"] == "aggregate")
    return {r["path"]: r for r in scope["regions"]}
def metric(r, name):
    m = r["metrics"].get(name)
    return m["value"] if m else None
truth = regions(f"{out}/all-ncu.json")
ran = [n for n in ("rep", "rep1", "rep4", "all") if os.path.exists(f"{work}/{n}/run.json")]
result = {"walls": {n: walls(n) for n in ran}, "regions": {}}
for name in [n for n in ("rep", "rep1") if n in ran]:
    for path, r in sorted(regions(f"{out}/{name}.json").items()):
        t = truth.get(path)
        if not t or not path.startswith(("prefill", "decode")):
            continue
        row = {"launches": [r["launches"], t["launches"]]}
        for key in ("gpu__time_duration.sum", "dram__bytes.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"):
            a, b = metric(r, key), metric(t, key)
            row[key] = round(100 * (a / b - 1), 2) if a is not None and b else None
        result["regions"][f"{name} {path}"] = row
        print(name, path, row)
print(json.dumps(result["walls"]))
json.dump(result, open(f"{out}/representative.json", "w"), indent=1)
P
