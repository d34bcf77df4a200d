// In place of pi-coding-agent: what extensions import from pi itself.
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { realpathSync } from "node:fs";

export { convertToLlm, serializeConversation } from "./messages.js";
export { parseFrontmatter, stripFrontmatter } from "./frontmatter.js";
export * from "./truncation.js";
export * from "./tools.js";
import { CancellableLoader, Container, Editor } from "./tui.js";

export const VERSION = process.env.LINNET_PI_STANDS_FOR ?? "1.5.0";
export const CONFIG_DIR_NAME = ".pi";
export const APP_NAME = "pi";

/** Return the folder in which pi keeps what is the user's own. */
export function getAgentDir() {
  const given = process.env.PI_CODING_AGENT_DIR;
  if (!given) return join(homedir(), CONFIG_DIR_NAME, "agent");
  return given === "~" || given.startsWith("~/") ? join(homedir(), given.slice(1)) : given;
}

export const defineTool = (tool) => tool;

const queues = new Map();

/** Call a function when all before it for the same file are over, and return what it returns. */
export async function withFileMutationQueue(path, work) {
  let key = resolve(path);
  try {
    key = realpathSync(key);
  } catch {
    // A file that is yet to be made.
  }
  const before = queues.get(key) ?? Promise.resolve();
  const done = before.then(work);
  const quiet = done.catch(() => {});
  queues.set(key, quiet);
  try {
    return await done;
  } finally {
    if (queues.get(key) === quiet) queues.delete(key);
  }
}

export const isToolCallEventType = (name, event) => event.toolName === name;
const returned = (name) => (event) => event.toolName === name;
export const isBashToolResult = returned("bash");
export const isPowerShellToolResult = returned("powershell");
export const isReadToolResult = returned("read");
export const isEditToolResult = returned("edit");
export const isWriteToolResult = returned("write");
export const isGrepToolResult = returned("grep");
export const isFindToolResult = returned("find");
export const isLsToolResult = returned("ls");

/** Return the lines that a call of read asks for, in words. */
export function formatReadLineRange(args) {
  if (!args?.offset && !args?.limit) return "";
  const first = args.offset ?? 1;
  return args.limit ? `:${first}-${first + args.limit - 1}` : `:${first}`;
}

const plain = (words) => String(words);
const plainTheme = new Proxy({}, { get: () => plain });
export const getMarkdownTheme = () => plainTheme;
export const getSettingsListTheme = () => plainTheme;
export const getSelectListTheme = () => plainTheme;
export const highlightCode = (code) => String(code).split("\n");
export const getLanguageFromPath = () => undefined;
export const keyHint = (_key, description) => String(description ?? "");
export const rawKeyHint = keyHint;

export class CustomEditor extends Editor {}
export class DynamicBorder extends Container {}
export class BorderedLoader extends CancellableLoader {}
export class ModelSelectorComponent extends Container {}
export class UserMessageComponent extends Container {}
export class AssistantMessageComponent extends Container {}
export class ToolExecutionComponent extends Container {}
