import type * as Zot from "./types/zot.js";
import type * as Pi from "./types/pi.js";
import type * as PiLegacy from "./types/pi-legacy.js";
import type * as Pi073 from "./types/pi-0.73.js";
import type * as Pi087 from "./types/pi-0.87.js";
import type * as Pi1 from "./types/pi-1.js";

/** What each protocol is made of. The types are printed by `linnet schema`. */
export interface Dialects {
  zot: { commands: Zot.Commands; responses: Zot.Responses; events: Zot.Events; message: Zot.Message };
  pi: { commands: Pi.Commands; responses: Pi.Responses; events: Pi.Events; message: Pi.Message };
  "pi-legacy": { commands: PiLegacy.Commands; responses: {}; events: PiLegacy.Events; message: PiLegacy.Message };
  "pi-0.73": { commands: Pi073.Commands; responses: Pi073.Responses; events: Pi073.Events; message: Pi073.Message };
  "pi-0.87": { commands: Pi087.Commands; responses: Pi087.Responses; events: Pi087.Events; message: Pi087.Message };
  "pi-1": { commands: Pi1.Commands; responses: Pi1.Responses; events: Pi1.Events; message: Pi1.Message };
}

/** The name of a protocol. */
export type Dialect = keyof Dialects;

/** The name of a command of a protocol. */
export type CommandName<D extends Dialect = Dialect> = D extends Dialect ? keyof Dialects[D]["commands"] & string : never;

/** What a command takes, besides its `type` and `id`. */
export type Fields<D extends Dialect, N> = N extends keyof Dialects[D]["commands"]
  ? Omit<Dialects[D]["commands"][N], "type" | "id">
  : never;

/** What a command is answered with. */
export type Answer<D extends Dialect, N> = N extends keyof Dialects[D]["responses"]
  ? Dialects[D]["responses"][N] extends { data: infer T }
    ? T
    : Dialects[D]["responses"][N] extends { data?: infer T }
      ? T | undefined
      : void
  : void;

/** A message of a conversation. */
export type Message<D extends Dialect = "pi-1"> = Dialects[D]["message"];

/** An object of a type that this version does not know, passed through as it came. */
export interface UnknownEvent {
  type: "unknown";
  event: Record<string, unknown>;
}

/** A line that is no object: a stray print, or the torn last line of an agent that was killed. */
export interface BadLine {
  type: "bad_line";
  line: string;
  reason: string;
}

/** What an agent tells: a union by `type`. */
export type Event<D extends Dialect = "pi-1"> =
  | (D extends Dialect ? Dialects[D]["events"][keyof Dialects[D]["events"]] : never)
  | UnknownEvent
  | BadLine;

type EventName<D extends Dialect = Dialect> = D extends Dialect ? keyof Dialects[D]["events"] & string : never;

// Checked against the types below: a command or an event that is added there does not compile until it is listed here.
const COMMANDS = [
  "abort", "abort_bash", "abort_retry", "answer", "bash", "branch", "clear", "clear_queue", "clone", "compact",
  "cycle_model", "cycle_thinking_level", "export_html", "extension_ui_response", "follow_up", "fork",
  "get_available_models", "get_available_thinking_levels", "get_branch_messages", "get_commands", "get_entries",
  "get_fork_messages", "get_last_assistant_text", "get_messages", "get_models", "get_session_stats", "get_state",
  "get_tree", "hello", "list_sessions", "navigate", "new_session", "ping", "prompt", "reload", "set_auto_compaction",
  "set_auto_retry", "set_follow_up_mode", "set_model", "set_session_name", "set_steering_mode", "set_stream",
  "set_thinking_level", "set_tools", "steer", "switch_session", "tool_response", "tool_response_progress", "trust",
] as const satisfies readonly CommandName[];
const EVENTS = [
  "agent_end", "agent_settled", "agent_start", "assistant_message", "assistant_start", "auto_compaction_end",
  "auto_compaction_start", "auto_retry_end", "auto_retry_start", "bash_execution_update", "compact_done",
  "compaction", "compaction_end", "compaction_start", "done", "entry_appended", "error", "ext_display",
  "ext_editor_text", "ext_error", "ext_notify", "ext_status", "ext_title", "ext_widget", "extension_error",
  "extension_ui_closed", "extension_ui_request", "gap", "hook_error", "message_end", "message_start",
  "message_update", "output", "project_untrusted", "question", "question_closed", "queue_update", "session",
  "session_error", "session_info_changed", "snapshot", "summarization_retry_attempt_start",
  "summarization_retry_finished", "summarization_retry_scheduled", "text_delta", "thinking_delta",
  "thinking_level_changed", "tool_call", "tool_execution_end", "tool_execution_start", "tool_execution_update",
  "tool_progress", "tool_request", "tool_request_closed", "tool_result", "tool_use_args", "tool_use_end",
  "tool_use_start", "turn_end", "turn_start", "usage", "user_message",
] as const satisfies readonly EventName[];

type None<Missing extends never> = Missing;
export type AllAreListed = [
  None<Exclude<CommandName, (typeof COMMANDS)[number]>>,
  None<Exclude<EventName, (typeof EVENTS)[number]>>,
];

/** Every command of every protocol that is a method of its own name. */
export const commands: readonly string[] = COMMANDS;

/** Every event of every protocol. */
export const events: ReadonlySet<string> = new Set(EVENTS);

/** `get_state` as `getState`. */
export type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** Return `getState` for `get_state`. */
export const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
