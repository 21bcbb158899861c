// SPDX-License-Identifier: Apache-2.0
// The data of the page: src/report/page/page.h says how it is packed.
import { visible } from "./dom";
import { Buckets, RawSums } from "./sums";

export interface Kernel {
  name: string; short_name?: string; class: string; launches: number; gpu_ns: number | null; min_ns: number | null; max_ns: number | null;
  sm_share?: number | null; tensor_share?: number | null; l1_share?: number | null; l2_share?: number | null; dram_share?: number | null; // ncu's
  occupancy_share?: number | null; registers?: number | null; waves?: number | null;
}
export interface Wall {
  scope: string; span_ns: number; compute_ns: number; exposed_communication_ns: number; exposed_copy_ns: number; idle_ns: number;
  idle: { blocked_ns: number; host_ns: number; queued_ns: number; unknown_ns: number }; longest_gap_ns?: number;
  start_ns: number; longest_gaps?: Gap[];
}
export interface Gap { start_ns: number; at_ns: number; gap_ns: number; cause: string; call: string | null; region?: string | null; operators?: string[]; python?: string[] }
export interface Finding { id: string; title: string; where?: string | null; saving_ns: number | null; share: number | null; basis: string; evidence: unknown[]; advice?: string; within_noise?: boolean }
export interface Rung { id: string; title: string; where: string | null; saving_ns: number; share: number | null; after_ns: number; basis: string }
export interface Ladder { window_ns: number; rungs: Rung[]; floor_ns: number | null; floor_basis: string | null }
/** A region, module, line, operator, call or kernel; of a kernel its row in `kernels`. */
export interface Frame { kind: string; name: string; kernel?: number }
interface Packed { packed: string }
export interface Lane { device: string; stream: number; count: number }
interface Tree extends Packed { names: string[]; count: number; left_out: number; colors?: [number, string][] }
interface Part { launches: number; gpu_ns: number | null }
export interface Coverage { in_regions: Part; outside: Part; no_launch_record: Part; kernels_without_duration: number; kernels_measured: number; kernels_estimated: number }
export interface LimitRow {
  path: string; limit_ns: number | null; measured_ns: number | null; saving_ns: number | null; share: number | null; mfu: number | null;
  bandwidth_use: number | null; flop_rate: number | null; byte_rate: number | null; counted_flops: number | null; counted_dram_bytes: number | null;
  held_by: string | null; evidence: string | null;
}
export interface Stage { name: string; at_ns: number; ns: number }
interface RawChart { chapter: string; title: string; unit: string; clock: "trace" | "unix" | "other"; lines: (Packed & { scope: string; count: number; seen: number; per_unit: number })[] }
export interface RankSteps extends Packed { ranks: number[]; columns: [number, number][]; parts: string[] }
export interface Raw {
  kernels?: Kernel[]; kernels_left_out?: number; wall?: Wall[]; findings?: Finding[]; verdict?: string | null; cautions?: { id: string; title: string }[]; remarks?: string[];
  coverage?: Coverage; notes?: { level: string; text: string }[]; limits?: { regions?: LimitRow[] };
  regions?: Tree & { folded?: Tree };
  shapes?: number[][];
  counters?: { metrics: { name: string; unit: string | null }[]; left_out: number; regions: { row: number; values: (number | null)[] }[] };
  charts?: RawChart[]; stages?: Stage[];
  rank_steps?: RankSteps;
  ladder?: Ladder | null;
  frames?: Frame[];
  stacks?: Packed & { count: number; left_out: number };
  host?: Packed & { zero_ns: number; least_ns: number; threads: { row: number; process: number; thread: number; count: number; left_out: number }[] };
  a?: Stacked; b?: Stacked; // of a comparison
  sums?: Packed & RawSums;
  served?: { version: number; running: boolean };
  strip?: Packed & { zero_ns: number; span_ns: number; step_ns: number; lanes: Lane[]; operations: number; left_out: number };
}

export interface Region {
  row: number; parent: Region | null; children: Region[]; depth: number; name: string; path: string; kind: number;
  visits: number | null; host: number; gpu: number; known: boolean; self: number; launches: number; copies: number; bytes: number; idle: number;
  fold: Region | null; members: Region[]; count: number; spread: [number, number, number] | null;
  kernels: { kernel: number; launches: number; ns: number }[];
  color?: string; // as the program gave it
}

/** One stream: columns, ordered by start. */
export interface Operations { lane: Lane; start: Float64Array; length: Float64Array; kernel: Uint32Array; several: Uint32Array; region: Uint32Array; thread: Int32Array; wait: Float64Array }

class Reader {
  private at = 0;
  constructor(private bytes: Uint8Array) {}
  next(): number {
    // Numbers may be longer than 32 bits, so no shifts: 2^53 is enough for nanoseconds.
    let value = 0, scale = 1, b;
    do {
      b = this.bytes[this.at++] ?? 0;
      value += (b & 0x7f) * scale;
      scale *= 128;
    } while (b & 0x80);
    return value;
  }
  signed(): number {
    const v = this.next();
    return v % 2 ? -(v + 1) / 2 : v / 2;
  }
}

async function unpack(text: string): Promise<Reader> {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw" as CompressionFormat));
  return new Reader(new Uint8Array(await new Response(stream).arrayBuffer()));
}

export function raw(): Raw {
  const text = document.getElementById("lpo-data")?.textContent;
  return text ? JSON.parse(text) as Raw : {};
}

async function tree(t: Tree, folded: Region[] | null): Promise<Region[]> {
  const r = await unpack(t.packed), all: Region[] = [];
  for (let row = 0; row < t.count; row++) {
    const back = r.next(), parent = back ? all[row - back] : null;
    const name = t.names[r.next()] ?? "", kind = r.next(), visits = r.next();
    const region: Region = {
      row, parent, children: [], depth: parent ? parent.depth + 1 : 0, name, kind: kind % 4, known: kind < 4,
      path: (parent ? parent.path + "/" : "") + name, visits: visits ? visits - 1 : null,
      host: r.signed(), gpu: r.signed(), self: r.signed(), launches: r.next(), copies: r.signed(), bytes: r.next(), idle: r.signed(),
      fold: null, members: [], count: 1, spread: null, kernels: [],
    };
    const last = r.next();
    if (folded) {
      region.fold = last ? folded[last - 1] ?? null : null;
      region.fold?.members.push(region);
    } else {
      region.count = last;
      region.spread = [r.signed(), r.signed(), r.signed()];
    }
    for (let n = r.next(); n > 0; n--) region.kernels.push({ kernel: r.next(), launches: r.next(), ns: r.signed() });
    parent?.children.push(region);
    all.push(region);
  }
  for (const [row, color] of t.colors ?? []) if (all[row] && /^#[0-9a-f]{6}$/.test(color)) all[row].color = color;
  return all;
}

/** Every region, and the same with families as one (empty where nothing folds). */
export async function regions(data: Raw): Promise<{ all: Region[]; folded: Region[] }> {
  if (!data.regions?.count) return { all: [], folded: [] };
  const folded = data.regions.folded ? await tree(data.regions.folded, null) : [], all = await tree(data.regions, folded);
  // step2 stands before step10: members in the order of their numbers, which is mostly that of time
  const order = new Intl.Collator("en", { numeric: true });
  for (const r of folded) r.members.sort((a, b) => order.compare(a.path, b.path));
  return { all, folded };
}

function laneOf(r: Reader, lane: Lane, n: number): Operations {
  const o = { lane, start: new Float64Array(n), length: new Float64Array(n), kernel: new Uint32Array(n), several: new Uint32Array(n), region: new Uint32Array(n), thread: new Int32Array(n), wait: new Float64Array(n) };
  for (let i = 0, last = 0; i < n; i++) {
    o.start[i] = last += r.next();
    o.length[i] = r.next();
    const k = r.next();
    o.kernel[i] = Math.floor(k / 2);
    o.several[i] = k % 2 ? r.next() : 1;
    o.region[i] = r.next();
    o.thread[i] = r.next() - 1;
    if (o.thread[i] >= 0) o.wait[i] = r.signed();
  }
  return o;
}

export async function operations(data: Raw): Promise<Operations[]> {
  if (!data.strip) return [];
  const r = await unpack(data.strip.packed);
  return data.strip.lanes.map((lane) => laneOf(r, lane, lane.count));
}

/** What `lpo view` answers: a lane, or a thread, between two times. */
export interface Events extends Packed { count: number; step_ns?: number; least_ns?: number; left_out?: number; frames?: Frame[] }

export async function laneEvents(e: Events, lane: Lane): Promise<Operations> { return laneOf(await unpack(e.packed), lane, e.count); }

/** `rows`: where the frames of the answer stand among those of the page. */
export async function threadEvents(e: Events, of: Slices, rows: number[]): Promise<Slices> {
  const s = slicesOf(await unpack(e.packed), of, e.count, e.left_out ?? 0);
  s.frame.forEach((f, i, a) => { a[i] = rows[f]; });
  return s;
}

export const WEIGHTS = ["gpu", "exposed", "idle", "bytes", "host", "energy"] as const;

/** A node of the stacks: what is its own, and that with all below it, by WEIGHTS. */
export interface StackNode { frame: Frame; parent: StackNode | null; children: StackNode[]; count: number; own: number[]; total: number[]; was?: { own: number[]; total: number[] } }
type Stacked = Pick<Raw, "frames" | "stacks">;

/** Two trees as one: what stands in both is one node, with what it `was` in `a`. */
export function compare(a: StackNode[], b: StackNode[]): StackNode[] {
  const all: StackNode[] = [], none = () => WEIGHTS.map(() => 0);
  const put = (nodes: StackNode[], parent: StackNode | null, before: boolean, there: Map<string, StackNode>) => {
    for (const n of nodes) {
      const key = n.frame.kind + "\n" + n.frame.name, to = there.get(key) ?? { frame: n.frame, parent, children: [], count: 0, own: none(), total: none(), was: { own: none(), total: none() } };
      if (!there.has(key)) { there.set(key, to); parent?.children.push(to); all.push(to); }
      const sums = before && to.was ? to.was : to;
      WEIGHTS.forEach((_, w) => { sums.own[w] += n.own[w]; sums.total[w] += n.total[w]; });
      if (!before) to.count += n.count;
      put(n.children, to, before, new Map(to.children.map((c) => [c.frame.kind + "\n" + c.frame.name, c])));
    }
  };
  const tops = new Map<string, StackNode>();
  put(b.filter((n) => !n.parent), null, false, tops);
  put(a.filter((n) => !n.parent), null, true, tops);
  return all;
}

export async function stacks(data: Stacked): Promise<StackNode[]> {
  const all: StackNode[] = [], frames = data.frames ?? [];
  if (!data.stacks?.count) return all;
  const r = await unpack(data.stacks.packed);
  for (let i = 0; i < data.stacks.count; i++) {
    const back = r.next(), parent = back ? all[i - back] : null, frame = frames[r.next()] ?? { kind: "region", name: "" };
    const node: StackNode = { frame, parent, children: [], count: r.next(), own: WEIGHTS.map(() => r.signed()), total: [] };
    node.total = [...node.own];
    parent?.children.push(node);
    all.push(node);
  }
  for (let i = all.length - 1; i >= 0; i--) all[i].parent?.total.forEach((_, w, t) => { t[w] += all[i].total[w]; });
  return all;
}

export async function buckets(data: Raw): Promise<Buckets | undefined> {
  return data.sums && new Buckets(data.sums, data.kernels?.length ?? 0, await unpack(data.sums.packed));
}

/** What a thread did: slices in order of their starts. */
export interface Slices { row: number; name: string; left_out: number; start: Float64Array; length: Float64Array; frame: Uint32Array }

function slicesOf(r: Reader, of: { row: number; name: string }, n: number, left_out: number): Slices {
  const s: Slices = { row: of.row, name: of.name, left_out, start: new Float64Array(n), length: new Float64Array(n), frame: new Uint32Array(n) };
  for (let i = 0, last = 0; i < n; i++) {
    s.start[i] = last += r.signed();
    s.length[i] = r.next();
    s.frame[i] = r.next();
  }
  return s;
}

export async function threads(data: Raw): Promise<Slices[]> {
  if (!data.host) return [];
  const r = await unpack(data.host.packed), several = new Set(data.host.threads.map((t) => t.process)).size > 1;
  return data.host.threads.map((t) => slicesOf(r, { row: t.row, name: `${several ? `process ${t.process}, ` : ""}thread ${t.thread}` }, t.count, t.left_out));
}

/** The steps of one column on one rank: ns of each part of one step, null where it is not known. */
export interface HeatCell { steps: number; ns: (number | null)[] }

export async function rankSteps(d: RankSteps): Promise<HeatCell[]> {
  const r = await unpack(d.packed), cells: HeatCell[] = [];
  for (let i = 0; i < d.ranks.length * d.columns.length; i++) {
    const steps = r.next(), onGpu = r.next(), bubbles = r.next();
    cells.push({ steps, ns: d.parts.map((_, part) => (part === 0 ? steps : part === d.parts.length - 1 ? bubbles : onGpu) ? r.signed() : null) });
  }
  return cells;
}

/** A quantity of one GPU over time: value[i] from at[i] on, null where it is not known. */
export interface Line { scope: string; seen: number; at: number[]; value: (number | null)[] }
export interface Chart { chapter: string; title: string; unit: string; clock: string; lines: Line[] }

export async function charts(data: Raw): Promise<Chart[]> {
  return Promise.all((data.charts ?? []).map(async (c) => ({ ...c, lines: await Promise.all(c.lines.map(async (l) => {
    const r = await unpack(l.packed), line: Line = { scope: l.scope, seen: l.seen, at: [], value: [] };
    for (let i = 0, now = 0, last = 0; i < l.count; i++) {
      line.at.push(now += r.signed());
      line.value.push(r.next() ? (last += r.signed()) / l.per_unit : null);
    }
    return line;
  })) })));
}

const COLOURS: Record<string, string> = {
  GEMM: "#1f6feb", attention: "#8250df", convolution: "#0e7490", normalization: "#0a7d6b", norm: "#0a7d6b", softmax: "#b35900",
  rotary: "#6e7781", elementwise: "#2da44e", reduction: "#9a6700", indexing: "#a0557f", embedding: "#a0557f", sorting: "#7d4e00",
  copy: "#57606a", optimizer: "#5a32a3", random: "#3b6e22", collective: "#cf222e", communication: "#cf222e", quantize: "#bf3989", moe: "#116329",
  "memory copy": "#d4a72c", memset: "#bfa75f", other: "#818b98",
};

export function colour(kind: string): string {
  return COLOURS[kind] ?? COLOURS[kind.toLowerCase()] ?? COLOURS.other;
}

/** Letters that stand out from a colour of a class. */
export function ink(hex: string): string {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#10151b" : "#fff";
}

export const nameOf = (k: Kernel | undefined): string => k ? visible(k.short_name || k.name) : "(a name that is not listed)";
