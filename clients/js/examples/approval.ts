// Approve what the agent wants to do, in a terminal: node approval.js "Write a small program and run it."
import { createInterface } from "node:readline/promises";
import { spawn } from "linnet-agent";

const terminal = createInterface({ input: process.stdin, output: process.stderr });
const command = process.env["AGENT"]?.split(" ") ?? ["linnet", "--mode", "rpc", "--dialect", "pi-1"];

await using agent = await spawn({
  command,
  args: ["--permission", "ask", "--no-session"],
  async onQuestion({ title, permission, options }, { signal }) {
    if (!permission) return terminal.question(`${title} `, { signal });
    const answer = await terminal.question(`${permission.tool}: ${permission.preview}\nAllow it? [y]es, [a]lways, or why not: `, { signal });
    if (/^y(es)?$/i.test(answer)) return true;
    if (/^a(lways)?$/i.test(answer)) return options?.[1];
    return { confirmed: false, reason: answer };
  },
});

for await (const event of agent.prompt(process.argv[2] ?? "Write a small program and run it.")) {
  if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
    process.stdout.write(event.assistantMessageEvent.delta);
  } else if (event.type === "tool_execution_end") {
    console.error(`${event.toolName}: ${event.isError ? "failed" : "done"}`);
  }
}
console.log();
terminal.close();
