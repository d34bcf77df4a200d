import type { Agent, AgentOptions } from "./agent.js";
import type { Dialect } from "./names.js";
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

/** Return a name that nobody else has, also where a page is not served safely enough for `crypto.randomUUID`. */
export const unique = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
