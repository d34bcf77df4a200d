import type { Command, Frame } from "./conversation.js";
import { Refused, RunFailed, TimedOut } from "./errors.js";
import type { Link, Waiting } from "./link.js";
import type { Answer, Dialect, Event } from "./names.js";
import { RunResult } from "./result.js";
import { validated, type Schema } from "./schema.js";
import { Stream } from "./stream.js";

/** Iterates over the events of a stream. */
export async function* taken(link: Link, stream: Stream, what: string, waiting: () => Waiting): AsyncGenerator<Frame, void> {
  try {
    for (;;) {
      const event = link.take(stream);
      if (event) yield event;
      else if (!stream.ended) await link.ready(stream, what, waiting());
      else if (stream.error) throw stream.error;
      else return;
    }
  } finally {
    link.drop(stream);
  }
}

/**
 * What a prompt began: iterate over its events up to its end, or ask for what came of it. The agent works whether or not
 * anybody reads.
 */
export class Run<D extends Dialect = "pi-1", V = unknown> implements AsyncIterable<Event<D>> {
  readonly #link: Link;
  readonly #stream: Stream;
  readonly #result = new RunResult();
  readonly #pending: ReturnType<Link["ask"]>;
  readonly #options: Waiting;
  readonly #deadline: number;
  #isIterated = false;

  /** @internal */
  constructor(
    link: Link,
    private readonly command: Command,
    options: Waiting,
    abort: () => void,
    private readonly schema?: Schema,
  ) {
    options.signal?.throwIfAborted();
    this.#link = link;
    this.#options = options;
    this.#deadline = Date.now() + (options.timeout ?? Infinity);
    this.#stream = new Stream("", (event) => this.#result.add(event));
    this.#pending = link.ask(command, this.#stream);
    const { signal } = options;
    if (signal) {
      const stream = this.#stream;
      const aborted = () => {
        if (stream.begun && !stream.ended) abort();
        else stream.onBegin = abort; // It waits for others, which are not to be aborted.
      };
      signal.addEventListener("abort", aborted, { once: true });
      void this.#stream.over.then(() => signal.removeEventListener("abort", aborted));
    }
  }

  /** Whether it is over. */
  get isOver(): boolean {
    return this.#stream.ended;
  }

  /** Wait until the agent has answered the prompt; return what. Throws Refused. */
  async accepted(options: Waiting = {}): Promise<Answer<D, "prompt">> {
    const reply = await this.#link.wait(this.#pending.promise, this.command.type, this.#within(options));
    this.#check();
    return reply.data as Answer<D, "prompt">;
  }

  /** Iterate over the events that come. Leaving the loop stops that, and not the agent. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event<D>, void> {
    if (this.#isIterated || this.#stream.drains) throw new TypeError("the events of a run can be taken once");
    this.#isIterated = true;
    for await (const event of taken(this.#link, this.#stream, this.command.type, () => this.#within({}))) yield event as Event<D>;
    this.#check();
  }

  /** Wait for the end, whether it succeeds, fails or is aborted. */
  async wait(options: Waiting = {}): Promise<void> {
    if (!this.#isIterated) this.#stream.drain();
    await this.#link.ended(this.#stream, this.command.type, this.#within(options));
    if (this.#stream.error) throw this.#stream.error;
    this.#check();
    if (this.#stream.isDropped) throw new RunFailed("the run was left before its end", this.#result.text);
  }

  /** Wait for the end; return what the agent said. Throws RunFailed if it failed or was aborted. */
  async text(options: Waiting = {}): Promise<string> {
    await this.wait(options);
    if (this.#result.failure) throw new RunFailed(this.#result.failure, this.#result.text);
    return this.#result.text;
  }

  /** Wait for the end; return the answer as the value that `schema` asked for. Throws RunFailed if there is none. */
  async value(options: Waiting = {}): Promise<V> {
    const text = await this.text(options);
    if (this.#result.noValue) throw new RunFailed(this.#result.noValue, text);
    const checked = await validated(this.schema, this.#result.value);
    if (checked.problem) throw new RunFailed(checked.problem, text);
    return checked.value as V;
  }

  /** Take no more events. The agent goes on. */
  close(): void {
    this.#link.drop(this.#stream);
  }

  /** Throw Refused if that was the answer. */
  #check(): void {
    const { reply } = this.#pending;
    if (reply && !reply.success) throw new Refused(this.command.type, reply.error || "no reason was given", reply.code);
  }

  /** What is left of the deadline of the whole run. */
  #within({ signal = this.#options.signal, timeout = Infinity }: Waiting): Waiting {
    const left = this.#deadline - Date.now();
    if (left <= 0) throw new TimedOut(this.command.type, this.#options.timeout!);
    const shortest = Math.min(timeout, left);
    return { signal, timeout: shortest === Infinity ? undefined : shortest };
  }
}
