// The interactive client of pi's document, in our words: spawns `pi`, shows what the model says, aborts on Ctrl+C.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const agent = spawn("pi", ["--mode", "rpc", "--no-session"]);
const send = (command) => agent.stdin.write(`${JSON.stringify(command)}\n`);

createInterface({ input: agent.stdout }).on("line", (line) => {
  const { type, assistantMessageEvent: update } = JSON.parse(line);
  if (type === "message_update" && update.type === "text_delta") process.stdout.write(update.delta);
});
process.on("SIGINT", () => send({ type: "abort" }));
send({ type: "prompt", message: process.argv[2] });
