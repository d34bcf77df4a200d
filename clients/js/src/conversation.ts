import { events } from "./names.js";
import type { Turn, Work } from "./work.js";

/** An object of a protocol. What is in it is told by the types that users see. */
export interface Frame {
  type: string;
  [field: string]: any;
}

/** A command, without its id. */
export type Command = Frame;

/** The answer to a command. */
export interface Reply extends Frame {
  command: string;
  success: boolean;
  error?: string;
  code?: string;
}

/** What a line means. */
export type Output = { heard: Frame } | { answered: string; reply: Reply } | Turn | { idle: true };

/**
 * A conversation without its pipes: commands to lines, and lines to answers, events and ends.
 *
 * Every command is answered at most once; an answer that nobody waits for is dropped. One without an id belongs to the
 * oldest command of its name, since some versions of pi lose ids; one that belongs to no command is an event.
 */
export class Conversation {
  /** Not answered yet, by id, in the order they were sent. */
  readonly asked = new Map<string, Command>();
  readonly #forgotten = new Set<string>();
  #question = ""; // The id of the question whether it is idle, if that is not answered yet.
  #toldBusy = false; // The agent answered that it is busy, and no event has come since.
  #count = 0;
  #wasIdle: boolean;

  constructor(readonly work: Work) {
    this.#wasIdle = work.isIdle;
  }

  ask(command: Command): { id: string; outputs: Output[] } {
    const id = this.#newId();
    const outputs: Output[] = this.work.sent(id, command);
    if (this.work.answers) this.asked.set(id, command);
    else outputs.push({ answered: id, reply: { type: "response", command: command.type, success: true } });
    this.#wasIdle = this.work.isIdle;
    return { id, outputs };
  }

  /** Drop an answer that nobody waits for any more. What was asked for still happens. */
  forget(id: string): void {
    if (this.asked.has(id)) this.#forgotten.add(id);
  }

  /** Return what a line means, in order. */
  take(frame: Frame): Output[] {
    let outputs: Output[];
    if (frame.type === "response" && typeof frame.success === "boolean") outputs = this.#answered(frame as Reply);
    else {
      this.#toldBusy = false;
      const event = events.has(frame.type) || OURS.has(frame.type) ? frame : unknown(frame);
      if (frame.type === "gap") this.work.lost();
      const turns: Turn[] = this.work.heard(frame);
      // What has begun by this very event begins before it.
      outputs = turns[0] && "begun" in turns[0] ? [...turns, { heard: event }] : [{ heard: event }, ...turns];
    }
    if (this.work.isIdle !== this.#wasIdle) {
      this.#wasIdle = !this.#wasIdle;
      if (this.#wasIdle) outputs.push({ idle: true });
    }
    return outputs;
  }

  /**
   * Return the question to send to learn whether the agent is idle, if there is a need.
   *
   * An agent that said it is busy is asked again after the next event, or when told to.
   */
  question(again = false): (Command & { id: string }) | undefined {
    if (!this.work.asks || this.#question || (this.#toldBusy && !again)) return undefined;
    this.#question = this.#newId();
    return { id: this.#question, type: "get_state" };
  }

  /** A question that was lost with its connection is asked anew. */
  reconnected(): void {
    this.#question = "";
    this.#toldBusy = false;
  }

  /** Whether the agent said that it is busy, with something that no event told of. */
  get isUnsure(): boolean {
    return this.#toldBusy && this.work.asks;
  }

  #answered(reply: Reply): Output[] {
    if (this.#question && reply.id === this.#question) {
      this.#question = "";
      const outputs = this.work.learned(reply);
      this.#toldBusy = this.work.asks;
      return outputs;
    }
    const id = this.#whose(reply);
    // Answers to questions have the ids of those, if they are answered at all.
    if (id === undefined) return reply.success && reply.command === "extension_ui_response" ? [] : [{ heard: unknown(reply) }];
    const command = this.asked.get(id)!;
    this.asked.delete(id);
    const turns = this.work.answered(id, command, reply);
    return this.#forgotten.delete(id) ? turns : [{ answered: id, reply }, ...turns];
  }

  #whose(reply: Reply): string | undefined {
    if (reply.id !== undefined && reply.id !== null) return this.asked.has(reply.id) ? reply.id : undefined;
    for (const [id, { type }] of this.asked) if (type === reply.command) return id;
    const alone = this.asked.size === 1 && (!reply.command || reply.command === "parse") && !reply.success;
    return alone ? [...this.asked.keys()][0] : undefined;
  }

  #newId(): string {
    return `linnet-${++this.#count}`;
  }
}

/** Return the object that a line is; nothing for a blank one, and a `bad_line` for one that is no object. */
export function parsed(line: string): Frame | undefined {
  let reason = "it is not an object";
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value && !Array.isArray(value)) {
      return typeof (value as Frame).type === "string" ? (value as Frame) : unknown(value);
    }
  } catch (error) {
    if (!line.trim()) return undefined;
    reason = (error as Error).message;
  }
  return { type: "bad_line", line, reason };
}

const OURS = new Set(["bad_line", "unknown"]);
const unknown = (event: object): Frame => ({ type: "unknown", event });
