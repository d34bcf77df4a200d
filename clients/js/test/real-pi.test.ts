// Real pi, started by PI_COMMAND, which speaks PI_DIALECT.
import assert from "node:assert/strict";
import { test } from "node:test";

import { AgentGone, PiDraft, Refused, RunFailed, spawn, type Dialect, type Event } from "linnet-agent";
import { all, folder, release, words } from "./helpers.js";

const told = process.env["PI_DIALECT"] as "pi-1";
const command: string[] = JSON.parse(process.env["PI_COMMAND"] ?? "[]");
// What it speaks is told to the client, or found out.
for (const dialect of [told, "pi" as "pi-1"]) {
  const start = () => spawn({ command, dialect: dialect as Dialect as "pi-1", provider: "ours", model: "scripted", args: ["--no-session"], cwd: folder() });

  test(`${dialect}: runs, retries and messages from deltas`, async () => {
    await using pi = await start();
    for (const prompt of ["hi", "!think", "!flaky 2", '!tools [["bash",{"command":"echo a"}]]']) {
      const draft = new PiDraft();
      const seen: Event[] = [];
      for await (const event of pi.prompt(prompt)) {
        seen.push(event);
        const before: { content: readonly { type: string }[] } | undefined = draft.message;
        draft.add(event);
        if (event.type !== "message_end" || event.message.role !== "assistant" || event.message.stopReason === "error") continue;
        assert.deepEqual(before!.content.map(({ type }) => type), event.message.content.map(({ type }) => type));
      }
      assert.ok(words(seen).length > 0);
      assert.ok(seen.every(({ type }) => type !== "unknown" && type !== "bad_line"));
      assert.equal((await pi.getState()).isStreaming, false);
    }
    assert.equal(await pi.prompt("hi").text(), "Hello from the scripted model.");
    assert.equal(await pi.close(), 0);
  });

  test(`${dialect}: what is queued belongs to the run, and an abort ends it`, async () => {
    await using pi = await start();
    const gate = `pi-${dialect}-${process.pid}`;
    const run = pi.prompt(`!gate ${gate}`);
    for await (const event of pi.events()) if (words([event])) break;
    await pi.followUp("hi");
    await release(gate);
    assert.match(await run.text(), /Hello from the scripted model/);
    const controller = new AbortController();
    const text = pi.prompt("!gate never", { signal: controller.signal }).text();
    for await (const event of pi.events()) if (words([event])) break;
    controller.abort();
    await assert.rejects(text, { name: "AbortError" });
    await pi.waitIdle();
    await assert.rejects(pi.prompt("!fail 401 9").text(), RunFailed);
    await assert.rejects(pi.ask("list_sessions"), Refused);
    assert.equal((await pi.bash({ command: "echo hi" })).output, "hi\n");
  });

  test(`${dialect}: a pi that is killed fails what waits`, async () => {
    const pi = await start();
    const run = pi.prompt("!gate never");
    for await (const event of pi.events()) if (words([event])) break;
    process.kill(pi.pid!, "SIGKILL");
    await assert.rejects(all(run), (error: AgentGone) => error.signal === "SIGKILL");
  });
}
