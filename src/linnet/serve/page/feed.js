// One agent's conversation as it is kept up to date: a snapshot, then events from its number on. What was lost with a
// connection is asked for again from the last number; where that is too old, a new snapshot is the beginning.

import { Refused, Stream, eventsOf, snapshot } from "./api.js";
import { blank, fold, fromSnapshot } from "./fold.js";
import * as zot from "./zot.js";

const CHUNK = 100; // Older messages are asked for so many at a time,
const CHUNKS = 60; // and the last so many pieces of them are kept.
const AWAY = 15_000; // A page that nobody sees gives its connection back after that: browsers have six for each server.
const MISSING = { // What is shown where lines of a watched program are not kept any more.
  type: "message_end",
  message: { role: "custom", customType: "Missing", content: [{ type: "text", text: "Some of what was said here is not kept any more." }] },
};

export class Feed {
  /** `own` is the protocol of a program that is only watched: its own lines come, from the first on. */
  constructor(id, { own = "", changed, failed }) {
    Object.assign(this, { id, own, changed, failed });
    this.state = blank();
    this.safe = null; // The state at the last number, and that number: where a lost connection goes back to.
    this.seq = 0;
    this.ready = false;
    this.online = true;
    this.ended = false;
    this.older = new Map(); // Chunks of older messages, by their number, the most recently used ones last.
    this.asking = new Map();
    this.reader = zot.start();
    this.stream = new Stream(() => this.address(), { message: (event) => this.heard(event) }, {
      opened: () => this.connected(true),
      lost: () => this.lost(),
    });
    this.seen = () => this.visible();
    this.timer = 0;
  }

  address() {
    const from = this.ready || this.own ? this.seq : undefined;
    return eventsOf(this.id, { from, dialect: this.own ? "" : "pi-1" });
  }

  async start() {
    document.addEventListener("visibilitychange", this.seen);
    if (this.own) {
      this.ready = true;
      this.mark();
      this.stream.open();
    } else await this.load();
  }

  stop() {
    this.ended = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    this.stream.close();
  }

  visible() {
    clearTimeout(this.timer);
    if (document.hidden) this.timer = setTimeout(() => this.stream.close(), AWAY);
    else if (!this.stream.source && this.ready) this.reopen();
  }

  reopen() {
    this.back();
    this.stream.open();
  }

  /** Begin anew with a snapshot. */
  async load() {
    this.stream.close();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const told = await snapshot(this.id, { last: CHUNK });
      if (this.ended || turn !== this.turn) return;
      this.older.clear();
      this.asking.clear();
      this.state = { ...fromSnapshot(told, Date.now()), stale: this.state.stale };
      this.seq = told.seq ?? 0;
      this.ready = true;
      this.mark();
      this.connected(true);
      if (!document.hidden) this.stream.open();
      this.changed();
    } catch (error) {
      if (this.ended || turn !== this.turn) return;
      this.connected(false);
      if (error instanceof Refused && error.status >= 400 && error.status < 500 && error.status !== 429) this.failed(error);
      else this.timer = setTimeout(() => this.load(), 2000);
    }
  }

  mark() {
    this.safe = { state: this.state, reader: this.reader };
  }

  /** Forget what came after the last number: it comes again. */
  back() {
    if (this.safe) ({ state: this.state, reader: this.reader } = this.safe);
  }

  lost() {
    this.back();
    this.connected(false);
  }

  connected(online) {
    if (this.online === online) return;
    this.online = online;
    this.changed();
  }

  heard({ data, lastEventId }) {
    let line;
    try {
      line = JSON.parse(data);
    } catch {
      return;
    }
    if (line?.type === "gap") {
      if (!this.own) return void this.load();
      line = MISSING;
    }
    const stale = this.state.stale;
    const now = Date.now();
    if (this.own === "zot" && line !== MISSING) {
      const [reader, events] = zot.translated(this.reader, line);
      this.reader = reader;
      this.state = events.reduce((state, event) => fold(state, event, now), this.state);
    } else this.state = fold(this.state, line, now);
    // Lines before the one with the number have the number of the event before.
    const seq = Number(lastEventId);
    if (lastEventId && Number.isFinite(seq) && seq !== this.seq) {
      this.seq = seq;
      this.mark();
    }
    if (this.state.stale !== stale && !this.own) this.load();
    this.changed();
  }

  /** Return the message at a place, or undefined as long as it has not come. */
  message(at) {
    const { first, messages } = this.state;
    if (at >= first) return messages[at - first];
    return this.older.get(Math.floor(at / CHUNK))?.[at % CHUNK];
  }

  /** Ask for what is missing between two places. Return whether all of it is here. */
  ensure(from, to) {
    let whole = true;
    const { first } = this.state;
    for (let chunk = Math.floor(Math.max(0, from) / CHUNK); chunk * CHUNK < Math.min(to, first); chunk++) {
      const held = this.older.get(chunk);
      if (held) {
        this.older.delete(chunk);
        this.older.set(chunk, held);
        continue;
      }
      whole = false;
      if (!this.asking.has(chunk)) this.asking.set(chunk, this.ask(chunk, first));
    }
    return whole;
  }

  async ask(chunk, first) {
    const before = Math.min((chunk + 1) * CHUNK, first);
    const asking = this.asking;
    try {
      const told = await snapshot(this.id, { last: before - chunk * CHUNK, before });
      if (this.ended || this.state.first !== first) return;
      this.older.set(chunk, told.messages);
      while (this.older.size > CHUNKS) this.older.delete(this.older.keys().next().value);
      this.changed();
    } catch {
      await new Promise((done) => setTimeout(done, 2000));
      this.changed();
    } finally {
      asking.delete(chunk);
    }
  }
}
