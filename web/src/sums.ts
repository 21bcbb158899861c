// SPDX-License-Identifier: Apache-2.0
// Sums of a stretch of time: of the operations one by one where they are all there, else of the stored buckets, which
// are exact to their edges. No page is needed here: tests run this alone.
import type { Operations } from "./data";

/** ns by row of the kernels, by row of the regions plus one, by device and cause of idle time; bytes copied. */
export interface Sum { from: number; to: number; kernels: Map<number, number>; regions: Map<number, number>; idle: Map<string, Map<string, number>>; bytes: number }
export interface RawSums { step_ns: number; count: number; regions: number; devices: string[]; causes: string[] }

const add = <K>(to: Map<K, number>, key: K, v: number): void => { to.set(key, (to.get(key) ?? 0) + v); };
const empty = (from: number, to: number): Sum => ({ from, to, kernels: new Map(), regions: new Map(), idle: new Map(), bytes: 0 });

export class Buckets {
  private readonly bucket: Uint32Array;
  private readonly key: Uint32Array;
  private readonly value: Float64Array;
  private readonly firstIdle: number;

  /** `next` and `signed` read the packed numbers; `kernels`: how many rows there are. */
  constructor(private readonly raw: RawSums, private readonly kernels: number, r: { next(): number; signed(): number }) {
    const n = raw.count;
    [this.bucket, this.key, this.value] = [new Uint32Array(n), new Uint32Array(n), new Float64Array(n)];
    this.firstIdle = kernels + 1 + raw.regions;
    for (let i = 0, bucket = 0, key = 0; i < n; i++) {
      const step = r.next(), k = r.next();
      bucket += step;
      key = step ? k : key + k;
      [this.bucket[i], this.key[i], this.value[i]] = [bucket, key, r.signed()];
    }
  }

  /** The buckets that a stretch touches, at least one; or, `inside`, those that lie in it. */
  of(from: number, to: number, inside = false): Sum {
    const step = this.raw.step_ns, first = Math.max(0, inside ? Math.ceil(from / step) : Math.floor(from / step)), last = inside ? Math.floor(to / step) : Math.max(first + 1, Math.ceil(to / step));
    const sum = empty(first * step, Math.max(first, last) * step), causes = this.raw.causes.length;
    for (let i = 0; i < this.bucket.length; i++) {
      if (this.bucket[i] < first || this.bucket[i] >= last) continue;
      const k = this.key[i], v = this.value[i], idle = k - this.firstIdle;
      if (k <= this.kernels) add(sum.kernels, k, v);
      else if (idle < 0) add(sum.regions, k - this.kernels - 1, v);
      else if (idle < this.raw.devices.length * causes) {
        const device = this.raw.devices[Math.floor(idle / causes)];
        if (!sum.idle.has(device)) sum.idle.set(device, new Map());
        add(sum.idle.get(device) as Map<string, number>, this.raw.causes[idle % causes], v);
      } else sum.bytes += v;
    }
    return sum;
  }
}

/** Every operation by itself, cut at the edges; how long each device did nothing. */
export function exact(lanes: Operations[], from: number, to: number): Sum {
  const sum = empty(from, to), busy = new Map<string, [number, number][]>();
  for (const o of lanes)
    for (let i = 0; i < o.start.length && o.start[i] < to; i++) {
      const a = Math.max(from, o.start[i]), b = Math.min(to, o.start[i] + o.length[i]);
      if (b <= a) continue;
      add(sum.kernels, o.kernel[i], b - a);
      add(sum.regions, o.region[i], b - a);
      const spans = busy.get(o.lane.device);
      if (spans) spans.push([a, b]); else busy.set(o.lane.device, [[a, b]]);
    }
  for (const [device, spans] of busy) {
    let covered = 0, upto = from;
    for (const [a, b] of spans.sort((x, y) => x[0] - y[0])) { covered += Math.max(0, b - Math.max(a, upto)); upto = Math.max(upto, b); }
    sum.idle.set(device, new Map([["in all", to - from - covered]]));
  }
  return sum;
}
