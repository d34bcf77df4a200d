#!/usr/bin/env node
// Drive linnet from Node: send one prompt, stream the answer. Nothing but the standard library.
//
// client.mjs [--image FILE] PROMPT [-- flags of linnet rpc]

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { parseArgs } from "node:util";

const USAGE = "usage: client.mjs [--image FILE] PROMPT [-- flags of linnet rpc]";
const MIME = { ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp" };
const STOPPED = { aborted: "the turn was aborted", length: "the answer was cut at the model's output limit" };

/** The frames an agent prints, one JSON object a line. */
async function* frames(stdout) {
  // A chunk may end inside a character: the stream's own StringDecoder keeps the half until the rest has come.
  stdout.setEncoding("utf8");
  // It may end inside a line, too. Do not use readline: it also splits at U+2028 and U+2029, which JSON may contain.
  let partial = "";
  for await (const chunk of stdout) {
    const lines = (partial + chunk).split("\n");
    partial = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
  // A partial line that is left now is from an agent that died. It is of no use.
}

/** The answer goes to stdout as it comes, everything else to stderr, and never both on one line. */
const screen = {
  unfinished: null, // Where the line that was begun last has not ended yet.
  say(text) {
    this.write(process.stdout, text);
  },
  progress(text) {
    const [dim, plain] = process.stderr.isTTY ? ["\x1b[2m", "\x1b[0m"] : ["", ""];
    this.write(process.stderr, text, dim, plain);
  },
  note(text) {
    this.endLine();
    this.write(process.stderr, text + "\n");
  },
  write(to, text, before = "", after = "") {
    if (!text) return;
    if (this.unfinished !== to) this.endLine();
    to.write(before + text + after);
    this.unfinished = text.endsWith("\n") ? null : to;
  },
  endLine() {
    this.unfinished?.write("\n");
    this.unfinished = null;
  },
};

function firstLine(content) {
  const block = content.find((block) => block.type === "text");
  return block ? block.text.split("\n", 1)[0] : "[image]";
}

async function run(message, images, flags) {
  const agent = spawn(process.env.LINNET || "linnet", ["rpc", ...flags], {
    stdio: ["pipe", "pipe", "inherit"], // A stderr that nobody drains would block the agent.
    detached: true, // A session of its own keeps the terminal's Ctrl-C from the agent. We ask it to abort instead.
  });
  let failure = "";
  agent.on("error", (error) => (failure = `cannot start the agent: ${error.message}`));
  agent.stdin.on("error", () => {}); // It has died or was finished: whoever reads its frames will know.
  const send = (command) => agent.stdin.write(JSON.stringify(command) + "\n");

  // No need to wait for an answer in between: commands are taken in order, and a refusal shows up below.
  const token = process.env.ZOTCORE_RPC_TOKEN;
  if (token) send({ id: "1", type: "hello", token });
  send({ id: "2", type: "prompt", message, images });

  let interrupted = false;
  // Once: a second Ctrl-C ends us, which closes the agent's pipes.
  process.once("SIGINT", () => {
    interrupted = true;
    send({ id: "3", type: "abort" });
  });

  let done = false;
  let problem = "";
  let usage = null;
  for await (const frame of frames(agent.stdout)) {
    switch (frame.type) {
      case "text_delta":
        screen.say(frame.delta);
        break;
      case "tool_call":
        screen.note(`→ ${frame.name} ${[...JSON.stringify(frame.args)].slice(0, 100).join("")}`);
        break;
      case "tool_progress":
        screen.progress(frame.text);
        break;
      case "tool_result":
        screen.note((frame.is_error ? "✗ " : "✓ ") + firstLine(frame.content));
        break;
      case "usage":
        usage = frame.cumulative;
        break;
      case "turn_end": // One model call. What counts is how the last one went.
        problem = frame.error || STOPPED[frame.stop] || "";
        break;
      case "error":
        problem = frame.message;
        break;
      case "response":
        if (!frame.success) {
          problem = `${frame.command}: ${frame.error}`;
          agent.stdin.end();
        }
        break;
      case "done":
        done = true;
        agent.stdin.end(); // Without more input the agent exits, its output ends, and so does this loop.
        break;
      // Anything else is news we do not need. The protocol only grows, so ignore what you do not know.
    }
  }

  screen.endLine();
  if (!done) problem ||= failure || "the agent ended before it was done";
  if (problem) screen.note(`client: ${problem}`);
  const more = usage?.cost_known === false ? " + ?" : ""; // Not every price is known.
  if (usage) screen.note(`${usage.input} tokens in, ${usage.output} out, $${usage.cost_usd.toFixed(4)}${more}`);
  return interrupted && done ? 130 : problem ? 1 : 0;
}

function parse(argv) {
  const split = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const options = { image: { type: "string" } };
  const { values, positionals } = parseArgs({ args: argv.slice(0, split), options, allowPositionals: true });
  if (positionals.length !== 1) throw new Error("give one prompt");
  return { prompt: positionals[0], image: values.image, flags: argv.slice(split + 1) };
}

let args;
try {
  args = parse(process.argv.slice(2));
} catch (error) {
  console.error(`${error.message}\n${USAGE}`);
  process.exit(2);
}
try {
  const read = (path) => ({ mime_type: MIME[extname(path).toLowerCase()] ?? "", data: readFileSync(path, "base64") });
  // Not process.exit: what was written to a pipe may still be on its way.
  process.exitCode = await run(args.prompt, args.image ? [read(args.image)] : [], args.flags);
} catch (error) {
  screen.note(`client: ${error.message}`);
  process.exitCode = 1;
}
