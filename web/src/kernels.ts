// SPDX-License-Identifier: Apache-2.0
// Every kernel: search, sort, class colours, and how its durations are spread.
import { Kernel, Operations, Raw, colour, nameOf } from "./data";
import { el, intoChapter } from "./dom";
import * as format from "./format";
import { sortable } from "./tables";

const BINS = 16, SHOWN = 300;

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

export function kernelTable(data: Raw, lanes: Operations[]): void {
  const kernels = data.kernels ?? [];
  if (!kernels.length) return;
  const total = kernels.reduce((s, k) => s + (k.gpu_ns ?? 0), 0), spreads = spread(kernels, lanes);
  const head = el("tr"), body = el("tbody"), search = el("input", { type: "search", placeholder: "find a kernel or class", "aria-label": "Find a kernel" });
  for (const [key, title] of [["name", "Kernel"], ["class", "Class"], ["gpu_ns", "GPU time"], ["share", "Share"], ["launches", "Launches"], ["mean", "Mean"], ["min_ns", "Min"], ["max_ns", "Max"], ["spread", "Spread"]])
    head.append(el("th", { scope: "col", "data-key": key, ...(key === "name" || key === "class" || key === "spread" ? {} : { class: "n" }) }, title));
  const cell = (v: number | null, text: string) => el("td", v === null ? {} : { "data-v": String(v) }, text);
  const rows = kernels.map((k, i) => {
    const mean = k.gpu_ns !== null && k.launches ? k.gpu_ns / k.launches : null;
    return el("tr", { id: "kernel-" + (i + 1) }, el("th", { scope: "row", title: k.name }, el("i", { class: "chip", style: `background:${colour(k.class)}` }), nameOf(k)),
      el("td", {}, k.class), cell(k.gpu_ns, format.ns(k.gpu_ns)), cell(k.gpu_ns === null ? null : k.gpu_ns / (total || 1), k.gpu_ns === null ? "n/a" : format.percent(k.gpu_ns, total)),
      cell(k.launches, format.count(k.launches)), cell(mean, format.ns(mean === null ? null : Math.round(mean))), cell(k.min_ns, format.ns(k.min_ns)), cell(k.max_ns, format.ns(k.max_ns)), el("td", {}, histogram(spreads[i])));
  });
  const more = el("p", { class: "note" });
  const show = () => {
    const word = search.value.toLowerCase();
    let n = 0;
    rows.forEach((r, i) => {
      const hit = !word || kernels[i].name.toLowerCase().includes(word) || kernels[i].class.toLowerCase().includes(word) || nameOf(kernels[i]).toLowerCase().includes(word);
      r.hidden = !hit || n >= SHOWN;
      n += hit ? 1 : 0;
    });
    more.textContent = n > SHOWN ? `${SHOWN} of ${n} are shown; search for the others.` : `${n} of ${kernels.length} are shown.`;
  };
  search.addEventListener("input", show);
  body.append(...rows);
  const table = el("table", { id: "table-all-kernels" }, el("caption", {}, "All kernels, copies and memsets"), el("thead", {}, head), body);
  intoChapter("kernels", "Kernels", el("div", {}, el("div", { class: "tools" }, search), el("div", { class: "scroll", tabindex: "0" }, table), more));
  show();
  sortable(table);
}
