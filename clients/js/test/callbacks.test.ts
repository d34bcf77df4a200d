import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";

import { Refused, tool, type Question, type StandardSchema } from "linnet-agent";
import { agent, all, fake, folder } from "./helpers.js";

const TOUCH = '!tool bash {"command":"touch here"}';

for (const dialect of ["zot", "pi", "pi-1"] as const) {
  test(`${dialect}: a permission is asked for, and a no with its reason is read by the model`, async () => {
    const asked: Question[] = [];
    const cwd = folder();
    const answers = [{ confirmed: false, reason: "not on a Friday" }, "Allow once", true, null];
    await using client = await agent({ dialect, cwd, flags: ["--permission", "ask"], onQuestion: (question) => (asked.push(question), answers.shift()) });
    await client.prompt(TOUCH).wait();
    assert.equal(existsSync(join(cwd, "here")), false);
    assert.match(JSON.stringify(await (client as any).getMessages()), /not on a Friday/);
    assert.equal(asked[0]!.permission!.tool, "bash");
    assert.deepEqual(asked[0]!.permission!.args, { command: "touch here" });
    assert.ok(asked[0]!.options!.includes("Deny"));
    await client.prompt(TOUCH).wait();
    assert.equal(existsSync(join(cwd, "here")), true);
    await client.prompt(TOUCH.replace("here", "there")).wait();
    assert.equal(existsSync(join(cwd, "there")), true);
    await client.prompt(TOUCH.replace("here", "nowhere")).wait();
    assert.equal(existsSync(join(cwd, "nowhere")), false);
  });

  test(`${dialect}: a callback that throws is a no, and is told`, async () => {
    const cwd = folder();
    const errors: unknown[] = [];
    const onQuestion = () => { throw new Error("no idea"); };
    await using client = await agent({ dialect, cwd, flags: ["--permission", "ask"], onQuestion, onError: (error) => errors.push(error) });
    await client.prompt(TOUCH).wait();
    assert.equal(existsSync(join(cwd, "here")), false);
    assert.match(String(errors), /no idea/);
  });

  test(`${dialect}: an answer that does not fit is a no, and nobody waits for ever`, async () => {
    const cwd = folder();
    const errors: unknown[] = [];
    await using client = await agent({ dialect, cwd, flags: ["--permission", "ask"], onQuestion: () => "Maybe", onError: (error) => errors.push(error) });
    await client.prompt(TOUCH).wait();
    assert.equal(existsSync(join(cwd, "here")), false);
    assert.ok(errors[0] instanceof Refused);
  });

  test(`${dialect}: an abort withdraws a question`, async () => {
    const asked = withResolvers<AbortSignal>();
    const onQuestion = (_: Question, { signal }: { signal: AbortSignal }) => {
      asked.resolve(signal);
      return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    await using client = await agent({ dialect, flags: ["--permission", "ask"], onQuestion });
    const run = client.prompt(TOUCH);
    const signal = await asked.promise;
    await client.abort();
    await run.wait();
    await client.waitIdle();
    assert.ok(signal.aborted);
  });

  test(`${dialect}: tools are declared, checked and run here`, async () => {
    const seen: unknown[] = [];
    const lookup = tool({
      name: "lookup",
      description: "Look a customer up.",
      parameters: z.object({ name: z.string(), limit: z.number().default(3) }),
      run: async ({ name, limit }, call) => {
        seen.push([name, limit, typeof call.id]);
        call.progress("searching");
        return `${name}, customer 12`;
      },
    });
    const plain = tool({
      name: "plain",
      description: "Takes anything.",
      parameters: { type: "object", properties: {} },
      run: (args) => ({ content: [{ type: "text", text: JSON.stringify(args) }, { type: "image", data: PNG, mimeType: "image/png" }], details: { more: 1 } }),
    });
    const broken = tool({ name: "broken", description: "Fails.", parameters: { type: "object", properties: {} }, run: () => { throw new Error("it is broken"); } });
    await using client = await agent({ dialect, tools: [lookup, plain, broken] });
    const results = async (prompt: string) => JSON.stringify(await all(client.prompt(prompt)));
    assert.match(await results('!tool lookup {"name":"Ada"}'), /Ada, customer 12/);
    assert.deepEqual(seen, [["Ada", 3, "string"]]);
    assert.match(await results('!tool lookup {"name":7}'), /do not fit: name: /);
    assert.equal(seen.length, 1);
    assert.match(await results('!tool plain {"a":1}'), /a\\*":1/);
    assert.match(await results("!tool broken {}"), /it is broken/);
    await client.setTools([]);
    assert.doesNotMatch(await results("!tool broken {}"), /it is broken/);
  });
}

test("a tool is told when nobody wants its result any more", async () => {
  const { promise, resolve } = withResolvers<AbortSignal>();
  const slow = tool({
    name: "slow",
    description: "Takes long.",
    parameters: { type: "object", properties: {} },
    run: (_, { signal }) => (resolve(signal), new Promise<string>(() => {})),
  });
  await using client = await agent({ tools: [slow] });
  const run = client.prompt("!tool slow {}");
  const signal = await promise;
  await client.abort();
  await run.wait();
  assert.ok(signal.aborted);
});

test("tools that cannot be described are a mistake that is told before anything is sent", async () => {
  const schema: StandardSchema = { "~standard": { version: 1, vendor: "mute", validate: (value) => ({ value }) } };
  const mute = { name: "mute", description: "", parameters: schema, run: () => "" };
  await assert.rejects(agent({ tools: [mute] }), /mute does not say itself as JSON Schema/);
  await using client = await agent({ tools: [{ ...mute, jsonSchema: { type: "object", properties: {} } }] });
  assert.match(JSON.stringify(await all(client.prompt("!tool mute {}"))), /tool_execution_end/);
});

test("a value is typed and checked by its schema", async () => {
  const command = fake(`const asked = await hear(); answer(asked, { disposition: "started" }); say("agent_start");
    say("output", { value: asked.outputSchema.required[0] === "n" ? { n: 7 } : null }); say("agent_end"); say("agent_settled");
    const two = await hear(); answer(two, { disposition: "started" }); say("agent_start"); say("output", { value: { n: "x" } }); say("agent_end"); say("agent_settled"); await hear();`);
  const { spawn } = await import("linnet-agent");
  await using client = await spawn({ command });
  const schema = z.object({ n: z.number() });
  const value: { n: number } = await client.prompt("how many?", { schema }).value();
  assert.equal(value.n, 7);
  await assert.rejects(client.prompt("how many?", { schema }).value(), /n: /);
});

test("dialogs of extensions are questions, too, and are answered in their own way", async () => {
  const command = fake(`const asked = await hear(); answer(asked, { disposition: "started" }); say("agent_start");
    const got = [];
    for (const method of ["select", "confirm", "input", "editor"]) { say("extension_ui_request", { id: method, method, title: "T", options: ["a", "b"] }); got.push(await hear()); }
    say("extension_ui_request", { id: "n", method: "notify", message: "hi" });
    say("session_info_changed", { name: JSON.stringify(got) }); say("agent_end"); say("agent_settled"); await hear();`);
  const { spawn } = await import("linnet-agent");
  const answers = { select: "b", confirm: true, input: "words", editor: undefined };
  await using client = await spawn({ command, onQuestion: ({ method }) => answers[method] });
  const events = await all(client.prompt("go"));
  const told = events.find((event) => event.type === "session_info_changed");
  assert.deepEqual(JSON.parse(told!.name!), [
    { type: "extension_ui_response", id: "select", value: "b" },
    { type: "extension_ui_response", id: "confirm", confirmed: true },
    { type: "extension_ui_response", id: "input", value: "words" },
    { type: "extension_ui_response", id: "editor", cancelled: true },
  ]);
});

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
