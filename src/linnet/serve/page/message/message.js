// One message of a conversation, of any role.

import { html, memo, useState } from "../dom.js";
import { Code, Output } from "./block.js";
import { lenient } from "../fold.js";
import { Icon } from "../icons.js";
import { Prose } from "./markdown.js";
import { Pictures } from "./picture.js";
import { Call, Lone, textOf } from "./tool.js";
import { clean, clock, count, duration, moment, spent } from "../text.js";

const list = (content) => (Array.isArray(content) ? content.filter(Boolean) : typeof content === "string" ? [{ type: "text", text: content }] : []);

/** Draw something that is folded and drawn only when it is open. `id` is remembered while it is out of sight. */
function Folded({ kind, id, opened, label, children }) {
  const [open, setOpen] = useState(opened?.has(id) ?? false);
  const toggle = (event) => {
    const now = event.currentTarget.open;
    if (now) opened?.add(id);
    else opened?.delete(id);
    setOpen(now);
  };
  return html`<details class=${kind} open=${open} onToggle=${toggle}><summary>${label}</summary>${open && children()}</details>`;
}

const Meta = ({ time, took, cost }) => html`<div class="meta">
  ${time ? html`<time datetime=${iso(time)} title=${moment(time, 0)}>${clock(time)}</time>` : null}
  ${took ? html`<span>${took}</span>` : null}
  ${cost ? html`<span>${cost}</span>` : null}
</div>`;

const iso = (time) => (Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : undefined);

/** Draw a message. `results` are those of its calls, `running` what is known of calls that run. */
export const Message = memo((props) => {
  const { message, at } = props;
  const View = message && Object.hasOwn(ROLES, message.role) ? ROLES[message.role] : Other;
  return html`<${View} ...${props} at=${at} />`;
});

const attrs = (at, chosen) => ({ "data-at": at, tabindex: -1, "aria-current": chosen ? "true" : undefined });

const ROLES = {
  user({ message, at, chosen, branch }) {
    const text = textOf(message.content);
    return html`<article class="e user" ...${attrs(at, chosen)}>
      <header class="by"><h2>You</h2>
        ${branch && html`<button type="button" class="link" onClick=${() => branch(at)} title="Branch from here"><${Icon} name="branch" /><span>Branch</span></button>`}
      </header>
      <div class="said">${text && html`<p class="typed">${clean(text)}</p>`}<${Pictures} content=${message.content} /></div>
      <${Meta} time=${message.timestamp} />
    </article>`;
  },

  assistant({ message, at, chosen, results, tools, opened, next, live }) {
    const parts = list(message.content);
    const answers = new Map((results || []).map((result) => [result.toolCallId, result]));
    return html`<article class="e reply ${next ? "next" : ""} ${live ? "live" : ""}" ...${attrs(at, chosen)}>
      <header class="by"><h2>${clean(message.model || "Agent")}</h2></header>
      <div class="said">
        ${parts.map((part, n) => {
          switch (part.type) {
            case "text": return part.text ? html`<${Prose} key=${n} text=${part.text} />` : null;
            case "thinking": return html`<${Thinking} key=${n} id=${`${at}.${n}`} text=${part.thinking} redacted=${part.redacted} opened=${opened} live=${live} />`;
            case "toolCall": return html`<${Call} key=${n} id=${`${at}/${n}`} name=${part.name} args=${part.written ? lenient(part.written) : part.arguments}
                result=${answers.get(part.id)} running=${tools?.find((tool) => tool.id === part.id)?.tool} writing=${live} opened=${opened} />`;
            default: return null;
          }
        })}
        ${live && !parts.length && html`<p class="pulse" aria-hidden="true"><i></i><i></i><i></i></p>`}
        ${message.stopReason === "error" && html`<p class="fault">The reply failed. ${clean(message.errorMessage || "")}</p>`}
        ${message.stopReason === "aborted" && html`<p class="remark">Stopped. ${aborted(message.errorMessage)}</p>`}
        ${message.stopReason === "length" && html`<p class="fault">The reply was cut off: it was longer than the model may answer.</p>`}
      </div>
      <${Meta} time=${message.timestamp} took=${duration(message.durationMs ?? 0)} cost=${spent(message.usage || {})} />
    </article>`;
  },

  toolResult: ({ message, at, chosen, lone }) =>
    lone ? html`<article class="e reply next" ...${attrs(at, chosen)}><div class="said"><${Lone} message=${message} /></div></article>` : null,

  system: ({ message, at, chosen, opened }) => html`<article class="e thin" ...${attrs(at, chosen)}>
    <${Folded} kind="folded" id=${`s${at}`} opened=${opened} label=${`System prompt${message.toolsAdded?.length ? `, ${message.toolsAdded.length} tools` : ""}`}>
      ${() => html`<${Code} text=${system(message)} />`}
    <//>
  </article>`,

  bashExecution: ({ message, at, chosen }) => html`<article class="e user shell" ...${attrs(at, chosen)}>
    <header class="by"><h2>You ran</h2></header>
    <div class="said"><${Code} kind="cmd" text=${message.command ?? ""} all />${message.output && html`<${Output} text=${message.output} />`}</div>
    <${Meta} time=${message.timestamp} cost=${message.exitCode ? `exit ${message.exitCode}` : ""} />
  </article>`,

  compactionSummary: ({ message, at, chosen, opened }) =>
    html`<${Summary} ...${{ message, at, chosen, opened }} label=${`What was said before, summarized${message.tokensBefore ? ` (${count(message.tokensBefore)} tokens)` : ""}`} />`,
  branchSummary: ({ message, at, chosen, opened }) => html`<${Summary} ...${{ message, at, chosen, opened }} label="Another branch, summarized" />`,

  custom: ({ message, at, chosen }) =>
    message.display === false ? null : html`<article class="e note" ...${attrs(at, chosen)}>
      <header class="by"><h2>${clean(message.customType || "Note")}</h2></header>
      <div class="said"><${Prose} text=${textOf(message.content)} /><${Pictures} content=${message.content} /></div>
    </article>`,
};

/** Return what there is to say of a reply that was stopped, but that it was. */
const aborted = (words) => (/^request was aborted\.?$/i.test(words || "") ? "" : clean(words || ""));

const Summary = ({ message, at, chosen, opened, label }) => html`<article class="e card" ...${attrs(at, chosen)}>
  <${Folded} kind="folded" id=${`c${at}`} opened=${opened} label=${label}>${() => html`<${Prose} text=${String(message.summary ?? "")} />`}<//>
</article>`;

const Other = ({ message, at, chosen, opened }) => html`<article class="e thin" ...${attrs(at, chosen)}>
  <${Folded} kind="folded" id=${`o${at}`} opened=${opened} label=${clean(message?.role || "Something else")}>${() => html`<${Code} text=${JSON.stringify(message, null, 2)} />`}<//>
</article>`;

function system({ content, sections, toolsAdded, toolsRemoved }) {
  const parts = [textOf(content)];
  for (const [name, text] of Object.entries(sections || {})) parts.push(text === null ? `${name}: gone` : `${name}:\n${text}`);
  if (toolsAdded?.length) parts.push(`Tools: ${toolsAdded.map((tool) => tool?.name).join(", ")}`);
  if (toolsRemoved?.length) parts.push(`Tools that went: ${toolsRemoved.join(", ")}`);
  return parts.filter(Boolean).join("\n\n");
}

function Thinking({ id, text, redacted, opened, live }) {
  const words = typeof text === "string" ? text : "";
  const tail = live && words ? clean(words.trimEnd().split("\n").pop()).slice(-90) : "";
  const label = html`<span>Thinking</span>${tail && html`<small>${tail}</small>`}`;
  return html`<${Folded} kind="thinking" id=${id} opened=${opened} label=${label}>
    ${() => (words ? html`<${Prose} text=${words} />` : html`<p class="remark">${redacted ? "The vendor keeps this to itself." : "Nothing was shown."}</p>`)}
  <//>`;
}
