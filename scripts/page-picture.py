#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page-picture.py REPORT.html OUT.png: the first screen, the regions and the timeline of a page, one above the other.

docs/images/report.png was made with it. pngquant, where it is installed, makes the file a third as large.
"""
import base64
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests/web"))
import browser  # noqa: E402

WIDTH = 1180


def main():
    page, out = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    chromium = browser.Browser()
    try:
        chromium.narrow(WIDTH)
        chromium.open(str(page))
        # what is left out stands in the page, not in the picture
        chromium.run("""document.querySelector('nav').style.position = 'static';
            const keep = ['findings', 'regions', 'timeline'];
            for (const s of document.querySelectorAll('main > section')) if (!keep.includes(s.id)) s.hidden = true;
            for (const d of document.querySelectorAll('details')) d.hidden = true;
            scrollTo(0, 0)""")
        height = chromium.run("window.lpo.strip?.draw(); return document.querySelector('main').getBoundingClientRect().bottom + 12")
        shot = chromium.devtools("Page.captureScreenshot", captureBeyondViewport=True,
                                 clip={"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1})
    finally:
        chromium.close()
    with tempfile.NamedTemporaryFile(suffix=".png") as whole:
        whole.write(base64.b64decode(shot["data"]))
        whole.flush()
        if shutil.which("pngquant"):
            subprocess.run(["pngquant", "--force", "--strip", "--output", out, "64", whole.name], check=True)
        else:
            shutil.copyfile(whole.name, out)


if __name__ == "__main__":
    main()
