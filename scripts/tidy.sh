#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy with the checks of .clang-tidy over src/ and workloads/, or over the files named. The
# result of a file is kept in build-tidy/ and taken again while nothing that it includes has changed.
set -uo pipefail
cd "$(dirname "$0")/.."
build=build-tidy
[ -f $build/build.ninja ] || CC=clang meson setup $build -Dtests=false >/dev/null || exit 1
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.c' 'workloads/*.c')
mkdir -p $build/tidy
export build
check_one() {
    local log=$build/tidy/${1//\//_}.log key
    # what the compiler sees, and the checks: the same text has the same findings
    key=$( (cat .clang-tidy; clang -E -D_GNU_SOURCE -DLPO_VERSION='""' -Isrc -Iinclude -Iworkloads "$1" 2>&1) | md5sum)
    if [ -f "$log" ] && [ "$(head -1 "$log")" = "$key" ]; then
        tail -n +2 "$log"
        [ "$(wc -l <"$log")" -eq 1 ]
        return
    fi
    local all found status
    all=$(clang-tidy --quiet -p $build "$1" 2>/dev/null)
    status=$?
    found=$(grep -vE '^[0-9]+ warnings? ' <<<"$all")
    if [ -z "$found" ] && [ $status -ne 0 ]; then # it crashed, or was ended: nothing is known
        echo "$1: clang-tidy ended with $status"
        return 1
    fi
    { echo "$key"; [ -z "$found" ] || echo "$found"; } >"$log"
    [ -z "$found" ] || { echo "$found"; return 1; }
}
export -f check_one
printf '%s\n' "${files[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'check_one {}' || exit 1
