#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with PyTorch: workload=server around a PyTorch server with continuous batching, from a portable build
# carried there (make portable). Its engine in a spawned process, a forked one and a thread; stages direct, native, and
# nsys where it is. Then what the collector costs under load, in turns. Reports and JSON go to $OUT.
#   tests/gpu/server.sh [spawn] [fork] [none] [nsys] [cost]      all without words; 3 minutes
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
LPO=${LPO:-$PWD/build-portable/lpo}
REQUESTS=${REQUESTS:-64}
GPU=${GPU---gpu}
mkdir -p "$OUT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$PWD/tests/gpu/server.py
failed=0
fail() { echo "FAILED: $*"; failed=1; }

client() { # REQUESTS RESULT: the client's words as a list of the config
    printf '[%s,%s,load,@port@,--requests,%s%s]' "$PYTHON" "$program" "$1" "${2:+,--result,$2}"
}
run() { # NAME PROCESS OVERRIDE…
    local name=$1 process=$2
    shift 2
    echo "== $name (${SECONDS} s)"
    timeout 150 "$LPO" run "hydra.run.dir=$work/$name" workload=server pipeline.static_analysis.enable=false \
        pipeline.torch_profiler.enable=false pipeline.nvml.enable=false workload.server.ready.timeout=90s \
        workload.server.load.timeout=60s workload.server.stop.grace=15s \
        "workload.server.warmup.argv=$(client 8 '')" "workload.server.load.argv=$(client "$REQUESTS" @out@/client.json)" \
        "$@" -- "$PYTHON" "$program" serve @port@ --process "$process" ${LAYERS:+--layers "$LAYERS"} ${HIDDEN:+--hidden "$HIDDEN"} \
        >"$work/$name.log" 2>&1
    local rc=$?
    [ $rc = 0 ] || { fail "$name: exit code $rc"; tail -25 "$work/$name.log"; }
    mkdir -p "$OUT/$name"
    cp "$work/$name/report.md" "$work/$name/run.json" "$work/$name.log" "$OUT/$name/" 2>/dev/null
    for stage in direct_inference native nsys; do
        cp "$work/$name/workload/$stage/server.json" "$OUT/$name/$stage-server.json" 2>/dev/null
        cp "$work/$name/workload/$stage/client.json" "$OUT/$name/$stage-client.json" 2>/dev/null
    done
    return $rc
}
checked() { # NAME STAGE…
    local name=$1
    shift
    "$PYTHON" "$program" check "$work/$name" "$@" --lpo "$LPO" ${LAYERS:+--layers "$LAYERS"} $GPU || fail "$name: check"
}
spawn() { run spawn spawn && checked spawn direct_inference native; }
fork() { run fork fork && checked fork direct_inference native; }
none() { run none none && checked none direct_inference native; }
nsys() { # the function has the name of the program: type -P looks for the latter
    type -P nsys >/dev/null || { echo "nsys is not here: left out"; return; }
    run nsys spawn pipeline.direct_inference.enable=false pipeline.native.enable=false pipeline.nsys.enable=true \
        pipeline.nsys.gating_nvtx=false
    checked nsys nsys
}
cost() { # tokens/s with the collector, in its window, against without, in turns
    for i in 1 2 3 4; do
        run "cost-$i" spawn "workload.server.load.argv=$(client $((REQUESTS * 4)) @out@/client.json)"
    done
    "$PYTHON" - "$work" <<'P'
import json, statistics, sys
rows = {s: [json.load(open(f"{sys.argv[1]}/cost-{i}/workload/{s}/client.json")) for i in (1, 2, 3, 4)] for s in ("direct_inference", "native")}
for key in ("output_tokens_per_s",):
    a, b = ([r[key] for r in rows[s]] for s in ("direct_inference", "native"))
    print(f"{key}: direct {[round(v, 1) for v in a]}, native {[round(v, 1) for v in b]}: median {statistics.median(b) / statistics.median(a) - 1:+.2%}")
for key in ("ttft_ms", "itl_ms"):
    a, b = (statistics.median(r[key]["p50"] for r in rows[s]) for s in ("direct_inference", "native"))
    print(f"{key} p50: direct {a:.3f}, native {b:.3f}: {b / a - 1:+.2%}")
P
}
for part in "${@:-spawn fork none nsys cost}"; do
    for p in $part; do
        echo "=== $p"
        "$p" 2>&1 | tee "$OUT/$p.txt" # in a subshell: its words count
        ! grep -q "FAILED" "$OUT/$p.txt" || failed=1
    done
done
echo "server: $([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
