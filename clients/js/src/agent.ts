/// <reference lib="esnext.disposable" preserve="true" />
import type { Frame } from "./conversation.js";
import { Refused, RunFailed } from "./errors.js";
import { encoded, type Image } from "./images.js";
import { link as linked, type LinkOptions } from "./link.js";
import {
  camel,
  commands,
  type Answer,
  type Camel,
  type CommandName,
  type Dialect,
  type Event,
  type Fields,
  type Own,
} from "./names.js";
import { closed, question, told, type Question, type QuestionAnswer } from "./questions.js";
import { agreed, run, taken, type Run } from "./run.js";
import { jsonSchema, type Described, type Schema } from "./schema.js";
import type { Stream } from "./stream.js";
import { carriedOut, declared, type Tool } from "./tools.js";
import type { Known, Transport } from "./transport.js";
import type { Waiting } from "./waiting.js";
import { piWork } from "./work.js";

export type { Waiting };

/** What every client of an agent can be told. */
export interface AgentOptions extends LinkOptions {
  /** Milliseconds that a command may take if it does not say itself. Otherwise as long as the agent lives. */
  timeout?: number;
  /** Called with every question that the agent asks; what it returns is the answer. */
  onQuestion?: (question: Question, options: { signal: AbortSignal }) => QuestionAnswer | Promise<QuestionAnswer>;
  /** Tools that this program runs for the model. */
  tools?: readonly Tool[];
  /** Called with what a callback of yours has thrown. Otherwise `console.error` is. */
  onError?: (error: unknown) => void;
}

/** What goes with a prompt. */
export interface PromptOptions<S extends Schema = Schema> extends Waiting {
  images?: readonly Image[];
  /** In pi's protocols, while the agent works: when it is to hear of it. */
  streamingBehavior?: "steer" | "followUp";
  /** The answer is to fit this schema, and is `await run.value()`. Only with linnet. */
  schema?: S;
}

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
export interface BaseAgent<D extends Dialect = "pi-1"> extends AsyncDisposable {
  /** The protocol that is spoken. */
  readonly dialect: D;
  /** The id of a server's agent. */
  readonly id: string | undefined;
  /** The id of the process. */
  readonly pid: number | undefined;
  /** The number of the last event of a server's agent that was seen, from which `attach` goes on. */
  readonly seq: number | undefined;
  /** The end of what the process printed on stderr, up to 256 KiB. */
  readonly stderr: string;
  /** Whether nothing runs and nothing follows; false also while that is not known. `waitIdle` finds out. */
  readonly isIdle: boolean;
  /** Whether nothing can be asked any more. */
  readonly isGone: boolean;
  /**
   * Say something; iterate over what happens, or await `text()`. It is sent at once. If `signal` is aborted, so is what
   * the agent does; after `timeout` milliseconds waiting ends, and the agent goes on.
   */
  prompt<S extends Schema = Schema>(message: string, options?: PromptOptions<S>): Run<D, Described<S>>;
  /** Send a command of any name; return the `data` of its answer. */
  ask(type: string, fields?: object, options?: Waiting): Promise<unknown>;
  /** Send an object that gets no answer. */
  tell(frame: Frame): void;
  /** Iterate over all events from now on; if called at once after `attach`, from where that begins. */
  events(options?: Waiting): AsyncGenerator<Event<D>, void>;
  /** Wait until nothing runs, waits or follows by itself any more. */
  waitIdle(options?: Waiting): Promise<void>;
  /** Answer a question by its id: with `onQuestion` that happens by itself. */
  answer(id: string, answer: QuestionAnswer, options?: Waiting): Promise<void>;
  /** Declare the tools that this program runs, instead of those before. Only with linnet. */
  setTools(tools: readonly Tool[], options?: Waiting): Promise<void>;
  /** End the conversation, and the process if there is one; return its exit code. Can be called again. */
  close(options?: { patience?: number }): Promise<number | null>;
}

/** @internal Start speaking, and declare the tools. */
export async function begun<D extends Dialect>(
  transport: Transport,
  options: AgentOptions & { dialect?: D | undefined; patience?: number },
  known: Known = {},
): Promise<Agent<D>> {
  const { dialect = "pi-1", tools: given = [], onQuestion, onError = console.error } = options;
  const abandoned = (error: unknown): never => {
    transport.close(0);
    throw error;
  };
  const earlier = /^pi($|-[01])/.test(dialect) ? undefined : await import("./earlier.js").catch(abandoned);
  const zots = dialect === "zot" ? earlier : undefined;
  const settles = dialect === "pi-1" || dialect === "pi-0.87";
  const work = zots?.zotWork() ?? earlier?.legacyWork() ?? piWork(settles, transport.apart);
  if (known.isAttached) work.lost();
  let tools: readonly Tool[] = [];
  const open = new Map<string, AbortController>(); // Questions and calls that are being answered.
  const answered = new Set<string>(); // Questions that a callback has answered.
  const link = linked(transport, work, known.seq, options, onEvents, () => {
    if (tools.length) link.ask(declaration());
  });
  let early: Stream | undefined = link.listen(); // What has come before anybody could listen.
  void link.over.then((gone) => {
    for (const controller of open.values()) controller.abort(gone);
  });

  const spelled = zots?.snake ?? ((name: string) => name); // Returns a name as the protocol spells it.
  const declaration = (declaring = tools) => ({ type: "set_tools", tools: declaring.map(declared) });
  const quietly = (promise: Promise<unknown>) => void promise.catch(() => {});

  function pictures(images: readonly Image[] = []): object {
    const sent = images.map(encoded);
    return sent.length ? { images: zots?.zotsImages(sent) ?? sent } : {};
  }

  function abort(): void {
    if (!link.gone) quietly(agent.ask("abort")); // If it is gone by now, all is aborted.
  }

  function onEvents(events: readonly Frame[]): void {
    const gone = new Set(events.map(closed)); // What was over before anybody could look is not asked about.
    for (const event of events) {
      if (event.type === "snapshot") for (const each of event.open ?? []) answering(each, gone);
      const reply = event.type === "unknown" && event.event;
      if (reply?.command === "extension_ui_response") {
        refused(reply.id, new Refused(reply.command, reply.error, reply.code));
      }
      const id = closed(event);
      if (id === undefined) answering(event, gone);
      else {
        link.arrived(id);
        answered.delete(id);
        open.get(id)?.abort();
        open.delete(id);
      }
    }
  }

  function answering(event: Frame, gone: Set<string | undefined>): void {
    const asked = onQuestion && question(event);
    if (asked && !gone.has(asked.id)) {
      const { id } = asked;
      once(id, async (signal) => {
        let answer: QuestionAnswer;
        try {
          answer = await onQuestion(asked, { signal });
        } catch (error) {
          if (!signal.aborted) onError(error); // And it is dismissed, which is a no.
        }
        if (signal.aborted) return;
        answered.add(id);
        try {
          await agent.answer(id, answer);
        } catch (error) {
          if (error instanceof Refused && !signal.aborted) refused(id, error);
          else throw error;
        }
      });
    }
    if (event.type !== "tool_request") return;
    const request = event.requestId ?? event.request_id;
    const tool = tools.find(({ name }) => name === (event.toolName ?? event.name));
    if (!tool || gone.has(request)) return;
    const about = { [spelled("requestId")]: request };
    once(request, async (signal) => {
      const progress = (text: string) => {
        if (!signal.aborted) quietly(agent.ask("tool_response_progress", { ...about, text })); // If it fails, it is over.
      };
      const id = event.toolCallId ?? event.call_id;
      const { content, isError, ...more } = await carriedOut(tool, event.args, { id, signal, progress });
      if (signal.aborted) return;
      const fields = { content: zots?.inZotsWords(content) ?? content, [spelled("isError")]: isError };
      await agent.ask("tool_response", { ...about, ...fields, ...more });
    });
  }

  /** Answer something, unless that is being done. Somebody else may be faster, and then this one is refused. */
  function once(id: string, answer: (signal: AbortSignal) => Promise<void>): void {
    if (open.has(id)) return;
    const controller = new AbortController();
    open.set(id, controller);
    void answer(controller.signal)
      .catch((error: unknown) => {
        if (!(error instanceof Refused) && !link.gone && !controller.signal.aborted) onError(error);
      })
      .finally(() => open.get(id) === controller && open.delete(id));
  }

  /** An answer that does not fit leaves its question open: dismiss it, so that nobody waits for ever. */
  function refused(id: string, error: Refused): void {
    if (!answered.delete(id)) return;
    onError(error);
    if (!link.gone) quietly(agent.answer(id, null)); // If it fails, it is not open any more.
  }

  const say =
    (type: string) =>
    (message: string, { images, ...options }: PromptOptions = {}) =>
      agent.ask(type, { message, ...pictures(images) }, options);

  const agent: Omit<BaseAgent<any>, "pid"> & Record<string, unknown> = {
    dialect,
    id: known.id,
    stderr: "",
    get seq() {
      return link.seq;
    },
    get isIdle() {
      return work.isFree();
    },
    get isGone() {
      return !!link.gone;
    },
    prompt(message, { images, schema, streamingBehavior, ...waiting } = {}) {
      const wanted = schema && { [spelled("outputSchema")]: jsonSchema(schema) };
      return run(link, { type: "prompt", message, ...pictures(images), streamingBehavior, ...wanted }, waiting, abort, schema);
    },
    async ask(type, fields, own) {
      own?.signal?.throwIfAborted();
      const { promise } = link.ask({ type, ...fields });
      return agreed(type, await link.wait(promise, type, { timeout: options.timeout, ...own })).data;
    },
    tell: (frame) => link.tell(frame),
    events(options = {}) {
      const stream = early ?? link.listen(); // It listens from now on, and not from the first step.
      early = undefined;
      return taken(link, stream, "events", () => options);
    },
    waitIdle: (options = {}) => link.idle(options),
    async answer(id, answer, options) {
      if (zots) await agent.ask("answer", { request_id: id, ...told(answer) }, options);
      else link.tell({ type: "extension_ui_response", id, ...told(answer) }, transport.resumes ? id : undefined);
    },
    async setTools(declaring, options) {
      const { type, ...fields } = declaration(declaring);
      await agent.ask(type, fields, options);
      tools = declaring;
    },
    steer: say("steer"),
    followUp: say("follow_up"),
    async compact(fields: object, options: Waiting = {}) {
      if (!earlier) return agent.ask("compact", fields, options);
      const last = await earlier.compacted(run(link, { type: "compact", ...fields }, options, abort));
      if (last.type === "error") throw new RunFailed(last.message ?? last.error);
      return last;
    },
    async close({ patience = options.patience ?? 5000 } = {}) {
      return (await link.close(patience)).exitCode;
    },
    async [Symbol.asyncDispose]() {
      await agent.close();
    },
  };
  for (const type of commands) agent[camel(type)] = (fields: object, options: Waiting) => agent.ask(type, fields, options);

  try {
    if (given.length) await agent.setTools(given);
  } catch (error) {
    await agent.close();
    throw error;
  }
  // Whoever awaits this agent gets to call `events` before the timer rings.
  setTimeout(() => {
    if (early) link.drop(early);
    early = undefined;
  });
  return agent as unknown as Agent<D>;
}
