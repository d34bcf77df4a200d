// What a program writes that imports the types of a dialect. It is compiled, not run.
import type {
  Answer,
  Command,
  CommandName,
  Commands,
  ErrorCode,
  Event,
  EventName,
  Events,
  Line,
  Response,
  StateData,
} from "./pi-1.js";

declare function send<C extends Command>(command: C): Promise<Response<C["type"]>>;
declare function ask<N extends CommandName>(name: N, fields: Omit<Commands[N], "type" | "id">): Promise<Answer<N>>;
declare function on<N extends EventName>(name: N, heard: (event: Events[N]) => void): void;

function never(value: never): never {
  throw new Error(String(value));
}

export async function drive(): Promise<string> {
  const answer = await send({ type: "get_state" });
  if (!answer.success) {
    const code: ErrorCode | undefined = answer.code;
    return `${answer.command}: ${answer.error} ${code ?? ""}`;
  }
  const state: StateData = answer.data;
  const { disposition } = await ask("prompt", { message: "hi", streamingBehavior: "steer" });
  const nothing: undefined = await ask("abort", {});
  on("agent_settled", (event) => console.log(event.aborted, nothing));
  const cycled = await ask("cycle_model", {});
  // @ts-expect-error: there is a level, and no other.
  await ask("set_thinking_level", { level: "a lot" });
  // @ts-expect-error: a command without what it needs.
  await send({ type: "set_model", provider: "anthropic" });
  // @ts-expect-error: no command at all.
  await send({ type: "sing" });
  return `${state.sessionId} ${disposition} ${cycled?.model.id ?? "the same"}`;
}

export function told(event: Event): string {
  switch (event.type) {
    case "message_update": {
      const update = event.assistantMessageEvent;
      switch (update.type) {
        case "text_delta":
        case "thinking_delta":
        case "toolcall_delta":
          return update.delta;
        case "text_end":
        case "thinking_end":
          return update.content;
        case "toolcall_end":
          return update.toolCall.name;
        case "toolcall_start":
          return update.toolName;
        case "text_start":
        case "thinking_start":
          return "";
        default:
          return never(update);
      }
    }
    case "message_start":
    case "message_end":
      switch (event.message.role) {
        case "user":
        case "custom":
          return event.message.content.map((block) => (block.type === "text" ? block.text : block.mimeType)).join("");
        case "assistant":
          return event.message.stopReason;
        case "toolResult":
          return event.message.toolName;
        case "bashExecution":
          return event.message.command;
        case "compactionSummary":
        case "branchSummary":
          return event.message.summary;
        case "system":
          return event.message.content;
        default:
          return never(event.message);
      }
    case "extension_ui_request":
      return event.permission?.toolName ?? event.title ?? "";
    case "agent_end":
      return String(event.willRetry);
    case "gap":
      return String(event.after);
    case "tool_execution_end":
      return String(event.isError);
    case "agent_start":
    case "agent_settled":
    case "turn_start":
    case "turn_end":
    case "tool_execution_start":
    case "tool_execution_update":
    case "queue_update":
    case "auto_retry_start":
    case "auto_retry_end":
    case "compaction_start":
    case "compaction_end":
    case "summarization_retry_scheduled":
    case "summarization_retry_attempt_start":
    case "summarization_retry_finished":
    case "bash_execution_update":
    case "entry_appended":
    case "thinking_level_changed":
    case "session_info_changed":
    case "extension_error":
    case "extension_ui_closed":
    case "tool_request":
    case "tool_request_closed":
    case "output":
    case "session_error":
    case "project_untrusted":
    case "session":
    case "snapshot":
    case "error":
      return event.type;
    default:
      return never(event);
  }
}

export function sorted(line: Line): string {
  return line.type === "response" ? line.command : line.type;
}
