#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Debian package of this tree for this machine's Debian. Prints its path.
#     deb.sh [FOLDER]      where to leave it (dist/)
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-dist}")
build=build-deb
if ! command -v dpkg-shlibdeps >/dev/null; then
    as_root=; [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get install -y --no-install-recommends dpkg-dev >/dev/null
fi
[ -f $build/build.ninja ] || meson setup $build -Dtests=false -Dbuildtype=release --strip --prefix=/usr \
    --libdir=lib >/dev/null || { cat $build/meson-logs/meson-log.txt; exit 1; }
ninja -C $build >$build/ninja.log 2>&1 || { tail -40 $build/ninja.log; exit 1; }
version=$(meson introspect $build --projectinfo | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
arch=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/root
DESTDIR=$root meson install -C $build --no-rebuild >$build/install.log
# Debian looks for zsh's functions of packages here.
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
chmod 644 "$root"/usr/lib/llm-perf-opt/*.so
gzip -9nf "$root"/usr/share/man/man1/*.1
# import lpo, for Debian's python3
mkdir -p "$root/usr/lib/python3/dist-packages"
cp -r python/lpo python/llm_perf_opt "$root/usr/lib/python3/dist-packages/"
find "$root/usr/lib/python3" -name meson.build -delete
doc=$root/usr/share/doc/llm-perf-opt
install -Dm644 packaging/copyright "$doc/copyright"
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
printf 'llm-perf-opt (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the project.\n\n -- %s  %s\n' \
    "$version" "The llm-perf-opt authors <noreply@example.org>" "$date" | gzip -9n >"$doc/changelog.gz"
chmod 644 "$doc/changelog.gz"

# What the binaries are linked with becomes Depends, with the versions that their symbols need.
mkdir -p "$stage/debian" "$root/DEBIAN"
printf 'Source: llm-perf-opt\n\nPackage: llm-perf-opt\nArchitecture: %s\n' "$arch" >"$stage/debian/control"
depends=$(cd "$stage" && find root -type f -exec sh -c 'head -c4 "$1" | grep -q ELF && echo "$1"' sh {} \; |
    xargs dpkg-shlibdeps -O 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
depends="$depends, libsqlite3-0" # loaded when a database is opened: nothing is linked with it
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@DEPENDS@/$depends/" \
    -e "s/@SIZE@/$(du -ks --exclude=DEBIAN "$root" | cut -f1)/" packaging/control >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$root" "$out/llm-perf-opt_${version}_$arch.deb" >/dev/null
echo "$out/llm-perf-opt_${version}_$arch.deb"
