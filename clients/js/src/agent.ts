/// <reference lib="esnext.disposable" preserve="true" />
import type { Frame } from "./conversation.js";
import { Refused, RunFailed } from "./errors.js";
import { encoded, type Image } from "./images.js";
import { Link, type Waiting } from "./link.js";
import { camel, commands, type Answer, type Camel, type CommandName, type Dialect, type Event, type Fields } from "./names.js";
import { closed, question, told, type Question, type QuestionAnswer } from "./questions.js";
import { Run, taken } from "./run.js";
import type { Stream } from "./stream.js";
import { jsonSchema, type Described, type Schema } from "./schema.js";
import { carriedOut, declared, type Tool } from "./tools.js";
import type { Transport } from "./transport.js";
import { LegacyWork, PiWork, ZotWork, type Work } from "./work.js";

export type { Waiting };

/** What every client of an agent can be told. */
export interface AgentOptions {
  /** Milliseconds that a command may take if it does not say itself. Otherwise as long as the agent lives. */
  timeout?: number;
  /** Called with every question that the agent asks; what it returns is the answer. */
  onQuestion?: (question: Question, options: { signal: AbortSignal }) => QuestionAnswer | Promise<QuestionAnswer>;
  /** Tools that this program runs for the model. */
  tools?: readonly Tool[];
  /** Called with what a callback of yours has thrown. Otherwise `console.error` is. */
  onError?: (error: unknown) => void;
  /** Bytes of events that may wait to be taken before the agent is held up: 64 MiB. */
  room?: number;
  /** Milliseconds for which a lost connection is tried again: five minutes. */
  retryFor?: number;
  /** Called when the connection to a server is there, and when it was lost. */
  onConnection?: (state: "connected" | "lost") => void;
}

/** What goes with a prompt. */
export interface PromptOptions<S extends Schema = Schema> extends Waiting {
  images?: readonly Image[];
  /** In pi's protocols, while the agent works: when it is to hear of it. */
  streamingBehavior?: "steer" | "followUp";
  /** The answer is to fit this schema, and is `await run.value()`. Only with linnet. */
  schema?: S;
}

// Methods of their own.
type Own = "prompt" | "steer" | "follow_up" | "compact" | "set_tools" | "answer" | "extension_ui_response";

type Method<F, A> = {} extends F
  ? (fields?: F, options?: Waiting) => Promise<A>
  : (fields: F, options?: Waiting) => Promise<A>;

/** Every command of a protocol, as a method: `get_state` is `getState()`. Throws Refused, TimedOut, AgentGone. */
export type Methods<D extends Dialect> = {
  [N in Exclude<CommandName<D>, Own> as Camel<N>]: Method<Fields<D, N>, Answer<D, N>>;
} & ("steer" extends CommandName<D>
  ? {
      /** Say something as soon as the running tools are done. */
      steer(message: string, options?: Waiting & { images?: readonly Image[] }): Promise<Answer<D, "steer">>;
      /** Say something when the agent has nothing left to do. */
      followUp(message: string, options?: Waiting & { images?: readonly Image[] }): Promise<Answer<D, "follow_up">>;
    }
  : {}) & {
    /** Replace old messages by a summary, and return that. Throws RunFailed or Refused. */
    compact(
      fields?: Fields<D, "compact">,
      options?: Waiting,
    ): Promise<D extends "zot" | "pi-legacy" ? { summary: string } : Answer<D, "compact">>;
  };

/** An agent: commands are methods, and what happens are events. */
export type Agent<D extends Dialect = "pi-1"> = BaseAgent<D> & Methods<D>;

/** What agents are in every protocol. */
export class BaseAgent<D extends Dialect = "pi-1"> implements AsyncDisposable {
  readonly #link: Link;
  readonly #transport: Transport;
  readonly #options: AgentOptions & { patience?: number };
  #tools: readonly Tool[] = [];
  readonly #open = new Map<string, AbortController>(); // Questions and calls that are being answered.
  #early: Stream | undefined; // What has come before anybody could listen.
  readonly #answered = new Set<string>(); // Questions that a callback has answered.
  readonly #isPi: boolean;

  /** @internal */
  constructor(
    transport: Transport,
    /** The protocol that is spoken. */
    readonly dialect: D,
    options: AgentOptions & { patience?: number },
    known: { id?: string; seq?: number; isAttached?: boolean; settles?: boolean } = {},
  ) {
    this.#transport = transport;
    this.#options = options;
    this.#isPi = dialect !== "zot";
    this.id = known.id;
    const settles = known.settles ?? (dialect === "pi-1" || dialect === "pi-0.87");
    const work: Work =
      dialect === "zot" ? new ZotWork() : dialect === "pi-legacy" ? new LegacyWork() : new PiWork(settles, transport.apart);
    if (known.isAttached) work.lost();
    this.#link = new Link(transport, work, {
      room: options.room ?? 64 * 1024 * 1024,
      retryFor: options.retryFor ?? 300_000,
      onConnection: options.onConnection,
      onEvents: (events) => this.#heard(events),
      onReconnected: () => this.#declare(),
      seq: known.seq,
    });
    this.#early = this.#link.listen();
    void this.#link.over.then((gone) => {
      for (const controller of this.#open.values()) controller.abort(gone);
      this.#open.clear();
    });
  }

  /** The id of a server's agent. */
  readonly id: string | undefined;

  /** The id of the process. */
  get pid(): number | undefined {
    return this.#transport.pid;
  }

  /** The number of the last event of a server's agent that was seen, from which `attach` goes on. */
  get seq(): number | undefined {
    return this.#link.seq;
  }

  /** The end of what the process printed on stderr, up to 256 KiB. */
  get stderr(): string {
    return this.#transport.stderr ?? "";
  }

  /** Whether nothing runs and nothing follows; false also while that is not known. `waitIdle` finds out. */
  get isIdle(): boolean {
    return this.#link.isIdle;
  }

  /** Whether nothing can be asked any more. */
  get isGone(): boolean {
    return this.#link.gone !== undefined;
  }

  /**
   * Say something; iterate over what happens, or await `text()`. It is sent at once. If `signal` is aborted, so is what
   * the agent does; after `timeout` milliseconds waiting ends, and the agent goes on.
   */
  prompt<S extends Schema = Schema>(message: string, options: PromptOptions<S> = {}): Run<D, Described<S>> {
    const { images, schema, streamingBehavior, signal, timeout } = options;
    const wanted = schema && { [this.#isPi ? "outputSchema" : "output_schema"]: jsonSchema(schema) };
    const command = { type: "prompt", message, ...this.#images(images), ...(streamingBehavior && { streamingBehavior }), ...wanted };
    return new Run(this.#link, command, { signal, timeout }, () => this.#abort(), schema);
  }

  /** Send a command of any name; return the `data` of its answer. */
  async ask(type: string, fields: object = {}, options: Waiting = {}): Promise<unknown> {
    options.signal?.throwIfAborted();
    const pending = this.#link.ask({ type, ...fields });
    const reply = await this.#link.answer(pending, type, { timeout: this.#options.timeout, ...options });
    if (!reply.success) throw new Refused(type, reply.error || "no reason was given", reply.code);
    return reply.data;
  }

  /** Send an object that gets no answer. */
  tell(frame: Frame): void {
    this.#link.tell(frame);
  }

  /** Iterate over all events from now on; if called at once after `attach`, from where that begins. */
  events(options: Waiting = {}): AsyncGenerator<Event<D>, void> {
    const stream = this.#early ?? this.#link.listen(); // It listens from now on, and not from the first step.
    this.#early = undefined;
    return taken(this.#link, stream, "events", () => options) as AsyncGenerator<Event<D>, void>;
  }

  /** @internal Whoever awaits this agent gets to call `events` before the timer rings. */
  _ready(): void {
    setTimeout(() => {
      if (this.#early) this.#link.drop(this.#early);
      this.#early = undefined;
    });
  }

  /** Wait until nothing runs, waits or follows by itself any more. */
  waitIdle(options: Waiting = {}): Promise<void> {
    return this.#link.idle(options);
  }

  /** Answer a question by its id: with `onQuestion` that happens by itself. */
  async answer(id: string, answer: QuestionAnswer, options: Waiting = {}): Promise<void> {
    if (!this.#isPi) await this.ask("answer", { request_id: id, ...told(answer) }, options);
    else this.#link.tell({ type: "extension_ui_response", id, ...told(answer) }, this.#transport.resumes ? id : undefined);
  }

  /** Declare the tools that this program runs, instead of those before. Only with linnet. */
  async setTools(tools: readonly Tool[], options: Waiting = {}): Promise<void> {
    await this.ask("set_tools", { tools: tools.map(declared) }, options);
    this.#tools = tools;
  }

  /** End the conversation, and the process if there is one; return its exit code. Can be called again. */
  async close(options: { patience?: number } = {}): Promise<number | null> {
    const gone = await this.#link.close(options.patience ?? this.#options.patience ?? 5000);
    return gone.exitCode;
  }

  /** Closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  async _compact(fields: object = {}, options: Waiting = {}): Promise<unknown> {
    if (this.#isPi && this.dialect !== "pi-legacy") return this.ask("compact", fields, options);
    for await (const event of new Run(this.#link, { type: "compact", ...fields }, options, () => this.#abort())) {
      const said = event as Frame;
      if (said.type === "compact_done" || said.type === "compaction") return said;
      if (said.type === "error") throw new RunFailed(said.message ?? said.error);
    }
    throw new RunFailed("the compaction was aborted");
  }

  /** @internal */
  _say(type: string, message: string, { images, ...options }: Waiting & { images?: readonly Image[] } = {}): Promise<unknown> {
    return this.ask(type, { message, ...this.#images(images) }, options);
  }

  #images(images: readonly Image[] = []): object {
    if (!images.length) return {};
    return {
      images: images.map((image) => {
        const { data, mimeType } = encoded(image);
        return this.#isPi ? { type: "image", data, mimeType } : { mime_type: mimeType, data };
      }),
    };
  }

  #abort(): void {
    if (!this.isGone) void this.ask("abort").catch(() => {}); // If it is gone by now, all is aborted.
  }

  #declare(): void {
    if (this.#tools.length) this.#link.ask({ type: "set_tools", tools: this.#tools.map(declared) });
  }

  #heard(events: readonly Frame[]): void {
    const gone = new Set(events.map(closed)); // What was over before anybody could look is not asked about.
    for (const event of events) {
      if (event.type === "snapshot") for (const open of event.open ?? []) this.#answering(open, gone);
      const reply = event.type === "unknown" && event.event;
      if (reply?.type === "response" && reply.command === "extension_ui_response") {
        this.#refused(reply.id, new Refused(reply.command, reply.error, reply.code));
      }
      const id = closed(event);
      if (id === undefined) this.#answering(event, gone);
      else {
        this.#link.confirmed(id);
        this.#answered.delete(id);
        this.#open.get(id)?.abort();
        this.#open.delete(id);
      }
    }
  }

  #answering(event: Frame, gone: Set<string | undefined>): void {
    const asked = this.#options.onQuestion && question(event);
    if (asked && !gone.has(asked.id)) {
      this.#once(asked.id, async (signal) => {
        let answer: QuestionAnswer;
        try {
          answer = await this.#options.onQuestion!(asked, { signal });
        } catch (error) {
          if (!signal.aborted) this.#failed(error); // And it is dismissed, which is a no.
        }
        if (signal.aborted) return;
        this.#answered.add(asked.id);
        try {
          await this.answer(asked.id, answer);
        } catch (error) {
          if (error instanceof Refused && !signal.aborted) this.#refused(asked.id, error);
          else throw error;
        }
      });
    }
    if (event.type !== "tool_request") return;
    const [request, call, name] = [event.requestId ?? event.request_id, event.toolCallId ?? event.call_id, event.toolName ?? event.name];
    const tool = this.#tools.find((tool) => tool.name === name);
    if (!tool || gone.has(request)) return;
    const key = this.#isPi ? "requestId" : "request_id";
    this.#once(request, async (signal) => {
      const progress = (text: string) => {
        if (!signal.aborted) void this.ask("tool_response_progress", { [key]: request, text }).catch(() => {}); // It is over.
      };
      const { content, isError, ...more } = await carriedOut(tool, event.args, { id: call, signal, progress });
      if (signal.aborted) return;
      const fields = { [key]: request, content: this.#isPi ? content : inZotsWords(content), [this.#isPi ? "isError" : "is_error"]: isError };
      await this.ask("tool_response", { ...fields, ...more });
    });
  }

  /** Answer something, unless that is being done. Somebody else may be faster, and then this one is refused. */
  #once(id: string, answer: (signal: AbortSignal) => Promise<void>): void {
    if (this.#open.has(id)) return;
    const controller = new AbortController();
    this.#open.set(id, controller);
    void answer(controller.signal)
      .catch((error: unknown) => {
        if (!(error instanceof Refused) && !this.isGone && !controller.signal.aborted) this.#failed(error);
      })
      .finally(() => this.#open.get(id) === controller && this.#open.delete(id));
  }

  /** An answer that does not fit leaves its question open: dismiss it, so that nobody waits for ever. */
  #refused(id: string, error: Refused): void {
    if (!this.#answered.delete(id)) return;
    this.#failed(error);
    if (!this.isGone) void this.answer(id, null).catch(() => {}); // It is not open any more.
  }

  #failed(error: unknown): void {
    (this.#options.onError ?? console.error)(error);
  }
}

const inZotsWords = (content: unknown): unknown =>
  Array.isArray(content) ? content.map(({ mimeType, ...block }) => (mimeType ? { ...block, mime_type: mimeType } : block)) : content;

const own: Record<string, Function> = {
  compact(this: BaseAgent, fields: object, options: Waiting) {
    return this._compact(fields, options);
  },
  steer(this: BaseAgent, message: string, options: Waiting) {
    return this._say("steer", message, options);
  },
  follow_up(this: BaseAgent, message: string, options: Waiting) {
    return this._say("follow_up", message, options);
  },
};

for (const type of commands) {
  const name = camel(type);
  if (name in BaseAgent.prototype || name === "extensionUiResponse") continue;
  const method =
    own[type] ??
    function (this: BaseAgent, fields?: object, options?: Waiting) {
      return this.ask(type, fields, options);
    };
  Object.defineProperty(BaseAgent.prototype, name, { value: method, writable: true, configurable: true });
}

/** @internal Start speaking, and declare the tools. */
export async function begun<D extends Dialect>(
  transport: Transport,
  dialect: D,
  options: AgentOptions & { patience?: number },
  known: { id?: string; seq?: number; isAttached?: boolean; settles?: boolean } = {},
): Promise<Agent<D>> {
  const agent = new BaseAgent(transport, dialect, options, known) as Agent<D>;
  try {
    if (options.tools?.length) await agent.setTools(options.tools);
  } catch (error) {
    await agent.close();
    throw error;
  }
  agent._ready();
  return agent;
}
