// SPDX-License-Identifier: Apache-2.0
// Regions as an icicle: a row per level, width by GPU time, host time, idle time, launches or bytes. Click zooms in.
// Families (layer0, layer1 …) are drawn as one until they are unfolded.
import { Kernel, LimitRow, Raw, Region, colour, nameOf } from "./data";
import { copy, el, intoChapter, menu } from "./dom";
import * as format from "./format";
import { number } from "./tables";

const HEIGHT = 22, LEVELS = 24;
const WIDTHS: [string, string, (r: Region) => number, (v: number) => string][] = [
  ["gpu", "GPU time", (r) => r.gpu, format.ns],
  ["host", "host time", (r) => r.host, format.ns],
  ["idle", "GPU idle before", (r) => r.idle, format.ns],
  ["launches", "launches", (r) => r.launches, format.count],
  ["copies", "copies", (r) => r.copies, format.ns],
  ["bytes", "bytes copied", (r) => r.bytes, format.bytes],
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

/** Is there anything to draw? A file without times has no region. */
export const hasWidth = (regions: Region[]): boolean => regions.some((r) => !r.parent && WIDTHS.some((w) => w[2](r) > 0));

export class Icicle {
  private width = WIDTHS[0];
  private top: Region | null = null;
  private find = "";
  private drawn = 0;
  private roots: Region[];
  private folded: boolean;
  private kernels: Kernel[];
  private limits: Map<string, LimitRow>;
  private counters: Raw["counters"];
  private counted: Map<Region, (number | null)[]>;
  private box = el("div", { class: "icicle", role: "tree", "aria-label": "Regions" });
  private detail = el("div", { class: "detail", role: "region", "aria-label": "The chosen region" });
  private crumbs = el("span");
  private foldBox = el("input", { type: "checkbox" });

  constructor(private trees: { all: Region[]; folded: Region[] }, data: Raw) {
    this.kernels = data.kernels ?? [];
    this.limits = new Map((data.limits?.regions ?? []).map((l) => [l.path, l]));
    this.counters = data.counters;
    this.counted = new Map((data.counters?.regions ?? []).map((c) => [trees.all[c.row], c.values]));
    this.folded = trees.folded.length > 0;
    this.roots = this.tree.filter((r) => !r.parent);
    const choice = el("select", { "aria-label": "Width of a region" });
    for (const w of WIDTHS)
      if (trees.all.some((r) => !r.parent && w[2](r) > 0)) choice.append(el("option", { value: w[0] }, w[1]));
    this.width = WIDTHS.find((w) => w[0] === choice.value) ?? WIDTHS[0];
    choice.addEventListener("change", () => { this.width = WIDTHS.find((w) => w[0] === choice.value) ?? WIDTHS[0]; this.draw(); });
    const search = el("input", { type: "search", placeholder: "find a region", "aria-label": "Find a region" });
    search.addEventListener("input", () => { this.find = search.value.toLowerCase(); this.draw(); });
    const tools = el("div", { class: "tools" }, el("label", {}, "width: ", choice), search);
    if (this.folded) {
      this.foldBox.checked = true;
      this.foldBox.addEventListener("change", () => { this.fold(this.foldBox.checked); this.go(null); this.show(this.roots[0]); });
      tools.append(el("label", { title: "regions whose names differ only in numbers are drawn as one" }, this.foldBox, " fold numbers"));
    }
    tools.append(this.crumbs);
    const view = el("div", {}, tools, this.box, this.detail), leftOut = data.regions?.left_out ?? 0;
    if (leftOut) view.append(el("p", { class: "note" }, `${format.count(leftOut)} small regions are drawn only as part of those around them; lpo regions --json has all.`));
    intoChapter("regions", "Time by region", view);
    this.box.addEventListener("contextmenu", (e) => this.context(e));
    this.box.addEventListener("keydown", (e) => this.key(e));
    this.show(this.roots[0]);
    window.addEventListener("hashchange", () => this.follow());
    this.follow();
    this.draw(); // with the page, not a frame later
    new ResizeObserver(() => { if (this.box.clientWidth !== this.drawn) this.draw(); }).observe(this.box);
  }

  private get tree(): Region[] { return this.folded ? this.trees.folded : this.trees.all; }

  private fold(yes: boolean): void {
    this.folded = this.foldBox.checked = yes;
    this.roots = this.tree.filter((r) => !r.parent);
  }

  // #region=decode/layer*: folded where there is such a line, else unfolded
  private follow(): void {
    let linked: string | undefined;
    try { linked = decodeURIComponent(location.hash.replace(/&at=[^&]*$/, "")).match(/^#region=(.*)$/s)?.[1]; } catch { return; } // not an address of ours
    if (linked === undefined) return;
    const region = this.trees.folded.find((r) => r.path === linked) ?? this.trees.all.find((r) => r.path === linked);
    if (!region) return;
    const hash = location.hash;
    this.open(region);
    history.replaceState(null, "", hash); // one number of it may be meant
    this.box.scrollIntoView({ block: "center" });
  }

  /** Shows a region of either tree. */
  open(region: Region): void {
    const folded = this.trees.folded[region.row] === region;
    if (folded !== this.folded) this.fold(folded);
    this.go(region);
  }

  go(region: Region | null): void {
    this.top = region;
    if (region) history.replaceState(null, "", "#region=" + encodeURIComponent(region.path));
    this.draw();
    if (region) this.show(region);
  }

  private value(r: Region): number { return Math.max(0, this.width[2](r)); }

  private draw(): void {
    const full = this.drawn = this.box.clientWidth;
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
      const times = r.count > 1 ? ` \u00d7${format.count(r.count)}` : "";
      const b = el("button", {
        type: "button", role: "treeitem", "aria-level": String(level + 1), tabindex: buttons.length ? "-1" : "0", "data-row": String(r.row),
        "aria-label": `${r.path}${times}, ${this.width[1]} ${this.width[3](this.value(r))}`,
        style: `left:${x}px;width:${w}px;top:${level * HEIGHT}px;background:hsl(${hue} 62% ${Math.min(88, 70 + 3 * level)}%)${r.color && w > 8 ? `;box-shadow:inset 4px 0 ${r.color}` : ""}`,
      }, w > 24 ? r.name + times : "");
      if (!hit) b.classList.add("off");
      b.addEventListener("click", () => { this.go(this.top === r ? r.parent : r); this.box.querySelector<HTMLElement>(`[data-row="${r.row}"]`)?.focus(); });
      b.addEventListener("mouseenter", () => this.show(r));
      b.addEventListener("focus", () => this.show(r));
      if (r.children.length) b.setAttribute("aria-expanded", "true");
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
    const focused = this.box.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.row : undefined;
    this.box.replaceChildren(...buttons);
    if (focused !== undefined) this.box.querySelector<HTMLElement>(`[data-row="${focused}"]`)?.focus(); // it stays where it was
    this.crumbs.replaceChildren();
    if (this.top) {
      const up = el("button", { class: "plain", type: "button" }, "show all");
      up.addEventListener("click", () => { this.go(null); history.replaceState(null, "", "#regions"); });
      this.crumbs.append(up);
    }
  }

  private number(label: string, v: number | null, text: string): HTMLElement {
    return el("span", { class: "fact" }, el("span", {}, label + " "), number(v, text, label));
  }

  private show(r: Region | undefined): void {
    if (!r) return;
    const facts = el("div");
    if (r.launches) facts.append(this.number("GPU", r.known ? r.gpu : null, r.known ? format.ns(r.gpu) : "n/a"), this.number("own", r.known ? r.self : null, r.known ? format.ns(r.self) : "n/a"));
    if (r.visits !== null) facts.append(this.number("host", r.host, format.ns(r.host)), this.number("calls", r.visits, format.count(r.visits)));
    if (r.launches) facts.append(this.number("launches", r.launches, format.count(r.launches)));
    if (r.idle) facts.append(this.number("GPU idle before its work", r.idle, format.ns(r.idle)));
    if (r.copies) facts.append(this.number("copies", r.copies, format.ns(r.copies)));
    if (r.bytes) facts.append(this.number("bytes copied", r.bytes, format.bytes(r.bytes)));
    this.detail.dataset.address = "region=" + encodeURIComponent(r.path);
    this.detail.replaceChildren(el("h3", {}, r.path), facts, this.limit(r) ?? "", this.family(r) ?? "", this.kernelsOf(r) ?? "", this.countersOf(r) ?? "");
  }

  // What the hardware allows and what ncu counted, where the chapter on limits has it.
  private limit(r: Region): HTMLElement | null {
    const l = this.limits.get(r.path);
    if (!l) return this.limitOfFamily(r);
    const share = (v: number | null) => v === null ? "n/a" : format.percent(v, 1), box = el("div", {});
    box.append(this.number("least time possible", l.limit_ns, format.ns(l.limit_ns)), this.number("reached", l.share, share(l.share)),
      this.number("MFU", l.mfu, share(l.mfu)), this.number("bandwidth in use", l.bandwidth_use, share(l.bandwidth_use)));
    if (l.counted_flops !== null) box.append(this.number("FLOPs counted", l.counted_flops, format.count(l.counted_flops)));
    if (l.counted_dram_bytes !== null) box.append(this.number("DRAM bytes counted", l.counted_dram_bytes, format.bytes(l.counted_dram_bytes)));
    if (l.held_by) box.append(this.number("held back by", null, l.held_by));
    return box;
  }

  // Times add up; rates of several regions are not put together here.
  private limitOfFamily(r: Region): HTMLElement | null {
    const rows = r.members.map((m) => this.limits.get(m.path));
    let least = 0, took = 0;
    for (const l of rows) {
      if (!l || l.limit_ns === null || l.measured_ns === null) return null;
      least += l.limit_ns;
      took += l.measured_ns;
    }
    return rows.length ? el("div", {}, this.number("least time possible", least, format.ns(least)), this.number("reached", least / took, format.percent(least, took))) : null;
  }

  // A bar for each member of a family: steps, layers, whatever the number counts.
  private family(r: Region): HTMLElement | null {
    if (r.count < 2 || !r.spread) return null;
    const gpu = r.members.some((m) => m.gpu > 0), of = (m: Region) => gpu ? m.gpu : m.host;
    const most = Math.max(1, ...r.members.slice(0, 400).map(of)), bars = el("div", { class: "members" });
    for (const m of r.members.slice(0, 400)) {
      const b = el("button", { type: "button", title: `${m.path}: ${format.ns(of(m))}`, "aria-label": `${m.path}: ${format.ns(of(m))}` }, el("i", { style: `height:${Math.max(1, 46 * of(m) / most)}px` }));
      if (bars.childElementCount) b.tabIndex = -1; // one stop for all: arrow keys walk over them
      b.addEventListener("click", () => this.open(m));
      bars.append(b);
    }
    bars.addEventListener("keydown", (e) => {
      const next = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[e.key] as "nextElementSibling" | "previousElementSibling" | undefined;
      if (next) { e.preventDefault(); (document.activeElement?.[next] as HTMLElement | null)?.focus(); }
    });
    const of_one = ["least", "median", "most"].map((n, i) => this.number(n, r.spread?.[i] ?? null, format.ns(r.spread?.[i])));
    return el("div", {}, el("div", { class: "dim" }, `${format.count(r.count)} regions; ${gpu ? "GPU" : "host"} time of one: `, ...of_one,
      (r.members.length > 400 ? "The first 400 are drawn. " : "") + "A click on one unfolds it."), bars);
  }

  private kernelsOf(r: Region): HTMLElement | null {
    if (!r.kernels.length) return null;
    const body = el("tbody");
    for (const k of r.kernels) {
      const kernel = this.kernels[k.kernel];
      body.append(el("tr", {}, el("th", { scope: "row", title: kernel?.name ?? "" }, el("i", { class: "chip", style: `background:${colour(kernel?.class ?? "other")}` }),
        el("a", { href: `#kernel-${k.kernel + 1}` }, nameOf(kernel))),
        el("td", { "data-v": String(k.ns) }, format.ns(k.ns)), el("td", r.gpu > 0 ? { "data-v": String(k.ns / r.gpu) } : {}, format.percent(k.ns, r.gpu)), el("td", { "data-v": String(k.launches) }, format.count(k.launches) + " launches")));
    }
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Kernels of the chosen region" }, el("table", {}, el("caption", {}, "Most expensive kernels, regions inside included"), body));
  }

  // Hardware counters; a family has none of its own, each of its members has.
  private countersOf(r: Region): HTMLElement | null {
    const values = this.counted.get(r) ?? (r.members.length === 1 ? this.counted.get(r.members[0]) : undefined), metrics = this.counters?.metrics ?? [];
    if (!values) return null;
    const body = el("tbody");
    values.forEach((v, i) => {
      if (v !== null) body.append(el("tr", {}, el("th", { scope: "row" }, metrics[i].name), el("td", { "data-v": String(v) }, format.real(v)), el("td", {}, metrics[i].unit ?? "")));
    });
    if (!body.rows.length) return null;
    const left = this.counters?.left_out ?? 0;
    return el("details", { class: "counters" }, el("summary", {}, `${body.rows.length} hardware counters${left ? ` (report.json has ${left} more)` : ""}`), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Counters of the chosen region" }, el("table", {}, body)));
  }

  private at(e: Event): Region | null {
    const row = (e.target as HTMLElement).closest("button")?.dataset.row;
    return row === undefined ? null : this.tree[Number(row)] ?? null;
  }

  private context(e: MouseEvent): void {
    const r = this.at(e);
    if (!r) return;
    e.preventDefault();
    const on = (e.target as HTMLElement).getBoundingClientRect(); // from the keyboard there is no place of the mouse
    menu(e.pageX || on.left + scrollX, e.pageY || on.bottom + scrollY, [
      ["copy the path", () => copy(r.path)],
      ["copy the command that profiles its kernels", () => copy(command(r, this.kernels))],
      ["copy a link to it", () => copy(location.href.replace(/#.*/, "") + "#region=" + encodeURIComponent(r.path))],
    ]);
  }

  // Arrow keys walk over what is drawn, in the order of the tree; the menu key or Shift+F10 opens the menu of right click.
  private key(e: KeyboardEvent): void {
    if (e.key === "Escape" && this.top) { this.go(this.top.parent); this.box.querySelector("button")?.focus(); }
    const all = [...this.box.querySelectorAll("button")], now = all.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (step === undefined || now < 0) return;
    e.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, now + step))].focus();
  }
}
