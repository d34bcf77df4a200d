// The same in every runtime: an agent on a pipe, on a socket and over HTTP. Prints `ok` for each.
import { connect, spawn } from "linnet-agent";

const [agent, socket, url, token, cwd] = JSON.parse(process.env["SMOKE"]!) as [string[], string, string, string, string];
const clients = {
  pipe: () => spawn({ command: agent, cwd }),
  socket: () => connect({ socket }).open({ cwd }),
  http: () => connect({ url, token }).open({ cwd }),
};
for (const [name, open] of Object.entries(clients)) {
  const client = await open();
  let text = "";
  for await (const event of client.prompt("!text 20")) {
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") text += event.assistantMessageEvent.delta;
  }
  const controller = new AbortController();
  const aborted = client.prompt("!gate never", { signal: controller.signal }).text().then(() => "went on", () => "aborted");
  for await (const event of client.events()) if (event.type === "message_update") break;
  controller.abort();
  const how = await aborted;
  await client.waitIdle();
  const { isStreaming } = await client.getState();
  await client.close();
  console.log(text.trim().endsWith("w19") && how === "aborted" && !isStreaming ? "ok" : "not ok", name);
}
process.exit();
