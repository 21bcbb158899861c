#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py [--libc CC] NAME FILE…: what NAME is made of, as SPDX 2.3 (JSON) on stdout.

The libraries of meson.build that a portable build has inside, with their versions (pkg-config), and FILEs with their
SHA-256; --libc: the glibc of the compiler CC, too. Same input, same bytes: the time is SOURCE_DATE_EPOCH, else that of the commit."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENSES = {"yaml-0.1": "MIT", "libpcre2-8": "BSD-3-Clause", "zlib": "Zlib", "libzstd": "BSD-3-Clause",
            "liblz4": "BSD-2-Clause", "libisal": "BSD-3-Clause", "sqlite3": "blessing"}


def say(*words, given=""):
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False, input=given)
    return done.stdout.strip() if done.returncode == 0 else ""


def package(name, version, license_):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version or "NOASSERTION",
            "downloadLocation": "NOASSERTION", "licenseConcluded": license_, "licenseDeclared": license_,
            "copyrightText": "NOASSERTION", "filesAnalyzed": False}


def glibc(compiler):
    macros = dict(re.findall(r"#define (__GLIBC\w*) (\d+)", say(compiler, "-E", "-dM", "-", given="#include <features.h>")))
    return package("glibc", f"{macros['__GLIBC__']}.{macros['__GLIBC_MINOR__']}", "LGPL-2.1-or-later")


def main():
    words = sys.argv[1:]
    compiler = words[1] if words[0] == "--libc" else ""
    name, *files = words[2:] if compiler else words
    build = (ROOT / "meson.build").read_text()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or say("git", "log", "-1", "--format=%ct") or 0)
    own = package("llm-perf-opt", re.search(r"version: '([^']+)'", build)[1], "Apache-2.0")
    inside = [package(lib, say("pkg-config", "--modversion", lib), LICENSES[lib])
              for lib in re.findall(r"dependency\('([^']+)'[^)]*static: portable", build)]
    inside += [glibc(compiler)] if compiler else []
    parts = [{"SPDXID": f"SPDXRef-File-{i}", "fileName": "./" + os.path.basename(path), "licenseConcluded": "Apache-2.0",
              "copyrightText": "NOASSERTION", "checksums": [{"algorithm": "SHA256", "checksumValue":
                                                             hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()}]}
             for i, path in enumerate(files)]
    about = own["SPDXID"]
    links = [("SPDXRef-DOCUMENT", "DESCRIBES", about)] + [(about, "STATIC_LINK", p["SPDXID"]) for p in inside]
    links += [(about, "CONTAINS", p["SPDXID"]) for p in parts]
    mark = hashlib.sha256(json.dumps([own, inside, parts], sort_keys=True).encode()).hexdigest()[:32]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{mark}",
        "creationInfo": {"created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: llm-perf-opt scripts/sbom.py"]},
        "packages": [own] + inside, "files": parts,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in links],
    }, sys.stdout, indent=1, sort_keys=True)
    print()


main()
