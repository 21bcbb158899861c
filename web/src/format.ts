// SPDX-License-Identifier: Apache-2.0
// Numbers as the rest of lpo prints them (src/util/units.c), with spaces that do not break.
const SPACE = "\u00a0";

function digits(v: number): string {
  const a = Math.abs(v);
  const decimals = a === Math.floor(a) && a < 1000 ? 0 : a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : 3;
  return v.toFixed(decimals);
}

function scaled(v: number, scales: [number, string][]): string {
  if (!Number.isFinite(v)) return "n/a";
  const [size, name] = scales.find(([s]) => Math.abs(v) >= s) ?? scales[scales.length - 1];
  return digits(v / size) + SPACE + name;
}

export const ns = (v: number | null | undefined): string =>
  v === null || v === undefined ? "n/a" : scaled(v, [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]]);

export const bytes = (v: number | null | undefined): string =>
  v === null || v === undefined ? "n/a" : scaled(v, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]]);

export const joules = (v: number): string => scaled(v, [[1, "J"], [1e-3, "mJ"], [1e-6, "uJ"]]);

export const count = (v: number | null | undefined): string =>
  v === null || v === undefined ? "n/a" : v.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");

/** Any number, short: 1,234,567 or 0.0123. */
export const real = (v: number): string => Number.isInteger(v) ? count(v) : Math.abs(v) >= 1e5 ? count(Math.round(v)) : String(Number(v.toPrecision(5)));

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "n/a";
  const p = 100 * part / whole;
  return (p > 0 && p < 0.05 ? "<0.1" : p.toFixed(1)) + SPACE + "%";
}
