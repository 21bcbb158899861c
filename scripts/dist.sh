#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes to other machines, in dist/ or FOLDER, each with what it is made of (SPDX), and SHA256SUMS:
#     dist.sh [FOLDER [PART…]]
#   tarball   everything, for x86-64 Linux with glibc 2.28 or newer: our libraries are linked statically, and no
#             binary needs a newer symbol of glibc (packaging/glibc_floor.c)
#   x86_64    one static program that reads traces, for any x86-64 Linux
#   aarch64   the same for any arm64 Linux, by Debian's cross compiler and the arm64 libraries below ARM64_ROOT
#             (build-arm64, by arm64-root.sh); left out where they are not here, unless it is asked for by name
# Prints their paths, the tarball last. The same sources and SOURCE_DATE_EPOCH (else the time of the commit) give the
# same bytes in any folder. BUILDTYPE is Meson's, for tests that cannot wait for an optimizer.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-dist}")
parts=("${@:2}")
floor=2.28
version=$(sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" meson.build | head -1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# compile FOLDER TARGET OPTION…: prints only what went wrong
compile() {
    local build=$1 target=$2
    shift 2
    [ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=false -Dbuildtype="${BUILDTYPE:-release}" --strip \
        --prefix=/usr --libdir=lib "$@" >/dev/null || { cat "$build/meson-logs/meson-log.txt" >&2; exit 1; }
    ninja -C "$build" "$target" >"$build/ninja.log" 2>&1 || { tail -40 "$build/ninja.log" >&2; exit 1; }
}

# Every binary: nothing but parts of glibc, and no symbol above the floor.
check_floor() {
    local bad=0 file newer foreign
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
    return $bad
}

make_tarball() {
    local name=llm-perf-opt-$version-linux-$(uname -m)
    compile build-portable all -Dportable=true
    DESTDIR=$stage meson install -C build-portable --no-rebuild >build-portable/install.log
    mv "$stage/usr" "$stage/$name"
    cp LICENSE README.md CHANGELOG.md "$stage/$name/"
    check_floor || exit 1
    # The same input gives the same bytes: fixed order, owner and time.
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$stage" -cf - "$name" |
        gzip -n >"$out/$name.tar.gz"
    scripts/sbom.py "$name" "$out/$name.tar.gz" >"$out/$name.spdx.json"
    echo "$out/$name.tar.gz"
}

# make_single MACHINE PREFIX OPTION…: PREFIX is of the names of gcc and strip
make_single() {
    local name=lpo-$version-linux-$1 build=build-single-$1 prefix=$2
    compile "$build" lpo -Dsingle=true "${@:3}"
    "${prefix}strip" -o "$out/$name" "$build/lpo"
    if readelf -l "$out/$name" | grep -q INTERP; then echo "dist: $name is not static" >&2 && exit 1; fi
    scripts/sbom.py --libc "${prefix}gcc" "$name" "$out/$name" >"$out/$name.spdx.json"
    echo "$out/$name"
}

make_x86_64() { make_single x86_64 ""; }

make_aarch64() {
    local root libraries
    root=$(realpath -m "${ARM64_ROOT:-build-arm64}")
    libraries=$root/usr/lib/aarch64-linux-gnu/pkgconfig
    if [ $# -gt 0 ] && ! { command -v aarch64-linux-gnu-gcc && [ -f "$libraries/sqlite3.pc" ]; } >/dev/null; then
        echo "not here, so left out: the program for arm64 (\`make deps-arm64\` fetches its compiler and libraries)" >&2
        return
    fi
    PKG_CONFIG_LIBDIR=$libraries PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
        make_single aarch64 aarch64-linux-gnu- --cross-file packaging/arm64.ini \
        "-Dc_link_args=-L$root/usr/lib/aarch64-linux-gnu" # libzstd.pc names the folder above
}

mkdir -p "$out"
if [ ${#parts[@]} -eq 0 ]; then
    make_x86_64
    make_aarch64 optional
    make_tarball
fi
for part in "${parts[@]}"; do "make_$part"; done
(cd "$out" && find . -maxdepth 1 -type f \( -name "lpo-$version-linux-*" -o -name "llm-perf-opt-$version-linux-*" \) -printf '%f\n' |
    LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
