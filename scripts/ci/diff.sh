#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The comparison of action.yml. BEFORE (or BASELINE) and AFTER are paths, one a line; PROGRAM is profiled REPEATS times
# and judged beside them; FAIL_OVER, ARGUMENTS, LPO, OUT.
# Leaves diff.md, comment.md, diff.json and checks.xml in $OUT, the text in $GITHUB_STEP_SUMMARY and `code` and `regression` in
# $GITHUB_OUTPUT; exits 0, so that the comment is made, too, where there is a regression.
set -uo pipefail
PROGRAM=${PROGRAM:-}
out=${OUT:-lpo-diff}
mkdir -p "$out" || exit 1
mapfile -t before < <(sed '/^[[:space:]]*$/d' <<<"${BEFORE:-}")
mapfile -t after < <(sed '/^[[:space:]]*$/d' <<<"${AFTER:-}")
for ((i = 1; i <= (${#PROGRAM} ? ${REPEATS:-3} : 0); i++)); do
    "${LPO:-lpo}" run -q -o "$out/run-$i" -- bash -c "$PROGRAM" || exit 1
    after+=("$out/run-$i")
done
read -ra words <<<"${ARGUMENTS:-}"
[ -z "${FAIL_OVER:-}" ] || words+=(--fail-over "$FAIL_OVER")
if [ -n "${BASELINE:-}" ]; then sides=(--baseline "$BASELINE" "${after[@]}"); else sides=("${before[@]}" -- "${after[@]}"); fi
"${LPO:-lpo}" diff "${words[@]}" -o "$out/diff.md" -o "$out/comment.md" -o "$out/diff.json" -o "$out/checks.xml" "${sides[@]}"
code=$?
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || [ ! -f "$out/comment.md" ] || cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
regression=false
[ $code -ne 4 ] || regression=true
printf 'code=%d\nregression=%s\n' $code $regression >>"${GITHUB_OUTPUT:-/dev/stdout}"
