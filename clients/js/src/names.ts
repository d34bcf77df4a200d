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

// Each of the words on the left with each of those on the right. Checked against the types: a command or an event that is
// added there does not compile until it is listed here.
const COMMANDS = {
  "": "abort bash branch clear clear_queue clone export_html fork hello list_sessions navigate ping reload trust",
  "abort set_auto": "retry",
  "cycle set": "model thinking_level",
  get: "branch_messages commands entries fork_messages last_assistant_text messages models session_stats state tree",
  get_available: "models thinking_levels",
  "new switch": "session",
  set: "auto_compaction follow_up_mode session_name steering_mode stream",
  abort: "bash",
  tool: "response response_progress",
} as const;
const EVENTS = {
  "": "compaction done entry_appended error gap output project_untrusted question session snapshot usage compact_done user_message",
  "agent auto_compaction auto_retry compaction message tool_execution tool_use turn": "start end",
  agent: "settled",
  assistant: "start message",
  "bash_execution message queue tool_execution": "update",
  ext: "display editor_text notify status title widget",
  "ext extension hook session": "error",
  extension_ui: "request",
  "extension_ui question tool_request": "closed",
  session: "info_changed",
  summarization_retry: "attempt_start finished scheduled",
  "text thinking": "delta",
  thinking: "level_changed",
  tool: "call progress request result use_args",
} as const;

/** Commands whose methods are written by hand, or that have none. */
export type Own = "prompt" | "steer" | "follow_up" | "compact" | "set_tools" | "answer" | "extension_ui_response";

type Words<S extends string> = S extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : S;
type Listed<T> = {
  [F in keyof T & string]: `${F extends "" ? "" : `${Words<F>}_`}${Words<T[F] & string>}`;
}[keyof T & string];
type Same<A extends B, B extends C, C = A> = [A, B, C];
export type AllAreListed = [
  Same<Exclude<CommandName, Own>, Listed<typeof COMMANDS>>,
  Same<EventName, Listed<typeof EVENTS>>,
];

const listed = (names: Record<string, string>): string[] =>
  Object.entries(names).flatMap(([heads, tails]) =>
    heads.split(" ").flatMap((head) => tails.split(" ").map((tail) => (head ? `${head}_${tail}` : tail))),
  );

/** Every command of every protocol, but for those with methods of their own. */
export const commands = /* @__PURE__ */ listed(COMMANDS);

/** Every event of every protocol, and our own. */
export const events: ReadonlySet<string> = /* @__PURE__ */ new Set([...listed(EVENTS), "bad_line", "unknown"]);

/** `get_state` as `getState`. */
export type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** Return `getState` for `get_state`. */
export const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
