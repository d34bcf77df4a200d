import { spawn as start, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

import { begun, type Agent, type AgentOptions } from "./agent.js";
import type { Ending } from "./errors.js";
import { lineSplitter } from "./lines.js";
import type { Dialect } from "./names.js";
import type { Line, Sent, Transport } from "./transport.js";

/** How to start an agent. */
export interface SpawnOptions<D extends Dialect = Dialect> extends AgentOptions {
  /** The protocol: `pi-1`, that of today's pi, if you do not say. */
  dialect?: D;
  /** The program and its first arguments. Otherwise `linnet`, told to speak `dialect`. */
  command?: string | readonly string[];
  /** Flags that every agent knows. */
  provider?: string;
  model?: string;
  /** Other flags. */
  args?: readonly string[];
  cwd?: string | URL;
  /** Variables to add to the environment; undefined takes one away. */
  env?: Record<string, string | undefined>;
  /** In zot's protocol: put into the agent's environment, and sent in a `hello` before anything else. */
  token?: string;
  /** Called with what the agent prints on stderr. Its end is kept in any case. */
  onStderr?: (text: string) => void;
  /** Milliseconds that the agent has to finish when it is closed: 5,000. */
  patience?: number;
  /** Bytes that a line may have: 256 MiB. */
  longestLine?: number;
}

const GRACE = 2_000; // Milliseconds that a process has to exit once it cannot be talked to, and again once it was told to.
const TAIL = 256 * 1024; // Characters of stderr that are kept.
const SHOWN = 4096; // Those in an error.

/** Start an agent as a child process. Throws what the system says if that is not possible. */
export async function spawn<D extends Dialect = "pi-1">(options: SpawnOptions<D> = {}): Promise<Agent<D>> {
  const dialect = (options.dialect ?? "pi-1") as D;
  const { command, provider, model, args = [], token } = options;
  const words = command === undefined ? ["linnet", ...spoken(dialect)] : typeof command === "string" ? [command] : [...command];
  if (provider) words.push("--provider", provider);
  if (model) words.push("--model", model);
  const env: Record<string, string | undefined> = { ...process.env, ...options.env, ...(token && { ZOTCORE_RPC_TOKEN: token }) };
  for (const [name, value] of Object.entries(env)) if (value === undefined) delete env[name];
  const child = await Child.started([...words, ...args], env, options);
  const { tools, ...others } = options;
  const agent = await begun<D>(child, { ...others, dialect });
  Object.defineProperties(agent, { pid: { value: child.pid }, stderr: { get: () => child.stderr } });
  try {
    if (token) await agent.ask("hello", { token });
    if (tools?.length) await agent.setTools(tools);
  } catch (error) {
    await agent.close();
    throw error;
  }
  return agent;
}

/** The flags by which linnet speaks a protocol. */
function spoken(dialect: Dialect): string[] {
  if (dialect === "zot") return ["rpc"];
  return dialect === "pi" ? ["--mode", "rpc"] : ["--mode", "rpc", "--dialect", dialect];
}

class Child implements Transport {
  static readonly #running = new Set<Child>(); // One listener for all: Node warns of more than ten.
  readonly resumes = false;
  readonly apart = false;
  readonly pid: number;
  onChange?: () => void;
  stderr = "";
  hasEnded = false;
  #exit: { code: number | null; signal: string | null } | undefined;
  readonly #exited: Promise<void>;
  readonly #stdin: Writable;
  readonly #stdout: Readable;
  #closing: Promise<void> | undefined;
  #heard = 0; // When something came last.

  static async started(words: readonly string[], env: Record<string, string | undefined>, options: SpawnOptions): Promise<Child> {
    const [program, ...args] = words;
    // In a group of its own: Ctrl-C in a terminal is for this program, and the agent can be killed with what it started.
    const child = start(program!, args, { cwd: options.cwd, env: env as NodeJS.ProcessEnv, detached: true, stdio: "pipe" });
    const transport = new Child(child, options);
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    return transport;
  }

  private constructor(
    private readonly child: ChildProcess,
    private readonly options: SpawnOptions,
  ) {
    this.pid = child.pid!;
    [this.#stdin, this.#stdout] = [child.stdin!, child.stdout!];
    this.#stdin.on("error", () => {}); // Nobody reads. Its exit will follow, or be seen to.
    child.on("error", () => child.pid ?? this.#ended()); // It was not started, and will not exit.
    const decoder = new TextDecoder();
    child.stderr!.on("error", () => {});
    child.stderr!.on("data", (chunk: Uint8Array) => {
      const text = decoder.decode(chunk, { stream: true });
      this.stderr = (this.stderr + text).slice(-TAIL);
      options.onStderr?.(text);
    });
    if (!Child.#running.size) process.once("exit", Child.#killAll);
    Child.#running.add(this);
    this.#exited = new Promise((resolve) =>
      child.once("exit", (code, signal) => {
        this.#exit = { code, signal };
        this.#ended();
        this.hasEnded = true; // What is left in the pipe is read, whoever is slow.
        this.onChange?.();
        resolve();
      }),
    );
  }

  async connect(): Promise<AsyncIterable<readonly Line[]>> {
    return this.#lines();
  }

  async *#lines(): AsyncGenerator<readonly Line[]> {
    const lines = lineSplitter(this.options.longestLine);
    // Somebody else may hold the other end of the pipe, so that its end may never come.
    void this.#exited.then(() => this.#untilQuiet());
    try {
      for await (const chunk of this.#stdout) {
        this.#heard = Date.now();
        yield lines(chunk as Uint8Array).map((text) => ({ text }));
      }
    } catch (error) {
      if (error instanceof RangeError || !this.#exit) throw error;
    }
    const [rest] = lines(Uint8Array.of(10)); // A line that was not ended.
    if (rest) yield [{ text: rest }];
  }

  send({ text }: Sent): void {
    this.#stdin.write(text + "\n");
  }

  close(patience: number): void {
    this.#closing ??= this.#close(patience);
  }

  async gone(): Promise<Ending> {
    // Its pipe has ended, so it cannot be talked to any more.
    if (!(await this.#within(GRACE))) this.#closing ??= this.#close(0);
    await this.#closing;
    await this.#exited;
    await this.#stderrEnded();
    const { code, signal } = this.#exit!;
    const reason = `the agent has ended ${signal ? `by ${signal}` : `with exit code ${code}`}`;
    return { exitCode: code, signal, stderr: this.stderr.slice(-SHOWN), reason };
  }

  /** Close stdin, wait, terminate, wait, kill. */
  async #close(patience: number): Promise<void> {
    this.#stdin.end();
    if (await this.#within(patience)) return;
    this.#signal("SIGTERM");
    if (await this.#within(GRACE)) return;
    this.#signal("SIGKILL");
  }

  async #within(milliseconds: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([this.#exited, new Promise((resolve) => (timer = setTimeout(resolve, milliseconds)))]);
    clearTimeout(timer);
    return this.#exit !== undefined;
  }

  async #stderrEnded(): Promise<void> {
    const stderr = this.child.stderr!;
    if (stderr.readableEnded || stderr.destroyed) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      stderr.once("end", resolve).once("close", resolve);
      timer = setTimeout(resolve, 200);
    });
    clearTimeout(timer);
    stderr.destroy();
  }

  async #untilQuiet(): Promise<void> {
    for (this.#heard = Date.now(); !this.#stdout.readableEnded && !this.#stdout.destroyed; ) {
      const left = this.#heard + GRACE - Date.now();
      if (left <= 0) this.#stdout.destroy();
      else await new Promise((resolve) => this.#stdout.once("close", resolve) && setTimeout(resolve, left));
    }
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#exit) return;
    try {
      // The whole group only at last: an agent that is told to end ends what it started itself.
      if (signal === "SIGKILL") process.kill(-this.pid, signal);
      else this.child.kill(signal);
    } catch {
      this.child.kill(signal); // It has no group of its own.
    }
  }

  #ended(): void {
    Child.#running.delete(this);
    if (!Child.#running.size) process.removeListener("exit", Child.#killAll);
  }

  /** This program ends: have all processes end as well, before that. Nothing is asynchronous any more. */
  static readonly #killAll = (): void => {
    for (const child of Child.#running) child.#signal("SIGTERM");
    const clock = new Int32Array(new SharedArrayBuffer(4));
    const alive = () => [...Child.#running].filter((child) => child.#isAlive());
    for (let waited = 0; waited < GRACE && alive().length; waited += 10) Atomics.wait(clock, 0, 0, 10);
    for (const child of alive()) child.#signal("SIGKILL");
  };

  #isAlive(): boolean {
    try {
      return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${this.pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  }
}
