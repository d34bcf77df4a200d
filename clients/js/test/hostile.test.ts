import assert from "node:assert/strict";
import { spawn as start } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { AgentGone, Refused, spawn } from "linnet-agent";
import { agent, all, fake, isAlive, linnet, until } from "./helpers.js";

test("what an agent prints that nobody knows is passed through, and ends nothing", async () => {
  const command = fake(`const asked = await hear(); answer(asked, { disposition: "started" });
    say("agent_start"); write("stray\\n[1]\\n\\n"); say("brand_new", { x: 1 }); write('{"no":"type"}\\n'); say("agent_end"); say("agent_settled"); await hear();`);
  await using client = await spawn({ command });
  const events = await all(client.prompt("go"));
  assert.deepEqual(events.map(({ type }) => type), ["agent_start", "bad_line", "bad_line", "unknown", "unknown", "agent_end", "agent_settled"]);
  const [, stray, , unknown] = events;
  assert.equal(stray!.type === "bad_line" && stray.line, "stray");
  assert.deepEqual(unknown!.type === "unknown" && unknown.event, { type: "brand_new", x: 1 });
});

test("lines are whole however they are cut, and only LF ends one", async () => {
  const command = fake(`const asked = await hear();
    const bytes = Buffer.from(JSON.stringify({ type: "response", id: asked.id, command: "get_state", success: true, data: { text: "ä\u2028\u2029🐦\\r" } }) + "\\n");
    for (const byte of bytes) { writeSync(1, Uint8Array.of(byte)); await new Promise(setImmediate); } await hear();`);
  await using client = await spawn({ command });
  assert.deepEqual(await client.ask("get_state"), { text: "ä\u2028\u2029🐦\r" });
});

test("an agent that dies fails whatever waits, with its exit code and its stderr", async () => {
  const command = fake(`await hear(); say("agent_start"); write('{"type":"torn'); console.error("out of memory"); process.exit(3);`);
  const client = await spawn({ command });
  const events = client.events();
  const seen: string[] = [];
  const run = client.prompt("go");
  const gone = (error: AgentGone) => error instanceof AgentGone && error.exitCode === 3 && error.stderr === "out of memory\n" && /out of memory/.test(error.message);
  await assert.rejects(run.text(), gone);
  await assert.rejects(client.waitIdle(), gone);
  await assert.rejects(async () => { for await (const event of events) seen.push(event.type); }, gone);
  assert.deepEqual(seen, ["agent_start", "bad_line"]);
  await assert.rejects(client.getState(), gone);
  assert.equal(client.stderr, "out of memory\n");
  assert.equal(await client.close(), 3);
});

test("a signal that ends an agent is told", async () => {
  const client = await spawn({ command: fake("await hear(); await hear();") });
  const state = client.getState();
  process.kill(client.pid!, "SIGKILL");
  await assert.rejects(state, (error: AgentGone) => error.signal === "SIGKILL" && error.exitCode === null);
});

test("a program that is not there is what the system says", async () => {
  await assert.rejects(spawn({ command: "no-such-program-anywhere" }), { code: "ENOENT" });
});

test("any number of agents makes Node warn of nothing, and leaves nothing with it", async () => {
  const before = process.listenerCount("exit");
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  const clients = await Promise.all(Array.from({ length: 12 }, () => spawn({ command: fake("await hear();") })));
  await assert.rejects(spawn({ command: "no-such-program-anywhere" }));
  await new Promise(setImmediate); // Warnings are told later.
  assert.deepEqual(warnings, []);
  await Promise.all(clients.map((client) => client.close()));
  assert.equal(process.listenerCount("exit"), before);
  process.removeListener("warning", warned);
});

test("an agent that closes its pipe without an end is ended", async () => {
  const client = await spawn({ command: fake("const { closeSync } = await import('node:fs'); await hear(); closeSync(1); setInterval(() => {}, 1000);") });
  await assert.rejects(client.getState(), AgentGone);
  assert.equal(isAlive(client.pid!), false);
});

test("an agent that does not want to end is killed, with what it started", async () => {
  const body = `const { spawn } = await import("node:child_process");
    const child = spawn("sleep", ["1000"], { stdio: "inherit" }); process.on("SIGTERM", () => {});
    const asked = await hear(); answer(asked, { pid: child.pid }); setInterval(() => {}, 1000);`;
  const client = await spawn({ command: fake(body).concat(), patience: 50 });
  const { pid } = (await client.ask("get_state")) as { pid: number };
  await client.close();
  await until(() => !isAlive(client.pid!) && !isAlive(pid));
});

test("no process is left when the program ends without a word", async () => {
  const index = import.meta.resolve("linnet-agent");
  const program = `const { spawn } = await import(${JSON.stringify(index)});
    const client = await spawn({ command: ${JSON.stringify(linnet("pi-1"))} });
    client.prompt("!gate never"); for await (const event of client.events()) if (event.type === "message_update") break;
    console.log(client.pid); process.exit(0);`;
  const child = start(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk));
  await once(child, "close");
  const pid = Number(printed);
  assert.ok(pid > 0, printed);
  await until(() => !isAlive(pid));
});

test("a line that is too long ends the conversation", async () => {
  const client = await spawn({ command: fake(`await hear(); write("x".repeat(300_000)); await hear();`), longestLine: 100_000 });
  await assert.rejects(client.getState(), /longer than 100000/);
  await client.close();
});

test("a reader that is slow holds the agent up, and costs a bounded amount of memory", async () => {
  const count = 3000;
  const body = `const asked = await hear(); answer(asked, { disposition: "started" }); say("agent_start");
    for (let n = 0; n < ${count}; n++) say("message_update", { assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: String(n) + "x".repeat(10_000) } });
    say("agent_end"); say("agent_settled"); await hear();`;
  await using client = await spawn({ command: fake(body), room: 1_000_000 });
  const run = client.prompt("go");
  let taken = 0;
  let most = 0;
  for await (const event of run) {
    if (event.type !== "message_update") continue;
    taken++;
    if (taken % 100 === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }
  }
  assert.equal(taken, count);
  assert.ok(most < 20_000_000, `${most} bytes`);
});

test("events that nobody reads stop reading, and commands are answered nevertheless", async () => {
  const body = `const asked = await hear(); answer(asked, { disposition: "started" }); say("agent_start");
    for (let n = 0; n < 400; n++) say("message_update", { assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "x".repeat(10_000) } });
    say("agent_end"); say("agent_settled"); for (;;) answer(await hear(), {});`;
  await using client = await spawn({ command: fake(body), room: 10_000 });
  const run = client.prompt("go");
  const listening = client.events();
  await client.getState();
  assert.equal((await run.text()).length, 4_000_000);
  await client.getState();
  assert.equal((await all(listenUntil(listening))).length, 403);

  async function* listenUntil(events: AsyncIterable<{ type: string }>) {
    for await (const event of events) {
      yield event;
      if (event.type === "agent_settled") return;
    }
  }
});

test("a flood of a model is taken in order", async () => {
  await using client = await agent();
  const text = await client.prompt("!text 20000").text();
  assert.equal(text.trim().split(" ").length, 20000);
});

test("an answer without an id belongs to the oldest command of its name", async () => {
  const command = fake(`const one = await hear(), two = await hear();
    say("response", { command: "frob", success: false, error: "Unknown command: frob" }); answer(two, 2); say("response", { id: "nobody's", command: "x", success: true }); await hear();`);
  await using client = await spawn({ command });
  const events = client.events();
  const [one, two] = await Promise.allSettled([client.ask("frob"), client.ask("other")]);
  assert.ok(one.status === "rejected" && one.reason instanceof Refused);
  assert.ok(two.status === "fulfilled" && two.value === 2);
  const { value } = await events.next();
  assert.equal(value && value.type, "unknown");
});

test("an aborted command is not waited for, and its answer is dropped", async () => {
  const command = fake(`const one = await hear(), two = await hear(); answer(one, 1); answer(two, 2); await hear();`);
  await using client = await spawn({ command });
  const controller = new AbortController();
  const first = client.ask("slow", {}, { signal: controller.signal });
  controller.abort();
  await assert.rejects(first, { name: "AbortError" });
  assert.equal(await client.ask("next"), 2);
  await assert.rejects(client.ask("never", {}, { timeout: 20 }), { name: "TimedOut" });
});

test("a callback is given what comes on stderr", async () => {
  let heard = "";
  await using client = await spawn({ command: fake(`console.error("a word"); answer(await hear(), 1); await hear();`), onStderr: (text) => (heard += text) });
  await client.ask("x");
  await until(() => heard === "a word\n");
  assert.equal(fileURLToPath(import.meta.url).length > 0, true);
});
