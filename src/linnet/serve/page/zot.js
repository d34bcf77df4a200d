// Lines of zot as events of pi-1, so that one fold reads both. The translation has a state of its own, since zot says
// once what pi repeats: which blocks a reply has so far, and what a tool has printed.

/** Return the state before the first line. */
export const start = () => ({ blocks: [], at: -1, calls: {}, usage: null, replied: false });

const key = (id) => `:${id}`;
const time = (text) => Date.parse(text) || 0;

/** Return the next state and the events that a line stands for. */
export function translated(state, line) {
  const step = Object.hasOwn(LINES, line?.type) ? LINES[line.type] : null;
  return step ? step(state, line) : [state, []];
}

const update = (told) => ({ type: "message_update", assistantMessageEvent: told });

/** Return the state with a block of this kind at the end, and the events that open it. */
function opened(state, kind, more = {}) {
  const last = state.blocks[state.blocks.length - 1];
  if (kind !== "toolcall" && last?.kind === kind) return [state, []];
  const at = state.blocks.length;
  return [{ ...state, blocks: [...state.blocks, { kind, ...more }] }, [update({ type: `${kind}_start`, contentIndex: at, ...more })]];
}

function said(state, kind, delta) {
  const [next, events] = opened(state, kind);
  return [next, [...events, update({ type: `${kind}_delta`, contentIndex: next.blocks.length - 1, delta })]];
}

const LINES = {
  user_message: (state, { content, time: at }) => {
    const message = { role: "user", content: parts(content), timestamp: time(at) };
    return [state, [{ type: "agent_start" }, { type: "message_start", message }, { type: "message_end", message }]];
  },
  turn_start: (state) => [{ ...state, blocks: [], usage: null, replied: false }, [{ type: "turn_start" }]],
  assistant_start: (state) => [{ ...state, blocks: [] }, [{ type: "message_start", message: { role: "assistant", content: [] } }]],
  text_delta: (state, { delta }) => said(state, "text", delta),
  thinking_delta: (state, { delta }) => said(state, "thinking", delta),
  tool_use_start: (state, { id, name }) => opened(state, "toolcall", { id, toolName: name }),
  tool_use_args: (state, { id, delta }) => {
    const at = state.blocks.findIndex((block) => block.kind === "toolcall" && block.id === id);
    return [state, at < 0 ? [] : [update({ type: "toolcall_delta", contentIndex: at, delta })]];
  },
  usage: (state, { input, output, cache_read: cacheRead, cache_write: cacheWrite, cost_usd: total }) => [
    { ...state, usage: { input, output, cacheRead, cacheWrite, cost: { total } } },
    [],
  ],
  assistant_message: (state, { content, time: at }) => {
    const message = { role: "assistant", content: parts(content), timestamp: time(at), usage: state.usage, stopReason: "stop" };
    return [{ ...state, replied: true }, [{ type: "message_end", message }]];
  },
  tool_call: (state, { id, name, args }) => [
    { ...state, calls: { ...state.calls, [key(id)]: { name, args, text: "" } } },
    [{ type: "tool_execution_start", toolCallId: id, toolName: name, args }],
  ],
  tool_progress: (state, { id, text }) => {
    const call = state.calls[key(id)] || { name: "", args: {}, text: "" };
    const next = { ...call, text: (call.text + text).slice(-50_000) };
    const partialResult = { content: [{ type: "text", text: next.text }] };
    return [
      { ...state, calls: { ...state.calls, [key(id)]: next } },
      [{ type: "tool_execution_update", toolCallId: id, toolName: call.name, args: call.args, partialResult }],
    ];
  },
  tool_result: (state, { id, is_error: isError, content }) => {
    const { [key(id)]: call, ...calls } = state.calls;
    const result = { content: parts(content) };
    const message = { role: "toolResult", toolCallId: id, toolName: call?.name || "", isError, ...result };
    return [
      { ...state, calls },
      [{ type: "tool_execution_end", toolCallId: id, toolName: call?.name, result, isError }, { type: "message_end", message }],
    ];
  },
  turn_end: (state, { stop, error }) => {
    if (stop !== "error" && stop !== "aborted") return [state, []];
    const message = { role: "assistant", content: [], usage: state.usage, stopReason: stop, errorMessage: error || "" };
    return [state, state.replied && stop === "aborted" ? [] : [{ type: "message_end", message }]];
  },
  error: (state, { message }) => [state, [{ type: "session_error", error: message }]],
  compact_done: (state, { summary }) => [
    state,
    [{ type: "message_end", message: { role: "compactionSummary", summary } }, { type: "agent_settled", aborted: false }],
  ],
  done: (state) => [{ ...state, calls: {}, blocks: [] }, [{ type: "agent_settled", aborted: false }]],
  question: (state, { type: _, request_id: id, permission, ...told }) => {
    const asked = permission && { toolCallId: permission.call_id, toolName: permission.name, args: permission.args, preview: permission.preview };
    return [state, [{ ...told, type: "extension_ui_request", id, ...(asked ? { permission: asked } : {}) }]];
  },
  question_closed: (state, { request_id: id }) => [state, [{ type: "extension_ui_closed", id }]],
  ext_notify: (state, { level, message }) => [state, [{ type: "extension_ui_request", method: "notify", notifyType: level, message }]],
  ext_display: (state, { text }) => [
    state,
    [{ type: "message_end", message: { role: "custom", customType: "display", display: true, content: [{ type: "text", text }] } }],
  ],
  session_error: (state, { message }) => [state, [{ type: "session_error", error: message }]],
};

/** Return blocks of zot as those of pi. */
function parts(content) {
  return (Array.isArray(content) ? content : []).map((block) => {
    if (block?.type === "tool_call") return { type: "toolCall", id: block.id, name: block.name, arguments: block.args };
    if (block?.type === "image") return { type: "image", mimeType: block.mime_type, data: block.data || "", bytes: block.bytes };
    return block;
  });
}
