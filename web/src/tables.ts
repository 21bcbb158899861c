// SPDX-License-Identifier: Apache-2.0
// Every table can be sorted; every number can be copied and has an address of its own: #table-kernels/3/gpu_ns in a
// table, #region=decode&at=gpu in a panel that changes. By mouse a click copies the number and Shift with it the link;
// by keyboard arrow keys walk over the cells of a table, Enter copies and L copies the link.
import { copy, el } from "./dom";

const FIRST = 40, MORE = 200; // rows

/** The rows of a table, all of them, in a window of its own: as many are drawn as one scrolls to. */
export class Rows {
  private static readonly of = new WeakMap<HTMLTableElement, Rows>();
  readonly all: HTMLTableRowElement[];
  shown: HTMLTableRowElement[]; // those that no filter hides, sorted
  private order: HTMLTableRowElement[];
  private hit: (r: HTMLTableRowElement, i: number) => boolean = () => true;
  private drawn = 0;
  private readonly at: Map<HTMLTableRowElement, number>; // where each stands in `all`
  private readonly end = el("p", { class: "note end", role: "status" });

  static in(table: HTMLTableElement): Rows {
    const there = Rows.of.get(table) ?? new Rows(table);
    Rows.of.set(table, there);
    return there;
  }

  private constructor(private table: HTMLTableElement) {
    const box = table.closest<HTMLElement>(".scroll"), rest = box?.nextElementSibling, cut = rest?.nextElementSibling as HTMLElement | null;
    this.all = [...(table.tBodies[0]?.rows ?? [])];
    if (rest instanceof HTMLTemplateElement) {
      this.all.push(...rest.content.querySelectorAll("tr"));
      if (cut?.dataset.rows === String(this.all.length)) cut.remove();
      else if (cut?.dataset.rows) cut.textContent = `${this.all.length} of ${cut.dataset.rows} rows are in this page; the JSON report has all.`;
      rest.remove();
    }
    this.shown = this.order = this.all;
    this.at = new Map(this.all.map((r, i) => [r, i]));
    if (!box || this.all.length <= FIRST) { this.drawn = this.all.length; table.tBodies[0]?.append(...this.all); return; }
    box.classList.add("tall");
    box.append(this.end);
    this.put();
    new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting)) this.draw(this.drawn + MORE); }, { root: box, rootMargin: "300px" }).observe(this.end);
  }

  private draw(upto: number): void {
    this.table.tBodies[0].append(...this.shown.slice(this.drawn, upto));
    this.drawn = Math.min(this.shown.length, Math.max(this.drawn, upto));
    const left = this.shown.length - this.drawn;
    this.end.textContent = left > 0 ? `${left} more rows below` : "";
  }

  private put(): void {
    this.shown = this.order.filter((r) => this.hit(r, this.at.get(r) ?? 0));
    this.table.tBodies[0].replaceChildren();
    this.drawn = 0;
    this.draw(FIRST);
  }

  sort(before: (a: HTMLTableRowElement, b: HTMLTableRowElement) => number): void { this.order = [...this.all].sort(before); this.put(); }

  filter(hit: (r: HTMLTableRowElement, i: number) => boolean): void { this.hit = hit; this.put(); }

  /** Draws a row, whatever hides it. */
  reveal(row: HTMLTableRowElement): void {
    if (!this.shown.includes(row)) this.filter(() => true);
    this.draw(this.shown.indexOf(row) + MORE);
  }

  /** The row that stands so many below another. */
  from(row: HTMLTableRowElement, by: number): HTMLTableRowElement | undefined {
    const i = this.shown.indexOf(row) + by;
    if (i >= this.drawn) this.draw(this.drawn + MORE);
    return this.shown[i];
  }
}

/** Columns in which nothing is known take room from the others. */
export function hideUnknown(table: HTMLTableElement): void {
  const head = table.tHead?.rows[0], rows = Rows.in(table).all;
  [...(head?.cells ?? [])].forEach((_, c) => {
    if (!rows.length || !rows.every((r) => r.cells[c]?.textContent === "n/a")) return;
    for (const r of [head, ...rows]) if (r?.cells[c]) r.cells[c].hidden = true;
  });
}

export function sortable(table: HTMLTableElement): void {
  const head = table.tHead?.rows[0], rows = Rows.in(table);
  if (!head || rows.all.length < 2) return;
  [...head.cells].forEach((th, column) => {
    const button = el("button", { type: "button" });
    button.append(...th.childNodes);
    th.append(button);
    th.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") !== "descending";
      for (const other of head.cells) other.setAttribute("aria-sort", "none");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (r: HTMLTableRowElement) => r.cells[column]?.dataset.v;
      const numbers = rows.all.some((r) => value(r) !== undefined);
      rows.sort((a, b) => {
        if (!numbers) return (a.cells[column]?.textContent ?? "").localeCompare(b.cells[column]?.textContent ?? "") * (down ? -1 : 1);
        const x = value(a), y = value(b);
        // unknown is not zero: it stands last either way
        if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1;
        return (Number(x) - Number(y)) * (down ? -1 : 1);
      });
    });
  });
}

const MANY = 8; // rows from which a table has tools

// What is seen of a table: its head, then the rows that are shown.
function seen(table: HTMLTableElement): string[][] {
  const rows = [table.tHead?.rows[0], ...Rows.in(table).shown].filter((r): r is HTMLTableRowElement => !!r);
  return rows.map((r) => [...r.cells].filter((c) => !c.hidden).map((c) => c.dataset.v ?? (c.title || (c.textContent ?? "").trim())));
}

const markdown = (rows: string[][]): string => rows.map((r) => "| " + r.map((c) => c.replace(/[|\\]/g, "\\$&").replace(/\s+/g, " ")).join(" | ") + " |").flatMap((line, i) => i ? [line] : [line, "|" + "---|".repeat(rows[0].length)]).join("\n") + "\n";
const csv = (rows: string[][]): string => rows.map((r) => r.map((c) => /[",\n]/.test(c) ? '"' + c.replace(/"/g, '""') + '"' : c).join(",")).join("\n") + "\n";

/** Above a long table: filter its rows, choose its columns, copy it. */
export function tools(table: HTMLTableElement, filtered: boolean): void {
  const rows = Rows.in(table), head = table.tHead?.rows[0], name = table.caption?.textContent || table.closest("section")?.querySelector("h2")?.textContent || "table";
  if (!head || rows.all.length < MANY) return;
  const search = el("input", { type: "search", placeholder: "filter", "aria-label": `Filter ${name}` }), left = el("span", { class: "dim", role: "status" }), columns = el("details", { class: "columns" }, el("summary", {}, "columns"));
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.filter((r) => { const text = (r.textContent ?? "").toLowerCase(); return words.every((w) => text.includes(w)); });
    left.textContent = words.length ? `${rows.shown.length} of ${rows.all.length}` : "";
  });
  [...head.cells].slice(1).forEach((th, i) => {
    const box = el("input", { type: "checkbox", ...(th.hidden ? {} : { checked: "" }) });
    box.addEventListener("change", () => { for (const r of [head, ...rows.all]) if (r.cells[i + 1]) r.cells[i + 1].hidden = !box.checked; });
    columns.append(el("label", {}, box, " ", th.textContent ?? ""));
  });
  const bar = el("div", { class: "tools table-tools" }, filtered ? null : search, filtered ? null : left, columns);
  for (const [label, write] of [["copy as Markdown", markdown], ["copy as CSV", csv]] as const) {
    const b = el("button", { class: "plain", type: "button" }, label);
    b.addEventListener("click", () => copy(write(seen(table))));
    bar.append(b);
  }
  (table.closest(".scroll") ?? table).before(bar);
}

const slug = (text: string): string => text.trim().toLowerCase().replace(/\W+/g, "_").replace(/^_|_$/g, "");

/** A number in running text: it can be reached by Tab, and says what it is. */
export function number(v: number | null, text: string, name: string): HTMLElement {
  return v === null ? el("b", {}, text) : el("b", { "data-v": String(v), "data-at": slug(name), role: "button", tabindex: "0", "aria-label": `${name} ${text}, copy` }, text);
}

// The place of a number in a panel that shows one thing after another.
function placeIn(panel: Element, cell: HTMLElement): string {
  if (cell.dataset.at) return cell.dataset.at;
  const row = cell.closest("tr"), table = cell.closest("table");
  return `${[...panel.querySelectorAll("table")].indexOf(table as HTMLTableElement) + 1}.${(row?.rowIndex ?? 0) + 1}.${(cell as HTMLTableCellElement).cellIndex + 1}`;
}

/** The address of a number, without the leading #; "" where it has none. */
export function addressOf(cell: HTMLElement): string {
  if (cell.id) return encodeURI(cell.id);
  const panel = cell.closest<HTMLElement>("[data-address]");
  return panel?.dataset.address ? `${panel.dataset.address}&at=${encodeURIComponent(placeIn(panel, cell))}` : "";
}

function use(cell: HTMLElement, link: boolean): void {
  const address = addressOf(cell);
  if (address) history.replaceState(null, "", "#" + address);
  copy(link && address ? location.href : cell.dataset.v ?? "");
}

const STEPS: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// From the focus on a table or in it, one cell further; the focus stays on the table's edge.
function walk(at: HTMLElement, [down, right]: [number, number]): HTMLElement | undefined {
  const cell = at.closest<HTMLTableCellElement>("td, tbody th"), table = cell?.closest("table") ?? at.querySelector("table");
  const row = (cell?.parentElement ?? table?.tBodies[0]?.rows[0]) as HTMLTableRowElement | undefined;
  if (!cell || !row || !table) return row?.cells[1] ?? row?.cells[0];
  let next = cell.cellIndex + right;
  while (right && row.cells[next]?.hidden) next += right;
  return Rows.in(table).from(row, down)?.cells[next];
}

function key(e: KeyboardEvent): void {
  const at = e.target as HTMLElement, step = STEPS[e.key];
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (step && (at.matches(".scroll") || at.matches("td, tbody th"))) {
    const next = walk(at, step);
    if (!next) return;
    e.preventDefault();
    next.tabIndex = -1;
    next.focus();
  } else if (at.dataset.v !== undefined && (e.key === "Enter" || e.key === " " || e.key === "l")) {
    e.preventDefault();
    use(at, e.key === "l");
  }
}

export function address(): void {
  for (const table of document.querySelectorAll("table[id]")) {
    const t = table as HTMLTableElement, keys = [...(t.tHead?.rows[0]?.cells ?? [])].map((c) => c.dataset.key ?? String(c.cellIndex));
    Rows.in(t).all.forEach((row, r) => [...row.cells].forEach((cell, c) => { cell.id = `${t.id}/${r + 1}/${keys[c]}`; }));
  }
  for (const b of document.querySelectorAll<HTMLElement>(".fact b[data-v]:not([role])")) {
    b.setAttribute("role", "button");
    b.tabIndex = 0;
    b.id ||= `fact/${b.closest("section, .ran")?.id ?? ""}/${slug(b.previousElementSibling?.textContent ?? "")}`;
    b.setAttribute("aria-label", `${b.previousElementSibling?.textContent ?? ""} ${b.textContent}, copy`);
  }
  document.addEventListener("click", (e) => {
    const cell = (e.target as HTMLElement).closest<HTMLElement>("[data-v]");
    if (cell) use(cell, e.shiftKey);
  });
  document.addEventListener("keydown", key);
  go();
  window.addEventListener("hashchange", go);
}

// A panel has been filled for its own part of the address before this is called.
function linked(): HTMLElement | null {
  const [panel, at] = location.hash.slice(1).split("&at=");
  try {
    if (at === undefined) {
      const [table, row] = decodeURIComponent(panel).split("/"), t = document.getElementById(table);
      const there = t instanceof HTMLTableElement ? Rows.in(t).all[Number(row) - 1] : undefined;
      if (there) Rows.in(t as HTMLTableElement).reveal(there);
      return document.getElementById(decodeURIComponent(panel));
    }
    const box = [...document.querySelectorAll<HTMLElement>("[data-address]")].find((b) => decodeURIComponent(b.dataset.address ?? "") === decodeURIComponent(panel));
    return box ? [...box.querySelectorAll<HTMLElement>("[data-v]")].find((c) => placeIn(box, c) === decodeURIComponent(at)) ?? null : null;
  } catch { return null; } // not an address of ours
}

function go(): void {
  document.querySelector(".here")?.classList.remove("here");
  const cell = linked();
  if (!cell?.matches("td, th, tr, [data-v]")) return;
  for (let d = cell.closest("details"); d; d = d.parentElement?.closest("details") ?? null) d.open = true;
  cell.classList.add("here");
  cell.scrollIntoView({ block: "center" });
}
