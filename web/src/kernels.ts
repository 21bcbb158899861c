// SPDX-License-Identifier: Apache-2.0
// Every kernel: search, sort, class colours, and how its durations are spread.
import { Kernel, Operations, Raw, Region, colour, nameOf } from "./data";
import { el, intoChapter } from "./dom";
import * as format from "./format";
import { Rows, hideUnknown, sortable, tools } from "./tables";

const BINS = 16, ASIDE = ["memory copy", "memset"];

// The time of all kernels, those that are not listed too: shares are of it, as in report.json. Copies have none.
function kernelTime(data: Raw): number {
  const c = data.coverage;
  return c ? (c.in_regions.gpu_ns ?? 0) + (c.outside.gpu_ns ?? 0) + (c.no_launch_record.gpu_ns ?? 0) : 0;
}

/** Counts by power of two from 256 ns on; null where operations were drawn as one and lengths are not known. */
function spread(kernels: Kernel[], lanes: Operations[]): (Uint32Array | null)[] {
  if (!lanes.length || lanes.some((o) => o.several.some((n) => n > 1))) return kernels.map(() => null);
  const all = kernels.map(() => new Uint32Array(BINS));
  for (const o of lanes)
    for (let i = 0; i < o.start.length; i++) {
      const bin = Math.max(0, Math.min(BINS - 1, Math.floor(Math.log2(Math.max(1, o.length[i]))) - 8));
      const h = all[o.kernel[i]];
      if (h) h[bin]++;
    }
  return all;
}

function histogram(h: Uint32Array | null): HTMLElement {
  if (!h || h.every((n) => n === 0)) return el("span", { class: "dim" }, "n/a");
  const most = Math.max(...h), used = [...h.keys()].filter((i) => h[i]);
  const box = el("span", { class: "hist", role: "img", "aria-label": used.map((i) => `${format.count(h[i])} of ${format.ns(2 ** (i + 8))} or more`).join(", ") });
  for (let i = used[0]; i <= used[used.length - 1]; i++)
    box.append(el("i", { style: `height:${Math.round(18 * h[i] / most)}px`, title: `${format.ns(2 ** (i + 8))} to ${format.ns(2 ** (i + 9))}: ${format.count(h[i])}` }));
  return box;
}

// What ncu measured, beside the time.
const FIGURES = [["sm_share", "SM"], ["tensor_share", "Tensor"], ["l1_share", "L1"], ["l2_share", "L2"], ["dram_share", "DRAM"], ["occupancy_share", "Occupancy"],
  ["registers", "Registers"], ["waves", "Waves"]] as const;

type Trees = { all: Region[]; folded: Region[] };

/** What one kernel is, and the regions that spend most time in it. */
function detail(k: Kernel, row: number, trees: Trees, data: Raw): HTMLElement {
  const tree = trees.folded.length ? trees.folded : trees.all, body = el("tbody");
  const used = tree.flatMap((r) => r.kernels.filter((x) => x.kernel === row).map((x) => ({ r, x }))).sort((a, b) => b.x.ns - a.x.ns || a.r.depth - b.r.depth);
  for (const { r, x } of used.slice(0, 20))
    body.append(el("tr", {}, el("th", { scope: "row" }, el("a", { href: "#region=" + encodeURIComponent(r.path) }, r.path)), el("td", { "data-v": String(x.ns) }, format.ns(x.ns)),
      el("td", k.gpu_ns ? { "data-v": String(x.ns / k.gpu_ns) } : {}, format.percent(x.ns, k.gpu_ns ?? 0)), el("td", { "data-v": String(x.launches) }, format.count(x.launches) + " launches")));
  const shapes = (data.shapes ?? []).filter((s) => s[0] === row), launched = el("tbody");
  for (const [, n, ...s] of shapes)
    launched.append(el("tr", {}, el("th", { scope: "row" }, `${s.slice(0, 3).join(" \u00d7 ")}`), el("td", {}, s.slice(3).join(" \u00d7 ")), el("td", { "data-v": String(n) }, format.count(n) + " launches")));
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Grid"), el("th", { scope: "col" }, "Block"), el("th", { scope: "col", class: "n" }, "Launches")));
  return el("div", {}, el("h3", {}, nameOf(k)), el("p", { class: "whole", tabindex: "0" }, k.name),
    shapes.length ? el("table", { class: "shapes" }, el("caption", {}, "Launched as, most often first"), head, launched) : null,
    used.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Regions of the chosen kernel" }, el("table", {}, el("caption", {}, `Used in ${used.length === 1 ? "one region" : `${used.length} regions`}, most time first; a region includes those inside it`), body))
      : el("p", { class: "dim" }, "It is not among the most expensive kernels of any region."));
}

function figure(key: string, v: number | null | undefined): string {
  return typeof v !== "number" ? "n/a" : key.endsWith("_share") ? format.percent(v, 1) : format.real(Math.round(v * 1000) / 1000);
}

export function kernelTable(data: Raw, lanes: Operations[], trees: Trees): void {
  const kernels = data.kernels ?? [];
  if (!kernels.length) return;
  const total = kernelTime(data), spreads = spread(kernels, lanes);
  const head = el("tr"), body = el("tbody"), search = el("input", { type: "search", placeholder: "find a kernel or class", "aria-label": "Find a kernel" });
  const figures = FIGURES.filter(([key]) => kernels.some((k) => typeof k[key] === "number"));
  for (const [key, title] of [["name", "Kernel"], ["class", "Class"], ["gpu_ns", "GPU time"], ["share", "Of kernel time"], ["launches", "Launches"], ["mean", "Mean"], ...figures, ["min_ns", "Min"], ["max_ns", "Max"], ["spread", "Spread"]])
    head.append(el("th", { scope: "col", "data-key": key, ...(key === "name" || key === "class" || key === "spread" ? {} : { class: "n" }) }, title));
  const chosen = el("div", { class: "detail", role: "region", "aria-label": "The chosen kernel", hidden: "" });
  const choose = (i: number) => { chosen.hidden = false; chosen.dataset.address = `kernel-${i + 1}`; chosen.replaceChildren(detail(kernels[i], i, trees, data)); };
  const share = (k: Kernel) => k.gpu_ns === null || !total || ASIDE.includes(k.class) ? null : k.gpu_ns / total;
  const cell = (v: number | null, text: string) => el("td", v === null ? { class: "n" } : { "data-v": String(v) }, text);
  const rows = kernels.map((k, i) => {
    const mean = k.gpu_ns !== null && k.launches ? k.gpu_ns / k.launches : null;
    const name = el("button", { type: "button", class: "link" }, el("i", { class: "chip", style: `background:${colour(k.class)}` }), nameOf(k));
    name.addEventListener("click", () => { history.replaceState(null, "", `#kernel-${i + 1}`); choose(i); });
    return el("tr", { id: "kernel-" + (i + 1) }, el("th", { scope: "row", title: k.name }, name),
      el("td", {}, k.class), cell(k.gpu_ns, format.ns(k.gpu_ns)), cell(share(k), share(k) === null ? "n/a" : format.percent(k.gpu_ns ?? 0, total)),
      cell(k.launches, format.count(k.launches)), cell(mean, format.ns(mean === null ? null : Math.round(mean))), ...figures.map(([key]) => cell(k[key] ?? null, figure(key, k[key]))), cell(k.min_ns, format.ns(k.min_ns)), cell(k.max_ns, format.ns(k.max_ns)), el("td", {}, histogram(spreads[i])));
  });
  const more = el("p", { class: "note" }), kinds = [...new Set(kernels.map((k) => k.class))], choice = el("select", { "aria-label": "Class of kernels" }, el("option", { value: "" }, "all classes"));
  for (const c of kinds) choice.append(el("option", { value: c }, c));
  const show = () => {
    const word = search.value.toLowerCase(), all = Rows.in(table);
    all.filter((_, i) => (!choice.value || kernels[i].class === choice.value) && [kernels[i].name, kernels[i].class, nameOf(kernels[i])].some((t) => t.toLowerCase().includes(word)));
    more.textContent = all.shown.length < kernels.length ? `${all.shown.length} of ${kernels.length}` : "";
    if (data.kernels_left_out) more.textContent += ` ${format.count(data.kernels_left_out)} smaller ones are not in this page; report.json has them.`;
  };
  search.addEventListener("input", show);
  choice.addEventListener("change", show);
  body.append(...rows);
  const table = el("table", { id: "table-all-kernels" }, el("caption", {}, "All kernels, copies and memsets"), el("thead", {}, head), body);
  intoChapter("kernels", "Kernels", el("div", {}, el("div", { class: "tools" }, search, kinds.length > 1 ? choice : null), chosen, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All kernels" }, table), more));
  show();
  const follow = () => {
    const i = Number(location.hash.match(/^#kernel-(\d+)(?:&at=.*)?$/)?.[1] ?? 0) - 1;
    if (!kernels[i]) return;
    choose(i);
    Rows.in(table).reveal(rows[i]);
    chosen.scrollIntoView({ block: "nearest" });
  };
  window.addEventListener("hashchange", follow);
  follow();
  hideUnknown(table);
  sortable(table);
  tools(table, true);
}
