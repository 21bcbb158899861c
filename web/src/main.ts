// SPDX-License-Identifier: Apache-2.0
// The page: the first screen, then views at the head of the chapters that they belong to. Without this script the page
// has the same chapters as text.
import { Raw, Region, charts, operations, raw, regions } from "./data";
import { el } from "./dom";
import { coverage, first, linkFindings } from "./first";
import { Icicle } from "./icicle";
import { kernelTable } from "./kernels";
import { figures } from "./figures";
import { Strip } from "./strip";
import { drawCharts } from "./charts";
import { heat } from "./heat";
import { collectives, ranks } from "./ranks";
import { address, addressOf, hideUnknown, sortable } from "./tables";

declare global { interface Window { lpo?: { ready: boolean; readyAt?: number; strip?: Strip; addressOf?: (cell: HTMLElement) => string; icicle?: Icicle; trees?: { all: Region[]; folded: Region[] } } } }

function theme(): HTMLElement {
  const root = document.documentElement, dark = () => root.classList.contains("dark");
  if (matchMedia("(prefers-color-scheme: dark)").matches) root.classList.add("dark");
  const button = el("button", { class: "plain", type: "button" }, "light / dark");
  button.addEventListener("click", () => { root.classList.toggle("dark", !dark()); window.dispatchEvent(new Event("resize")); window.lpo?.strip?.draw(); });
  return button;
}

function navigation(data: Raw): void {
  const bar = el("div");
  for (const s of document.querySelectorAll("main > section")) {
    const title = s.querySelector("h2")?.textContent;
    if (title && s.id) bar.append(el("a", { href: "#" + s.id }, title.length > 28 ? title.slice(0, 27) + "…" : title));
  }
  bar.append(el("span", { class: "end" }, coverage(data), theme()));
  document.querySelector("header")?.after(el("nav", { "aria-label": "Chapters" }, bar));
}

async function start(): Promise<void> {
  const data = raw();
  window.lpo = { ready: false, addressOf };
  first(data);
  for (const t of document.querySelectorAll<HTMLTableElement>("main table[id]")) { hideUnknown(t); sortable(t); }
  const [trees, lanes] = await Promise.all([regions(data), operations(data)]);
  window.lpo.trees = trees;
  const icicle = window.lpo.icicle = trees.all.length ? new Icicle(trees, data) : undefined;
  if (lanes.length) window.lpo.strip = new Strip(lanes, data, trees.all, (r) => icicle?.open(r.fold ?? r));
  kernelTable(data, lanes, trees);
  linkFindings(data, trees, window.lpo.strip);
  ranks(data);
  await heat(data);
  collectives();
  drawCharts(data, await charts(data), window.lpo.strip);
  figures();
  navigation(data);
  address();
  window.lpo.readyAt = performance.now();
  window.lpo.ready = true;
}

start().catch((e) => {
  // the text of the report is all there; say why the views are not
  document.querySelector("main")?.prepend(el("p", { class: "note" }, `The views of this page need a newer browser (${e}). The text below is complete.`));
});
