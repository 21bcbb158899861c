#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: builds toy_llm_cuda both ways and holds its logits to the CPU's in every mode.
# Metrics go to $OUT; about a minute. Ends with "toy: N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
passed=0 failed=0
mkdir -p "$OUT"
scripts/build-toy-cuda.sh "$OUT/blas/toy_llm_cuda" || exit 1
TOY_NO_CUBLAS=1 scripts/build-toy-cuda.sh "$OUT/plain/toy_llm_cuda" || exit 1

# try NAME PROGRAM FLAG...: the program must pass its own check and write whole metrics.
try() {
    local name=$1 program=$2
    shift 2
    if "$OUT/$program" --check --metrics "$OUT/toy-$name.json" --predictions "$OUT/toy-$name.jsonl" "$@" &&
        python3 -c 'import json,sys; m=json.load(open(sys.argv[1])); assert m["aggregate"]["tokens_per_s"]["mean"] > 0 and m["peak_device_bytes"] > 0' "$OUT/toy-$name.json"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)); echo "toy: $name FAILED"
    fi
}
try eager blas/toy_llm_cuda
try plain plain/toy_llm_cuda
try graph blas/toy_llm_cuda --graph
try streams blas/toy_llm_cuda --two-streams
try graph-streams blas/toy_llm_cuda --graph --two-streams --start-end-ranges
try batch blas/toy_llm_cuda --batch 4 --prompt-tokens 700 --max-new-tokens 8
try large blas/toy_llm_cuda --layers 8 --hidden 1024 --heads 16 --kv-heads 8 --ffn 2816 --vocab 32000 --prompt-tokens 128 --max-new-tokens 64
try large-graph blas/toy_llm_cuda --graph --layers 8 --hidden 1024 --heads 16 --kv-heads 8 --ffn 2816 --vocab 32000 --prompt-tokens 128 --max-new-tokens 64
# Greedy tokens do not depend on how the step was launched.
for other in graph streams graph-streams; do
    if cmp -s "$OUT/toy-eager.jsonl" "$OUT/toy-$other.jsonl"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)); echo "toy: tokens of eager and $other differ"
    fi
done
rm -rf "$OUT/blas" "$OUT/plain"
echo "toy: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
