#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/sbom.py says: every library of a portable build, the files' sums, the same bytes each time. Prints TAP."""
import hashlib
import json
import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT", os.getcwd()))


def say():
    return subprocess.run([SOURCE / "scripts/sbom.py", "x-1", SOURCE / "LICENSE"], capture_output=True, text=True, check=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}).stdout


text = say()
d = json.loads(text)
names = {p["name"]: p for p in d["packages"]}
linked = re.findall(r"dependency\('([^']+)'[^)]*static: portable", (SOURCE / "meson.build").read_text())
ids = [x["SPDXID"] for x in d["packages"] + d["files"]]
checks = [
    ("every library is there with its version", len(linked) >= 6 and all(re.match(r"\d", names[n]["versionInfo"]) for n in linked)),
    ("licences are named", all(p["licenseDeclared"] not in ("", "NOASSERTION") for p in d["packages"])),
    ("files have their sums", d["files"][0]["checksums"][0]["checksumValue"] == hashlib.sha256((SOURCE / "LICENSE").read_bytes()).hexdigest()),
    ("relationships end somewhere", all(r["relatedSpdxElement"] in ids for r in d["relationships"]) and len(set(ids)) == len(ids)),
    ("the time is what was given", d["creationInfo"]["created"] == "2023-11-14T22:13:20Z"),
    ("the same bytes again", say() == text),
]
print(f"1..{len(checks)}")
for i, (what, holds) in enumerate(checks, 1):
    print(f"{'ok' if holds else 'not ok'} {i} - {what}")
