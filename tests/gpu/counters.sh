#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine: the sampler of hardware counters. Each part takes less than a minute, truth and share up to 100 s.
#   tests/gpu/counters.sh [probe] [overflow] [known] [tensor] [cost] [share] [llama] [truth] [big]
#     probe   what sampling costs by interval, metrics and settings on an idle GPU; who is refused, and how
#     overflow  a sampler that cannot keep up
#     known   sampled bytes of copies and products against the known ones, through `lpo run`
#     tensor  tensor cycles of products against their FLOPs
#     cost    four programs with and without a sampler beside them, in turns
#     share   a decode and copies for a minute in all: with 3 % of a core, without a limit, and with 3 % from 100 us on; the share that
#             was taken, the interval at rest, the bytes of regions against each other and against the known ones
#     llama   an 8-layer Llama: its trace, samples and report
#     truth   the same Llama, sampled in one run, beside ncu: every kernel of a shorter run alone, then whole calls of regions
#     big     a Llama of 8B parameters: what counters add to the time of stage native
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
PYTHON=${PYTHON:-python3}
lpo=$PWD/build-portable/lpo
work=$(mktemp -d)
what=${*:-probe overflow known tensor cost share llama truth big}
log() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

sample() { # sample NAME word…: two seconds on an idle GPU
    local name=$1
    shift
    printf '%-34s ' "$name"
    "$lpo" sample-counters -o "$work/probe.lpoc" --seconds 2 "$@" </dev/null | tr '\n' ' ' | tee "$work/line"
    python3 - "$work" <<'P'
import os, re, sys
line = open(sys.argv[1] + "/line").read()
n = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
if n.get("wall_ns"):
    size = os.path.getsize(sys.argv[1] + "/probe.lpoc")
    print(f" => {100 * n['cpu_ns'] / n['wall_ns']:.1f} % of a core, {size / max(n['samples'], 1):.1f} bytes a sample")
else:
    print()
P
}

four=(--metric dram__bytes_read.sum --metric dram__bytes_write.sum
    --metric sm__cycles_active.avg.pct_of_peak_sustained_elapsed
    --metric sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed)
all=()
for m in dram__bytes_read.sum dram__bytes_write.sum sm__cycles_active.avg.pct_of_peak_sustained_elapsed \
    sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed lts__t_bytes.sum pcie__read_bytes.sum pcie__write_bytes.sum; do
    all+=(--metric "$m")
done

probe() {
    local period
    log probe
    "$lpo" doctor | grep -A3 -E '^(gpu|cupti|counters|sampling)'
    time "$lpo" sample-counters --check
    sample "what it chooses"
    sample "what it chooses for 50 us" --interval-ns 50000
    sample "what it chooses for 20 us" --interval-ns 20000
    sample "DRAM alone, 20 us" --interval-ns 20000 --metric dram__bytes_read.sum --metric dram__bytes_write.sum
    sample "four metrics, 50 us" --interval-ns 50000 "${four[@]}"
    sample "all seven, 100 us" --interval-ns 100000 "${all[@]}"
    sample "all seven, 200 us" --interval-ns 200000 "${all[@]}"
    for period in 20 50 100 200; do
        sample "seven, 100 us, every $period ms" --interval-ns 100000 --period-ms $period "${all[@]}"
    done
    sample "seven, 1 ms, every 100 ms" --interval-ns 1000000 --period-ms 100 "${all[@]}"
    sample "chosen, image of 4096" --image-samples 4096
    log "a second sampler at the same time"
    "$lpo" sample-counters -o "$work/first.lpoc" --seconds 4 </dev/null &
    sleep 2
    "$lpo" sample-counters -o "$work/second.lpoc" --seconds 1 </dev/null
    wait
    log "a user without the permission"
    mkdir -m 777 "$work/user" && cp "$lpo" "$work/user/" && chmod 755 "$work" "$work/user/lpo"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$work/user/lpo" sample-counters --check
    CUDA_VISIBLE_DEVICES='' "$lpo" sample-counters --check
}

# It must go on by itself: losses are marked, and the last samples are of the last moments.
overflow() {
    log overflow
    sample "all seven, 20 us, small buffer" --interval-ns 20000 --buffer-mb 16 "${all[@]}" | tee "$work/overflow.txt"
    grep -q 'done samples=' "$work/overflow.txt" || echo DIFFERS
    python3 tests/trace/lpoc.py "$work/probe.lpoc" | grep -av '^sample' | tail -12
    mkdir -p "$work/keep" && cp "$work/probe.lpoc" "$work/keep/overflow.lpoc"
}

only=(pipeline.static_analysis.enable=false pipeline.direct_inference.enable=false pipeline.torch_profiler.enable=false)

known() {
    log known
    "$lpo" run "hydra.run.dir=$work/known" "${only[@]}" -- "$PYTHON" tests/gpu/counters.py known "$work/known.json" 2>&1 | tail -25
    "$PYTHON" tests/gpu/counters.py compare "$work/known.json" "$work/known/counters/gpu0.lpoc" || echo DIFFERS
    python3 -c "import json, sys; print(json.dumps([s for s in json.load(open(sys.argv[1]))['stages'] if s['name'] == 'counters'], indent=1))" "$work/known/run.json"
    mkdir -p "$work/keep" && cp "$work/known/counters/gpu0.lpoc" "$work/keep/known.lpoc" && cp "$work/known.json" "$work/keep/"
}

tensor() {
    log tensor
    "$PYTHON" tests/gpu/counters.py tensor "$lpo" || echo DIFFERS
}

cost() {
    log cost
    "$PYTHON" tests/gpu/counters.py cost "$lpo" 5 || echo DIFFERS
}

share() {
    log share
    local name core=(pipeline.counters.core=0.03) words
    for name in core default named; do
        case $name in
        core) words=(24 "${core[@]}") ;;
        default) words=(24) ;;
        named) words=(12 "${core[@]}" pipeline.counters.interval=100us) ;;
        esac
        "$PYTHON" tests/gpu/counters.py watch "$work/share-$name.json" "$work/share-$name/counters/gpu0.lpoc" \
            "$lpo" run -q "hydra.run.dir=$work/share-$name" "${only[@]}" pipeline.counters.enable=true "${words[@]:1}" \
            -- "$PYTHON" tests/gpu/counters.py decode "${words[0]}" >"$work/share-$name.txt" 2>&1 || { tail -20 "$work/share-$name.txt"; echo DIFFERS; }
        grep -E 'note:|calls of' "$work/share-$name.txt"
        mkdir -p "$work/keep/share-$name"
        cp "$work/share-$name"/{run.json,report.json} "$work/share-$name/counters/gpu0.lpoc" "$work/share-$name.json" "$work/keep/share-$name/"
    done
    log "share: figures"
    "$PYTHON" tests/gpu/counters.py share "$work/keep" 0.03 || echo DIFFERS
}

llama() {
    log llama
    make_llama || return 1
    "$lpo" run "hydra.run.dir=$work/llama" "${only[@]}" workload=hf model=hf "model.path=$work/llama.json" \
        infer.prompt_tokens=512 infer.max_new_tokens=16 run.repeats=3 run.warmup=1 pipeline.native.graphs=nodes \
        pipeline.counters.enable=true 2>&1 | tail -40
    mkdir -p "$work/keep/llama"
    cp -r "$work"/llama/{run.json,report.md,report.json,native,counters} "$work/keep/llama/"
}

# ncu empties no cache and leaves the clocks alone, so that its kernels find what those of the program find. All the
# metrics are of one pass (CUPTI says so of GH100), so that nothing is replayed.
truth() {
    log truth
    local metrics=gpu__time_duration.sum,dram__bytes.sum,dram__bytes_read.sum,dram__bytes_write.sum,sm__cycles_elapsed.sum
    metrics+=,sm__pipe_tensor_cycles_active.sum
    local sampled=dram__bytes_read.sum,dram__bytes_write.sum,sm__pipe_tensor_cycles_active_realtime.sum
    local model=(workload=hf model=hf "model.path=$work/llama.json" infer.prompt_tokens=512 run.warmup=1)
    make_llama || return 1
    "$lpo" run -q "hydra.run.dir=$work/truth" "${only[@]}" "${model[@]}" infer.max_new_tokens=16 run.repeats=10 \
        pipeline.counters.enable=true "pipeline.counters.metrics=[$sampled]" >"$work/truth.txt" 2>&1 || { tail -20 "$work/truth.txt"; return 1; }
    grep -E 'note:|^native|^counters' "$work/truth.txt"
    log "truth: ncu"
    timeout -k 10 90 "$lpo" run -q "hydra.run.dir=$work/truth-ncu" "${only[@]}" "${model[@]}" infer.max_new_tokens=3 run.repeats=1 \
        pipeline.native.enable=false pipeline.counters.enable=false pipeline.ncu.enable=true pipeline.ncu.ncu_cli.set=null \
        'pipeline.ncu.ncu_cli.sections=[]' pipeline.ncu.regions.enable=true 'pipeline.ncu.regions.include=[prefill,decode]' \
        "pipeline.ncu.ncu_cli.metrics=[$metrics]" pipeline.ncu.ncu_cli.export.csv=false pipeline.ncu.sampling.mode=all \
        pipeline.ncu.ncu_cli.clock_control=none pipeline.ncu.ncu_cli.cache_control=none >"$work/truth-ncu.txt" 2>&1
    echo "exit code $?"
    grep -E '^ncu|note:|rror' "$work/truth-ncu.txt"
    grep -ao '[0-9]* pass.*' "$work/truth-ncu/ncu/run.log" | sort | uniq -c | head -3
    mkdir -p "$work/keep/truth"
    cp "$work"/truth/native/*.lpot "$work/truth/counters/gpu0.lpoc" "$work/truth-ncu/ncu/run.ncu-rep" "$work/truth-ncu.txt" "$work/keep/truth/"
    log "truth: comparison"
    "$lpo" report --json "$work"/truth/native/*.lpot "$work/truth/counters/gpu0.lpoc" "$work/truth-ncu/ncu/run.ncu-rep" >"$work/truth.json" &&
        "$lpo" regions --json "$work/truth-ncu/ncu/run.ncu-rep" >"$work/truth-regions.json" &&
        python3 tests/gpu/counters.py truth "$work/truth.json" "$work/truth-regions.json" || echo DIFFERS
    log "truth: ncu over whole calls of regions"
    "$lpo" report --json "$work"/truth/native/*.lpot "$work/truth/counters/gpu0.lpoc" >"$work/truth.json"
    local region files=()
    # calls of a region are alike, so two repeats are enough for ncu
    sed 's/"repeats": *[0-9]*/"repeats": 2/' "$work/truth/workload/native/settings.json" >"$work/short.json"
    for region in prefill decode lm_head; do
        timeout -k 10 90 ncu --clock-control none --cache-control none --replay-mode app-range --nvtx --nvtx-include "$region/" \
            --metrics dram__bytes_read.sum,dram__bytes_write.sum,sm__pipe_tensor_cycles_active.sum -f -o "$work/$region" \
            "$PYTHON" build-portable/workloads/hf_generate.py --settings "$work/short.json" \
            --metrics "$work/metrics.json" >"$work/$region.log" 2>&1 || tail -3 "$work/$region.log"
        ncu --import "$work/$region.ncu-rep" --csv --page raw >"$work/$region.csv" 2>/dev/null
        files+=("$work/$region.csv")
    done
    python3 tests/gpu/counters.py ranges "$work/truth.json" "${files[@]}" || echo DIFFERS
    log "truth: prefill after prefill, so that what one call leaves in L2 is written in the next one of the same region"
    "$lpo" run -q "hydra.run.dir=$work/prefills" "${only[@]}" "${model[@]}" infer.max_new_tokens=1 run.repeats=60 \
        pipeline.counters.enable=true "pipeline.counters.metrics=[$sampled]" >"$work/prefills.txt" 2>&1 || tail -5 "$work/prefills.txt"
    "$lpo" report --json "$work"/prefills/native/*.lpot "$work/prefills/counters/gpu0.lpoc" >"$work/prefills.json" &&
        python3 tests/gpu/counters.py ranges "$work/prefills.json" "$work/prefill.csv" || echo DIFFERS
    log "truth: what ncu writes itself"
    ncu --clock-control none --cache-control none --metrics "$metrics" -f -o "$work/own" "$PYTHON" tests/gpu/counters.py readers >"$work/own.log" 2>&1
    ncu --import "$work/own.ncu-rep" --csv --page raw --print-units base >"$work/own.csv" && "$PYTHON" tests/gpu/counters.py own "$work/own.csv"
    tar -C "$work" -czf "$work/keep/truth/ranges.tar.gz" prefill.csv decode.csv lm_head.csv truth.json prefills.json own.csv
}

make_llama() { # of 8 layers
    [ -f "$work/models/llama/config.json" ] || python3 tests/gpu/hf_models.py "$work/models" || return 1
    sed 's/"num_hidden_layers": 2/"num_hidden_layers": 8/' "$work/models/llama/config.json" >"$work/llama.json"
}

big() {
    log big
    cat >"$work/big.json" <<J
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
 "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
 "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "tie_word_embeddings": false}
J
    local enable
    # the first run finds nothing in the caches of the machine and is thrown away
    for enable in false true false; do
        rm -rf "$work/big-$enable"
        "$lpo" run -q "hydra.run.dir=$work/big-$enable" "${only[@]}" pipeline.static_analysis.enable=$enable workload=hf model=hf \
            "model.path=$work/big.json" infer.prompt_tokens=512 infer.max_new_tokens=16 run.repeats=1 run.warmup=1 \
            pipeline.counters.enable=$enable >"$work/big-$enable.txt" 2>&1 || { tail -20 "$work/big-$enable.txt"; echo DIFFERS; }
        mkdir -p "$work/keep/big-$enable"
        cp "$work/big-$enable"/{run.json,report.md} "$work/keep/big-$enable/"
    done
    python3 tests/gpu/counters.py big "$work/big-true/run.json" "$work/big-false/run.json" || echo DIFFERS
    grep -A14 -E 'How far from the limit' "$work/big-true/report.md"
}

for part in $what; do "$part" 2>&1; done | tee "$OUT/counters.txt"
[ -d "$work/keep" ] && tar -C "$work/keep" -czf "$OUT/counters.tar.gz" . && ls -l "$OUT"
! grep -q DIFFERS "$OUT/counters.txt"
