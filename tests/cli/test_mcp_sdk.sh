#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lpo mcp with the protocol's own SDK, from npm (tests/cli/mcp_client). Prints TAP; skipped where npm has no network.
set -uo pipefail
root=${LPO_SOURCE_ROOT:-$(dirname "$0")/../..}
command -v npm >/dev/null || { echo "1..0 # SKIP no npm"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$root"/tests/cli/mcp_client/* "$work/"
(cd "$work" && npm install --no-audit --no-fund >npm.log 2>&1) || { echo "1..0 # SKIP npm cannot install the SDK"; exit 0; }
mkdir "$work/traces"
cp "$root/tests/data/kineto/h200_llama8.json.gz" "$work/traces/"
mkfifo "$work/traces/slow.json"
timeout 120 node "$work/client.mjs" "$LPO_BIN" "$work/traces" h200_llama8.json.gz
