#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with torch and transformers: Llama-, Qwen3-, DeepSeek-V2- and LLaVA-like models and a CLIP
# tower with random weights from a config.json alone, eager and as a CUDA graph; the toy model's weights loaded
# from safetensors, whose greedy tokens must be toy_llm's own; the injected torch.profiler on two of them.
# Results in $OUT; about three minutes. Ends with "hf: N passed, N failed". PYTHON names the interpreter.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT/toy"
scripts/build-toy-cuda.sh - "$OUT/toy/toy_llm" || exit 1
"$OUT/toy/toy_llm" --write-model "$OUT/toy/model" --predictions "$OUT/toy/predictions.jsonl" \
    --batch 2 --max-new-tokens 24 --repeats 1 --warmup 0 || exit 1
"$PYTHON" tests/gpu/hf_cases.py "$OUT"
code=$?
rm -rf "$OUT/toy/toy_llm" "$OUT/toy/model/model.safetensors"
exit $code
