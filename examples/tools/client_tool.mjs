#!/usr/bin/env node
// A tool that the client runs, over a pipe, with nothing but the standard library.
//
// node client_tool.mjs          Offline on a script of its own; LINNET_PROVIDER=anthropic (say) asks a real model.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const STOCK = { loom: 3, "punched card": 12_000 };
const TOOL = {
  name: "stock",
  description: "Say how many of something are in stock.",
  parameters: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
};
const CALLS = ["loom", "spinning jenny"].map((item) => ({ call: "stock", args: { item } }));
const SCRIPT = { turns: [[{ text: "Let me ask." }, ...CALLS], [{ text: "Three looms are left." }]] };

/** What the model is told, and whether it is bad news. */
async function stock({ item }) {
  if (!(item in STOCK)) throw new Error(`We have no such thing as a ${item}.`);
  return String(STOCK[item]);
}

const folder = mkdtempSync(join(tmpdir(), "client-tool-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "script.json"), JSON.stringify(SCRIPT));
const provider = process.env.LINNET_PROVIDER;
const flags = provider ? ["--provider", provider] : ["--script", "script.json"];
const agent = spawn(process.env.LINNET || "linnet", ["rpc", "--no-tools", ...flags], {
  cwd: folder,
  stdio: ["pipe", "pipe", "inherit"],
});
agent.on("error", (error) => {
  console.error(`client_tool.mjs: cannot start the agent: ${error.message}`);
  process.exitCode = 1;
});
agent.stdin.on("error", () => {}); // It has died: the end of its output says so.
const send = (command) => agent.stdin.write(JSON.stringify(command) + "\n");

/** Answers one request. Others may come meanwhile: nothing waits for this. */
async function answer({ request_id, name, args }) {
  console.log(`? ${name} ${args.item}`);
  send({ type: "tool_response_progress", request_id, text: "counting\n" });
  try {
    send({ type: "tool_response", request_id, content: await stock(args) });
  } catch (error) {
    send({ type: "tool_response", request_id, content: error.message, is_error: true });
  }
}

send({ id: "1", type: "set_tools", tools: [TOOL] });
send({ id: "2", type: "prompt", message: "How many looms do we have? And spinning jennies?" });

let partial = "";
agent.stdout.setEncoding("utf8"); // A chunk may end inside a character, and inside a line.
for await (const chunk of agent.stdout) {
  const lines = (partial + chunk).split("\n");
  partial = lines.pop();
  for (const frame of lines.map((line) => JSON.parse(line))) {
    if (frame.type === "tool_request") answer(frame);
    if (frame.type === "tool_request_closed") console.log("never mind"); // Aborted, or too late.
    if (frame.type === "tool_progress") process.stdout.write(frame.text);
    if (frame.type === "tool_result") console.log(frame.is_error ? "✗" : "✓", frame.content[0].text);
    if (frame.type === "assistant_message") console.log(frame.content[0].text);
    if (frame.type === "response" && !frame.success) console.error(`client_tool.mjs: ${frame.error}`);
    if (frame.type === "done") agent.stdin.end(); // Without more input the agent exits.
  }
}
