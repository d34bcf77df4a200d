import { events } from "./names.js";
import { deferred, type Deferred } from "./waiting.js";
import type { Work } from "./work.js";

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

/** A command that was sent. */
export interface Asked extends Deferred<Reply> {
  id: string;
  said: Command;
  /** The answer, once it is there. */
  reply?: Reply;
}

/** Is told what lines mean, in order. */
export interface Listener {
  heard(event: Frame): void;
  /** The work of a command has begun, or is over, which a refusal is as well. */
  begun(id: string): void;
  ended(id: string): void;
  /** Nothing runs any more. */
  idle(): void;
}

/** See `conversation`. */
export interface Conversation {
  /** Not answered yet, by id, in the order they were sent. */
  asked: Map<string, Asked>;
  ask(command: Command): Asked;
  take(frame: Frame): void;
  /** Say what has come of the work since. */
  settle(): void;
  /**
   * Return the question to send to learn whether the agent is idle, if there is a need.
   *
   * An agent that said it is busy is asked again after the next event, or when told to.
   */
  inquiry(again: boolean): Frame | undefined;
  /** A question that was lost with its connection is asked anew. */
  reconnected(): void;
  /** Whether the agent said that it is busy, with something that no event told of. */
  isUnsure(): boolean;
}

/**
 * A conversation without its pipes: commands to lines, and lines to answers, events and ends.
 *
 * Every command is answered at most once. An answer without an id belongs to the oldest command of its name, since some
 * versions of pi lose ids; one that belongs to no command is an event.
 */
export function conversation(work: Work, listener: Listener): Conversation {
  const asked = new Map<string, Asked>();
  let question = ""; // The id of the question whether it is idle, if that is not answered yet.
  let toldBusy = false; // The agent answered that it is busy, and no event has come since.
  let count = 0;
  let wasIdle = work.isFree();
  const newId = () => `linnet-${++count}`;

  /** What has begun by an event begins before it, and what has ended ends after it. */
  function settle(event?: Frame): void {
    work.begun.splice(0).forEach(listener.begun);
    if (event) listener.heard(event);
    work.ended.splice(0).forEach(listener.ended);
    const isIdle = work.isFree();
    if (isIdle && !wasIdle) listener.idle();
    wasIdle = isIdle;
  }

  function answered(reply: Reply): void {
    if (question && reply.id === question) {
      question = "";
      work.learned(reply);
      toldBusy = work.asks();
      return settle();
    }
    const each = whose(reply);
    if (each) {
      asked.delete(each.id);
      work.answered(each.id, each.said, reply);
      each.reply = reply;
      each.resolve(reply);
      if (!reply.success) listener.ended(each.id);
      settle();
      // Answers to questions have the ids of those, if they are answered at all.
    } else if (!reply.success || reply.command !== "extension_ui_response") settle(unknown(reply));
  }

  function whose({ id, command, success }: Reply): Asked | undefined {
    if (id != null) return asked.get(id);
    const all = [...asked.values()];
    const alone = all.length === 1 && (!command || command === "parse") && !success;
    return alone ? all[0] : all.find((each) => each.said.type === command);
  }

  return {
    asked,
    settle,
    ask(command) {
      const each: Asked = { id: newId(), said: command, ...deferred<Reply>() };
      work.sent(each.id, command.type);
      wasIdle = work.isFree();
      if (work.answers) asked.set(each.id, each);
      else each.resolve({ type: "response", command: command.type, success: true });
      return each;
    },
    take(frame) {
      if (frame.type === "response" && typeof frame.success === "boolean") return answered(frame as Reply);
      toldBusy = false;
      if (frame.type === "gap") work.lost();
      work.heard(frame);
      settle(events.has(frame.type) ? frame : unknown(frame));
    },
    inquiry(again) {
      if (!work.asks() || question || (toldBusy && !again)) return;
      question = newId();
      return { id: question, type: "get_state" };
    },
    reconnected() {
      question = "";
      toldBusy = false;
    },
    isUnsure: () => toldBusy && work.asks(),
  };
}

/** Return the object that a line is; nothing for a blank one, and a `bad_line` for one that is no object. */
export function parsed(line: string): Frame | undefined {
  let reason = "it is not an object";
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value)) return typeof value.type === "string" ? (value as Frame) : unknown(value);
  } catch (error) {
    if (!line.trim()) return;
    reason = (error as Error).message;
  }
  return { type: "bad_line", line, reason };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && !!value && !Array.isArray(value);

const unknown = (event: object): Frame => ({ type: "unknown", event });
