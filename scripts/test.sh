#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [--lint] BUILD [ARGUMENT…]: builds and runs the tests of a build folder, all of them or those that the
# arguments of `meson test` choose (--suite quick), and closes with "N passed, N failed" (", N skipped" when there were
# any). --lint: only after format and the rules of the tree were found right.
set -uo pipefail
if [ "${1:-}" = --lint ]; then
    shift
    scripts/lint.sh || { echo "0 passed, 1 failed"; exit 1; }
fi
build=${1:-build-san}
ninja -C "$build" >"$build/ninja.log" 2>&1 || { tail -60 "$build/ninja.log"; echo "0 passed, 1 failed"; exit 1; }
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
# Tests start Python some thousand times. Where python3 is a script (pyenv's), most of each start is that script: Debian's
# own goes first, and the other is still asked for torch.
if [ -x /usr/bin/python3 ] && [ "$(head -c 2 "$(command -v python3)")" = '#!' ]; then
    export LPO_TEST_PYTHON=${LPO_TEST_PYTHON:-$(command -v python3)} PATH=/usr/bin:$PATH
fi
# limits of time are there to end what hangs: a busy machine is no reason to fail. Some tests wait
# for most of their time (a FIFO, a scheduler): two more at a time than there are cores.
meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 4 \
    --num-processes "${LPO_TEST_JOBS:-$(($(nproc) + 2))}" "${@:2}"
python3 scripts/test-summary.py "$build/meson-logs/testlog.json"
