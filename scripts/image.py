#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An OCI image of lpo, written as files: no docker, no registry, no root.

    image.py [--tree DIR] [--out DIR]

--tree is an installation (bin/, lib/, share/); without it `scripts/dist.sh` makes one. The image holds that tree below
/opt/llm-perf-opt, the libraries that its programs need, and copy-into (packaging/image). The same input gives the same bytes.
Prints the folder of the layout; beside it lies the same as a tar, which `podman load` and `docker load` read."""
from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PREFIX = "opt/llm-perf-opt"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
LINKS = {"usr/bin/lpo": f"/{PREFIX}/bin/lpo"}
FOLDERS = {"tmp": 0o1777, "root": 0o700, "work": 0o755}


def say(*words: str, **more) -> str:
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **more).stdout.strip()


def commit_time() -> int:
    try:
        return int(os.environ.get("SOURCE_DATE_EPOCH") or say("git", "-C", str(ROOT), "log", "-1", "--format=%ct", stderr=subprocess.DEVNULL))
    except (subprocess.CalledProcessError, ValueError, OSError):
        return 0


def version() -> str:
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8")).group(1)


def dist_tree(scratch: pathlib.Path) -> pathlib.Path:
    """The tree of the portable tarball."""
    tarball = say(str(ROOT / "scripts" / "dist.sh"), str(scratch / "dist"), "tarball").splitlines()[-1]
    with tarfile.open(tarball) as tar:
        tar.extractall(scratch, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(scratch)
    return next(p for p in scratch.iterdir() if p.name.startswith("llm-perf-opt-"))


def is_elf(path: pathlib.Path) -> bool:
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def libraries(tree: pathlib.Path) -> dict[str, pathlib.Path]:
    """Where each library that a program or a library of the tree needs lies on this machine, by the path it will have."""
    out: dict[str, pathlib.Path] = {}
    for path in sorted(p for p in tree.rglob("*") if p.is_file() and not p.is_symlink() and is_elf(p)):
        done = subprocess.run(["ldd", str(path)], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in done.stdout.splitlines():
            if "not found" in line:
                sys.exit(f"image: {path.relative_to(tree)} needs {line.split()[0]}, which is not on this machine")
            found = re.search(r"(/\S+) \(0x", line)
            if found and not found.group(1).startswith(str(tree)):
                out[found.group(1).lstrip("/")] = pathlib.Path(found.group(1)).resolve()
    return out


class Layer:
    """One tar: entries in order of their names, owned by root, all of one time."""

    def __init__(self, when: int) -> None:
        self.when = when
        self.entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}

    def add(self, name: str, kind: bytes, mode: int, data: bytes = b"", link: str = "") -> None:
        parent = os.path.dirname(name)
        if parent and parent not in self.entries:
            self.add(parent, tarfile.DIRTYPE, 0o755)
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.mtime, info.size, info.linkname = kind, mode, self.when, len(data), link
        info.uname = info.gname = ""
        self.entries[name] = info, data

    def add_tree(self, tree: pathlib.Path, prefix: str) -> None:
        for path in sorted(tree.rglob("*")):
            name = f"{prefix}/{path.relative_to(tree)}"
            if path.is_symlink():
                self.add(name, tarfile.SYMTYPE, 0o777, link=os.readlink(path))
            elif path.is_dir():
                self.add(name, tarfile.DIRTYPE, 0o755)
            else:
                self.add(name, tarfile.REGTYPE, 0o755 if os.access(path, os.X_OK) else 0o644, path.read_bytes())

    def bytes(self) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in sorted(self.entries):
                info, data = self.entries[name]
                tar.addfile(info, io.BytesIO(data))
        return out.getvalue()


def fill(layer: Layer, tree: pathlib.Path, scratch: pathlib.Path) -> None:
    copier = scratch / "copy-into"
    say("cc", "-O2", "-static", "-s", "-D_GNU_SOURCE", "-o", str(copier), str(ROOT / "packaging" / "image" / "copy_into.c"))
    layer.add_tree(tree, PREFIX)
    layer.add("usr/bin/copy-into", tarfile.REGTYPE, 0o755, copier.read_bytes())
    for name, path in libraries(tree).items():
        layer.add(name, tarfile.REGTYPE, 0o755, path.read_bytes())
    for name, text in FILES.items():
        layer.add(name, tarfile.REGTYPE, 0o644, text.encode())
    for name, target in LINKS.items():
        layer.add(name, tarfile.SYMTYPE, 0o777, link=target)
    for name, mode in FOLDERS.items():
        layer.add(name, tarfile.DIRTYPE, mode)


class Layout:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}', encoding="utf-8")

    def blob(self, kind: str, data: bytes) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs" / "sha256" / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def json(self, kind: str, value: dict) -> dict:
        return self.blob(kind, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


def write_image(folder: pathlib.Path, layer: bytes, when: int) -> None:
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    labels = {"org.opencontainers.image.title": "llm-perf-opt", "org.opencontainers.image.version": version(),
              "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.created": created}
    layout = Layout(folder)
    config = {"architecture": MACHINES.get(platform.machine(), platform.machine()), "os": "linux", "created": created,
              "config": {"Entrypoint": ["/usr/bin/lpo"], "Cmd": ["-h"], "Env": ["PATH=/usr/bin:/bin"], "WorkingDir": "/work", "Labels": labels},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
              "history": [{"created": created, "created_by": "scripts/image.py"}]}
    manifest = layout.json("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": layout.json("config.v1+json", config),
        "layers": [layout.blob("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))], "annotations": labels})
    platform_of = {"architecture": config["architecture"], "os": "linux"}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [manifest | {"platform": platform_of, "annotations": {"org.opencontainers.image.ref.name": version()}}]}
    (folder / "index.json").write_text(json.dumps(index, separators=(",", ":"), sort_keys=True), encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description="An OCI image of lpo as files.")
    options.add_argument("--tree", type=pathlib.Path, help="an installation: bin/, lib/, share/ (default: that of make dist)")
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "dist", help="where to leave it (dist/)")
    given = options.parse_args()
    when = commit_time()
    folder = given.out.resolve() / f"llm-perf-opt-{version()}-oci"
    if folder.exists():
        sys.exit(f"image: {folder} is there already")
    with tempfile.TemporaryDirectory(prefix="lpo-image-") as scratch:
        layer = Layer(when)
        fill(layer, given.tree or dist_tree(pathlib.Path(scratch)), pathlib.Path(scratch))
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_image(folder, layer.bytes(), when)
    archive = Layer(when)
    archive.add_tree(folder, ".")
    folder.with_suffix(folder.suffix + ".tar").write_bytes(archive.bytes())
    print(os.path.relpath(folder) if folder.is_relative_to(os.getcwd()) else folder)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as e:  # it has said why
        sys.exit(f"image: {e.cmd[0]} failed")
