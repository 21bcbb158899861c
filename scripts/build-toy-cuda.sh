#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the toy model without Meson, for machines that have only compilers:
#     build-toy-cuda.sh [TOY_LLM_CUDA [TOY_LLM]]
# the GPU program where the first word says (default: this folder; "-" leaves it out), the CPU program where the
# second says. SM=90 is the architecture built natively; every other GPU takes the PTX beside it.
# TOY_NO_CUBLAS=1 builds with plain kernels only.
set -euo pipefail
gpu=$([ "${1:-}" = - ] || realpath -m "${1:-toy_llm_cuda}")
cpu=$([ -z "${2:-}" ] || realpath -m "$2")
cd "$(dirname "$0")/.."
cc=${CC:-gcc}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
flags=(-std=gnu17 -D_GNU_SOURCE -O2 -Isrc -Iworkloads)
compile() { "$cc" "${flags[@]}" -c "$1" -o "$objects/$2$(basename "$1" .c).o" 2>"$objects/$2$(basename "$1").log"; }

for c in workloads/toy/*.c; do
    [ "$c" = workloads/toy/cpu.c ] || compile "$c" toy- || { cat "$objects/toy-$(basename "$c").log"; exit 1; }
done
# An archive: the linker takes only what the toy uses, so a file whose library is absent does no harm.
for c in src/util/*.c; do compile "$c" util- || true; done
ar rcs "$objects/util.a" "$objects"/util-*.o
if [ -n "$cpu" ]; then
    mkdir -p "$(dirname "$cpu")"
    "$cc" "${flags[@]}" workloads/toy/cpu.c "$objects"/toy-*.o "$objects/util.a" -o "$cpu" -lm -lpthread -ldl
    echo "built $cpu"
fi
[ -n "$gpu" ] || exit 0
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
blas=-lcublas
if [ -n "${TOY_NO_CUBLAS:-}" ] || [ ! -f "$(dirname "$nvcc")/../include/cublas_v2.h" ]; then
    blas=-DTOY_NO_CUBLAS
fi
mkdir -p "$(dirname "$gpu")"
"$nvcc" -O2 -std=c++17 -gencode "arch=compute_${SM:-90},code=sm_${SM:-90}" -gencode arch=compute_75,code=compute_75 \
    -D_GNU_SOURCE -Isrc -Iworkloads workloads/toy/cuda.cu "$objects"/toy-*.o "$objects/util.a" -o "$gpu" \
    $blas -lpthread -ldl
echo "built $gpu"
