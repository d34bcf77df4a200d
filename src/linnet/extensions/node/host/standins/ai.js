// In place of pi-ai: what extensions use of it that needs no server.
import { randomBytes } from "node:crypto";

export { Type } from "./typebox.js";

/** Return the schema of one of these words. */
export function StringEnum(values, options = {}) {
  return { type: "string", enum: [...values], ...options };
}

/** Return an id whose first part is the time. */
export function uuidv7() {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Put what the tokens of a usage cost into it, by the prices of a model. */
export function calculateCost(model, usage) {
  const cost = usage.cost;
  for (const name of ["input", "output", "cacheRead", "cacheWrite"]) {
    cost[name] = ((model.cost?.[name] ?? 0) / 1_000_000) * usage[name];
  }
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  return cost;
}

/** A stream of events of a reply, which ends with `done` or `error`. */
export class AssistantMessageEventStream {
  #events = [];
  #waiting = [];
  #ended = false;
  #settle;
  #final = new Promise((resolve) => (this.#settle = resolve));

  push(event) {
    if (this.#ended) return;
    this.#events.push(event);
    if (event.type === "done") this.end(event.message);
    else if (event.type === "error") this.end(event.error);
    this.#wake();
  }

  end(message) {
    this.#ended = true;
    this.#settle(message);
    this.#wake();
  }

  result() {
    return this.#final;
  }

  async *[Symbol.asyncIterator]() {
    for (let at = 0; ; ) {
      while (at < this.#events.length) yield this.#events[at++];
      if (this.#ended) return;
      await new Promise((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export function createAssistantMessageEventStream() {
  return new AssistantMessageEventStream();
}

/** Return the system prompt that the system messages of a transcript amount to. */
export function getCurrentSystemPrompt(context) {
  if (typeof context?.systemPrompt === "string") return context.systemPrompt;
  const sections = new Map();
  let plain = "";
  for (const message of (context?.messages ?? []).filter((each) => each.role === "system")) {
    if (typeof message.content === "string" && message.content) plain = message.content;
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      text === null ? sections.delete(name) : sections.set(name, text);
    }
  }
  return [plain, ...[...sections].map(([name, text]) => `<${name}>\n${text}\n</${name}>`)].filter(Boolean).join("\n\n");
}

/** Return the tools that a transcript has by its end. */
export function getCurrentTools(context) {
  if (Array.isArray(context?.tools)) return context.tools;
  const tools = new Map();
  for (const message of (context?.messages ?? []).filter((each) => each.role === "system")) {
    for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
    for (const tool of message.toolsRemoved ?? []) tools.delete(tool.name);
  }
  return [...tools.values()];
}

/** Return the messages without system messages: what they say is asked for by the two functions above. */
export function collapseSystemMessages(messages) {
  return messages.filter((message) => message.role !== "system");
}

/** Collects the JSON of a call's arguments, and reads it as far as it goes. */
export class ToolCallArgumentsStream {
  #text = "";

  append(text) {
    this.#text += text;
    return this.value;
  }

  get value() {
    try {
      return JSON.parse(this.#text || "{}");
    } catch {
      return {};
    }
  }
}

function needsPi(name) {
  return () => {
    throw new Error(`${name} asks a server by itself, which linnet's stand-in for pi-ai cannot: install pi beside it.`);
  };
}

export const complete = needsPi("complete()");
export const completeSimple = needsPi("completeSimple()");
export const stream = needsPi("stream()");
export const streamSimple = needsPi("streamSimple()");
export const streamSimpleAnthropic = needsPi("streamSimpleAnthropic()");
export const streamSimpleOpenAIResponses = needsPi("streamSimpleOpenAIResponses()");
export const registerApiProvider = needsPi("registerApiProvider()");
export const getModel = needsPi("getModel()");
export const anthropicMessagesApi = needsPi("anthropicMessagesApi()");
export const openAIResponsesApi = needsPi("openAIResponsesApi()");
