// SPDX-License-Identifier: Apache-2.0
// Power, clocks, temperature and memory over time, from samples of NVML. Times in which a stage ran are shaded.
import { Raw, Samples } from "./data";
import { el } from "./dom";
import * as format from "./format";

const CHARTS: [string, (v: number) => string][] = [
  ["Power", (v) => `${(v / 1000).toFixed(1)}\u00a0W`],
  ["SM clock", (v) => `${format.count(v)}\u00a0MHz`],
  ["Memory clock", (v) => `${format.count(v)}\u00a0MHz`],
  ["Temperature", (v) => `${v}\u00a0\u00b0C`],
  ["Memory in use", format.bytes],
  ["GPU in use", (v) => `${v}\u00a0%`],
];
const LINES = ["#1f6feb", "#cf222e", "#2da44e", "#a66f00", "#8250df", "#0e7490", "#bf3989", "#6e7781"];
const WIDE = 1000, HIGH = 100;

function shape<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
}

function chart(data: Raw, gpus: Samples[], column: number): HTMLElement | null {
  const [title, words] = CHARTS[column], span = data.samples?.span_ns || 1;
  const known = gpus.flatMap((g) => g.values[column].filter((v): v is number => v !== null));
  if (!known.length) return null;
  let most = 0, least = Infinity;
  for (const v of known) { most = Math.max(most, v); least = Math.min(least, v); }
  const range = `${words(least)} to ${words(most)}`;
  const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", tabindex: "0", "aria-label": `${title} over ${format.ns(span)}: ${range}. Arrow keys walk over the samples.` });
  for (const s of data.samples?.stages ?? []) svg.append(shape("rect", { x: String(WIDE * s.at_ns / span), width: String(Math.max(1, WIDE * s.ns / span)), y: "0", height: String(HIGH) }));
  gpus.forEach((g, i) => {
    let path = "", pen = "M";
    g.values[column].forEach((v, k) => {
      if (v === null) { pen = "M"; return; }
      path += `${pen}${(WIDE * g.at[k] / span).toFixed(1)} ${(HIGH - 4 - (HIGH - 8) * v / (most || 1)).toFixed(1)}`;
      pen = "L";
    });
    svg.append(shape("path", { d: path, stroke: LINES[i % LINES.length] }));
  });
  const cursor = shape("line", { y1: "0", y2: String(HIGH), visibility: "hidden" }), said = el("span", { class: "dim", role: "status" }, range);
  svg.append(cursor);
  let at = 0;
  const show = (i: number) => {
    const first = gpus[0];
    at = Math.max(0, Math.min(first.at.length - 1, i));
    const x = String(WIDE * first.at[at] / span), stage = (data.samples?.stages ?? []).find((s) => first.at[at] >= s.at_ns && first.at[at] < s.at_ns + s.ns)?.name;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    said.textContent = `at ${format.ns(first.at[at])}${stage ? ` (${stage})` : ""}: ` + gpus.map((g) => {
      const v = g.values[column][at]; // GPUs are sampled together
      return (gpus.length > 1 ? `GPU ${g.gpu} ` : "") + (v === null || v === undefined ? "n/a" : words(v));
    }).join(", ");
  };
  svg.addEventListener("pointermove", (e) => {
    const time = e.offsetX / svg.clientWidth * span, next = gpus[0].at.findIndex((t) => t >= time);
    show(next < 0 ? gpus[0].at.length - 1 : next);
  });
  svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); said.textContent = range; });
  svg.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step) { e.preventDefault(); show(at + step); }
  });
  return el("div", { class: "chart", "data-chart": title }, el("b", {}, title), " ", said, svg);
}

export function charts(data: Raw, gpus: Samples[]): void {
  const section = document.getElementById("power"), box = el("div", { class: "charts" });
  if (!section || !gpus.length || !gpus[0].at.length) return;
  CHARTS.forEach((_, i) => { const c = chart(data, gpus, i); if (c) box.append(c); });
  section.querySelector("h2")?.after(box);
  if (gpus.length > 1) {
    const legend = el("div");
    gpus.forEach((g, i) => legend.append(el("span", { class: "key" }, el("i", { style: `background:${LINES[i % LINES.length]}` }), `GPU ${g.gpu}`)));
    box.after(legend);
  }
  if (gpus[0].every > 1) box.after(el("p", { class: "note" }, `One sample of ${gpus[0].every} is drawn.`));
}
