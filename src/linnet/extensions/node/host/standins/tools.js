// pi's own tools for use inside an extension: linnet's, or, where an extension brings operations of its own, by those.
import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { homedir } from "node:os";
import { call, callNow } from "../channel.js";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateTail } from "./truncation.js";

const NOBODY = -1; // No extension in particular.
const labels = { bash: "bash", read: "read", edit: "edit", write: "write", grep: "grep", find: "find", ls: "ls" };
const told = new Map();

/** Return what linnet tells the model of its tool. */
function spec(name) {
  if (!told.has(name)) told.set(name, callNow(NOBODY, "ownTool", { name }));
  return told.get(name);
}

const ok = (words, details) => ({ content: [{ type: "text", text: words }], details });
const pathIn = (cwd, path) => resolve(cwd, String(path).replace(/^@/, "").replace(/^~(?=\/|$)/, homedir()));

/** Run a shell command on this machine: the operations that a bash tool has of itself. */
export function createLocalBashOperations() {
  return {
    exec: (command, cwd, { onData, signal, timeout, env }) =>
      new Promise((done, failed) => {
        const child = spawn("bash", ["-c", command], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
        const kill = () => {
          try {
            process.kill(-child.pid, "SIGKILL");
          } catch {
            child.kill("SIGKILL");
          }
        };
        let late = false;
        const timer = timeout ? setTimeout(() => ((late = true), kill()), timeout * 1000) : undefined;
        child.stdout.on("data", onData);
        child.stderr.on("data", onData);
        signal?.addEventListener("abort", kill, { once: true });
        child.on("error", failed);
        child.on("close", (exitCode) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", kill);
          if (signal?.aborted) failed(new Error("aborted"));
          else if (late) failed(new Error(`timeout:${timeout}`));
          else done({ exitCode });
        });
      }),
  };
}

async function bash(cwd, options, params, signal, onUpdate) {
  const given = { command: (options.commandPrefix ? `${options.commandPrefix}\n` : "") + params.command, cwd, env: { ...process.env } };
  const { command, cwd: folder, env } = options.spawnHook ? options.spawnHook(given) : given;
  const operations = options.operations ?? createLocalBashOperations();
  const chunks = [];
  const output = () => Buffer.concat(chunks).toString("utf8");
  const onData = (data) => {
    chunks.push(Buffer.from(data));
    onUpdate?.({ content: [{ type: "text", text: truncateTail(output()).content }], details: {} });
  };
  let failure = "";
  let code = null;
  try {
    ({ exitCode: code } = await operations.exec(command, folder, { onData, signal, timeout: params.timeout, env }));
  } catch (fault) {
    if (signal?.aborted || fault.message === "aborted") failure = "Command aborted";
    else if (/^timeout:/.test(fault.message)) failure = `Command timed out after ${fault.message.slice(8)} seconds`;
    else throw fault;
  }
  const cut = truncateTail(output());
  let words = cut.content || (failure ? "" : "(no output)");
  if (cut.truncated) {
    words += `\n\n[Showing the last ${cut.outputLines} of ${cut.totalLines} lines (${formatSize(DEFAULT_MAX_BYTES)} limit).]`;
  }
  if (code) failure = `Command exited with code ${code}`;
  if (failure) words = words ? `${words}\n\n${failure}` : failure;
  return { ...ok(words, cut.truncated ? { truncation: cut } : undefined), isError: Boolean(failure) };
}

async function read(cwd, { operations }, params) {
  const path = pathIn(cwd, params.path);
  await operations.access(path);
  const kind = await operations.detectImageMimeType?.(path);
  const data = await operations.readFile(path);
  if (kind) {
    const image = { type: "image", data: Buffer.from(data).toString("base64"), mimeType: kind };
    return { content: [{ type: "text", text: `Read image file [${kind}]` }, image], details: undefined };
  }
  const lines = Buffer.from(data).toString("utf8").split("\n");
  const first = Math.max(0, (params.offset ?? 1) - 1);
  if (first >= lines.length) throw new Error(`Offset ${params.offset} is beyond end of file (${lines.length} lines total)`);
  const wanted = lines.slice(first, params.limit ? first + params.limit : undefined);
  const cut = truncateHead(wanted.join("\n"));
  const end = first + (cut.truncated ? cut.outputLines : wanted.length);
  const more = end < lines.length ? `\n\n[${lines.length - end} more lines in file. Use offset=${end + 1} to continue.]` : "";
  return ok(cut.content + more, cut.truncated ? { truncation: cut } : undefined);
}

async function write(cwd, { operations }, params) {
  const path = pathIn(cwd, params.path);
  await operations.mkdir?.(dirname(path));
  await operations.writeFile(path, params.content);
  return ok(`Successfully wrote ${Buffer.byteLength(params.content)} bytes to ${params.path}`);
}

async function edit(cwd, { operations }, params) {
  const path = pathIn(cwd, params.path);
  await operations.access?.(path);
  const before = Buffer.from(await operations.readFile(path)).toString("utf8");
  const edits = params.edits ?? [{ oldText: params.oldText, newText: params.newText }];
  let after = before;
  for (const { oldText, newText } of edits) {
    const found = after.split(oldText).length - 1;
    if (found !== 1) {
      const why = found ? `Found ${found} occurrences of the text` : "Could not find the exact text";
      throw new Error(`${why} in ${params.path}. It must match exactly, and once.`);
    }
    after = after.replace(oldText, () => newText);
  }
  await operations.writeFile(path, after);
  return ok(`Successfully replaced ${edits.length} block(s) in ${params.path}.`, { diff: difference(before, after) });
}

/** Return what differs between two texts, around their first and last differing lines. */
function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const removed = old.slice(start, old.length - end).map((line, at) => `-${start + at + 1} ${line}`);
  const added = now.slice(start, now.length - end).map((line, at) => `+${start + at + 1} ${line}`);
  return [...removed, ...added].join("\n");
}

const ITSELF = { bash, read, write, edit };

function tool(name, cwd, options = {}) {
  const own = spec(name);
  const byItself = options.operations || options.spawnHook || options.commandPrefix;
  return {
    name,
    label: labels[name],
    description: own.description,
    parameters: own.parameters,
    async execute(_id, params, signal, onUpdate) {
      if (byItself && ITSELF[name]) return ITSELF[name](cwd, options, params, signal, onUpdate);
      const result = await call(NOBODY, "runTool", { name, args: params, cwd }, signal);
      if (result.isError && name !== "bash") throw new Error(result.content.map((block) => block.text ?? "").join(""));
      return result;
    },
  };
}

function definition(name, cwd, options) {
  const own = spec(name);
  return { ...tool(name, cwd, options), promptSnippet: own.promptSnippet, promptGuidelines: [] };
}

export const createBashTool = (cwd, options) => tool("bash", cwd, options);
export const createReadTool = (cwd, options) => tool("read", cwd, options);
export const createEditTool = (cwd, options) => tool("edit", cwd, options);
export const createWriteTool = (cwd, options) => tool("write", cwd, options);
export const createGrepTool = (cwd, options) => tool("grep", cwd, options);
export const createFindTool = (cwd, options) => tool("find", cwd, options);
export const createLsTool = (cwd, options) => tool("ls", cwd, options);
export const createBashToolDefinition = (cwd, options) => definition("bash", cwd, options);
export const createReadToolDefinition = (cwd, options) => definition("read", cwd, options);
export const createEditToolDefinition = (cwd, options) => definition("edit", cwd, options);
export const createWriteToolDefinition = (cwd, options) => definition("write", cwd, options);
export const createGrepToolDefinition = (cwd, options) => definition("grep", cwd, options);
export const createFindToolDefinition = (cwd, options) => definition("find", cwd, options);
export const createLsToolDefinition = (cwd, options) => definition("ls", cwd, options);
export const createCodingTools = (cwd) => ["read", "bash", "edit", "write"].map((name) => tool(name, cwd));
export const createReadOnlyTools = (cwd) => ["read", "grep", "find", "ls"].map((name) => tool(name, cwd));
