// A conversation as a fold: a state and an event give the next state. Nothing here asks, draws, waits or looks at a clock;
// a state is never changed, so that whoever lost a connection can go back to the last one that had a number.
//
// Events are those of pi-1. Those of pi's older generations differ in what they repeat, and are read as well.

/** Return the state of a conversation of which nothing is known. */
export const blank = () => ({
  first: 0, // The place of messages[0] in the conversation.
  total: 0,
  messages: [],
  draft: null, // The reply that is being said.
  tools: {}, // Calls that were begun, by id: {name, args, since, output, result, isError, ended}.
  questions: [], // As `waitingFor` has them.
  steering: [],
  followUp: [],
  status: "idle", // or working, compacting, retrying
  retry: null,
  notices: [], // What is to be shown once: {level, text}, with a number that grows.
  shown: {}, // Statuses and widgets of extensions, by key.
  name: "",
  thinking: "",
  model: "",
  error: "",
  typed: null, // Text that an extension wants in the prompt: {text, number}.
  stale: 0, // Grows when messages were replaced: a new snapshot is needed.
});

/** Return the state that a snapshot describes. Its `open` events are what goes on. */
export function fromSnapshot(snapshot, now) {
  const told = snapshot.state || {};
  const messages = Array.isArray(snapshot.messages) ? snapshot.messages : [];
  const first = snapshot.first ?? 0;
  const state = {
    ...blank(),
    first,
    total: Math.max(snapshot.total ?? 0, first + messages.length),
    messages,
    status: told.isCompacting ? "compacting" : told.isStreaming ? "working" : "idle",
    questions: told.waitingFor || [],
    name: told.sessionName || "",
    thinking: told.thinkingLevel || "",
    model: told.model?.id || "",
  };
  return (snapshot.open || []).reduce((before, event) => fold(before, event, now), state);
}

/** Return the state after an event. One that is not known changes nothing. */
export function fold(state, event, now) {
  const step = Object.hasOwn(STEPS, event?.type) ? STEPS[event.type] : null;
  return step ? step(state, event, now) : state;
}

const STEPS = {
  agent_start: (state) => ({ ...state, status: "working", retry: null, error: "" }),
  agent_end: (state, { willRetry, errorMessage }) => ({
    ...state,
    draft: null,
    tools: running(state.tools),
    status: willRetry ? "retrying" : "idle",
    error: errorMessage || state.error,
  }),
  agent_settled: (state) => ({ ...state, status: "idle", draft: null, retry: null, tools: running(state.tools) }),
  turn_start: (state) => (state.status === "working" ? state : { ...state, status: "working" }),
  message_start(state, { message }, now) {
    if (message?.role !== "assistant") return state;
    return { ...state, draft: { role: "assistant", content: [], since: now, model: message.model || "", usage: message.usage } };
  },
  message_update: updated,
  message_end: ended,
  tool_execution_start(state, { toolCallId, toolName, args }, now) {
    const tool = { name: toolName, args: args || {}, since: now, output: null, result: null, isError: false, ended: false };
    return { ...state, status: "working", tools: { ...state.tools, [key(toolCallId)]: tool } };
  },
  tool_execution_update(state, { toolCallId, toolName, args, partialResult }, now) {
    const before = state.tools[key(toolCallId)] || { name: toolName, args: args || {}, since: now, result: null, isError: false };
    return { ...state, tools: { ...state.tools, [key(toolCallId)]: { ...before, output: partialResult } } };
  },
  tool_execution_end(state, { toolCallId, toolName, result, isError, durationMs }, now) {
    const before = state.tools[key(toolCallId)] || { name: toolName, args: {}, since: now };
    const tool = { ...before, result: typeof result === "string" ? { content: result } : result, isError: !!isError, durationMs, ended: true };
    return { ...state, tools: { ...state.tools, [key(toolCallId)]: tool } };
  },
  queue_update: (state, { steering, followUp }) => ({ ...state, steering: texts(steering), followUp: texts(followUp) }),
  auto_retry_start: (state, { attempt, maxAttempts, delayMs, errorMessage }, now) => ({
    ...state,
    status: "retrying",
    retry: { attempt, maxAttempts, at: now + (delayMs || 0), reason: errorMessage || "" },
  }),
  auto_retry_end: (state, { success, finalError }) => ({
    ...state,
    retry: null,
    status: success ? "working" : "idle",
    error: success ? "" : finalError || state.error,
  }),
  compaction_start: (state) => ({ ...state, status: "compacting" }),
  compaction_end: compacted,
  auto_compaction_start: (state) => ({ ...state, status: "compacting" }),
  auto_compaction_end: compacted,
  thinking_level_changed: (state, { level }) => ({ ...state, thinking: level || "" }),
  session_info_changed: (state, { name }) => ({ ...state, name: name || "" }),
  extension_ui_request: asked,
  extension_ui_closed: (state, { id }) => ({ ...state, questions: state.questions.filter((one) => one.id !== id) }),
  tool_request(state, { requestId, toolCallId, toolName, args }) {
    const question = { id: requestId, kind: "tool", title: toolName, toolCallId, toolName, args };
    return { ...state, questions: [...state.questions.filter((one) => one.id !== requestId), question] };
  },
  tool_request_closed: (state, { requestId }) => ({ ...state, questions: state.questions.filter((one) => one.id !== requestId) }),
  extension_error: (state, { extensionPath, error }) => noticed(state, "error", `${extensionPath}: ${error}`),
  hook_error: (state, { hookPath, error }) => noticed(state, "error", `${hookPath}: ${error}`),
  session_error: (state, { error }) => noticed(state, "error", error),
};

// What comes from elsewhere may be called `__proto__`.
const key = (id) => `:${id}`;
export const toolOf = (state, id) => state.tools[key(id)];
const texts = (list) => (Array.isArray(list) ? list.map((one) => (typeof one === "string" ? one : one?.text ?? "")) : []);

/** Return the tools without those whose results have come: they are in messages now. */
function running(tools) {
  const left = Object.entries(tools).filter(([, tool]) => !tool.ended);
  return left.length === Object.keys(tools).length ? tools : Object.fromEntries(left);
}

function updated(state, { message, usage, assistantMessageEvent: told }, now) {
  const draft = state.draft || { role: "assistant", content: [], since: now, model: "" };
  const whole = message || told?.partial; // Older generations, and `--stream full`, repeat the message so far.
  if (Array.isArray(whole?.content)) {
    return { ...state, draft: { ...draft, content: whole.content, usage: usage || whole.usage || draft.usage } };
  }
  const at = told?.contentIndex;
  if (!Number.isInteger(at) || at < 0 || at > 10_000) return state;
  const content = draft.content.slice();
  while (content.length <= at) content.push(null);
  const before = content[at] || {};
  switch (told.type) {
    case "text_start": content[at] = { type: "text", text: "" }; break;
    case "text_delta": content[at] = { type: "text", text: (before.text || "") + told.delta }; break;
    case "text_end": content[at] = { type: "text", text: told.content ?? before.text ?? "" }; break;
    case "thinking_start": content[at] = { type: "thinking", thinking: "" }; break;
    case "thinking_delta": content[at] = { type: "thinking", thinking: (before.thinking || "") + told.delta }; break;
    case "thinking_end": content[at] = { type: "thinking", thinking: told.content ?? before.thinking ?? "" }; break;
    case "toolcall_start": content[at] = { type: "toolCall", id: told.id, name: told.toolName, arguments: {}, written: "" }; break;
    case "toolcall_delta": content[at] = { ...before, type: "toolCall", written: (before.written || "") + told.delta }; break;
    case "toolcall_end": content[at] = told.toolCall || before; break;
    default: return state;
  }
  return { ...state, draft: { ...draft, content, usage: usage || draft.usage } };
}

function ended(state, { message }) {
  if (!message || typeof message !== "object") return state;
  const next = { ...state, messages: [...state.messages, message], total: state.total + 1 };
  if (message.role === "assistant") {
    next.draft = null;
    if (message.model) next.model = message.model;
    next.error = message.stopReason === "error" ? message.errorMessage || "The reply failed." : "";
  }
  if (message.role === "toolResult" && state.tools[key(message.toolCallId)]) {
    const { [key(message.toolCallId)]: _, ...others } = state.tools;
    next.tools = others;
  }
  return next;
}

function compacted(state, { result, errorMessage, aborted, willRetry }) {
  const next = { ...state, status: willRetry ? "working" : "idle" };
  if (result) return { ...next, stale: state.stale + 1 };
  return errorMessage && !aborted ? noticed(next, "error", errorMessage) : next;
}

function asked(state, { type: _, ...told }) {
  switch (told.method) {
    case "notify": return noticed(state, told.notifyType || "info", told.message);
    case "setStatus": return { ...state, shown: { ...state.shown, [key(`s${told.statusKey}`)]: told.statusText ? [told.statusText] : null } };
    case "setWidget": return { ...state, shown: { ...state.shown, [key(`w${told.widgetKey}`)]: told.widgetLines || null } };
    case "set_editor_text": return { ...state, typed: { text: told.text, number: (state.typed?.number ?? 0) + 1 } };
    case "setTitle": return state;
    default: {
      const kind = told.permission ? "permission" : "question";
      return { ...state, questions: [...state.questions.filter((one) => one.id !== told.id), { kind, ...told }] };
    }
  }
}

function noticed(state, level, text) {
  const number = (state.notices[state.notices.length - 1]?.number ?? 0) + 1;
  return { ...state, notices: [...state.notices.slice(-4), { level, text: String(text ?? ""), number }] };
}

/** Return the arguments of a call that is still being written, as far as they can be read. */
export function lenient(written) {
  if (typeof written !== "string" || !written.trim()) return {};
  if (written.length > 200_000) return {};
  const open = [];
  let inside = false;
  for (let at = 0; at < written.length; at++) {
    const sign = written[at];
    if (inside) {
      if (sign === "\\") at++;
      else if (sign === '"') inside = false;
    } else if (sign === '"') inside = true;
    else if (sign === "{" || sign === "[") open.push(sign === "{" ? "}" : "]");
    else if (sign === "}" || sign === "]") open.pop();
  }
  const close = open.reverse().join("");
  const body = inside ? `${written.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "")}"` : written;
  for (const text of [body + close, body.replace(/[,:]\s*$/, "") + close, body.replace(/,?\s*"[^"]*"\s*:?\s*$/, "") + close]) {
    try {
      const value = JSON.parse(text);
      if (value && typeof value === "object") return value;
    } catch { /* The next guess. */ }
  }
  return {};
}
