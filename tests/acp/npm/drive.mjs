// Drives an agent with the official client: a turn with a question, a cancelled one, and the session told again.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [kit, folder, ...command] = process.argv.slice(2);
const acp = await import(pathToFileURL(kit));
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const told = [];
const asked = [];
const app = acp
  .client({ name: "test" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    asked.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    told.push(params.update);
  });
const text = (words) => [{ type: "text", text: words }];
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (ctx) => {
  const { agentInfo } = await ctx.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ctx.request(acp.methods.agent.session.new, { cwd: folder, mcpServers: [] });
  const write = '!tool write {"path": "made", "content": "x"}';
  const first = await ctx.request(acp.methods.agent.session.prompt, { sessionId, prompt: text(write) });
  const hanging = ctx.request(acp.methods.agent.session.prompt, { sessionId, prompt: text("!hang") });
  await ctx.notify(acp.methods.agent.session.cancel, { sessionId });
  const second = await hanging;
  const live = told.splice(0).length;
  await ctx.request(acp.methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
  const { sessions } = await ctx.request(acp.methods.agent.session.list, {});
  const kinds = [...new Set(told.map((update) => update.sessionUpdate))].sort();
  const stops = [first.stopReason, second.stopReason];
  console.log(JSON.stringify({ name: agentInfo.name, asked, stops, live: live > 5, kinds, sessions: sessions.length }));
});
agent.stdin.end();
