// Replaces what is said, once and again, and returns what may not replace anything.
export default function (pi: any) {
  const text = (message: any, words: string) => ({ message: { ...message, content: [{ type: "text", text: words }] } });
  pi.on("message_end", ({ message }: any) => {
    const said = message.role === "user" ? message.content[0].text : "";
    if (said === "wrong") return { message: { role: "assistant", content: [] } };
    if (said === "throwing") throw new Error("thrown");
    if (message.role === "user") return text(message, `${said} `);
    if (message.role === "toolResult") return text(message, "changed");
    if (message.role !== "assistant") return undefined;
    const content = message.content.map((part: any) =>
      part.type === "toolCall" ? { ...part, arguments: { command: "echo other" } } : { ...part, text: `${part.text}+` });
    return { message: { ...message, content } };
  });
  pi.on("message_end", ({ message }: any, ctx: any) => {
    if (message.role !== "system") ctx.ui.notify(`${message.role} ${JSON.stringify(message.content)}`);
  });
}
