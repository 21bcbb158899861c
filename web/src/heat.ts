// SPDX-License-Identifier: Apache-2.0
// Ranks × steps as a heat map: a row for each rank, a column for each step (or for several, where there are many). It is
// one picture for the keyboard: arrow keys walk over its cells, and the numbers of the cell are said. Darker is more on a
// light page, lighter on a dark one; the cell is never told by its colour alone.
import { HeatCell, Raw, rankSteps } from "./data";
import { el } from "./dom";
import * as format from "./format";

const LEFT = 64, BOTTOM = 18, HIGH = 900;
const LIGHT = [[0xdd, 0xeb, 0xff], [0x03, 0x2f, 0x62]], DARK = [[0x1b, 0x27, 0x38], [0xc6, 0xe0, 0xff]];

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] ?? 0;

class Heat {
  readonly box: HTMLElement;
  private canvas = el("canvas", { tabindex: "0", role: "img" });
  private said = el("p", { class: "dim heat-said", role: "status" });
  private key = el("span", { class: "dim" });
  private part = 1;
  private row = -1;
  private column = -1;
  private rowHigh: number;
  private least = 0;
  private most = 0;

  constructor(private ranks: number[], private columns: [number, number][], private parts: string[], private cells: HeatCell[]) {
    const choose = el("select", { id: "heat-part" });
    parts.forEach((name, i) => { if (cells.some((c) => c.ns[i])) choose.append(el("option", { value: String(i) }, name)); });
    choose.value = String(this.part);
    if (!choose.value) choose.selectedIndex = 0;
    this.part = Number(choose.value);
    choose.addEventListener("change", () => { this.part = Number(choose.value); this.draw(); });
    this.rowHigh = Math.max(2, Math.min(18, Math.floor(HIGH / ranks.length)));
    this.canvas.style.height = `${ranks.length * this.rowHigh + BOTTOM}px`;
    this.box = el("div", { class: "heat" }, el("div", { class: "tools" }, el("label", { for: "heat-part" }, "Part of a step"), choose, this.key), this.canvas, this.said);
    this.events();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    window.addEventListener("resize", () => this.draw()); // the colours of the page may have changed
    this.draw();
    this.say();
  }

  private at(row: number, column: number): HeatCell { return this.cells[row * this.columns.length + column]; }
  private step(column: number): string {
    const [first, last] = this.columns[column];
    return first === last ? `step ${first}` : `steps ${first} to ${last}`;
  }

  private range(): void {
    this.least = Infinity;
    this.most = -Infinity;
    for (const c of this.cells) {
      const v = c.ns[this.part];
      if (v === null) continue;
      this.least = Math.min(this.least, v);
      this.most = Math.max(this.most, v);
    }
    this.key.textContent = this.most < this.least ? "" : `from ${format.ns(this.least)} (faint) to ${format.ns(this.most)} (strong)`;
    this.canvas.setAttribute("aria-label", `Heat map of ${this.parts[this.part]} of ${this.ranks.length} ranks and ${this.columns.length} columns of steps, ${this.key.textContent}. Arrow keys walk over the cells.`);
  }

  private colour(v: number, dark: boolean): string {
    const share = this.most > this.least ? (v - this.least) / (this.most - this.least) : 0.5, [from, to] = dark ? DARK : LIGHT;
    return `rgb(${from.map((f, i) => Math.round(f + share * (to[i] - f))).join(",")})`;
  }

  draw(): void {
    const c = this.canvas, ratio = window.devicePixelRatio || 1, wide = c.clientWidth, high = this.ranks.length * this.rowHigh + BOTTOM, g = c.getContext("2d");
    if (!wide || !g) return;
    this.range();
    c.width = Math.round(wide * ratio);
    c.height = Math.round(high * ratio);
    g.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement), dark = document.documentElement.classList.contains("dark"), cell = (wide - LEFT) / this.columns.length, gap = cell > 4 && this.rowHigh > 4 ? 1 : 0;
    this.ranks.forEach((_, row) => this.columns.forEach((__, column) => {
      const v = this.at(row, column).ns[this.part];
      if (v === null) return; // not recorded: the ground of the page
      g.fillStyle = this.colour(v, dark);
      g.fillRect(LEFT + column * cell, row * this.rowHigh, cell - gap, this.rowHigh - gap);
    }));
    this.letters(g, wide, cell, style.getPropertyValue("--fg"));
    if (this.row < 0) return;
    g.strokeStyle = style.getPropertyValue("--warn");
    g.lineWidth = 2;
    g.strokeRect(LEFT + this.column * cell, this.row * this.rowHigh, Math.max(cell - gap, 3), Math.max(this.rowHigh - gap, 3));
  }

  private letters(g: CanvasRenderingContext2D, wide: number, cell: number, ink: string): void {
    const everyRow = Math.max(1, Math.ceil(13 / this.rowHigh)), everyColumn = Math.max(1, Math.ceil(52 / cell));
    g.fillStyle = ink;
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.ranks.forEach((rank, row) => { if (row % everyRow === 0) g.fillText(`rank ${rank}`, 2, row * this.rowHigh + this.rowHigh / 2, LEFT - 6); });
    this.columns.forEach(([first], column) => { if (column % everyColumn === 0 && LEFT + column * cell + 40 < wide) g.fillText(String(first), LEFT + column * cell + 1, this.ranks.length * this.rowHigh + BOTTOM / 2); });
  }

  private say(): void {
    if (this.row < 0) {
      this.said.textContent = "Hover over a cell, or walk over them by arrow keys, for its numbers.";
      return;
    }
    const c = this.at(this.row, this.column), v = c.ns[this.part];
    const others = this.ranks.map((_, row) => this.at(row, this.column).ns[this.part]).filter((n): n is number => n !== null);
    const by = v === null ? 0 : v - median(others);
    this.said.textContent = `rank ${this.ranks[this.row]}, ${this.step(this.column)}: ` + (c.steps ? this.parts.map((p, i) => c.ns[i] === null ? "" : `${p} ${format.ns(c.ns[i] as number)}`).filter(Boolean).join(", ")
      + (v === null ? "" : `; ${this.parts[this.part]} is ${by < 0 ? "\u2212" : "+"}${format.ns(Math.abs(by))} from the median of the ranks`) : "not recorded");
  }

  private go(row: number, column: number): void {
    this.row = Math.max(0, Math.min(this.ranks.length - 1, row));
    this.column = Math.max(0, Math.min(this.columns.length - 1, column));
    this.draw();
    this.say();
  }

  private events(): void {
    this.canvas.addEventListener("pointermove", (e) => {
      const column = Math.floor((e.offsetX - LEFT) / (this.canvas.clientWidth - LEFT) * this.columns.length), row = Math.floor(e.offsetY / this.rowHigh);
      if (column >= 0 && row < this.ranks.length && (row !== this.row || column !== this.column)) this.go(row, column);
    });
    this.canvas.addEventListener("keydown", (e) => {
      const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] }[e.key];
      if (!by) return;
      e.preventDefault();
      if (this.row < 0) this.go(0, 0); else this.go(this.row + by[0], this.column + by[1]);
    });
  }
}

export async function heat(data: Raw): Promise<void> {
  const d = data.rank_steps, table = document.getElementById("table-rank_steps");
  if (!d || !table) return;
  document.getElementById("figure-rank_steps")?.remove(); // the same without a script
  const view = new Heat(d.ranks, d.columns, d.parts, await rankSteps(d));
  (table.closest(".scroll") ?? table).before(view.box);
}
