// SPDX-License-Identifier: Apache-2.0
// The timeline: a lane per stream of each GPU. Far out, bins coloured by the class that fills them; near by, single
// operations. Bins are summed once, then halved level by level, so that a frame costs as much as the picture is wide,
// however long the trace is.
import { Gap, Kernel, Operations, Raw, Region, colour, ink, nameOf } from "./data";
import { el, intoChapter } from "./dom";
import * as format from "./format";
import { Detail, Reader } from "./served";
import { Buckets, exact } from "./sums";
import { number } from "./tables";
import { HostHit, Threads } from "./threads";

const LANE = 20, HEAD = 18, LABEL = 12, TOP = 22, FINEST = 1 << 16, SINGLE = 6000, ALL_BINS = 1 << 23;

/** Busy time per bin and class, finest level first; each level has half as many bins. */
class Bins {
  readonly levels: Float32Array[] = [];
  constructor(o: Operations, classes: Uint8Array, readonly nclasses: number, span: number, readonly finest: number) {
    const first = new Float32Array(finest * nclasses), width = span / finest;
    for (let i = 0; i < o.start.length; i++) {
      let from = o.start[i];
      const end = from + o.length[i], c = classes[o.kernel[i]] ?? 0;
      for (let b = Math.min(finest - 1, Math.floor(from / width)); from < end && b < finest; b++) {
        const upto = Math.min(end, (b + 1) * width);
        first[b * nclasses + c] += upto - from;
        from = upto;
      }
    }
    this.levels.push(first);
    for (let n = finest / 2; n >= 64; n /= 2) {
      const before = this.levels[this.levels.length - 1], next = new Float32Array(n * nclasses);
      for (let i = 0; i < n; i++)
        for (let c = 0; c < nclasses; c++) next[i * nclasses + c] = before[2 * i * nclasses + c] + before[(2 * i + 1) * nclasses + c];
      this.levels.push(next);
    }
  }
}

function lowerBound(a: Float64Array, v: number): number {
  let lo = 0, hi = a.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (a[mid] < v) lo = mid + 1; else hi = mid;
  }
  return lo;
}

// Which gaps a finding is about.
const CAUSES: Record<string, string> = { "blocked-in-call": "blocked", "launch-bound": "host", "host-work": "host", "ping-pong": "blocked", allocator: "blocked", "first-calls": "" };

interface NumberedGap extends Gap { device: string; number: number; length: number; from: number }

export class Strip {
  private from = 0;
  private to: number;
  private readonly span: number; // of the GPU's work, which begins at 0
  private readonly begin: number;
  private readonly end: number;
  private canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Timeline of GPU operations. Plus and minus zoom, arrow keys move, 0 shows all, N and P walk over operations, Enter shows the region of one." });
  private chosen: { lane: number; i: number } | null = null;
  private said = el("div", { class: "detail", role: "status", hidden: "" });
  private tip = el("div", { class: "tip", hidden: "" });
  private classNames: string[] = [];
  private classOf: Uint8Array;
  private bins: (Bins | undefined)[] = [];
  private finest = FINEST;
  private gaps: NumberedGap[] = [];
  private host: HostHit | null = null; // the slice that was chosen
  private area: [number, number] | null = null;
  private overview = el("canvas", { class: "minimap", "aria-hidden": "true" });
  private pending = 0;
  private followers: ((view: [number, number] | null) => void)[] = [];
  /** For tests: milliseconds that the last frames took. */
  readonly frames: number[] = [];
  private drawn: Float32Array | undefined; // how busy the GPUs are, for each pixel of the whole
  private reader: Reader | undefined; // there where the page is served
  private detail: Detail | null = null; // what it read last, drawn while the view lies in it
  private readonly stored: Operations[];
  private status = el("p", { class: "note", role: "status" });

  constructor(private lanes: Operations[], private data: Raw, private regions: Region[], private threads: Threads, private sums: Buckets | undefined, private choose: (r: Region) => void) {
    const kernels = data.kernels ?? [], gpu = data.strip?.span_ns ?? 0, host = threads.extent ?? [0, gpu], span = gpu || host[1] || 1;
    this.begin = Math.min(0, host[0]);
    this.end = Math.max(span, host[1]);
    // what the host did long before or after the GPU's work is a way off, not a reason to show that small
    [this.from, this.to] = this.end - this.begin > 1.5 * span ? [0, span] : [this.begin, this.end];
    this.span = span;
    this.classNames = [...new Set(kernels.map((k) => k.class))];
    this.classNames.push("other");
    this.classOf = new Uint8Array(kernels.length + 1);
    kernels.forEach((k, i) => { this.classOf[i] = this.classNames.indexOf(k.class); });
    this.classOf[kernels.length] = this.classNames.length - 1;
    // Many streams share the memory that one may use; a lane that is always drawn singly needs none.
    const crowded = lanes.filter((o) => o.start.length > SINGLE).length;
    while (this.finest > 1024 && this.finest * crowded * this.classNames.length > ALL_BINS) this.finest /= 2;
    this.bins = lanes.map((o) => o.start.length > SINGLE ? new Bins(o, this.classOf, this.classNames.length, span, this.finest) : undefined);
    this.findGaps();
    this.stored = lanes;
    if (data.served) this.reader = new Reader(data, lanes, threads.lanes, (d) => this.use(d), (text) => { this.status.textContent = text; });
    this.build();
  }

  // What was chosen is a row of what is drawn: it goes when that changes.
  private use(d: Detail | null): void {
    this.detail = d;
    this.lanes = d?.lanes ?? this.stored;
    this.threads.use(d?.slices);
    this.chosen = this.host = null;
    if (!d) this.status.textContent = "";
    this.canvas.style.height = this.height + "px";
    this.redraw();
  }

  // Near by, what the page folded is read from the trace, with as much again on both sides.
  private readDetail(): void {
    const width = this.to - this.from, d = this.detail, within = d && this.from >= d.from && this.to <= d.to;
    if (!this.reader?.folds(width / Math.max(1, this.canvas.clientWidth))) { this.reader?.stop(); if (d) this.use(null); return; }
    if (d && !within) this.use(null);
    if (!within || width < (d.to - d.from) / 12) this.reader.want(this.from - width, this.to + width);
  }

  // Times since 1970 in nanoseconds do not fit a number exactly; the start of a device is subtracted first.
  private findGaps(): void {
    const zero = this.data.strip?.zero_ns ?? 0;
    for (const w of this.data.wall ?? [])
      for (const g of w.longest_gaps ?? [])
        this.gaps.push({ ...g, device: w.scope, length: g.gap_ns, from: g.at_ns + (w.start_ns - zero), number: 0 });
    this.gaps.sort((a, b) => b.length - a.length);
    this.gaps = this.gaps.slice(0, 20);
    this.gaps.forEach((g, i) => { g.number = i + 1; });
  }

  private build(): void {
    const box = el("div", { class: "strip" }, this.overview, this.canvas, this.tip);
    const all = el("button", { class: "plain", type: "button" }, "show all"), plus = el("button", { class: "plain", type: "button", "aria-label": "zoom in" }, "+");
    const minus = el("button", { class: "plain", type: "button", "aria-label": "zoom out" }, "\u2212");
    all.addEventListener("click", () => this.view(this.begin, this.end));
    plus.addEventListener("click", () => this.zoom(0.5, 0.5));
    minus.addEventListener("click", () => this.zoom(2, 0.5));
    const how = el("p", { class: "note", hidden: "" }, "lpo writes the whole timeline for Perfetto with report.formats=[md,json,html,perfetto]: ",
      el("code", {}, "lpo report \u2026 'report.formats=[md,json,html,perfetto]'"), ". Then open https://ui.perfetto.dev and drop timeline.perfetto.json, which lies beside this page, onto it. This page itself asks nothing of the network.");
    const perfetto = el("button", { class: "plain", type: "button", "aria-expanded": "false" }, "open in Perfetto\u2026");
    perfetto.addEventListener("click", () => { how.hidden = !how.hidden; perfetto.setAttribute("aria-expanded", String(!how.hidden)); });
    const sum = el("button", { class: "plain", type: "button" }, "sum what is shown");
    sum.addEventListener("click", () => this.measure(this.from, this.to));
    const lines = el("input", { type: "checkbox" });
    lines.addEventListener("change", () => { this.threads.showLines(lines.checked); this.host = null; this.canvas.style.height = this.height + "px"; this.redraw(); });
    const tools = el("div", { class: "tools" }, all, plus, minus, sum, this.threads.mixed ? el("label", {}, lines, " Python lines") : null, perfetto, el("span", { class: "dim" }, "wheel or + and \u2212 zoom, drag or arrow keys move, Shift and drag sum an area, N and P walk over operations, Enter shows the region"));
    const legend = el("div"), used = new Set(this.lanes.flatMap((o) => [...new Set(o.kernel)].map((k) => this.classOf[k])));
    for (const c of used) legend.append(el("span", { class: "key" }, el("i", { style: `background:${colour(this.classNames[c])}` }), this.classNames[c]));
    const view = el("div", {}, tools, how, box, this.said, this.status, legend);
    if (this.gaps.length) view.append(this.gapTable());
    const strip = this.data.strip;
    if (strip?.step_ns) view.append(el("p", { class: "note" }, `${format.count(strip.operations)} operations are too many for a page: neighbours within ${format.ns(strip.step_ns)} are drawn as one.${this.reader ? " Zoom in: they are read from the trace." : ""}`));
    const short = this.threads.lanes.reduce((sum, t) => sum + t.left_out, 0);
    if (short) view.append(el("p", { class: "note" }, `${format.count(short)} slices of the host shorter than ${format.ns(this.data.host?.least_ns ?? 0)} are not drawn${this.reader ? " before one zooms in" : ""}.`));
    if (strip?.left_out) view.append(el("p", { class: "note" }, `${format.count(strip.left_out)} operations on further streams are not drawn.`));
    intoChapter("timeline", "Timeline", view);
    this.canvas.style.height = this.height + "px";
    this.events();
    window.addEventListener("hashchange", () => this.follow());
    this.follow();
    this.draw(); // the first picture with the page, not a frame later
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  private gapTable(): HTMLElement {
    const body = el("tbody");
    for (const g of this.gaps) {
      const go = el("button", { class: "plain", type: "button" }, "show");
      go.addEventListener("click", () => { history.replaceState(null, "", "#gap=" + g.number); this.follow(); });
      body.append(el("tr", { id: "gap-row-" + g.number }, el("th", { scope: "row" }, String(g.number)), el("td", {}, g.device), el("td", { "data-v": String(g.length) }, format.ns(g.length)),
        el("td", { "data-v": String(g.from) }, format.ns(g.from)), el("td", {}, g.cause + (g.call ? `: ${g.call}` : "")), el("td", {}, g.region ?? ""), el("td", {}, go)));
    }
    const head = el("tr");
    for (const t of ["#", "GPU", "length", "begins at", "cause", "next work is launched in", ""]) head.append(el("th", { scope: "col" }, t));
    return el("details", {}, el("summary", {}, `The ${this.gaps.length} longest times without work`), el("div", { class: "scroll", tabindex: "0" }, el("table", { id: "table-gaps" }, el("thead", {}, head), body)));
  }

  /** The number of the longest gap that a finding of this kind is about, on a device or in a region; undefined: it is about no gap. */
  gapFor(finding: string, scope: string | undefined, path: string): number | undefined {
    const cause = CAUSES[finding], within = (at: string | null | undefined) => at === path || !!at?.startsWith(path + "/");
    return cause === undefined ? undefined : this.gaps.find((g) => (scope === undefined ? within(g.region) : g.device === scope) && (cause === "" || g.cause === cause))?.number;
  }

  /** The address of the first operation that was launched in a region. */
  firstOf(r: Region): string | undefined {
    const wanted = new Set((r.members.length ? r.members : [r]).map((x) => x.row + 1)); // a family stands in another list than its members
    this.regions.forEach((x) => { if (x.parent && wanted.has(x.parent.row + 1)) wanted.add(x.row + 1); });
    for (const [lane, o] of this.lanes.entries()) {
      const i = o.region.findIndex((row) => wanted.has(row));
      if (i >= 0) return `operation=${lane + 1}/${i + 1}`;
    }
    return undefined;
  }

  // #gap=3 shows the third longest gap, #operation=2/7 the seventh operation of the second lane
  private follow(): void {
    const [, lane, i] = location.hash.match(/^#operation=(\d+)\/(\d+)(?:&at=.*)?$/)?.map(Number) ?? [], o = this.lanes[lane - 1];
    if (o && i >= 1 && i <= o.start.length) {
      const middle = o.start[i - 1] + o.length[i - 1] / 2, width = Math.max(20 * o.length[i - 1], 1000);
      this.view(middle - width / 2, middle + width / 2);
      this.pick({ o, i: i - 1 });
      this.canvas.scrollIntoView({ block: "center" });
      return;
    }
    const [, a, b] = location.hash.match(/^#from=(\d+)&to=(\d+)$/)?.map(Number) ?? [];
    if (b > a) { this.view(a, b); this.measure(a, b); return; }
    const g = this.gaps[Number(location.hash.match(/^#gap=(\d+)$/)?.[1] ?? 0) - 1];
    if (!g) return;
    this.view(g.from - g.length, g.from + 2 * g.length);
    this.canvas.scrollIntoView({ block: "center" });
  }

  private rows(): { y: number; lane: number; device: string }[] {
    const rows: { y: number; lane: number; device: string }[] = [];
    let y = TOP + this.threads.height, device = "";
    this.lanes.forEach((o, lane) => {
      y += o.lane.device !== device ? HEAD : LABEL;
      device = o.lane.device;
      rows.push({ y, lane, device });
      y += LANE;
    });
    return rows;
  }

  private get height(): number { return (this.rows().pop()?.y ?? TOP + this.threads.height - LANE) + LANE + 6; }

  view(from: number, to: number): void {
    const width = Math.max(200, Math.min(this.end - this.begin, to - from));
    this.from = Math.max(this.begin, Math.min(this.end - width, from));
    this.to = this.from + width;
    for (const f of this.followers) f(width >= this.end - this.begin ? null : [this.from, this.to]);
    this.readDetail();
    this.redraw();
  }

  /** Told which stretch of time is shown, whenever it changes; null is all of it. */
  follows(f: (view: [number, number] | null) => void): void { this.followers.push(f); }

  private zoom(by: number, at: number): void {
    const width = (this.to - this.from) * by, centre = this.from + (this.to - this.from) * at;
    this.view(centre - width * at, centre + width * (1 - at));
  }

  private redraw(): void {
    if (!this.pending) this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(); });
  }

  draw(): void {
    const begin = performance.now(), c = this.canvas, ratio = window.devicePixelRatio || 1, W = c.clientWidth, H = this.height;
    if (!W) return;
    if (c.width !== Math.round(W * ratio)) c.width = Math.round(W * ratio);
    if (c.height !== Math.round(H * ratio)) c.height = Math.round(H * ratio);
    const g = c.getContext("2d");
    if (!g) return;
    const style = getComputedStyle(document.documentElement), fg = style.getPropertyValue("--fg"), idle = style.getPropertyValue("--idle"), dim = style.getPropertyValue("--dim");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, W, H);
    g.font = "11px system-ui, sans-serif";
    this.axis(g, W, H, dim);
    let device = "";
    this.threads.draw(g, TOP, W, this.from, this.to, fg, idle);
    for (const row of this.rows()) {
      const stream = this.lanes.length > 1 ? `stream ${this.lanes[row.lane].lane.stream}` : "";
      g.fillStyle = row.device !== device ? fg : dim;
      g.fillText(row.device !== device ? [row.device, stream].filter(Boolean).join(", ") : stream, 4, row.y - (row.device !== device ? 5 : 2));
      device = row.device;
      g.fillStyle = idle;
      g.fillRect(0, row.y, W, LANE - 3);
      this.lane(g, row.lane, row.y, W);
    }
    this.drawGaps(g, W, fg);
    this.drawChosen(g, W, fg);
    this.drawArea(g, W, H, fg);
    this.drawOverview();
    this.frames.push(performance.now() - begin);
    if (this.frames.length > 600) this.frames.shift();
  }

  private axis(g: CanvasRenderingContext2D, W: number, H: number, dim: string): void {
    const width = this.to - this.from, rough = width / 6, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
    g.fillStyle = dim;
    g.strokeStyle = dim + "40";
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = (t - this.from) / width * W;
      g.beginPath(); g.moveTo(x, TOP - 6); g.lineTo(x, H); g.stroke();
      g.fillText(format.ns(t), Math.min(x + 3, W - 50), 12);
    }
  }

  private lane(g: CanvasRenderingContext2D, index: number, y: number, W: number): void {
    const o = this.lanes[index], width = this.to - this.from;
    // an operation that began before the picture may reach into it
    let lo = lowerBound(o.start, this.from);
    const hi = lowerBound(o.start, this.to);
    while (lo > 0 && lo > hi - SINGLE && o.start[lo - 1] + o.length[lo - 1] > this.from) lo--;
    const bins = this.detail ? undefined : this.bins[index];
    if (!bins || hi - lo <= SINGLE) this.single(g, o, lo, hi, y, W);
    else this.binned(g, bins, y, W, width);
  }

  private single(g: CanvasRenderingContext2D, o: Operations, lo: number, hi: number, y: number, W: number): void {
    const width = this.to - this.from, kernels = this.data.kernels ?? [];
    for (let i = lo, upto = -1; i < hi; i++) {
      const x = (o.start[i] - this.from) / width * W, w = Math.max(0.5, o.length[i] / width * W);
      if (x + w < upto) continue; // below half a pixel, and drawn already
      upto = x + w + 0.25;
      const shade = colour(this.classNames[this.classOf[o.kernel[i]]]);
      g.fillStyle = shade;
      g.fillRect(x, y, w, LANE - 3);
      if (w > 60) {
        const name = nameOf(kernels[o.kernel[i]]), room = Math.floor((w - 6) / 6);
        g.fillStyle = ink(shade);
        g.fillText(name.length > room ? name.slice(0, Math.max(0, room - 1)) + "…" : name, Math.max(x, 0) + 3, y + 12, w - 4);
      }
    }
  }

  // Each bin is one column: classes stacked, height by the share of time in which the lane was busy.
  private binned(g: CanvasRenderingContext2D, bins: Bins, y: number, W: number, width: number): void {
    let level = 0;
    while (level + 1 < bins.levels.length && width / (this.span / (bins.finest >> (level + 1))) >= W / 2) level++;
    const n = bins.finest >> level, bin = this.span / n, values = bins.levels[level], k = bins.nclasses;
    for (let b = Math.max(0, Math.floor(this.from / bin)); b < Math.min(n, Math.ceil(this.to / bin)); b++) {
      const x = (b * bin - this.from) / width * W, w = Math.max(0.6, bin / width * W);
      let up = 0;
      for (let c = 0; c < k; c++) {
        const h = values[b * k + c] / bin * (LANE - 3);
        if (h <= 0) continue;
        g.fillStyle = colour(this.classNames[c]);
        g.fillRect(x, y + LANE - 3 - up - h, w, h);
        up += h;
      }
    }
  }

  private drawChosen(g: CanvasRenderingContext2D, W: number, fg: string): void {
    const row = this.chosen && this.rows()[this.chosen.lane];
    if (this.host) {
      const s = this.threads.lanes[this.host.lane], k = W / (this.to - this.from);
      g.strokeStyle = fg;
      g.strokeRect((s.start[this.host.i] - this.from) * k, TOP + this.threads.place(this.host), Math.max(3, s.length[this.host.i] * k), this.threads.rowHeight() - 1);
    }
    if (!this.chosen || !row) return;
    const o = this.lanes[this.chosen.lane], scale = W / (this.to - this.from), x = (o.start[this.chosen.i] - this.from) * scale;
    g.strokeStyle = fg;
    g.lineWidth = 2;
    g.strokeRect(x - 1, row.y - 1, Math.max(3, o.length[this.chosen.i] * scale + 2), LANE - 1);
    g.lineWidth = 1;
    this.drawArrow(g, scale, this.chosen.lane, this.chosen.i, row.y);
  }

  // From the launch of the chosen operation to its start.
  private drawArrow(g: CanvasRenderingContext2D, scale: number, lane: number, i: number, y: number): void {
    const o = this.lanes[lane], thread = this.threads.laneOf(o.thread[i]), at = o.start[i] - o.wait[i];
    if (thread < 0) return;
    const inner = this.threads.open(thread, at).pop(), from = TOP + (inner ? this.threads.place(inner) + this.threads.rowHeight() : 0);
    g.beginPath();
    g.moveTo((at - this.from) * scale, from);
    g.lineTo((o.start[i] - this.from) * scale, y);
    g.stroke();
  }

  private drawArea(g: CanvasRenderingContext2D, W: number, H: number, fg: string): void {
    if (!this.area) return;
    const scale = W / (this.to - this.from), [a, b] = this.area;
    g.globalAlpha = 0.15;
    g.fillStyle = fg;
    g.fillRect((a - this.from) * scale, TOP, (b - a) * scale, H);
    g.globalAlpha = 1;
  }

  private busyBy(W: number): Float32Array {
    const busy = new Float32Array(W);
    for (const o of this.lanes)
      for (let i = 0, scale = W / (this.end - this.begin); i < o.start.length; i++) {
        const x = (o.start[i] - this.begin) * scale, end = x + o.length[i] * scale;
        for (let p = Math.floor(x); p < Math.min(W, end); p++) busy[p] += Math.min(end, p + 1) - Math.max(x, p);
      }
    return busy;
  }

  // All of the trace, small: how busy the GPUs are, and what part is shown.
  private drawOverview(): void {
    const c = this.overview, W = c.clientWidth, H = 16, ratio = window.devicePixelRatio || 1;
    if (!W) return;
    const style = getComputedStyle(document.documentElement), busy = this.drawn?.length === W ? this.drawn : this.drawn = this.busyBy(W);
    c.width = Math.round(W * ratio);
    c.height = Math.round(H * ratio);
    const g = c.getContext("2d");
    if (!g) return;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = style.getPropertyValue("--link");
    for (let p = 0; p < W; p++) { const h = Math.min(1, busy[p] / Math.max(1, this.lanes.length)) * (H - 2); g.fillRect(p, H - h, 1, h); }
    g.strokeStyle = style.getPropertyValue("--fg");
    const scale = W / (this.end - this.begin);
    g.strokeRect((this.from - this.begin) * scale + 0.5, 0.5, Math.max(2, (this.to - this.from) * scale - 1), H - 1);
  }

  private drawGaps(g: CanvasRenderingContext2D, W: number, fg: string): void {
    const width = this.to - this.from, rows = this.rows();
    g.fillStyle = fg;
    for (const gap of this.gaps) {
      const x = (gap.from + gap.length / 2 - this.from) / width * W, row = rows.find((r) => r.device === gap.device);
      if (row && x > 0 && x < W && gap.length / width * W > 18) g.fillText(String(gap.number), x - 3, row.y + 12);
    }
  }

  // The next operation in time on the lane of the one that was chosen.
  private walk(by: number): void {
    const lane = this.chosen?.lane ?? 0, o = this.lanes[lane];
    const i = this.chosen ? this.chosen.i + by : lowerBound(o.start, this.from);
    if (i < 0 || i >= o.start.length) return;
    if (o.start[i] < this.from || o.start[i] + o.length[i] > this.to) { const width = Math.max(this.to - this.from, 2 * o.length[i]), middle = o.start[i] + o.length[i] / 2; this.view(middle - width / 2, middle + width / 2); }
    this.pick({ o, i });
  }

  private pick(h: { o: Operations; i: number } | null): void {
    this.chosen = h && { lane: this.lanes.indexOf(h.o), i: h.i };
    this.said.hidden = !h;
    if (h && this.chosen) {
      this.said.dataset.address = `operation=${this.chosen.lane + 1}/${h.i + 1}`;
      const open = el("button", { class: "plain", type: "button" }, "show its region");
      open.addEventListener("click", () => this.openChosen());
      this.said.replaceChildren(...this.words(h), this.regionOf(h) ? open : "");
    }
    this.redraw();
  }

  /** Sums of a stretch of time: work by class, the largest kernels and regions, idle time of each GPU, bytes. Where
   * neighbours are drawn as one the stretch grows to the edges of the stored sums, so that they stay exact. */
  measure(a: number, b: number): void {
    const folded = this.lanes.some((o) => o.several.some((n) => n > 1)), stored = folded ? this.sums?.of(a, b) : undefined, sum = stored ?? exact(this.lanes, a, b);
    const within = stored ?? this.sums?.of(a, b, true), why = !within || within.to <= within.from ? undefined : within, classes = new Map<string, number>(), width = sum.to - sum.from;
    for (const [k, v] of sum.kernels) { const kind = this.classNames[this.classOf[k]] ?? "other"; classes.set(kind, (classes.get(kind) ?? 0) + v); }
    const row = (name: string, v: number) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { "data-v": String(Math.round(v)) }, format.ns(Math.round(v))), el("td", {}, format.percent(v, width)));
    const most = <K>(m: Map<K, number>) => [...m].sort((x, y) => y[1] - x[1]), table = (caption: string, rows: HTMLElement[]) => rows.length ? el("table", {}, el("caption", {}, caption), el("tbody", {}, ...rows)) : "";
    const idle = [...sum.idle].map(([device, causes]) => row(device, [...causes.values()].reduce((x, y) => x + y, 0)));
    const region = (r: number) => (r ? this.regions[r - 1]?.path : undefined) ?? "(outside)", stretch = `${format.ns(Math.round(width))} from ${format.ns(Math.round(sum.from))}`;
    this.area = [sum.from, sum.to];
    this.said.hidden = false;
    this.said.dataset.address = `from=${Math.round(a)}&to=${Math.round(b)}`;
    this.said.replaceChildren(el("b", {}, stretch), why?.bytes ? el("span", {}, ", ", number(why.bytes, format.bytes(why.bytes), "bytes"), " copied") : "",
      el("div", { class: "sums" }, table("By class", most(classes).map(([k, v]) => row(k, v))), table("Most time", most(sum.kernels).slice(0, 8).map(([k, v]) => row(nameOf((this.data.kernels ?? [])[k]), v))),
        table("GPU idle", idle), table("By region", this.regions.length ? most(sum.regions).slice(0, 8).map(([r, v]) => row(region(r), v)) : []),
        table(why === sum || !why ? "Idle by cause" : `Idle by cause, ${format.ns(why.to - why.from)} from ${format.ns(why.from)}`, [...(why?.idle ?? [])].flatMap(([device, causes]) => most(causes).map(([c, v]) => row(`${why && why.idle.size > 1 ? device + ", " : ""}${c}`, v))))));
    this.redraw();
  }

  // The time without work on a GPU around a moment: what came before, what ended it, and what the host did.
  private gapAt(lane: number, t: number): HTMLElement[] | null {
    const device = this.lanes[lane].lane.device;
    let from = 0, to = Infinity, next: { o: Operations; i: number } | null = null;
    for (const o of this.lanes) {
      if (o.lane.device !== device) continue;
      const i = lowerBound(o.start, t);
      for (let k = i - 1; k >= Math.max(0, i - 64); k--) from = Math.max(from, o.start[k] + o.length[k]);
      if (i < o.start.length && o.start[i] < to) { to = o.start[i]; next = { o, i }; }
    }
    if (from > t || !next) return null;
    const known = this.gaps.find((g) => g.device === device && Math.abs(g.from - from) < 2), launched = next.o.thread[next.i] < 0 ? null : to - next.o.wait[next.i];
    const out = [el("b", {}, "GPU idle "), number(to - from, format.ns(to - from), "gap"), el("div", {}, `before ${nameOf((this.data.kernels ?? [])[next.o.kernel[next.i]])}`)];
    if (known) out.push(el("div", {}, `cause: ${known.cause}${known.call ? `, ${known.call}` : ""}${known.region ? `, then ${known.region}` : ""}`), el("div", { class: "dim" }, [...(known.operators ?? []), ...(known.python ?? [])].join(" › ")));
    if (launched !== null) out.push(el("div", {}, launched > from ? `its launch came ${format.ns(launched - from)} after the GPU fell idle` : "it was launched before: it waited for something else"));
    const thread = this.threads.laneOf(next.o.thread[next.i]), open = thread < 0 ? [] : this.threads.open(thread, (from + Math.min(to, launched ?? to)) / 2);
    if (open.length) out.push(el("div", { class: "dim" }, "the host was in " + open.map((h) => this.threads.frame(h).name).join(" › ")));
    this.area = [from, to];
    return out;
  }

  private pickHost(h: HostHit): void {
    const s = this.threads.lanes[h.lane], f = this.threads.frame(h), chain = this.threads.open(h.lane, s.start[h.i]).filter((x) => x.i !== h.i && s.length[x.i] >= s.length[h.i]);
    this.host = h;
    this.chosen = null;
    this.said.hidden = false;
    this.said.dataset.address = `slice=${h.lane + 1}/${h.i + 1}`;
    this.said.replaceChildren(el("b", {}, f.name), el("div", {}, `${f.kind}, `, number(s.length[h.i], format.ns(s.length[h.i]), "length"), " from ", number(s.start[h.i], format.ns(s.start[h.i]), "start")),
      el("div", { class: "dim" }, chain.map((x) => this.threads.frame(x).name).join(" › ")), el("div", { class: "links" }, el("a", { href: "#stack=" + encodeURIComponent(f.name) }, "show in the flame graph")));
    this.redraw();
  }

  // A click: a thread's head, a slice, an operation, or the time between two.
  private click(x: number, y: number): void {
    const t = this.from + x / this.canvas.clientWidth * (this.to - this.from), head = this.threads.head(y - TOP), slice = this.threads.hit(y - TOP, t);
    this.area = this.host = null;
    if (head >= 0) { this.threads.toggle(head); this.canvas.style.height = this.height + "px"; this.redraw(); return; }
    if (slice) { this.pickHost(slice); return; }
    const operation = this.hit(x, y), row = this.rows().find((r) => y >= r.y && y < r.y + LANE);
    this.pick(operation);
    const gap = operation || !row ? null : this.gapAt(row.lane, t);
    if (gap) { this.said.hidden = false; this.said.dataset.address = ""; this.said.replaceChildren(...gap); }
  }

  private regionOf(h: { o: Operations; i: number }): Region | undefined { return h.o.region[h.i] ? this.regions[h.o.region[h.i] - 1] : undefined; }

  private openChosen(): void {
    const region = this.chosen && this.regionOf({ o: this.lanes[this.chosen.lane], i: this.chosen.i });
    if (region) this.choose(region);
  }

  private words(h: { o: Operations; i: number }): HTMLElement[] {
    const { o, i } = h, kernel: Kernel | undefined = (this.data.kernels ?? [])[o.kernel[i]], region = this.regionOf(h);
    const out = [el("b", {}, nameOf(kernel)), el("div", {}, number(o.length[i], format.ns(o.length[i]), "length"), " from ", number(o.start[i], format.ns(o.start[i]), "start"),
      `, stream ${o.lane.stream}${o.several[i] > 1 ? `, ${format.count(o.several[i])} operations drawn as one` : ""}`)];
    if (region) out.push(el("div", { class: "dim" }, region.path));
    const thread = this.threads.laneOf(o.thread[i]), open = thread < 0 ? [] : this.threads.open(thread, o.start[i] - o.wait[i]);
    if (o.thread[i] >= 0) out.push(el("div", { class: "dim" }, `launched ${format.ns(o.wait[i])} before${open.length ? ", in " + open.map((x) => this.threads.frame(x).name).slice(-4).join(" › ") : ""}`));
    return out;
  }

  private hit(x: number, y: number): { o: Operations; i: number } | null {
    const row = this.rows().find((r) => y >= r.y && y < r.y + LANE);
    if (!row) return null;
    const o = this.lanes[row.lane], t = this.from + x / this.canvas.clientWidth * (this.to - this.from);
    for (let i = lowerBound(o.start, t + 1) - 1, tries = 0; i >= 0 && tries < 64; i--, tries++)
      if (o.start[i] + o.length[i] >= t) return { o, i };
    return null;
  }

  private events(): void {
    const c = this.canvas;
    let drag: { x: number; from: number; sum: number | null } | null = null;
    const time = (e: PointerEvent) => this.from + e.offsetX / c.clientWidth * (this.to - this.from);
    this.overview.addEventListener("pointerdown", (e) => { const at = this.begin + e.offsetX / this.overview.clientWidth * (this.end - this.begin), width = this.to - this.from; this.view(at - width / 2, at + width / 2); });
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { const d = e.deltaX / c.clientWidth * (this.to - this.from); this.view(this.from + d, this.to + d); }
      else this.zoom(Math.exp(e.deltaY / 400), e.offsetX / c.clientWidth);
    }, { passive: false });
    c.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, from: this.from, sum: e.shiftKey ? time(e) : null }; c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointerup", (e) => {
      if (drag && Math.abs(e.clientX - drag.x) < 3) this.click(e.offsetX, e.offsetY);
      else if (drag?.sum != null) this.measure(Math.min(drag.sum, time(e)), Math.max(drag.sum, time(e)));
      drag = null;
    });
    c.addEventListener("pointermove", (e) => {
      if (drag?.sum != null) { this.area = [Math.min(drag.sum, time(e)), Math.max(drag.sum, time(e))]; this.redraw(); }
      else if (drag) { const width = this.to - this.from, from = drag.from - (e.clientX - drag.x) / c.clientWidth * width; this.view(from, from + width); }
      this.showTip(e.offsetX, e.offsetY);
    });
    c.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    c.addEventListener("dblclick", (e) => this.zoom(0.25, e.offsetX / c.clientWidth));
    c.addEventListener("keydown", (e) => {
      const step = (this.to - this.from) / 5;
      const act = ({ "+": () => this.zoom(0.5, 0.5), "=": () => this.zoom(0.5, 0.5), "-": () => this.zoom(2, 0.5), "0": () => this.view(this.begin, this.end),
        ArrowLeft: () => this.view(this.from - step, this.to - step), ArrowRight: () => this.view(this.from + step, this.to + step), n: () => this.walk(1), p: () => this.walk(-1), Enter: () => this.openChosen() } as Record<string, () => void>)[e.key];
      if (act) { e.preventDefault(); act(); }
    });
  }

  private showTip(x: number, y: number): void {
    const h = this.hit(x, y);
    this.tip.hidden = !h;
    if (!h) return;
    this.tip.replaceChildren(...this.words(h));
    this.tip.style.left = Math.min(x + 12, this.canvas.clientWidth - 300) + "px";
    this.tip.style.top = y + 14 + "px";
  }
}
