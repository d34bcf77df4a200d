// What an agent asks, with what it is about, and the buttons that answer.

import { html, memo, tell, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import { command } from "./api.js";
import { Changes, Code, Diff } from "./message/block.js";
import { isDiff, replaced } from "./message/diff.js";
import { Icon } from "./icons.js";
import { clean, elapsed } from "./text.js";
import { replacements } from "./message/tool.js";

const FRESH = 400; // A key that was meant for something else must not answer what has just appeared. Milliseconds.

const answered = new Set(); // Questions that were answered here: their cards go before the server says so.
export const isOpen = (question) => !answered.has(question.id);

/** Send an answer. The card goes at once, and comes back if the server refuses. */
export async function answer(agent, question, told, changed = () => {}) {
  if (answered.has(question.id)) return;
  answered.add(question.id);
  changed();
  try {
    await command(agent, { type: "extension_ui_response", id: question.id, ...told });
  } catch (error) {
    answered.delete(question.id);
    tell(error.message);
    changed();
  }
}

const ALLOW = "Allow once", ALWAYS = "Allow for this session", DENY = "Deny";
const choice = (question, word, confirmed) => (question.options?.includes(word) ? { value: word } : { confirmed });
export const approval = (question) => choice(question, ALLOW, true);
export const denial = (question, reason) => ({ ...choice(question, DENY, false), ...(reason ? { reason } : {}) });

/** Return what a key would answer: yes or no to a permission or a confirmation; null where there is more to say. */
export function keyed(question, yes) {
  if (question.kind === "permission") return yes ? approval(question) : denial(question, "");
  if (question.method === "confirm") return { confirmed: yes };
  return yes ? null : { cancelled: true };
}

/** Draw what is about to be done: the command, the change, or the arguments. */
const Matter = memo(({ toolName, args, preview }) => {
  const pairs = replacements(args);
  if (typeof preview === "string" && preview && isDiff(preview)) return html`<${Path} path=${args?.path} /><${Diff} text=${preview} />`;
  if (pairs) return html`<${Path} path=${args?.path} />${pairs.map(([old, made]) => html`<${Changes} lines=${replaced(old, made)} />`)}`;
  if (toolName === "bash" && typeof args?.command === "string") return html`<${Code} kind="cmd" text=${args.command} all />`;
  if (toolName === "write" && typeof args?.content === "string") {
    return html`<${Path} path=${args.path} /><${Changes} lines=${replaced("", args.content)} />`;
  }
  const text = typeof preview === "string" && preview ? preview : args === undefined ? "" : JSON.stringify(args, null, 2);
  return text ? html`<${Code} text=${text} />` : null;
});

const Path = ({ path }) => (typeof path === "string" ? html`<p class="path">${clean(path)}</p>` : null);

/** Draw the time that is left for an answer. */
function Left({ question, heard }) {
  if (!(question.timeout > 0)) return null;
  const until = heard + question.timeout;
  return html`<span class="left" data-until=${until}>${left(until)}</span>`;
}

export const left = (until) => `${elapsed(until - Date.now())} left`;

const numbers = new Map(); // Ids of questions may be anything; those of elements may not.
const numbered = (id) => numbers.get(id) ?? numbers.set(id, numbers.size + 1).get(id);

/** Draw one question. `drive` is false for whoever may only watch. */
export function Question({ agent, question, drive, heard, changed, chosen }) {
  const place = useRef(null);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (place.current) place.current.dataset.ready = "yes";
    }, FRESH);
    return () => clearTimeout(timer);
  }, [question.id]);
  const [title, ...rest] = clean(question.title || "").split("\n");
  const permission = question.permission;
  const about = permission || (question.kind === "tool" ? question : null);
  const more = permission ? "" : rest.join("\n").trim();
  const send = (told) => answer(agent, question, told, changed);
  const heading = `question-${numbered(question.id)}`;
  return html`<section class="question" ref=${place} data-question=${question.id} aria-labelledby=${heading}>
    <h3 id=${heading}>${title || "A question"}<${Left} question=${question} heard=${heard} /></h3>
    ${more && html`<p class="typed">${more}</p>`}
    ${question.message && html`<p class="typed">${clean(question.message)}</p>`}
    ${about && html`<${Matter} toolName=${about.toolName} args=${about.args} preview=${about.preview} />`}
    ${question.kind === "tool" && html`<p class="remark">A program that declared this tool has to answer.</p>`}
    ${drive && question.kind !== "tool" && html`<${Answers} question=${question} send=${send} chosen=${chosen} heading=${heading} />`}
  </section>`;
}

function Answers({ question, send, chosen, heading }) {
  if (question.kind === "permission") return html`<${Permit} question=${question} send=${send} chosen=${chosen} />`;
  switch (question.method) {
    case "select":
      return html`<div class="answers options" role="group" aria-labelledby=${heading}>
        ${(question.options || []).map((option) => html`<button type="button" onClick=${() => send({ value: option })}>${clean(option)}</button>`)}
        <button type="button" class="quiet" onClick=${() => send({ cancelled: true })}>Dismiss</button>
      </div>`;
    case "confirm":
      return html`<div class="answers">
        <button type="button" class="no" onClick=${() => send({ confirmed: false })}><${Icon} name="cross" />No${chosen && html`<kbd>d</kbd>`}</button>
        <button type="button" class="yes" onClick=${() => send({ confirmed: true })}><${Icon} name="check" />Yes${chosen && html`<kbd>a</kbd>`}</button>
      </div>`;
    default:
      return html`<${Written} question=${question} send=${send} heading=${heading} />`;
  }
}

function Permit({ question, send, chosen }) {
  const [reason, setReason] = useState(null);
  const place = useRef(null); // Of the focus: the reason, and then again the button that asked for it.
  useLayoutEffect(() => {
    if (reason !== null || place.asked) place.current.focus();
    place.asked = reason !== null;
  }, [reason === null]);
  const deny = (event) => {
    event?.preventDefault();
    send(denial(question, (reason || "").trim()));
  };
  if (reason !== null) {
    return html`<form class="answers reason" onSubmit=${deny}>
      <input ref=${place} value=${reason} onInput=${(event) => setReason(event.target.value)}
        onKeyDown=${(event) => event.key === "Escape" && (event.stopPropagation(), setReason(null))}
        aria-label="Why not? The agent reads this." placeholder="Why not? The agent reads this." />
      <button type="submit" class="no"><${Icon} name="cross" />Deny</button>
    </form>`;
  }
  return html`<div class="answers">
    <button type="button" class="no" onClick=${deny}><${Icon} name="cross" />Deny${chosen && html`<kbd>d</kbd>`}</button>
    <button type="button" class="yes" onClick=${() => send(approval(question))}><${Icon} name="check" />Approve${chosen && html`<kbd>a</kbd>`}</button>
    <span class="aside">
      <button type="button" class="quiet" ref=${place} onClick=${() => setReason("")}>Deny with a reason…</button>
      ${question.options?.includes(ALWAYS) && html`<button type="button" class="quiet" onClick=${() => send({ value: ALWAYS })}>Allow for this session</button>`}
    </span>
  </div>`;
}

function Written({ question, send, heading }) {
  const [text, setText] = useState(question.prefill || "");
  const submit = (event) => {
    event.preventDefault();
    send({ value: text });
  };
  const field = {
    value: text,
    onInput: (event) => setText(event.target.value),
    placeholder: clean(question.placeholder || ""),
    "aria-labelledby": heading,
  };
  const keys = (event) => (event.metaKey || event.ctrlKey) && event.key === "Enter" && submit(event);
  return html`<form class="answers written" onSubmit=${submit}>
    ${question.method === "editor" ? html`<textarea rows="6" ...${field} onKeyDown=${keys}></textarea>` : html`<input ...${field} />`}
    <button type="button" class="no" onClick=${() => send({ cancelled: true })}>Dismiss</button>
    <button type="submit" class="yes"><${Icon} name="check" />Answer</button>
  </form>`;
}
