// SPDX-License-Identifier: Apache-2.0
// The pictures of chapters (roofline, limits): each point and bar can be reached by Tab and says its numbers.
import { el } from "./dom";

export function figures(): void {
  for (const figure of document.querySelectorAll<HTMLElement>("figure")) {
    const said = el("figcaption", { class: "dim", role: "status" }, "Hover over a point, or Tab to it, for its numbers.");
    const marks = [...figure.querySelectorAll<SVGElement>("svg *")].filter((e) => e.querySelector(":scope > title"));
    for (const m of marks) {
      const text = m.querySelector("title")?.textContent ?? "";
      m.setAttribute("tabindex", "0");
      m.setAttribute("role", "img");
      m.setAttribute("aria-label", text);
      for (const event of ["focus", "mouseenter"]) m.addEventListener(event, () => { said.textContent = text; });
    }
    if (marks.length) figure.append(said);
  }
}
