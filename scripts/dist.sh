#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tarball that runs on x86-64 Linux with glibc 2.28 or newer: our libraries are linked statically, and
# no binary needs a newer symbol of glibc (packaging/glibc_floor.c). Prints the path of the tarball.
#     dist.sh [FOLDER]     where to leave it (dist/), with what it is made of (SPDX) and SHA256SUMS
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-dist}")
floor=2.28
build=build-portable
[ -f $build/build.ninja ] || meson setup $build -Dportable=true -Dtests=false -Dbuildtype=release --strip \
    --prefix=/usr --libdir=lib >/dev/null || { cat $build/meson-logs/meson-log.txt; exit 1; }
ninja -C $build >$build/ninja.log 2>&1 || { tail -40 $build/ninja.log; exit 1; }
version=$(meson introspect $build --projectinfo | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
name=llm-perf-opt-$version-linux-$(uname -m)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage meson install -C $build --no-rebuild >$build/install.log
mv "$stage/usr" "$stage/$name"
cp LICENSE README.md CHANGELOG.md "$stage/$name/"

# Every binary: nothing but parts of glibc, and no symbol above the floor.
bad=0
while IFS= read -r file; do
    newer=$(objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -uV |
        awk -v floor="$floor" -F_ '{ split($2, v, "."); split(floor, f, "."); if (v[1] > f[1] || v[2] > f[2]) print }')
    foreign=$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-x86-64\.so\.2)$' || true)
    if [ -n "$newer$foreign" ]; then
        echo "dist: ${file#"$stage/"} does not run on glibc $floor: it needs" $newer $foreign >&2
        bad=1
    fi
done < <(find "$stage" -type f -exec sh -c 'head -c4 "$1" | grep -q ELF && echo "$1"' sh {} \;)
[ $bad -eq 0 ] || exit 1

mkdir -p "$out"
# The same input gives the same bytes: fixed order, owner and time.
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" -C "$stage" -cf - "$name" | gzip -n >"$out/$name.tar.gz"
SOURCE_DATE_EPOCH=$time scripts/sbom.py "$name" "$out/$name.tar.gz" >"$out/$name.spdx.json"
(cd "$out" && sha256sum "$name.tar.gz" "$name.spdx.json" >SHA256SUMS)
echo "$out/$name.tar.gz"
