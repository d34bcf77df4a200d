import assert from "node:assert/strict";
import { test } from "node:test";

import { PiDraft, type Event } from "linnet-agent";
import { agent } from "./helpers.js";

const PROMPTS = ["hello", "!think", "!utf8", '!tools [["bash",{"command":"echo a"}],["bash",{"command":"echo \\"b\\\\n\\""}]]', "!toolargs 50"];

for (const dialect of ["pi-legacy", "pi", "pi-0.73", "pi-0.87", "pi-1"] as const) {
  test(`${dialect}: a message is put together from its deltas`, async () => {
    await using client = await agent({ dialect });
    let compared = 0;
    for (const prompt of PROMPTS) {
      const draft = new PiDraft();
      assert.ok(draft.isWhole && !draft.message);
      for await (const event of client.prompt(prompt) as AsyncIterable<Event<"pi-1">>) {
        const before: { content: readonly object[] } | undefined = draft.message;
        draft.add(event);
        if (event.type !== "message_end" || event.message.role !== "assistant") continue;
        assert.deepEqual(bare(before!.content), bare(event.message.content));
        assert.equal(draft.message, event.message);
        compared++;
      }
      await client.waitIdle();
    }
    assert.ok(compared >= 7, String(compared));
  });
}

/** Blocks without what no update tells. */
const bare = (blocks: readonly object[]) =>
  blocks.map((block) => JSON.parse(JSON.stringify(block, (key, value) => (/ignature|^bound$/.test(key) ? undefined : value))));

test("the arguments of a call are read while they are written", () => {
  const whole = { command: 'make "t"\\\n', list: [1, -2.5e3, true, null, { a: "ä\u2028" }], nested: { x: {}, y: [] }, last: 12 };
  for (const text of [JSON.stringify(whole), JSON.stringify(whole, null, 2)]) {
    for (let end = 0; end <= text.length; end++) {
      const draft = new PiDraft();
      const add = (assistantMessageEvent: object) => draft.add({ type: "message_update", assistantMessageEvent } as never);
      add({ type: "toolcall_start", contentIndex: 0, id: "c", toolName: "t" });
      add({ type: "toolcall_delta", contentIndex: 0, delta: text.slice(0, end) });
      const [call] = draft.message!.content as { arguments: Record<string, any> }[];
      assert.ok(isPart(call!.arguments, whole), `${text.slice(0, end)} was read as ${JSON.stringify(call!.arguments)}`);
      if (end === text.length) assert.deepEqual(call!.arguments, whole);
      if (text.slice(0, end).endsWith('"make \\"t')) assert.equal(call!.arguments["command"], 'make "t');
    }
  }
});

/** Whether a value may become another by more of it. */
function isPart(value: any, whole: any): boolean {
  if (typeof value === "string") return typeof whole === "string" && whole.startsWith(value);
  if (typeof value === "number") return typeof whole === "number" && String(whole).startsWith(String(value).slice(0, 2));
  if (value === null || typeof value !== "object") return value === whole;
  return Object.keys(value).every((key) => isPart(value[key], whole[key]));
}

test("a message whose beginning was missed is put together from there on", () => {
  const draft = new PiDraft();
  draft.add({ type: "message_update", assistantMessageEvent: { type: "text_delta", contentIndex: 1, delta: "of it" } } as never);
  assert.equal(draft.text, "of it");
  assert.equal(draft.isWhole, false);
});
