// SPDX-License-Identifier: Apache-2.0
// Making elements. Text only ever becomes text nodes: nothing of the profiled program is markup.
export type Child = Node | string | null | undefined;

// Controls, and marks that are invisible or turn the direction of what follows: as in src/util/visible.c.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Text of others, safe to look at. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (c) => c === "\n" ? "\\n" : c === "\t" ? "\\t" : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, key === "title" || key === "aria-label" ? visible(value) : value);
  for (const c of children) if (c !== null && c !== undefined) e.append(typeof c === "string" ? visible(c) : c);
  return e;
}

/** Copies text and says so, for screen readers too. */
export function copy(text: string): void {
  const done = () => say("copied: " + (text.length > 80 ? text.slice(0, 80) + "…" : text));
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => oldCopy(text, done));
  else oldCopy(text, done);
}

// Pages opened from disk have no clipboard object in some browsers.
function oldCopy(text: string, done: () => void): void {
  const area = el("textarea", { "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  if (document.execCommand("copy")) done();
  area.remove();
}

let said: HTMLElement | undefined, timer = 0;

export function say(text: string): void {
  if (!said) document.body.append(said = el("div", { class: "said", role: "status" }));
  said.textContent = visible(text);
  said.hidden = false;
  clearTimeout(timer);
  timer = window.setTimeout(() => { if (said) said.hidden = true; }, 2000);
}

/** A small menu at a place of the page; Escape or a click elsewhere closes it. */
export function menu(x: number, y: number, rows: [string, () => void][]): void {
  document.querySelector(".menu")?.remove();
  const box = el("div", { class: "menu", role: "menu" });
  const close = () => { box.remove(); document.removeEventListener("keydown", key); document.removeEventListener("mousedown", away); };
  const key = (e: KeyboardEvent) => { if (e.key === "Escape") close(); };
  const away = (e: MouseEvent) => { if (!box.contains(e.target as Node)) close(); };
  for (const [label, act] of rows) {
    const b = el("button", { role: "menuitem", type: "button" }, label);
    b.addEventListener("click", () => { close(); act(); });
    box.append(b);
  }
  box.style.left = x + "px";
  box.style.top = y + "px";
  document.body.append(box);
  document.addEventListener("keydown", key);
  document.addEventListener("mousedown", away);
  (box.firstElementChild as HTMLElement | null)?.focus();
}

/** Puts a view at the head of a chapter; the chapter's own text stays, folded away. */
export function intoChapter(id: string, title: string, view: HTMLElement): void {
  let section = document.getElementById(id);
  const main = document.querySelector("main") as HTMLElement;
  if (!section) {
    section = el("section", { id }, el("h2", {}, title));
    const before = document.getElementById("kernels") || document.getElementById("coverage");
    main.insertBefore(section, before);
    section.append(view);
    return;
  }
  const rest = [...section.childNodes].filter((n) => !(n instanceof HTMLHeadingElement && n.tagName === "H2"));
  const text = el("details", {}, el("summary", {}, "The same as text and tables"));
  text.append(...rest);
  section.append(view, text);
}
