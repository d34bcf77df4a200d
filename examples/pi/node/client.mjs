#!/usr/bin/env node
// One prompt in pi's protocol: child_process and readline, nothing else.
//
// client.mjs PROMPT [flags of linnet --mode rpc]

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [prompt, ...flags] = process.argv.slice(2);
if (prompt === undefined) {
  console.error("usage: client.mjs PROMPT [flags of linnet --mode rpc]");
  process.exit(2);
}
const agent = spawn(process.env.LINNET ?? "linnet", ["--mode", "rpc", "--no-session", ...flags], {
  stdio: ["pipe", "pipe", "inherit"],
});
const send = (command) => agent.stdin.write(JSON.stringify(command) + "\n");
let failure = "the agent ended before it had answered";

// linnet escapes U+2028 and U+2029, so that readline, which splits there too, sees whole lines.
createInterface({ input: agent.stdout, crlfDelay: Infinity }).on("line", (line) => {
  const event = JSON.parse(line);
  if (event.type === "response" && !event.success) {
    failure = event.error;
    agent.stdin.end();
  } else if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
    process.stdout.write(event.assistantMessageEvent.delta);
  } else if (event.type === "tool_execution_start") {
    console.error(`\n[${event.toolName}]`);
  } else if (event.type === "agent_end") {
    process.stdout.write("\n");
    const last = event.messages.at(-1);
    failure = last?.stopReason === "error" ? last.errorMessage : "";
    agent.stdin.end(); // What was asked is finished first: a run that failed may be tried again, and the last one counts.
  }
});

process.on("SIGINT", () => send({ type: "abort" }));
agent.on("error", (error) => {
  console.error(`client: ${error.message}`);
  process.exit(1);
});
agent.on("close", () => {
  if (failure) console.error(`client: ${failure}`);
  process.exitCode = failure ? 1 : 0;
});
send({ id: "1", type: "prompt", message: prompt });
