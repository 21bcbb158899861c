// SPDX-License-Identifier: Apache-2.0
// The page as views: chapters are sorted into a few, one of which is shown. A rail and the keys 1 to 9 choose, `/`
// finds, `?` shows the keys. The address says what is seen: #kernels, #kernels&find=gemm, or the address of a thing in
// a view (#region=decode, #table-kernels/3/gpu_ns), which shows its view first.
import { Raw } from "./data";
import { el } from "./dom";
import { Found, find } from "./find";
import { coverage } from "./first";

const VIEWS: [id: string, title: string, chapters: RegExp, addresses?: RegExp][] = [
  ["overview", "Overview", /^(findings|wall|critical_path|queue|limits|summary)$/],
  ["timeline", "Timeline", /^(timeline|idle|windows)$/, /^(gap|operation|from)=/],
  ["flame", "Flame", /^(stacks|regions|modules|numbers|energy)$/, /^(region|stack)=/],
  ["kernels", "Kernels", /^(all|kernels|kernel_roofline|ncu_rules|classes|copies|fusion|operator_kernels)$/],
  ["operators", "Operators", /^(operators|shapes)$/],
  ["steps", "Steps", /^(steps|requests|speed|figures)$/],
  ["ranks", "Ranks", /^(ranks|rank_.*|arrivals|imbalance|collectives|heat)$/],
  ["memory", "Memory", /^memory/],
  ["counters", "Counters", /^(counters|power|each|scopes)$/],
  ["run", "Run", /./],
];

const KEYS: [string, string][] = [
  ["1 … 9, 0", "the views, in the order of the rail"], ["/", "find a region, kernel, operator or line of code"], ["?", "these keys"],
  ["d", "dark or light"], ["Tab, Enter", "walk over what can be used, and use it"], ["+ − 0 ← →", "in the timeline: zoom, all, move"],
  ["N P", "in the timeline: the next operation, the one before"], ["arrow keys, Enter, L", "in a table: walk, copy the number, copy its link"],
];

let shown = "";

function viewOf(address: string): string {
  const word = address.split("&")[0];
  if (VIEWS.some((v) => v[0] === word)) return word;
  const linked = VIEWS.find((v) => v[3]?.test(word));
  if (linked) return linked[0];
  let at: Element | null = null;
  try { at = document.getElementById(decodeURIComponent(word)); } catch { /* not an address of ours */ }
  return at?.closest<HTMLElement>(".view")?.dataset.view ?? "";
}

/** Shows a view; the address stays. */
export function show(id: string): void {
  if (!id || id === shown || !document.getElementById("view-" + id)) return;
  shown = id;
  for (const v of document.querySelectorAll<HTMLElement>(".view")) v.hidden = v.dataset.view !== id;
  for (const a of document.querySelectorAll("nav a.to")) a.toggleAttribute("aria-current", (a as HTMLElement).dataset.view === id);
  scrollTo({ top: 0, behavior: "instant" });
  window.dispatchEvent(new Event("resize"));
}

function to(address: string): void {
  if (location.hash === "#" + address) follow(); else location.hash = address;
}

function follow(): void {
  const address = location.hash.slice(1);
  show(address ? viewOf(address) || (shown ? "" : "overview") : "overview");
}

/** Sorts the chapters into views, in their order; a view without a chapter is not there. */
export function sortIntoViews(): void {
  const main = document.querySelector("main") as HTMLElement, chapters = [...document.querySelectorAll<HTMLElement>("main > section")];
  for (const [id, title, mine] of VIEWS) {
    const view = el("div", { class: "view", id: "view-" + id, "data-view": id, role: "region", "aria-label": title, hidden: "" });
    view.append(...chapters.filter((s) => VIEWS.find((v) => v[2].test(s.id))?.[2] === mine));
    if (view.children.length) main.append(view);
  }
  main.querySelector<HTMLElement>("#view-overview #findings")?.parentElement?.prepend(document.getElementById("findings") as HTMLElement);
}

function dialog(name: string, ...children: (Node | string)[]): HTMLDialogElement {
  const d = el("dialog", { "aria-label": name }, ...children);
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => { if (e.target === d) d.close(); });
  document.body.append(d);
  d.showModal();
  return d;
}

function help(): void {
  const list = el("dl", { class: "keys" });
  for (const [keys, what] of KEYS) list.append(el("dt", {}, el("kbd", {}, keys)), el("dd", {}, what));
  const close = el("button", { class: "plain", type: "button" }, "close");
  const d = dialog("Keys", el("h2", {}, "Keys"), list, close);
  close.addEventListener("click", () => d.close());
}

/** A line to type into, and what it finds in every view. */
function palette(things: () => Found[]): void {
  const input = el("input", { type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "found", "aria-label": "Find in every view", placeholder: "region, kernel, operator or line" });
  const list = el("ul", { id: "found", role: "listbox", "aria-label": "Found" }), count = el("p", { class: "note", role: "status" });
  const d = dialog("Find", input, list, count), all = things();
  let hits: Found[] = [], at = 0;
  const choose = (i: number) => { const h = hits[i]; d.close(); if (h) to(h.address); };
  const mark = () => [...list.children].forEach((li, i) => {
    li.setAttribute("aria-selected", String(i === at));
    if (i === at) { li.scrollIntoView({ block: "nearest" }); input.setAttribute("aria-activedescendant", li.id); }
  });
  const draw = () => {
    const found = find(all, input.value);
    [hits, at] = [found.slice(0, 40), 0];
    list.replaceChildren(...hits.map((h, i) => {
      const li = el("li", { role: "option", id: "found-" + i, "data-address": h.address }, el("span", { class: "dim" }, h.kind), " ", h.name);
      li.addEventListener("click", () => choose(i));
      return li;
    }));
    count.textContent = found.length > hits.length ? `${hits.length} of ${found.length} found` : `${found.length} found`;
    mark();
  };
  input.addEventListener("input", draw);
  input.addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) { at = Math.max(0, Math.min(hits.length - 1, at + by)); mark(); e.preventDefault(); }
    if (e.key === "Enter") { e.preventDefault(); choose(at); }
  });
  draw();
  input.focus();
}

// What a visitor chose is remembered where the browser lets a page do so.
const kept = (): string | null => { try { return localStorage.getItem("lpo-theme"); } catch { return null; } };

function turn(dark: boolean, keep: boolean): void {
  document.documentElement.classList.toggle("dark", dark);
  if (keep) try { localStorage.setItem("lpo-theme", dark ? "dark" : "light"); } catch { /* not remembered */ }
  window.dispatchEvent(new Event("resize"));
  window.lpo?.strip?.draw();
}

const isDark = (): boolean => document.documentElement.classList.contains("dark");

/** Before anything is drawn. */
export function chooseTheme(): void {
  turn(kept() ? kept() === "dark" : matchMedia("(prefers-color-scheme: dark)").matches, false);
}

export function rail(data: Raw, things: () => Found[]): void {
  const list = el("div", { class: "views" }), theme = el("button", { class: "plain", type: "button" }, "light / dark");
  const search = el("button", { class: "plain", type: "button", "aria-keyshortcuts": "/" }, "find  /"), keys = el("button", { class: "plain", type: "button", "aria-label": "Keys" }, "?");
  const there = VIEWS.filter((v) => document.getElementById("view-" + v[0]));
  there.forEach(([id, title], i) => list.append(el("a", { class: "to", href: "#" + id, "data-view": id }, el("kbd", { "aria-hidden": "true" }, String((i + 1) % 10)), title)));
  theme.addEventListener("click", () => turn(!isDark(), true));
  search.addEventListener("click", () => palette(things));
  keys.addEventListener("click", help);
  document.querySelector("main")?.before(el("nav", { "aria-label": "Views" }, list, el("div", { class: "end" }, search, theme, keys, coverage(data))));
  document.addEventListener("keydown", (e) => {
    const at = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || at.closest("input, select, textarea, dialog, canvas")) return;
    const view = /^\d$/.test(e.key) ? there[(Number(e.key) + 9) % 10] : undefined;
    const act = view ? () => to(view[0]) : ({ "/": () => palette(things), "?": help, d: () => turn(!isDark(), true) } as Record<string, () => void>)[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  window.addEventListener("hashchange", follow);
  follow();
}
