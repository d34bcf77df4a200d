// What the page asks of the server. Addresses are relative to where the page's files are, so that it can be mounted
// anywhere.

const base = new URL("../", import.meta.url);
const at = (path) => new URL(path, base);
const agent = (id) => `v1/agents/${encodeURIComponent(id)}`;

/** The server refused, or could not be reached: `status` is 0 then. The message is a sentence for people. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function asked(path, { method = "GET", body, headers = {} } = {}) {
  let response;
  try {
    response = await fetch(at(path), {
      method,
      headers: { Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch {
    throw new Refused(0, "unreachable", "The server cannot be reached.");
  }
  const text = await response.text();
  let told = null;
  try {
    told = text ? JSON.parse(text) : null;
  } catch { /* An error of something in between has no JSON. */ }
  if (response.ok) return told;
  // A command that was refused is answered as on a pipe: `error` is the sentence itself.
  const error = told?.error;
  const message = typeof error === "string" ? error : error?.message;
  throw new Refused(response.status, error?.code || "", message || `The server answered ${response.status}.`);
}

export const about = () => asked("v1/about");
export const agents = async () => (await asked("v1/agents"))?.agents ?? [];
export const models = async () => (await asked("v1/models"))?.models ?? [];
export const begin = (recipe) => asked("v1/agents", { method: "POST", body: recipe, headers: named() });
export const close = (id) => asked(agent(id), { method: "DELETE" });
export const signIn = (token) => asked("v1/cookie", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
export const signOut = () => asked("v1/cookie", { method: "DELETE" });
export const exported = (id) => at(`${agent(id)}/export`).href;

export function snapshot(id, { last, before } = {}) {
  const query = new URLSearchParams({ dialect: "pi-1" });
  if (last !== undefined) query.set("last", last);
  if (before !== undefined) query.set("before", before);
  return asked(`${agent(id)}/snapshot?${query}`);
}

/** Send a command and return what its response has as `data`. It has a name of its own, so that it may be sent twice. */
export async function command(id, told) {
  const headers = named();
  const send = () => asked(`${agent(id)}/commands?dialect=pi-1`, { method: "POST", body: told, headers });
  let answer;
  try {
    answer = await send();
  } catch (error) {
    if (error.status) throw error;
    await new Promise((done) => setTimeout(done, 500));
    answer = await send();
  }
  if (answer?.success === false) throw new Refused(400, answer.code || "", answer.error || "The command was refused.");
  return answer?.data;
}

function named() {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return { "Idempotency-Key": [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}

/** A stream of server-sent events that is opened again however it was lost. */
export class Stream {
  /** `address` is asked for a path at every opening that is not the browser's own; `on` has a function for each event. */
  constructor(address, on, { opened = () => {}, lost = () => {} } = {}) {
    Object.assign(this, { address, on, opened, lost, source: null, timer: 0, tries: 0 });
  }

  open() {
    this.close();
    const source = (this.source = new EventSource(at(this.address())));
    for (const [name, heard] of Object.entries(this.on)) {
      source.addEventListener(name, (event) => {
        if (this.source === source) heard(event);
      });
    }
    source.addEventListener("open", () => {
      this.tries = 0;
      if (this.source === source) this.opened();
    });
    source.addEventListener("error", () => {
      if (this.source !== source) return;
      this.lost();
      // Where the answer was no stream, a browser gives up for good.
      if (source.readyState === EventSource.CLOSED) this.again();
    });
  }

  again() {
    this.close();
    this.timer = setTimeout(() => this.open(), Math.min(15_000, 500 * 2 ** this.tries++) * (0.75 + Math.random() / 2));
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}

export const agentEvents = "v1/agents/events";
export function eventsOf(id, { from, dialect }) {
  const query = new URLSearchParams();
  if (dialect) query.set("dialect", dialect);
  if (from !== undefined) query.set("from", from);
  return `${agent(id)}/events?${query}`;
}
