// Drives linnet-pi with the RpcClient that pi publishes, and prints what came of it as one line of JSON.
// Its argument is JSON: the file the client is in, the options it is made with, the model server's address, and the
// methods that belong to what linnet does not do yet.
import assert from "node:assert/strict";

const { client: file, options, server } = JSON.parse(process.argv[2]);
const { RpcClient } = await import(file);

const methods = Object.getOwnPropertyNames(RpcClient.prototype).filter((name) => name !== "constructor");
const called = new Set();
for (const name of methods) {
  const method = RpcClient.prototype[name];
  RpcClient.prototype[name] = function (...args) {
    called.add(name);
    return method.apply(this, args);
  };
}

const client = new RpcClient(options);
const report = { methods };

/** The next event of this type. Ask for it before doing what brings it about. */
function next(type) {
  return new Promise((resolve) => {
    const unsubscribe = client.onEvent((event) => {
      if (event.type === type) {
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

const release = (gate) => fetch(`${server}/_release/${gate}`);
const types = (events) => events.map((event) => event.type);
const text = (message) => message.content.map((block) => block.text ?? `[${block.type}]`).join("");
const said = (events, role) =>
  events.filter((event) => event.type === "message_end" && event.message.role === role).map((event) => text(event.message));

const scenes = {
  async aPrompt() {
    const heard = [];
    const unsubscribe = client.onEvent((event) => heard.push(event.type));
    const events = await client.promptAndWait("hello");
    unsubscribe();
    assert.deepEqual(heard, types(events));
    const messages = await client.getMessages();
    assert.deepEqual(messages, events.at(-1).messages);
    return {
      types: types(events),
      roles: messages.map((message) => message.role),
      lastText: await client.getLastAssistantText(),
      stats: await client.getSessionStats(),
    };
  },

  async aPicture() {
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const events = await client.promptAndWait("look", [{ type: "image", data, mimeType: "image/png" }]);
    return said(events, "user");
  },

  async aTool() {
    const events = await client.promptAndWait('!tool bash {"command":"echo from a tool"}');
    return events.find((event) => event.type === "tool_execution_end");
  },

  async queues() {
    await client.setSteeringMode("all");
    await client.setFollowUpMode("all");
    const { steeringMode, followUpMode } = await client.getState();
    const events = client.collectEvents();
    const speaking = next("message_update");
    await client.prompt("!gate queues");
    await speaking;
    await client.followUp("and then");
    await client.steer("left");
    await client.steer("no, right");
    const { isStreaming, pendingMessageCount } = await client.getState();
    await release("queues");
    return { steeringMode, followUpMode, isStreaming, pendingMessageCount, said: said(await events, "user") };
  },

  async anAbort() {
    const idle = client.waitForIdle();
    const speaking = next("message_update");
    await client.prompt("!gate never");
    await speaking;
    await client.abort();
    await idle;
    const [last] = (await client.getMessages()).slice(-1);
    return { stopReason: last.stopReason, isStreaming: (await client.getState()).isStreaming };
  },

  async models() {
    const available = await client.getAvailableModels();
    const chosen = await client.setModel("anthropic", available[0].id);
    const cycled = await client.cycleModel();
    const now = (await client.getState()).model;
    const unknown = await refusal(client.setModel("anthropic", "nope"));
    await client.setModel(options.provider, options.model);
    return { available, chosen, cycled, now, unknown };
  },

  async thinking() {
    await client.setThinkingLevel("high");
    const { thinkingLevel } = await client.getState();
    const cycled = await client.cycleThinkingLevel();
    return { thinkingLevel, cycled };
  },

  async compaction() {
    await client.setAutoCompaction(false);
    const { autoCompactionEnabled } = await client.getState();
    const result = await client.compact("Keep the file names");
    const again = await refusal(client.compact());
    return { autoCompactionEnabled, result, again, roles: (await client.getMessages()).map((message) => message.role) };
  },

  async retries() {
    await client.setAutoRetry(false);
    const events = await client.promptAndWait("!fail 503 1");
    const gaveUp = events.at(-1).messages.at(-1).stopReason;
    await client.setAutoRetry(true);
    const scheduled = next("auto_retry_start");
    const over = next("auto_retry_end");
    await client.prompt("!fail 529 9");
    const { attempt } = await scheduled;
    await client.abortRetry();
    return { gaveUp, attempt, over: await over };
  },

  async commands() {
    const done = await client.bash("echo out; echo err >&2; exit 3");
    const endless = client.bash("sleep 61.5");
    await client.abortBash();
    return { done, aborted: await endless };
  },

  async slashCommands() {
    return client.getCommands ? await client.getCommands() : null;
  },

  async aNewSession() {
    const before = await client.getState();
    const answer = await client.newSession("/parent.jsonl");
    const after = await client.getState();
    return { answer, isAnother: before.sessionId !== after.sessionId, messageCount: after.messageCount };
  },

  async sessions() {
    const first = await client.getState();
    await client.promptAndWait("one");
    await client.promptAndWait("two");
    const prompts = await (client.getForkMessages ?? client.getBranchMessages).call(client);
    const branched = await (client.fork ?? client.branch).call(client, prompts[1].entryId);
    const branch = await client.getState();
    const cloned = client.clone ? await client.clone() : null;
    const named = client.setSessionName ? next("session_info_changed") : { name: null };
    await client.setSessionName?.("mine");
    const { name } = await named;
    const clone = await client.getState();
    const switched = await client.switchSession(first.sessionFile);
    const back = await client.getState();
    const missing = await refusal(client.switchSession(`${options.cwd}/nowhere.jsonl`));
    const page = await client.exportHtml("page.html");
    const files = [first, branch, clone, back].map((state) => state.sessionFile);
    return { prompts, branched, branch, cloned, name, clone, switched, back, missing, page, files };
  },
};

await client.start();
report.state = await client.getState();
for (const [name, scene] of Object.entries(scenes)) report[name] = await scene();

const { process: agent } = client;
report.called = [...called, "stop", "getStderr"];
await client.stop();
report.stderr = client.getStderr();
report.exitCode = agent.exitCode;
report.stopped = await refusal(client.getState());
process.stdout.write(`${JSON.stringify(report)}\n`);
