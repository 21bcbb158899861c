// SPDX-License-Identifier: Apache-2.0
// What `lpo view` adds to a page: the timeline reads from the trace what the page folded, and the page follows a run.
import { Events, Operations, Raw, Slices, laneEvents, threadEvents } from "./data";
import { el } from "./dom";

/** Events of a stretch of time, whole; `from` and `to` are what was asked for. */
export interface Detail { from: number; to: number; lanes: Operations[]; slices: Slices[] }

const PATIENCE = 150; // ms in which the view must not change: nobody wants what flies by

export class Reader {
  private timer = 0;
  private running: AbortController | undefined;
  private rows = new Map<string, number>();

  constructor(private data: Raw, private lanes: Operations[], private slices: Slices[], private got: (d: Detail) => void, private said: (text: string) => void) {
    (data.frames ?? []).forEach((f, i) => this.rows.set(f.kind + " " + f.name, i));
  }

  /** Is something folded that is longer than this? */
  folds(ns: number): boolean { return (this.data.strip?.step_ns ?? 0) > ns || (this.data.host?.least_ns ?? 0) > ns; }

  /** Asks for that stretch, once nothing else has been asked for a moment. */
  want(from: number, to: number): void {
    this.stop();
    this.timer = window.setTimeout(() => { void this.read(Math.floor(from), Math.ceil(to)); }, PATIENCE);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = undefined;
  }

  private async read(from: number, to: number): Promise<void> {
    const mine = this.running = new AbortController();
    const ask = async (what: string): Promise<Events> => (await fetch(`events?${what}&from=${from}&to=${to}`, { signal: mine.signal })).json() as Promise<Events>;
    this.said("reading from the trace …");
    try {
      const lanes = await Promise.all(this.lanes.map(async (o, i) => laneEvents(await ask(`lane=${i}`), o.lane)));
      const slices = await Promise.all(this.slices.map(async (s) => { const e = await ask(`thread=${s.row}`); return threadEvents(e, s, this.frames(e)); }));
      if (mine.signal.aborted) return;
      const left = slices.reduce((sum, s) => sum + s.left_out, 0), several = lanes.some((o) => o.several.some((n) => n > 1));
      this.said(left || several ? "Read from the trace; zoom in further for every event." : "Every event is here, read from the trace.");
      this.got({ from, to, lanes, slices });
    } catch {
      if (!mine.signal.aborted) this.said("lpo view has ended: this is what the page itself has.");
    }
  }

  private frames(e: Events): number[] {
    const all = this.data.frames ??= [];
    return (e.frames ?? []).map((f) => {
      const key = f.kind + " " + f.name, row = this.rows.get(key) ?? all.push(f) - 1;
      this.rows.set(key, row);
      return row;
    });
  }
}

/** A run that goes on: the page is loaded again whenever it was made again; its address says where one was. */
export function followRun(data: Raw): void {
  const served = data.served;
  if (!served?.running) return;
  const note = el("p", { class: "note", role: "status", id: "running" }, "The run goes on; this page grows with it.");
  document.querySelector("header")?.append(note);
  const timer = setInterval(() => {
    fetch("state").then((r) => r.json()).then((now: { version: number }) => { if (now.version !== served.version) location.reload(); })
      .catch(() => { note.textContent = "lpo view has ended; this is what it showed last."; clearInterval(timer); });
  }, 2000);
}
