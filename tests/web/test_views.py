#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The views of report.html: one at a time, by rail, keys, search and address; sums of an area and of the flame graph are those of the report. Prints TAP."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/web"), str(ROOT / "tests/trace"), str(ROOT / "tests/analysis")]
import browser  # noqa: E402
import tap  # noqa: E402
from page_case import PageCase, TRACES  # noqa: E402

SHOWN = "return [...document.querySelectorAll('.view')].filter(v => !v.hidden).map(v => v.dataset.view)"
LINES = [{"ph": "X", "cat": "python_function", "name": "train.py(12): step", "pid": 1, "tid": 1, "ts": 0, "dur": 20000, "args": {"Python id": 1}},
         {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 990, "dur": 900}]


class Views(PageCase):
    def shown(self):
        return self.browser.run(SHOWN)

    def stepped(self):
        return self.kineto([("step", 0, 20000)], [("gemm", 1000 * i, 900) for i in range(10)] + [("add", 11000, 2000)], LINES)

    def test_one_view_is_shown(self):
        page, _ = self.stepped()
        self.browser.open(page)
        self.assertEqual(self.shown(), ["overview"])
        rail = self.browser.run("return [...document.querySelectorAll('nav a.to')].map(a => a.dataset.view)")
        self.assertEqual(rail[:4], ["overview", "timeline", "flame", "kernels"])
        self.assertEqual(rail[-1], "run")
        for i, view in enumerate(rail):
            self.browser.keys(str((i + 1) % 10))
            self.browser.wait(f"!document.getElementById('view-{view}').hidden")
            self.assertEqual(self.shown(), [view])
            self.assertEqual(self.browser.run("return [...document.querySelectorAll('nav a[aria-current]')].map(a => a.dataset.view)"), [view])
            self.assertEqual(self.browser.run("return location.hash"), "#" + view)

    def test_every_chapter_is_in_a_view(self):
        page, report = self.make(TRACES[1])
        self.browser.open(page)
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('main > section')].map(s => s.id)"), [])
        there = self.browser.run("return [...document.querySelectorAll('.view section')].map(s => s.id)")
        for section in report["sections"]:
            if section["id"] != "run":  # what ran stands under the title
                self.assertIn(section["id"], there)

    def test_an_address_opens_its_view(self):
        page, _ = self.stepped()
        for address, view in (("#kernel-1", "kernels"), ("#region=step", "flame"), ("#stack=aten::mm", "flame"), ("#operation=1/2", "timeline"), ("#wall", "overview"),
                              ("#table-all-kernels/1/gpu_ns", "kernels"), ("#from=0&to=5000000", "timeline"), ("#none", "overview"), ("", "overview")):
            self.browser.do("POST", "/url", {"url": "about:blank"})
            self.browser.open(page + address)
            self.assertEqual(self.shown(), [view], address)
        self.browser.run("location.hash = '#kernels'")
        self.browser.wait("!document.getElementById('view-kernels').hidden")
        self.browser.run("history.back()")
        self.browser.wait("!document.getElementById('view-overview').hidden")

    def test_search_finds_in_every_view(self):
        page, _ = self.stepped()
        self.browser.open(page)
        for word, kind, view in (("train.py", "line", "flame"), ("aten::mm", "operator", "flame"), ("gemm", "kernel", "kernels"), ("step region", "region", "flame")):
            self.browser.keys("/")
            self.browser.wait("document.querySelector('dialog input')")
            self.browser.keys(word)
            self.assertEqual(self.browser.run("return document.querySelector('#found [aria-selected=true] .dim').textContent"), kind)
            self.browser.keys("\ue007")  # Enter
            self.browser.wait(f"!document.querySelector('dialog') && !document.getElementById('view-{view}').hidden")
        self.browser.keys("?")
        self.browser.wait("document.querySelector('dialog dl.keys')")
        self.browser.keys("\ue00c")  # Escape
        self.browser.wait("!document.querySelector('dialog')")

    def test_dark_is_remembered_and_drawn_at_once(self):
        page, _ = self.stepped()
        self.browser.open(page)
        light = self.browser.run("return document.documentElement.classList.contains('dark')")
        self.browser.keys("d")
        self.browser.open(page)
        self.assertNotEqual(self.browser.run("return document.documentElement.classList.contains('dark')"), light)
        self.browser.keys("d")

    def test_the_sums_of_an_area_are_those_of_the_report(self):
        page, report = self.stepped()
        self.browser.open(page + "#timeline")
        self.browser.run("window.lpo.strip.measure(window.lpo.strip.begin, window.lpo.strip.end)")
        tables = self.browser.run("""return [...document.querySelectorAll('.sums table')].map(t => Object.fromEntries([...t.rows].filter(r => r.cells.length > 1).map(r => [r.cells[0].textContent, +r.cells[1].dataset.v])))""")
        self.assertEqual(tables[1], {k["short_name"]: k["gpu_ns"] for k in report["kernels"]})
        wall = report["wall"][0]
        first = self.browser.run("window.lpo.strip.measure(0, window.lpo.strip.span); return [...document.querySelectorAll('.sums table')].map(t => +t.rows[0].cells[1].dataset.v)")
        self.assertEqual(first[2], wall["idle_ns"])
        self.browser.run("window.lpo.strip.measure(0, 900000)")
        self.assertEqual(self.browser.run("return +document.querySelector('.sums table').rows[0].cells[1].dataset.v"), 900000)

    def test_a_gap_says_what_the_host_did(self):
        page, _ = self.stepped()
        self.browser.open(page + "#timeline")
        words = self.browser.run("""const s = window.lpo.strip, g = s.gapAt(0, 950000);
            return g.map(e => e.textContent)""")
        self.assertTrue(any("train.py(12): step" in w for w in words), words)
        self.assertIn("100", "".join(words))

    def test_the_flame_graph_adds_up(self):
        page, report = self.stepped()
        self.browser.open(page + "#flame")
        wall = report["wall"][0]
        wanted = {"gpu": sum(k["gpu_ns"] for k in report["kernels"]), "exposed": wall["compute_ns"] + wall["exposed_communication_ns"] + wall["exposed_copy_ns"], "idle": wall["idle_ns"]}
        for weight, ns in wanted.items():
            self.browser.run("const s = document.querySelector('select[aria-label=\"Width of a frame\"]'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", weight)
            self.assertEqual(self.browser.run("return window.lpo.flame.root.weight"), ns, weight)
        path = self.browser.run("const w = window.lpo.flame, out = []; for (let b = w.root; b.children.length; b = b.children[0]) out.push(b.children[0].kind); return out")
        self.assertEqual(path[0], "region" if path[0] == "region" else "line")

    def test_a_comparison_is_red_and_blue(self):
        sides = []
        for name, kernels in (("a", [("gemm", 1000, 500), ("gone", 2000, 100), ("same", 3000, 50)]), ("b", [("gemm", 1000, 800), ("new", 2000, 200), ("same", 3000, 50)])):
            self.kineto([("step", 0, 20000)], kernels)
            sides.append(os.path.join(self.cwd, name + ".json.gz"))
            os.rename(os.path.join(self.cwd, "t.json.gz"), sides[-1])
        page = os.path.join(self.cwd, "d.html")
        done = self.lpo("diff", *sides, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.browser.open(page)
        boxes = """const f = window.lpo.flame, out = {}, visit = (b) => { out[b.name] = [b.weight, b.other, f.colourOf(b)]; b.children.forEach(visit); }; visit(f.root); return out"""
        after = self.browser.run(boxes)
        self.assertEqual({k: v[:2] for k, v in after.items()}, {"all": [1050000, 650000], "step": [1050000, 650000], "gemm": [800000, 500000], "new": [200000, 0], "same": [50000, 50000]})
        self.assertEqual((after["new"][2], after["same"][2]), ("hsl(0 80% 60%)", "hsl(215 0% 88%)"))
        self.browser.run("const s = document.querySelector('select[aria-label=\"Side that is drawn\"]'); s.value = 'a'; s.dispatchEvent(new Event('change'))")
        before = self.browser.run(boxes)
        self.assertEqual((before["gone"], before["all"][:2], before["gemm"][:2]), ([100000, 0, "hsl(215 80% 60%)"], [650000, 1050000], [500000, 800000]))
        self.assertGreater(self.browser.run("return document.querySelector('main').clientWidth"), 600)  # not the room of a rail that is not there
        self.assertEqual(self.browser.errors(), [])

    def test_a_long_table_has_every_row(self):
        page, _ = self.kineto([], [(f"kernel_{i}", 1000 * i, 900 - i) for i in range(400)])
        self.browser.open(page + "#kernels")
        table = "document.getElementById('table-all-kernels')"
        drawn = f"{table}.tBodies[0].rows.length"
        self.assertLess(self.browser.run("return " + drawn), 400)
        for _ in range(4):  # its own window, to the end
            before = self.browser.run(f"const b = {table}.closest('.scroll'); b.scrollTop = b.scrollHeight; return {drawn}")
            if before == 400:
                break
            self.browser.wait(f"{drawn} > {before}")
        names = self.browser.run(f"return [...{table}.tBodies[0].rows].map(r => r.cells[0].textContent)")
        self.assertEqual(names, [f"kernel_{i}" for i in range(400)])
        # a link to a row far below draws it; a sorted table begins again at its top
        self.browser.open(page + "#table-all-kernels/391/gpu_ns")
        self.assertEqual(self.browser.run("return document.querySelector('.here').dataset.v"), str(1000 * (900 - 390)))
        self.browser.run(f"{table}.tHead.querySelector('[data-key=min_ns] button').click(); {table}.tHead.querySelector('[data-key=min_ns] button').click()")
        self.assertEqual(self.browser.run(f"return {table}.tBodies[0].rows[0].cells[0].textContent"), "kernel_399")
        # rows that report.md cut are there, too
        page, report = self.make(TRACES[1])
        cut = {i["id"]: i["total_rows"] for s in report["sections"] for i in s["items"] if i.get("total_rows")}
        self.assertTrue(cut)
        self.browser.open(page)
        there = self.browser.run("return Object.fromEntries([...document.querySelectorAll('table[id]')].map(t => [t.id, window.lpo.rows(t).all.length]))")
        self.assertGreater(sum(there.get("table-" + name) == rows for name, rows in cut.items()), 0, (cut, there))

    def test_a_table_is_filtered_and_copied(self):
        page, _ = self.make(TRACES[1])
        self.browser.open(page + "#operators")
        rows = "return [...document.querySelector('#view-operators table[id]').tBodies[0].rows].filter(r => !r.hidden).length"
        before = self.browser.run(rows)
        self.browser.run("const i = document.querySelector('#view-operators .table-tools input[type=search]'); i.value = 'addmm'; i.dispatchEvent(new Event('input'))")
        self.assertLess(self.browser.run(rows), before)
        self.browser.run("[...document.querySelectorAll('#view-operators .table-tools button')].find(b => b.textContent.includes('CSV')).focus()")
        self.browser.keys("\ue007")  # Enter
        self.browser.wait("document.querySelector('.said')?.textContent.startsWith('copied')")

    def test_from_a_finding_to_the_line_in_three_clicks(self):
        page, report = self.kineto([], [("gemm", 10000 * i, 300) for i in range(20)],
                                   [{"ph": "X", "cat": "python_function", "name": "data.py(7): load", "pid": 1, "tid": 1, "ts": 10000 * i + 100, "dur": 9000, "args": {"Python id": i + 1}} for i in range(19)])
        self.assertTrue(report["findings"], "a trace that waits for its host has a finding")
        self.browser.open(page)
        self.browser.run("document.querySelector('#finding-1 .links a').click()")
        self.browser.wait("!document.getElementById('view-timeline').hidden || !document.getElementById('view-flame').hidden")
        if self.shown() != ["timeline"]:
            self.browser.run("document.querySelector('nav a[data-view=timeline]').click()")
        words = self.browser.run("const s = window.lpo.strip, r = s.rows()[0], w = s.canvas.clientWidth; s.click(w / 2, r.y + 4); return document.querySelector('.strip + .detail').textContent")
        self.assertIn("data.py(7): load", words)

    def test_a_newcomers_walk(self):
        """From what to do first to the line of code in three clicks; then everything that one may try, each with what it must say."""
        lines = [{"ph": "X", "cat": "python_function", "name": "data.py(7): load", "pid": 1, "tid": 1, "ts": 10000 * i + 100, "dur": 9000, "args": {"Python id": i + 1}} for i in range(19)]
        page, report = self.kineto([("train", 0, 195000)], [("gemm" if i % 2 else "softmax", 10000 * i, 300) for i in range(20)], lines)
        gemm, gap = next(k for k in report["kernels"] if k["name"] == "gemm"), report["wall"][0]["longest_gaps"][0]
        strip, flame = "window.lpo.strip", "window.lpo.flame"
        click = lambda selector: f"document.querySelector({selector!r}).click()"
        choose = lambda selector, value: f"const s = document.querySelector({selector!r}); s.value = '{value}'; s.dispatchEvent(new Event('change'))"
        shown, detail = (lambda view: f"!document.getElementById('view-{view}').hidden"), "document.querySelector('.strip + .detail').textContent"
        self.browser.open(page)
        walk = [  # what is done (by the mouse, or keys that are typed), and what is true then
            (click(".ladder a"), "location.hash === '#finding-1'"),
            (click("#finding-1 .links a[href^='#gap']"), shown("timeline") + f" && {strip}.from <= {gap['at_ns']} && {strip}.to >= {gap['at_ns'] + gap['gap_ns']}"),
            (f"const s = {strip}, w = s.canvas.clientWidth; s.click(w / 2, s.rows()[0].y + 4)", f"{detail}.includes('data.py(7): load') && document.querySelector('.strip + .detail [data-at=gap]').dataset.v === '{gap['gap_ns']}'"),
            (click("#view-timeline .tools button"), f"{strip}.to - {strip}.from === {strip}.end - {strip}.begin"),
            (f"window.before = {strip}.to - {strip}.from; document.querySelector('.strip canvas[role]').focus()", "document.activeElement.matches('.strip canvas')"),
            ("keys:+", f"{strip}.to - {strip}.from === window.before / 2"),
            ("keys:0", f"{strip}.to - {strip}.from === window.before"),
            ("keys:n", f"{detail}.includes('softmax') && document.querySelector('.strip + .detail [data-at=length]').dataset.v === '300000'"),
            ("keys:n", f"{detail}.includes('gemm') && {detail}.includes('launched')"),
            ("keys:\ue007", shown("flame") + " && location.hash.startsWith('#region=train')"),
            (click("nav a[data-view=timeline]"), shown("timeline")),
            (f"{strip}.measure({strip}.begin, {strip}.end)", f"[...document.querySelectorAll('.sums td[data-v]')].some(c => c.dataset.v === '{gemm['gpu_ns']}')"),
            ("document.activeElement.blur()", "document.activeElement === document.body"),
            ("keys:4", shown("kernels")),
            ("const i = document.querySelector('#view-kernels input'); i.value = 'gem'; i.dispatchEvent(new Event('input'))", "[...document.querySelectorAll('#table-all-kernels tbody tr')].map(r => r.cells[0].textContent).join() === 'gemm'"),
            ("const i = document.querySelector('#view-kernels input'); i.value = ''; i.dispatchEvent(new Event('input'))", "document.querySelectorAll('#table-all-kernels tbody tr').length === 2"),
            ("[...document.querySelectorAll('#table-all-kernels button.link')].find(b => b.textContent === 'gemm').click()", f"document.querySelector('[aria-label=\"The chosen kernel\"]').textContent.includes('train') && document.querySelector('[aria-label=\"The chosen kernel\"] [data-v=\"{gemm['launches']}\"]')"),
            (click("#table-all-kernels thead [data-key=name] button"), "document.querySelector('#table-all-kernels tbody tr').cells[0].textContent === 'softmax'"),
            ("document.getElementById('table-all-kernels/1/gpu_ns').click()", "location.hash === '#table-all-kernels/1/gpu_ns'"),
            ("keys:/", "document.querySelector('dialog input')"),
            ("keys:data.py", "document.querySelector('#found [aria-selected=true]')?.dataset.address === 'stack=' + encodeURIComponent('data.py(7): load')"),
            ("keys:\ue007", shown("flame") + f" && {flame}.chosen?.name === 'data.py(7): load'"),
            (choose("select[aria-label='Width of a frame']", "idle"), f"{flame}.root.weight === {report['wall'][0]['idle_ns']}"),
            (choose("select[aria-label='Width of a frame']", "gpu"), f"{flame}.root.weight === {sum(k['gpu_ns'] for k in report['kernels'])}"),
            (choose("select[aria-label='Order of frames']", "frame"), f"{flame}.placed.length > 1"),
            ("document.activeElement.blur()", "true"),
            ("keys:?", "document.querySelector('dialog dl.keys')"),
            ("keys:\ue00c", "!document.querySelector('dialog')"),
            ("window.dark = document.documentElement.classList.contains('dark')", "true"),
            ("keys:d", "document.documentElement.classList.contains('dark') !== window.dark"),
            ("keys:d", "document.documentElement.classList.contains('dark') === window.dark"),
            ("history.back()", "location.hash !== ''"),
            ("keys:1", shown("overview")),
        ]
        self.assertGreaterEqual(len(walk), 25)
        for action, then in walk:
            try:
                if action.startswith("keys:"):
                    self.browser.keys(action[5:])
                else:
                    self.browser.run(action)
                self.browser.wait(then)
            except (AssertionError, OSError) as e:
                raise AssertionError(f"after {action}: {e}") from e
        self.assertEqual(self.browser.errors(), [])


if __name__ == "__main__":
    reason = browser.missing()
    if reason:
        tap.skip_all(reason)
    tap.main()
