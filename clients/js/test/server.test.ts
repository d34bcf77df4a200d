import assert from "node:assert/strict";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { AgentGone, connect, Refused, tool, type Agent, type Event } from "linnet-agent";
import * as browser from "linnet-agent/browser";
import { all, folder, release, Serve, until, words } from "./helpers.js";

const HOW = ["socket", "http", "browser"] as const; // The last is the browser's build, in which names are short.
type How = (typeof HOW)[number];

function server(serve: Serve, how: How) {
  if (how === "socket") return connect({ socket: serve.socket });
  return (how === "http" ? connect : browser.connect)({ url: serve.url, token: serve.token });
}

const open = (serve: Serve, how: How, options: object = {}): Promise<Agent> => server(serve, how).open({ cwd: serve.folder, ...options } as never) as Promise<Agent>;

// One that nobody kills, for all tests that need no other.
const shared = new Serve();
let started: Promise<Serve> | undefined;
const running = () => (started ??= shared.start());

const errors = { AgentGone, Refused };

/** What two who saw everything must agree on. */
const told = (events: readonly Event[]) => events.map((event: any) => JSON.stringify({ ...event, seq: undefined }));

for (const how of HOW) {
  const { AgentGone, Refused } = how === "browser" ? browser : errors;

  test(`${how}: an agent is opened, listed, driven and attached to`, async () => {
    const serve = await running();
    const client = await open(serve, how);
    assert.match(await client.prompt("hello").text(), /Hello/);
    const listed = await server(serve, how).agents();
    assert.ok(listed.some(({ id }) => id === client.id));
    const other = await server(serve, how).attach(client.id!, { from: 0 });
    const events = other.events();
    const seen: Event[] = [];
    for await (const event of events) {
      seen.push(event);
      if (event.type === "agent_settled") break;
    }
    assert.equal(words(seen), "Hello from the scripted model.");
    await other.waitIdle();
    assert.equal((await other.getState()).isStreaming, false);
    await other.close();
    await assert.rejects(server(serve, how).attach("0123456789abcdef"), /0123456789abcdef|agent/);
    await assert.rejects(client.setModel({ provider: "nobody", modelId: "x" }), Refused);
    await client.close();
  });

  test(`${how}: a server that is killed in between loses nothing, tells nothing twice, and carries a prompt out once`, async () => {
    const serve = await new Serve().start();
    const states: string[] = [];
    const client = await open(serve, how, { onConnection: (state: string) => states.push(state) });
    const listening = client.events();
    const seen: Event[] = [];
    const reading = (async () => {
      for await (const event of listening) seen.push(event);
    })();
    assert.match(await client.prompt("hello").text(), /Hello/);
    const run = client.prompt("!text 2000 2");
    await until(() => words(seen).includes("w20 "));
    await serve.restart();
    await assert.rejects(run.text(), /the server ended while this ran/);
    await client.waitIdle();
    // Sent while nobody is there, it is carried out when somebody is: once.
    await serve.kill();
    await until(() => states.at(-1) === "lost");
    const late = client.prompt("hello").text();
    await serve.start();
    assert.match(await late, /Hello/);
    const { messages } = await client.getMessages();
    assert.equal(messages.filter(({ role }) => role === "user").length, 3);
    await client.waitIdle();
    const other = await server(serve, how).attach(client.id!, { from: 0 });
    const again: Event[] = [];
    for await (const event of other.events()) {
      again.push(event);
      if (other.seq! >= client.seq! && again.filter(({ type }) => type === "agent_settled").length === 3) break;
    }
    await until(() => seen.length >= again.length);
    assert.deepEqual(told(seen), told(again));
    await other.close();
    await client.close();
    await reading;
    await serve.kill();
  });

  test(`${how}: a prompt whose answer was lost is not carried out again`, async () => {
    const serve = await new Serve().start();
    const client = await open(serve, how);
    const gate = `once-${how}-${process.pid}`;
    const run = client.prompt(`!gate ${gate}`);
    void run.accepted().catch(() => {});
    await serve.restart();
    await release(gate); // It may be carried out only now.
    await run.wait().catch((error: unknown) => assert.ok(error instanceof Refused)); // Nobody knows what became of it.
    await client.waitIdle();
    const { messages } = await client.getMessages();
    assert.ok(messages.filter(({ role }) => role === "user").length <= 1);
    await client.close();
    await serve.kill();
  });

  test(`${how}: what is not kept any more is a gap and a snapshot`, async () => {
    const serve = await new Serve(["--keep-bytes", "20000"]).start();
    const client = await open(serve, how);
    await client.prompt("hello").wait();
    for (let n = 0; n < 3; n++) await client.prompt("!text 3000").wait();
    const other = await server(serve, how).attach(client.id!, { from: 1 });
    const events = other.events();
    const { value: gap } = await events.next();
    assert.equal((gap as Event).type, "gap");
    const { value } = await events.next();
    const snapshot = value as Event;
    assert.ok(snapshot.type === "snapshot" && snapshot.messages.length >= 8);
    await other.waitIdle();
    assert.match(await other.prompt("hello").text(), /Hello/);
    await other.close();
    await client.close();
    await serve.kill();
  });

  test(`${how}: questions are answered by whoever is there, and once`, async () => {
    const serve = await new Serve(["--permission", "ask"]).start();
    const signals: AbortSignal[] = [];
    const slow = await open(serve, how, {
      onQuestion: (_: unknown, { signal }: { signal: AbortSignal }) => (signals.push(signal), new Promise(() => {})),
    });
    const run = slow.prompt(`!tool bash {"command":"touch ${join(serve.folder, "answered")}"}`);
    await until(() => signals.length === 1);
    await serve.restart(); // The run was cut off, and its question with it.
    await run.wait().catch(() => {});
    await until(() => signals[0]!.aborted);
    const again = slow.prompt(`!tool bash {"command":"touch ${join(serve.folder, "answered")}"}`);
    await until(() => signals.length === 2);
    const quick = await server(serve, how).attach(slow.id!, { from: 0, onQuestion: () => true });
    await again.wait();
    await until(() => signals[1]!.aborted);
    await quick.close();
    await slow.close();
    await serve.kill();
  });

  test(`${how}: tools are declared again after a break`, async () => {
    const serve = await new Serve().start();
    const lookup = tool({ name: "lookup", description: "L", parameters: { type: "object", properties: {} }, run: () => "found it" });
    const client = await open(serve, how, { tools: [lookup] });
    assert.match(JSON.stringify(await all(client.prompt("!tool lookup {}"))), /found it/);
    await serve.restart();
    assert.match(JSON.stringify(await all(client.prompt("!tool lookup {}"))), /found it/);
    await client.close();
    await serve.kill();
  });

  test(`${how}: an abort by signal ends the run and nothing else`, async () => {
    const serve = await running();
    const client = await open(serve, how);
    const controller = new AbortController();
    const run = client.prompt("!gate never", { signal: controller.signal });
    const text = run.text();
    for await (const event of client.events()) if (words([event])) break;
    controller.abort();
    await assert.rejects(text, { name: "AbortError" });
    await client.waitIdle();
    assert.match(await client.prompt("hello").text(), /Hello/);
    await client.close();
  });

  test(`${how}: zot's protocol is spoken as well`, async () => {
    const serve = await running();
    const client = (await open(serve, how, { dialect: "zot" })) as unknown as Agent<"zot">;
    const texts = await Promise.all([client.prompt("hello").text(), client.prompt("!text 3").text()]);
    assert.deepEqual(texts, ["Hello from the scripted model.", "w0 w1 w2 "]);
    assert.equal((await client.getState()).busy, false);
    await client.close();
  });

  test(`${how}: an agent that is closed is gone, and a server that does not come back is given up`, async () => {
    const serve = await new Serve().start();
    const client = await open(serve, how, { retryFor: 200 });
    await serve.kill();
    await assert.rejects(client.getState(), AgentGone);
    assert.ok(client.isGone);
  });
}

test("http: an agent that is removed is gone for its clients", async () => {
  const serve = await running();
  const there = connect({ url: serve.url, token: serve.token });
  const client = await there.open({ cwd: serve.folder });
  const waiting = all(client.events());
  await there.remove(client.id!);
  await assert.rejects(waiting, AgentGone);
  await assert.rejects(connect({ url: serve.url, token: "wrong" }).agents(), (error: Refused) => error.code === "unauthorized");
});

test("socket: a watcher may ask, and change nothing", async () => {
  const serve = await running();
  const client = await open(serve, "socket");
  const watcher = await connect({ socket: serve.socket }).attach(client.id!, { role: "watch" });
  await watcher.getState();
  await assert.rejects(all(watcher.prompt("hello")), (error: Refused) => error.code === "watching");
  await Promise.all([client.close(), watcher.close()]);
});

test("socket: a connection that is cut anywhere, again and again, misses nothing and repeats nothing", async () => {
  const serve = await running();
  const path = join(folder(), "p");
  const cut = new Set<Socket>();
  let left = 3000; // Bytes until the next cut.
  const proxy = createServer((near) => {
    const far = createConnection(serve.socket);
    const both = [near, far];
    for (const socket of both) (cut.add(socket), socket.on("error", () => {}), socket.on("close", () => both.map((each) => each.destroy())));
    near.pipe(far);
    far.on("data", (chunk: Buffer) => {
      near.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      left = 3000 + Math.floor(Math.random() * 20_000);
      near.end(() => near.destroy());
      far.destroy();
    });
  }).listen(path);
  proxy.unref(); // Node's runner waits for whatever is open.
  const states: string[] = [];
  const client = await connect({ socket: path }).open({ cwd: serve.folder, onConnection: (state) => states.push(state) });
  const listening = all(client.events());
  assert.equal((await client.prompt("!text 1500").text()).trim().split(" ").length, 1500);
  assert.equal((await client.prompt("!text 50").text()).trim().split(" ").length, 50);
  assert.ok(states.filter((state) => state === "lost").length > 3);
  const { messages } = await client.getMessages();
  assert.equal(messages.filter(({ role }) => role === "user").length, 2);
  await client.close();
  const seen = await listening;
  const straight = await connect({ socket: serve.socket }).attach(client.id!, { from: 0 });
  const again: Event[] = [];
  for await (const event of straight.events()) {
    again.push(event);
    if (again.filter(({ type }) => type === "agent_settled").length === 2) break;
  }
  assert.deepEqual(told(seen), told(again));
  await straight.close();
  proxy.close();
  for (const socket of cut) socket.destroy();
});

// The last one: Node's runner waits until nothing runs any more before it does what is to be done after all tests.
test("a server that is killed takes its clients' connections along, and each is told", async () => {
  const serve = await running();
  const clients = await Promise.all(HOW.map((how) => open(serve, how, { retryFor: 100 })));
  const gone = clients.map((client) => assert.rejects(all(client.events()), { name: "AgentGone" }));
  await serve.kill();
  await Promise.all(gone);
});
