#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds liblpo-collect.so with nothing but a C compiler: scripts/build-collect.sh [OUTPUT]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-liblpo-collect.so}
${CC:-gcc} -std=gnu17 -O2 -g -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -fPIC -fvisibility=hidden -Isrc -Iinclude \
    -shared -o "$out" src/collect/*.c src/collect/*/*.c src/util/crc32c.c -Wl,-z,nodelete -Wl,-z,now -ldl -lpthread
echo "$out"
