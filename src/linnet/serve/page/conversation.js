// A conversation, live. However long it is, some dozens of messages around the place that is looked at are drawn; the
// place stays where it is on the screen when others come and go around it.

import { Component, html, isAdrift, tell } from "./dom.js";
import { command, exported } from "./api.js";
import { isBusy } from "./agents.js";
import { Question, isOpen } from "./cards.js";
import { Composer } from "./composer.js";
import { Details } from "./details.js";
import { Feed } from "./feed.js";
import { Icon } from "./icons.js";
import { Doing, title } from "./list.js";
import { Message } from "./message/message.js";
import { textOf } from "./message/tool.js";
import { clean, elapsed, short } from "./text.js";

const SPAN = 90; // Messages that are drawn at most,
const STEP = 30; // and that come when an end of them is near.
const NEAR = 900; // Pixels.

export class Conversation extends Component {
  constructor(props) {
    super(props);
    this.state = { from: 0, to: 0, chosen: -1, details: false, typed: null, failed: null };
    this.opened = new Set();
    this.follow = true;
    this.top = 0; // Where it was scrolled to when that was last looked at.
    this.folds = []; // What somebody has just opened or closed.
    this.keep = false; // Something was opened or closed, and its size is not known yet.
    this.anchor = null;
    this.due = 0;
    this.total = 0; // Messages that there were when it was last drawn.
    this.spoken = 0;
    this.frames = 0;
    this.feed = new Feed(props.id, {
      own: props.own,
      changed: () => this.soon(),
      failed: (error) => this.setState({ failed: error }),
    });
  }

  componentDidMount() {
    this.feed.start();
    this.props.handle(this, true);
    this.watcher = new ResizeObserver(() => this.resized());
    this.watcher.observe(this.place);
    this.watcher.observe(this.inner);
  }

  componentWillUnmount() {
    this.feed.stop();
    this.watcher.disconnect();
    cancelAnimationFrame(this.due);
    clearTimeout(this.later);
    this.props.handle(this, false);
  }

  /** Draw what has changed with the next frame, however many events there were. A hidden page has no frames. */
  soon() {
    if (!this.due) this.due = requestAnimationFrame(() => this.advance());
    if (!this.later) this.later = setTimeout(() => this.advance(), 250);
  }

  advance() {
    cancelAnimationFrame(this.due);
    clearTimeout(this.later);
    this.due = this.later = 0;
    const { total } = this.feed.state;
    let { from, to } = this.state;
    // Whoever reads a reply that is being said still has it before them when it has been said.
    const grows = to === this.total && total - from <= 2 * SPAN;
    if (this.follow || to > total || grows) to = total;
    else if (total !== this.total) this.scrolled();
    this.total = total;
    from = Math.min(from, to);
    if (this.follow) from = to - from > SPAN || from === 0 ? Math.max(0, to - (from ? SPAN : 60)) : from;
    this.say();
    this.range(from, to, !this.follow);
  }

  /** Draw these messages. What is looked at stays where it is if `hold`. */
  range(from, to, hold) {
    from = this.whole(from);
    this.feed.ensure(from, to);
    if (hold) this.hold();
    this.setState({ from, to });
  }

  /** Return the place of the reply that the results at a place belong to. */
  whole(at) {
    for (let back = 0; at > 0 && back < 50 && this.feed.message(at)?.role === "toolResult"; back++) at--;
    return at;
  }

  /** Remember which message is at the top, and where. */
  hold() {
    const top = this.place.getBoundingClientRect().top;
    for (const node of this.inner.querySelectorAll(":scope > [data-at]")) {
      const box = node.getBoundingClientRect();
      if (box.bottom > top) {
        this.anchor = { at: node.dataset.at, top: box.top };
        return;
      }
    }
  }

  /** Return whether something here has the focus. A button that goes must not take it along. */
  getSnapshotBeforeUpdate() {
    return !!document.activeElement?.closest(".conversation");
  }

  componentDidUpdate({ agent: before }, _, held) {
    if (held && isAdrift()) this.place.focus({ preventScroll: true });
    // Somebody else may have branched, or begun another session: what is shown here is not the conversation any more.
    const { agent } = this.props;
    if (before && agent && before.session_id !== agent.session_id && !this.props.own) this.feed.load();
    const aimed = this.aim === undefined ? null : this.node(this.aim);
    if (this.follow) this.toEnd();
    else if (aimed) {
      // Also if something else was drawn with it: whoever goes somewhere does not want to stay.
      const box = aimed.getBoundingClientRect(), frame = this.place.getBoundingClientRect();
      if (box.top < frame.top || box.bottom > frame.bottom) aimed.scrollIntoView({ block: "nearest" });
      if (document.activeElement?.closest(".talk, body") && !document.activeElement.matches("input, textarea")) aimed.focus({ preventScroll: true });
      this.aim = undefined;
    } else if (this.anchor) {
      const node = this.node(this.anchor.at);
      if (node) this.place.scrollTop += node.getBoundingClientRect().top - this.anchor.top;
    }
    this.anchor = null;
  }

  node(at) {
    return this.inner.querySelector(`:scope > [data-at="${Number(at)}"]`);
  }

  toEnd() {
    this.place.scrollTop = this.place.scrollHeight;
    this.top = this.place.scrollTop;
  }

  /** What is opened stays where it is, even if it is the last thing there is. */
  pressed({ target }) {
    const summary = target.closest("summary");
    if (summary) this.folds = [summary.parentNode];
    else if (target.closest(".more, .shot")) this.keeps();
  }

  /** What is folded has its words only after the browser has told that it was opened. */
  toggled({ target }) {
    if (this.folds.includes(target)) this.keeps();
  }

  keeps() {
    this.follow = false;
    this.keep = true;
  }

  resized() {
    if (this.follow) this.toEnd();
    if (!this.keep) return;
    this.keep = false;
    this.scrolled();
  }

  scrolled() {
    // At once: what is said meanwhile must not take whoever scrolls up back to the end.
    const { scrollTop, scrollHeight, clientHeight } = this.place;
    if (scrollTop < this.top - 1 && scrollHeight - scrollTop - clientHeight >= 40) this.follow = false;
    if (this.checking) return;
    this.checking = requestAnimationFrame(() => {
      this.checking = 0;
      this.look();
    });
  }

  look() {
    if (this.keep) return;
    const { scrollTop, scrollHeight, clientHeight } = this.place;
    const { total } = this.feed.state;
    const { from, to } = this.state;
    const below = scrollHeight - scrollTop - clientHeight;
    // A picture or a reply that grows takes the end away, too; only whoever scrolls up wants to stay.
    const up = scrollTop < this.top - 1;
    this.top = scrollTop;
    const follow = to >= total && (below < 40 || (this.follow && !up));
    this.follow = follow;
    if (follow !== this.drawn) this.setState({});
    if (scrollTop < NEAR && from > 0) {
      const next = this.whole(Math.max(0, from - STEP));
      if (this.feed.ensure(next, from)) this.range(next, follow ? to : Math.min(to, Math.max(next + SPAN, from + 10)), true);
    } else if (below < NEAR && to < total) {
      const next = Math.min(total, to + STEP);
      if (this.feed.ensure(to, next)) this.range(Math.max(from, Math.min(next - SPAN, to - 10)), next, true);
    }
  }

  /** Go to a message: `at` is its place in the whole conversation. */
  go(at) {
    const { total } = this.feed.state;
    const to = Math.min(total, Math.max(at + SPAN / 2, SPAN));
    this.follow = false;
    this.aim = Math.min(total - 1, Math.max(0, at));
    this.setState({ chosen: this.aim });
    if (this.aim < this.state.from || this.aim >= this.state.to) this.range(Math.max(0, to - SPAN), to, false);
  }

  /** Go to where the slider was left. Until then it stays where it was dragged, whatever is said meanwhile. */
  dropped({ target }) {
    this.dragged = undefined;
    this.go(Number(target.value));
  }

  newest() {
    const { total } = this.feed.state;
    this.follow = true;
    this.setState({ chosen: -1 });
    this.range(Math.max(0, total - 60), total, false);
  }

  /** Go to the next or the previous message that can be seen. */
  move(step) {
    const shown = [...this.inner.querySelectorAll(":scope > [data-at]")].map((node) => Number(node.dataset.at));
    const last = shown[shown.length - 1];
    const { chosen } = this.state;
    if (chosen < 0) return this.go(step < 0 ? last ?? 0 : this.visible() ?? 0);
    const next = step > 0 ? shown.find((at) => at > chosen) : shown.reverse().find((at) => at < chosen);
    return next === undefined ? undefined : this.go(next);
  }

  visible() {
    const top = this.place.getBoundingClientRect().top;
    const node = [...this.inner.querySelectorAll(":scope > [data-at]")].find((one) => one.getBoundingClientRect().bottom > top + 8);
    return node && Number(node.dataset.at);
  }

  /** Open or close what the chosen message has folded. */
  toggle() {
    const all = [...(this.node(this.state.chosen)?.querySelectorAll("details") ?? [])];
    const open = all.some((one) => !one.open);
    this.folds = all;
    for (const one of all) one.open = open;
  }

  /** Tell listeners of a reply that has ended, and show what the agent wants to be shown once. */
  say() {
    const { state } = this.feed;
    const notice = state.notices[state.notices.length - 1];
    if (notice && notice.number > this.spoken) {
      this.spoken = notice.number;
      tell(short(notice.text, 300));
    }
    const last = state.messages[state.messages.length - 1];
    if (last !== this.last && this.last !== undefined && last?.role === "assistant" && !state.draft) {
      const words = textOf(last.content);
      if (words) tell(short(words, 300), { aloud: false });
    }
    this.last = last ?? null;
  }

  async branch(at) {
    const { id } = this.props;
    const text = textOf(this.feed.message(at)?.content);
    if (!confirm("Branch from here? The agent goes on in a copy of the conversation that ends before this message. What it does now is stopped.")) return;
    try {
      const { messages } = await command(id, { type: "get_fork_messages" });
      // The same words may have been said twice: count from the end, where all messages are known.
      let later = 0;
      for (let n = at + 1; n < this.feed.state.total; n++) {
        const message = this.feed.message(n);
        if (message?.role === "user" && textOf(message.content) === text) later++;
      }
      const same = messages.filter((one) => one.text === text);
      const entry = same[Math.max(0, same.length - 1 - later)];
      if (!entry) throw new Error("This message is not in the session any more.");
      const told = await command(id, { type: "fork", entryId: entry.entryId });
      if (told?.cancelled) return;
      this.follow = true;
      await this.feed.load();
      this.setState({ typed: { text: told.text, number: Date.now() }, chosen: -1 });
      tell("You are on a new branch.");
      document.getElementById("prompt")?.focus();
    } catch (error) {
      tell(error.message);
    }
  }

  items() {
    const { feed, opened } = this;
    const { from, to, chosen } = this.state;
    const { drive, own } = this.props;
    const tools = Object.entries(feed.state.tools).map(([id, tool]) => ({ id: id.slice(1), tool }));
    const out = [];
    let calls = null, before = "";
    for (let at = from; at < to; at++) {
      const message = feed.message(at);
      if (!message) {
        if (before !== "missing") out.push(html`<p class="remark missing" key=${`missing${at}`}>Older messages are on their way…</p>`);
        before = "missing";
        continue;
      }
      const props = { key: at, message, at, chosen: at === chosen, opened };
      if (message.role === "assistant") {
        calls = new Set((Array.isArray(message.content) ? message.content : []).filter((part) => part?.type === "toolCall").map((part) => part.id));
        props.results = [];
        for (let next = at + 1; next < to && feed.message(next)?.role === "toolResult"; next++) props.results.push(feed.message(next));
        props.tools = this.held(at, tools.filter((one) => calls.has(one.id)));
        props.next = before === "assistant";
      } else if (message.role === "toolResult") {
        if (calls?.has(message.toolCallId)) continue;
        props.lone = true;
      } else if (message.role === "user" && drive && !own) props.branch = this.brancher ??= (place) => this.branch(place);
      before = message.role;
      out.push(html`<${Message} ...${props} />`);
    }
    return [out, before];
  }

  /** Return what was returned for this message before, if it is the same: what did not change is not drawn again. */
  held(at, tools) {
    const before = this.running?.at === at ? this.running.tools : [];
    if (before.length === tools.length && before.every((one, n) => one.id === tools[n].id && one.tool === tools[n].tool)) return before;
    if (tools.length) this.running = { at, tools };
    return tools;
  }

  render({ id, agent, drive, own, changed, others }, { from, to, details, typed, failed }) {
    const { feed } = this;
    const { state } = feed;
    const { total, draft, retry } = state;
    const [items, before] = this.items();
    this.drawn = this.follow;
    const waiting = (agent ? agent.waiting || [] : state.questions).filter(isOpen);
    const busy = state.status !== "idle" || (agent ? isBusy(agent) : false);
    const shown = agent || { id, name: state.name, cwd: "", model: state.model, state: state.status, since: 0 };
    const live = draft && { ...draft, content: draft.content.filter(Boolean) };
    return html`<main class="conversation" aria-label="Conversation">
      <header class="bar">
        ${!own && html`<a class="button back" href="#/" aria-label=${others ? `All agents, ${others} of them waiting for you` : "All agents"}><${Icon} name="back" />${others > 0 && html`<span class="others">${others > 99 ? "99+" : others}</span>`}</a>`}
        <div class="who"><h1>${title(shown)}</h1><span class="sub"><${Doing} agent=${shown} />${shown.model && ` · ${clean(shown.model)}`}</span></div>
        ${!feed.online && shown.state !== "gone" && html`<span class="offline" role="status">Connecting again…</span>`}
        <button type="button" class="button" aria-pressed=${details} onClick=${() => this.setState({ details: !details })} aria-label="Details"><${Icon} name="plot" /></button>
      </header>
      ${details && html`<${Details} agent=${shown} feed=${feed} drive=${drive && !own} exported=${own ? "" : exported(id)} version=${total} />`}
      <div class="talk" ref=${(node) => (this.place = node)} onClick=${(event) => this.pressed(event)} onToggleCapture=${(event) => this.toggled(event)} onScroll=${() => this.scrolled()} tabindex="-1">
        <div class="inner" role="log" aria-live="off" aria-label="Messages" ref=${(node) => (this.inner = node)}>
          ${failed && html`<p class="fault">${failed.message}</p>`}
          ${!feed.ready && !failed && html`<p class="remark">The conversation is on its way…</p>`}
          ${feed.ready && total === 0 && !live && html`<p class="remark empty">Nothing was said yet.</p>`}
          ${items}
          ${to >= total && live && html`<${Message} key="draft" message=${live} at=${total} opened=${this.opened} live next=${before === "assistant"} />`}
          ${to >= total && this.strays(items.length)}
          ${retry && html`<p class="fault" key="retry">${clean(retry.reason)} Attempt ${retry.attempt} of ${retry.maxAttempts} ${retry.at > Date.now() ? `in ${elapsed(retry.at - Date.now())}` : "now"}.</p>`}
          ${state.status === "compacting" && html`<p class="remark" key="compacting">What was said is being summarized…</p>`}
          ${to >= total && waiting.map((question) => html`<${Question} key=${question.id} agent=${id} question=${question} drive=${drive && !own} heard=${agent?.heard ?? Date.now()} changed=${changed} chosen />`)}
        </div>
      </div>
      <div class="below">${!this.follow && html`<button type="button" class="newest" onClick=${() => this.newest()}><${Icon} name="down" /> Newest</button>`}</div>
      ${total > SPAN && html`<div class="place">
        <input type="range" min="0" max=${total - 1} value=${this.dragged ?? (this.follow ? total - 1 : Math.min(from + 5, total - 1))} aria-label="Place in the conversation"
          aria-valuetext=${`message ${from + 1} of ${total}`} onInput=${(event) => (this.dragged = Number(event.target.value))} onChange=${(event) => this.dropped(event)} />
        <span>${(from + 1).toLocaleString("en")}–${to.toLocaleString("en")} of ${total.toLocaleString("en")}</span>
      </div>`}
      ${Object.values(state.shown).some(Boolean) && html`<div class="widgets">${Object.values(state.shown).filter(Boolean).map((lines) => html`<pre>${clean(lines.join("\n"))}</pre>`)}</div>`}
      ${drive && !own && html`<${Composer} agent=${id} busy=${busy} queue=${state} typed=${typed ?? state.typed} />`}
    </main>`;
  }

  /** Draw calls that run though no message that is here has them. */
  strays() {
    const { feed } = this;
    const { messages, tools } = feed.state;
    const known = new Set();
    for (const message of messages.slice(-60)) {
      for (const part of Array.isArray(message?.content) ? message.content : []) if (part?.type === "toolCall") known.add(part.id);
    }
    const left = Object.entries(tools).filter(([id, tool]) => !known.has(id.slice(1)) && !tool.ended);
    if (!left.length || feed.state.draft) return null;
    const content = left.map(([id, tool]) => ({ type: "toolCall", id: id.slice(1), name: tool.name, arguments: tool.args }));
    const running = left.map(([id, tool]) => ({ id: id.slice(1), tool }));
    return html`<${Message} key="strays" message=${{ role: "assistant", content }} at=${-1} tools=${running} opened=${this.opened} next />`;
  }
}
