// Cost and tokens over time, as a drawing: both only rise, the tokens as an area and the cost as a line. What was spent before the messages that are here is
// what the totals have above their sum.

import { html } from "./dom.js";
import { count, moment, money } from "./text.js";

const WIDE = 640, HIGH = 150, LEFT = 8, RIGHT = 8, TOP = 14, BOTTOM = 22;
const POINTS = 300;

const tokens = (usage) => (usage.input || 0) + (usage.output || 0) + (usage.cacheRead || 0) + (usage.cacheWrite || 0);

/** Return [{time, cost, tokens}], each what had been spent by then. `total` is what was spent in all, if that is known. */
export function points(messages, total = {}) {
  const out = [];
  let cost = 0, all = 0;
  for (const message of messages) {
    if (message?.role !== "assistant" || !message.usage || !(message.timestamp > 0)) continue;
    cost += message.usage.cost?.total || 0;
    all += tokens(message.usage);
    out.push({ time: message.timestamp + (message.durationMs || 0), cost, tokens: all });
  }
  const before = { cost: Math.max(0, (total.cost ?? 0) - cost), tokens: Math.max(0, (total.tokens ?? 0) - all) };
  const every = Math.max(1, Math.ceil(out.length / POINTS));
  return out
    .filter((_, at) => at % every === 0 || at === out.length - 1)
    .map((point) => ({ time: point.time, cost: point.cost + before.cost, tokens: point.tokens + before.tokens }));
}

function line(all, value, from, to, filled) {
  const least = value(all[0]), rise = value(all[all.length - 1]) - least || 1, span = to - from || 1;
  const x = (time) => LEFT + ((time - from) / span) * (WIDE - LEFT - RIGHT);
  const y = (number) => HIGH - BOTTOM - ((number - least) / rise) * (HIGH - TOP - BOTTOM);
  let path = "";
  all.forEach((point, at) => {
    const [px, py] = [x(point.time).toFixed(1), y(value(point)).toFixed(1)];
    path += at ? `H${px}V${py}` : `M${px} ${py}`;
  });
  return filled ? `${path}V${HIGH - BOTTOM}Z` : path;
}

export function Plot({ messages, total }) {
  const all = points(messages, total);
  if (all.length < 2) return html`<p class="remark">There is nothing to draw yet.</p>`;
  const last = all[all.length - 1], [from, to] = [all[0].time, last.time];
  const paid = last.cost > 0;
  const words = `From ${moment(from)} to ${moment(to)}: ${count(last.tokens)} tokens${paid ? `, ${money(last.cost)}` : ""}.`;
  return html`<figure class="plot">
    <svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label=${words} preserveAspectRatio="none">
      <path class="tokens" d=${line(all, (point) => point.tokens, from, to, true)} />
      <path class="axis" d="M${LEFT} ${HIGH - BOTTOM}H${WIDE - RIGHT}" />
      ${paid && html`<path class="cost" d=${line(all, (point) => point.cost, from, to)} />`}
    </svg>
    <figcaption><span>${moment(from)}</span>
      <span class="key"><span class="swatch tokens"></span>${count(all[0].tokens)} → ${count(last.tokens)} tokens
        ${paid && html`<span class="swatch cost"></span>${money(all[0].cost) || "$0"} → ${money(last.cost)}`}</span>
      <span>${moment(to)}</span></figcaption>
  </figure>`;
}
