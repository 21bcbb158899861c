#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: what ncu's NVTX expressions match, tried on the toy CUDA model (its ranges:
# load, prefill, decode/step/layerN/attn, and a start/end range decode_window). One line each.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
toy=${1:-build-portable/workloads/toy_llm_cuda}
[ -x "$toy" ] || scripts/build-toy-cuda.sh "$toy" >/dev/null
for e in 'decode/' 'decode' 'decode*/' 'regex:decode.*/' 'regex:dec/' 'regex:^decode$/' 'regex:^dec$/' 'regex:decode.*' 'regex:dec' \
    'decode_window' 'decode/*/attn/' 'decode/attn/' 'decode/step/layer1/' 'regex:layer[0-9]+/' 'regex:decode/*/att.*/' 'regex:decode/*/layer[01]/' \
    'layer1/attn]' '[decode/'; do
    n=$(ncu --target-processes all --config-file off --clock-control none --metrics gpu__time_duration.sum --nvtx --nvtx-include "$e" --csv --page raw \
        "$toy" --layers 2 --hidden 64 --heads 4 --kv-heads 2 --ffn 128 --vocab 256 --prompt-tokens 8 --max-new-tokens 2 \
        --repeats 1 --warmup 0 --start-end-ranges 2>&1 | tee /tmp/probe.out | grep -c '^"[0-9]')
    printf 'include %-28s %5d kernels\n' "$e" "$n"
done
[ "$n" -gt 0 ] || tail -5 /tmp/probe.out
