// All agents of the server, as its stream of summaries tells of them, and the order in which they are shown.

import { Stream, agentEvents, agents } from "./api.js";

const RANK = { waiting: 0, tool: 1, working: 1, compacting: 1, retrying: 1, idle: 2, asleep: 3 };

export const needsMe = (agent) => (agent?.waiting?.length ?? 0) > 0;
const ranked = (state) => (Object.hasOwn(RANK, state) ? RANK[state] : 2);
export const isBusy = (agent) => ranked(agent.state) === 1 || agent.state === "waiting";

/** Return the place of an agent's group: those that need somebody, those at work, the idle, the sleeping. */
export const rank = (agent) => (needsMe(agent) ? 0 : Math.max(1, ranked(agent.state)));

/** Return the agents in order: whoever has waited longest first. Within a group nobody moves without a reason. */
export function sorted(all) {
  return [...all].sort((a, b) => {
    const group = rank(a) - rank(b);
    if (group) return group;
    const turn = rank(a) === 0 ? a.since - b.since : rank(a) === 1 ? a.created - b.created : b.changed - a.changed;
    return turn || (a.id < b.id ? -1 : 1);
  });
}

export class Agents {
  constructor({ changed, refused }) {
    this.all = new Map();
    this.ready = false;
    this.online = true;
    this.due = false;
    this.changed = changed;
    this.refused = refused;
    const on = {
      agent: (event) => this.heard(event, (summary) => this.put(summary)),
      gone: (event) => this.heard(event, ({ id }) => this.all.delete(id)),
    };
    this.stream = new Stream(() => agentEvents, on, {
      opened: () => this.begun(),
      lost: () => {
        this.online = false;
        this.soon();
        this.refused();
      },
    });
  }

  open() {
    this.stream.open();
  }

  close() {
    this.stream.close();
  }

  put(summary) {
    if (summary && typeof summary.id === "string") this.all.set(summary.id, { ...summary, heard: Date.now() });
  }

  heard({ data }, then) {
    try {
      then(JSON.parse(data));
    } catch {
      return;
    }
    this.soon();
  }

  /** The stream begins with all agents, but does not tell of those that went while nobody listened. */
  async begun() {
    this.online = true;
    const known = new Set(this.all.keys());
    try {
      const list = await agents();
      for (const summary of list) {
        known.delete(summary.id);
        if (!((this.all.get(summary.id)?.seq ?? -1) >= summary.seq)) this.put(summary);
      }
      for (const id of known) this.all.delete(id);
      this.ready = true;
    } catch { /* The next opening asks again. */ }
    this.soon();
  }

  /** Tell of changes at most thirty times a second, however many agents there are; hidden pages hear of them too. */
  soon() {
    if (this.due) return;
    this.due = true;
    setTimeout(() => {
      this.due = false;
      this.changed();
    }, 33);
  }

  get waiting() {
    let number = 0;
    for (const agent of this.all.values()) if (needsMe(agent)) number++;
    return number;
  }
}
