#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh DEMO.tgz: makes demo/demo.tar.zst, what `lpo demo` shows, of the run that tests/gpu/demo.sh recorded. What a
# report is made of stays; reports, nsys' and ncu's own files and names of the machine's folders go.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$1"
run=$work/demo
rm -rf "$run"/{details,figures,report.*,kernels.md,operators.md,stakeholder_summary.md,.lpo-lock,lpo.log} \
    "$run"/ncu/{available_metrics.txt,sections_report.txt,run.ncu-rep,sections.txt} "$run"/torch_profiler/*.md
gunzip -q "$run"/torch_profiler/*.trace.json.gz
tar -C "$run" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - . | zstd -q -19 -f -o demo/demo.tar.zst
ls -l demo/demo.tar.zst
