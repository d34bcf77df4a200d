// The list of keys.

import { html, useEffect, useRef } from "./dom.js";

const KEYS = [
  [["j", "k"], "next, previous agent or message"],
  [["Enter"], "open the conversation; in one, open what the message has folded"],
  [["Esc"], "back to the list, or out of a field"],
  [["a"], "approve what the chosen agent asks"],
  [["d"], "deny it"],
  [["/"], "say something to the agent"],
  [["[", "]"], "previous, next agent"],
  [["g", "G"], "first, newest message"],
  [["x"], "stop the agent"],
  [["i"], "details, cost and export"],
  [["n"], "a new agent"],
  [["t"], "light or dark"],
  [["?"], "this list"],
];

export function Help({ drive, done }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  const shown = KEYS.filter(([[key]]) => drive || !"ad/xn".includes(key));
  return html`<dialog ref=${dialog} class="help" aria-labelledby="help-title" onClose=${done}>
    <h2 id="help-title">Keyboard</h2>
    <dl>${shown.map(([keys, words]) => html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${words}</dd></div>`)}</dl>
    <button type="button" onClick=${() => dialog.current.close()}>Close</button>
  </dialog>`;
}
