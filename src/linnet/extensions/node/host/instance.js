// One extension of one session: what its factory registered. A new session calls the factory again, for a new instance.
import { EventEmitter } from "node:events";
import { callNow, send } from "./channel.js";

export const STALE =
  "This extension ctx is stale after session replacement or reload: a captured pi or ctx belongs to the session before. " +
  "Do what follows in withSession, with the ctx that it is given.";
const LOADING =
  "Extension runtime not initialized. Action methods cannot be called during extension loading.";

/** Shared by all extensions of this process: `pi.events`. */
class EventBus {
  #emitter = new EventEmitter().setMaxListeners(0);

  emit(name, data) {
    this.#emitter.emit(name, data);
  }

  on(name, handler) {
    const safe = (data) => {
      try {
        const done = handler(data);
        done?.catch?.((fault) => console.error(`Event handler error (${name}):`, fault));
      } catch (fault) {
        console.error(`Event handler error (${name}):`, fault);
      }
    };
    this.#emitter.on(name, safe);
    return () => this.#emitter.off(name, safe);
  }

  clear() {
    this.#emitter.removeAllListeners();
  }
}

export const bus = new EventBus();

/** Invariant: once it is stale, nothing of it acts on the session any more. */
export class Instance {
  constructor(index, path, settings) {
    this.index = index;
    this.path = path;
    this.settings = settings; // Flags and the like, from linnet.
    this.handlers = new Map();
    this.tools = new Map();
    this.commands = new Map();
    this.flags = new Map();
    this.providers = new Map();
    this.streams = new Map(); // What was registered as a provider, by its name.
    this.virtualModels = new Map();
    this.loading = true;
    this.stale = false;
  }

  /** Throw if the session is another one by now. */
  check() {
    if (this.stale) throw new Error(STALE);
  }

  /** Throw if the extension is stale, or still loads: then there is no session to act on. */
  checkActive() {
    this.check();
    if (this.loading) throw new Error(LOADING);
  }

  now(method, args) {
    this.checkActive();
    return callNow(this.index, method, args);
  }

  on(name, handler) {
    this.check();
    if (typeof handler !== "function") throw new TypeError(`the handler of ${name} is not a function`);
    const list = this.handlers.get(name) ?? [];
    list.push(handler);
    this.handlers.set(name, list);
    this.offer();
    return () => {
      const at = list.indexOf(handler);
      if (at >= 0) list.splice(at, 1);
      if (!list.length) this.handlers.delete(name);
      this.offer();
    };
  }

  /** Tell linnet what the extension offers, if that is not about to be told anyway. */
  offer() {
    if (this.loading || this.stale) return;
    send(this.offers());
  }

  offers() {
    return {
      type: "offers",
      extension: this.index,
      events: [...this.handlers.keys()],
      tools: [...this.tools.values()].map(described),
      commands: [...this.commands].map(([name, { description }]) => ({ name, description: description ?? "" })),
      flags: [...this.flags.values()],
      providers: [...this.providers.values()],
    };
  }
}

function described(tool) {
  const { name, description, parameters, promptSnippet, promptGuidelines, executionMode, exposure, defaultActive } = tool;
  return {
    name,
    description: description ?? "",
    parameters: parameters ?? { type: "object", properties: {} },
    promptSnippet,
    promptGuidelines,
    sequential: executionMode === "sequential",
    hidden: exposure === "hidden" || defaultActive === false,
  };
}
