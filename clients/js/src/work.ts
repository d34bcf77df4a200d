import type { Command, Frame, Reply } from "./conversation.js";

/** What a command asked for has begun, or is over with everything that followed from it. */
export type Turn = { begun: string } | { ended: string };

/**
 * Follows what an agent does, by what is sent to it and what comes back.
 *
 * Every command that begins something is ended once, in the end, or its answer was a refusal.
 */
export interface Work {
  /** Whether commands are answered at all. */
  readonly answers: boolean;
  /** Whether nothing runs, waits or is about to follow by itself. */
  readonly isIdle: boolean;
  /** Whether only the agent can tell if it is idle. Then it is asked, with `get_state`. */
  readonly asks: boolean;
  sent(id: string, command: Command): Turn[];
  answered(id: string, command: Command, reply: Reply): Turn[];
  heard(event: Frame): Turn[];
  /** Take in the answer to `get_state`. */
  learned(reply: Reply): Turn[];
  /** Nobody knows what happened meanwhile, or before this client came. */
  lost(): void;
}

/** Of zot's protocol: one prompt or compaction at a time, the others wait. */
export class ZotWork implements Work {
  readonly answers = true;
  // Not answered yet, by id, in the order they were sent.
  readonly #waiting = new Map<string, string>();
  #active: { id: string; name: string } | undefined;
  #unsure = false;

  get isIdle() {
    return !this.#waiting.size && !this.#active && !this.#unsure;
  }

  get asks() {
    return this.#unsure && !this.#waiting.size;
  }

  sent(id: string, { type }: Command): Turn[] {
    if (type === "prompt" || type === "compact") this.#waiting.set(id, type);
    return [];
  }

  answered(id: string, command: Command, reply: Reply): Turn[] {
    const name = this.#waiting.get(id);
    if (name !== undefined) {
      this.#waiting.delete(id);
      if (!reply.success) return [];
      const over = this.#end(); // One runs at a time: if this one starts, nothing else does.
      this.#active = { id, name };
      return [...over, { begun: id }];
    }
    // A compaction that is aborted has no last event.
    return command.type === "abort" && reply.success && this.#compacts ? this.#end() : [];
  }

  heard(event: Frame): Turn[] {
    switch (event.type) {
      case "done":
        this.#unsure = this.#unsure && !!this.#active;
        return this.#end();
      case "compact_done":
        return this.#end();
      case "error":
        return this.#compacts ? this.#end() : [];
      case "user_message":
      case "turn_start":
      case "assistant_start":
      case "text_delta":
      case "tool_call":
        return this.#begin();
      default:
        return [];
    }
  }

  learned(reply: Reply): Turn[] {
    if (reply.success && reply.data?.busy) return [];
    this.#unsure = false;
    return this.#end();
  }

  lost(): void {
    this.#unsure = true;
  }

  /** Words without an answer before them: the oldest that waits has begun. */
  #begin(): Turn[] {
    const next = this.#active || this.#unsure ? undefined : this.#waiting.entries().next().value;
    if (!next) return [];
    const [id, name] = next;
    this.#waiting.delete(id);
    this.#active = { id, name };
    return [{ begun: id }];
  }

  get #compacts() {
    return this.#active?.name === "compact";
  }

  #end(): Turn[] {
    const over = this.#active ? [{ ended: this.#active.id }] : [];
    this.#active = undefined;
    return over;
  }
}

// Commands from which a run may follow, and commands that end one first.
const SAID = new Set(["prompt", "steer", "follow_up"]);
const MOVES = new Set(["compact", "new_session", "switch_session", "branch", "fork", "clone", "navigate"]);

/**
 * Of pi's protocol: busy from the moment something is sent that begins work until nothing follows from it any more.
 *
 * `agent_end` is not the end: a retry, a compaction or a queued message may follow it. An agent that settles says
 * `agent_settled` then. Of others no event tells, so they are asked while it is unsure.
 */
export class PiWork implements Work {
  readonly answers = true;
  #open: string[] = [];
  // What is not answered yet, and how many runs had begun when it was sent.
  readonly #unanswered = new Map<string, number>();
  #begun = 0;
  #owed = false; // A prompt was accepted, and its run has not begun.
  #running = false;
  #settling = false; // A run has ended, and `agent_settled` is to come.
  #retrying = false;
  #compacting = false;
  #unsure = false;

  constructor(
    /** Whether it settles; the first `agent_settled` or `disposition` shows it. */
    private settles: boolean,
    /** Whether answers and events come on different ways, so that a run may be over before it is answered. */
    private readonly apart = false,
  ) {}

  get isIdle() {
    return !this.#isBusy && !this.#unsure;
  }

  get asks() {
    return this.#unsure && !this.#isBusy;
  }

  sent(id: string, { type }: Command): Turn[] {
    if (SAID.has(type) || MOVES.has(type)) this.#unanswered.set(id, this.#begun);
    if (type !== "prompt") return [];
    this.#open.push(id);
    return [{ begun: id }];
  }

  answered(id: string, command: Command, reply: Reply): Turn[] {
    if (command.type === "abort" && this.#owed && !(this.apart && this.settles)) {
      this.#owed = false; // The run that was to begin may never do so.
      this.#unsure = true;
    }
    const begun = this.#unanswered.get(id);
    if (begun === undefined) return [];
    this.#unanswered.delete(id);
    if (!reply.success) {
      this.#open = this.#open.filter((other) => other !== id);
    } else if (MOVES.has(command.type)) {
      // Whatever ran was ended first. Some versions of pi do that without a word.
      this.#stop();
      this.#unsure = true;
    } else if (!this.#running && !this.#retrying && !(this.apart && this.#begun > begun)) {
      this.#expect(command, reply);
    }
    return this.#ended();
  }

  heard(event: Frame): Turn[] {
    switch (event.type) {
      case "agent_start":
        this.#begun++;
        this.#running = true;
        this.#owed = this.#unsure = this.#settling = false;
        break;
      case "agent_end":
        this.#running = false;
        this.#settling = this.settles;
        this.#unsure = !this.settles;
        break;
      case "agent_settled":
        // While something runs this is about something else, or the run broke off: better ask.
        this.#unsure = this.#running || (this.#owed && !this.apart);
        this.#owed = this.#owed && this.apart;
        this.#running = this.#retrying = this.#compacting = this.#settling = false;
        this.settles = true;
        break;
      case "auto_retry_start":
        this.#retrying = true;
        break;
      case "auto_retry_end":
        this.#retrying = false;
        this.#unsure = true;
        break;
      case "auto_compaction_start":
      case "compaction_start":
        this.#compacting = true;
        break;
      case "auto_compaction_end":
      case "compaction_end":
        this.#compacting = false;
        this.#unsure = true;
        this.#owed ||= !!event.willRetry;
        break;
      default:
        return [];
    }
    return this.#ended();
  }

  learned(reply: Reply): Turn[] {
    // An agent that does not know the question is taken to be idle.
    if (!reply.data?.isStreaming && !reply.data?.isCompacting) this.#unsure = false;
    return this.#ended();
  }

  lost(): void {
    this.#stop();
    this.#unsure = true;
  }

  get #isBusy() {
    const runs = this.#owed || this.#running || this.#retrying || this.#compacting || this.#settling;
    return runs || this.#unanswered.size > 0;
  }

  #stop(): void {
    this.#owed = this.#running = this.#retrying = this.#compacting = this.#settling = false;
  }

  /** Decide whether a run follows from what was said to an agent that does not run. */
  #expect(command: Command, reply: Reply): void {
    const disposition = reply.data?.disposition;
    this.settles ||= disposition !== undefined;
    if (disposition === "started") this.#owed = true;
    else if (disposition !== undefined || command.type !== "prompt" || String(command.message).startsWith("/")) {
      this.#unsure = true; // Handled by an extension, perhaps; or queued, which some versions leave at that.
    } else this.#owed = true;
  }

  #ended(): Turn[] {
    return this.isIdle ? this.#open.splice(0).map((ended) => ({ ended })) : [];
  }
}

/** Of pi's earlier protocol, which has no answers, and in which a run ends with `agent_end`. */
export class LegacyWork implements Work {
  readonly answers = false;
  readonly asks = false;
  #open: string[] = [];
  #running = false;

  get isIdle() {
    return !this.#open.length && !this.#running;
  }

  sent(id: string, { type }: Command): Turn[] {
    if (type !== "prompt" && type !== "compact") return [];
    this.#open.push(id);
    return [{ begun: id }];
  }

  answered(): Turn[] {
    return [];
  }

  heard(event: Frame): Turn[] {
    if (event.type === "agent_start") this.#running = true;
    else if (event.type === "agent_end") {
      this.#running = false;
      return this.#end();
    } else if (!this.#running && (event.type === "error" || (event.type === "compaction" && !event.auto))) {
      return this.#end();
    }
    return [];
  }

  learned(): Turn[] {
    return [];
  }

  lost(): void {}

  #end(): Turn[] {
    return this.#open.splice(0).map((ended) => ({ ended }));
  }
}
