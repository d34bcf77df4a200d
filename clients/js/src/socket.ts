import { createConnection, type Socket } from "node:net";
import { homedir } from "node:os";

import { begun, type Agent } from "./agent.js";
import { AgentGone, Refused, type Ending } from "./errors.js";
import { lineSplitter } from "./lines.js";
import type { Dialect } from "./names.js";
import { unique, type AttachOptions, type Server } from "./server.js";
import type { AgentSummary } from "./summary.js";
import type { Line, Sent, Transport } from "./transport.js";

/** How to open an agent on a server's socket. */
export interface SocketOpen {
  /** The folder to work in: the current one. */
  cwd?: string;
  provider?: string;
  model?: string;
  /** Other flags, as they would follow `linnet`. */
  args?: readonly string[];
  /** Variables that linnet reads, such as keys. */
  env?: Record<string, string>;
  /** With false the agent is closed when this client is, and its work is done. */
  keep?: boolean;
  /** Read `args` as this program does. */
  program?: "linnet" | "linnet-pi" | "linnet-zot";
}

/** How to attach to an agent on a server's socket. */
export interface SocketAttach {
  /** A watcher may ask, and change nothing. */
  role?: "drive" | "watch";
}

/** Where `linnet serve` listens if nobody says. */
export function usualSocket(): string {
  const { LINNET_SOCKET, XDG_RUNTIME_DIR, LINNET_HOME = `${homedir()}/.linnet` } = process.env;
  return LINNET_SOCKET ?? (XDG_RUNTIME_DIR ? `${XDG_RUNTIME_DIR}/linnet/serve.sock` : `${LINNET_HOME}/serve.sock`);
}

/** A server on a unix socket. */
export class SocketServer implements Server<SocketOpen, SocketAttach> {
  constructor(private readonly path: string) {}

  async open<D extends Dialect = "pi-1">(options: SocketOpen & Omit<AttachOptions<D>, "from"> = {}): Promise<Agent<D>> {
    const { cwd = process.cwd(), provider, model, args = [], env, keep, program, dialect = "pi-1" } = options;
    const flags = [...(provider ? ["--provider", provider] : []), ...(model ? ["--model", model] : []), ...args];
    const first = { type: "open", dialect, cwd, flags, ...(env && { env }), ...(keep === false && { keep }), ...(program && { program }) };
    return this.#begun(first, { dialect } as object, options, false);
  }

  async attach<D extends Dialect = "pi-1">(id: string, options: SocketAttach & AttachOptions<D> = {}): Promise<Agent<D>> {
    const { dialect = "pi-1", from, role } = options;
    const again = { dialect, ...(role && { role }) };
    const first = { type: "attach", agent: id, ...again, ...(from !== undefined && { from }) };
    return this.#begun(first, again, options, true);
  }

  async agents(options: { signal?: AbortSignal } = {}): Promise<AgentSummary[]> {
    options.signal?.throwIfAborted();
    const { data, socket } = await Connection.opened(this.path, { type: "agents" }, options.signal);
    socket.destroy();
    return data.agents;
  }

  async #begun<D extends Dialect>(first: object, again: object, options: AttachOptions<D>, isAttached: boolean): Promise<Agent<D>> {
    const who = { cursor: true, client: unique() };
    const connection = await Connection.opened(this.path, { ...first, ...who });
    const { agent, seq } = connection.data;
    const transport = new SocketTransport(this.path, { type: "attach", agent, ...again, ...who }, connection);
    return begun(transport, options, { id: agent, seq: options.from ?? seq, isAttached });
  }
}

/** A connection whose first line was answered. */
class Connection {
  static async opened(path: string, first: object, signal?: AbortSignal): Promise<Connection> {
    const socket = createConnection(path);
    const abort = () => socket.destroy(signal!.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const connection = new Connection(socket);
      await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      socket.write(JSON.stringify(first) + "\n");
      await connection.#greeted();
      return connection;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  data: any;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #lines = lineSplitter();
  #ready: string[] = [];

  private constructor(readonly socket: Socket) {
    this.#chunks = (socket as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    socket.on("error", () => {}); // Whoever reads is told.
  }

  async #greeted(): Promise<void> {
    while (!this.#ready.length) {
      const { value, done } = await this.#chunks.next();
      if (done) throw new Error("the server closed the connection before its first answer");
      this.#ready = this.#lines(value);
    }
    const reply = JSON.parse(this.#ready.shift()!);
    if (!reply.success) throw new Refused(reply.command, reply.error, reply.code);
    this.data = reply.data;
  }

  async *batches(): AsyncGenerator<readonly Line[]> {
    yield this.#ready.map((text) => ({ text }));
    for (;;) {
      const { value, done } = await this.#chunks.next();
      if (done) return; // A line that was cut off belongs to an event that comes again.
      yield this.#lines(value).map((text) => ({ text }));
    }
  }
}

class SocketTransport implements Transport {
  readonly resumes = true;
  readonly apart = false;
  #connection: Connection | undefined;
  #isClosed = false;
  #over!: () => void;
  readonly #closed = new Promise<void>((resolve) => (this.#over = resolve));

  constructor(
    private readonly path: string,
    private readonly first: object,
    private connected: Connection | undefined,
  ) {}

  async connect(after: number | undefined): Promise<AsyncIterable<readonly Line[]>> {
    const connection = this.connected ?? (await this.#attached(after));
    this.connected = undefined;
    this.#connection = connection;
    if (this.#isClosed) connection.socket.destroy();
    return connection.batches();
  }

  send({ text }: Sent): void {
    this.#connection?.socket.write(text + "\n");
  }

  close(): void {
    this.#isClosed = true;
    // What was sent is carried out; what comes is not wanted.
    const socket = (this.#connection ?? this.connected)?.socket;
    if (!socket || socket.destroyed) return this.#over();
    socket.once("close", this.#over);
    socket.end(() => socket.destroy());
  }

  async gone(): Promise<Ending> {
    this.#connection?.socket.destroy();
    if (this.#isClosed) await this.#closed;
    return {};
  }

  async #attached(after: number | undefined): Promise<Connection> {
    try {
      return await Connection.opened(this.path, after === undefined ? this.first : { ...this.first, from: after });
    } catch (error) {
      if (!(error instanceof Refused) || error.code === "draining" || error.code === "busy") throw error;
      throw new AgentGone({ reason: error.reason });
    }
  }
}
