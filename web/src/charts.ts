// SPDX-License-Identifier: Apache-2.0
// Quantities over time, a line for each GPU: power and clocks of NVML, memory of an allocator, sampled counters. Charts
// on the clock of the trace show the same stretch of time as the timeline. Where stages ran is shaded.
import { Chart, Line, Raw, Stage } from "./data";
import { el } from "./dom";
import * as format from "./format";
import type { Strip } from "./strip";

const LINES = ["#1f6feb", "#cf222e", "#2da44e", "#a66f00", "#8250df", "#0e7490", "#bf3989", "#6e7781"];
const WIDE = 1000, HIGH = 100, MOST_LINES = 16;

const FIXED: Record<string, (v: number) => string> = {
  B: format.bytes, "B/s": (v) => `${format.bytes(v)}/s`, W: (v) => `${v.toFixed(1)}\u00a0W`, "%": (v) => `${format.real(v)}\u00a0%`,
};
const wordsOf = (unit: string): ((v: number) => string) => FIXED[unit] ?? ((v) => format.real(v) + (unit ? `\u00a0${unit}` : ""));

function shape<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
}

/** The last point at or before a moment; -1 where there is none. */
function pointAt(l: Line, time: number): number {
  let lo = 0, hi = l.at.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (l.at[mid] <= time) lo = mid + 1; else hi = mid;
  }
  return lo - 1;
}

class Drawing {
  readonly box: HTMLElement;
  private words: (v: number) => string;
  private svg: SVGSVGElement;
  private said = el("span", { class: "dim", role: "status" });
  private copied = el("button", { class: "plain", type: "button", hidden: "" }, "copy");
  private axis = el("div", { class: "axis" }, el("span"), el("span"));
  private cursor = shape("line", { y1: "0", y2: String(HIGH), visibility: "hidden" });
  private whole: [number, number];
  private from = 0;
  private to = 1;
  private most = 0;
  private range = "";
  private at = -1;

  constructor(private chart: Chart, private lines: Line[], private colours: number[], private stages: Stage[], span: number) {
    const values = lines.flatMap((l) => l.value.filter((v): v is number => v !== null));
    let least = Infinity, first = 0, last = span;
    this.words = wordsOf(chart.unit);
    for (const v of values) { this.most = Math.max(this.most, v); least = Math.min(least, v); }
    for (const l of lines) { first = Math.min(first, l.at[0] ?? 0); last = Math.max(last, l.at[l.at.length - 1] ?? 0); }
    this.whole = [first, Math.max(last, first + 1)];
    this.range = `${this.words(least)} to ${this.words(this.most)}`;
    this.svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", tabindex: "0", "aria-label": `${chart.title} over ${format.ns(last - first)}: ${this.range}. Arrow keys walk over the points.` });
    this.box = el("div", { class: "chart", "data-chart": chart.title }, el("b", {}, chart.title), " ", this.said, " ", this.copied, this.svg, this.axis);
    this.box.dataset.address = `chart=${encodeURIComponent(chart.chapter)}/${encodeURIComponent(chart.title)}`;
    this.events();
    this.show(null);
    window.addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  // #chart=memory/Allocated&at=1234: the values at that moment
  private follow(): void {
    const [panel, at] = location.hash.slice(1).split("&at=");
    if (panel !== this.box.dataset.address || at === undefined || !Number.isFinite(Number(at))) return;
    this.point(Number(at));
    this.copied.hidden = false;
  }

  /** A stretch of time; null is all of it. */
  show(view: [number, number] | null): void {
    [this.from, this.to] = view ?? this.whole;
    const x = (t: number) => Math.max(-WIDE, Math.min(2 * WIDE, WIDE * (t - this.from) / (this.to - this.from)));
    const y = (v: number) => (HIGH - 4 - (HIGH - 8) * Math.max(0, v) / (this.most || 1)).toFixed(1);
    const parts: SVGElement[] = this.stages.map((s) => shape("rect", { x: String(x(s.at_ns)), width: String(Math.max(1, x(s.at_ns + s.ns) - x(s.at_ns))), y: "0", height: String(HIGH) }));
    this.lines.forEach((l, i) => {
      const steps = this.chart.clock !== "unix"; // NVML is sampled; a total of an allocator holds until the next
      let path = "", pen = "M";
      for (let k = Math.max(0, pointAt(l, this.from)); k < l.at.length && (k === 0 || l.at[k - 1] <= this.to); k++) {
        const v = l.value[k];
        if (v === null) { pen = "M"; continue; }
        path += steps && pen === "L" ? `H${x(l.at[k]).toFixed(1)}V${y(v)}` : `${pen}${x(l.at[k]).toFixed(1)} ${y(v)}`;
        pen = "L";
      }
      if (steps && pen === "L") path += `H${x(this.whole[1]).toFixed(1)}`;
      parts.push(shape("path", { d: path, stroke: LINES[this.colours[i] % LINES.length], ...(this.colours[i] < LINES.length ? {} : { "stroke-dasharray": "6 3" }) }));
    });
    this.svg.replaceChildren(...parts, this.cursor);
    [this.from, this.to].forEach((t, i) => { this.axis.children[i].textContent = format.ns(t); });
    this.rest();
  }

  private rest(): void {
    this.cursor.setAttribute("visibility", "hidden");
    this.said.textContent = this.range;
    this.copied.hidden = true;
  }

  private point(time: number): void {
    const stage = this.stages.find((s) => time >= s.at_ns && time < s.at_ns + s.ns)?.name, x = String(WIDE * (time - this.from) / (this.to - this.from));
    const values = this.lines.map((l) => l.value[pointAt(l, time)] ?? null);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.cursor.setAttribute("visibility", "visible");
    this.said.textContent = `at ${format.ns(time)}${stage ? ` (${stage})` : ""}: ` + values.map((v, i) =>
      (this.lines.length > 1 ? `${this.lines[i].scope} ` : "") + (v === null ? "n/a" : this.words(v))).join(", ");
    this.copied.textContent = "copy";
    this.copied.dataset.at = String(time);
    this.copied.dataset.v = values.map((v) => v === null ? "n/a" : String(v)).join(" ");
  }

  // The points of the first line, which NVML takes of all GPUs together.
  private walk(by: number): void {
    const l = this.lines[0];
    this.at = Math.max(0, Math.min(l.at.length - 1, (this.at < 0 ? 0 : this.at) + by));
    this.point(l.at[this.at]);
    this.copied.hidden = false;
  }

  private events(): void {
    this.svg.addEventListener("pointermove", (e) => {
      const time = this.from + e.offsetX / this.svg.clientWidth * (this.to - this.from), l = this.lines[0];
      this.at = Math.max(0, pointAt(l, time));
      this.point(this.chart.clock === "unix" ? l.at[this.at] ?? time : time);
    });
    this.svg.addEventListener("pointerleave", () => this.rest());
    this.svg.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (step) { e.preventDefault(); this.walk(step); }
    });
  }
}

const TITLES: Record<string, string> = { power: "Power and clocks", memory: "Memory", counters: "Counters over time" };

function place(chapter: string): HTMLElement {
  const known = document.getElementById(chapter);
  if (known) return known;
  const section = el("section", { id: chapter }, el("h2", {}, TITLES[chapter] ?? chapter));
  document.querySelector("main")?.insertBefore(section, document.getElementById("coverage"));
  return section;
}

const known = (l: Line): boolean => l.value.some((v) => v !== null);
const peak = (l: Line): number => l.value.reduce((m: number, v) => Math.max(m, v ?? 0), 0);

/** The GPUs that all charts of a chapter draw, each with its colour: of too many those with the largest values. */
function chosen(charts: Chart[]): string[] {
  const most = charts.reduce((a, c) => c.lines.length > a.length ? c.lines : a, [] as Line[]).filter(known);
  return (most.length > MOST_LINES ? [...most].sort((a, b) => peak(b) - peak(a)) : most).slice(0, MOST_LINES).map((l) => l.scope);
}

function chapter(id: string, charts: Chart[], data: Raw, strip: Strip | undefined): void {
  const box = el("div", { class: "charts" }), section = place(id), legend = el("div"), drawn: Drawing[] = [], scopes = chosen(charts);
  let thinned = 0, left = 0;
  for (const c of charts) {
    const all = c.lines.filter(known), shown = all.filter((l) => scopes.includes(l.scope)), span = c.clock === "trace" ? data.strip?.span_ns ?? 0 : 0;
    if (!shown.length) continue;
    const d = new Drawing(c, shown, shown.map((l) => scopes.indexOf(l.scope)), c.clock === "unix" ? data.stages ?? [] : [], span);
    if (c.clock === "trace") drawn.push(d);
    for (const l of shown) thinned = Math.max(thinned, l.seen - l.at.length);
    left = Math.max(left, all.length - shown.length);
    box.append(d.box);
  }
  section.querySelector("h2")?.after(box);
  if (scopes.length > 1) {
    scopes.forEach((scope, i) => legend.append(el("span", { class: "key" }, el("i", { style: `background:${LINES[i % LINES.length]}` }), scope + (i < LINES.length ? "" : " (dashed)"))));
    box.after(legend);
  }
  const notes = [thinned ? "Of points that lie close together the smallest and the largest are drawn." : "", left > 0 ? `The ${MOST_LINES} GPUs with the largest values are drawn, and ${left} are not.` : "",
    drawn.length && strip ? "The time is that of the timeline: zooming there zooms here." : ""].filter(Boolean);
  if (notes.length) box.after(el("p", { class: "note" }, notes.join(" ")));
  if (drawn.length) strip?.follows((view) => { for (const d of drawn) d.show(view); });
}

export function drawCharts(data: Raw, charts: Chart[], strip: Strip | undefined): void {
  for (const id of new Set(charts.map((c) => c.chapter))) chapter(id, charts.filter((c) => c.chapter === id), data, strip);
}
