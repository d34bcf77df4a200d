#!/usr/bin/env node
// Drive linnet from Node: send one prompt, stream the answer. Nothing but the standard library.
//
// client.mjs [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const USAGE = "usage: client.mjs [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]";
const MIME = { ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp" };
// A tool that is run here, and not by the agent. With --ask, the model is offered it.
const ASK_USER = {
  name: "ask_user",
  description: "Ask the person who is at the keyboard.",
  parameters: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
};
const STOPPED = { aborted: "the turn was aborted", length: "the answer was cut at the model's output limit" };

/** The lines of a stream, as readline splits them. linnet escapes U+2028 and U+2029, so that a line stays whole. */
const lines = (stream) => createInterface({ input: stream, crlfDelay: Infinity })[Symbol.asyncIterator]();

/** The frames an agent prints, one JSON object a line. One that was cut off is of no use: its writer has died. */
async function* frames(stdout) {
  for await (const line of lines(stdout)) {
    let frame;
    try {
      frame = JSON.parse(line);
    } catch {
      return;
    }
    yield frame;
  }
}

/** What the person at the keyboard types. Stdin is touched only if somebody asks, or we would wait for its end. */
const keyboard = {
  typed: null,
  async ask(text) {
    screen.note(text);
    this.typed ??= lines(process.stdin);
    const { value, done } = await this.typed.next().catch(() => ({ done: true })); // We are about to end.
    return done ? null : value;
  },
};

/** The fields of an answer to a question. */
async function reply({ title, method, message, options = [], permission }) {
  const shown = permission ? permission.preview : message;
  const listed = options.map((option, index) => `  ${index + 1} ${option}`);
  const typed = await keyboard.ask([`? ${title}`, ...(shown ? [shown] : []), ...listed].join("\n"));
  if (typed === null) return { cancelled: true }; // Nobody is there. No answer is a no.
  if (method === "confirm") return { confirmed: ["y", "yes"].includes(typed.toLowerCase()) };
  if (method !== "select") return { value: typed };
  const chosen = options[Number(typed) - 1];
  return chosen === undefined ? { cancelled: true } : { value: chosen };
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

async function run(message, images, flags, asks) {
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
  if (asks) send({ id: "4", type: "set_tools", tools: [ASK_USER] });
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
      // The agent waits for these. We do not: whatever it has to say meanwhile is shown.
      case "question":
        reply(frame).then((answer) => send({ type: "answer", request_id: frame.request_id, ...answer }));
        break;
      case "tool_request":
        keyboard.ask(`? ${frame.args.question}`).then((typed) => {
          const content = typed ?? "Nobody is here to answer.";
          send({ type: "tool_response", request_id: frame.request_id, content, is_error: typed === null });
        });
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
        if (frame.success) break;
        if (frame.command === "answer" || frame.command === "tool_response") {
          screen.note(`client: ${frame.command}: ${frame.error}`); // Too late: nobody waits for it any more.
        } else {
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

  process.stdin.destroy(); // It may still be waited for.
  screen.endLine();
  if (!done) problem ||= failure || "the agent ended before it was done";
  if (problem) screen.note(`client: ${problem}`);
  const more = usage?.cost_known === false ? " + ?" : ""; // Not every price is known.
  if (usage) screen.note(`${usage.input} tokens in, ${usage.output} out, $${usage.cost_usd.toFixed(4)}${more}`);
  return interrupted && done ? 130 : problem ? 1 : 0;
}

function parse(argv) {
  const split = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const options = { image: { type: "string" }, ask: { type: "boolean", default: false } };
  const { values, positionals } = parseArgs({ args: argv.slice(0, split), options, allowPositionals: true });
  if (positionals.length !== 1) throw new Error("give one prompt");
  return { prompt: positionals[0], image: values.image, ask: values.ask, flags: argv.slice(split + 1) };
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
  process.exitCode = await run(args.prompt, args.image ? [read(args.image)] : [], args.flags, args.ask);
} catch (error) {
  screen.note(`client: ${error.message}`);
  process.exitCode = 1;
}
