// SPDX-License-Identifier: Apache-2.0
// The page's packing and sums, without a browser: what src/report/page/ packs is what the page unpacks, and sums of an
// area are those of the operations in it. Bundled and run by units.sh.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { Lane, Operations, WEIGHTS, buckets, charts, laneEvents, operations, regions, stacks, threadEvents, threads } from "../../web/src/data";
import { find } from "../../web/src/find";
import * as format from "../../web/src/format";
import { Buckets, exact } from "../../web/src/sums";

class Writer {
  private bytes: number[] = [];
  add(...values: number[]): this {
    for (let v of values) {
      for (; v >= 128; v = Math.floor(v / 128)) this.bytes.push(v % 128 + 128);
      this.bytes.push(v);
    }
    return this;
  }
  signed(...values: number[]): this { return this.add(...values.map((v) => v < 0 ? -2 * v - 1 : 2 * v)); }
  get packed(): string { return deflateRawSync(Uint8Array.from(this.bytes)).toString("base64"); }
}

// Numbers of no pattern, the same each time.
let seed = 1;
const chance = (below: number): number => { seed = (seed * 48271) % 2147483647; return seed % below; };

const lane = (count: number): Lane => ({ device: "device:0", stream: 7, count });

test("numbers of any size come back, up to 2^53", async () => {
  const values = [0, 1, 127, 128, 2 ** 31, 2 ** 32 + 5, 2 ** 53 - 1], w = new Writer();
  for (const v of values) w.add(0, v, 2 * 3, 0, 0);
  const [o] = await operations({ strip: { zero_ns: 0, span_ns: 1, step_ns: 0, lanes: [lane(values.length)], operations: 7, left_out: 0, packed: w.packed } });
  assert.deepEqual([...o.length], values);
  assert.deepEqual([...o.kernel], values.map(() => 3));
});

test("operations: drawn as one, launched by a thread, in order on each lane", async () => {
  const w = new Writer().add(5, 10, 2 * 4, 2, 3).signed(-7).add(100, 20, 2 * 1 + 1, 12, 0, 0).add(9, 1, 0, 0, 0);
  const [a, b] = await operations({ strip: { zero_ns: 0, span_ns: 200, step_ns: 8, lanes: [lane(2), lane(1)], operations: 14, left_out: 0, packed: w.packed } });
  assert.deepEqual([[...a.start], [...a.several], [...a.region], [...a.thread], [...a.wait]], [[5, 105], [1, 12], [2, 0], [2, -1], [-7, 0]]);
  assert.deepEqual([...b.start], [9]);
});

test("what lpo view answers is unpacked as the page's own; its frames find their rows", async () => {
  const events = await laneEvents({ count: 1, packed: new Writer().add(1000, 5, 2 * 2, 1, 0).packed }, lane(0));
  assert.deepEqual([[...events.start], [...events.kernel]], [[1000], [2]]);
  const s = await threadEvents({ count: 2, left_out: 4, packed: new Writer().signed(-3).add(50, 1).signed(10).add(5, 0).packed }, { row: 3, name: "thread 9", left_out: 0, start: new Float64Array(), length: new Float64Array(), frame: new Uint32Array() }, [40, 7]);
  assert.deepEqual([[...s.start], [...s.length], [...s.frame], s.row, s.left_out], [[-3, 7], [50, 5], [7, 40], 3, 4]);
});

test("threads are named by process where there are several", async () => {
  const host = (pids: number[]) => ({ host: { zero_ns: 0, least_ns: 0, threads: pids.map((process, row) => ({ row, process, thread: 5, count: 0, left_out: 0 })), packed: new Writer().packed } });
  assert.deepEqual((await threads(host([1]))).map((t) => t.name), ["thread 5"]);
  assert.deepEqual((await threads(host([1, 2]))).map((t) => t.name), ["process 1, thread 5", "process 2, thread 5"]);
});

test("stacks: totals are the sums of what is below", async () => {
  const w = new Writer(), own: number[][] = [], parents: number[] = [];
  for (let i = 0; i < 500; i++) {
    const back = i && chance(10) ? 1 + chance(i) : 0;
    parents.push(back ? i - back : -1);
    own.push(WEIGHTS.map(() => chance(1000)));
    w.add(back, 0, 1).signed(...own[i]);
  }
  const all = await stacks({ frames: [{ kind: "region", name: "r" }], stacks: { count: 500, left_out: 0, packed: w.packed } });
  const total = own.map((o) => [...o]);
  for (let i = 499; i >= 0; i--) if (parents[i] >= 0) total[parents[i]].forEach((_, k) => { total[parents[i]][k] += total[i][k]; });
  assert.deepEqual(all.map((n) => n.total), total);
  assert.deepEqual(all.filter((n) => !n.parent).length, parents.filter((p) => p < 0).length);
});

test("regions: paths, families and their members in the order of numbers", async () => {
  const pack = (rows: number[][], spread: number[]) => {
    const w = new Writer();
    for (const [back, name, last] of rows) w.add(back, name, 0, 2).signed(1, 2, 3).add(1).signed(0).add(0).signed(0).add(last).signed(...spread).add(0);
    return w.packed;
  };
  const folded = { count: 2, left_out: 0, names: ["step", "layer*"], packed: pack([[0, 0, 1], [1, 1, 2]], [1, 2, 3]) };
  const { all, folded: families } = await regions({ regions: { count: 3, left_out: 0, names: ["step", "layer10", "layer9"], packed: pack([[0, 0, 1], [1, 1, 2], [2, 2, 2]], []), folded } });
  assert.deepEqual(all.map((r) => [r.path, r.depth, r.visits, r.gpu]), [["step", 0, 1, 2], ["step/layer10", 1, 1, 2], ["step/layer9", 1, 1, 2]]);
  assert.deepEqual([families[1].path, families[1].count, families[1].spread, families[1].members.map((r) => r.name)], ["step/layer*", 2, [1, 2, 3], ["layer9", "layer10"]]);
});

test("charts: gaps are not zero", async () => {
  const [c] = await charts({ charts: [{ chapter: "power", title: "Power", unit: "W", clock: "unix", lines: [{ scope: "GPU 0", count: 3, seen: 3, per_unit: 1000, packed: new Writer().signed(0).add(1).signed(2500).signed(10).add(0).signed(10).add(1).signed(-500).packed }] }] });
  assert.deepEqual([c.lines[0].at, c.lines[0].value], [[0, 10, 20], [2.5, null, 2]]);
});

// Lanes of operations that do not overlap on one lane, as streams are.
function lanesOf(n: number, span: number): Operations[] {
  return ["device:0", "device:0", "device:1"].map((device) => {
    const start = Array.from({ length: n }, () => chance(span)).sort((a, b) => a - b);
    const length = start.map((t, i) => Math.max(0, Math.min(chance(60), (start[i + 1] ?? span) - t)));
    return { lane: { device, stream: 0, count: n }, start: Float64Array.from(start), length: Float64Array.from(length), kernel: Uint32Array.from(start, () => chance(5)), several: new Uint32Array(n).fill(1), region: Uint32Array.from(start, () => chance(3)), thread: new Int32Array(n), wait: new Float64Array(n) };
  });
}

const SPAN = 10000, STEP = 100;

test("an area of operations, by the nanosecond", () => {
  const lanes = lanesOf(200, SPAN);
  for (let round = 0; round < 20; round++) {
    const a = chance(SPAN), b = a + 1 + chance(SPAN - a), sum = exact(lanes, a, b), busy = new Set<number>();
    let total = 0;
    for (const o of lanes) o.start.forEach((t, i) => { for (let ns = Math.max(a, t); ns < Math.min(b, t + o.length[i]); ns++) { total++; if (o.lane.device === "device:0") busy.add(ns); } });
    assert.equal([...sum.kernels.values()].reduce((x, y) => x + y, 0), total);
    assert.equal([...sum.regions.values()].reduce((x, y) => x + y, 0), total);
    if (busy.size) assert.equal(sum.idle.get("device:0")?.get("in all"), b - a - busy.size);
  }
});

test("stored sums are those of the operations, whatever the area", () => {
  const lanes = lanesOf(300, SPAN), cells = new Map<string, number>(), add = (bucket: number, key: number, v: number) => cells.set(`${bucket} ${key}`, (cells.get(`${bucket} ${key}`) ?? 0) + v);
  for (const o of lanes) o.start.forEach((t, i) => {
    for (let at = t, end = t + o.length[i]; at < end;) { const bucket = Math.floor(at / STEP), upto = Math.min(end, (bucket + 1) * STEP); add(bucket, o.kernel[i], upto - at); add(bucket, 6 + o.region[i], upto - at); at = upto; }
  });
  add(3, 9 + 1, 17); // device 0, the second cause
  add(3, 9 + 2, 4); // device 1, the first
  add(3, 9 + 4, 4096); // bytes
  const sorted = [...cells].map(([k, v]) => [...k.split(" ").map(Number), v]).sort((x, y) => x[0] - y[0] || x[1] - y[1]), numbers: number[] = [];
  sorted.forEach(([bucket, key, v], i) => { const [b, k] = i ? sorted[i - 1] : [0, 0]; numbers.push(bucket - b, bucket > b ? key : key - k, v); });
  let at = 0;
  const stored = new Buckets({ step_ns: STEP, count: sorted.length, regions: 3, devices: ["device:0", "device:1"], causes: ["blocked", "host"] }, 5, { next: () => numbers[at++], signed: () => numbers[at++] });
  for (let round = 0; round < 40; round++) {
    const a = chance(SPAN), b = a + 1 + chance(SPAN - a), got = stored.of(a, b), want = exact(lanes, got.from, got.to), inside = stored.of(a, b, true);
    assert.ok(got.from <= a && got.to >= b && a - got.from < STEP && got.to - b < STEP);
    assert.deepEqual([...got.kernels].sort(), [...want.kernels].sort());
    assert.deepEqual([...got.regions].sort(), [...want.regions].sort());
    assert.ok(inside.to < inside.from + STEP || (inside.from >= a && inside.to <= b));
  }
  const three = stored.of(300, 400);
  assert.deepEqual([three.idle.get("device:0")?.get("host"), three.idle.get("device:1")?.get("blocked"), three.bytes], [17, 4, 4096]);
  assert.equal(stored.of(0, 300).bytes, 0);
});

test("sums of a page are read from its own packing", async () => {
  const s = await buckets({ kernels: [], sums: { step_ns: 10, count: 2, regions: 1, devices: [], causes: [], packed: new Writer().add(0, 0).signed(5).add(2, 2).signed(9).packed } });
  assert.deepEqual([[...(s?.of(0, 10).kernels ?? [])], s?.of(20, 30).bytes], [[[0, 5]], 9]);
});

test("search: every word, what begins so first, then by time", () => {
  const all = [{ kind: "kernel", name: "my gemm", address: "a", weight: 9 }, { kind: "kernel", name: "gemm_small", address: "b", weight: 1 }, { kind: "region", name: "decode", address: "c", weight: 100 }];
  assert.deepEqual(find(all, "gemm").map((f) => f.address), ["b", "a"]);
  assert.deepEqual(find(all, "gemm my").map((f) => f.address), ["a"]);
  assert.deepEqual(find(all, "").map((f) => f.address), ["c", "a", "b"]);
});

test("numbers are printed as the report prints them", () => {
  assert.deepEqual([format.ns(0), format.ns(999), format.ns(1500), format.ns(2e9)].map((t) => t.replace(/\u00a0/g, " ")), ["0 ns", "999 ns", "1.500 us", "2 s"]);
  assert.equal(format.ns(null), "n/a");
  assert.equal(format.count(1234567), "1,234,567");
});
