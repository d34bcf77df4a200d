// Drives an agent with the RpcClient that pi publishes today, one check for each thing that the client promises, and
// prints as one line of JSON what came of each: null, or why it failed. The agent is linnet-pi, or the real pi, which
// shows that the checks are right.
// Its argument is JSON: the file the client is in, the options it is made with, the model server's address, the version.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

const { client: file, options, server, version } = JSON.parse(process.argv[2]);
const { RpcClient } = await import(file);
const saysDisposition = version !== "0.87";

const called = new Set();
const methods = Object.getOwnPropertyNames(RpcClient.prototype).filter((name) => name !== "constructor");
for (const name of methods) {
  const method = RpcClient.prototype[name];
  RpcClient.prototype[name] = function (...args) {
    called.add(name);
    return method.apply(this, args);
  };
}

const client = new RpcClient(options);
process.on("unhandledRejection", () => {}); // A check that failed leaves promises behind; it has told why.

/** The next event of this type that `fits`. Ask for it before doing what brings it about. */
function next(type, fits = () => true) {
  return new Promise((resolve) => {
    const unsubscribe = client.onEvent((event) => {
      if (event.type === type && fits(event)) {
        unsubscribe();
        resolve(event);
      }
    });
  });
}

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error.message;
  }
  return null;
}

/** Everything that happens while `body` runs. */
async function heard(body) {
  const events = [];
  const unsubscribe = client.onEvent((event) => events.push(event));
  await body();
  unsubscribe();
  return events;
}

const release = (gate) => fetch(`${server}/_release/${gate}`);
const types = (events) => events.map((event) => event.type);
const text = (message) => message.content.map((block) => block.text ?? `[${block.type}]`).join("");
const said = (events, role) =>
  events.filter((event) => event.type === "message_end" && event.message.role === role).map((event) => text(event.message));
const count = (events, type) => types(events).filter((each) => each === type).length;
const disposed = (answer, wanted) => assert.equal(answer, saysDisposition ? wanted : undefined);

async function speaking(prompt) {
  const begun = next("message_update");
  disposed(await client.prompt(prompt), "started");
  await begun;
}

const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const remembered = {};

const checks = {
  async "getState: a new agent is idle, with the model that was asked for"() {
    const state = await client.getState();
    assert.equal(state.model.provider, options.provider);
    assert.equal(state.model.id, options.model);
    assert.deepEqual(
      [state.isStreaming, state.isCompacting, state.messageCount, state.pendingMessageCount],
      [false, false, 0, 0],
    );
    assert.deepEqual([state.steeringMode, state.followUpMode], ["one-at-a-time", "one-at-a-time"]);
    assert.equal(state.autoCompactionEnabled, true);
    assert.ok(isAbsolute(state.sessionFile));
    assert.ok(state.sessionId.length > 8);
  },

  async "getLastAssistantText: nothing was said yet"() {
    assert.equal((await client.getLastAssistantText()) ?? null, null); // pi's document says null; pi leaves it out.
  },

  async "promptAndWait: a run from agent_start to agent_settled"() {
    const events = await client.promptAndWait("hello");
    const order = types(events).filter((type) => type !== "message_update");
    assert.deepEqual(order, [
      "agent_start",
      "turn_start",
      ...["message_start", "message_end"], // The system message.
      ...["message_start", "message_end"],
      ...["message_start", "message_end"],
      "turn_end",
      "agent_end",
      "agent_settled",
    ]);
    const roles = events.filter((event) => event.type === "message_end").map((event) => event.message.role);
    assert.deepEqual(roles, ["system", "user", "assistant"]);
    assert.equal(events.at(-2).willRetry, false);
    if (saysDisposition) assert.equal(events.at(-1).aborted, false);
  },

  async "message_update: deltas alone make the message, and each carries usage"() {
    const events = await client.promptAndWait("!think");
    const updates = events.filter((event) => event.type === "message_update");
    const blocks = [];
    for (const { usage, message, assistantMessageEvent: update } of updates) {
      assert.equal(message, undefined);
      assert.equal(update.partial, undefined);
      assert.ok(Number.isInteger(usage.output));
      if (update.type.endsWith("_start")) blocks[update.contentIndex] = "";
      else if (update.type.endsWith("_delta")) blocks[update.contentIndex] += update.delta;
      else assert.equal(update.content, blocks[update.contentIndex]);
    }
    const { message } = events.findLast((event) => event.type === "message_end");
    assert.deepEqual(
      message.content.map((block) => block.thinking ?? block.text),
      blocks,
    );
    assert.deepEqual(
      message.content.map((block) => block.type),
      ["thinking", "text"],
    );
    const begun = events.filter((event) => event.type === "message_start").at(-1).message;
    assert.equal(begun.stopReason, "pending");
    assert.equal(message.stopReason, "stop");
  },

  async "onEvent: stops telling once it was unsubscribed"() {
    const kept = [];
    const left = [];
    const stop = client.onEvent((event) => kept.push(event.type));
    client.onEvent((event) => left.push(event.type))();
    await client.promptAndWait("hello again");
    stop();
    assert.ok(kept.includes("agent_settled"));
    assert.deepEqual(left, []);
  },

  async "getMessages: what agent_end told, run after run"() {
    const messages = await client.getMessages();
    assert.equal(messages[0].role, "system");
    assert.deepEqual(
      messages.slice(1).map((message) => message.role),
      ["user", "assistant", "user", "assistant", "user", "assistant"],
    );
    const events = await client.promptAndWait("and what is new");
    const now = await client.getMessages();
    assert.deepEqual(now.slice(messages.length), events.at(-2).messages);
  },

  async "getLastAssistantText: the text of the last reply"() {
    assert.equal(await client.getLastAssistantText(), "Hello from the scripted model.");
  },

  async "getSessionStats: counts, tokens and the use of the context"() {
    const stats = await client.getSessionStats();
    assert.deepEqual([stats.userMessages, stats.assistantMessages], [4, 4]);
    assert.equal(stats.totalMessages, (await client.getMessages()).length);
    const { input, output, cacheRead, cacheWrite, total } = stats.tokens;
    assert.ok(input > 0 && output > 0);
    assert.equal(input + output + cacheRead + cacheWrite, total);
    assert.ok(stats.contextUsage.contextWindow > 0 && stats.contextUsage.tokens > 0);
    assert.ok(stats.contextUsage.percent > 0);
    assert.equal(stats.sessionFile, (await client.getState()).sessionFile);
  },

  async "prompt: a picture goes with it"() {
    const image = { type: "image", data: PICTURE, mimeType: "image/png" };
    const events = await client.promptAndWait("look", [image]);
    assert.deepEqual(said(events, "user"), ["look[image]"]);
    const [, { data, mimeType }] = events.find((event) => event.message?.role === "user").message.content;
    assert.deepEqual([typeof data, mimeType], ["string", "image/png"]);
  },

  async "promptAndWait: a tool is run and its result told"() {
    const events = await client.promptAndWait('!tool bash {"command":"echo from a tool"}');
    const begun = events.find((event) => event.type === "tool_execution_start");
    const ended = events.find((event) => event.type === "tool_execution_end");
    assert.deepEqual([begun.toolName, begun.args], ["bash", { command: "echo from a tool" }]);
    assert.deepEqual([ended.toolCallId, ended.isError], [begun.toolCallId, false]);
    assert.equal(ended.result.content[0].text, "from a tool\n");
    if (saysDisposition) assert.ok(Number.isFinite(ended.durationMs));
    const start = events.map((event) => event.assistantMessageEvent).find((update) => update?.type === "toolcall_start");
    assert.deepEqual([start.id, start.toolName], [begun.toolCallId, "bash"]);
    assert.equal(events.find((event) => event.type === "turn_end").toolResults.length, 1);
  },

  async "promptAndWait: the calls of one message, results in their order"() {
    const calls = ["sleep 0.3; echo slow", "echo quick"].map((command) => ["bash", { command }]);
    const events = await client.promptAndWait(`!tools ${JSON.stringify(calls)}`);
    const begun = events.filter((event) => event.type === "tool_execution_start").map((event) => event.toolCallId);
    const ended = events.filter((event) => event.type === "tool_execution_end").map((event) => event.toolCallId);
    const results = events.find((event) => event.type === "turn_end").toolResults.map((result) => result.toolCallId);
    assert.equal(begun.length, 2);
    assert.deepEqual(ended, begun.toReversed());
    assert.deepEqual(results, begun);
  },

  async "collectEvents and waitForIdle: both end with agent_settled"() {
    // One after the other: a listener of 0.87's that ends itself makes the next one miss the event.
    const events = client.collectEvents();
    await client.prompt("hello once more");
    assert.equal(types(await events).at(-1), "agent_settled");
    const idle = client.waitForIdle();
    await client.prompt("and again");
    await idle;
    assert.equal((await client.getState()).isStreaming, false);
  },

  async "waitForIdle: gives up after its time"() {
    assert.match(await refusal(client.waitForIdle(5)), /Timeout/);
  },

  async "prompt: refused while a run goes on, unless it says how to wait"() {
    await speaking("!gate busy");
    const trouble = await refusal(client.prompt("me too"));
    if (saysDisposition) assert.match(trouble, /^Agent is already processing\./); // 0.87's does not look at the answer.
    const idle = client.waitForIdle();
    await release("busy");
    await idle;
  },

  async "steer and followUp: told apart, delivered in one run"() {
    const events = client.collectEvents();
    await speaking("!gate queues");
    disposed(await client.followUp("and then"), "queued");
    disposed(await client.steer("left"), "queued");
    const { isStreaming, pendingMessageCount } = await client.getState();
    assert.deepEqual([isStreaming, pendingMessageCount], [true, 2]);
    await release("queues");
    const all = await events;
    assert.deepEqual(said(all, "user"), ["!gate queues", "left", "and then"]);
    assert.deepEqual([count(all, "agent_end"), count(all, "agent_settled")], [1, 1]);
    const queues = all.filter((event) => event.type === "queue_update");
    assert.deepEqual(
      queues.map(({ steering, followUp }) => [steering, followUp]),
      [
        [[], ["and then"]],
        [["left"], ["and then"]],
        [[], ["and then"]],
        [[], []],
      ],
    );
  },

  async "prompt: streamingBehavior puts it in a queue"() {
    if (!saysDisposition) return; // The client has no such argument.
    const events = client.collectEvents();
    await speaking("!gate behaviour");
    assert.equal(await client.prompt("later", undefined, "followUp"), "queued");
    assert.equal(await client.prompt("now", undefined, "steer"), "queued");
    await release("behaviour");
    assert.deepEqual(said(await events, "user"), ["!gate behaviour", "now", "later"]);
  },

  async "setSteeringMode and setFollowUpMode: all at once"() {
    await client.setSteeringMode("all");
    await client.setFollowUpMode("all");
    const { steeringMode, followUpMode } = await client.getState();
    assert.deepEqual([steeringMode, followUpMode], ["all", "all"]);
    const events = client.collectEvents();
    await speaking("!gate modes");
    for (const word of ["one", "two"]) await client.steer(word);
    for (const word of ["three", "four"]) await client.followUp(word);
    await release("modes");
    const all = await events;
    assert.deepEqual(said(all, "user"), ["!gate modes", "one", "two", "three", "four"]);
    assert.equal(count(all, "turn_start"), 3);
    await client.setSteeringMode("one-at-a-time");
    await client.setFollowUpMode("one-at-a-time");
  },

  async "clearQueue: gives back the texts, and they are not delivered"() {
    const events = client.collectEvents();
    await speaking("!gate cleared");
    await client.steer("never mind");
    await client.followUp("nor this");
    assert.deepEqual(await client.clearQueue(), { steering: ["never mind"], followUp: ["nor this"] });
    assert.deepEqual(await client.clearQueue(), { steering: [], followUp: [] });
    assert.equal((await client.getState()).pendingMessageCount, 0);
    await release("cleared");
    assert.deepEqual(said(await events, "user"), ["!gate cleared"]);
  },

  async "abort: answered after agent_settled, with what was said kept"() {
    const events = await heard(async () => {
      await speaking("!gate never");
      await client.abort();
      assert.equal((await client.getState()).isStreaming, false);
    });
    assert.equal(types(events).at(-1), "agent_settled");
    if (saysDisposition) assert.equal(events.at(-1).aborted, true);
    const last = (await client.getMessages()).at(-1);
    assert.equal(last.stopReason, "aborted");
    assert.notEqual(text(last), "");
  },

  async "abort: nothing to stop is no failure, and no event"() {
    assert.deepEqual(types(await heard(() => client.abort())), []);
  },

  async "abort: the queue stays, and goes with the next prompt"() {
    await speaking("!gate never");
    await client.followUp("still here");
    await client.abort();
    assert.equal((await client.getState()).pendingMessageCount, 1);
    const events = await client.promptAndWait("carry on");
    assert.deepEqual(said(events, "user").toSorted(), ["carry on", "still here"]);
    assert.equal((await client.getState()).pendingMessageCount, 0);
  },

  async "getAvailableModels and setModel: by their own ids"() {
    const models = await client.getAvailableModels();
    assert.ok(models.length > 1);
    for (const model of models) {
      assert.deepEqual(
        [model.provider, model.id, model.contextWindow, model.reasoning].map((value) => typeof value),
        ["string", "string", "number", "boolean"],
      );
    }
    const other = models.find((model) => model.id !== options.model && model.provider === options.provider);
    const chosen = await client.setModel(other.provider, other.id);
    assert.deepEqual([chosen.provider, chosen.id], [other.provider, other.id]);
    assert.equal((await client.getState()).model.id, other.id);
    assert.equal(await refusal(client.setModel(options.provider, "nope")), `Model not found: ${options.provider}/nope`);
    await client.setModel(options.provider, options.model);
  },

  async "cycleModel: the next one"() {
    const cycled = await client.cycleModel();
    const { model } = await client.getState();
    assert.deepEqual([cycled.model.provider, cycled.model.id], [model.provider, model.id]);
    assert.notEqual(model.id, options.model);
    assert.equal(cycled.isScoped, false);
    assert.ok(LEVELS.includes(cycled.thinkingLevel));
    await client.setModel(options.provider, options.model);
  },

  async "getAvailableThinkingLevels: those of the model, in order"() {
    remembered.levels = await client.getAvailableThinkingLevels();
    assert.ok(remembered.levels.includes("high"));
    assert.deepEqual(
      remembered.levels,
      LEVELS.filter((level) => remembered.levels.includes(level)),
    );
  },

  async "setThinkingLevel: told by an event if it changed"() {
    await client.setThinkingLevel("low");
    const events = await heard(async () => {
      await client.setThinkingLevel("high");
      await client.setThinkingLevel("high");
      assert.equal((await client.getState()).thinkingLevel, "high");
    });
    assert.deepEqual(
      events.map(({ type, level }) => [type, level]),
      [["thinking_level_changed", "high"]],
    );
  },

  async "cycleThinkingLevel: the one after it"() {
    await client.setThinkingLevel("low");
    const { level } = await client.cycleThinkingLevel();
    assert.equal(level, remembered.levels[remembered.levels.indexOf("low") + 1]);
    assert.equal((await client.getState()).thinkingLevel, level);
    await client.setThinkingLevel("off");
  },

  async "setAutoCompaction: told by getState"() {
    await client.setAutoCompaction(false);
    assert.equal((await client.getState()).autoCompactionEnabled, false);
    await client.setAutoCompaction(true);
    assert.equal((await client.getState()).autoCompactionEnabled, true);
  },

  async "compact: a summary with its figures, between two events"() {
    let result;
    const events = await heard(async () => {
      result = await client.compact("Keep the file names");
    });
    assert.match(result.summary, /^SUMMARY: scripted/);
    assert.ok(result.tokensBefore > 0 && result.estimatedTokensAfter > 0);
    assert.ok(result.firstKeptEntryId);
    const [begun, ended] = events.filter((event) => event.type.startsWith("compaction_"));
    assert.deepEqual([begun.type, begun.reason], ["compaction_start", "manual"]);
    assert.deepEqual([ended.type, ended.reason, ended.aborted, ended.willRetry], ["compaction_end", "manual", false, false]);
    assert.deepEqual(ended.result, result);
    assert.ok((await client.getMessages()).some((message) => message.role === "compactionSummary"));
    const { contextUsage } = await client.getSessionStats();
    assert.deepEqual([contextUsage.tokens, contextUsage.percent], [null, null]);
    assert.equal(await refusal(client.compact()), "Already compacted");
  },

  async "setAutoRetry: off, a failure is the end"() {
    await client.setAutoRetry(false);
    const events = await client.promptAndWait("!fail 503 1");
    assert.equal(count(events, "auto_retry_start"), 0);
    const { messages, willRetry } = events.findLast((event) => event.type === "agent_end");
    assert.deepEqual([messages.at(-1).stopReason, willRetry], ["error", false]);
    await client.setAutoRetry(true);
  },

  async "abortRetry: the wait is over, then agent_settled"() {
    const events = client.collectEvents();
    const waiting = next("auto_retry_start");
    await client.prompt("!fail 529 9");
    const { attempt, delayMs, maxAttempts, errorMessage } = await waiting;
    assert.deepEqual([attempt, typeof delayMs, typeof maxAttempts, typeof errorMessage], [1, "number", "number", "string"]);
    assert.equal((await client.getState()).isStreaming, true);
    await client.abortRetry();
    const all = await events;
    assert.equal(all.find((event) => event.type === "agent_end").willRetry, true);
    const { success, finalError } = all.find((event) => event.type === "auto_retry_end");
    assert.deepEqual([success, finalError], [false, "Retry cancelled"]);
    assert.equal(types(all).at(-1), "agent_settled");
  },

  async "bash: its output as it comes, then all of it"() {
    let done;
    const events = await heard(async () => {
      done = await client.bash("echo out; echo err >&2; exit 3");
    });
    assert.deepEqual([done.exitCode, done.cancelled, done.truncated], [3, false, false]);
    assert.deepEqual(done.output.trim().split("\n").toSorted(), ["err", "out"]);
    const deltas = events.filter((event) => event.type === "bash_execution_update").map((event) => event.delta);
    assert.equal(deltas.join(""), done.output);
  },

  async "abortBash: stops a command, which says so"() {
    const begun = next("bash_execution_update");
    const endless = client.bash("echo begun; sleep 61.5");
    await begun;
    await client.abortBash();
    const { cancelled, exitCode } = await endless;
    assert.deepEqual([cancelled, exitCode], [true, undefined]);
  },

  async "getEntries: in the order of the file, or those since one"() {
    const { entries, leafId } = await client.getEntries();
    assert.equal(entries.at(-1).id, leafId);
    assert.ok(entries.every((entry) => entry.type && entry.id && entry.timestamp && "parentId" in entry));
    const last = entries.slice(-2);
    assert.deepEqual(await client.getEntries(last[0].id), { entries: [last[1]], leafId });
    assert.deepEqual((await client.getEntries(leafId)).entries, []);
    assert.equal(await refusal(client.getEntries("zz")), "Entry not found: zz");
  },

  async "getTree: the same entries, nested"() {
    const { entries, leafId } = await client.getEntries();
    const { tree, leafId: leaf } = await client.getTree();
    assert.equal(leaf, leafId);
    const found = [];
    const walk = (nodes, parent) => {
      for (const node of nodes) {
        assert.equal(node.entry.parentId, parent);
        found.push(node.entry.id);
        walk(node.children, node.entry.id);
      }
    };
    walk(tree, null);
    assert.deepEqual(found.toSorted(), entries.map((entry) => entry.id).toSorted());
  },

  async "setSessionName: trimmed, told and kept"() {
    const named = next("session_info_changed");
    await client.setSessionName("  mine ");
    assert.equal((await named).name, "mine");
    assert.equal((await client.getState()).sessionName, "mine");
  },

  async "getCommands: each with its name and where it comes from"() {
    for (const command of await client.getCommands()) {
      assert.deepEqual([typeof command.name, typeof command.source], ["string", "string"]);
      assert.equal(typeof command.sourceInfo.path, "string");
    }
  },

  async "newSession: empty, with another id, and a parent if one is named"() {
    const before = await client.getState();
    assert.deepEqual(await client.newSession(before.sessionFile), { cancelled: false });
    const after = await client.getState();
    assert.notEqual(after.sessionId, before.sessionId);
    assert.equal(after.messageCount, 0);
    await client.promptAndWait("one");
    await client.promptAndWait("two");
    const [header] = readFileSync(after.sessionFile, "utf8").split("\n");
    assert.equal(JSON.parse(header).parentSession, before.sessionFile);
    Object.assign(remembered, { before, after });
  },

  async "getForkMessages and fork: a session that ends before a prompt"() {
    const prompts = await client.getForkMessages();
    assert.deepEqual(
      prompts.map((prompt) => prompt.text),
      ["one", "two"],
    );
    assert.equal(await refusal(client.fork("zz")), "Invalid entry ID for forking");
    assert.deepEqual(await client.fork(prompts[1].entryId), { text: "two", cancelled: false });
    const state = await client.getState();
    assert.notEqual(state.sessionFile, remembered.after.sessionFile);
    assert.deepEqual(said((await client.getMessages()).map((message) => ({ type: "message_end", message })), "user"), ["one"]);
  },

  async "clone: the same messages in another session"() {
    const before = await client.getState();
    const messages = await client.getMessages();
    assert.deepEqual(await client.clone(), { cancelled: false });
    assert.notEqual((await client.getState()).sessionId, before.sessionId);
    assert.deepEqual(await client.getMessages(), messages);
  },

  async "switchSession: back to where it was"() {
    const { sessionFile, sessionId } = remembered.after;
    assert.deepEqual(await client.switchSession(sessionFile), { cancelled: false });
    assert.equal((await client.getState()).sessionId, sessionId);
    assert.deepEqual(
      (await client.getForkMessages()).map((prompt) => prompt.text),
      ["one", "two"],
    );
    assert.deepEqual(await client.switchSession(remembered.before.sessionFile), { cancelled: false });
    assert.equal((await client.getState()).sessionName, "mine");
  },

  async "exportHtml: a page where it was wanted"() {
    const path = join(options.cwd, "page.html");
    assert.deepEqual(await client.exportHtml(path), { path });
    assert.match(readFileSync(path, "utf8"), /^<!doctype html>/i);
    assert.ok(existsSync(resolve(options.cwd, (await client.exportHtml()).path)));
  },

  async "stop: ends the agent; nothing can be asked afterwards"() {
    const { process: agent } = client;
    assert.equal(typeof client.getStderr(), "string");
    await client.stop();
    assert.notEqual(agent.exitCode ?? agent.signalCode, null);
    assert.match(await refusal(client.getState()), /not started/);
  },
};

const report = {};
await client.start();
for (const [name, check] of Object.entries(checks)) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it took too long")), 15000);
  });
  try {
    await Promise.race([check(), late]);
    report[name] = null;
  } catch (error) {
    report[name] = error.stack.split("\n").slice(0, 40).join("\n");
  }
  clearTimeout(timer);
}
const inner = new Set(["handleLine", "createProcessExitError", "rejectPendingRequests", "send", "getData"]);
const missed = methods.filter((name) => !called.has(name) && !inner.has(name));
process.stdout.write(`${JSON.stringify({ checks: report, missed, stderr: client.getStderr() })}\n`);
process.exit(0);
