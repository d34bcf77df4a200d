// Calls the handlers of an event, one after the other, and makes one answer of what they return.

/** How the handlers of an event that decides something work together. Each gets what those before it made of it. */
const FOLDS = {
  async tool_call(event, each) {
    for await (const result of each(event)) {
      if (result?.block) return { block: true, reason: String(result.reason ?? "") };
    }
    return { input: event.input };
  },
  async tool_result(event, each) {
    const changed = {};
    for await (const result of each(event)) {
      for (const name of ["content", "details", "isError"]) {
        if (result?.[name] !== undefined) event[name] = changed[name] = result[name];
      }
    }
    return changed;
  },
  async input(event, each) {
    for await (const result of each(event)) {
      if (result?.action === "handled") return { handled: true };
      if (result?.action === "transform") {
        event.text = result.text ?? event.text;
        event.images = result.images ?? event.images;
      }
    }
    return { text: event.text, images: event.images };
  },
  async before_agent_start(event, each) {
    const messages = [];
    for await (const result of each(event)) {
      if (result?.message) messages.push(result.message);
      if (typeof result?.systemPrompt === "string") event.systemPrompt = result.systemPrompt;
    }
    return { messages, systemPrompt: event.systemPrompt, sections: event.systemPromptOptions?.sections ?? {} };
  },
  async context(event, each) {
    for await (const result of each(event)) {
      if (Array.isArray(result?.messages)) event.messages = result.messages;
    }
    return { messages: event.messages };
  },
  async before_provider_request(event, each) {
    for await (const result of each(event)) if (result !== undefined) event.payload = result;
    return { payload: event.payload };
  },
  async before_provider_headers(event, each) {
    for await (const _ of each(event));
    return { headers: event.headers };
  },
  async message_end(event, each, failed) {
    let changed = false;
    for await (const result of each(event)) {
      if (!result?.message) continue;
      if (result.message.role === event.message.role) [event.message, changed] = [result.message, true];
      else failed(new Error("message_end handlers must return a message with the same role"));
    }
    return changed ? { message: event.message } : {};
  },
  /** Each handler sees what those before it propose, and replaces what it names of that. */
  async agent_before_settle(event, each) {
    const said = event.context.contextMessages;
    for await (const result of each(event)) {
      if (Array.isArray(result?.entries)) event.entries = result.entries;
      if (typeof result?.continue === "boolean") event.continue = result.continue;
      const added = event.entries.filter((entry) => entry.type === "custom_message");
      const messages = [...said, ...added.map(({ type, ...entry }) => ({ role: "custom", ...entry, timestamp: Date.now() }))];
      const canContinue = messages.length > 0 && messages.at(-1).role !== "assistant";
      event.context = { ...event.context, contextMessages: messages, llmMessages: messages, canContinue };
    }
    return { entries: event.entries, continue: event.continue };
  },
  session_before_switch: cancellable,
  session_before_fork: cancellable,
  session_before_tree: cancellable,
  session_before_compact: cancellable,
  async user_bash(event, each) {
    for await (const result of each(event)) {
      if (result?.result) return { result: result.result };
      if (result?.operations) return { result: await operated(result.operations, event) };
    }
    return {};
  },
  async resources_discover(event, each) {
    const found = { skillPaths: [], promptPaths: [] };
    for await (const result of each(event)) {
      for (const name of Object.keys(found)) found[name].push(...(result?.[name] ?? []));
    }
    return found;
  },
  async project_trust(event, each) {
    for await (const result of each(event)) if (["yes", "no"].includes(result?.trusted)) return result;
    return {};
  },
};
FOLDS.context_with_system = FOLDS.context;

async function cancellable(event, each) {
  let answer = {};
  for await (const result of each(event)) {
    if (result?.cancel) return { cancel: true };
    if (result) answer = { ...answer, ...result };
  }
  return answer;
}

/** Run a command of the client by the operations that an extension brings. */
async function operated(operations, event) {
  const chunks = [];
  const onData = (data) => chunks.push(Buffer.from(data));
  const { exitCode } = await operations.exec(event.command, event.cwd, { onData, signal: event.signal });
  return { output: Buffer.concat(chunks).toString("utf8"), exitCode: exitCode ?? 0, cancelled: false, truncated: false };
}

/**
 * Ask an instance about an event; return what its handlers decide. A guard throws what a handler threw. `wait` is given
 * what a handler returns, and returns when it is waited for no longer.
 */
export async function decide(instance, event, ctx, { guard, failed, wait = (done) => done }) {
  async function* each(about) {
    for (const handler of [...(instance.handlers.get(event.type) ?? [])]) {
      try {
        yield await wait(handler(about, ctx));
      } catch (fault) {
        if (guard) throw fault;
        failed(fault);
      }
    }
  }
  const fold = FOLDS[event.type];
  if (fold) return fold(event, each, failed);
  for await (const _ of each(event));
  return {};
}

/** Return the words of what was thrown. */
export function words(fault) {
  return fault instanceof Error ? fault.message || fault.name : String(fault);
}
