import assert from "node:assert/strict";
import { test } from "node:test";

import { AgentGone, Refused, RunFailed, TimedOut, type Agent } from "linnet-agent";
import { agent, all, DIALECTS, release, until, words } from "./helpers.js";

const PI = ["pi", "pi-0.73", "pi-0.87", "pi-1"] as const;

for (const dialect of DIALECTS) {
  test(`${dialect}: a run is iterated over, and its text is what was streamed`, async () => {
    await using client = await agent({ dialect });
    const run = client.prompt("!text 40");
    const events = await all(run);
    assert.equal(words(events), await run.text());
    assert.match(words(events), /^w0 w1 .*w39/);
    assert.ok(events.every(({ type }) => type !== "unknown" && type !== "bad_line"), JSON.stringify(events.map(({ type }) => type)));
    await client.waitIdle();
    assert.ok(client.isIdle);
    assert.equal(await client.prompt("hello").text(), "Hello from the scripted model.");
    assert.equal(await client.close(), 0);
    assert.equal(await client.close(), 0);
    assert.throws(() => client.prompt("late"), AgentGone);
  });

  test(`${dialect}: a run that fails says why, and with what was said`, async () => {
    await using client = await agent({ dialect });
    await assert.rejects(client.prompt("!err 401 no_way").text(), (error: RunFailed) => error instanceof RunFailed && /no_way|401/.test(error.reason));
    await client.prompt("!err 401 no_way").wait();
  });

  test(`${dialect}: a signal aborts the run that it was given to`, async () => {
    await using client = await agent({ dialect });
    const controller = new AbortController();
    const events = all(client.prompt("!gate never", { signal: controller.signal }));
    for await (const event of client.events()) {
      if (words([event])) break;
    }
    controller.abort(new Error("enough"));
    await assert.rejects(events, /enough/);
    await client.waitIdle();
    assert.equal(await client.prompt("hello").text(), "Hello from the scripted model.");
    assert.throws(() => client.prompt("never sent", { signal: controller.signal }), /enough/);
  });

  test(`${dialect}: a deadline ends waiting, and not the agent`, async () => {
    await using client = await agent({ dialect });
    const run = client.prompt(`!gate late-${dialect}-${process.pid}`, { timeout: 50 });
    await assert.rejects(run.text(), TimedOut);
    await release(`late-${dialect}-${process.pid}`);
    await client.waitIdle();
    assert.match(await client.prompt("hello").text(), /Hello/);
  });
}

for (const dialect of PI) {
  test(`${dialect}: what is said to an agent that works belongs to its run`, async () => {
    const client = (await agent({ dialect })) as unknown as Agent<"pi-1">;
    const run = client.prompt(`!gate follow-${dialect}-${process.pid}`);
    const events = client.events();
    for await (const event of events) if (words([event])) break;
    await client.followUp("hello");
    await client.steer("!text 3");
    await release(`follow-${dialect}-${process.pid}`);
    assert.match(await run.text(), /Hello from the scripted model/);
    assert.equal((await client.getState()).isStreaming, false);
    await client.close();
  });

  test(`${dialect}: commands are methods, and a refusal has its reason`, async () => {
    const client = (await agent({ dialect })) as unknown as Agent<"pi-1">;
    await client.prompt("hello").wait();
    const { messages } = await client.getMessages();
    assert.equal(messages.at(-1)!.role, "assistant");
    const state = await client.getState();
    assert.equal(state.messageCount, messages.length);
    const { models } = await client.getAvailableModels();
    await client.setModel({ provider: models[0]!.provider, modelId: models[0]!.id });
    await assert.rejects(client.setModel({ provider: "nobody", modelId: "nothing" }), (error: Refused) => error.command === "set_model");
    assert.equal((await client.bash({ command: "echo hi" })).output, "hi\n");
    assert.equal((await client.getLastAssistantText()).text, "Hello from the scripted model.");
    await assert.rejects(client.ask("frobnicate"), Refused);
    await client.newSession();
    await client.waitIdle();
    await client.close();
  });

  test(`${dialect}: a run is not over before its retries are`, async () => {
    const client = (await agent({ dialect })) as unknown as Agent<"pi-1">;
    assert.equal(await client.prompt("!fail 529 2").text(), "recovered");
    assert.ok(client.isIdle);
    await client.close();
  });
}

test("zot: prompts wait for each other, and each has its own events", async () => {
  await using client = await agent({ dialect: "zot" });
  const first = client.prompt(`!gate one-${process.pid}`);
  const second = client.prompt("hello");
  const state = await client.getState();
  assert.equal(state.busy, true);
  await release(`one-${process.pid}`);
  const texts = await Promise.all([first.text(), second.text()]);
  assert.equal(texts[1], "Hello from the scripted model.");
  assert.notEqual(texts[0], texts[1]);
});

test("zot: a signal of a prompt that waits does not abort the one that runs", async () => {
  await using client = await agent({ dialect: "zot" });
  const controller = new AbortController();
  const first = client.prompt(`!gate two-${process.pid}`);
  const second = client.prompt("!gate never", { signal: controller.signal });
  const text = second.text();
  controller.abort();
  await assert.rejects(text, { name: "AbortError" });
  await release(`two-${process.pid}`);
  await first.text();
  await client.waitIdle();
});

test("zot: a compaction is waited for, and its summary returned", async () => {
  await using client = await agent({ dialect: "zot" });
  for (const prompt of ["hello", "again", "more"]) await client.prompt(prompt).wait();
  assert.match((await client.compact()).summary, /SUMMARY/);
});

test("zot: a token is asked for and told", async () => {
  await using client = await agent({ dialect: "zot", token: "a secret" });
  await client.ping();
});

test("a value is asked for with a schema", async () => {
  await using client = await agent();
  const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  await assert.rejects(client.prompt("hello", { schema }).value(), RunFailed);
  await assert.rejects(client.prompt("hello").value(), /schema/);
});

test("pi-1: a prompt is accepted before it is over, and one that is refused has no run", async () => {
  await using client = await agent();
  const run = client.prompt(`!gate accept-${process.pid}`);
  assert.deepEqual(await run.accepted(), { disposition: "started" });
  const refused = client.prompt("and this?");
  await assert.rejects(all(refused), Refused);
  await assert.rejects(refused.text(), Refused);
  await release(`accept-${process.pid}`);
  await run.wait();
});

const PHASES = {
  "before it speaks": "!hanghead",
  "while it speaks": "!gate never",
  "while a tool runs": '!tool bash {"command":"sleep 1000"}',
  "while a retry is waited for": "!fail 529 99 30",
};
for (const [phase, prompt] of Object.entries(PHASES)) {
  test(`pi-1: an abort ${phase} ends the run in order`, async () => {
    await using client = await agent();
    const seen: string[] = [];
    const run = client.prompt(prompt);
    const wanted = { "!h": "message_end", "!g": "message_update", "!t": "tool_execution_start", "!f": "auto_retry_start" }[prompt.slice(0, 2)]!;
    for await (const event of run) {
      seen.push(event.type);
      if (event.type === wanted && !seen.includes("aborted")) {
        seen.push("aborted");
        void client.abort();
      }
    }
    assert.equal(seen.at(-1), "agent_settled");
    await client.waitIdle();
    assert.match(await client.prompt("hello").text(), /Hello/);
  });
}

test("an abort in the same moment as its prompt ends it", async () => {
  await using client = await agent();
  const run = client.prompt("!gate never");
  await client.abort();
  await run.wait();
  assert.ok(client.isIdle);
});

test("leaving a loop leaves the agent at work", async () => {
  await using client = await agent();
  const run = client.prompt(`!gate left-${process.pid}`);
  for await (const event of run) if (event.type === "message_update") break;
  await assert.rejects(run.text(), RunFailed);
  assert.equal((await client.getState()).isStreaming, true);
  await release(`left-${process.pid}`);
  await client.waitIdle();
  assert.equal((await client.getState()).isStreaming, false);
});

test("images are sent by their bytes", async () => {
  const png = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
  for (const dialect of ["zot", "pi-1"] as const) {
    await using client = await agent({ dialect });
    await client.prompt("what is this?", { images: [png] }).text();
    const said = JSON.stringify(await client.getMessages());
    assert.match(said, /image\/png/);
    assert.throws(() => client.prompt("and this?", { images: [new Uint8Array(9)] }), TypeError);
  }
});

test("all methods are there, and an agent is no promise", async () => {
  await using client = await agent();
  assert.equal((client as any).then, undefined);
  for (const name of ["getState", "setThinkingLevel", "exportHtml", "getForkMessages", "clearQueue"]) assert.equal(typeof (client as any)[name], "function");
  await until(() => client.isIdle);
});
