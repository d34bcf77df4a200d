// The list of agents: those that need somebody first, each a row that opens its conversation, with its questions below.

import { html, memo, useState } from "./dom.js";
import { isBusy, rank } from "./agents.js";
import { Question, isOpen } from "./cards.js";
import { clean, count, elapsed, folder, money, short } from "./text.js";

const MORE = 60; // Rows of a group, before somebody asks for the rest.
const GROUPS = ["Needs you", "At work", "Idle", "Asleep"];
const STATES = {
  asleep: "asleep", idle: "idle", working: "thinking", tool: "running", waiting: "waiting for you",
  compacting: "compacting", retrying: "trying again",
};

export const title = (agent) => clean(agent.name) || folder(agent.cwd);
export const tokens = ({ tokens: told = {} }) => (told.input || 0) + (told.output || 0) + (told.cache_read || 0) + (told.cache_write || 0);

/** Draw what an agent does, in a few words, with the seconds since it began. */
export function Doing({ agent }) {
  const tool = agent.state === "tool" && agent.tool;
  const since = tool ? agent.tool.since : agent.since;
  const word = Object.hasOwn(STATES, agent.state) ? STATES[agent.state] : clean(agent.state);
  return html`<span class="doing">
    ${tool ? html`<b>${clean(tool.name)}</b> <span class="arg">${short(tool.title || "", 120)}</span>` : html`<span class="word">${word}</span>`}
    ${(isBusy(agent) || rank(agent) === 0) && since > 0 && html` <span class="since" key=${since} data-since=${since}>${elapsed(Date.now() - since)}</span>`}
  </span>`;
}

const Row = memo(({ agent, chosen, current, drive, changed, wide, open }) => {
  const questions = (agent.waiting || []).filter(isOpen);
  const kind = questions.length ? "waiting" : Object.hasOwn(STATES, agent.state) ? agent.state : "idle";
  const spent = [tokens(agent) ? `${count(tokens(agent))} tokens` : "", money(agent.cost)].filter(Boolean).join(" · ");
  const path = `#/agent/${encodeURIComponent(agent.id)}`;
  return html`<li class="row ${kind} ${chosen ? "at" : ""}" data-agent=${agent.id}>
    <a href=${path} class="head" tabindex=${chosen ? 0 : -1} aria-current=${current ? "page" : undefined} onFocus=${() => open(agent.id)}>
      <span class="top"><span class="dot ${kind}" aria-hidden="true"></span><span class="name">${title(agent)}</span><${Doing} agent=${agent} /></span>
      ${agent.error ? html`<span class="last bad">${short(agent.error, 200)}</span>` : agent.last && html`<span class="last">${short(agent.last, 200)}</span>`}
      <span class="facts"><span class="cwd">${clean(agent.cwd)}</span><span>${clean(agent.model)}</span><span>${spent}</span></span>
    </a>
    ${wide && questions.map((question) => html`<${Question} key=${question.id} agent=${agent.id} question=${question} drive=${drive} heard=${agent.heard} changed=${changed} chosen=${chosen} />`)}
  </li>`;
});

/** Draw all agents. `chosen` is the one that keys are about, `current` the one whose conversation is shown. */
export function List({ agents, chosen, current, drive, changed, wide, open, version }) {
  const [more, setMore] = useState({});
  const groups = GROUPS.map(() => []);
  for (const agent of agents) groups[rank(agent)].push(agent);
  const shown = groups.map((group, at) => group.slice(0, MORE * (1 + (more[at] || 0))));
  const rows = shown.flat();
  const stop = rows.some((agent) => agent.id === chosen) ? chosen : rows[0]?.id; // One row is where Tab leads to.
  return html`<div class="groups">
    ${groups.map((group, at) => {
      if (!group.length) return null;
      const left = group.length - shown[at].length;
      return html`<section aria-labelledby=${`group-${at}`}>
        <h2 id=${`group-${at}`}>${GROUPS[at]} <span class="number">${group.length.toLocaleString("en")}</span></h2>
        <ul class="rows">${shown[at].map((agent) => html`<${Row} key=${agent.id} agent=${agent} chosen=${agent.id === stop} current=${agent.id === current}
            drive=${drive} changed=${changed} wide=${wide} open=${open} version=${agent.waiting?.length ? version : 0} />`)}</ul>
        ${left > 0 && html`<button type="button" class="more" onClick=${() => setMore({ ...more, [at]: (more[at] || 0) + 1 })}>
          ${Math.min(MORE, left).toLocaleString("en")} more of ${left.toLocaleString("en")}</button>`}
      </section>`;
    })}
  </div>`;
}
