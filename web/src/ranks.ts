// SPDX-License-Identifier: Apache-2.0
// Ranks beside each other: a row each, a bar for each part of the wall time on a scale that all share, the median as a
// line. And collectives: how much of their time was exposed. Both stand above the table that they draw.
import { Raw, Wall } from "./data";
import { el } from "./dom";
import { PARTS } from "./first";
import * as format from "./format";

const MOST = 256;

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] ?? 0;

// The idle time as one column: its causes are in the bars of the first screen.
const COLUMNS: [string, string, (w: Wall) => number][] = [...PARTS.slice(0, 3), ["idle", "#57606a", (w) => w.idle_ns]];

function cell(w: Wall, row: number, [name, colour, of]: typeof COLUMNS[number], most: number, middle: number, span: number): HTMLElement {
  const ns = of(w), by = ns - middle, odd = Math.abs(by) >= 0.05 * span;
  const bar = el("span", { class: "beside" + (odd ? " odd" : "") }, el("i", { style: `width:${most ? 100 * ns / most : 0}%;background:${colour}` }), el("u", { style: `left:${most ? 100 * middle / most : 0}%` }));
  return el("td", { "data-v": String(ns), id: `ranks/${row}/${name.replace(/\W+/g, "_")}`, title: `${w.scope}, ${name}: ${format.ns(ns)}, ${by < 0 ? "\u2212" : "+"}${format.ns(Math.abs(by))} from the median` }, format.ns(ns), bar);
}

export function ranks(data: Raw): void {
  const section = document.getElementById("ranks"), walls = (data.wall ?? []).filter((w) => w.compute_ns !== null);
  if (!section || walls.length < 2) return;
  const shown = COLUMNS.filter(([, , of]) => walls.some((w) => of(w) > 0)), head = el("tr", {}, el("th", { scope: "col" }, "GPU"), el("th", { scope: "col", class: "n", "data-key": "span" }, "span")), body = el("tbody");
  const middles = shown.map(([, , of]) => median(walls.map(of))), mosts = shown.map(([, , of]) => Math.max(...walls.map(of))), span = median(walls.map((w) => w.span_ns));
  for (const [name] of shown) head.append(el("th", { scope: "col", class: "n", "data-key": name.replace(/\W+/g, "_") }, name));
  // by rank, so that a neighbour on the page is a neighbour in the machine
  const order = new Intl.Collator("en", { numeric: true }), rows = [...walls].sort((a, b) => order.compare(a.scope, b.scope)).slice(0, MOST);
  rows.forEach((w, i) => {
    const tr = el("tr", {}, el("th", { scope: "row" }, w.scope), el("td", { "data-v": String(w.span_ns) }, format.ns(w.span_ns)));
    shown.forEach((c, k) => tr.append(cell(w, i + 1, c, mosts[k], middles[k], span)));
    body.append(tr);
  });
  const table = el("table", { id: "table-beside", class: "besides" }, el("caption", {}, "Each part on one scale; the line is the median, a frame marks what differs from it by 5 % of the span"), el("thead", {}, head), body);
  const text = el("details", {}, el("summary", {}, "The same as text and tables"));
  // up to the next heading: what follows it is another matter
  const nodes = [...section.childNodes], next = nodes.findIndex((n) => n instanceof HTMLHeadingElement && n.tagName === "H3"), after = next < 0 ? null : nodes[next];
  text.append(...nodes.slice(0, next < 0 ? nodes.length : next).filter((n) => !(n instanceof HTMLHeadingElement)));
  const put = (...all: HTMLElement[]) => all.forEach((e) => section.insertBefore(e, after));
  put(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ranks beside each other" }, table), text);
  if (walls.length > MOST) put(el("p", { class: "note" }, `${walls.length - MOST} more are in report.json.`));
}

/** In the table of collectives: exposed time as a part of the time. */
export function collectives(): void {
  const table = document.getElementById("table-collectives") as HTMLTableElement | null, keys = [...(table?.tHead?.rows[0]?.cells ?? [])].map((c) => c.dataset.key);
  const time = keys.indexOf("gpu_ns"), exposed = keys.indexOf("exposed_ns"), rows = [...(table?.tBodies[0]?.rows ?? [])];
  const most = Math.max(1, ...rows.map((r) => Number(r.cells[time]?.dataset.v ?? 0)));
  for (const r of rows) {
    const all = Number(r.cells[time]?.dataset.v ?? 0), bare = Number(r.cells[exposed]?.dataset.v ?? 0);
    r.cells[time]?.append(el("span", { class: "beside", title: `exposed ${format.percent(bare, all)}` }, el("i", { style: `width:${100 * all / most}%;background:#8c959f` }), el("i", { class: "over", style: `width:${100 * bare / most}%;background:#cf222e` })));
  }
  if (rows.length) table?.parentElement?.after(el("div", {}, ...[["#cf222e", "exposed"], ["#8c959f", "beside compute"]].map(([colour, name]) => el("span", { class: "key" }, el("i", { style: `background:${colour}` }), name))));
}
