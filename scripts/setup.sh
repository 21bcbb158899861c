#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [--check] [LIST]: installs the Debian packages of a list in this folder (packages.txt) that
# are missing. Prints and does nothing when all are there. With sudo where we are not root.
# --check installs nothing: it says what is missing, and fails where the build needs it.
set -euo pipefail
cd "$(dirname "$0")"
check=
if [ "${1:-}" = --check ]; then check=yes && shift; fi
# Elsewhere Meson says what it does not find.
if [ -n "$check" ] && ! command -v dpkg-query >/dev/null; then exit 0; fi

missing=() optional=()
while read -r name why; do
    case "$name" in '' | '#'*) continue ;; esac
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' && continue
    case "$check$why" in
        yes*optional:*) optional+=("$name (${why#*optional: })") ;;
        *) missing+=("$name") ;;
    esac
done < "${1:-packages.txt}"
[ ${#optional[@]} -eq 0 ] || printf 'not here, so left out: %s\n' "${optional[@]}" >&2
[ ${#missing[@]} -eq 0 ] && exit 0
if [ -n "$check" ]; then
    echo "missing: ${missing[*]}" >&2
    echo "\`make deps\` installs them" >&2
    exit 3
fi

if ! command -v apt-get >/dev/null; then
    echo "setup: these packages are needed and there is no apt-get to install them: ${missing[*]}" >&2
    exit 3
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: not root and no sudo; please install: ${missing[*]}" >&2; exit 3; }
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -20 "$log" >&2
    echo "setup: the installation failed; its last lines are above" >&2
    exit 3
fi
