#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format, the rules of the tree, static analysis, a clean build with gcc and with clang, and the tests of both.
set -euo pipefail
cd "$(dirname "$0")/.."
need=()
for tool in clang clang-format clang-tidy cppcheck; do
    command -v $tool >/dev/null || need+=($tool)
done
if [ ${#need[@]} -gt 0 ]; then
    sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get install -y --no-install-recommends "${need[@]}" libclang-rt-14-dev
fi
scripts/lint.sh
if command -v npm >/dev/null; then
    echo "tsc"; npm install --silent --no-audit --no-fund --prefix build-tidy/tsc typescript@5.9 && build-tidy/tsc/node_modules/.bin/tsc -p web
fi
echo "tidy";      scripts/tidy.sh
# What it found in a file is kept in build-tidy/ too, and taken again while the file is the same.
echo "cppcheck";  mkdir -p build-tidy/cppcheck
                  cppcheck --quiet --std=c17 --enable=warning,portability --inline-suppr --error-exitcode=1 \
                      -j "$(nproc)" --cppcheck-build-dir=build-tidy/cppcheck \
                      --suppress=normalCheckLevelMaxBranches --suppress=unknownMacro -I src -I include $(git ls-files 'src/*.c')
# Warnings are errors without the sanitizers: with them gcc warns of what they themselves insert.
for cc in gcc clang; do
    extra=() # Python loads the collector too: the sanitizer must be a library, not a part of our programs
    [ $cc = clang ] && extra=(-Db_lundef=false -Dc_args=-shared-libasan
        -Dc_link_args="-shared-libasan -Wl,-rpath,$(clang -print-runtime-dir)")
    echo "build with $cc, no warning allowed"
    rm -rf build-check-$cc build-check-$cc-san
    CC=$cc meson setup build-check-$cc -Dwerror=true >/dev/null
    ninja -C build-check-$cc >build-check-$cc/ninja.log 2>&1 || { grep -E 'error|FAILED' build-check-$cc/ninja.log | head -20; exit 1; }
    echo "build with $cc and sanitizers, and test"
    CC=$cc meson setup build-check-$cc-san -Db_sanitize=address,undefined "${extra[@]}" >/dev/null
    scripts/test.sh build-check-$cc-san
done
