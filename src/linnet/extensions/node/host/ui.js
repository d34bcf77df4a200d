// `ctx.ui`: dialogs and short texts go to whoever drives the agent; what draws in a terminal does nothing.
import { call, send } from "./channel.js";
import { theme } from "./theme.js";

let told = false;
let prompted = () => {};

/** Have this called with an event when somebody is asked something, and when nobody waits for that any more. */
export function onPrompt(handler) {
  prompted = handler;
}

/** Say once, on stderr, that something draws in a terminal, and that there is none. */
export function drawsNothing(what) {
  if (told) return;
  told = true;
  console.error(`${what} draws in a terminal; there is none here, so it does nothing.`);
}

/** Return the user interface of one instance; `abort` returns the signal of what it is used in, if there is one. */
export function ui(instance) {
  const show = (method, fields) => {
    instance.checkActive();
    send({ type: "call", id: 0, extension: instance.index, method: "show", args: { method, ...fields } });
  };
  const ask = async (method, fields, options = {}) => {
    instance.checkActive();
    if (options.signal?.aborted) return undefined;
    const event = { reason: "ui_prompt", kind: method, title: fields.title };
    try {
      const answer = call(instance.index, "ask", { method, ...fields, timeout: options.timeout }, options.signal);
      prompted("ui_prompt_start", event);
      return await answer;
    } catch (fault) {
      instance.check();
      throw fault;
    } finally {
      prompted("ui_prompt_end", event);
    }
  };
  const nothing = (what) => () => {
    instance.check();
    drawsNothing(what);
  };
  return Object.freeze({
    select: async (title, options, more) => (await ask("select", { title, options: [...options] }, more))?.value,
    confirm: async (title, message, more) => (await ask("confirm", { title, message }, more))?.confirmed ?? false,
    input: async (title, placeholder, more) => (await ask("input", { title, placeholder }, more))?.value,
    editor: async (title, prefill) => (await ask("editor", { title, prefill }))?.value,
    notify: (message, type) => show("notify", { message: String(message), notifyType: type }),
    setStatus: (key, text) => show("setStatus", { key, text: text === undefined ? null : String(text) }),
    setWidget(key, content, options = {}) {
      if (typeof content === "function") return nothing("setWidget() with a component")();
      show("setWidget", { key, lines: content?.map(String) ?? null, placement: options.placement });
    },
    setTitle: (title) => show("setTitle", { title: String(title) }),
    setEditorText: (text) => show("setEditorText", { text: String(text) }),
    pasteToEditor: (text) => show("setEditorText", { text: String(text) }),
    getEditorText: () => "",
    custom: async () => nothing("custom()")(),
    setFooter: nothing("setFooter()"),
    setHeader: nothing("setHeader()"),
    setEditorComponent: nothing("setEditorComponent()"),
    getEditorComponent: () => undefined,
    setWorkingMessage: nothing("setWorkingMessage()"),
    setWorkingVisible: nothing("setWorkingVisible()"),
    setWorkingIndicator: nothing("setWorkingIndicator()"),
    setHiddenThinkingLabel: nothing("setHiddenThinkingLabel()"),
    addAutocompleteProvider: nothing("addAutocompleteProvider()"),
    onTerminalInput: () => () => {},
    getToolsExpanded: () => false,
    setToolsExpanded: () => {},
    theme,
    getAllThemes: () => [],
    getTheme: () => undefined,
    setTheme: () => ({ success: false, error: "Theme switching not supported in RPC mode" }),
    getKeybindings: () => undefined,
    keyHint: (_binding, description) => String(description ?? ""),
  });
}
