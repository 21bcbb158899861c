#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html in a real browser: every view, its numbers against report.json, hostile names. Prints TAP."""
import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ.get("LPO_SOURCE_ROOT") or pathlib.Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/web"), str(ROOT / "tests/trace"), str(ROOT / "tests/analysis")]
import browser  # noqa: E402
import lpoc  # noqa: E402
import make_ranks  # noqa: E402
import tap  # noqa: E402
from lpo_case import LpoCase  # noqa: E402
from page_case import PageCase, SHARED, TRACES  # noqa: E402


class Page(PageCase):
    def check_numbers(self, report):
        """Every kernel, every bar and every top region of the page has the number of report.json."""
        rows = self.browser.run("""return (document.getElementById('table-all-kernels') ? window.lpo.rows(document.getElementById('table-all-kernels')).all : []).map(r => ({
            name: r.cells[0].title, gpu: r.cells[2].dataset.v, share: r.cells[3].dataset.v, launches: r.cells[4].dataset.v}))""")
        shown = {}
        for r in rows:
            shown.setdefault(r["name"], r)
        for k in report["kernels"]:
            self.assertIn(k["name"], shown)
            self.assertEqual(shown[k["name"]]["launches"], str(k["launches"]))
            if k["gpu_ns"] is not None:
                self.assertEqual(shown[k["name"]]["gpu"], str(k["gpu_ns"]))
                self.assertAlmostEqual(float(shown[k["name"]]["share"]), k["share"], 12)
        bars = self.browser.run("return [...document.querySelectorAll('.wall')].map(b => b.getAttribute('aria-label'))")
        self.assertEqual(len(bars), min(16, len(report["wall"])))
        parts = self.browser.run("""return [...document.querySelectorAll('.wallrow')].map(r =>
            Object.fromEntries([...r.querySelectorAll('[data-part]')].map(p => [p.dataset.part, +p.dataset.v])))""")
        for shown, wall in zip(parts, report["wall"]):
            want = {"span": wall["span_ns"], "compute": wall["compute_ns"], "exposed copies": wall["exposed_copy_ns"],
                    "exposed communication": wall["exposed_communication_ns"],
                    "idle: blocked in a call": wall["idle"]["blocked_ns"], "idle: queued": wall["idle"]["queued_ns"],
                    "idle: the host came late": wall["idle"]["host_ns"],
                    "idle: cause unknown": wall["idle"]["unknown_ns"]}
            self.assertEqual(shown, {name: ns for name, ns in want.items() if ns or name == "span"})
        self.check_regions(report)
        self.check_findings(report)
        for label, wall in zip(bars, report["wall"]):
            share = 100 * wall["compute_ns"] / wall["span_ns"]
            self.assertIn(f"compute {share:.1f}\u00a0%" if share >= 0.05 or share == 0 else "compute <0.1\u00a0%", label)

    def check_regions(self, report):
        shown = {r["path"]: r for r in self.browser.run("""return window.lpo.trees.all.map(r => ({path: r.path, gpu: r.gpu, self: r.self,
            launches: r.launches, visits: r.visits, host: r.host, bytes: r.bytes}))""")}
        # report.json leaves out small regions of a large tree, and names those that it has alike
        whole = json.loads(self.lpo("regions", self.trace, "--json").stdout)["scopes"][0]["regions"]
        regions = {r["path"]: r for r in whole}
        for r in report["scopes"][0]["regions"]:
            self.assertEqual(r["gpu_ns_inclusive"], regions[r["path"]]["gpu_ns_inclusive"], r["path"])
        if len(regions) <= 20000:
            self.assertEqual(sorted(shown), sorted(regions))
        for path, r in shown.items():
            want = regions[path]
            self.assertEqual((r["gpu"], r["self"], r["launches"], r["visits"], r["host"] or 0, r["bytes"]),
                             (want["gpu_ns_inclusive"] or 0, want["gpu_ns_exclusive"] or 0, want["launches"], want["visits"],
                              want["host_ns"] or 0, want.get("copies", {}).get("bytes", 0)), path)
        # a family has the sums of its members, and every region is in one line
        wrong = self.browser.run("""const t = window.lpo.trees, sum = (r, f) => r.members.reduce((s, m) => s + f(m), 0);
            return t.folded.filter(r => r.count !== r.members.length || ['gpu', 'self', 'launches', 'host', 'idle', 'bytes']
                .some(k => r[k] !== sum(r, m => m[k]))).map(r => r.path)""")
        if len(regions) <= 20000:
            self.assertEqual(wrong, [])

    def check_findings(self, report):
        cautions = self.browser.run("return [...document.querySelectorAll('#findings .warning')].map(p => p.textContent)")
        self.assertEqual([c.removeprefix("Caution: ") for c in cautions if c.startswith("Caution: ")],
                         [c["title"] for c in report["cautions"]])
        self.assertEqual(self.browser.run("return document.querySelector('.verdict')?.textContent ?? null"), report["verdict"])
        shown = self.browser.run("""return [...document.querySelectorAll('ol.findings > li')].map(l => [l.dataset.id,
            l.querySelector('b').textContent, l.querySelector('[data-v]')?.dataset.v ?? null])""")
        self.assertEqual(shown, [[f["id"], f["title"], str(f["saving_ns"]) if f["saving_ns"] > 0 else None]
                                 for f in report["findings"]])

    def test_every_view_of_real_traces(self):
        for trace in TRACES:
            with self.subTest(trace.name), tempfile.TemporaryDirectory() as self.cwd:
                if not trace.exists():
                    self.skipTest(f"{trace.name} is not here")
                page, report = self.make(trace)
                self.assertLess(os.path.getsize(page), 5 << 20)
                self.browser.open(page)
                self.assertEqual(self.browser.errors(), [])
                self.check_numbers(report)
                self.assertGreater(self.browser.run("return document.querySelectorAll('.icicle button').length"), 0)
                painted = self.browser.run("""const c = document.querySelector('.strip canvas'), d = c.getContext('2d');
                    window.lpo.strip.draw();
                    return new Set(new Uint32Array(d.getImageData(0, 0, c.width, c.height).data.buffer)).size""")
                self.assertGreater(painted, 2)
                self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').length"), 0)

    def test_no_width_makes_the_page_scroll_sideways(self):
        for make in (lambda: self.make(TRACES[0]), lambda: self.make(TRACES[1]), self.hostile, self.long_evidence):
            page, _ = make()
            for width in (380, 768, 1280):
                self.browser.narrow(width)
                self.browser.open(page)
                self.assertEqual(self.browser.run("return innerWidth"), width)
                self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth - innerWidth"), 0, width)
            self.browser.narrow(0)

    def test_two_loads_give_one_picture_and_dark_another(self):
        page, _ = self.make(TRACES[0])
        seen = set()
        for width in (380, 768, 1280):
            self.browser.narrow(width)
            pictures = []
            for _ in range(2):
                self.browser.open(page)
                pictures.append(self.browser.picture())
            self.assertEqual(pictures[0], pictures[1], width)
            self.browser.run("document.querySelector('nav .end button').click()")
            self.assertNotEqual(self.browser.picture(), pictures[0], width)
            seen.add(pictures[0])
        self.browser.narrow(0)
        self.assertEqual(len(seen), 3)

    def test_the_first_screen_is_one_sheet_of_paper(self):
        for make in (lambda: self.make(TRACES[0])[0], lambda: self.make(TRACES[1])[0], lambda: self.families()[0]):
            self.browser.open(make())
            self.assertEqual(self.browser.pages(), 1)

    def test_families_are_one_until_unfolded(self):
        page, report = self.families()
        self.browser.open(page + "#flame")
        self.assertEqual(self.browser.errors(), [])
        paths = self.browser.run("return window.lpo.trees.folded.map(r => [r.path, r.count])")
        self.assertEqual([p for p in paths if p[0] != "(outside)"], [["step*", 12], ["step*/layer*", 48]])
        self.check_regions(report)
        drawn = "return [...document.querySelectorAll('.icicle button')].map(b => b.textContent)"
        self.assertEqual(self.browser.run(drawn), ["step* \u00d712", "layer* \u00d748"])
        members = self.browser.run("return [...document.querySelectorAll('.members button')].map(b => b.title.split(':')[0])")
        self.assertEqual(members, [f"step{i}" for i in range(12)])
        self.browser.run("document.querySelector('.icicle').parentElement.querySelector('input[type=checkbox]').click()")
        self.assertEqual(len(self.browser.run(drawn)), 60)
        self.browser.run("location.hash = '#region=step3/layer2'")
        self.browser.wait("document.querySelector('#regions .detail h3').textContent === 'step3/layer2'")
        self.browser.run("location.hash = '#region=step*'")
        self.browser.wait("document.querySelector('#regions .detail h3').textContent === 'step*'")
        self.assertEqual(self.browser.run(drawn), ["step* \u00d712", "layer* \u00d748"])

    def test_the_regions_are_there_when_the_page_is(self):
        page, _ = self.families()
        # the first call of a ResizeObserver comes with the first frame, which a busy machine draws late
        stub = self.browser.devtools("Page.addScriptToEvaluateOnNewDocument", source="window.ResizeObserver = class { observe() {} }")
        try:
            self.browser.open(page)
            self.assertEqual(self.browser.run("return document.querySelectorAll('.icicle button').length"), 2)
        finally:
            self.browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=stub["identifier"])

    def test_the_focus_stays_when_the_regions_are_drawn_again(self):
        page, _ = self.families()
        self.browser.narrow(1280)
        self.browser.open(page + "#flame")
        self.browser.run("document.querySelectorAll('.icicle button')[1].focus()")
        row = self.browser.run("return document.activeElement.dataset.row")
        self.browser.narrow(700)
        self.browser.settle()
        width = self.browser.run("return document.activeElement.getBoundingClientRect().width")
        self.assertEqual(self.browser.run("return document.activeElement.dataset.row"), row)
        self.assertLess(width, 700)
        self.browser.narrow(0)

    def test_a_kernel_says_where_it_is_used(self):
        page, report = self.families()
        self.browser.open(page + "#kernel-1")
        shown = self.browser.run("""return [...document.querySelectorAll('[aria-label="The chosen kernel"] tbody tr')]
            .map(r => [r.cells[0].textContent, +r.cells[1].dataset.v])""")
        kernel = report["kernels"][0]
        self.assertEqual(shown, [["step*", kernel["gpu_ns"]], ["step*/layer*", kernel["gpu_ns"]]])

    def test_a_finding_leads_to_its_gap(self):
        page, report = self.families()
        self.browser.open(page)
        links = self.browser.run("return [...document.querySelectorAll('.findings .links a')].map(a => a.getAttribute('href'))")
        self.assertIn("#gap=1", links)
        self.browser.run("document.querySelector('.findings .links a[href=\"#gap=1\"]').click()")
        longest = report["wall"][0]["longest_gaps"][0]
        self.browser.wait(f"window.lpo.strip.to - window.lpo.strip.from === {3 * longest['gap_ns']}")

    def test_counters_and_launches_are_those_of_the_report(self):
        for name in ("ranges", "llama8_one"):  # the second has no regions: its counters are those outside
            with self.subTest(name), tempfile.TemporaryDirectory() as self.cwd:
                self.check_counters(ROOT / f"tests/data/ncu/{name}.ncu-rep.gz")

    def check_counters(self, trace):
        page, report = self.make(trace)
        self.browser.open(page)
        self.assertEqual(self.browser.errors(), [])
        checked = 0
        for region in report["scopes"][0]["regions"]:
            if not region["metrics"]:
                continue
            self.browser.run("window.lpo.icicle.open(window.lpo.trees.all.find(r => r.path === arguments[0]))", region["path"])
            shown = self.browser.run("""return Object.fromEntries([...document.querySelectorAll('.counters tbody tr')]
                .map(r => [r.cells[0].textContent, +r.cells[1].dataset.v]))""")
            for name, value in shown.items():
                self.assertEqual(value, region["metrics"][name]["value"], name)
                checked += 1
        self.assertGreater(checked, 50)
        self.check_figures(trace)
        for i, kernel in enumerate(report["kernels"]):
            self.browser.run(f"location.hash = '#kernel-{i + 1}'")
            self.browser.wait(f"document.querySelector('.whole')?.textContent === {json.dumps(kernel['name'])}")
            launches = self.browser.run("return [...document.querySelectorAll('.shapes tbody td[data-v]')].map(c => +c.dataset.v)")
            if len(launches) < 6:  # of a kernel with many shapes the six most frequent are shown
                self.assertEqual(sum(launches), kernel["launches"])
            self.assertLessEqual(sum(launches), kernel["launches"])

    def check_figures(self, trace):
        """The kernel table has what ncu measured beside the time, as `lpo sql` has it."""
        rows = json.loads(self.lpo("sql", str(trace), "select name, sm_share, dram_share, registers from kernels", "--json").stdout)
        for key in ("sm_share", "dram_share", "registers"):
            wanted = {r["name"]: r[key] for r in rows}
            shown = self.browser.run("""const t = document.querySelector('#table-all-kernels');
                const at = [...t.tHead.rows[0].cells].findIndex(c => c.dataset.key === arguments[0]);
                return at < 0 ? {} : Object.fromEntries([...t.tBodies[0].rows].filter(r => r.cells[at].dataset.v !== undefined).map(r => [r.cells[0].title, +r.cells[at].dataset.v]))""", key)
            self.assertEqual(shown, {n: v for n, v in wanted.items() if v is not None}, key)
            self.assertTrue(shown or "ranges" not in str(trace), key)

    def test_the_pictures_say_their_numbers(self):
        done = self.lpo_run("run.repeats=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.browser.open(self.path("report.html"))
        self.assertEqual(self.browser.errors(), [])
        for figure in ("figure-roofline", "figure-limits"):
            marks = self.browser.run(f"return [...document.querySelectorAll('#{figure} [tabindex]')].map(m => m.getAttribute('aria-label'))")
            self.assertGreater(len(marks), 2)
            self.browser.run(f"document.querySelectorAll('#{figure} [tabindex]')[1].focus()")
            self.assertEqual(self.browser.run(f"return document.querySelector('#{figure} figcaption').textContent"), marks[1])
        # a region and a family say how far they are from the limit
        limits = {r["path"]: r for r in self.json("report.json")["limits"]["regions"]}
        layers = [r for p, r in limits.items() if re.fullmatch(r"decode/step/layer\d+", p)]
        for path, least in (("decode", limits["decode"]["limit_ns"]), ("decode/step/layer*", sum(r["limit_ns"] for r in layers))):
            self.browser.run("location.hash = '#region=' + arguments[0]", path)
            self.browser.wait(f"document.querySelector('#regions .detail h3').textContent === {json.dumps(path)}")
            self.assertIn(str(least), self.browser.run("return [...document.querySelectorAll('.detail [data-v]')].map(b => b.dataset.v)"))

    def test_samples_are_drawn_over_time(self):
        shutil.copytree(ROOT / "tests/data/runs/h200_llama", self.run_dir)
        self.lpo_report()
        with open(self.path("nvml/samples.csv"), encoding="utf-8") as f:
            samples = list(csv.DictReader(f))
        self.browser.open(self.path("report.html") + "#counters")
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#power .chart')].map(c => c.dataset.chart)"),
                         ["Power", "SM clock", "Memory clock", "Temperature", "Memory in use", "GPU in use"])
        said = "return document.querySelector('[data-chart=Power] [role=status]').textContent"
        watts = [int(s["power_mw"]) for s in samples]
        self.assertEqual(self.browser.run(said), f"{min(watts) / 1000:.1f}\u00a0W to {max(watts) / 1000:.1f}\u00a0W")
        self.browser.run("document.querySelector('[data-chart=Power] svg').focus()")
        for sample in samples[1:4]:
            self.browser.keys("\ue014")  # the arrow to the right
            self.assertIn(f"{int(sample['power_mw']) / 1000:.1f}\u00a0W", self.browser.run(said))

    def test_memory_is_drawn_over_the_time_of_the_timeline(self):
        held = [int(5e8 + 1e6 * (i * 7919 % 300)) for i in range(3000)]
        page, report = self.kineto([("step", 0, 20000)], [("gemm", 1000 * i, 900) for i in range(20)],
                                   [{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5 * i - 100,
                                     "args": {"Bytes": 8, "Device Type": 1, "Device Id": 0, "Total Allocated": v, "Total Reserved": 1 << 30}}
                                    for i, v in enumerate(held)])
        self.browser.open(page + "#memory")
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#memory .chart')].map(c => c.dataset.chart)"),
                         ["Allocated", "Reserved"])
        said = "return document.querySelector('[data-chart=Allocated] [role=status]').textContent"
        self.assertEqual(self.browser.run(said), "%s to %s" % tuple(self.browser.run(
            "return [...arguments].map(v => (v / 2 ** 20).toPrecision(4) + '\\u00a0MiB')", min(held), max(held))))
        peak = [r["peak_bytes"] for s in report["sections"] for i in s["items"] if i.get("id") == "memory" for r in i["rows"]]
        self.assertEqual(peak[0], max(held))
        self.browser.run("document.querySelector('[data-chart=Allocated] svg').focus()")
        self.browser.keys("\ue014")  # the arrow to the right
        self.assertIn(int(self.browser.run("return document.querySelector('[data-chart=Allocated] [data-v]').dataset.v")), held)
        before = self.browser.run("return document.querySelector('[data-chart=Allocated] path').getAttribute('d')")
        self.browser.run("window.lpo.strip.view(0, window.lpo.strip.span / 4)")
        self.assertNotEqual(self.browser.run("return document.querySelector('[data-chart=Allocated] path').getAttribute('d')"), before)
        self.browser.run("window.lpo.strip.view(-1e15, 1e15)")
        self.assertEqual(self.browser.run("return document.querySelector('[data-chart=Allocated] path').getAttribute('d')"), before)

    @unittest.skipUnless((SHARED / "pm/llama8_50us.lpot.gz").exists(), "needs ../shared/data/pm")
    def test_sampled_counters_are_drawn_over_time(self):
        lpoc.from_csv(str(SHARED / "pm/llama8_50us.csv.gz"), os.path.join(self.cwd, "gpu0.lpoc"))
        done = self.lpo("report", str(SHARED / "pm/llama8_50us.lpot.gz"), "gpu0.lpoc", "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = str(pathlib.Path(self.cwd) / "out/report.html")
        self.assertLess(os.path.getsize(page), 5 << 20)
        self.browser.open(page)
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#counters .chart')].map(c => c.dataset.chart)"),
                         ["DRAM read", "DRAM written", "Tensor cores active"])
        said = self.browser.run("return document.querySelector('[data-chart=\"Tensor cores active\"] [role=status]').textContent")
        self.assertRegex(said, r"^0\u00a0% to 9\d(\.\d+)?\u00a0%$")
        before = self.browser.run("return document.querySelector('[data-chart=\"DRAM read\"] path').getAttribute('d')")
        self.browser.run("window.lpo.strip.view(window.lpo.strip.span / 2, window.lpo.strip.span)")
        self.assertNotEqual(self.browser.run("return document.querySelector('[data-chart=\"DRAM read\"] path').getAttribute('d')"), before)

    def test_of_many_gpus_the_fullest_are_drawn(self):
        events = [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": g, "tid": 7, "ts": 100, "dur": 50, "args": {"device": g, "stream": 7}} for g in range(20)]
        events += [{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 101 + i,
                    "args": {"Bytes": 8, "Device Type": 1, "Device Id": g, "Total Allocated": (g * 7 % 20 + 1) << 30, "Total Reserved": 64 << 30}} for i in range(3) for g in range(20)]
        page, report = self.kineto([], [], events)
        peaks = [r["peak_bytes"] for s in report["sections"] for i in s["items"] if i.get("id") == "memory" for r in i["rows"] if r["what"] == "Allocated"]
        self.assertEqual(peaks, [n << 30 for n in range(20, 0, -1)])
        self.browser.open(page)
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#memory .chart')].map(c => c.querySelectorAll('path').length)"), [16, 16])
        named = self.browser.run("return [...document.querySelectorAll('#memory .key')].map(k => k.textContent.replace(' (dashed)', ''))")
        self.assertEqual(set(named), {f"device:{g}" for g in range(20) if g * 7 % 20 + 1 > 4})
        self.assertIn("and 4 are not", self.browser.run("return document.querySelector('#memory').textContent"))

    def test_ranks_stand_beside_each_other(self):
        page, report = self.ranks()
        self.browser.open(page)
        self.assertEqual(self.browser.errors(), [])
        shown = self.browser.run("""return Object.fromEntries([...document.querySelectorAll('#table-beside tbody tr')].map(r => [r.cells[0].textContent,
            [...r.cells].slice(1).map(c => +c.dataset.v)]))""")
        self.assertEqual(shown, {w["scope"]: [w["span_ns"], w["compute_ns"], w["exposed_communication_ns"], w["idle_ns"]] for w in report["wall"]})
        odd = self.browser.run("return [...document.querySelectorAll('#table-beside .odd')].map(b => b.parentElement.id)")
        self.assertEqual(odd, ["table-beside/4/compute", "table-beside/4/idle"])
        rows = [r for s in report["sections"] for i in s["items"] if i.get("id") == "ranks" for r in i["rows"]]
        self.assertEqual({r["scope"]: r["differs"] for r in rows}["rank:3/device:0"], "compute +2 ms, idle -2 ms")
        self.assertEqual(rows[0]["scope"], "rank:3/device:0")  # a short page keeps the first rows
        self.assertEqual({r["scope"]: r["differs"] for r in rows}["rank:1/device:0"], "")

    def test_steps_of_ranks_are_a_heat_map(self):
        """every cell is reached by keys, and says the numbers of report.json; the text below a heading stays with it"""
        traces, _ = make_ranks.make(4, 6, late=2, offset=10**9, named="ProfilerStep#%", late_steps=range(3, 4))
        for r, trace in enumerate(traces):
            (pathlib.Path(self.cwd) / f"rank{r}.json").write_text(json.dumps(trace))
        page, report = self.make(pathlib.Path(self.cwd))
        self.browser.open(page + "#ranks")
        self.assertEqual(self.browser.errors(), [])
        said = "return document.querySelector('.heat [role=status]').textContent"
        self.browser.run("document.querySelector('.heat canvas').focus()")
        self.browser.keys("\ue014")
        for row in report["rank_steps"]["rows"]:
            for i, step in enumerate(report["rank_steps"]["columns"]):
                text = self.browser.run(said)
                self.assertIn(f"rank {row['rank']}, step {step['first']}:", text)
                for part, key in (("wall", "wall_ns"), ("compute", "compute_ns"), ("idle", "idle_ns")):
                    shown = re.search(rf"{part} ([\d.]+)\s(ns|us|ms)", text)
                    self.assertAlmostEqual(float(shown[1]) * {"ns": 1, "us": 1e3, "ms": 1e6}[shown[2]] / row[key][i], 1, 3)
                self.browser.keys("\ue014")  # right
            self.browser.keys("\ue011")  # home
            self.browser.keys("\ue015")  # down
        self.assertIsNone(self.browser.run("return document.getElementById('figure-rank_steps')"))
        heads = self.browser.run("return [...document.querySelectorAll('#ranks > h3')].map(h => [h.textContent, h.nextElementSibling.tagName])")
        self.assertEqual(heads, [["Ranks \u00d7 steps", "P"], ["Who waits for whom", "P"], ["Regions over ranks", "P"]])

    def test_collectives_have_size_and_bandwidth(self):
        page, report = self.ranks()
        rows = [r for s in report["sections"] for i in s["items"] if i.get("id") == "collectives" for r in i["rows"]]
        self.assertEqual(rows, [{"kind": "all-reduce", "bytes": 1 << 21, "dtype": "BFloat16", "ranks": 4, "group": None, "calls": 4, "gpu_ns": 4000000,
                                 "exposed_ns": 4000000, "min_ns": 1000000, "mean_ns": 1000000, "max_ns": 1000000,
                                 "bytes_per_s": (1 << 21) / 1e-3, "bus_bytes_per_s": (1 << 21) * 1.5 / 1e-3,
                                 "best_bus_bytes_per_s": (1 << 21) * 1.5 / 1e-3}])
        self.assertEqual(sum(w["exposed_communication_ns"] for w in report["wall"]), 4000000)
        self.browser.open(page)
        self.assertEqual(self.browser.run("return +document.getElementById('table-collectives/1/bus_bytes_per_s').dataset.v"), rows[0]["bus_bytes_per_s"])

    def test_coverage_is_in_sight(self):
        page, report = self.make(TRACES[0])
        self.browser.open(page)
        c = report["scopes"][0]["coverage"]
        share = 100 * c["in_regions"]["gpu_ns"] / report["scopes"][0]["gpu_ns"]
        self.assertIn(f"{share:.1f}\u00a0% of kernel time in regions", self.browser.run("return document.querySelector('nav .covered').textContent"))

    def test_long_names_do_not_make_a_large_page(self):
        names = [f"{i:05}" + "k" * 4000 for i in range(1500)]
        page, report = self.kineto([("r" + n, 100 * i, 90) for i, n in enumerate(names)], [(n, 100 * i + 10, 20) for i, n in enumerate(names)])
        self.assertLess(os.path.getsize(page), 5 << 20)
        self.browser.open(page)
        self.assertEqual(self.browser.errors(), [])
        shown = self.browser.run("return window.lpo.rows(document.getElementById('table-all-kernels')).all.length")
        self.assertLess(shown, 1500)
        self.assertIn(f"{1500 - shown:,} smaller ones are not in this page", self.browser.run("return document.querySelector('#kernels').textContent"))
        self.assertIn("small regions are drawn only as part", self.browser.run("return document.querySelector('#regions').textContent"))

    def test_hostile_names_are_text(self):
        page, _ = self.hostile()
        self.browser.open(page)
        self.assertEqual(self.browser.errors(), [])
        self.assertIsNone(self.browser.run("return window.hacked"))
        self.assertEqual(self.browser.run("return [document.scripts.length, document.images.length]"), [2, 0])
        text = self.browser.run("return document.querySelector('main').textContent")
        self.assertIn("window.hacked=1", text)
        self.assertIn("a\\u{202e}b\\u{2066}c", text)
        said = self.browser.run("""return [...document.querySelectorAll('[title], [aria-label]')].map(e => e.title + (e.getAttribute('aria-label') ?? '')).join('')""")
        for mark in "\u202e\u2066":
            self.assertNotIn(mark, text)
            self.assertNotIn(mark, said)
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').length"), 0)
        # every view that shows names, opened once
        self.browser.run("""for (const r of window.lpo.trees.all) window.lpo.icicle.open(r);
            for (const b of document.querySelectorAll('#table-all-kernels button.link')) b.click();
            window.lpo.strip.view(0, 1e6); for (let i = 0; i < 9; i++) window.lpo.strip.walk(1);""")
        self.assertEqual(self.browser.errors(), [])
        self.assertIsNone(self.browser.run("return window.hacked"))
        self.assertEqual(self.browser.run("return [document.scripts.length, document.images.length]"), [2, 0])


class Text(LpoCase):
    def test_the_text_is_there_without_a_script(self):
        class Tables(html.parser.HTMLParser):
            def __init__(self):
                super().__init__()
                self.tables, self.headings, self.open = set(), [], False

            def handle_starttag(self, tag, attrs):
                self.open = tag in ("h1", "h2", "h3")
                if tag == "table":
                    self.tables.add(dict(attrs).get("id"))

            def handle_data(self, data):
                if self.open:
                    self.headings.append(data.strip())
                self.open = False

        done = self.lpo("report", str(TRACES[0]), "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((pathlib.Path(self.cwd) / "out/report.json").read_text())
        parser = Tables()
        parser.feed((pathlib.Path(self.cwd) / "out/report.html").read_text())
        for s in report["sections"]:
            if s["title"]:
                self.assertIn(s["title"], parser.headings)
            for item in s["items"]:
                if item["type"] == "table":
                    self.assertIn("table-" + item["id"], parser.tables)

    def test_the_text_is_shown_without_a_script(self):
        done = self.lpo("report", str(TRACES[0]), "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((pathlib.Path(self.cwd) / "out/report.json").read_text())
        plain = browser.Browser(scripts=False)
        try:
            plain.open(str(pathlib.Path(self.cwd) / "out/report.html"), ready=False)
            shown = plain.text("body")
            for section in report["sections"]:
                self.assertIn(section["title"], shown)
            for kernel in report["kernels"]:
                self.assertIn(kernel["short_name"], shown)
            self.assertNotIn("open in Perfetto", shown)
        finally:
            plain.close()


if __name__ == "__main__":
    reason = browser.missing()
    if reason:
        tap.skip_all(reason)
    tap.main()
