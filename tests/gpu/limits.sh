#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: measured ceilings, and the MFU that lpo reports against the same worked out by
# hand, for a large bf16 product and for the prefill of a Llama with random weights (from a portable
# build carried there). Says by how much they differ; more than 2 % is marked.
#   tests/gpu/limits.sh [calibrate] [gemm] [llama]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
lpo=$PWD/build-portable/lpo
work=$(mktemp -d)
what=${*:-calibrate gemm llama}
failed=0
export XDG_CONFIG_HOME=$work/config # the measurements stay out of the user's own folder
log() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
[ -d gpu-carry ] && export LD_LIBRARY_PATH="$PWD/gpu-carry${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# cuBLAS comes with PyTorch where no toolkit is installed
blas=$(python3 -c 'import glob, os, torch; r = os.path.dirname(os.path.dirname(torch.__file__))
print((glob.glob(r + "/nvidia/**/libcublas.so.1*", recursive=True) or [""])[0])' 2>/dev/null)
[ -n "$blas" ] && export LPO_LIBCUBLAS="$blas" LD_LIBRARY_PATH="${blas%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

case " $what " in *" calibrate "*)
    log calibrate
    "$lpo" doctor --calibrate && cp "$work"/config/llm-perf-opt/hardware/*.yaml "$OUT"/
    ;;
esac
case " $what " in *" gemm "*)
    log "large bf16 products: MFU of a region without a model"
    "$lpo" run "hydra.run.dir=$work/gemm" pipeline.static_analysis.enable=false \
        "$(python3 tests/gpu/gemm.py needs)" -- python3 tests/gpu/gemm.py run
    sed -n '/How far from the limit/,/^## Time/p' "$work/gemm/report.md" | head -30
    mkdir -p "$OUT/gemm"
    cp "$work"/gemm/{report.md,report.json,hardware.json,config.yaml} "$work/gemm/workload/native/stdout.log" "$OUT/gemm"/
    python3 tests/gpu/gemm.py compare "$work/gemm" || failed=1
    "$lpo" report "$work/gemm" >/dev/null && cmp "$work/gemm/report.json" "$OUT/gemm/report.json" &&
        echo "lpo report rebuilds the same report from the folder alone"
    ;;
esac
case " $what " in *" llama "*)
    cat >"$work/config.json" <<'J'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
 "num_hidden_layers": 8, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
 "max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "torch_dtype": "bfloat16",
 "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2}
J
    log "prefill of a Llama"
    "$lpo" run "hydra.run.dir=$work/run" workload=hf model=hf "model.path=$work/config.json" workload.hf.dtype=bfloat16 \
        infer.prompt_tokens=2048 infer.batch_size=4 infer.max_new_tokens=8 run.repeats=3
    sed -n '/How far from the limit/,/^## Time/p' "$work/run/report.md" | head -40
    cp -r "$work/run/report.md" "$work/run/report.json" "$work/run/figures" "$work/run/static_analysis" "$OUT"/ 2>/dev/null
    python3 - "$work/run" <<'P'
import json, sys
run = sys.argv[1]
limits = json.load(open(run + "/report.json"))["limits"]
row = next(r for r in limits["regions"] if r["path"] == "prefill")
h, f, layers, heads, kv, vocab, L, B = 4096, 11008, 8, 32, 8, 32000, 2048, 4
linear = layers * 2 * (2 * h * h + 2 * h * (kv * h // heads) + 3 * h * f) * L * B
attention = layers * 2 * 2 * h * (L * (L + 1) // 2) * B   # each query with the keys before it
head = 2 * h * vocab * B                                  # the last position alone
flops = (linear + attention + head) * row["runs"]
by_hand = flops / (row["measured_ns"] * 1e-9) / 989e12
off = row["mfu"] / by_hand - 1
print(f"prefill: MFU {row['mfu']:.4f} by lpo, {by_hand:.4f} by hand: {off:+.3%}{'  MORE THAN 2 %' if abs(off) > 0.02 else ''}")
P
    ;;
esac
echo "kept in $OUT"
exit "$failed"
