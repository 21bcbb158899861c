#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layout of each view of report.html against what was looked at and found right, at four widths. Prints TAP.

`test_layout.py --update FOLDER` stores what the page looks like now in tests/web/reference/, and pictures of every view,
light and dark, in FOLDER: look at these, then commit. Two things are compared, both wide enough for another Chromium or
another font, as tests below show:

  boxes     x and width of every part of the page within 3 % of the window (16 px at least; tables and what stands in
            rows of words within 30 % of their width), height within half of it (48 px at least). A part may not be gone; a new
            chapter is no broken layout
  pictures  what is seen as 16 x 12 greys: their mean difference at most 6 of 255, and the largest at most 60
"""
import json
import os
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/web")]
import browser  # noqa: E402
import picture  # noqa: E402
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402

REFERENCE = ROOT / "tests/web/reference"
WIDTHS = (380, 800, 1400, 2200)
COLUMNS, ROWS = 16, 12
LOOSE = ("header h1", "nav .end", "table[id]", ".beside")  # as wide as their words

# Every part that is seen, by a name that stays: its id, or its place among those of its kind.
BOXES = """
const out = {}, kinds = ['header', 'header h1', 'nav', 'nav .end', 'main', '.view > section', '.view > section > h2', '.verdict', '.ladder', '.rung', '.flame', '.flame canvas', '.wallrow', '.wallrow .wall', 'ol.findings > li',
  '.icicle', '.icicle button', '.detail', '.strip', '.strip canvas', '.charts', '.chart', '.chart svg', '.tools', 'table[id]', '.beside', '.members', 'figure svg'];
for (const kind of kinds) {
  let n = 0;
  for (const e of document.querySelectorAll(kind)) {
    const r = e.getBoundingClientRect();
    if (!r.width || !r.height || !e.checkVisibility() || n++ >= 12) continue;
    out[kind + ' ' + (e.id || (kind.endsWith('h2') ? e.parentElement.id : n))] = [Math.round(r.left + scrollX), Math.round(r.width), Math.round(r.height)];
  }
}
return out;
"""

# Chapters that lie over each other, and words that are cut off.
SPOILT = """
const out = [], sections = [...document.querySelectorAll('.view > section')].filter(s => s.checkVisibility()).map(s => [s.id, s.getBoundingClientRect()]);
sections.forEach(([id, r], i) => { if (i && r.top < sections[i - 1][1].bottom - 1) out.push(`${id} lies over ${sections[i - 1][0]}`); });
for (const e of document.querySelectorAll('button.plain, nav a, .fact, .verdict, th, td, caption, summary, .key'))
  if (e.checkVisibility() && getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1) out.push('cut off: ' + e.outerHTML.slice(0, 80));
return out.slice(0, 10);
"""


def differences(wanted: dict, found: dict, window: int) -> list[str]:
    """What of two sets of boxes is not the same layout."""
    out = [f"{name} is gone" for name in wanted if name not in found]
    for name, (x, width, height) in wanted.items():
        if name not in found:
            continue
        loose = name.rpartition(" ")[0] in LOOSE
        near = max(16, 0.03 * window, 0.3 * width if loose else 0)
        for what, a, b, most in (("x", x, found[name][0], max(near, 0.3 * x) if loose else near), ("width", width, found[name][1], near),
                                 ("height", height, found[name][2], max(48, 0.5 * height))):
            if abs(a - b) > most:
                out.append(f"{name}: {what} {b} instead of {a}")
    return out


def compare(wanted: list[int], found: list[int]) -> tuple[float, float]:
    """The mean and the largest difference of two pictures, of 255."""
    away = [abs(a - b) for a, b in zip(wanted, found)]
    return sum(away) / len(away), max(away)


def several_ranks(folder: pathlib.Path) -> list[str]:
    """Four ranks with steps, layers, memory and collectives, of which the last computes longer: every view has something."""
    files = []
    for rank in range(4):
        events, n = [], 0

        def launch(name, ts, dur, **args):
            nonlocal n
            n += 1
            events.extend([{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9 + rank, "tid": 1, "ts": ts, "dur": 5, "args": {"correlation": n}},
                           {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts + 10, "dur": dur,
                            "args": {"device": 0, "stream": 7, "correlation": n, "grid": [8, 1, 1], "block": [128, 1, 1], **args}}])

        for step in range(12):
            at = 10000 * step
            events.append({"ph": "X", "cat": "user_annotation", "name": f"step{step}", "pid": 9 + rank, "tid": 1, "ts": at, "dur": 9900})
            for layer in range(4):
                events.append({"ph": "X", "cat": "user_annotation", "name": f"layer{layer}", "pid": 9 + rank, "tid": 1, "ts": at + 2000 * layer, "dur": 1900})
                launch("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at + 2000 * layer + 10, 900 + 600 * (rank == 3))
                launch("void vectorized_elementwise_kernel<4, add>(int)", at + 2000 * layer + 1600, 100)
                events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9 + rank, "tid": 1, "ts": at + 2000 * layer,
                               "args": {"Bytes": 8, "Device Type": 1, "Device Id": 0, "Total Allocated": (8 + layer + rank) << 28, "Total Reserved": 16 << 28}})
            launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 8000, 1500 - 300 * (rank == 3),
                   **{"Collective name": "allreduce", "In msg nelems": 1 << 22, "Out msg nelems": 1 << 22, "Group size": 4, "dtype": "BFloat16"})
        path = folder / f"rank{rank}.json"
        path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "distributedInfo": {"rank": rank, "world_size": 4},
                                    "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132, "totalGlobalMem": 150 << 30}], "traceEvents": events}))
        files.append(str(path))
    return files


PAGES = {"ranges": lambda folder: [str(ROOT / "tests/data/nsys/h200_ranges.sqlite.gz")], "ranks": several_ranks}


class Layout(LpoCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def make(self, name):
        done = self.lpo("report", *PAGES[name](pathlib.Path(self.cwd)), "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        return str(pathlib.Path(self.cwd) / "out/report.html")

    def open(self, page, width, style=""):
        self.browser.narrow(width, 900)
        self.browser.open(page)
        if style:
            self.browser.run("document.head.append(Object.assign(document.createElement('style'), {textContent: arguments[0]})); window.dispatchEvent(new Event('resize'))", style)
        return self.browser.run("return [...document.querySelectorAll('.view')].map(v => v.dataset.view)")

    def seen(self, view):
        """Boxes, greys and the picture of a view."""
        self.browser.run("location.hash = '#' + arguments[0]", view)
        self.browser.wait(f"!document.getElementById('view-{view}').hidden")
        # what is drawn when its box is known comes with a frame or two
        self.browser.run_async("const done = arguments[arguments.length - 1]; requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
        self.browser.run("scrollTo({ top: 0, behavior: 'instant' })")
        shot = self.browser.picture()
        return self.browser.run(BOXES), [round(g) for g in picture.greys(shot, COLUMNS, ROWS)], shot

    def wanted(self, name, width):
        """Per view: boxes and greys."""
        return json.loads((REFERENCE / f"{name}.json").read_text())[str(width)]

    def check(self, name, page, width, style=""):
        wanted = self.wanted(name, width)
        self.assertEqual([v for v in wanted if v not in self.open(page, width, style)], [], "views are gone")
        for view, (boxes, greys) in wanted.items():
            with self.subTest(f"{name}, {view} at {width} {style}"):
                found, shot, _ = self.seen(view)
                self.assertEqual(differences(boxes, found, width), [])
                if not style:
                    self.assertEqual(self.browser.run(SPOILT), [])
                mean, most = compare(greys, shot)
                self.assertLessEqual(mean, 6)
                self.assertLessEqual(most, 60)

    def test_the_page_is_laid_out_as_it_was(self):
        for name in PAGES:
            page = self.make(name)
            for width in WIDTHS:
                self.check(name, page, width)
            shutil.rmtree(pathlib.Path(self.cwd) / "out")

    def test_another_font_is_the_same_layout(self):
        page = self.make("ranks")
        for style in ("body { font-size: 15.6px; letter-spacing: 0.1px }", "body { font-size: 14.4px }"):
            self.check("ranks", page, 1400, style)

    def test_a_broken_layout_is_seen(self):
        page = self.make("ranks")
        for view, style in (("overview", "main { max-width: 700px }"), ("overview", ".wallrow { display: block }"), ("flame", ".icicle button { width: 90px !important }"),
                            ("timeline", ".strip canvas { width: 50% }"), ("memory", ".charts { grid-template-columns: 100px }"), ("overview", "nav { display: none }"),
                            ("ranks", ".beside { display: none }"), ("overview", ".verdict { font-size: 44px }"), ("flame", "#regions { display: none }"), ("overview", ".ladder { display: none }")):
            self.open(page, 1400, style)
            self.assertNotEqual(differences(self.wanted("ranks", 1400)[view][0], self.seen(view)[0], 1400), [], style)

    def test_a_broken_picture_is_seen(self):
        page = self.make("ranks")
        for style in (".wall { visibility: hidden }", "body { color: transparent }", ":root { --bg: #0d1117; --fg: #e6edf3 }"):
            self.open(page, 800, style)
            mean, most = compare(self.wanted("ranks", 800)["overview"][1], self.seen("overview")[1])
            self.assertTrue(mean > 6 or most > 60, (style, mean, most))

    def update(self, folder):
        REFERENCE.mkdir(exist_ok=True)
        pictures = pathlib.Path(folder)
        pictures.mkdir(parents=True, exist_ok=True)
        for name in PAGES:
            page, stored = self.make(name), {}
            for width in WIDTHS:
                stored[str(width)] = {}
                for view in self.open(page, width):
                    boxes, greys, shot = self.seen(view)
                    stored[str(width)][view] = [boxes, greys]
                    (pictures / f"{name}-{view}-{width}-light.png").write_bytes(shot)
                    self.browser.keys("d")
                    (pictures / f"{name}-{view}-{width}-dark.png").write_bytes(self.seen(view)[2])
                    self.browser.keys("d")
            lines = [f'  "{w}": {{\n' + ",\n".join(f"    {json.dumps(view)}: {json.dumps(v)}" for view, v in views.items()) + "\n  }" for w, views in stored.items()]
            (REFERENCE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
            shutil.rmtree(pathlib.Path(self.cwd) / "out")


if __name__ == "__main__":
    reason = browser.missing()
    if reason:
        tap.skip_all(reason)
    if sys.argv[1:2] == ["--update"]:
        Layout.setUpClass()
        case = Layout()
        case.setUp()
        case.update(sys.argv[2])
        case.tearDown()
        Layout.tearDownClass()
    else:
        tap.main()
