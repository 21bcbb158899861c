#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What lpo export writes, opened by the real viewer: speedscope from npm, in a browser. Its sums are those of the report. Prints TAP."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/web")]
import browser  # noqa: E402
import tap  # noqa: E402
from page_case import PageCase  # noqa: E402

TRACE = ROOT / "tests/data/kineto/h200_llama8.json.gz"
SCALE = {"ns": 1, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}


def fetch_speedscope(folder):
    """The folder of speedscope's page, or None where npm is not there or reaches nothing."""
    try:
        subprocess.run(["npm", "pack", "--silent", "speedscope@1"], cwd=folder, check=True, capture_output=True, timeout=60)
        with tarfile.open(next(pathlib.Path(folder).glob("speedscope-*.tgz"))) as tar:
            tar.extractall(folder)
        return pathlib.Path(folder) / "package/dist/release"
    except (OSError, subprocess.SubprocessError, StopIteration, tarfile.TarError):
        return None


class Viewers(PageCase):
    def test_speedscope(self):
        page = fetch_speedscope(self.cwd)
        if not page:
            self.skipTest("npm cannot fetch speedscope here")
        total = json.loads(self.lpo("sql", str(TRACE), "select sum(gpu_ns) as ns from gpu_ops", "--json").stdout)[0]["ns"]
        for weight in ("gpu", "exposed", "host"):
            path = pathlib.Path(self.cwd) / f"{weight}.speedscope.json"
            done = self.lpo("export", str(TRACE), "-o", str(path), "--weight", weight)
            self.assertEqual(done.returncode, 0, done.stderr)
            given = json.loads(path.read_text())
            script = pathlib.Path(self.cwd) / f"{weight}.js"  # as speedscope's own command hands a file to its page
            script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(base64.b64encode(path.read_bytes()).decode())})")
            self.browser.do("POST", "/url", {"url": "about:blank"})
            self.browser.open(f"{page}/index.html#localProfilePath={script}", ready=False)
            self.browser.wait(f"document.title.startsWith('{path.name}') && document.body.innerText.includes('{weight} (')")
            self.browser.keys("3")  # the sandwich: a table
            self.browser.wait("document.body.innerText.includes('Symbol Name')")
            rows = self.browser.run("return [...document.querySelectorAll('tr')].map(r => [...r.cells].map(c => c.innerText.trim())).filter(r => r.length === 3).slice(0, 12)")
            own = {}
            profile = given["profiles"][given["activeProfileIndex"]]
            for stack, value in zip(profile["samples"], profile["weights"]):
                own[stack[-1]] = own.get(stack[-1], 0) + value
            names = [f["name"] for f in given["shared"]["frames"]]
            largest = sorted(own.values(), reverse=True)
            shown = [r for r in rows if re.match(r"[\d.]+", r[1])]
            self.assertGreater(len(shown), 3, rows)
            for r, want in zip(shown, largest):
                number, unit = re.match(r"([\d.]+)(\D+?) \(", r[1]).groups()
                self.assertAlmostEqual(float(number) * SCALE[unit], want, delta=0.01 * want, msg=weight)
                self.assertIn(r[2], names)
            if weight == "gpu":
                self.assertEqual(profile["endValue"], total)


if __name__ == "__main__":
    reason = browser.missing()
    if reason:
        tap.skip_all(reason)
    tap.main()
