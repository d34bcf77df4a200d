// Messages of a session as a model is sent them, and as a text.
const text = (content) =>
  typeof content === "string" ? content : content.filter((block) => block.type === "text").map((block) => block.text).join("");

const user = (message, words) => ({ role: "user", content: [{ type: "text", text: words }], timestamp: message.timestamp });

/** Return the messages that a model is sent for these. */
export function convertToLlm(messages) {
  return messages.flatMap((message) => {
    switch (message.role) {
      case "custom": {
        const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
        return [{ role: "user", content, timestamp: message.timestamp }];
      }
      case "bashExecution":
        return message.excludeFromContext ? [] : [user(message, bash(message))];
      case "compactionSummary":
        return [user(message, `The conversation so far, in short:\n\n<summary>\n${message.summary}\n</summary>`)];
      case "branchSummary":
        return [user(message, `A branch of the conversation that was left, in short:\n\n<summary>\n${message.summary}\n</summary>`)];
      case "user":
      case "assistant":
      case "toolResult":
      case "system":
        return [message];
      default:
        return [];
    }
  });
}

function bash(message) {
  const parts = [`Ran \`${message.command}\``, message.output ? `\`\`\`\n${message.output}\n\`\`\`` : "(no output)"];
  if (message.cancelled) parts.push("(command cancelled)");
  else if (message.exitCode) parts.push(`Command exited with code ${message.exitCode}`);
  return parts.join("\n");
}

/** Return a conversation as a text that can be summarized. */
export function serializeConversation(messages) {
  const parts = [];
  for (const message of messages) {
    if (message.role === "user") {
      const words = text(message.content);
      if (words) parts.push(`[User]: ${words}`);
    } else if (message.role === "assistant") {
      const words = text(message.content);
      if (words) parts.push(`[Assistant]: ${words}`);
      const calls = message.content.filter((block) => block.type === "toolCall").map(called);
      if (calls.length) parts.push(`[Assistant tool calls]: ${calls.join("; ")}`);
    } else if (message.role === "toolResult") {
      const words = text(message.content);
      if (words) parts.push(`[Tool result]: ${words}`);
    }
  }
  return parts.join("\n\n");
}

function called(call) {
  const args = Object.entries(call.arguments ?? {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${call.name}(${args.join(", ")})`;
}
