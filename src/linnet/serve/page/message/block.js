// Code, outputs and diffs: lines in a frame, of which the first ones are shown, with a button that copies all.

import { html, tell, useState } from "../dom.js";
import { runs } from "./ansi.js";
import { lines as changes } from "./diff.js";
import { clean } from "../text.js";

const SHOWN = 20; // Lines, before somebody asks for the rest.
const MOST = 3000; // Lines that are ever drawn: a browser is no pager.
const WIDE = 4000; // Characters of a line, likewise.

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied");
  } catch {
    tell("The browser does not let the page copy.");
  }
}

/** Draw rows in a frame. `last` shows the last ones instead of the first, as of something that still prints. */
function Framed({ kind, label, rows, text, last, all }) {
  const [open, setOpen] = useState(false);
  const some = open || all ? MOST : SHOWN;
  const cut = rows.length > (open || all ? MOST : SHOWN + 5);
  const shown = cut ? (last ? rows.slice(-some) : rows.slice(0, some)) : rows;
  const left = rows.length - shown.length;
  return html`<div class="block ${kind}">
    ${label && html`<div class="label">${label}</div>`}
    <pre tabindex="0">${shown}</pre>
    ${left > 0 && !(open || all) && html`<button type="button" class="more" onClick=${() => setOpen(true)}>${left.toLocaleString("en")} more lines</button>`}
    ${left > 0 && (open || all) && html`<p class="remark">${left.toLocaleString("en")} more lines are not drawn. Copy has them all.</p>`}
    <button type="button" class="copy" onClick=${() => copy(text)}>Copy</button>
  </div>`;
}

const cut = (line) => (line.length > WIDE ? `${line.slice(0, WIDE)}…` : line);
const split = (text) => (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");

export function Code({ text, name, kind = "code", all }) {
  const shown = clean(text);
  const rows = split(shown).map((line) => `${cut(line)}\n`);
  return html`<${Framed} kind=${kind} label=${name && clean(name).slice(0, 40)} rows=${rows} text=${shown} all=${all} />`;
}

/** Draw what a command printed, in its colours. */
export function Output({ text, last }) {
  const rows = [[]];
  for (const [classes, piece] of runs(text)) {
    split(`${piece}\n`).forEach((line, at) => {
      if (at) rows.push([]);
      const shown = cut(clean(line));
      if (shown) rows[rows.length - 1].push(classes ? html`<span class=${classes}>${shown}</span>` : shown);
    });
  }
  while (rows.length > 1 && !rows[rows.length - 1].length) rows.pop();
  const made = rows.map((row) => [row, "\n"]);
  return html`<${Framed} kind="out" rows=${made} text=${clean(runs(text).map(([, piece]) => piece).join(""))} last=${last} />`;
}

const SIGNS = { add: "+", del: "-", same: " " };

/** Draw lines of a change. Its signs are text and its numbers are not: whoever copies wants the one without the other. */
export function Changes({ lines, all }) {
  const rows = lines.map(({ kind, number, text }) => {
    const sign = SIGNS[kind];
    return html`<span class="l ${kind}" data-l=${String(number)}>${sign && html`<i>${sign}</i>`}${cut(clean(text)) || " "}</span>`;
  });
  const text = lines.map((line) => (SIGNS[line.kind] ?? "") + line.text).join("\n");
  const kind = lines.some(({ number }) => number !== "") ? "diff" : "diff bare";
  return html`<${Framed} kind=${kind} rows=${rows} text=${clean(text)} all=${all} />`;
}

export const Diff = ({ text, all }) => html`<${Changes} lines=${changes(text)} all=${all} />`;
