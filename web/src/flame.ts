// SPDX-License-Identifier: Apache-2.0
// The flame graph: ranges, lines of Python, modules, operators and kernels, each as wide as its GPU time, exposed time,
// idle time, bytes, host time or energy. In the order of time, the largest to the left, or around one frame (who leads to it,
// what it consists of). Its sums are those of the tables. Of a comparison: red and blue.
import { Frame, Raw, StackNode, WEIGHTS, colour, ink } from "./data";
import { copy, el, visible } from "./dom";
import * as format from "./format";
import { number } from "./tables";

type Weight = typeof WEIGHTS[number];
const LABELS: Record<Weight, string> = { gpu: "GPU time", exposed: "exposed GPU time", idle: "GPU idle before", bytes: "bytes copied", host: "host time", energy: "energy of the GPU" };
const ROW = 20, HUES: Record<string, number> = { region: 210, module: 170, line: 45, operator: 265, call: 0, backward: 330 };
const ORDERS: [string, string][] = [["time", "in order of time"], ["heavy", "largest first"], ["frame", "around the chosen frame"]];

/** What is drawn: a tree whose nodes may stand for several nodes of the data. `other`: of a comparison, the weight on the
 * side that is not drawn. */
interface Box { name: string; kind: string; frame: Frame; weight: number; other: number; own: number; count: number; children: Box[]; parent: Box | null }
interface Placed { box: Box; x: number; w: number; y: number }
export interface Named { name: string; kind: string; gpu: number }

// layer3, Linear_12, h.7, step#4: what counts members of a family, not what is part of a name.
const layers = (name: string): string => name.replace(/\d+$|(?<=[._#/[ ])\d+(?=[\]./ _]|$)/g, "*");

export class Flame {
  private weight: Weight = "gpu";
  private order = "heavy";
  private folded = true;
  private side: "a" | "b" = "b";
  private find = "";
  private top: Box | null = null;
  private chosen: Box | null = null;
  private placed: Placed[] = [];
  private root: Box;
  private canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Flame graph. Arrow keys walk, Enter zooms, Escape shows all." });
  private detail = el("div", { class: "detail", role: "status", "aria-label": "The chosen frame" });
  private crumbs = el("span", { class: "dim" });
  private frames = el("tbody");
  private weights = el("select", { "aria-label": "Width of a frame" });

  constructor(private nodes: StackNode[], private data: Raw, private compared = false) {
    const there = WEIGHTS.filter((_, w) => nodes.some((n) => n.own[w] > 0 || (n.was?.own[w] ?? 0) > 0)), sides = el("select", { "aria-label": "Side that is drawn" }, el("option", { value: "b" }, "B, after"), el("option", { value: "a" }, "A, before"));
    const weights = this.weights, orders = el("select", { "aria-label": "Order of frames" });
    for (const w of there) weights.append(el("option", { value: w }, LABELS[w]));
    for (const [value, title] of ORDERS) orders.append(el("option", { value, ...(value === this.order ? { selected: "" } : {}) }, title));
    const search = el("input", { type: "search", placeholder: "find a frame", "aria-label": "Find a frame" }), fold = el("input", { type: "checkbox", checked: "" });
    const all = el("button", { class: "plain", type: "button" }, "show all");
    this.weight = there[0] ?? "gpu";
    weights.addEventListener("change", () => { this.weight = weights.value as Weight; this.build(); });
    sides.addEventListener("change", () => { this.side = sides.value as "a" | "b"; this.build(); });
    orders.addEventListener("change", () => { this.order = orders.value; this.build(); });
    search.addEventListener("input", () => { this.find = search.value.toLowerCase(); this.draw(); });
    fold.addEventListener("change", () => { this.folded = fold.checked; this.build(); });
    all.addEventListener("click", () => { this.top = null; this.draw(); });
    const tools = el("div", { class: "tools" }, el("label", {}, "width: ", weights), compared ? el("label", {}, "of: ", sides) : null, el("label", {}, "order: ", orders), search,
      el("label", { title: "frames whose names differ only in numbers are drawn as one" }, fold, " fold layers"), all, this.crumbs);
    const head = el("tr");
    for (const [key, title] of [["name", "Frame"], ["kind", "Kind"], ["own", "Own"], ["total", "With what is inside"], ...(compared ? [["other", "On the other side"]] : [])]) head.append(el("th", { scope: "col", "data-key": key, ...(key === "own" || key === "total" || key === "other" ? { class: "n" } : {}) }, title));
    const view = el("section", { id: "stacks" }, el("h2", {}, "Flame"), tools, el("div", { class: "flame" }, this.canvas), this.detail,
      el("details", {}, el("summary", {}, "Frames by their own part"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Frames" }, el("table", { id: "table-frames" }, el("thead", {}, head), this.frames))));
    if (compared) view.append(el("p", { class: "note" }, "Red: more in B than in A; blue: less; the deeper, the more of it changed. The first run of each side."));
    if (data.stacks?.left_out) view.append(el("p", { class: "note" }, `${format.count(data.stacks.left_out)} small frames are part of those around them.`));
    (document.getElementById("regions") ?? document.querySelector("main > section"))?.before(view);
    this.root = this.merge();
    this.build();
    this.events();
    window.addEventListener("hashchange", () => this.follow());
    this.follow();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Every frame once, with its GPU time. */
  names(): Named[] {
    const sums = new Map<string, Named>();
    for (const n of this.nodes) {
      const key = n.frame.kind + "\n" + n.frame.name, sum = sums.get(key) ?? { name: n.frame.name, kind: n.frame.kind, gpu: 0 };
      let inside = false;
      for (let p = n.parent; p && !inside; p = p.parent) inside = p.frame === n.frame; // of a recursion the outermost counts
      if (!inside) sum.gpu += n.total[0];
      sums.set(key, sum);
    }
    return [...sums.values()];
  }

  private text(value: number): string { return this.weight === "bytes" ? format.bytes(value) : this.weight === "energy" ? format.joules(value / 1e6) : format.ns(value); }

  private nameOf(f: Frame): string { return this.folded && /^(region|module|operator)$/.test(f.kind) ? layers(f.name) : f.name; }

  private child(of: Box, f: Frame): Box {
    const name = this.nameOf(f);
    let box = of.children.find((c) => c.name === name && c.kind === f.kind);
    if (!box) of.children.push(box = { name, kind: f.kind, frame: f, weight: 0, other: 0, own: 0, count: 0, children: [], parent: of });
    return box;
  }

  // What is drawn of a node, and what the other side has.
  private sums(n: StackNode, w: number): { weight: number; own: number; other: number } {
    return this.side === "a" && n.was ? { weight: n.was.total[w], own: n.was.own[w], other: n.total[w] } : { weight: n.total[w], own: n.own[w], other: n.was?.total[w] ?? 0 };
  }

  private count(box: Box, n: StackNode, w: number): void {
    const { weight, own, other } = this.sums(n, w);
    box.weight += weight;
    box.own += own;
    box.other += other;
    box.count += n.count;
  }

  private add(to: Box, n: StackNode, w: number): void {
    const box = this.child(to, n.frame);
    this.count(box, n, w);
    for (const c of n.children) if (this.sums(c, w).weight > 0) this.add(box, c, w);
  }

  private merge(): Box {
    const w = WEIGHTS.indexOf(this.weight), root: Box = { name: "all", kind: "all", frame: { kind: "all", name: "all" }, weight: 0, other: 0, own: 0, count: 1, children: [], parent: null };
    for (const n of this.nodes) {
      if (n.parent) continue;
      root.other += this.sums(n, w).other;
      if (this.sums(n, w).weight > 0) this.add(root, n, w);
    }
    root.weight = root.children.reduce((sum, c) => sum + c.weight, 0);
    return root;
  }

  // Who leads to a frame, upside down, and what it consists of: every place of it together.
  private around(f: Frame): { callers: Box; inside: Box } {
    const w = WEIGHTS.indexOf(this.weight), wanted = this.nameOf(f), is = (n: StackNode) => n.frame.kind === f.kind && this.nameOf(n.frame) === wanted;
    const box = (name: string): Box => ({ name, kind: f.kind, frame: f, weight: 0, other: 0, own: 0, count: 0, children: [], parent: null }), callers = box(wanted), inside = box(wanted);
    for (const n of this.nodes) {
      let again = false;
      for (let p = n.parent; p && !again; p = p.parent) again = is(p);
      if (!is(n) || again || this.sums(n, w).weight <= 0) continue;
      for (const b of [callers, inside]) this.count(b, n, w);
      for (const c of n.children) if (this.sums(c, w).weight > 0) this.add(inside, c, w);
      for (let p = n.parent, at = callers; p; p = p.parent) { at = this.child(at, p.frame); this.count(at, n, w); at.own = 0; }
    }
    return { callers, inside };
  }

  private build(): void {
    this.root = this.merge();
    if (this.order === "heavy") {
      const sort = (b: Box) => { b.children.sort((x, y) => y.weight - x.weight); b.children.forEach(sort); };
      sort(this.root);
    }
    this.top = null;
    this.list();
    this.draw();
  }

  private list(): void {
    const sums = new Map<string, { box: Box; own: number; total: number; other: number }>(), open = new Set<string>();
    const visit = (b: Box) => {
      const key = b.kind + "\n" + b.name, sum = sums.get(key) ?? { box: b, own: 0, total: 0, other: 0 }, outermost = !open.has(key);
      sum.own += b.own;
      if (outermost) { sum.total += b.weight; sum.other += b.other; open.add(key); }
      sums.set(key, sum);
      b.children.forEach(visit);
      if (outermost) open.delete(key);
    };
    this.root.children.forEach(visit);
    const rows = [...sums.values()].sort((a, b) => b.own - a.own || b.total - a.total).slice(0, 100);
    this.frames.replaceChildren(...rows.map(({ box, own, total, other }) => {
      const name = el("button", { class: "link", type: "button" }, box.name);
      name.addEventListener("click", () => this.choose(box));
      return el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, box.kind), el("td", { "data-v": String(own) }, this.text(own)), el("td", { "data-v": String(total) }, this.text(total)), this.compared ? el("td", { "data-v": String(other) }, this.text(other)) : null);
    }));
  }

  private place(box: Box, x: number, w: number, y: number, down: number): void {
    if (w < 0.4) return;
    this.placed.push({ box, x, w, y });
    let at = x;
    for (const c of box.children) {
      const part = c.weight / (box.weight || 1) * w;
      this.place(c, at, part, y + down, down);
      at += part;
    }
  }

  // From -1, gone in B, to 1, new in it.
  private change(b: Box): number {
    const most = Math.max(b.weight, b.other);
    return most > 0 ? (this.side === "a" ? b.other - b.weight : b.weight - b.other) / most : 0;
  }

  private colourOf(b: Box): string {
    if (this.compared) { const by = this.change(b), much = Math.abs(by); return `hsl(${by > 0 ? 0 : 215} ${Math.round(80 * much)}% ${Math.round(88 - 28 * much)}%)`; }
    const kernel = b.frame.kernel === undefined ? undefined : this.data.kernels?.[b.frame.kernel];
    return kernel ? colour(kernel.class) : b.kind === "all" ? "#818b98" : `hsl(${HUES[b.kind] ?? 210} 55% ${b.kind === "line" ? 78 : 74}%)`;
  }

  draw(): void {
    const W = this.canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (!W) return;
    this.placed = [];
    const around = this.order === "frame" && this.chosen ? this.around(this.chosen.frame) : null;
    let zero = 0;
    if (around) {
      this.place(around.inside, 0, W, 0, 1);
      this.place(around.callers, 0, W, 0, -1);
      zero = Math.min(...this.placed.map((p) => p.y));
    } else if (this.top) {
      const path: Box[] = [];
      for (let b = this.top.parent; b; b = b.parent) path.unshift(b);
      path.forEach((box, y) => this.placed.push({ box, x: 0, w: W, y }));
      this.place(this.top, 0, W, path.length, 1);
    } else this.place(this.root, 0, W, 0, 1);
    for (const p of this.placed) p.y -= zero;
    const rows = Math.min(400, Math.max(...this.placed.map((p) => p.y)) + 1);
    this.canvas.style.height = rows * ROW + "px";
    this.canvas.width = Math.round(W * ratio);
    this.canvas.height = Math.round(rows * ROW * ratio);
    const g = this.canvas.getContext("2d");
    if (!g) return;
    const fg = getComputedStyle(document.documentElement).getPropertyValue("--fg");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = "12px system-ui, sans-serif";
    for (const p of this.placed) this.drawBox(g, p, fg);
    const way: string[] = [];
    for (let b = this.top; b?.parent; b = b.parent) way.unshift(visible(b.name));
    this.crumbs.textContent = way.slice(-3).join(" › ");
  }

  private drawBox(g: CanvasRenderingContext2D, { box, x, w, y }: Placed, fg: string): void {
    g.globalAlpha = this.find && !box.name.toLowerCase().includes(this.find) ? 0.25 : 1;
    g.fillStyle = this.colourOf(box);
    g.fillRect(x, y * ROW, Math.max(0.6, w - 0.6), ROW - 1);
    if (box === this.chosen) { g.strokeStyle = fg; g.lineWidth = 2; g.strokeRect(x + 1, y * ROW + 1, Math.max(1, w - 2), ROW - 3); }
    if (w > 34) {
      const room = Math.floor((w - 8) / 6.2), name = visible(box.name);
      g.fillStyle = box.frame.kernel === undefined || this.compared ? "#10151b" : ink(this.colourOf(box));
      g.fillText(name.length > room ? name.slice(0, Math.max(1, room - 1)) + "…" : name, x + 4, y * ROW + 14, w - 6);
    }
    g.globalAlpha = 1;
  }

  private choose(box: Box): void {
    this.chosen = box;
    history.replaceState(null, "", "#stack=" + encodeURIComponent(box.frame.name));
    this.say(box);
    this.draw();
  }

  private say(b: Box): void {
    const path: string[] = [], all = this.root.weight || 1, kernel = b.frame.kernel;
    for (let p = b.parent; p?.parent; p = p.parent) path.unshift(visible(p.name));
    const copyPath = el("button", { class: "plain", type: "button" }, "copy the stack");
    copyPath.addEventListener("click", () => copy([...path, b.name].join(";")));
    this.detail.dataset.address = "stack=" + encodeURIComponent(b.frame.name);
    this.detail.replaceChildren(el("h3", {}, b.name), el("div", {}, `${b.kind}, `, number(b.weight, this.text(b.weight), "total"), ` ${LABELS[this.weight]} (${format.percent(b.weight, all)}), of it its own `,
      number(b.own, this.text(b.own), "own"), this.compared ? `, ${this.text(b.other)} in ${this.side === "a" ? "B" : "A"}` : "", ", ", number(b.count, format.count(b.count), "count"), b.count === 1 ? " time" : " times"),
      el("div", { class: "dim" }, path.join(" › ")), el("div", { class: "links" }, kernel === undefined ? null : el("a", { href: `#kernel-${kernel + 1}` }, "show the kernel"), copyPath));
  }

  private follow(): void {
    let name: string | undefined;
    try { name = decodeURIComponent(location.hash.split("&at=")[0]).match(/^#stack=(.*)$/s)?.[1]; } catch { return; } // not an address of ours
    if (name === undefined) return;
    let found: Box | null = null;
    const look = (b: Box) => { if (b.frame.name === name || b.name === name) found = !found || b.weight > found.weight ? b : found; b.children.forEach(look); };
    look(this.root);
    const other = found ? undefined : WEIGHTS.find((_, w) => this.nodes.some((n) => n.frame.name === name && n.total[w] > 0));
    if (other) { this.weight = this.weights.value = other; this.build(); look(this.root); } // it has nothing of what is drawn
    if (found) { this.chosen = found; this.say(found); this.draw(); }
  }

  private hit(x: number, y: number): Placed | undefined {
    const row = Math.floor(y / ROW);
    return this.placed.find((p) => p.y === row && x >= p.x && x < p.x + p.w);
  }

  private zoom(b: Box): void { this.top = b.parent ? b : null; this.draw(); }

  private walk(key: string): void {
    const at = this.chosen ?? this.root, among = at.parent?.children ?? [at], i = among.indexOf(at);
    const next = { ArrowDown: at.children[0], ArrowUp: at.parent, ArrowRight: among[i + 1], ArrowLeft: among[i - 1] }[key];
    if (next) this.choose(next);
  }

  private events(): void {
    const c = this.canvas;
    c.addEventListener("click", (e) => { const h = this.hit(e.offsetX, e.offsetY); if (h) this.choose(h.box); });
    c.addEventListener("dblclick", (e) => { const h = this.hit(e.offsetX, e.offsetY); if (h) this.zoom(h.box); });
    c.addEventListener("mousemove", (e) => { const h = this.hit(e.offsetX, e.offsetY); c.title = h ? visible(`${h.box.name}\n${this.text(h.box.weight)}, ${format.percent(h.box.weight, this.root.weight || 1)}`) : ""; });
    c.addEventListener("keydown", (e) => {
      if (e.key.startsWith("Arrow")) this.walk(e.key);
      else if (e.key === "Enter" && this.chosen) this.zoom(this.chosen);
      else if (e.key === "Escape") this.zoom(this.root);
      else return;
      e.preventDefault();
    });
  }
}
