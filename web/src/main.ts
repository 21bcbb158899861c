// SPDX-License-Identifier: Apache-2.0
// The page: the first screen, then views at the head of the chapters that they belong to. Without this script the page
// has the same chapters as text.
import { Region, buckets, charts, compare, operations, raw, regions, stacks, threads } from "./data";
import { el } from "./dom";
import { Found, findable } from "./find";
import { first, linkFindings } from "./first";
import { Flame } from "./flame";
import { Icicle, hasWidth } from "./icicle";
import { kernelTable } from "./kernels";
import { figures } from "./figures";
import { Strip } from "./strip";
import { drawCharts } from "./charts";
import { followRun } from "./served";
import { heat } from "./heat";
import { collectives, ranks } from "./ranks";
import { Rows, address, addressOf, hideUnknown, sortable, tools } from "./tables";
import { Threads } from "./threads";
import { chooseTheme, rail, sortIntoViews } from "./views";

declare global { interface Window { lpo?: { ready: boolean; readyAt?: number; strip?: Strip; flame?: Flame; addressOf?: (cell: HTMLElement) => string; rows?: (table: HTMLTableElement) => Rows; icicle?: Icicle; trees?: { all: Region[]; folded: Region[] } } } }

async function start(): Promise<void> {
  const data = raw();
  window.lpo = { ready: false, addressOf, rows: (t) => Rows.in(t) };
  chooseTheme();
  first(data);
  for (const t of document.querySelectorAll<HTMLTableElement>("main table[id]")) { hideUnknown(t); sortable(t); tools(t, false); }
  if (data.a && data.b) {
    const both = compare(...await Promise.all([stacks(data.a), stacks(data.b)]));
    if (both.length) window.lpo.flame = new Flame(both, data, true);
    address();
    window.lpo.ready = true;
    return;
  }
  const [trees, lanes, nodes, slices, sums] = await Promise.all([regions(data), operations(data), stacks(data), threads(data), buckets(data)]);
  window.lpo.trees = trees;
  const icicle = window.lpo.icicle = hasWidth(trees.all) ? new Icicle(trees, data) : undefined;
  const flame = window.lpo.flame = nodes.length ? new Flame(nodes, data) : undefined;
  if (lanes.length || slices.length) window.lpo.strip = new Strip(lanes, data, trees.all, new Threads(slices, data), sums, (r) => { location.hash = "region=" + encodeURIComponent((r.fold ?? r).path); });
  kernelTable(data, lanes, trees);
  linkFindings(data, trees, window.lpo.strip);
  ranks(data);
  await heat(data);
  collectives();
  drawCharts(data, await charts(data), window.lpo.strip);
  figures();
  sortIntoViews();
  address();
  let found: Found[] | undefined;
  rail(data, () => found ??= findable(data, trees, flame));
  followRun(data);
  window.lpo.readyAt = performance.now();
  window.lpo.ready = true;
}

start().catch((e) => {
  // the text of the report is all there; say why the views are not
  document.querySelector("main")?.prepend(el("p", { class: "note" }, `The views of this page need a newer browser (${e}). The text below is complete.`));
});
