// The page: who may see it, which of its two views is shown, and what keys do.

import { Component, html, isAdrift, render, tell } from "./dom.js";
import { about } from "./api.js";
import { Agents, needsMe, sorted } from "./agents.js";
import * as attention from "./attention.js";
import { answer, isOpen, keyed, left } from "./cards.js";
import { stop } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Help } from "./help.js";
import { Icon } from "./icons.js";
import { List, title } from "./list.js";
import { NewAgent } from "./new_agent.js";
import { SignIn, fromAddress } from "./sign_in.js";
import { elapsed, money, short } from "./text.js";

const place = () => {
  const found = /^#\/agent\/([^/?]+)/.exec(location.hash);
  try {
    return found ? decodeURIComponent(found[1]) : "";
  } catch {
    return "";
  }
};

class App extends Component {
  constructor(props) {
    super(props);
    this.state = { about: null, signIn: false, problem: "", at: place(), chosen: "", dialog: "", version: 0, notifies: attention.notifies() };
    this.agents = new Agents({ changed: () => this.changed(), refused: () => this.check() });
    this.order = [];
    this.changed = this.changed.bind(this);
    this.choose = (id) => this.state.chosen !== id && this.setState({ chosen: id });
    this.handle = (conversation, shown) => {
      if (shown) this.conversation = conversation;
      else if (this.conversation === conversation) this.conversation = null;
    };
  }

  async componentDidMount() {
    addEventListener("hashchange", () => this.moved());
    addEventListener("keydown", (event) => this.key(event));
    setInterval(ticked, 1000);
    let problem = "";
    try {
      await fromAddress();
    } catch (error) {
      problem = error.status === 401 ? "That token is not known here." : error.message;
    }
    this.setState({ at: place(), chosen: place() });
    this.begin(problem);
  }

  async begin(problem = "") {
    try {
      const told = await about();
      this.setState({ about: told, signIn: false, problem: "", ...(told.single && told.agent ? { at: told.agent } : {}) });
      this.agents.open();
    } catch (error) {
      if (error.status === 401 || error.status === 403) this.setState({ signIn: true, problem });
      else {
        this.setState({ problem: error.message });
        setTimeout(() => this.begin(problem), 3000);
      }
    }
  }

  /** The stream was lost: it may be that the cookie is not good any more. */
  async check() {
    try {
      await about();
    } catch (error) {
      if (error.status !== 401) return;
      this.agents.close();
      this.setState({ signIn: true, about: null });
    }
  }

  get drive() {
    return this.state.about?.role === "drive" && !this.single;
  }

  get single() {
    return !!this.state.about?.single;
  }

  changed() {
    this.order = sorted(this.agents.all.values());
    if (this.single && !this.state.at && this.order.length) this.setState({ at: this.order[0].id });
    const number = this.order.filter((agent) => (agent.waiting || []).some(isOpen)).length;
    const current = this.agents.all.get(this.state.at);
    const asking = this.order.find((agent) => (agent.waiting || []).some(isOpen));
    const detail = asking ? `${title(asking)}: ${short(String(asking.waiting[0].title || "").split("\n")[0], 120)}` : "";
    if (attention.show(number, current ? `${title(current)} – linnet` : "linnet", detail)) tell(attention.sentence(number), { aloud: false });
    this.setState((before) => ({ version: before.version + 1 }));
  }

  moved() {
    if (location.hash.includes("token=")) return void fromAddress().then(() => (this.moved(), this.begin()), (error) => tell(error.message));
    const before = this.state.at;
    this.setState({ at: place(), chosen: place() || before || this.state.chosen }, () => {
      this.changed();
      if (!this.state.at && before) document.querySelector(`[data-agent="${CSS.escape(before)}"] .head`)?.focus();
    });
    if (place()) setTimeout(() => document.querySelector(".talk")?.focus({ preventScroll: true }));
  }

  /** Return the agent whose row has the focus: rows move from group to group, and questions go when they are answered. */
  getSnapshotBeforeUpdate() {
    return document.activeElement?.closest("[data-agent]")?.dataset.agent ?? "";
  }

  componentDidUpdate(_, __, held) {
    if (!held || !isAdrift()) return;
    const head = document.querySelector(`[data-agent="${CSS.escape(held)}"] .head`) ?? document.querySelector(".head[tabindex='0']");
    head?.focus({ preventScroll: true });
  }

  theme() {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    const theme = dark ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("linnet-theme", theme);
    } catch { /* Nothing is kept where that is not allowed. */ }
  }

  async notify() {
    const on = await attention.switchNotifications();
    this.setState({ notifies: on });
    tell(on ? "You will be notified when an agent waits for you." : "There are no notifications.");
  }

  /** Choose the next or the previous agent, and show it. */
  step(by, open) {
    const shown = [...document.querySelectorAll("[data-agent]")].map((row) => row.dataset.agent);
    const ids = shown.length ? shown : this.order.map((agent) => agent.id);
    if (!ids.length) return;
    const now = ids.indexOf(open ? this.state.at : this.state.chosen);
    const id = ids[Math.min(ids.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
    if (open) location.hash = `#/agent/${encodeURIComponent(id)}`;
    this.setState({ chosen: id }, () => {
      const head = document.querySelector(`[data-agent="${CSS.escape(id)}"] .head`);
      if (!open) head?.focus();
      head?.scrollIntoView({ block: "nearest" });
    });
  }

  /** Answer yes or no to what the chosen agent asks. If none is chosen, the first that asks is chosen, and no more. */
  respond(yes) {
    if (!this.drive) return;
    const asks = (agent) => (agent?.waiting || []).find(isOpen);
    const id = this.state.at || this.state.chosen;
    const agent = this.agents.all.get(id);
    const question = asks(agent);
    if (!question) {
      const next = this.order.find(asks);
      if (!next) tell("No agent waits for you.");
      else if (this.state.at) tell("This agent asks nothing.");
      else {
        this.setState({ chosen: next.id }, () => document.querySelector(`[data-agent="${CSS.escape(next.id)}"] .head`)?.focus());
        tell(`Press ${yes ? "a" : "d"} again to answer ${title(next)}.`);
      }
      return;
    }
    const card = document.querySelector(`[data-question="${CSS.escape(question.id)}"]`);
    if (!card || card.dataset.ready !== "yes") return;
    const told = keyed(question, yes);
    if (told) answer(agent.id, question, told, this.changed);
    else card.querySelector("button, input, textarea")?.focus();
  }

  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !this.state.about || document.querySelector("dialog[open]")) return;
    const { target, key } = event;
    const talk = this.state.at ? this.conversation : null;
    if (target.matches?.("input:not([type=range]), textarea, select")) {
      if (key === "Escape") target.blur();
      return;
    }
    const keys = {
      j: () => (talk ? talk.move(1) : this.step(1)),
      k: () => (talk ? talk.move(-1) : this.step(-1)),
      ArrowDown: () => !talk && this.step(1),
      ArrowUp: () => !talk && this.step(-1),
      Enter: () => {
        if (target.closest?.("a, button, summary, [role=button], input")) return false;
        if (talk) talk.toggle();
        else if (this.state.chosen) location.hash = `#/agent/${encodeURIComponent(this.state.chosen)}`;
        return true;
      },
      Escape: () => talk && !this.single && (location.hash = "#/"),
      a: () => this.respond(true),
      d: () => this.respond(false),
      "/": () => document.getElementById("prompt")?.focus(),
      "[": () => talk && this.step(-1, true),
      "]": () => talk && this.step(1, true),
      g: () => talk?.go(0),
      G: () => talk?.newest(),
      Home: () => talk?.go(0),
      End: () => talk?.newest(),
      x: () => talk && this.drive && stop(this.state.at),
      i: () => talk?.setState({ details: !talk.state.details }),
      n: () => this.drive && this.setState({ dialog: "new" }),
      t: () => this.theme(),
      "?": () => this.setState({ dialog: "help" }),
    };
    if (!Object.hasOwn(keys, key) || (target.type === "range" && key.length > 1)) return;
    const arrows = key.startsWith("Arrow");
    if (arrows && talk) return;
    if (keys[key]() !== false) event.preventDefault();
  }

  render(_, { about: told, signIn, problem, at, chosen, dialog, version, notifies }) {
    if (signIn) return html`<${SignIn} problem=${problem} done=${() => this.begin()} />`;
    if (!told) return html`<p class="remark loading" role="status">${problem || "…"}</p>`;
    const { order, drive, single } = this;
    const current = this.agents.all.get(at);
    const own = single ? told.protocol || current?.dialect || "pi" : ""; // A watched program may show it later.
    const cost = order.reduce((sum, agent) => sum + (agent.cost || 0), 0);
    const number = this.agents.waiting;
    const closed = (id) => {
      this.setState({ dialog: "" });
      if (id) location.hash = `#/agent/${encodeURIComponent(id)}`;
    };
    return html`<div class="page ${at ? "with-talk" : ""} ${single ? "single" : ""}">
      ${!single && html`<${at ? "nav" : "main"} class="side" aria-label="Agents">
        <header class="bar">
          <h1>linnet</h1>
          <span class="sub">${[`${order.length.toLocaleString("en")} ${order.length === 1 ? "agent" : "agents"}`, money(cost)].filter(Boolean).join(" · ")}</span>
          ${!this.agents.online && html`<span class="offline" role="status">Connecting again…</span>`}
          ${attention.canNotify() && html`<button type="button" class="button" aria-pressed=${notifies} aria-label="Notifications" onClick=${() => this.notify()}><${Icon} name="bell" /></button>`}
          <button type="button" class="button" aria-label="Light or dark" onClick=${() => this.theme()}><${Icon} name="theme" /></button>
          <button type="button" class="button keys" aria-label="Keyboard" onClick=${() => this.setState({ dialog: "help" })}><${Icon} name="keys" /></button>
          ${drive && html`<button type="button" class="button main" aria-label="New agent" onClick=${() => this.setState({ dialog: "new" })}><${Icon} name="plus" /><span>New</span></button>`}
        </header>
        <div class="scroll">
          ${!at && order.length > 0 && html`<p class="lead">${attention.sentence(number)}</p>`}
          <${List} agents=${order} chosen=${chosen} current=${at} drive=${drive} changed=${this.changed} wide=${!at} open=${this.choose} version=${version} />
          ${this.agents.ready && !order.length && html`<${Nobody} drive=${drive} begin=${() => this.setState({ dialog: "new" })} />`}
        </div>
      <//>`}
      ${at && html`<${Conversation} key=${`${at} ${own}`} id=${at} agent=${current} drive=${drive} own=${own} others=${number - (needsMe(current) ? 1 : 0)} changed=${this.changed} handle=${this.handle} version=${version} />`}
      ${dialog === "help" && html`<${Help} drive=${drive} done=${() => this.setState({ dialog: "" })} />`}
      ${dialog === "new" && html`<${NewAgent} about=${told} agents=${order} done=${closed} />`}
    </div>`;
  }
}

const Nobody = ({ drive, begin }) => html`<p class="lead">There are no agents yet.</p>
  <p class="remark">${drive ? "An agent works in a folder of yours, and asks here when it needs you." : "Whoever has the other token can begin one."}</p>
  ${drive && html`<p class="answers"><button type="button" class="yes" onClick=${begin}><${Icon} name="plus" />New agent<kbd>n</kbd></button></p>`}`;

/** Let the seconds of what goes on pass, without drawing anything else. */
function ticked() {
  const now = Date.now();
  for (const node of document.querySelectorAll("[data-since]")) {
    const words = elapsed(now - Number(node.dataset.since));
    if (node.firstChild && node.firstChild.data !== words) node.firstChild.data = words;
  }
  for (const node of document.querySelectorAll("[data-until]")) {
    if (node.firstChild) node.firstChild.data = left(Number(node.dataset.until));
  }
}

render(html`<${App} />`, document.getElementById("app"));
