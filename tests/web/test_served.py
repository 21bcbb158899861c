#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lpo view in a browser: what the page folded is read from the trace as one zooms in; a run that goes on is followed. Prints TAP."""
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/web")]
import browser  # noqa: E402
import tap  # noqa: E402
from lpo_case import LPO  # noqa: E402
from page_case import PageCase, TRACES  # noqa: E402

KERNELS, SLICES = 330_000, 170_000
SHOWN = """const s = window.lpo.strip, inside = (o) => o.start.reduce((n, t, i) => n + (t < s.to && t + o.length[i] > s.from ? 1 : 0), 0);
return { operations: s.lanes.map(inside), slices: s.threads.lanes.map(inside), several: s.lanes.some(o => o.several.some(n => n > 1)), left: s.threads.lanes.reduce((n, t) => n + t.left_out, 0) }"""


class Served(PageCase):
    def tearDown(self):
        self.viewer.kill()
        self.viewer.communicate()
        super().tearDown()

    def view(self, *words):
        self.viewer = subprocess.Popen([LPO, "view", *words, "--port", "0"], cwd=self.cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        url = self.viewer.stdout.readline().strip()
        self.assertTrue(url, "lpo view did not start")
        return url

    def many(self):
        """A kernel of 1 us every 2 us, and an operator of 100 ns every 4 us: more of both than a page has."""
        path = os.path.join(self.cwd, "many.json")
        kernels = (f'{{"ph":"X","cat":"kernel","name":"k{i % 7}","pid":0,"tid":7,"ts":{2 * i},"dur":1,"args":{{"device":0,"stream":7}}}}' for i in range(KERNELS))
        slices = (f'{{"ph":"X","cat":"cpu_op","name":"op{i % 9}","pid":1,"tid":1,"ts":{4 * i},"dur":0.1}}' for i in range(SLICES))
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"schemaVersion":1,"traceEvents":[\n' + ",\n".join([*kernels, *slices]) + "]}\n")
        return path

    def test_what_the_page_folds_is_read(self):
        self.browser.open(self.view(self.many()) + "#timeline")
        far = self.browser.run(SHOWN)
        self.assertTrue(far["several"] and far["left"] == SLICES, far)
        # what is drawn as one is summed exactly all the same, to the edges of the stored sums
        sums = self.browser.run("""const s = window.lpo.strip; s.measure(100000000, 200000000);
            return { area: s.area, tables: [...document.querySelectorAll('.sums table')].map(t => [t.caption.textContent, ...[...t.rows].map(r => +r.cells[1].dataset.v)]) }""")
        begin, end = sums["area"]
        self.assertTrue(begin <= 100_000_000 < 200_000_000 <= end and end - begin < 101_000_000, sums)
        busy = sum(max(0, min(end, 2000 * i + 1000) - max(begin, 2000 * i)) for i in range(int(begin) // 2000, int(end) // 2000 + 1))
        tables = {t[0]: t[1:] for t in sums["tables"]}
        self.assertEqual((sum(tables["By class"]), sum(tables["Most time"]), sum(tables["GPU idle"])), (busy, busy, end - begin - busy))
        self.browser.run("window.lpo.strip.view(100000000, 100400000)")  # 0.4 ms: 200 kernels, 100 operators
        self.browser.wait("window.lpo.strip.detail")
        self.assertEqual(self.browser.run(SHOWN), {"operations": [200], "slices": [100], "several": False, "left": 0})
        self.assertIn("Every event is here", self.browser.run("return document.querySelector('#timeline').innerText"))
        # what is read can be used as what was there: an operation, its name and length; an area
        words = self.browser.run("const s = window.lpo.strip, w = s.canvas.clientWidth, y = s.rows()[0].y + 4; s.click(100.5 / 200 * w, y); return document.querySelector('.strip ~ .detail').textContent")
        self.assertRegex(words, r"k1\D?1\sus from 100\.2")
        name = self.browser.run("const s = window.lpo.strip, h = s.threads.open(0, 100000050)[0]; return s.threads.frame(h).name")
        self.assertEqual(name, f"op{100000 // 4 % 9}")
        self.browser.run("window.lpo.strip.measure(100000000, 100400000)")
        self.assertEqual(self.browser.run("return +document.querySelector('.sums table').rows[0].cells[1].dataset.v"), 200_000)
        # and far out the page's own is drawn again
        self.browser.run("window.lpo.strip.view(window.lpo.strip.begin, window.lpo.strip.end)")
        self.browser.wait("!window.lpo.strip.detail")
        self.assertEqual(self.browser.run(SHOWN), far)
        self.assertEqual(self.browser.errors(), [])

    def test_without_the_server_the_page_stays(self):
        self.browser.open(self.view(self.many()) + "#timeline")
        self.viewer.kill()
        self.browser.run("window.lpo.strip.view(100000000, 100400000)")
        self.browser.wait("document.querySelector('#timeline').innerText.includes('lpo view has ended')")
        self.browser.errors()  # the browser says it, too

    def test_a_run_that_goes_on(self):
        go = os.path.join(self.cwd, "go")
        run = self.lpo_start("run.repeats=1", "--", "sh", "-c", f"i=0; while [ ! -e {go} ] && [ $i -lt 900 ]; do sleep 0.1; i=$((i+1)); done")
        try:
            self.wait_for(lambda: json.loads(self.text("run.json")))
            self.browser.open(self.view("run") + "#run")
            self.assertIn("The run goes on", self.browser.run("return document.getElementById('running').textContent"))
            open(go, "w", encoding="utf-8").close()
            run.communicate(timeout=200)
            self.browser.wait("window.lpo && window.lpo.ready && !document.getElementById('running')")
            self.assertEqual(self.browser.run("return location.hash"), "#run")  # still where one was
            self.assertEqual(self.viewer.wait(60), 0)
        finally:
            run.kill()
            run.communicate()

    def test_the_page_asks_only_who_served_it(self):
        self.browser.open(self.view(str(TRACES[0])))
        asked = self.browser.run_async("const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('went out'), (e) => done(String(e)))")
        self.assertIn("TypeError", asked)
        self.assertTrue(any("Content Security Policy" in e for e in self.browser.errors()))


if __name__ == "__main__":
    reason = browser.missing()
    if reason:
        tap.skip_all(reason)
    tap.main()
