#!/usr/bin/env bash
# Format, static analysis, a clean build with gcc and with clang, and the tests of both.
set -euo pipefail
cd "$(dirname "$0")/.."
need=()
for tool in clang clang-format cppcheck; do
    command -v $tool >/dev/null || need+=($tool)
done
if [ ${#need[@]} -gt 0 ]; then
    sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get install -y --no-install-recommends "${need[@]}" libclang-rt-14-dev
fi
mapfile -t sources < <(git ls-files '*.c' '*.h')
echo "format";    clang-format --dry-run --Werror "${sources[@]}"
echo "cppcheck";  cppcheck --quiet --std=c17 --enable=warning,portability --inline-suppr --error-exitcode=1 \
                      --suppress=normalCheckLevelMaxBranches --suppress=unknownMacro -I src -I include $(git ls-files 'src/*.c')
for cc in gcc clang; do
    echo "build and test with $cc"
    extra=(); [ $cc = clang ] && extra=(-Db_lundef=false)
    rm -rf build-check-$cc
    CC=$cc meson setup build-check-$cc -Dwerror=true -Db_sanitize=address,undefined "${extra[@]}" >/dev/null
    scripts/test.sh build-check-$cc
done
