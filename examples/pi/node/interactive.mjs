#!/usr/bin/env node
// A conversation in pi's protocol: type a line, read the answer; Ctrl-C aborts the run, Ctrl-D ends.
//
// interactive.mjs [flags of linnet --mode rpc]

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const agent = spawn(process.env.LINNET ?? "linnet", ["--mode", "rpc", "--no-session", ...process.argv.slice(2)], {
  stdio: ["pipe", "pipe", "inherit"],
});
const send = (command) => agent.stdin.write(JSON.stringify(command) + "\n");
let working = false;

createInterface({ input: agent.stdout, crlfDelay: Infinity }).on("line", (line) => {
  const event = JSON.parse(line);
  if (event.type === "agent_start") working = true;
  if (event.type === "agent_end") {
    working = false;
    const last = event.messages.at(-1);
    process.stdout.write(last?.errorMessage ? `\n[${last.errorMessage}]\n` : "\n");
  }
  if (event.type === "response" && !event.success) console.error(`[${event.error}]`);
  if (event.type === "message_update") {
    const { assistantMessageEvent } = event;
    if (assistantMessageEvent.type === "text_delta") process.stdout.write(assistantMessageEvent.delta);
  }
  if (event.type === "tool_execution_start") console.log(`\n[${event.toolName}]`);
});

const keyboard = createInterface({ input: process.stdin });
keyboard.on("line", (line) => {
  // What is typed while the agent works is heard after the tool that runs.
  if (line.trim()) send({ type: "prompt", message: line, streamingBehavior: "steer" });
});
keyboard.on("close", () => agent.stdin.end()); // What was asked is finished, then the agent ends.
process.on("SIGINT", () => (working ? send({ type: "abort" }) : agent.stdin.end()));
agent.on("close", (code) => process.exit(code ?? 1));
