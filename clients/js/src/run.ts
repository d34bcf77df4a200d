import type { Command, Frame, Reply } from "./conversation.js";
import { Refused, RunFailed, TimedOut } from "./errors.js";
import type { Link } from "./link.js";
import type { Answer, Dialect, Event } from "./names.js";
import { validated, type Schema } from "./schema.js";
import { stream as newStream, type Stream } from "./stream.js";
import { onAbort, type Waiting } from "./waiting.js";

/**
 * What a prompt began: iterate over its events up to its end, or ask for what came of it. The agent works whether or not
 * anybody reads.
 */
export interface Run<D extends Dialect = "pi-1", V = unknown> extends AsyncIterable<Event<D>> {
  /** Whether it is over. */
  readonly isOver: boolean;
  /** Iterate over the events that come. Leaving the loop stops that, and not the agent. */
  [Symbol.asyncIterator](): AsyncGenerator<Event<D>, void>;
  /** Wait until the agent has answered the prompt; return what. Throws Refused. */
  accepted(options?: Waiting): Promise<Answer<D, "prompt">>;
  /** Wait for the end, whether it succeeds, fails or is aborted. */
  wait(options?: Waiting): Promise<void>;
  /** Wait for the end; return what the agent said. Throws RunFailed if it failed or was aborted. */
  text(options?: Waiting): Promise<string>;
  /** Wait for the end; return the answer as the value that `schema` asked for. Throws RunFailed if there is none. */
  value(options?: Waiting): Promise<V>;
  /** Take no more events. The agent goes on. */
  close(): void;
}

/** What a run that stopped so has failed with; nothing if all went well. */
const failed = (stop: string, error?: string): string =>
  /^(error|aborted)$/.test(stop) ? error || `the run ended with ${stop}` : "";

/** Iterates over the events of a stream. */
export async function* taken(link: Link, stream: Stream, what: string, waiting: () => Waiting): AsyncGenerator<any, void> {
  try {
    for (;;) {
      const event = link.take(stream);
      if (event) yield event;
      else if (!stream.ended) await link.until(stream, () => stream.isReady() || stream.ended, what, waiting());
      else if (stream.error) throw stream.error;
      else return;
    }
  } finally {
    link.drop(stream);
  }
}

/** Throw Refused if that is the answer. */
export function agreed(type: string, reply: Reply): Reply {
  if (!reply.success) throw new Refused(type, reply.error || "no reason was given", reply.code);
  return reply;
}

/** Send a command that begins a run. */
export function run(link: Link, command: Command, options: Waiting, abort: () => void, schema?: Schema): Run<any, any> {
  options.signal?.throwIfAborted();
  const { type } = command;
  const deadline = Date.now() + (options.timeout ?? Infinity);
  const replies: string[][] = [];
  let failure = "";
  let output: unknown;
  let noOutput = "the agent knows of no value: give a schema"; // Empty if there is one.
  const stream = newStream("", look);
  const asked = link.ask(command, stream);
  let isIterated = false;
  if (options.signal) {
    stream.onEnd = onAbort(options.signal, () => {
      if (stream.begun && !stream.ended) abort();
      else stream.onBegin = abort; // It waits for others, which are not to be aborted.
    });
  }

  /** Fold an event into what came of the run. */
  function look({ type, delta, stop, error, message, errorMessage, assistantMessageEvent, value }: Frame): void {
    const said = type === "text_delta" ? delta : assistantMessageEvent?.type === "text_delta" && assistantMessageEvent.delta;
    if (/^(assistant|message)_start$/.test(type) || (said && !replies.length)) replies.push([]);
    if (said) replies.at(-1)!.push(said);
    else if (type === "turn_end" && stop) failure = failed(stop, error); // zot's. What counts is how the last one went.
    else if (type === "message_end" && message?.role === "assistant") failure = failed(message.stopReason, message.errorMessage);
    else if (type === "agent_end") failure = errorMessage || failure;
    else if (type === "error") failure = message ?? error ?? "";
    else if (type === "output") {
      noOutput = error ?? "";
      output = value;
    }
  }

  /** What the agent said: its replies, with an empty line between two. */
  function text(): string {
    return replies.map((parts) => parts.join("")).filter(Boolean).join("\n\n");
  }

  /** What is left of the deadline of the whole run. */
  function within({ signal = options.signal, timeout = Infinity }: Waiting = {}): Waiting {
    const left = deadline - Date.now();
    if (left <= 0) throw new TimedOut(type, options.timeout!);
    return { signal, timeout: Math.min(timeout, left) };
  }

  function check(): void {
    if (asked.reply) agreed(type, asked.reply);
  }

  function fail(problem?: string): void {
    if (problem) throw new RunFailed(problem, text());
  }

  async function* iterated(): AsyncGenerator<Frame, void> {
    if (isIterated || stream.drains) throw new TypeError("the events of a run can be taken once");
    isIterated = true;
    yield* taken(link, stream, type, within);
    check();
  }

  const self: Run<any, any> = {
    get isOver() {
      return stream.ended;
    },
    [Symbol.asyncIterator]: iterated,
    async accepted(options) {
      return agreed(type, await link.wait(asked.promise, type, within(options))).data;
    },
    async wait(options) {
      if (!isIterated) stream.drain();
      await link.until(stream, () => stream.ended, type, within(options));
      if (stream.error) throw stream.error;
      check();
      if (stream.isDropped) fail("the run was left before its end");
    },
    async text(options) {
      await self.wait(options);
      fail(failure);
      return text();
    },
    async value(options) {
      await self.text(options);
      fail(noOutput);
      const [value, problem] = await validated(schema, output);
      fail(problem);
      return value;
    },
    close: () => link.drop(stream),
  };
  return self;
}
