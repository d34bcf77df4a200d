// `ctx.modelRegistry`: the models that linnet knows, and a question to one of them.
import { call } from "./channel.js";

const NOT_CHAT = "linnet asks models that chat; it knows no others.";

/** Return what an instance may ask about models. */
export function modelRegistry(instance) {
  const all = () => instance.now("models", { available: false });
  const available = () => instance.now("models", { available: true });
  const complete = async (model, context, options = {}) => {
    instance.checkActive();
    const { signal, ...rest } = options;
    const asked = { provider: model.provider, id: model.id };
    const { systemPrompt, messages } = context;
    return call(instance.index, "complete", { ...asked, systemPrompt, messages, options: rest }, signal);
  };
  const usable = (model) => instance.now("usable", { provider: typeof model === "string" ? model : model.provider });
  return Object.freeze({
    find: (provider, id) => instance.now("model", { provider, id }),
    findOfType: (type, provider, id) => (type === "chat" ? instance.now("model", { provider, id }) : undefined),
    getAll: all,
    getAvailable: available,
    getError: () => undefined,
    complete,
    completeSimple: complete,
    hasConfiguredAuth: usable,
    isUsingOAuth: () => false,
    getApiKey: async () => undefined, // Keys are linnet's alone.
    getApiKeyForProvider: async () => undefined,
    getApiKeyAndHeaders: async (model) =>
      usable(model)
        ? { ok: false, error: "linnet keeps its keys to itself; ask a model with ctx.modelRegistry.complete()." }
        : { ok: false, error: `Provider is not configured: ${model.provider}` },
    getProviderDisplayName: (name) => name,
    refresh: async () => {},
    classify: async () => {
      throw new Error(NOT_CHAT);
    },
    generateImages: async () => {
      throw new Error(NOT_CHAT);
    },
  });
}
