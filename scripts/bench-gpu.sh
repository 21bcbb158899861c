#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The part of `make bench` that needs a GPU: what the collector costs a launch-bound decode, against
# nothing and against torch.profiler. Says why and does nothing where there is no GPU or no PyTorch.
set -euo pipefail
build=${1:-build}
python=${PYTHON:-python3}
[ -e /dev/nvidiactl ] || { echo "bench-gpu: skipped, no NVIDIA GPU here"; exit 0; }
"$python" -c 'import torch, transformers' 2>/dev/null || { echo "bench-gpu: skipped, $python has no torch and transformers (PYTHON names another)"; exit 0; }
out=$build/bench/gpu
mkdir -p "$out"
exec "$python" bench/gpu/collect_bench.py --library "$build/src/collect/liblpo-collect.so" --out "$out" --rounds 15
