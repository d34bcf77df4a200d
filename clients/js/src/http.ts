import type { Agent } from "./agent.js";
import { AgentGone, Refused, type Ending } from "./errors.js";
import { LineSplitter } from "./lines.js";
import type { Dialect } from "./names.js";
import { served, uuid, type AttachOptions, type Server } from "./server.js";
import type { AgentSummary } from "./summary.js";
import type { Line, Sent, Transport } from "./transport.js";

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
const AGAIN = new Set([408, 425, 429, 500, 502, 503, 504]);
const SLOWEST = 5_000;
// What is answered late: others need not wait until it is.
const LONG = new Set(["bash", "compact", "reload", "trust"]);
// What others wait for is never held up by them.
const URGENT = new Set(["answer", "extension_ui_response", "tool_response", "tool_response_progress"]);

/** A server over HTTP. */
export class HttpServer implements Server<HttpOpen> {
  readonly #base: URL;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof globalThis.fetch;

  constructor({ url, token, headers, fetch }: HttpOptions) {
    this.#base = new URL(String(url).replace(/\/?$/, "/"), (globalThis as { location?: { href: string } }).location?.href);
    this.#headers = { ...headers, ...(token && { authorization: `Bearer ${token}` }) };
    this.#fetch = fetch ?? globalThis.fetch.bind(globalThis);
  }

  async open<D extends Dialect = "pi-1">(options: HttpOpen & Omit<AttachOptions<D>, "from">): Promise<Agent<D>> {
    const { cwd, model, provider, thinking, permission, name, flags, dialect = "pi-1" } = options;
    const body = JSON.stringify({ cwd, model, provider, thinking, permission, name, flags, dialect });
    const init = { method: "POST", body, headers: { "idempotency-key": uuid() } };
    const { agent } = await this.#json("v1/agents", init, options.retryFor);
    return this.#served(typeof agent === "string" ? agent : agent.id, { ...options, from: 0 }, false);
  }

  attach<D extends Dialect = "pi-1">(id: string, options: AttachOptions<D> = {}): Promise<Agent<D>> {
    return this.#served(id, options, true);
  }

  async agents(options: { signal?: AbortSignal } = {}): Promise<AgentSummary[]> {
    return (await this.#json("v1/agents", options)).agents;
  }

  /** Abort what an agent does, and forget it. Its session stays. */
  async remove(id: string, options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#json(`v1/agents/${id}`, { method: "DELETE", ...options });
  }

  /** @internal Send a request. Throws Refused for an answer that is no success. */
  async _send(path: string, init: RequestInit): Promise<Response> {
    const response = await this.#sent(path, init);
    if (response.ok) return response;
    throw refused(path, response.status, await response.text());
  }

  /** @internal Send a command; return its response, also one that says no. */
  async _answer(path: string, init: RequestInit): Promise<string> {
    const response = await this.#sent(path, init);
    const text = await response.text();
    if (response.ok || /"type": *"response"/.test(text)) return text;
    throw refused(path, response.status, text);
  }

  #sent(path: string, init: RequestInit): Promise<Response> {
    const headers = { ...this.#headers, ...(init.headers as object) };
    return this.#fetch(new URL(path, this.#base), { credentials: "same-origin", ...init, headers });
  }

  async #json(path: string, init: RequestInit, retryFor = 0): Promise<any> {
    const response = await again(() => this._send(path, init), retryFor, init.signal ?? undefined);
    return response.status === 204 ? undefined : response.json();
  }

  async #served<D extends Dialect>(id: string, options: AttachOptions<D>, isAttached: boolean): Promise<Agent<D>> {
    const transport = new HttpTransport(this, id, options.dialect ?? "pi-1", options.retryFor ?? 300_000);
    // The stream is there before anything is asked: no event of an answer is missed.
    transport.opened = await transport.stream(options.from);
    return served(transport, options, { id, ...(options.from !== undefined && { seq: options.from }), isAttached });
  }
}

function refused(path: string, status: number, text: string): Refused {
  let said: { code?: string; message?: string } = {};
  try {
    said = JSON.parse(text).error ?? {};
  } catch {
    // Somebody in front of the server has answered.
  }
  return Object.assign(new Refused(path, said.message ?? `status ${status}`, said.code), { status });
}

const worthAnother = (error: unknown): boolean =>
  error instanceof Refused ? AGAIN.has((error as Refused & { status?: number }).status ?? 0) : true;

/** Try until it succeeds, cannot succeed, or has taken too long. */
async function again<T>(attempt: () => Promise<T>, retryFor: number, signal?: AbortSignal): Promise<T> {
  const until = Date.now() + retryFor;
  for (let delay = 25; ; delay = Math.min(SLOWEST, delay * 2)) {
    try {
      return await attempt();
    } catch (error) {
      if (signal?.aborted || !worthAnother(error) || Date.now() + delay > until) throw error;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delay * (0.5 + Math.random()));
      signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

/** Events on a stream, and each command as a request of its own. */
class HttpTransport implements Transport {
  readonly resumes = true;
  readonly apart = true;
  onAnswer?: (text: string) => void;
  opened: AsyncIterable<readonly Line[]> | undefined;
  readonly #client = uuid();
  readonly #end = new AbortController(); // Of the stream.
  readonly #stop = new AbortController(); // Of requests.
  #closed: Promise<unknown> = Promise.resolve();
  readonly #sending = new Map<string, { done: Promise<void>; isLong: boolean }>();
  #before: Promise<unknown> = Promise.resolve();
  #prompts: Promise<unknown> = Promise.resolve(); // Of zot's protocol.
  #count = 0;

  constructor(
    private readonly server: HttpServer,
    private readonly agent: string,
    private readonly dialect: Dialect,
    private readonly retryFor: number,
  ) {}

  async connect(after: number | undefined): Promise<AsyncIterable<readonly Line[]>> {
    const opened = this.opened;
    this.opened = undefined;
    return opened ?? this.stream(after);
  }

  /** Open the stream of events. */
  async stream(after: number | undefined): Promise<AsyncIterable<readonly Line[]>> {
    const heart = new Heart(this.#end.signal);
    try {
      const headers = { accept: "text/event-stream", ...(after !== undefined && { "last-event-id": String(after) }) };
      const response = await this.server._send(this.#path("events"), { headers, signal: heart.signal, cache: "no-store" });
      return messages(response.body!, heart);
    } catch (error) {
      heart.stop();
      if (error instanceof Refused && !worthAnother(error)) throw new AgentGone({ reason: error.reason });
      throw error;
    }
  }

  send({ text, type, id }: Sent): void {
    const key = `${this.#client} ${id ?? `told ${++this.#count}`}`;
    if (this.#sending.has(key)) return; // It is on its way, and is tried again by itself.
    // Requests may overtake each other, commands must not: one is sent when those before it are answered.
    const isZots = this.dialect === "zot" && (type === "prompt" || type === "compact"); // Answered when it begins.
    const before = URGENT.has(type) ? [] : isZots ? [this.#before, this.#prompts] : [this.#before];
    const sent = Promise.all(before).then(() => this.#post(text, key, type, id));
    const isLong = isZots || LONG.has(type) || /"message":"\//.test(text);
    this.#sending.set(key, { done: sent, isLong });
    if (isZots) this.#prompts = sent;
    else if (!URGENT.has(type) && !isLong) this.#before = sent;
  }

  close(patience: number): void {
    this.#end.abort();
    // What was sent is carried out: an abort, say, right before the end. What takes long goes on without us.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, patience)));
    const sent = [...this.#sending].filter(([, { isLong }]) => !isLong).map(([, { done }]) => done);
    this.#closed = Promise.race([Promise.all(sent), late]).then(() => {
      clearTimeout(timer);
      this.#stop.abort();
    });
  }

  async gone(): Promise<Ending> {
    this.#end.abort();
    await this.#closed;
    this.#stop.abort();
    return {};
  }

  async #post(text: string, key: string, command: string, id: string | undefined): Promise<void> {
    const { signal } = this.#stop;
    const init = { method: "POST", body: text, headers: { "idempotency-key": key, "content-type": "application/json" }, signal };
    let answer = "";
    try {
      answer = await again(() => this.#answered(init), this.retryFor, signal);
    } catch (error) {
      if (signal.aborted) return;
      const { reason: said = String(error), code } = error as Partial<Refused>;
      if (id !== undefined) answer = JSON.stringify({ type: "response", id, command, success: false, error: said, code });
    } finally {
      this.#sending.delete(key);
    }
    if (answer && !signal.aborted) this.onAnswer?.(answer);
  }

  /** Return a command's response. One that says no is a response as well. */
  async #answered(init: RequestInit): Promise<string> {
    return this.server._answer(this.#path("commands"), init);
  }

  #path(what: string): string {
    return `v1/agents/${this.agent}/${what}?dialect=${this.dialect}`;
  }
}

/** Ends a stream on which no sign of life has come for too long: networks lose connections without a word. */
class Heart {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #stop = () => this.#controller.abort();

  constructor(private readonly end: AbortSignal) {
    if (end.aborted) this.#stop();
    end.addEventListener("abort", this.#stop);
    this.beat();
  }

  beat(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#stop, SILENCE);
  }

  /** Its reader is slow, which is no sign of death. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.end.removeEventListener("abort", this.#stop);
  }
}

/** The messages of a stream of events. The last line of an event has its number. */
async function* messages(body: ReadableStream<Uint8Array>, heart: Heart): AsyncGenerator<readonly Line[]> {
  const reader = body.getReader();
  const lines = new LineSplitter();
  let data: string | undefined;
  let seq: number | undefined;
  try {
    for (;;) {
      heart.beat();
      const { value, done } = await reader.read();
      if (done) return;
      heart.rest();
      const batch: Line[] = [];
      for (const line of lines.feed(value)) {
        if (line.startsWith("data:")) data = line.slice(line[5] === " " ? 6 : 5);
        else if (line.startsWith("id:")) seq = Number(line.slice(3));
        else if (!line && data !== undefined) {
          batch.push({ text: data, seq });
          data = seq = undefined;
        }
      }
      if (batch.length) yield batch;
    }
  } finally {
    heart.stop();
    reader.cancel().catch(() => {}); // It is lost.
  }
}
