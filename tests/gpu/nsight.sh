#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with ncu and nsys: the Nsight stages, lpo kernels and lpo top on the real tools, from a
# portable build carried there (make portable). About four minutes; ends with "nsight: N passed, N failed".
# $OUT gets nsight.txt, nsight.json (figures) and runs.tgz (what was made, files over 1 MB left out).
#   tests/gpu/nsight.sh [forms] [failures] [presets] [torch] [nsys] [mistakes] [focus] [processes] [kernels] [separate] [cost]
#   tests/gpu/nsight.sh forms-quick    what region patterns become under ncu, in three captures side by side (25 s)
#   tests/gpu/nsight.sh calls switched which calls of a range ncu takes; nsys switched by lpo ctl (90 s)
# NSIGHT_SECONDS=235: no part begins later. NSIGHT_COST_AFTER=FILE: cost, which is last, waits until FILE is there.
# LPO_DRY=1: no GPU; every command that lpo would run is printed. SIGTERM packs what there is.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
export OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
exec > >(tee "$OUT/nsight.txt") 2>&1
build=${LPO_BUILD:-build-portable}
for dir in /usr/local/cuda/bin /opt/nvidia/nsight-compute/*/ /opt/nvidia/nsight-compute/*/host/target-linux-x64; do
    [ -d "$dir" ] && PATH=$PATH:$dir
done
# libdw1 and libelf1 where the machine has none: nsys's importer needs them
[ -d gpu-carry ] && export LD_LIBRARY_PATH="$PWD/gpu-carry${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
toy=$build/workloads/toy_llm_cuda forms=$build/workloads/nvtx_forms
[ -x "$toy" ] || scripts/build-toy-cuda.sh "$toy" || exit 1
grep -q -e --wide "$forms" 2>/dev/null || nvcc -O2 -std=c++17 -gencode "arch=compute_${SM:-90},code=sm_${SM:-90}" -Iworkloads \
    tests/gpu/nvtx_forms.cu -o "$forms" -lpthread -ldl || exit 1
python3 tests/gpu/nsight_cases.py "$@" &
cases=$!
trap 'kill -TERM $cases' TERM INT
wait $cases
code=$?
trap '' TERM INT
wait $cases 2>/dev/null # after a signal: until it has packed
sleep 0.2 # tee
exit $code
