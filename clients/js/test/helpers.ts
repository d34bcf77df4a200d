// What the tests start: linnet on the scripted model of MODEL_URL, agents that are a few lines of JavaScript, servers.
import { spawn as start, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { spawn, type Agent, type Dialect, type Event, type SpawnOptions } from "linnet-agent";

export const LINNET = process.env["LINNET"]!;
export const MODEL = process.env["MODEL_URL"]!;
export const DIALECTS = ["zot", "pi-legacy", "pi", "pi-0.73", "pi-0.87", "pi-1"] as const satisfies readonly Dialect[];
const FLAGS = ["--provider", "anthropic", "--base-url", MODEL, "--api-key", "x"];

/** A folder that is gone after the tests. Its name is short: the path of a socket has at most 107 bytes. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "ljs-"));
  after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** The command by which linnet speaks a protocol, with a model of ours. */
export function linnet(dialect: Dialect, ...flags: string[]): string[] {
  const words = dialect === "zot" ? ["rpc"] : ["--mode", "rpc", "--dialect", dialect, "--retry-delay", "0.05"];
  return [LINNET, ...words, ...FLAGS, "--no-session", ...flags];
}

/** linnet in a folder of its own. */
export async function agent<D extends Dialect = "pi-1">(options: SpawnOptions<D> & { flags?: string[] } = {}): Promise<Agent<D>> {
  const { flags = [], ...others } = options;
  const made = await spawn<D>({ command: linnet(options.dialect ?? "pi-1", ...flags), cwd: folder(), ...others });
  after(() => made.close());
  return made;
}

/** The command of an agent that is this program. `say` prints an object, `hear` returns the next command. */
export function fake(body: string): string[] {
  const file = join(folder(), "agent.mjs");
  writeFileSync(
    file,
    `import { createInterface } from "node:readline"; import { writeSync } from "node:fs";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const hear = async () => { const { value, done } = await lines.next(); if (done) process.exit(0); return JSON.parse(value); };
const write = (text) => { const bytes = Buffer.from(text); for (let at = 0; at < bytes.length;) {
  try { at += writeSync(1, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; } } };
const say = (type, fields) => write(JSON.stringify({ type, ...fields }) + "\\n");
const answer = (asked, data) => say("response", { id: asked.id, command: asked.type, success: true, data });
${body}`,
  );
  return [process.execPath, file];
}

/** Collect what is iterated over. */
export async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** The words of the model among the events of any protocol. */
export function words(events: readonly Event<Dialect>[]): string {
  return events
    .map((event: any) => (event.type === "text_delta" ? event : event.assistantMessageEvent)).filter((update) => update?.type === "text_delta")
    .map((update) => update.delta).join("");
}

/** Let the model go on that waits at a gate. */
export async function release(gate: string): Promise<void> {
  await fetch(`${MODEL}/_release/${gate}`);
}

/** Wait for a condition that no event tells of. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Whether a process runs. One that has ended is there until its parent asks, and nobody knows when that is. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return !existsSync("/proc/self/stat"); // Where there is no /proc, the signal has told.
  }
}

/** A real `linnet serve` that can be killed and started again. */
export class Serve {
  readonly folder = folder();
  readonly socket = join(this.folder, "s");
  readonly state = join(this.folder, "state");
  url = "";
  token = "";
  #process: ChildProcess | undefined;
  #port = 0;

  constructor(private readonly flags: string[] = []) {
    after(() => this.kill());
  }

  async start(): Promise<this> {
    const http = ["--http", `127.0.0.1:${this.#port}`, "--root", this.folder];
    const env = {
      ...process.env, LINNET_HOME: join(this.folder, "home"), ANTHROPIC_API_KEY: "x",
      LINNET_PROVIDER: "anthropic", LINNET_MODEL: "claude-sonnet-4-5", LINNET_BASE_URL: MODEL,
    };
    const words = ["serve", "--socket", this.socket, "--state", this.state, ...http, ...this.flags];
    const child = start(LINNET, words, { cwd: this.folder, env, stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    let said = "";
    await new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.stderr!.on("data", (chunk: Buffer) => {
        const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec((said += chunk));
        if (found && !this.url) [this.url, this.#port] = [found[0], Number(found[1])];
        if (found) resolve();
      });
    });
    if (!this.url) throw new Error(`the server did not start: ${said}`);
    const { readFileSync } = await import("node:fs");
    this.token = readFileSync(join(this.state, "drive.token"), "utf8").trim();
    return this;
  }

  /** End it as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }
}
