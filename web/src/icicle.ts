// SPDX-License-Identifier: Apache-2.0
// Regions as an icicle: a row per level, width by GPU time, host time or launches. Click zooms in.
import { Kernel, Region, colour, nameOf } from "./data";
import { copy, el, intoChapter, menu } from "./dom";
import * as format from "./format";

const HEIGHT = 22, LEVELS = 24;
const WIDTHS: [string, string, (r: Region) => number, (v: number) => string][] = [
  ["gpu", "GPU time", (r) => r.gpu, format.ns],
  ["host", "host time", (r) => r.host, format.ns],
  ["launches", "launches", (r) => r.launches, format.count],
  ["copies", "copies", (r) => r.copies, format.ns],
];

const shell = (word: string): string => "'" + word.replace(/'/g, `'\\''`) + "'";

// The bare function of a kernel's name, which is what --kernel-regex is matched with.
const functionOf = (name: string): string => name.replace(/^void /, "").replace(/[<(].*$/s, "").replace(/^.*::/, "");

function command(r: Region, kernels: Kernel[]): string {
  const functions = [...new Set(r.kernels.map((k) => functionOf(kernels[k.kernel]?.name ?? "")))].filter(Boolean).slice(0, 5);
  return `lpo kernels --kernel-regex ${shell("^(" + functions.map((f) => f.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")$")} -- PROGRAM`;
}

// Colours say which region at the top a part belongs to; contrast with dark text is at least 4.5.
const HUES = [210, 130, 30, 280, 170, 0, 60, 320];

export class Icicle {
  private width = WIDTHS[0];
  private top: Region | null = null;
  private find = "";
  private box = el("div", { class: "icicle", role: "tree", "aria-label": "Regions" });
  private detail = el("div", { class: "detail", role: "status" });
  private crumbs = el("span");

  constructor(private roots: Region[], private kernels: Kernel[], leftOut: number) {
    const choice = el("select", { "aria-label": "Width of a region" });
    for (const w of WIDTHS)
      if (this.roots.some((r) => w[2](r) > 0)) choice.append(el("option", { value: w[0] }, w[1]));
    this.width = WIDTHS.find((w) => w[0] === choice.value) ?? WIDTHS[0];
    choice.addEventListener("change", () => { this.width = WIDTHS.find((w) => w[0] === choice.value) ?? WIDTHS[0]; this.draw(); });
    const search = el("input", { type: "search", placeholder: "find a region", "aria-label": "Find a region" });
    search.addEventListener("input", () => { this.find = search.value.toLowerCase(); this.draw(); });
    const view = el("div", {}, el("div", { class: "tools" }, el("label", {}, "width: ", choice), search, this.crumbs), this.box, this.detail);
    if (leftOut) view.append(el("p", { class: "note" }, `${format.count(leftOut)} small regions are not drawn; report.json has all.`));
    intoChapter("regions", "Time by region", view);
    this.box.addEventListener("contextmenu", (e) => this.context(e));
    this.box.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.box);
    const linked = decodeURIComponent(location.hash).match(/^#region=(.*)$/)?.[1];
    if (linked) this.go(this.search(linked));
    this.show(this.top ?? this.roots[0]);
  }

  private search(path: string): Region | null {
    const stack = [...this.roots];
    for (let r = stack.pop(); r; r = stack.pop()) {
      if (r.path === path) return r;
      stack.push(...r.children);
    }
    return null;
  }

  go(region: Region | null): void {
    this.top = region;
    if (region) history.replaceState(null, "", "#region=" + encodeURIComponent(region.path));
    this.draw();
    if (region) this.show(region);
  }

  private value(r: Region): number { return Math.max(0, this.width[2](r)); }

  private draw(): void {
    const full = this.box.clientWidth;
    if (!full) return;
    const matches = this.find ? new Set<Region>() : null;
    const buttons: HTMLElement[] = [];
    const roots = this.top ? [this.top] : this.roots;
    const total = roots.reduce((s, r) => s + this.value(r), 0) || 1;
    let deepest = 0;
    const place = (r: Region, x: number, w: number, level: number) => {
      if (w < 1.2 || level >= LEVELS) return;
      deepest = Math.max(deepest, level + 1);
      const hit = !this.find || r.name.toLowerCase().includes(this.find);
      if (hit) matches?.add(r);
      let first = r;
      while (first.parent) first = first.parent;
      const hue = HUES[this.roots.indexOf(first) % HUES.length] ?? 210;
      const b = el("button", {
        type: "button", role: "treeitem", "aria-level": String(level + 1), tabindex: buttons.length ? "-1" : "0", "data-row": String(r.row),
        "aria-label": `${r.path}, ${this.width[1]} ${this.width[3](this.value(r))}`,
        style: `left:${x}px;width:${w}px;top:${level * HEIGHT}px;background:hsl(${hue} 62% ${Math.min(88, 70 + 3 * level)}%)`,
      }, w > 24 ? r.name : "");
      if (!hit) b.classList.add("off");
      b.addEventListener("click", () => this.go(this.top === r ? r.parent : r));
      b.addEventListener("mouseenter", () => this.show(r));
      b.addEventListener("focus", () => this.show(r));
      buttons.push(b);
      let left = x;
      const inside = r.children.reduce((s, c) => s + this.value(c), 0), scale = w / Math.max(this.value(r), inside || 1);
      for (const c of r.children) {
        place(c, left, this.value(c) * scale, level + 1);
        left += this.value(c) * scale;
      }
    };
    let x = 0;
    for (const r of roots) {
      const w = full * this.value(r) / total;
      place(r, x, w, 0);
      x += w;
    }
    this.box.style.height = Math.max(1, deepest) * HEIGHT + "px";
    this.box.replaceChildren(...buttons);
    this.crumbs.replaceChildren();
    if (this.top) {
      const up = el("button", { class: "plain", type: "button" }, "show all");
      up.addEventListener("click", () => { this.go(null); history.replaceState(null, "", "#regions"); });
      this.crumbs.append(up);
    }
  }

  private show(r: Region | undefined): void {
    if (!r) return;
    const list = el("table", {}, el("caption", {}, "Most expensive kernels, regions inside included")), body = el("tbody");
    for (const k of r.kernels) {
      const kernel = this.kernels[k.kernel];
      body.append(el("tr", {}, el("th", { scope: "row", title: kernel?.name ?? "" }, el("i", { class: "chip", style: `background:${colour(kernel?.class ?? "other")}` }), nameOf(kernel)),
        el("td", { "data-v": String(k.ns) }, format.ns(k.ns)), el("td", { "data-v": String(k.launches) }, format.count(k.launches) + " launches")));
    }
    list.append(body);
    this.detail.replaceChildren(el("h3", {}, r.path),
      el("div", {}, `GPU ${format.ns(r.gpu)} (alone ${format.ns(r.self)}), `, r.visits === null ? "" : `host ${format.ns(r.host)}, ${format.count(r.visits)} calls, `,
        `${format.count(r.launches)} launches${r.copies ? `, copies ${format.ns(r.copies)}` : ""}`),
      r.kernels.length ? list : "");
  }

  private at(e: Event): Region | null {
    const row = (e.target as HTMLElement).closest("button")?.dataset.row;
    const stack = [...this.roots];
    for (let r = stack.pop(); r; r = stack.pop()) {
      if (String(r.row) === row) return r;
      stack.push(...r.children);
    }
    return null;
  }

  private context(e: MouseEvent): void {
    const r = this.at(e);
    if (!r) return;
    e.preventDefault();
    menu(e.pageX, e.pageY, [
      ["copy the path", () => copy(r.path)],
      ["copy the command that profiles its kernels", () => copy(command(r, this.kernels))],
      ["copy a link to it", () => copy(location.href.replace(/#.*/, "") + "#region=" + encodeURIComponent(r.path))],
    ]);
  }

  // Arrow keys walk over what is drawn, in the order of the tree.
  private key(e: KeyboardEvent): void {
    const all = [...this.box.querySelectorAll("button")], now = all.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (step === undefined || now < 0) return;
    e.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, now + step))].focus();
  }
}
