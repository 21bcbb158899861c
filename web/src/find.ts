// SPDX-License-Identifier: Apache-2.0
// What can be found from every view: regions, kernels, operators, lines of code, findings; each has an address.
import { Raw, Region, nameOf } from "./data";
import type { Flame } from "./flame";

export interface Found { kind: string; name: string; address: string; weight: number }

/** Everything that has a name, once. */
export function findable(data: Raw, trees: { all: Region[]; folded: Region[] }, flame: Flame | undefined): Found[] {
  const out: Found[] = [];
  (data.findings ?? []).forEach((f, i) => out.push({ kind: "finding", name: f.title, address: `finding-${i + 1}`, weight: f.saving_ns ?? 0 }));
  for (const r of trees.folded.length ? trees.folded : trees.all) out.push({ kind: "region", name: r.path, address: "region=" + encodeURIComponent(r.path), weight: r.gpu });
  (data.kernels ?? []).forEach((k, i) => out.push({ kind: "kernel", name: nameOf(k), address: `kernel-${i + 1}`, weight: k.gpu_ns ?? 0 }));
  for (const f of flame?.names() ?? []) if (f.kind === "operator" || f.kind === "line" || f.kind === "module") out.push({ kind: f.kind, name: f.name, address: "stack=" + encodeURIComponent(f.name), weight: f.gpu });
  return out;
}

/** Every word must be in the name, in any order; names that begin with the first come first, then by time. */
export function find(all: Found[], text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = all.filter((f) => { const name = f.name.toLowerCase(); return words.every((w) => name.includes(w) || f.kind === w); });
  const begins = (f: Found) => words.length > 0 && f.name.toLowerCase().startsWith(words[0]) ? 1 : 0;
  return hits.sort((a, b) => begins(b) - begins(a) || b.weight - a.weight);
}
