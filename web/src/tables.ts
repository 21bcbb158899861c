// SPDX-License-Identifier: Apache-2.0
// Every table can be sorted; every number can be copied and has an address of its own: #table-kernels/3/gpu_ns.
import { copy, el } from "./dom";

export function sortable(table: HTMLTableElement): void {
  const head = table.tHead?.rows[0], body = table.tBodies[0];
  if (!head || !body || body.rows.length < 2) return;
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
      const numbers = [...body.rows].some((r) => value(r) !== undefined);
      const sorted = [...body.rows].sort((a, b) => {
        if (!numbers) return (a.cells[column]?.textContent ?? "").localeCompare(b.cells[column]?.textContent ?? "") * (down ? -1 : 1);
        const x = value(a), y = value(b);
        // unknown is not zero: it stands last either way
        if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1;
        return (Number(x) - Number(y)) * (down ? -1 : 1);
      });
      body.append(...sorted);
    });
  });
}

export function address(): void {
  for (const table of document.querySelectorAll("table[id]")) {
    const t = table as HTMLTableElement, keys = [...(t.tHead?.rows[0]?.cells ?? [])].map((c) => c.dataset.key ?? String(c.cellIndex));
    [...(t.tBodies[0]?.rows ?? [])].forEach((row, r) => [...row.cells].forEach((cell, c) => { cell.id = `${t.id}/${r + 1}/${keys[c]}`; }));
  }
  document.addEventListener("click", (e) => {
    const cell = (e.target as HTMLElement).closest<HTMLElement>("[data-v]");
    if (!cell) return;
    if (cell.id) history.replaceState(null, "", "#" + encodeURI(cell.id));
    copy(cell.dataset.v ?? "");
  });
  go();
  window.addEventListener("hashchange", go);
}

function go(): void {
  document.querySelector(".here")?.classList.remove("here");
  const cell = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!cell) return;
  for (let d = cell.closest("details"); d; d = d.parentElement?.closest("details") ?? null) d.open = true;
  cell.classList.add("here");
  cell.scrollIntoView({ block: "center" });
}
