// `pi`: what the factory of an extension is given.
import { call } from "./channel.js";
import { exec } from "./exec.js";
import { bus } from "./instance.js";
import { said } from "./content.js";
import { provider, virtualModel } from "./providers.js";

/** Return the API of one instance. */
export function api(instance) {
  const drawing = () => instance.check(); // What draws in a terminal is accepted: there is none.
  return Object.freeze({
    on: (name, handler) => instance.on(name, handler),
    registerTool(tool) {
      instance.check();
      if (!tool?.name || typeof tool.execute !== "function") throw new TypeError("a tool needs a name and execute()");
      instance.tools.set(tool.name, tool);
      instance.offer();
    },
    registerCommand(name, options) {
      instance.check();
      instance.commands.set(name, options);
      instance.offer();
    },
    registerFlag(name, options = {}) {
      instance.check();
      const { description = "", type = "boolean" } = options;
      instance.flags.set(name, { name, description, type, default: options.default });
      instance.offer();
    },
    getFlag(name) {
      instance.check();
      const flag = instance.flags.get(name);
      if (!flag) return undefined;
      const given = instance.loading ? undefined : instance.settings.flags?.[name];
      return given ?? flag.default;
    },
    registerShortcut: drawing,
    registerMessageRenderer: drawing,
    registerEntryRenderer: drawing,
    registerToolRenderer: drawing,
    registerMarkdownTransformer: drawing,
    async exec(command, args, options = {}) {
      instance.check();
      return exec(command, args, { cwd: instance.settings.cwd, ...options });
    },
    sendMessage(message, options = {}) {
      instance.now("sendMessage", {
        kind: message.customType,
        content: said(message.content),
        display: message.display !== false,
        details: message.details,
        trigger: Boolean(options.triggerTurn),
        deliver: options.deliverAs,
      });
    },
    sendUserMessage(content, options = {}) {
      instance.now("sendUserMessage", {
        content: said(content),
        deliver: options.deliverAs,
        expand: Boolean(options.expandPromptTemplates),
      });
    },
    appendEntry: (customType, data) => void instance.now("appendEntry", { customType, data }),
    setSessionName: (name) => void instance.now("setSessionName", { name: String(name) }),
    getSessionName: () => instance.now("state").sessionName || undefined,
    setLabel: (entryId, label) => void instance.now("setLabel", { entryId, label: label ?? null }),
    getActiveTools: () => instance.now("tools").filter((tool) => tool.active).map((tool) => tool.name),
    getAllTools: () => instance.now("tools").map(({ active, ...tool }) => tool),
    setActiveTools: (names) => void instance.now("setActiveTools", { names: [...names].map(String) }),
    getCommands: () => instance.now("commands"),
    getSettings: () => instance.now("settings"),
    async setModel(model) {
      instance.checkActive();
      return call(instance.index, "setModel", { provider: model.provider, id: model.id });
    },
    getThinkingLevel: () => instance.now("state").thinkingLevel,
    setThinkingLevel: (level) => void instance.now("setThinkingLevel", { level }),
    registerProvider(name, config) {
      instance.check();
      provider(instance, name, config);
    },
    unregisterProvider(name) {
      instance.check();
      instance.providers.delete(name);
      instance.offer();
    },
    registerVirtualModel(model) {
      instance.check();
      virtualModel(instance, model);
    },
    registerMcpServer() {
      instance.check();
      throw new Error("linnet takes MCP servers from its settings (mcp.json), not from extensions.");
    },
    getMcpServers: () => [],
    events: bus,
  });
}
