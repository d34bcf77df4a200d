// An extension in Node, without packages. Under zot it is a tool that takes its time; linnet is told how far it is, and
// says when nobody waits any more.
const { createInterface } = require("node:readline");

const send = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");
const text = (words) => [{ type: "text", text: words }];
const running = new Map();
let linnet; // What linnet has beyond zot; undefined under zot.

send({ type: "hello", name: "countdown", version: "1.0.0", capabilities: ["tools", "linnet"] });
send({
  type: "register_tool",
  name: "countdown",
  description: "Count down to zero, ten numbers a second.",
  schema: {
    type: "object",
    properties: { from: { type: "integer", minimum: 1, description: "The first number" } },
    required: ["from"],
  },
});
send({ type: "ready" });

function begin({ id, args }) {
  let left = Number(args.from);
  if (!(left > 0)) {
    send({ type: "tool_result", id, is_error: true, content: text("from must be a number above zero") });
    return;
  }
  const timer = setInterval(() => {
    if (linnet) send({ type: "tool_progress", id, text: `${left}\n` });
    left -= 1;
    if (left < 1) {
      end(id);
      send({ type: "tool_result", id, content: text("lift-off") });
    }
  }, 100);
  running.set(id, timer);
}

function end(id) {
  clearInterval(running.get(id));
  running.delete(id);
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const frame = JSON.parse(line);
    if (frame.type === "hello_ack") linnet = frame.linnet;
    else if (frame.type === "tool_call") begin(frame);
    else if (frame.type === "cancel") end(frame.id);
  })
  .on("close", () => process.exit(0));
