#!/usr/bin/env bash
# On a GPU machine: measured ceilings, and the MFU that lpo reports against the same worked out by
# hand, for a large bf16 product and for the prefill of a Llama with random weights (from a portable
# build carried there). Says by how much they differ; more than 2 % is marked.
#   scripts/gpu/limits.sh [calibrate] [gemm] [llama]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
lpo=$PWD/build-portable/lpo
work=$(mktemp -d)
what=${*:-calibrate gemm llama}
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
    log "a bf16 product in torch, for comparison"
    python3 - <<'P'
import torch
a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
for _ in range(5):
    a @ b
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
for _ in range(200):
    a @ b
end.record()
torch.cuda.synchronize()
t = start.elapsed_time(end) / 200e3
print(f"torch: {2 * 8192**3 / t / 1e12:.1f} TFLOP/s, MFU {2 * 8192**3 / t / 989e12:.1%} of the sheet's 989")
P
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
