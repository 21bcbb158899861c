#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# copy-into FROM TO: what copy_into.c does in the image without a shell.
set -eu
[ $# -eq 2 ] || { echo "usage: copy-into FROM TO" >&2; exit 2; }
mkdir -p "$2"
exec cp -a "$1/." "$2/"
