#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: Llama-, Qwen3- and DeepSeek-V2-like random models, LLaVA and a CLIP tower through every stage by
# `lpo run`, from a portable build carried there (make portable); then whether native, torch, nsys and ncu saw the same
# kernels in the same regions (compare_regions.py). A compiled Llama, one as a CUDA graph and one with memory recorded
# go through native and torch. All at once: what is compared are counts, not times. About five minutes.
#   tests/gpu/models.sh [NAME…]    llama qwen3 deepseek_v2 llava clip llama-compile llama-graph llama-memory
#   DRY=1 prints what would run; DEVICE=cpu runs native and torch alone, where there is no GPU; PYTHON, LPO, JOBS.
# $OUT gets models.json (every count), models.txt (this log), runs.tgz (the runs without their large files).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
lpo=$(realpath "${LPO:-build-portable/lpo}")
python=${PYTHON:-python3}
device=${DEVICE:-cuda:0}
work=$(mktemp -d)
all=(llama qwen3 deepseek_v2 llava clip llama-compile llama-graph llama-memory)
[ $# -gt 0 ] && all=("$@")
mkdir -p "$OUT" "$work/runs" "$work/logs" "$work/bin"
exec > >(tee "$OUT/models.txt") 2>&1
log() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

ncu_dir=$(ls -d /opt/nvidia/nsight-compute/*/ 2>/dev/null | tail -1)
[ -x "$ncu_dir/host/target-linux-x64/nsys" ] && export PATH="$PATH:$ncu_dir/host/target-linux-x64"
[ -d gpu-carry ] && export LD_LIBRARY_PATH="$PWD/gpu-carry${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# One capture at a time: two ncus that meet would both want the counters.
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu "$ncu_dir"ncu 2>/dev/null | tail -1)
cat >"$work/bin/ncu" <<W
#!/usr/bin/env bash
case " \$* " in *" --export "*) exec flock "$work/ncu.lock" "$ncu" "\$@" ;; esac
exec "$ncu" "\$@"
W
chmod +x "$work/bin/ncu"
"$python" tests/gpu/hf_models.py "$work/models" || exit 1

# Warm-up 0 and one repeat: every stage runs the same few kernels, and all of them are looked at.
common=(workload=hf model=hf "workload.python=$python" "run.device=$device" workload.hf.ranges=modules run.repeats=1
    infer.prompt_tokens=64 infer.max_new_tokens=3 infer.seed=0 pipeline.native.enable=true
    pipeline.counters.enable=false) # several at once: the counters of a GPU are one program's
deep=(run.warmup=0 pipeline.direct_inference.enable=true pipeline.torch_profiler.enable=true
    pipeline.nvml.enable=true pipeline.nvml.interval_ms=20)
tools=(pipeline.nsys.enable=true pipeline.nsys.gating_nvtx=false pipeline.nsys.timeout=150s 'pipeline.nsys.stats=[cuda_gpu_kern_sum]'
    pipeline.ncu.enable=true pipeline.ncu.timeout=200s "pipeline.ncu.program=$work/bin/ncu"
    pipeline.ncu.regions.enable=true pipeline.ncu.sampling.mode=all pipeline.ncu.ncu_cli.set=null pipeline.ncu.ncu_cli.sections=[]
    'pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]' pipeline.ncu.ncu_cli.export.csv=false)
torch_only=(pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.torch_profiler.enable=true)
[ "$device" = cpu ] && tools=() && common+=(workload.hf.dtype=float32)

words() { # words NAME: the overrides of one run, a line each
    printf '%s\n' "hydra.run.dir=$work/runs/$1" "${common[@]}" "model.path=$work/models/${1%%-*}/config.json" "model.name=$1"
    case $1 in
    *-compile) printf '%s\n' "${torch_only[@]}" run.warmup=1 workload.hf.compile=true ;; # compiling tries kernels out
    *-graph) printf '%s\n' "${torch_only[@]}" run.warmup=0 workload.hf.cuda_graph=true ;;
    *-memory) printf '%s\n' "${torch_only[@]}" run.warmup=0 profiling/torch@pipeline.torch_profiler=torch-profiler.max ;;
    clip) printf '%s\n' "${deep[@]}" "${tools[@]}"
        [ ${#tools[@]} -gt 0 ] && echo 'pipeline.ncu.regions.include=[prefill]' ;;
    *) printf '%s\n' "${deep[@]}" "${tools[@]}"
        [ ${#tools[@]} -gt 0 ] && echo 'pipeline.ncu.regions.include=[prefill,decode]' ;;
    esac
}

run() { # run NAME: one lpo run, its words and exit code in a log of its own
    local name=$1 overrides
    mapfile -t overrides < <(words "$name")
    timeout -k 20 "${LIMIT:-320}" "$lpo" run ${DRY:+--dry-run} "${overrides[@]}" >"$work/logs/$name.txt" 2>&1
    echo "exit code $? after $((SECONDS - began)) s" >>"$work/logs/$name.txt"
}

began=$SECONDS
log "running ${all[*]}"
for name in "${all[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-8}" ]; do wait -n; done
    run "$name" &
    children+=($!)
done
wait "${children[@]}"
for name in "${all[@]}"; do
    log "$name"
    cat "$work/logs/$name.txt"
done
if [ -n "${DRY:-}" ]; then
    bad=$(grep -L '^exit code 0 ' "$work"/logs/*.txt)
    echo "dry run: $([ -z "$bad" ] && echo "every command line is accepted" || echo "refused: $bad")"
    rm -rf "$work"
    [ -z "$bad" ]
    exit
fi
log "stderr of the workloads that say something"
for f in "$work"/runs/*/workload/*/stderr.log; do [ -s "$f" ] && { echo "-- ${f#"$work"/runs/}"; tail -5 "$f"; }; done
log "comparing"
"$python" tests/gpu/compare_regions.py --lpo "$lpo" --json "$OUT/models.json" "${all[@]/#/$work/runs/}" | tee "$work/compared.txt"
code=$?
find "$work/runs" -type f -size +2M -delete
tar -C "$work" -czf "$OUT/runs.tgz" runs logs
log "done"
ls -la "$OUT"
tail -1 "$work/compared.txt"
rm -rf "$work"
sleep 0.2 # for tee
exit $code
