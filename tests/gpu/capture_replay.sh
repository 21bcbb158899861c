#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a GPU machine with PyTorch: a CUDA graph whose warm-up, capture and replays are traced apart. Operators that lpo finds for the replayed
# kernels by the capture alone must be those that it finds by the warm-up.
#   tests/gpu/capture_replay.sh      less than a minute; $OUT gets capture_replay.txt and the traces;  LPO, PYTHON
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
OUT=${OUT:-$(mktemp -d)}
PYTHON=${PYTHON:-python3}
lpo=${LPO:-$PWD/build-portable/lpo}
{
    timeout 80 "$PYTHON" tests/gpu/capture_replay.py record "$OUT" || echo "FAILED: record"
    timeout 20 "$PYTHON" tests/gpu/capture_replay.py check "$OUT" "$lpo" || echo "FAILED: check"
} 2>&1 | tee "$OUT/capture_replay.txt"
! grep -q FAILED "$OUT/capture_replay.txt"
