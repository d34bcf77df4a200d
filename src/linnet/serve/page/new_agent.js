// The form for a new agent: in which folder, with which model, and what it should do first.

import { html, tell, useEffect, useRef, useState } from "./dom.js";
import { begin, command, models } from "./api.js";
import { clean, grouped } from "./text.js";

const LEVELS = ["", "off", "minimal", "low", "medium", "high", "xhigh", "max"];
const MODES = [["", "as the server says"], ["ask", "ask me before anything is changed"], ["read-only", "read only"]];

/** Draw the models that may be chosen, by who offers them: several offer the same. A value is a place in the list. */
export const ModelOptions = ({ known }) =>
  grouped([...known.entries()], ([, one]) => one.provider).map(
    ([provider, all]) => html`<optgroup label=${clean(provider)}>${all.map(([at, one]) => html`<option value=${at}>${clean(one.name || one.id)}</option>`)}</optgroup>`,
  );

export function NewAgent({ about, agents, done }) {
  const dialog = useRef(null);
  const [known, setKnown] = useState([]);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current.showModal();
    models().then(setKnown, () => setKnown([]));
  }, []);
  const places = [...new Set([...(about.roots || []), ...agents.map((agent) => agent.cwd)])].filter(Boolean).slice(0, 200);

  async function submit(event) {
    event.preventDefault();
    const told = Object.fromEntries(new FormData(event.target));
    const chosen = known[told.model];
    const recipe = { cwd: told.cwd };
    if (chosen) Object.assign(recipe, { model: chosen.id, provider: chosen.provider });
    for (const name of ["name", "thinking", "permission"]) if (told[name]) recipe[name] = told[name];
    setBusy(true);
    setError("");
    try {
      const { agent, remarks } = await begin(recipe);
      if (told.message.trim()) await command(agent.id, { type: "prompt", message: told.message.trim() });
      if (remarks?.length) tell(remarks.join(" "));
      done(agent.id);
    } catch (refused) {
      setError(refused.message);
      setBusy(false);
    }
  }

  return html`<dialog ref=${dialog} class="new" aria-labelledby="new-title" onClose=${() => done(null)}>
    <form onSubmit=${submit}>
      <h2 id="new-title">A new agent</h2>
      <label>Folder <input name="cwd" required list="places" autocomplete="off" spellcheck="false" defaultValue=${places[0] || ""} /></label>
      <datalist id="places">${places.map((place) => html`<option value=${place}></option>`)}</datalist>
      <label>What should it do? <textarea name="message" rows="3"></textarea></label>
      <div class="pair">
        <label>Model <select name="model"><option value="">as the server says</option><${ModelOptions} known=${known} /></select></label>
        <label>Thinking <select name="thinking">${LEVELS.map((level) => html`<option value=${level}>${level || "as the server says"}</option>`)}</select></label>
      </div>
      <div class="pair">
        <label>Name <input name="name" autocomplete="off" /></label>
        <label>Permission <select name="permission">${MODES.map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select></label>
      </div>
      ${error && html`<p class="fault" role="alert">${clean(error)}</p>`}
      <div class="answers">
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button type="submit" class="yes" disabled=${busy}>Begin</button>
      </div>
    </form>
  </dialog>`;
}
