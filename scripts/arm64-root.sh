#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# arm64-root.sh [FOLDER]: Debian's arm64 libraries that `make dist` links, unpacked below FOLDER (build-arm64).
# Nothing is installed: apt has a state of its own there, so that this machine stays without a foreign architecture.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$(realpath -m "${1:-build-arm64}")
state=$root/apt
command -v apt-get dpkg-deb >/dev/null || { echo "arm64-root: needs apt-get and dpkg-deb" >&2; exit 3; }
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/debs"
: >"$state/status"
own=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$state" -o "Dir::State::status=$state/status"
    -o "Dir::Cache=$state" -o Acquire::Languages=none -o APT::Sandbox::User=root)
if ! { apt-get "${own[@]}" update && cd "$state/debs" && apt-get "${own[@]}" download \
    libyaml-dev libpcre2-dev libsqlite3-dev zlib1g-dev libzstd-dev liblz4-dev; } >"$state/log" 2>&1; then
    tail -20 "$state/log" >&2
    echo "arm64-root: the libraries cannot be downloaded; the last lines of apt are above" >&2
    exit 3
fi
for deb in *.deb; do dpkg-deb -x "$deb" "$root"; done
rm -rf "$state"
echo "$root"
