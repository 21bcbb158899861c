// SPDX-License-Identifier: Apache-2.0
// The first screen: the verdict, one bar of wall time per GPU, and the three largest findings.
import { Finding, Raw, Wall } from "./data";
import { el } from "./dom";
import * as format from "./format";

export const PARTS: [string, string, (w: Wall) => number][] = [
  ["compute", "#1f6feb", (w) => w.compute_ns],
  ["exposed communication", "#cf222e", (w) => w.exposed_communication_ns],
  ["exposed copies", "#a66f00", (w) => w.exposed_copy_ns],
  ["idle: blocked in a call", "#6e40aa", (w) => w.idle?.blocked_ns ?? 0],
  ["idle: the host came late", "#57606a", (w) => w.idle?.host_ns ?? 0],
  ["idle: queued", "#6b7f3a", (w) => w.idle?.queued_ns ?? 0],
  ["idle: cause unknown", "#7d868f", (w) => w.idle?.unknown_ns ?? 0],
];

function bar(w: Wall): HTMLElement {
  const box = el("div", { class: "wall", role: "img", "aria-label": PARTS.map(([n, , f]) => `${n} ${format.percent(f(w), w.span_ns)}`).join(", ") });
  for (const [name, colour, of] of PARTS) {
    const share = w.span_ns > 0 ? 100 * of(w) / w.span_ns : 0;
    if (share <= 0) continue;
    box.append(el("span", { style: `width:${share}%;background:${colour}`, title: `${name}: ${format.ns(of(w))}, ${format.percent(of(w), w.span_ns)}` },
      share > 9 ? format.percent(of(w), w.span_ns) : ""));
  }
  return el("div", { class: "wallrow" }, el("div", {}, w.scope), box, el("div", { class: "dim" }, format.ns(w.span_ns)));
}

function evidence(e: unknown): string {
  if (typeof e === "string") return e;
  if (e && typeof e === "object") {
    const o = e as Record<string, unknown>;
    if (typeof o.text === "string") return o.text;
    return Object.entries(o).map(([k, v]) => `${k} ${v}`).join(", ");
  }
  return String(e);
}

function finding(f: Finding): HTMLElement {
  const saving = f.saving_ns === null || f.saving_ns === undefined || f.saving_ns <= 0 ? ""
    : ` ${f.basis === "measured" ? "" : "about "}${format.ns(f.saving_ns)}${f.share ? ` (${format.percent(f.share, 1)})` : ""} could be saved`;
  const where = typeof f.where === "string" && f.where ? f.where : "";
  const list = el("ul");
  for (const e of f.evidence ?? []) list.append(el("li", {}, evidence(e)));
  return el("li", { id: "finding-" + f.id }, el("b", {}, f.title), where ? el("span", { class: "dim" }, ` in ${where}`) : null,
    saving ? el("div", {}, saving.trim() + ".") : null, f.advice ? el("div", {}, f.advice) : null, list);
}

export function first(data: Raw): void {
  const walls = data.wall ?? [], findings = data.findings ?? [];
  if (!walls.length && !findings.length) return;
  const section = el("section", { id: "first", "aria-label": "Overview" });
  if (data.verdict) section.append(el("p", { class: "verdict" }, data.verdict));
  else if (walls.length) {
    const w = walls[0], busy = w.span_ns - w.idle_ns;
    section.append(el("p", { class: "verdict" }, `${w.scope} was busy for ${format.percent(busy, w.span_ns)} of ${format.ns(w.span_ns)}.`));
  }
  const shown = walls.slice(0, 16);
  for (const w of shown) section.append(bar(w));
  if (walls.length > shown.length) section.append(el("p", { class: "note" }, `${walls.length - shown.length} more GPUs are in report.json.`));
  if (walls.length) {
    const legend = el("div");
    for (const [name, colour, of] of PARTS)
      if (walls.some((w) => of(w) > 0)) legend.append(el("span", { class: "key" }, el("i", { style: `background:${colour}` }), name));
    section.append(legend);
  }
  if (findings.length) {
    const list = el("ol", { class: "findings" });
    for (const f of findings.slice(0, 3)) list.append(finding(f));
    section.append(el("h3", {}, "What to do first"), list);
    if (findings.length > 3) {
      const rest = el("ol", { class: "findings", start: "4" });
      for (const f of findings.slice(3)) rest.append(finding(f));
      section.append(el("details", {}, el("summary", {}, `${findings.length - 3} more findings`), rest));
    }
  }
  const main = document.querySelector("main") as HTMLElement;
  main.prepend(section);
}
