import assert from "node:assert/strict";
import { spawn as start } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";

import { folder, linnet, Serve, until } from "./helpers.js";

const example = (name: string) => new URL(`../examples/${name}.js`, import.meta.url);

test("approval: a person at the terminal allows and denies", async () => {
  const cwd = folder();
  for (const [typed, isThere] of [["not today", false], ["y", true]] as const) {
    const child = start(process.execPath, [example("approval").pathname, '!tool bash {"command":"touch here"}'], {
      cwd, env: { ...process.env, AGENT: linnet("pi-1").join(" ") },
    });
    after(() => child.kill());
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      if (/Allow it/.test((err += chunk)) && child.stdin.writable) child.stdin.end(`${typed}\n`);
    });
    const [code] = await once(child, "close");
    assert.equal(code, 0, err);
    assert.match(err, /bash: touch here/);
    assert.match(out, /\w/);
    assert.equal(existsSync(join(cwd, "here")), isThere);
  }
});

test("route: an answer is streamed, and who hangs up aborts the run", async () => {
  const serve = await new Serve().start();
  Object.assign(process.env, { LINNET_URL: serve.url, LINNET_TOKEN: serve.token, LINNET_FOLDER: serve.folder });
  const { POST } = (await import(example("route").href)) as { POST(request: Request): Promise<Response> };
  const ask = (body: object, signal?: AbortSignal) => POST(new Request("http://localhost/", { method: "POST", body: JSON.stringify(body), signal: signal ?? null }));
  const first = await ask({ message: "hello" });
  assert.equal(await first.text(), "Hello from the scripted model.");
  const agent = first.headers.get("x-agent")!;
  const controller = new AbortController();
  const second = await ask({ message: "!gate never", agent }, controller.signal);
  const reader = second.body!.getReader();
  await reader.read();
  assert.equal((await ask({ message: "hello", agent })).status, 409);
  controller.abort();
  await assert.rejects(async () => { while (!(await reader.read()).done); });
  const { connect } = await import("linnet-agent");
  const watching = await connect({ url: serve.url, token: serve.token }).attach(agent);
  await watching.waitIdle();
  await watching.close();
  assert.equal(await (await ask({ message: "!text 3", agent })).text(), "w0 w1 w2 ");
  await serve.kill();
});

test("slack bot: a mention is answered in its thread, once, and threads are conversations", async () => {
  const serve = await new Serve().start();
  const said: { method: string; [field: string]: string }[] = [];
  const slack = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    said.push({ method: request.url!.slice(1), ...JSON.parse(body) });
    response.end(JSON.stringify({ ok: true, ts: String(said.length) }));
  }).listen(0);
  await once(slack, "listening");
  const env = {
    ...process.env, SLACK_API: `http://127.0.0.1:${(slack.address() as { port: number }).port}`, SLACK_TOKEN: "x",
    SLACK_SIGNING_SECRET: "s", LINNET_SOCKET: serve.socket, FOLDER: serve.folder, PORT: "0",
  };
  const bot = start(process.execPath, [example("slack-bot").pathname], { env, stdio: ["ignore", "pipe", "inherit"] });
  after(() => (bot.kill(), slack.close()));
  const [line] = await once(bot.stdout, "data");
  const url = `http://127.0.0.1:${/\d+/.exec(String(line))![0]}/slack/events`;
  const send = async (body: object, secret = "s") => {
    const text = JSON.stringify(body);
    const at = String(Math.floor(Date.now() / 1000));
    const signature = `v0=${createHmac("sha256", secret).update(`v0:${at}:${text}`).digest("hex")}`;
    const response = await fetch(url, { method: "POST", body: text, headers: { "x-slack-request-timestamp": at, "x-slack-signature": signature } });
    return [response.status, await response.text()];
  };
  assert.deepEqual(await send({ type: "url_verification", challenge: "c" }), [200, "c"]);
  assert.deepEqual(await send({ type: "url_verification", challenge: "c" }, "wrong"), [401, ""]);
  const mention = { type: "event_callback", event_id: "E1", event: { type: "app_mention", channel: "C", ts: "1.0", text: "<@U1> hello" } };
  await send(mention);
  await send(mention);
  await until(() => said.some(({ method, text }) => method === "chat.update" && text === "Hello from the scripted model."));
  await send({ ...mention, event_id: "E2", event: { ...mention.event, ts: "2.0", thread_ts: "1.0", text: "<@U1> !text 3" } });
  await until(() => said.some(({ text }) => text === "w0 w1 w2 "));
  assert.deepEqual(said.filter(({ method }) => method === "chat.postMessage").map(({ thread_ts }) => thread_ts), ["1.0", "1.0"]);
  await serve.kill();
});
