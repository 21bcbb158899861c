#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GPU machines build the toy model without Meson and without our libraries (scripts/build-toy-cuda.sh): it must link
# nothing of zlib and zstd. Prints TAP.
set -uo pipefail
cd "${LPO_SOURCE_ROOT:-$(dirname "$0")/../..}" || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 1..2
if scripts/build-toy-cuda.sh - "$work/toy" >"$work/log" 2>&1; then echo "ok 1 - it builds"; else echo "not ok 1 - it builds"; sed 's/^/# /' "$work/log" | tail -5; fi
if (cd "$work" && ./toy --layers 1 --prompt-tokens 4 --max-new-tokens 2 --repeats 1) >"$work/log" 2>&1; then echo "ok 2 - it runs"; else echo "not ok 2 - it runs"; sed 's/^/# /' "$work/log" | tail -5; fi
