#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: DeepSeek-OCR with random weights and synthetic pages, under every stage, from a portable build
# carried there (make portable). Each part is one lpo run and is checked by dsocr_check.py: exit code, stages,
# ranges, report. A part that fails does not stop the others. Nine minutes at most (SECONDS_IN_ALL). Reports and
# logs in $OUT. Ends with "dsocr: N passed, N failed".
#   tests/gpu/dsocr.sh [base] [nsys_prefill] [nsys_decode] [ncu] [regions]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
lpo=${LPO:-$PWD/build-portable/lpo}
work=$(mktemp -d)
passed=0 failed=0 summary=()
for dir in /usr/local/cuda/bin /opt/nvidia/nsight-compute/*/ /opt/nvidia/nsight-compute/*/host/target-linux-x64; do
    [ -d "$dir" ] && PATH=$PATH:$dir
done
[ -d gpu-carry ] && export LD_LIBRARY_PATH="$PWD/gpu-carry${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

given=(workload=dsocr "workload.python=$PYTHON" "run.device=${DEVICE:-cuda:0}" infer.max_new_tokens=16 run.repeats=3)
[ -n "${OVERRIDES:-}" ] && read -ra more <<<"$OVERRIDES" && given+=("${more[@]}") # a small model, for trying this script
alone=(pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.native.enable=false
    pipeline.torch_profiler.enable=false
    pipeline.torch_profiler.enable=false run.repeats=1)
# A slice of the model has every kernel of the whole, so that the counters take seconds instead of minutes.
slice=(model.config.language_config.num_hidden_layers=2 model.config.vision_config.width.sam_vit_b.layers=3
    model.config.vision_config.width.clip-l-14-224.layers=2)
[ -n "${OVERRIDES:-}" ] && slice=()

part() { # part NAME LIMIT override…: one lpo run, checked
    local name=$1 limit=$2 left=$((${SECONDS_IN_ALL:-540} - SECONDS)) code begin=$SECONDS said
    shift 2
    [ "$limit" -gt "$left" ] && limit=$left
    printf '\n== %s (at %s s)\n' "$name" "$SECONDS"
    if [ "$limit" -lt 10 ]; then
        said="not run: the nine minutes are over"
        code=1
    else
        timeout -s INT -k 15 "$limit" "$lpo" run "hydra.run.dir=$work/$name" "${given[@]}" "$@" >"$OUT/$name.txt" 2>&1
        code=$?
        sed -n '1,40p' "$OUT/$name.txt"
        said=$("$PYTHON" tests/gpu/dsocr_check.py "$lpo" "$name" "$work/$name" "$code" 2>&1)
        code=$?
    fi
    keep "$name"
    if [ "$code" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    summary+=("$name: $said ($((SECONDS - begin)) s)")
    echo "$name: $said"
}
keep() { # what explains a result; not the traces
    (cd "$work" && find "$1" -type f \( -name '*.md' -o -name '*.json' -o -name '*.txt' -o -name '*.log' -o -name '*.csv' \
        -o -name '*.yaml' -o -name '*.svg' \) -size -4M -print0 2>/dev/null | tar -c --null -T - 2>/dev/null | gzip -1 >"$OUT/$1.tgz")
}

for name in ${*:-base nsys_prefill nsys_decode ncu regions}; do
    case $name in
    base) part base 150 pipeline.torch_profiler.enable=true pipeline.nvml.enable=true ;;
    nsys_prefill | nsys_decode)
        part "$name" 70 "${alone[@]}" pipeline.nsys.enable=true "pipeline.nsys.nvtx_capture=${name#nsys_}" ;;
    ncu) part ncu 90 "${alone[@]}" "${slice[@]}" pipeline.ncu.enable=true 'pipeline.ncu.ncu_cli.nvtx.include=decode*' \
        run.representative_max_new_tokens=3 pipeline.ncu.ncu_cli.launch_count=60 ;;
    regions) part regions 240 +experiment=regions "${alone[@]}" pipeline.native.enable=true "${slice[@]}" \
        'pipeline.ncu.regions.include=[prefill,decode]' pipeline.ncu.sampling.per_config=1 pipeline.ncu.sampling.max_new_tokens=3 \
        'pipeline.ncu.ncu_cli.sections=[SpeedOfLight]' ;;
    *) echo "no part '$name'"; failed=$((failed + 1)) ;;
    esac
done
printf '\n'
printf '%s\n' "${summary[@]}" | tee "$OUT/summary.txt"
echo "dsocr: $passed passed, $failed failed" | tee -a "$OUT/summary.txt"
rm -rf "$work"
[ "$failed" = 0 ]
