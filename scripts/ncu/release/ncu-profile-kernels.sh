#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The standalone kernel profiler under its old name and with its old command line. `lpo kernels` does the work.
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
sections=()
for name in $DEFAULT_SECTIONS; do
    sections+=(--section "$name")
done
for word in "$@"; do
    case $word in
        --) break ;;
        --section | --section=* | --set | --set=* | --help | -h) sections=() ;;
    esac
done
echo "ncu-profile-kernels: deprecated; it is \`lpo kernels\` now, with the same options" >&2
exec "$lpo" kernels "${sections[@]}" "$@"
