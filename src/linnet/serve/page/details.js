// What there is to know of an agent beside its words, and to change: its model, its name, how much it thinks, the plot of
// what it spent, the page that can be kept, and its end.

import { html, tell, useEffect, useState } from "./dom.js";
import { close, command, models } from "./api.js";
import { ModelOptions } from "./new_agent.js";
import { tokens } from "./list.js";
import { Plot } from "./plot.js";
import { clean, count, money } from "./text.js";

const BACK = 600; // The plot goes back so many messages.
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

export function Details({ agent, feed, drive, exported }) {
  const { total, first, messages, thinking, name } = feed.state;
  const start = Math.max(0, total - BACK);
  useEffect(() => {
    feed.ensure(start, first);
  }, [feed, start, first]);
  const shown = [];
  for (let at = start; at < first; at++) shown.push(feed.message(at));
  shown.push(...messages);
  const told = agent.tokens || {};
  const facts = [
    ["Folder", clean(agent.cwd)],
    ["Model", [agent.provider, agent.model].filter(Boolean).map(clean).join(" / ")],
    ["Tokens", tokens(agent) ? `${count((told.input || 0) + (told.cache_read || 0) + (told.cache_write || 0))} in, ${count(told.output || 0)} out` : ""],
    ["Cost", money(agent.cost)],
    ["Messages", total.toLocaleString("en")],
    ["Watched by", agent.watchers ? `${agent.watchers} more` : ""],
    ["Session", clean(agent.session_id || "")],
  ];
  const total_ = agent.tokens ? { cost: agent.cost, tokens: tokens(agent) } : {};
  return html`<section class="details" aria-label="Details">
    <dl>${facts.filter(([, value]) => value).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
    <${Plot} messages=${shown.filter(Boolean)} total=${total_} />
    <div class="tools">
      ${exported && html`<a class="button" href=${exported} target="_blank" rel="noopener">Open as a page</a><a class="button" href=${`${exported}?download`} download>Export</a>`}
      ${drive && html`<${Settings} agent=${agent} thinking=${thinking} name=${name || agent.name} />`}
    </div>
  </section>`;
}

function Settings({ agent, thinking, name }) {
  const [known, setKnown] = useState([]);
  useEffect(() => {
    models().then(setKnown, () => setKnown([]));
  }, []);
  const send = (told, words) => command(agent.id, told).then(() => words && tell(words), (error) => tell(error.message));
  const model = (event) => {
    const chosen = known[event.target.value];
    if (chosen) send({ type: "set_model", provider: chosen.provider, modelId: chosen.id }, `The model is ${chosen.id} now.`);
  };
  const rename = () => {
    const next = prompt("The name of this conversation", name || "");
    if (next?.trim()) send({ type: "set_session_name", name: next.trim() });
  };
  const end = async () => {
    if (!confirm("Close this agent? What it does now is stopped. Its session stays.")) return;
    try {
      await close(agent.id);
      location.hash = "#/";
    } catch (error) {
      tell(error.message);
    }
  };
  const at = known.findIndex((one) => one.id === agent.model && (!agent.provider || one.provider === agent.provider));
  return html`
    <label>Model <select onChange=${model} value=${at}><option value="-1" disabled>${clean(agent.model)}</option><${ModelOptions} known=${known} /></select></label>
    <label>Thinking <select value=${thinking} onChange=${(event) => send({ type: "set_thinking_level", level: event.target.value })}>
      ${thinking && !LEVELS.includes(thinking) ? html`<option value=${thinking}>${clean(thinking)}</option>` : null}
      ${LEVELS.map((level) => html`<option value=${level}>${level}</option>`)}</select></label>
    <button type="button" onClick=${rename}>Rename</button>
    <button type="button" onClick=${() => send({ type: "compact" })}>Compact</button>
    <button type="button" class="no" onClick=${end}>Close the agent</button>`;
}
