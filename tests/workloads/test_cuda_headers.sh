#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C headers that toy/cuda.cu includes compile as C++: nvcc is on GPU machines only, so nothing
# else here would notice. Prints TAP.
cd "$LPO_SOURCE_ROOT" || exit
command -v g++ >/dev/null || { echo "1..0 # SKIP there is no g++"; exit 0; }
echo 1..1
sed -n '/^extern "C" {/,/^}/p' workloads/toy/cuda.cu |
    g++ -x c++ -std=c++17 -fsyntax-only -D_GNU_SOURCE -Isrc -Iworkloads - 2>&1 | sed 's/^/# /' |
    { read -r first && { echo "not ok 1 - headers of toy_llm_cuda as C++"; echo "$first"; cat; } ||
        echo "ok 1 - headers of toy_llm_cuda as C++"; }
