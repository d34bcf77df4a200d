// `ctx`: what each handler, command and tool is given beside its event.
import { call, callNow } from "./channel.js";
import { modelRegistry } from "./models.js";
import { sessionManager } from "./sessions.js";
import { ui } from "./ui.js";
import { said } from "./content.js";

/** Return the context of an instance. `signal` returns what is aborted with the work that this is a part of. */
export function context(instance, signal = () => undefined) {
  const settings = instance.settings;
  const state = () => instance.now("state");
  return {
    ui: ui(instance),
    sessionManager: sessionManager(instance),
    modelRegistry: modelRegistry(instance),
    mode: settings.mode,
    hasUI: settings.hasUI,
    get cwd() {
      instance.check();
      return settings.cwd;
    },
    get model() {
      return state().model;
    },
    get thinkingLevel() {
      return state().thinkingLevel;
    },
    get scopedModels() {
      return instance.now("scopedModels");
    },
    get signal() {
      instance.check();
      return signal();
    },
    isIdle: () => state().idle,
    hasPendingMessages: () => state().pending > 0,
    isProjectTrusted: () => state().trusted,
    getContextUsage: () => instance.now("contextUsage"),
    getSystemPrompt: () => instance.now("systemPrompt"),
    getSystemPromptOptions: () => instance.now("systemPromptOptions"),
    abort: () => void instance.now("abort"),
    shutdown: () => void instance.now("shutdown"),
    compact(options = {}) {
      instance.checkActive();
      call(instance.index, "compact", { instructions: options.customInstructions ?? "" }).then(
        (result) => options.onComplete?.(result),
        (fault) => options.onError?.(fault),
      );
    },
  };
}

/** Return the context of a command, which may also lead to other sessions. `latest` returns the newest instance. */
export function commandContext(instance, signal, latest) {
  const move = async (method, args, withSession) => {
    instance.checkActive();
    const done = await call(instance.index, method, args);
    if (!done.cancelled && withSession) {
      const fresh = await latest(instance.index, done.session);
      await withSession(replaced(fresh, latest));
    }
    return { cancelled: Boolean(done.cancelled) };
  };
  return Object.assign(extend(context(instance, signal)), {
    async waitForIdle() {
      instance.checkActive();
      await call(instance.index, "waitForIdle");
    },
    newSession: (options = {}) => move("newSession", { parent: options.parentSession ?? null }, options.withSession),
    fork: (entryId, options = {}) => move("fork", { entryId, position: options.position }, options.withSession),
    switchSession: (path, options = {}) => move("switchSession", { path }, options.withSession),
    navigateTree: (targetId, options = {}) =>
      move("navigateTree", {
        targetId,
        summarize: Boolean(options.summarize),
        instructions: options.customInstructions ?? "",
        label: options.label ?? null,
      }),
    async reload() {
      instance.checkActive();
      await call(instance.index, "reload");
    },
  });
}

/** Return the context that `withSession` is given: a command's, with ways to say something in the new session. */
function replaced(instance, latest) {
  return Object.assign(extend(commandContext(instance, () => undefined, latest)), {
    async sendMessage(message, options = {}) {
      instance.checkActive();
      await call(instance.index, "sendMessage", {
        kind: message.customType,
        content: said(message.content),
        display: message.display !== false,
        details: message.details,
        trigger: Boolean(options.triggerTurn),
        deliver: options.deliverAs,
      });
    },
    async sendUserMessage(content, options = {}) {
      instance.checkActive();
      await call(instance.index, "sendUserMessage", { content: said(content), deliver: options.deliverAs });
    },
  });
}

/** Return the context of a tool, which may also call other tools. */
export function toolContext(instance, signal) {
  return Object.assign(extend(context(instance, signal)), {
    tools: [],
    executeTool: (name, args) => call(instance.index, "executeTool", { name, args: args ?? {} }, signal()),
  });
}

/** Return an object that has everything of another, getters among it, and can be added to. */
function extend(base) {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(base));
}

/** Return the context of `project_trust`: there is no session yet. */
export function trustContext(instance) {
  return {
    cwd: instance.settings.cwd,
    mode: instance.settings.mode,
    hasUI: false,
    ui: {
      select: async () => undefined,
      confirm: async () => false,
      input: async () => undefined,
      notify: (message) => console.error(String(message)),
    },
  };
}

export { callNow };
