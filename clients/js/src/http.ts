import { begun, type Agent } from "./agent.js";
import { AgentGone, Refused } from "./errors.js";
import { lineSplitter } from "./lines.js";
import type { Dialect } from "./names.js";
import { unique, type AttachOptions, type Server } from "./server.js";
import type { AgentSummary } from "./summary.js";
import type { Line, Transport } from "./transport.js";
import { about, longer, onAbort, sleep } from "./waiting.js";

/** Where a server is, and how it is asked. */
export interface HttpOptions {
  /** Its address, such as `http://127.0.0.1:8080`, or where it is mounted. */
  url: string | URL;
  /** A token of the server. Without one, a page's cookie counts. */
  token?: string;
  /** Headers that go along with every request. */
  headers?: Record<string, string>;
  /** In place of the `fetch` that is there. */
  fetch?: typeof globalThis.fetch;
}

/** How to open an agent over HTTP. */
export interface HttpOpen {
  /** The folder to work in, under a root of the server. */
  cwd: string;
  model?: string;
  provider?: string;
  thinking?: string;
  permission?: string;
  name?: string;
  /** More flags, of those that may be asked for. */
  flags?: readonly string[];
}

const SILENCE = 45_000; // Milliseconds without a sign of life, of which there is one every 15 seconds.

/** A server over HTTP. */
export class HttpServer implements Server<HttpOpen> {
  readonly #fetch: Fetch;

  constructor({ url, token, headers, fetch = globalThis.fetch.bind(globalThis) }: HttpOptions) {
    const base = new URL(String(url).replace(/\/?$/, "/"), (globalThis as { location?: { href: string } }).location?.href);
    const all = { ...headers, ...(token && { authorization: `Bearer ${token}` }) };
    this.#fetch = async (path, init) => {
      const headers = { ...all, ...init.headers };
      const response = await fetch(new URL(path, base), { credentials: "same-origin", ...init, headers });
      if (response.ok) return response;
      const text = await response.text();
      if (/"type": *"response"/.test(text)) return new Response(text); // It says no to a command.
      let said: { code?: string; message?: string } = {};
      try {
        said = JSON.parse(text).error ?? {};
      } catch {
        // Somebody in front of the server has answered.
      }
      const { status } = response;
      throw Object.assign(new Refused(path, said.message ?? `status ${status}`, said.code), { status });
    };
  }

  async open<D extends Dialect = "pi-1">(options: HttpOpen & Omit<AttachOptions<D>, "from">): Promise<Agent<D>> {
    const asked = "dialect cwd model provider thinking permission name flags".split(" ");
    const body = JSON.stringify({ ...options, dialect: options.dialect ?? "pi-1" }, asked);
    const init = { method: "POST", body, headers: { "idempotency-key": unique() } };
    const { agent } = await (await this.#sent("", init, options.retryFor)).json();
    return this.#begun(agent.id ?? agent, { ...options, from: 0 }, false);
  }

  attach<D extends Dialect = "pi-1">(id: string, options: AttachOptions<D> = {}): Promise<Agent<D>> {
    return this.#begun(id, options, true);
  }

  async agents(options: { signal?: AbortSignal } = {}): Promise<AgentSummary[]> {
    return (await (await this.#sent("", options)).json()).agents;
  }

  /** Abort what an agent does, and forget it. Its session stays. */
  async remove(id: string, options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#sent(`/${id}`, { method: "DELETE", ...options });
  }

  #sent(path: string, init: Request, retryFor = 0): Promise<Response> {
    return again(() => this.#fetch(`v1/agents${path}`, init), retryFor, init.signal);
  }

  async #begun<D extends Dialect>(id: string, options: AttachOptions<D>, isAttached: boolean): Promise<Agent<D>> {
    const { dialect = "pi-1", retryFor = 300_000, from } = options;
    const transport = await connected(this.#fetch, id, dialect, retryFor, from);
    return begun(transport, options, { id, seq: from, isAttached });
  }
}

interface Request extends RequestInit {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request. Throws Refused for an answer that is no success. */
type Fetch = (path: string, init: Request) => Promise<Response>;

/** Whether it is of no use to try again. */
const isFinal = (error: unknown): error is Refused =>
  error instanceof Refused && !/^(408|425|429|50[0234])$/.test(String((error as { status?: number }).status));

/** Try until it succeeds, cannot succeed, or has taken too long. */
async function again<T>(attempt: () => Promise<T>, retryFor: number, signal?: AbortSignal): Promise<T> {
  const until = Date.now() + retryFor;
  for (let delay = longer(0); ; delay = longer(delay)) {
    try {
      return await attempt();
    } catch (error) {
      if (signal?.aborted || isFinal(error) || Date.now() + delay > until) throw error;
    }
    await sleep(about(delay), signal);
  }
}

/** What is answered late: others need not wait until it is. */
const isLong = (type: string, text: string) => /^(bash|compact|reload|trust)$/.test(type) || /"message":"\//.test(text);

/** What others wait for is never held up by them. */
const isUrgent = (type: string) => /^(answer|extension_ui_response|tool_response(_progress)?)$/.test(type);

/** Connect with an agent: events come on a stream, and each command is a request of its own. */
async function connected(fetch: Fetch, agent: string, dialect: Dialect, retryFor: number, from?: number): Promise<Transport> {
  const client = unique();
  const ending = new AbortController(); // Of the stream.
  const stopping = new AbortController(); // Of requests.
  const sending = new Map<string, Promise<void> | undefined>(); // What is under way, but for the ends of what takes long.
  let before: Promise<unknown> | undefined; // What was sent last.
  let prompts: Promise<unknown> | undefined; // Of zot's protocol.
  let closed: Promise<unknown> | undefined;
  let count = 0;
  const path = (what: string) => `v1/agents/${agent}/${what}?dialect=${dialect}`;

  /** Open the stream of events. It ends when no sign of life has come for too long: networks lose connections without a word. */
  async function stream(after: number | undefined): Promise<AsyncIterable<readonly Line[]>> {
    const dying = new AbortController();
    const { signal } = dying;
    const die = () => dying.abort();
    const off = onAbort(ending.signal, die);
    let timer = setTimeout(die, SILENCE);
    const stop = () => {
      clearTimeout(timer);
      off();
    };
    const chunks = async function* (reader: ReadableStreamDefaultReader<Uint8Array>) {
      try {
        for (;;) {
          const { value, done } = await reader.read();
          clearTimeout(timer); // Its reader may be slow, which is no sign of death.
          if (done) return;
          yield value;
          timer = setTimeout(die, SILENCE);
        }
      } finally {
        stop();
        reader.cancel().catch(() => {}); // It is lost.
      }
    };
    try {
      const headers = { accept: "text/event-stream", ...(after !== undefined && { "last-event-id": String(after) }) };
      const response = await fetch(path("events"), { headers, signal, cache: "no-store" });
      return messages(chunks(response.body!.getReader()));
    } catch (error) {
      stop();
      throw isFinal(error) ? new AgentGone({ reason: error.reason }) : error;
    }
  }

  async function post(body: string, key: string, command: string, id: string | undefined): Promise<void> {
    const { signal } = stopping;
    const init = { method: "POST", body, headers: { "idempotency-key": key, "content-type": "application/json" }, signal };
    let answer = "";
    try {
      answer = await (await again(() => fetch(path("commands"), init), retryFor, signal)).text();
    } catch (error) {
      if (!isFinal(error)) await sleep(10_000, signal); // If the server is gone, its stream finds that out meanwhile.
      const { reason = String(error), code } = error as Partial<Refused>;
      if (id) answer = JSON.stringify({ type: "response", id, command, success: false, error: reason, code });
    }
    sending.delete(key);
    if (answer && !signal.aborted) transport.onAnswer?.(answer);
  }

  const transport: Transport = {
    resumes: true,
    apart: true,
    async connect(after) {
      const first = opened;
      opened = undefined;
      return first ?? stream(after);
    },
    send({ text, type, id }) {
      const key = `${client} ${id ?? `told ${++count}`}`;
      if (sending.has(key)) return; // It is on its way, and is tried again by itself.
      // Requests may overtake each other, commands must not: one is sent when those before it are answered.
      const isZots = dialect === "zot" && /^(prompt|compact)$/.test(type); // Answered when it begins.
      const isLate = isZots || isLong(type, text);
      const awaited = isUrgent(type) ? [] : [before, isZots && prompts];
      const done = Promise.all(awaited).then(() => post(text, key, type, id));
      sending.set(key, isLate ? undefined : done);
      if (isZots) prompts = done;
      else if (!isUrgent(type) && !isLate) before = done;
    },
    close(patience) {
      ending.abort();
      // What was sent is carried out: an abort, say, right before the end. What takes long goes on without us.
      closed = Promise.race([Promise.all(sending.values()), sleep(patience, stopping.signal)]).then(() => stopping.abort());
    },
    async gone() {
      ending.abort();
      await closed;
      stopping.abort();
      return {};
    },
  };
  // The stream is there before anything is asked: no event of an answer is missed.
  let opened: AsyncIterable<readonly Line[]> | undefined = await stream(from);
  return transport;
}

/** The messages of a stream of events. The last line of an event has its number. */
async function* messages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  const lines = lineSplitter();
  let text: string | undefined;
  let seq: number | undefined;
  for await (const chunk of chunks) {
    const batch: Line[] = [];
    for (const line of lines(chunk)) {
      const [, field, value] = /^(data|id): ?(.*)/s.exec(line) ?? [];
      if (field === "data") text = value;
      else if (field) seq = Number(value);
      else if (!line && text !== undefined) {
        batch.push({ text, seq });
        text = seq = undefined;
      }
    }
    if (batch.length) yield batch;
  }
}
