#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html for those who use it: keys, names for what can be used, contrast, focus, links to numbers. Prints TAP."""
import os
import pathlib
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/web"), str(ROOT / "tests/trace"), str(ROOT / "tests/analysis")]
import browser  # noqa: E402
import tap  # noqa: E402
from page_case import PageCase, TRACES  # noqa: E402


# Text whose colour has less than 4.5 of contrast with what is drawn behind it; letters of canvases and pictures are not seen.
CONTRAST = """
const light = (c) => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const numbers = (s) => s.match(/[\\d.]+/g).map(Number);
const ground = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
const wrong = [];
for (const e of document.querySelectorAll('body *')) {
  if (e.closest('svg, script, [hidden], details:not([open]) > :not(summary)') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
  const a = light(numbers(getComputedStyle(e).color).slice(0, 3)), b = light(ground(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) wrong.push([e.outerHTML.slice(0, 120), ratio]);
}
return wrong.slice(0, 10);
"""


def fetch_axe(folder):
    """The script of axe-core, or None where npm is not there or reaches nothing."""
    try:
        subprocess.run(["npm", "pack", "--silent", "axe-core"], cwd=folder, check=True, capture_output=True, timeout=60)
        with tarfile.open(next(pathlib.Path(folder).glob("axe-core-*.tgz"))) as tar:
            return tar.extractfile("package/axe.min.js").read().decode()
    except (OSError, subprocess.SubprocessError, StopIteration, KeyError, tarfile.TarError):
        return None


class Use(PageCase):
    def test_keys_walk_the_regions_and_the_timeline(self):
        page, _ = self.make(TRACES[0])
        self.browser.open(page + "#flame")
        self.browser.run("document.querySelector('.icicle button').focus()")
        first = self.browser.run("return document.activeElement.dataset.row")
        self.browser.keys("\ue014")  # the arrow to the right
        self.assertNotEqual(self.browser.run("return document.activeElement.dataset.row"), first)
        self.browser.run("location.hash = '#timeline'")
        self.browser.run("document.querySelector('.strip canvas[role]').focus()")
        before = self.browser.run("return window.lpo.strip.to - window.lpo.strip.from")
        self.browser.keys("+")
        self.assertEqual(self.browser.run("return window.lpo.strip.to - window.lpo.strip.from"), before / 2)

    def test_everything_that_can_be_used_has_a_name(self):
        page, _ = self.make(TRACES[0])
        self.browser.open(page)
        nameless = self.browser.run("""return [...document.querySelectorAll('button, input, select, canvas:not([aria-hidden]), [role=img], a')]
            .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.labels?.length))
            .map(e => e.outerHTML.slice(0, 100))""")
        self.assertEqual(nameless, [])
        self.assertEqual(self.browser.run("return document.documentElement.lang"), "en")
        levels = self.browser.run("return [...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
        self.assertEqual(levels[0], 1)
        for above, below in zip(levels, levels[1:]):
            self.assertLessEqual(below - above, 1, levels)

    def test_text_stands_out_from_its_ground(self):
        page, _ = self.families()
        for dark in (False, True):
            self.browser.open(page)
            if dark:
                self.browser.keys("d")
            for view in self.browser.run("return [...document.querySelectorAll('nav a.to')].map(a => a.dataset.view)"):
                self.browser.run("location.hash = '#' + arguments[0]", view)
                self.browser.wait(f"!document.getElementById('view-{view}').hidden")
                self.assertEqual(self.browser.run(CONTRAST), [], f"{view} {'dark' if dark else 'light'}")
            if dark:
                self.browser.keys("d")

    def test_the_focus_is_seen(self):
        page, _ = self.make(TRACES[0])
        self.browser.open(page)
        stops = set()
        for _ in range(60):
            self.browser.keys("\ue004")  # Tab
            at = self.browser.run("""const e = document.activeElement, s = getComputedStyle(e);
                return [e.tagName + '.' + e.className + ' ' + (e.textContent || e.getAttribute('aria-label') || '').slice(0, 30), s.outlineStyle, parseFloat(s.outlineWidth)]""")
            if at[0].startswith("BODY"):
                continue
            stops.add(at[0])
            self.assertTrue(at[1] != "none" and at[2] > 0, at)
        self.assertGreater(len(stops), 20)

    def test_axe_finds_nothing(self):
        axe = fetch_axe(self.cwd)
        if not axe:
            self.skipTest("npm cannot fetch axe-core here")
        pages = [self.families()[0], self.make(TRACES[1])[0]]
        for page in pages:
            self.browser.open(page)
            self.browser.run(axe)
            for view in self.browser.run("return [...document.querySelectorAll('nav a.to')].map(a => a.dataset.view)"):
                self.browser.run("location.hash = '#' + arguments[0]", view)
                found = self.browser.run_async("""const done = arguments[arguments.length - 1];
                    axe.run(document).then(r => done(r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)])), e => done(String(e)))""")
                self.assertEqual(found, [], view)

    def test_the_timeline_is_walked_by_keys(self):
        page, _ = self.families()
        self.browser.open(page + "#timeline")
        self.browser.run("document.querySelector('.strip canvas[role]').focus()")
        said = []
        for key in "nnp":
            self.browser.keys(key)
            said.append(self.browser.run("return document.querySelector('.strip + .detail').textContent"))
        self.assertNotEqual(said[0], said[1])
        self.assertEqual(said[0], said[2])
        self.assertIn("step0/layer0", said[0])
        self.browser.keys("\ue007")  # Enter
        self.browser.wait("document.querySelector('#regions .detail h3')?.textContent == 'step*/layer*'")

    def test_a_number_has_an_address(self):
        page, _ = self.make(TRACES[0])
        self.browser.open(page + "#table-all-kernels/1/gpu_ns")
        self.assertEqual(self.browser.run("return document.querySelector('.here')?.id"), "table-all-kernels/1/gpu_ns")

    def test_numbers_of_panels_have_addresses_too(self):
        """Of a region, a kernel, an operation and a chart: the link of each number leads back to it."""
        page, _ = self.families()
        self.browser.open(page)
        panels = {"region": "window.lpo.icicle.open(window.lpo.trees.folded[1])", "kernel": "document.querySelector('#table-all-kernels button.link').click()",
                  "operation": "window.lpo.strip.walk(1); window.lpo.strip.walk(1)"}
        links = []
        for name, show in panels.items():
            self.browser.run(show)
            found = self.browser.run("""return [...document.querySelectorAll('[data-address]')].filter(p => p.dataset.address.startsWith(arguments[0]))
                .flatMap(p => [...p.querySelectorAll('[data-v]')]).map(c => [window.lpo.addressOf(c), c.dataset.v])""", name)
            self.assertGreater(len(found), 1, name)
            self.assertEqual(len({a for a, _ in found}), len(found), found)
            links += found
        for address, value in links:
            self.browser.do("POST", "/url", {"url": "about:blank"})  # else only the fragment changes
            self.browser.open(page + "#" + address)
            self.assertEqual(self.browser.run("return document.querySelector('.here')?.dataset.v ?? null"), value, address)
            self.assertEqual(self.browser.errors(), [])

    def test_every_number_has_an_address(self):
        for make in (self.ranks, self.families, lambda: self.make(TRACES[0])):
            page, _ = make()
            self.browser.open(page)
            self.assertEqual(self.browser.run("""return [...document.querySelectorAll('[data-v]')].filter(c => !c.closest('.tip, [hidden]') && !window.lpo.addressOf(c)).map(c => c.outerHTML.slice(0, 100))"""), [])
            # a cell that reads as a number with a unit can be copied
            self.assertEqual(self.browser.run("""return [...document.querySelectorAll('main td:not([data-v])')].filter(c => /^[<~]?[\\d.,]+\\u00a0(ns|us|ms|s|%|B|KiB|MiB|GiB)$/.test(c.textContent)).map(c => c.outerHTML.slice(0, 100))"""), [])

    def test_numbers_are_copied_by_keyboard(self):
        page, report = self.families()
        self.browser.open(page + "#kernels")
        said = "return document.querySelector('.said')?.textContent"
        self.browser.run("document.querySelector('#table-all-kernels').closest('.scroll').focus()")
        for _ in range(2):
            self.browser.keys("\ue014")  # the arrow to the right
        self.browser.keys("\ue007")  # Enter
        self.browser.wait("document.querySelector('.said')?.textContent.startsWith('copied')")
        self.assertEqual(self.browser.run(said), f"copied: {report['kernels'][0]['gpu_ns']}")
        self.browser.keys("\ue015l")  # the arrow down, then the link
        self.browser.wait("document.querySelector('.said')?.textContent.includes('#')")
        self.assertTrue(self.browser.run("return location.hash").startswith("#table-all-kernels/2/gpu_ns"))
        self.browser.run("location.hash = '#overview'")
        self.browser.run("document.querySelector('.wall [data-v]').focus()")
        self.browser.keys("\ue007")
        self.browser.wait(f"document.querySelector('.said')?.textContent === 'copied: {report['wall'][0]['compute_ns']}'")


if __name__ == "__main__":
    reason = browser.missing()
    if reason:
        tap.skip_all(reason)
    tap.main()
