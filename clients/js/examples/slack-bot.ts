// A Slack bot: whoever mentions it gets an answer in the thread, and each thread is a conversation of its own.
//
// SLACK_TOKEN, SLACK_SIGNING_SECRET, and a `linnet serve` to work on. Slack sends events to /slack/events.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { connect, RunFailed, type Agent } from "linnet-agent";

const { SLACK_TOKEN, SLACK_SIGNING_SECRET = "", SLACK_API = "https://slack.com/api", LINNET_SOCKET, FOLDER = process.cwd(), PORT = "3000" } = process.env;
const server = connect(LINNET_SOCKET ? { socket: LINNET_SOCKET } : {});
const threads = new Map<string, Promise<Agent>>();
const seen = new Set<string>(); // Slack sends an event again if it was not answered in time.

async function slack(method: string, body: object): Promise<{ ts: string }> {
  const headers = { authorization: `Bearer ${SLACK_TOKEN}`, "content-type": "application/json; charset=utf-8" };
  const response = await fetch(`${SLACK_API}/${method}`, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json() as Promise<{ ts: string }>;
}

async function reply(channel: string, thread: string, message: string): Promise<void> {
  const { ts } = await slack("chat.postMessage", { channel, thread_ts: thread, text: "…" });
  const show = (text: string) => slack("chat.update", { channel, ts, text });
  try {
    if (!threads.has(thread)) threads.set(thread, server.open({ cwd: FOLDER }));
    const agent = await threads.get(thread)!;
    let said = "";
    let shown = Date.now();
    for await (const event of agent.prompt(message, { streamingBehavior: "followUp" })) {
      if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") said += event.assistantMessageEvent.delta;
      if (Date.now() - shown < 1000) continue; // Slack wants no more than one change in a second.
      shown = Date.now();
      void show(said || "…");
    }
    await show(said);
  } catch (error) {
    await show(error instanceof RunFailed ? `That failed: ${error.reason}` : `The agent cannot be reached: ${error}`);
  }
}

/** Whether Slack has sent this, and not long ago. */
function isSlacks(request: IncomingMessage, body: string): boolean {
  const at = String(request.headers["x-slack-request-timestamp"]);
  const wanted = Buffer.from(`v0=${createHmac("sha256", SLACK_SIGNING_SECRET).update(`v0:${at}:${body}`).digest("hex")}`);
  const given = Buffer.from(String(request.headers["x-slack-signature"]));
  return Math.abs(Date.now() / 1000 - Number(at)) < 300 && given.length === wanted.length && timingSafeEqual(given, wanted);
}

const bot = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  if (!isSlacks(request, body)) return void response.writeHead(401).end();
  const { type, challenge, event_id: id, event } = JSON.parse(body);
  response.end(type === "url_verification" ? challenge : "");
  if (event?.type !== "app_mention" || seen.has(id)) return;
  seen.add(id);
  await reply(event.channel, event.thread_ts ?? event.ts, event.text.replace(/<@\w+>\s*/, ""));
});
bot.listen(Number(PORT), () => console.log(`listening at ${(bot.address() as { port: number }).port}`));
