// Providers of models that extensions bring: servers, functions that stream replies, and models that stand for others.
import { context } from "./context.js";

/** Register a provider: a server, or a function that streams replies. */
export function provider(instance, name, config = {}) {
  const given = typeof name === "object" ? name : { ...config, name };
  instance.providers.set(given.name, {
    name: given.name,
    baseUrl: given.baseUrl ?? "",
    api: given.api ?? "",
    apiKey: typeof given.apiKey === "string" ? given.apiKey : "",
    headers: given.headers ?? {},
    models: (given.models ?? []).filter((model) => (model.type ?? "chat") === "chat"),
    streams: typeof given.streamSimple === "function",
  });
  instance.streams.set(given.name, given);
  instance.offer();
}

/** Register a model that stands for one of several others, which is chosen for each request. */
export function virtualModel(instance, model) {
  instance.virtualModels.set(`${model.provider}/${model.id}`, model);
  const others = instance.providers.get(model.provider)?.models ?? [];
  const described = { ...model, reasoning: Boolean(model.thinkingLevels?.length), input: model.input ?? ["text", "image"] };
  instance.providers.set(model.provider, { name: model.provider, models: [...others, described], streams: true });
  instance.offer();
}

const states = new Map(); // What each virtual model remembers between two requests.

/** Answer a request of linnet's: report the pieces of the reply, or the model that is to be asked instead. */
export async function serve(instance, frame, signal, report) {
  const { model, context: asked, options } = frame.payload;
  const virtual = instance.virtualModels.get(`${model.provider}/${model.id}`);
  if (virtual) return routed(instance, virtual, model, asked, options, signal, report);
  const stream = instance.streams.get(frame.provider).streamSimple(model, asked, { ...options, signal });
  const open = new Map(); // Calls whose arguments came in no pieces so far, by their index.
  for await (const event of stream) piece(event, open, report);
}

async function routed(instance, virtual, model, asked, options, signal, report) {
  const key = `${model.provider}/${model.id}`;
  const { state, previous } = states.get(key) ?? {};
  const request = { reason: state ? "turn" : "prompt", state, previous, thinkingLevel: options.reasoning, ...asked, signal };
  const route = await virtual.route(request, context(instance, () => signal));
  states.set(key, { state: route.state, previous: { model: route.model } });
  report({ route: { provider: route.model.provider, id: route.model.id, thinkingLevel: route.thinkingLevel } });
}

/** Report one event of a reply. */
function piece(event, open, report) {
  const block = event.partial?.content?.[event.contentIndex];
  switch (event.type) {
    case "text_delta":
      return report({ type: "text", text: event.delta });
    case "thinking_delta":
      return report({ type: "thinking", text: event.delta });
    case "thinking_end":
      return block?.thinkingSignature && report({ type: "signed", signature: block.thinkingSignature });
    case "toolcall_start":
      open.set(event.contentIndex, { id: event.id ?? block?.id, grown: false });
      return report({ type: "call", id: event.id ?? block?.id, name: event.toolName ?? block?.name });
    case "toolcall_delta":
      if (!event.delta) return undefined;
      open.get(event.contentIndex).grown = true;
      return report({ type: "arguments", id: open.get(event.contentIndex).id, text: event.delta });
    case "toolcall_end": {
      const call = open.get(event.contentIndex);
      const text = JSON.stringify(event.toolCall?.arguments ?? {});
      return call && !call.grown && report({ type: "arguments", id: call.id, text });
    }
    case "done":
      return report({ type: "done", reason: event.reason ?? event.message?.stopReason, usage: event.message?.usage });
    case "error":
      return report({ type: "error", error: event.error?.errorMessage ?? String(event.error) });
    default:
      return undefined;
  }
}
