// The host of pi's extensions: imports them, gives each its API, and passes on what linnet asks and tells.
import { dirname, resolve } from "node:path";
import { api } from "./api.js";
import { callNow, open, send } from "./channel.js";
import { commandContext, context, toolContext, trustContext } from "./context.js";
import { toolResult } from "./content.js";
import { decide, words } from "./handlers.js";
import { Instance } from "./instance.js";
import { factoryOf } from "./modules.js";
import { serve } from "./providers.js";
import { onPrompt } from "./ui.js";
import { validated } from "./validation.js";

const SETTLING = 5000; // Milliseconds that a question waits for handlers of earlier events.
const GUARDS = new Set(["tool_call", "user_bash"]);
const SHARED = new Set(["message_end", "before_provider_headers", "agent_before_settle"]); // Decided by all together.
const NOT_AT_TURN_END = "linnet adds nothing and goes on with nothing at turn_end; agent_before_settle can do both";
const settings = {};
const sources = []; // { path, factory } of each extension.
const instances = [];
const running = new Map(); // What linnet waits for: an AbortController by id.
let run = new AbortController(); // Aborted with the run that goes on.
let inRun = false;
let queue = Promise.resolve();

for (const name of ["log", "info", "debug"]) console[name] = console.error; // stdout is nobody's here.
process.on("uncaughtException", (fault) => report(-1, "uncaught", fault));
process.on("unhandledRejection", (fault) => report(-1, "uncaught", fault));

// At once, and beside all else: the handler that asks somebody may be one that others wait for.
onPrompt((type, payload) => void tell(type, payload));
open((frame) => {
  if (frame === null) process.exit(0);
  FRAMES[frame.type]?.(frame);
});

const FRAMES = {
  start,
  tell: (frame) => void enqueue(() => tell(frame.event, frame.payload)),
  begin: (frame) =>
    void enqueue(async () => {
      await tell("session_start", frame.start);
      await discover(frame.start.reason === "reload" ? "reload" : "startup");
    }),
  await: (frame) =>
    answer(frame, () => enqueue(() => (SHARED.has(frame.event) ? share : tell)(frame.event, frame.payload))),
  enter: (frame) => void enqueue(() => enter(frame)),
  ask: (frame) => answer(frame, () => ask(frame)),
  tool: (frame) => answer(frame, () => runTool(frame)),
  command: (frame) => answer(frame, () => runCommand(frame)),
  stream: (frame) => answer(frame, () => stream(frame)),
  cancel: (frame) => running.get(frame.id)?.abort(),
  abort: () => run.abort(),
  end: (frame) => void enqueue(() => end(frame)),
};

/** Import and begin all extensions, in their order, and tell what each offers. */
async function start(frame) {
  Object.assign(settings, frame.settings);
  process.argv.splice(1, process.argv.length, settings.launcher);
  process.env.LINNET_PI_COMMAND = JSON.stringify(settings.pi);
  for (const [index, path] of frame.paths.entries()) {
    try {
      sources[index] = { path, factory: await factoryOf(path) };
      if (!sources[index].factory) throw new Invalid(`Extension does not export a valid factory function: ${path}`);
      instances[index] = await begun(index);
      send(instances[index].offers());
    } catch (fault) {
      const why = fault instanceof Invalid ? fault.message : `Failed to load extension: ${words(fault)}`;
      send({ type: "failed", extension: index, error: why });
    }
  }
  send({ type: "ready" });
}

class Invalid extends Error {}

/** Return a new instance of an extension, once its factory has registered everything. */
async function begun(index) {
  const { path, factory } = sources[index];
  const instance = new Instance(index, path, settings);
  await factory(api(instance));
  instance.loading = false;
  return instance;
}

/** Do this after all that was to be done before. */
function enqueue(work) {
  queue = queue.then(work).catch((fault) => report(-1, "host", fault));
  return queue;
}

/** Wait for the handlers of what was told before; not for ever, since one of them may wait for this. */
function settled() {
  return Promise.race([queue, new Promise((resolve) => setTimeout(resolve, SETTLING).unref())]);
}

function signal() {
  return inRun ? run.signal : undefined;
}

/** Tell all instances of an event, one after the other. Each handler has its time. */
async function tell(type, payload) {
  if (type === "agent_start") [run, inRun] = [new AbortController(), true];
  const event = { type, ...payload };
  for (const instance of instances.filter(Boolean)) {
    for (const handler of [...(instance.handlers.get(type) ?? [])]) {
      try {
        const made = await inTime(handler(event, context(instance, signal)));
        if (type === "turn_end" && (made?.entries?.length || made?.continue)) throw new Error(NOT_AT_TURN_END);
      } catch (fault) {
        report(instance.index, type, fault);
      }
    }
  }
  if (type === "agent_end") inRun = false;
}

/** Ask all instances about an event, and return what their handlers make of it. Each gets what those before it made. */
async function share(type, payload) {
  const event = { type, ...payload };
  const made = {};
  for (const instance of instances.filter((each) => each?.handlers.has(type))) {
    const failed = (fault) => report(instance.index, type, fault);
    Object.assign(made, await decide(instance, event, context(instance, signal), { guard: false, failed, wait: inTime }));
  }
  return made;
}

/** Wait for a handler as long as it may take; then the others go on, and it goes on beside them. */
async function inTime(done) {
  if (typeof done?.then !== "function") return done;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${settings.patience} s`)), settings.patience * 1000);
  });
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/** Go on in another session: the old instances hear of it and become stale, and each factory is called again. */
async function enter(frame) {
  await tell("session_shutdown", frame.shutdown);
  for (const [index, old] of instances.entries()) {
    if (!old) continue;
    old.stale = true;
    try {
      instances[index] = await begun(index);
    } catch (fault) {
      instances[index] = undefined;
      report(index, "load", fault);
      continue;
    }
    send(instances[index].offers());
  }
  await tell("session_start", frame.start);
  await discover("startup");
}

/** Ask all extensions for skills and templates of theirs, and tell linnet where those are. */
async function discover(reason) {
  const found = { skillPaths: [], promptPaths: [] };
  for (const instance of instances.filter((each) => each?.handlers.has("resources_discover"))) {
    const event = { type: "resources_discover", cwd: settings.cwd, reason };
    const failed = (fault) => report(instance.index, event.type, fault);
    const told = await decide(instance, event, context(instance, signal), { guard: false, failed });
    for (const name of Object.keys(found)) {
      found[name].push(...told[name].map((path) => resolve(dirname(instance.path), path)));
    }
  }
  if (found.skillPaths.length || found.promptPaths.length) callNow(-1, "resources", found);
}

async function end(frame) {
  await tell("session_shutdown", frame.payload);
  send({ type: "ended" });
  process.exit(0);
}

/** Answer a question of linnet's with what the work returns, or with the words of what it throws. */
async function answer(frame, work) {
  running.set(frame.id, new AbortController());
  try {
    await settled();
    send({ type: "answer", id: frame.id, value: (await work()) ?? null });
  } catch (fault) {
    send({ type: "answer", id: frame.id, error: words(fault), thrown: !(fault instanceof Error) });
  } finally {
    running.delete(frame.id);
  }
}

/** Return the instance that is asked, as it is now. */
function alive(index) {
  const instance = instances[index];
  if (!instance) throw new Error("the extension could not be loaded again for this session");
  return instance;
}

async function ask(frame) {
  const instance = alive(frame.extension);
  const abort = running.get(frame.id).signal;
  const event = { type: frame.event, ...frame.payload };
  if (frame.event === "session_before_compact") event.signal = abort;
  const ctx = frame.event === "project_trust" ? trustContext(instance) : context(instance, () => abort);
  const failed = (fault) => report(instance.index, frame.event, fault);
  return decide(instance, event, ctx, { guard: GUARDS.has(frame.event), failed });
}

async function runTool(frame) {
  const instance = alive(frame.extension);
  const tool = instance.tools.get(frame.name);
  if (!tool) throw new Error(`the extension has no tool "${frame.name}" any more`);
  const abort = running.get(frame.id).signal;
  const prepared = tool.prepareArguments ? tool.prepareArguments(frame.args) : frame.args;
  const args = validated(frame.name, tool.parameters, prepared);
  const update = (partial) => {
    if (!abort.aborted && partial) send({ type: "progress", id: frame.id, value: partial });
  };
  return toolResult(await tool.execute(frame.callId, args, abort, update, toolContext(instance, () => abort)));
}

/** Have an extension's own provider answer a request. */
function stream(frame) {
  const report = (value) => send({ type: "progress", id: frame.id, value });
  return serve(alive(frame.extension), frame, running.get(frame.id).signal, report);
}

async function runCommand(frame) {
  const instance = alive(frame.extension);
  const command = instance.commands.get(frame.name);
  if (!command) throw new Error(`the extension has no command "/${frame.name}" any more`);
  await command.handler(frame.args, commandContext(instance, signal, latest));
}

/** Return the instance of the session that was entered last, once that is told of it. */
async function latest(index) {
  await queue;
  return alive(index);
}

function report(extension, event, fault) {
  if (fault instanceof Error) console.error(fault.stack);
  send({ type: "report", extension, event, error: words(fault) });
}
