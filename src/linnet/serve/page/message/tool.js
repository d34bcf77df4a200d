// Tool calls: one line that says what was asked and how it went, and inside what was asked and what came of it.

import { html, memo, useState } from "../dom.js";
import { Changes, Code, Diff, Output } from "./block.js";
import { isDiff, isUnified, replaced } from "./diff.js";
import { Pictures } from "./picture.js";
import { clean, duration, elapsed, short } from "../text.js";

const MAIN = ["command", "cmd", "pattern", "query", "url", "path", "file_path", "filePath", "name", "prompt"];

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Return the argument that says most, on one line. */
export function headline(args) {
  if (!isRecord(args)) return "";
  const name = MAIN.find((one) => Object.hasOwn(args, one) && typeof args[one] === "string");
  const value = name ? args[name] : Object.values(args).find((each) => typeof each === "string");
  return short(value ?? "", 160, " ↵ ");
}

/** Return pairs of old and new text, from a list of edits or from a single one; null if it is neither. */
export function replacements(args) {
  if (!isRecord(args)) return null;
  const edits = Array.isArray(args.edits) ? [...args.edits] : [];
  if ("oldText" in args || "newText" in args) edits.push(args);
  const pairs = edits.map((edit) => [edit?.oldText, edit?.newText]);
  return pairs.length && pairs.every(([old, made]) => typeof old === "string" && typeof made === "string") ? pairs : null;
}

/** Return the text of a content, whatever shape it has. */
export function textOf(content) {
  if (typeof content === "string") return content;
  return (Array.isArray(content) ? content : [])
    .filter((part) => part?.type === "text")
    .map((part) => (typeof part.text === "string" ? part.text : ""))
    .join("\n");
}

const json = (value) => {
  try {
    return JSON.stringify(value, null, 2) ?? "";
  } catch {
    return "(nested too deeply to be shown)";
  }
};

function Asked({ name, args, answered }) {
  if (!isRecord(args)) return args === undefined ? null : html`<${Code} text=${json(args)} />`;
  if (name === "bash" && typeof args.command === "string") return html`<${Code} kind="cmd" text=${args.command} /><${Rest} args=${args} known=${["command"]} />`;
  if (name === "read" && typeof args.path === "string") return html`<${Rest} args=${args} known=${["path"]} />`;
  if (name === "write" && typeof args.content === "string") {
    return html`<${Code} text=${args.content} /><${Rest} args=${args} known=${["path", "content"]} />`;
  }
  const pairs = name === "edit" ? replacements(args) : null;
  if (pairs) return answered ? null : pairs.map(([old, made]) => html`<${Changes} lines=${replaced(old, made)} />`);
  return Object.keys(args).length ? html`<${Code} text=${json(args)} />` : null;
}

function Rest({ args, known }) {
  const rest = Object.entries(args).filter(([name]) => !known.includes(name));
  if (!rest.length) return null;
  if (rest.every(([, value]) => typeof value !== "object" && String(value).length < 80)) {
    return html`<p class="remark">${clean(rest.map(([name, value]) => `${name}: ${value}`).join(" · "))}</p>`;
  }
  return html`<${Code} text=${json(Object.fromEntries(rest))} />`;
}

function Result({ name, args, content, details, isError, last }) {
  const text = textOf(content);
  const made = typeof details?.diff === "string" && details.diff.trim() ? details.diff : "";
  const pairs = name === "edit" && !isUnified(text) ? replacements(args) : null;
  const command = isRecord(args) && typeof args.command === "string" ? `$ ${args.command}\n\n` : "";
  const body = command && text.startsWith(command) ? text.slice(command.length) : text;
  const shown = () => {
    if (name === "edit" && made) return html`<${Diff} text=${made} />${!isUnified(text) && text && html`<p class="remark">${clean(text)}</p>`}`;
    if (pairs) return html`${pairs.map(([old, now]) => html`<${Changes} lines=${replaced(old, now)} />`)}${text && html`<p class="remark">${clean(text)}</p>`}`;
    if (!body) return null;
    if (!body.includes("\n") && name === "write" && !isError) return html`<p class="remark">${clean(body)}</p>`;
    if (isUnified(body)) return html`<${Diff} text=${body} />`;
    return html`<${Output} text=${body} last=${last} />`;
  };
  return html`${shown()}<${Pictures} content=${content} />`;
}

/** Draw a call. `result` is what answered it, `running` what is known of it while it runs; both may be absent. */
export const Call = memo(({ id, name, args, result, running, writing, opened }) => {
  const [open, setOpen] = useState(opened?.has(id) ?? false);
  const toggle = (event) => {
    const now = event.currentTarget.open;
    if (now) opened?.add(id);
    else opened?.delete(id);
    setOpen(now);
  };
  const done = result || (running?.ended ? { ...running.result, isError: running.isError, durationMs: running.durationMs } : null);
  return html`<details class="call" open=${open} onToggle=${toggle}>
    <summary>
      <b>${clean(name)}</b><span class="arg">${headline(args)}</span>
      <${Verdict} done=${done} since=${running && !running.ended ? running.since : 0} writing=${writing} />
    </summary>
    ${open && html`<${Asked} name=${name} args=${args} answered=${!!done} />
      ${done ? html`<${Result} name=${name} args=${args} ...${done} />` : running?.output && html`<${Result} name=${name} args=${args} ...${running.output} last />`}`}
  </details>`;
});

function Verdict({ done, since, writing }) {
  if (!done) return html`<span class="verdict busy">${since ? html`<span data-since=${since}>${elapsed(Date.now() - since)}</span>` : writing ? "being written" : ""}</span>`;
  const took = duration(done.durationMs ?? 0);
  return html`<span class="verdict ${done.isError ? "failed" : "done"}">${took}<span class="mark">${done.isError ? "failed" : "done"}</span></span>`;
}

/** Draw a result whose call is not known. */
export const Lone = ({ message }) => html`<div class="call lone">
  <p class="summary"><b>${clean(message.toolName)}</b> <span class="verdict ${message.isError ? "failed" : "done"}"><span class="mark">${message.isError ? "failed" : "done"}</span></span></p>
  <${Result} name=${message.toolName} args=${undefined} content=${message.content} details=${message.details} isError=${message.isError} />
</div>`;
