#!/usr/bin/env bash
# Builds the toy model for a GPU: toy_llm_cuda, or the path given. Needs nvcc and gcc, not Meson.
# SM=90 is the architecture built natively; every other GPU takes the PTX beside it.
set -euo pipefail
out=$(realpath -m "${1:-toy_llm_cuda}")
cd "$(dirname "$0")/.."
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for c in workloads/toy_{files,main,metrics,model,options,pool,run,sample,weights}.c \
    src/util/{arena,err,file,json,json_pull,json_write,path,str}.c; do
    "${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -O2 -Isrc -Iworkloads -c "$c" -o "$objects/$(basename "$c" .c).o" &
done
wait
blas=-lcublas
if [ -n "${TOY_NO_CUBLAS:-}" ] || [ ! -f "$(dirname "$nvcc")/../include/cublas_v2.h" ]; then
    blas=-DTOY_NO_CUBLAS
fi
"$nvcc" -O2 -std=c++17 -gencode "arch=compute_${SM:-90},code=sm_${SM:-90}" -gencode arch=compute_75,code=compute_75 \
    -D_GNU_SOURCE -Isrc -Iworkloads workloads/toy_llm.cu "$objects"/*.o -o "$out" $blas -lpthread -ldl
echo "built $out"
