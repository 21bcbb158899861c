#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The standalone kernel profiler under its old name, with its old command line and its old folders. `lpo kernels` does the work.
#   ncu-profile-kernels.sh --kernel-regex 'flash_fwd.*' -- ./bench --size 2048
# The sections are those of the preset ncu.default; metrics are passed only where --metrics is given.
set -euo pipefail
DEFAULT_SECTIONS="SpeedOfLight MemoryWorkloadAnalysis Occupancy SchedulerStats"

built="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/build/lpo"
lpo=${LPO:-}
[ -n "$lpo" ] || { [ -x "$built" ] && lpo=$built; } || lpo=$(command -v lpo) || {
    echo "ncu-profile-kernels: lpo is neither built (make) nor in PATH; name it in the variable LPO" >&2
    exit 1
}
given=() several=no names=" "
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    name=${1%%=*} rest=${1#"${1%%=*}"}
    case $1 in -*) several=no ;; esac
    case $name in
        --extra-sections) several=yes; [ -z "$rest" ] || given+=(--extra-section "${rest#=}") ;;
        --output-dir) name=--output; given+=("$name$rest") ;;
        --num-kernel-call-skip) name=--launch-skip; given+=("$name$rest") ;;
        --num-kernel-call-profile) name=--launch-count; given+=("$name$rest") ;;
        --force-overwrite) ;; # reports are always written anew
        -*) given+=("$1") ;;
        *) [ $several = yes ] && given+=(--extra-section "$1") || given+=("$1") ;;
    esac
    names+="$name "
    shift
done
defaults=()
case $names in
    *" --help "* | *" -h "*) ;;
    *)
        defaults+=(--old-layout)
        case $names in
            *" --section "* | *" --set "*) ;;
            *) for name in $DEFAULT_SECTIONS; do defaults+=(--section "$name"); done ;;
        esac
        for pair in --kernel-name-base=demangled --launch-skip=200 --launch-count=1 "--output=$(date +tmp/ncu-profile/%Y%m%d-%H%M%S)"; do
            case $names in *" ${pair%%=*} "*) ;; *) defaults+=("${pair%%=*}" "${pair#*=}") ;; esac
        done
        ;;
esac
echo "ncu-profile-kernels: deprecated; it is \`lpo kernels\` now" >&2
exec "$lpo" kernels "${defaults[@]}" "${given[@]}" "$@"
