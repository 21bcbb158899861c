// SPDX-License-Identifier: Apache-2.0
// Lanes of the host threads in the timeline: what was open, a row per depth. Each lane folds to one row.
import { Frame, Raw, Slices } from "./data";
import { visible } from "./dom";

const ROW = 13, HEAD = 16, DEEPEST = 24, HUES: Record<string, number> = { region: 210, module: 170, line: 45, operator: 265, call: 0 };

export interface HostHit { lane: number; i: number }

function lowerBound(a: Float64Array, v: number): number {
  let lo = 0, hi = a.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (a[mid] < v) lo = mid + 1; else hi = mid;
  }
  return lo;
}

export class Threads {
  private folded: boolean[];
  private frames: Frame[] = [];
  private ends: Float64Array[] = []; // per lane: the latest end among the slices up to each
  private depth: Uint8Array[] = [];
  private deepest: number[] = [];
  private drawn: boolean[] = []; // has it anything to draw?
  /** Is there Python beside other things? Its lines are shown when asked for. */
  readonly mixed: boolean;

  private lines: boolean;
  private readonly stored: Slices[];

  constructor(public lanes: Slices[], private data: Raw) {
    const kinds = new Set(lanes.flatMap((s) => [...new Set(s.frame)].map((f) => data.frames?.[f]?.kind)));
    this.stored = lanes;
    this.folded = lanes.map((_, i) => i > 1);
    this.mixed = kinds.has("line") && kinds.size > 1;
    this.lines = !this.mixed;
    this.use(undefined);
  }

  /** Draws these slices of the same threads; undefined: those of the page. */
  use(lanes: Slices[] | undefined): void {
    this.lanes = lanes ?? this.stored;
    this.frames = this.data.frames ?? [];
    this.showLines(this.lines);
    this.ends = this.lanes.map((s) => {
      const ends = new Float64Array(s.start.length);
      for (let i = 0, last = -Infinity; i < ends.length; i++) ends[i] = last = Math.max(last, s.start[i] + s.length[i]);
      return ends;
    });
  }

  /** How deep each slice is drawn; 255: not drawn. */
  showLines(yes: boolean): void {
    this.lines = yes;
    this.depth = this.lanes.map((s) => {
      const depth = new Uint8Array(s.start.length), open: number[] = [];
      for (let i = 0; i < depth.length; i++) {
        if (!yes && this.frames[s.frame[i]]?.kind === "line") { depth[i] = 255; continue; }
        while (open.length && open[open.length - 1] <= s.start[i]) open.pop();
        depth[i] = Math.min(open.length, 254);
        open.push(s.start[i] + s.length[i]);
      }
      return depth;
    });
    this.deepest = this.depth.map((d) => d.reduce((most, v) => v < 255 && v > most ? v : most, 0));
    this.drawn = this.lanes.map((_, lane) => this.shown(lane));
  }

  /** From the first to the last thing that is drawn; null: there is none. */
  get extent(): [number, number] | null {
    let from = Infinity, to = -Infinity;
    this.lanes.forEach((s, lane) => s.start.forEach((at, i) => {
      if (this.depth[lane][i] === 255) return;
      from = Math.min(from, at);
      to = Math.max(to, at + s.length[i]);
    }));
    return from < to ? [from, to] : null;
  }

  private shown(lane: number): boolean { return this.depth[lane].some((d) => d < 255); }

  private rows(lane: number): number { return !this.drawn[lane] ? 0 : this.folded[lane] ? 1 : Math.min(DEEPEST, this.deepest[lane] + 1); }

  private laneHeight(lane: number): number { return this.drawn[lane] ? HEAD + this.rows(lane) * ROW : 0; }

  get height(): number { return this.lanes.reduce((sum, _, i) => sum + this.laneHeight(i), 0); }

  private heads(): number[] {
    let y = 0;
    return this.lanes.map((_, i) => { const at = y; y += this.laneHeight(i); return at; });
  }

  frame(h: HostHit): Frame { return this.frames[this.lanes[h.lane].frame[h.i]] ?? { kind: "region", name: "" }; }

  /** The lane whose head is at this height. */
  head(y: number): number { return this.heads().findIndex((top, i) => this.drawn[i] && y >= top && y < top + HEAD); }

  toggle(lane: number): void { this.folded[lane] = !this.folded[lane]; }

  // The first slice that can reach into what begins at `from`.
  private first(lane: number, from: number): number { return lowerBound(this.ends[lane], from); }

  draw(g: CanvasRenderingContext2D, top: number, W: number, from: number, to: number, fg: string, idle: string): void {
    const scale = W / (to - from), heads = this.heads();
    this.lanes.forEach((s, lane) => {
      if (!this.drawn[lane]) return;
      const y = top + heads[lane] + HEAD, rows = this.rows(lane), ends = new Float64Array(rows).fill(-1), end = lowerBound(s.start, to);
      g.fillStyle = fg;
      g.fillText(`${this.folded[lane] ? "▸" : "▾"} ${visible(s.name)}`, 4, y - 4);
      g.fillStyle = idle;
      g.fillRect(0, y, W, rows * ROW - 1);
      for (let i = this.first(lane, from); i < end; i++) {
        const d = this.depth[lane][i], x = (s.start[i] - from) * scale, w = s.length[i] * scale;
        if (d >= rows || x + w < 0 || (w < 1 && x - ends[d] < 0.6)) continue; // below a pixel, and drawn already
        ends[d] = x + Math.max(w, 0.6);
        const f = this.frame({ lane, i });
        g.fillStyle = `hsl(${HUES[f.kind] ?? 210} 45% ${d % 2 ? 72 : 78}%)`;
        g.fillRect(x, y + d * ROW, Math.max(0.6, w - 0.4), ROW - 1);
        if (w > 40) {
          const room = Math.floor((Math.min(x + w, W) - Math.max(x, 0) - 6) / 5.6), name = visible(f.name);
          g.fillStyle = "#10151b";
          if (room > 2) g.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, Math.max(x, 0) + 3, y + d * ROW + 10, Math.min(x + w, W) - Math.max(x, 0) - 4);
        }
      }
    });
  }

  hit(y: number, t: number): HostHit | null {
    const heads = this.heads(), lane = heads.findIndex((top, i) => y >= top + HEAD && y < top + HEAD + this.rows(i) * ROW);
    if (lane < 0) return null;
    return this.open(lane, t).find((h) => this.depth[lane][h.i] === Math.floor((y - heads[lane] - HEAD) / ROW)) ?? null;
  }

  /** What was open on a lane at a moment, outermost first. */
  open(lane: number, t: number): HostHit[] {
    const s = this.lanes[lane], out: HostHit[] = [];
    if (!s) return out;
    for (let i = this.first(lane, t), end = lowerBound(s.start, t + 0.5); i < end; i++) if (s.start[i] + s.length[i] > t) out.push({ lane, i });
    return out;
  }

  laneOf(thread: number): number { return this.lanes.findIndex((s) => s.row === thread); }

  /** Where a slice is drawn: its y from the top of all lanes. */
  place(h: HostHit): number {
    const d = Math.min(this.depth[h.lane][h.i], this.rows(h.lane) - 1);
    return this.heads()[h.lane] + HEAD + d * ROW;
  }

  rowHeight(): number { return ROW; }
}
