import { begun, type Agent, type AgentOptions } from "./agent.js";
import type { Dialect } from "./names.js";
import type { Transport } from "./transport.js";
import type { AgentSummary } from "./summary.js";

/** How to attach to an agent of a server. */
export interface AttachOptions<D extends Dialect = Dialect> extends AgentOptions {
  /** The protocol: `pi-1` if you do not say. Clients of one agent may speak different ones. */
  dialect?: D;
  /** The number that was seen last: events after it come first; 0 is everything. Otherwise only what comes. */
  from?: number;
}

/** A server of linnet. */
export interface Server<Open, Attach = {}> {
  /** Open an agent, and drive it. */
  open<D extends Dialect = "pi-1">(options: Open & Omit<AttachOptions<D>, "from">): Promise<Agent<D>>;
  /** Drive or watch an agent that is there. */
  attach<D extends Dialect = "pi-1">(id: string, options?: Attach & AttachOptions<D>): Promise<Agent<D>>;
  /** Return the agents. */
  agents(options?: { signal?: AbortSignal }): Promise<AgentSummary[]>;
}

/** An agent on a transport that is connected. */
export function served<D extends Dialect>(
  transport: Transport,
  options: AttachOptions<D>,
  known: { id: string; seq?: number; isAttached: boolean },
): Promise<Agent<D>> {
  return begun(transport, (options.dialect ?? "pi-1") as D, options, known);
}

/** Return a random UUID, also where a page is not served safely enough for `crypto.randomUUID`. */
export function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
