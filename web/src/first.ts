// SPDX-License-Identifier: Apache-2.0
// The first screen: what ran, cautions, the verdict, one bar of wall time per GPU, and the three largest findings.
import { Finding, Ladder, Raw, Region, Wall } from "./data";
import { Child, el } from "./dom";
import * as format from "./format";
import type { Strip } from "./strip";

export const PARTS: [string, string, (w: Wall) => number][] = [
  ["compute", "#1f6feb", (w) => w.compute_ns],
  ["exposed communication", "#cf222e", (w) => w.exposed_communication_ns],
  ["exposed copies", "#a66f00", (w) => w.exposed_copy_ns],
  ["idle: blocked in a call", "#6e40aa", (w) => w.idle?.blocked_ns ?? 0],
  ["idle: the host came late", "#57606a", (w) => w.idle?.host_ns ?? 0],
  ["idle: queued", "#6b7f3a", (w) => w.idle?.queued_ns ?? 0],
  ["idle: cause unknown", "#7d868f", (w) => w.idle?.unknown_ns ?? 0],
];

function bar(w: Wall, row: number): HTMLElement {
  const box = el("div", { class: "wall", role: "group", "aria-label": PARTS.map(([n, , f]) => `${n} ${format.percent(f(w), w.span_ns)}`).join(", ") });
  for (const [name, colour, of] of PARTS) {
    const share = w.span_ns > 0 ? 100 * of(w) / w.span_ns : 0;
    if (share <= 0) continue;
    box.append(el("span", { style: `width:${share}%;background:${colour}`, title: `${name}: ${format.ns(of(w))}, ${format.percent(of(w), w.span_ns)}`, "data-v": String(of(w)), "data-part": name, id: `wall/${row}/${name.replace(/\W+/g, "_")}`,
      role: "button", tabindex: "0", "aria-label": `${w.scope}, ${name} ${format.percent(of(w), w.span_ns)}, ${format.ns(of(w))}, copy` },
      share > 9 ? format.percent(of(w), w.span_ns) : ""));
  }
  return el("div", { class: "wallrow" }, el("div", {}, w.scope), box, el("div", { class: "dim", "data-v": String(w.span_ns), "data-part": "span", id: `wall/${row}/span`, role: "button", tabindex: "0", "aria-label": `${w.scope}, span ${format.ns(w.span_ns)}, copy` }, format.ns(w.span_ns)));
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

function finding(f: Finding, number: number): HTMLElement {
  const list = el("ul"), item = el("li", { id: `finding-${number}`, "data-id": f.id }, el("b", {}, f.title));
  if (f.where) item.append(el("span", { class: "dim" }, ` in ${f.where}`));
  if (f.saving_ns !== null && f.saving_ns > 0)
    item.append(el("div", {}, f.basis === "measured" ? "At most " : "About ", el("b", { "data-v": String(f.saving_ns), id: `finding/${number}/saving_ns`, role: "button", tabindex: "0", "aria-label": `saving ${format.ns(f.saving_ns)}, copy` }, format.ns(f.saving_ns)),
      f.share === null ? "" : ` (${format.percent(f.share, 1)} of the time)`, ` could be saved${f.within_noise ? "; that is less than repeats of this run differ" : ""}.`));
  if (f.advice) item.append(el("div", {}, f.advice));
  for (const e of f.evidence ?? []) list.append(el("li", {}, evidence(e)));
  item.append(list, el("div", { class: "links" }));
  return item;
}

/** From each finding to its region and to the longest gap that shows it. */
export function linkFindings(data: Raw, trees: { all: Region[]; folded: Region[] }, strip: Strip | undefined): void {
  (data.findings ?? []).forEach((f, i) => {
    const links = document.querySelector(`#finding-${i + 1} .links`), where = String(f.where ?? "");
    const scope = where.match(/(?:^|, )((?:rank:\d+\/)?device:\d+)$/)?.[1], path = where.slice(0, where.length - (scope?.length ?? 0)).replace(/, $/, "");
    const region = path ? trees.folded.find((r) => r.path === path) ?? trees.all.find((r) => r.path === path) : undefined;
    if (region) links?.append(el("a", { href: "#region=" + encodeURIComponent(region.path) }, "show the region"), " ");
    const gap = strip?.gapFor(f.id, scope, path), first = region && !gap ? strip?.firstOf(region) : undefined;
    if (gap) links?.append(el("a", { href: "#gap=" + gap }, "show its longest gap in the timeline"));
    if (first) links?.append(el("a", { href: "#" + first }, "show its first operation in the timeline"));
  });
}

// What ran stands under the title; its chapter goes where it says nothing else.
function whatRan(): void {
  const section = document.getElementById("run"), facts = [...document.querySelectorAll("#run > .fact")], head = document.querySelector("header");
  if (!section || !facts.length || !head) return;
  const all = section.children.length === facts.length + 1;
  head.append(el("div", { class: "ran" }, ...(all ? facts : facts.slice(0, 6).map((f) => f.cloneNode(true)))));
  if (all) { section.remove(); (head.lastElementChild as HTMLElement).id = "run"; }
}

function bars(walls: Wall[]): HTMLElement {
  const box = el("div"), shown = walls.slice(0, 16), legend = el("div");
  shown.forEach((w, i) => box.append(bar(w, i + 1)));
  if (walls.length > shown.length) box.append(el("p", { class: "note" }, "The longest spans are shown; ", el("a", { href: "#ranks" }, `all ${walls.length} GPUs stand beside each other`), " further down."));
  for (const [name, colour, of] of PARTS)
    if (walls.some((w) => of(w) > 0)) legend.append(el("span", { class: "key" }, el("i", { style: `background:${colour}` }), name));
  box.append(legend);
  return box;
}

/** From today to the floor: a bar that gets shorter with each change. */
function ladder(l: Ladder): HTMLElement {
  const box = el("div", { class: "ladder", role: "list", "aria-label": "From the measured time down to the floor" });
  const row = (label: Child, ns: number, saved: number, kind: string, id: string) => box.append(el("div", { class: "rung " + kind, role: "listitem" }, el("div", { class: "what" }, label),
    el("div", { class: "track" }, el("i", { class: "left", style: `width:${100 * ns / l.window_ns}%` }), saved > 0 ? el("i", { class: "saved", style: `width:${100 * saved / l.window_ns}%` }) : null),
    el("div", { class: "dim", "data-v": String(ns), id: `ladder/${id}`, role: "button", tabindex: "0", "aria-label": `${id}, ${format.ns(ns)}, copy` }, format.ns(ns))));
  if (!(l.window_ns > 0)) return box;
  row("today", l.window_ns, 0, "today", "today");
  l.rungs.forEach((r, i) => row(el("a", { href: `#finding-${i + 1}` }, r.title), r.after_ns, r.saving_ns, "step", `after-${i + 1}`));
  if (l.floor_ns !== null) row(`floor: ${l.floor_basis ?? ""}`, l.floor_ns, 0, "floor", "floor");
  return box;
}

export function first(data: Raw): void {
  const walls = data.wall ?? [], findings = data.findings ?? [], main = document.querySelector("main") as HTMLElement;
  whatRan();
  if (!walls.length && !findings.length && !data.cautions?.length) return;
  const section = document.getElementById("findings") ?? el("section", { id: "findings" }, el("h2", {}, "What to do first"));
  const text = el("details", {}, el("summary", {}, "The same as text")), view = el("div");
  text.append(...[...section.childNodes].filter((n) => !(n instanceof HTMLHeadingElement)));
  section.classList.add("first");
  for (const c of data.cautions ?? []) view.append(el("p", { class: "warning" }, el("b", {}, "Caution: "), c.title));
  if (data.verdict) view.append(el("p", { class: "verdict" }, data.verdict));
  if (data.ladder?.rungs.length) view.append(ladder(data.ladder));
  if (walls.length) view.append(bars(walls));
  if (findings.length) {
    const list = el("ol", { class: "findings" });
    findings.slice(0, 3).forEach((f, i) => list.append(finding(f, i + 1)));
    view.append(list);
    if (findings.length > 3) {
      const rest = el("ol", { class: "findings", start: "4" });
      findings.slice(3).forEach((f, i) => rest.append(finding(f, i + 4)));
      view.append(el("details", {}, el("summary", {}, findings.length === 4 ? "1 more finding" : `${findings.length - 3} more findings`), rest));
    }
  }
  for (const remark of data.remarks ?? []) view.append(el("p", { class: "note" }, remark));
  section.append(view, text);
  main.prepend(section);
}

/** One line that stays in sight: how much of the GPU time the regions hold, and what is missing. */
export function coverage(data: Raw): HTMLElement | null {
  const c = data.coverage;
  if (!c) return null;
  const total = (c.in_regions.gpu_ns ?? 0) + (c.outside.gpu_ns ?? 0) + (c.no_launch_record.gpu_ns ?? 0), said: string[] = [];
  if (total > 0) said.push(`${format.percent(c.in_regions.gpu_ns ?? 0, total)} of kernel time in regions`);
  if (c.no_launch_record.launches) said.push(`${format.count(c.no_launch_record.launches)} kernels without a launch record`);
  if (c.kernels_without_duration) said.push(`${format.count(c.kernels_without_duration)} without a duration`);
  const warnings = (data.notes ?? []).filter((n) => n.level === "warning").length;
  if (warnings) said.push(warnings === 1 ? "1 warning" : `${warnings} warnings`);
  return said.length ? el("a", { href: "#coverage", class: "covered" }, said.join(" \u00b7 ")) : null;
}
