// linnet: the earlier pi protocol, as linnet speaks it. Made by `linnet schema --dialect pi-legacy --format typescript`: do not edit.
//
// Commands and events of one line of JSON each. Fields that are not listed may be added in later versions: ignore what you do not know.

/** Every command, by its `type`. */
export interface Commands {
  prompt: PromptCommand;
  abort: AbortCommand;
  compact: CompactCommand;
}

/** The `type` of a command. */
export type CommandName = keyof Commands;

/** A line that the agent reads. */
export type Command = Commands[CommandName];

/** Every event, by its `type`. */
export interface Events {
  agent_start: AgentStartEvent;
  agent_end: AgentEndEvent;
  turn_start: TurnStartEvent;
  turn_end: TurnEndEvent;
  message_start: MessageStartEvent;
  message_update: MessageUpdateEvent;
  message_end: MessageEndEvent;
  tool_execution_start: ToolExecutionStartEvent;
  tool_execution_end: ToolExecutionEndEvent;
  session: SessionEvent;
  compaction: CompactionEvent;
  error: ErrorEvent;
  gap: GapEvent;
  snapshot: SnapshotEvent;
}

/** The `type` of an event. */
export type EventName = keyof Events;

/** A line about what happens. */
export type Event = Events[EventName];

/** A line, in either direction. */
export type Line = Command | Output;

/** A line that the agent prints. */
export type Output = Event;

/**
 * One word for programs.
 *
 * - `bad_input`: What was sent makes no sense.
 * - `bad_output`: The answer does not have the form that was asked for.
 * - `budget`: The agent, or all agents of the server, have cost as much as they may.
 * - `busy`: A prompt is running, or there are too many connections.
 * - `called_off`: An extension called it off; nothing has changed.
 * - `closed`: The agent was closed.
 * - `config`: A flag, a variable or a file cannot be used.
 * - `context_overflow`: The conversation no longer fits the model.
 * - `contradiction`: Flags do not go together.
 * - `draining`: The server begins nothing any more.
 * - `internal`: A defect of linnet's, or something that nobody has a better word for.
 * - `limit_reached`: A prompt took as much as it may: steps, money, time.
 * - `log_refused`: Somebody else owns the session by now.
 * - `log_unavailable`: Where the session is kept cannot be reached just now: worth another try.
 * - `missing_key`: There is no credential for the provider.
 * - `model_refused`: The model, or a filter in front of it, will not answer.
 * - `no_such_agent`: No agent has this id.
 * - `not_running`: Nothing runs that could be told this.
 * - `nothing_to_compact`: The conversation is short as it is.
 * - `provider`: The provider of the model failed.
 * - `provider_rejected`: The provider refused: trying again is useless.
 * - `provider_unavailable`: The provider cannot be reached, or is overloaded: worth another try.
 * - `reused`: Another command was sent with this id.
 * - `session`: A session file cannot be used, or no longer.
 * - `session_in_use`: Another process has the session.
 * - `too_many_agents`: There are as many agents as there may be.
 * - `unknown`: The server ended after the command had begun, and nobody knows what became of it.
 * - `unknown_model`: No model is called so.
 * - `unknown_provider`: No provider is called so.
 * - `usage`: A command line makes no sense.
 * - `watching`: The client watches the agent, and this command would change something.
 */
export type ErrorCode = "bad_input" | "bad_output" | "budget" | "busy" | "called_off" | "closed" | "config" | "context_overflow" | "contradiction" | "draining" | "internal" | "limit_reached" | "log_refused" | "log_unavailable" | "missing_key" | "model_refused" | "no_such_agent" | "not_running" | "nothing_to_compact" | "provider" | "provider_rejected" | "provider_unavailable" | "reused" | "session" | "session_in_use" | "too_many_agents" | "unknown" | "unknown_model" | "unknown_provider" | "usage" | "watching";

/** An image to say something about: its data, or a source. */
export interface PromptImage {
  /** In base64. */
  data?: string;
  /** Overridden by the bytes, if they are PNG, JPEG, GIF or WebP. */
  mimeType?: string;
  source?: ImageSource | null;
  type?: string;
}

/** Either the bytes of an image or its address. The field for its type has two spellings; either is taken. */
export interface ImageSource {
  type?: string;
  data?: string;
  url?: string;
  mediaType?: string;
  media_type?: string;
}

/** A file that comes with a prompt. */
export interface PromptAttachment {
  /** `image` or `document`. */
  type: string;
  /** In base64. */
  content?: string;
  /** A document is shown to the model under this name. */
  fileName?: string;
  mimeType?: string;
  /** The text of a document that is not a text file. */
  extractedText?: string | null;
}

/** Say something. Refused while the agent works, or waits to try again. */
export interface PromptCommand {
  type: "prompt";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** What to say. May be empty if there are images. */
  message: string;
  /** What to show. */
  images?: PromptImage[];
  /** Files to show. */
  attachments?: PromptAttachment[];
}

/** Cancel what runs. */
export interface AbortCommand {
  type: "abort";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Replace old messages by a summary; answered when it is there. A run that goes on is aborted. */
export interface CompactCommand {
  type: "compact";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** What the summary is to keep. */
  customInstructions?: string;
}

export type Message = UserMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage | CompactionSummaryMessage | BranchSummaryMessage | CustomMessage;

/** Something that the user said. */
export interface UserMessage {
  role: "user";
  content: UserContent[] | string;
  timestamp: number;
  attachments?: (Record<string, unknown>)[];
}

export type UserContent = TextContent | ImageContent;

export interface TextContent {
  type: "text";
  text: string;
  textSignature?: string;
}

export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
  /** Of an image that was given by its address. */
  source?: Link;
}

export interface Link {
  type: "url";
  url: string;
}

/** A reply of the model. */
export interface AssistantMessage {
  role: "assistant";
  content: AssistantContent[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  timestamp: number;
  errorMessage?: string;
}

export type AssistantContent = TextContent | ThinkingContent | ToolCall;

export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
  redacted?: boolean;
  /** An addition: a digest of what the block may be sent back after. */
  bound?: string;
}

export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string;
}

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cost: Cost;
  /** An addition, here and elsewhere: a price is not known. */
  costKnown?: false;
}

export interface Cost {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/** What a tool call came to. */
export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: UserContent[];
  details?: Record<string, unknown>;
  isError: boolean;
  timestamp: number;
}

/** A command of `bash`, as the model is told of it. */
export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode: number | null;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath: string | null;
  timestamp: number;
  excludeFromContext?: boolean;
}

/** Stands for what was compacted away. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
  timestamp: number;
}

/** Stands for a branch of the conversation that was left. */
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string;
  timestamp: number;
}

/** A message of an extension to the model. */
export interface CustomMessage {
  role: "custom";
  customType: string;
  content: UserContent[];
  display: boolean;
  details?: unknown;
  timestamp: number;
}

/** A run begins. */
export interface AgentStartEvent {
  type: "agent_start";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A run is over, with the messages that it added. */
export interface AgentEndEvent {
  type: "agent_end";
  messages: Message[];
  /** An addition: why the run failed, where its last message does not say so. */
  errorMessage?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A turn begins: a reply, and the tools that it calls. */
export interface TurnStartEvent {
  type: "turn_start";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A turn is over, with its reply and the results of its calls. */
export interface TurnEndEvent {
  type: "turn_end";
  message: AssistantMessage;
  toolResults: ToolResultMessage[];
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A message begins; that of a user or a tool is complete. */
export interface MessageStartEvent {
  type: "message_start";
  message: Message;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A reply grows. */
export interface MessageUpdateEvent {
  type: "message_update";
  assistantMessageEvent: AssistantMessageEvent;
  /** The message so far, where updates are told in full. */
  message?: AssistantMessage;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

export type AssistantMessageEvent = TextStart | TextDelta | TextEnd | ThinkingStart | ThinkingDelta | ThinkingEnd | ToolcallStart | ToolcallDelta | ToolcallEnd;

/** A block of text begins. */
export interface TextStart {
  type: "text_start";
  /** The place of the block in `content`. */
  contentIndex: number;
  /** The message so far, where updates are told in full; here and below. */
  partial?: AssistantMessage;
}

/** The text goes on. */
export interface TextDelta {
  type: "text_delta";
  /** The place of the block in `content`. */
  contentIndex: number;
  delta: string;
  partial?: AssistantMessage;
}

/** The text is this. */
export interface TextEnd {
  type: "text_end";
  /** The place of the block in `content`. */
  contentIndex: number;
  content: string;
  partial?: AssistantMessage;
}

/** A block of thinking begins. */
export interface ThinkingStart {
  type: "thinking_start";
  /** The place of the block in `content`. */
  contentIndex: number;
  partial?: AssistantMessage;
}

/** The thinking goes on. */
export interface ThinkingDelta {
  type: "thinking_delta";
  /** The place of the block in `content`. */
  contentIndex: number;
  delta: string;
  partial?: AssistantMessage;
}

/** The thinking is this. */
export interface ThinkingEnd {
  type: "thinking_end";
  /** The place of the block in `content`. */
  contentIndex: number;
  content: string;
  partial?: AssistantMessage;
}

/** A call begins, without arguments yet. */
export interface ToolcallStart {
  type: "toolcall_start";
  /** The place of the block in `content`. */
  contentIndex: number;
  partial?: AssistantMessage;
}

/** The JSON text of the arguments goes on. */
export interface ToolcallDelta {
  type: "toolcall_delta";
  /** The place of the block in `content`. */
  contentIndex: number;
  delta: string;
  partial?: AssistantMessage;
}

/** The call is this. */
export interface ToolcallEnd {
  type: "toolcall_end";
  /** The place of the block in `content`. */
  contentIndex: number;
  toolCall: ToolCall;
  partial?: AssistantMessage;
}

/** A message is complete. */
export interface MessageEndEvent {
  type: "message_end";
  message: Message;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A tool begins. */
export interface ToolExecutionStartEvent {
  type: "tool_execution_start";
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A tool has ended. */
export interface ToolExecutionEndEvent {
  type: "tool_execution_end";
  toolCallId: string;
  toolName: string;
  result: ToolOutcome | string;
  isError: boolean;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

export interface ToolOutcome {
  content: UserContent[];
  details: Record<string, unknown>;
}

/** The session of a prompt from the command line: the first line of `--mode json`. */
export interface SessionEvent {
  type: "session";
  version: 3;
  id: string;
  timestamp: string;
  cwd: string;
  /** An addition: where it is kept. */
  sessionFile?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Old messages were replaced by a summary. */
export interface CompactionEvent {
  type: "compaction";
  summary: string;
  tokensBefore: number;
  /** True or left out. */
  auto?: boolean;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A command was refused, or a compaction failed. */
export interface ErrorEvent {
  type: "error";
  error: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** What came after this number cannot be told again; a snapshot follows. An addition, of servers. */
export interface GapEvent {
  type: "gap";
  /** The number that the client had seen, or that was told last. */
  after: number;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** How the agent is now: all it takes to go on from here. An addition, of servers. */
export interface SnapshotEvent {
  type: "snapshot";
  /** What `get_state` answers; null in a dialect without answers. */
  state: unknown;
  /** The conversation, as `get_messages` answers it. */
  messages: unknown[];
  /** Lines of what is in progress, to be read as if they came now. */
  open: unknown[];
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The first line of a connection to a server's socket. */
export type FirstLine = OpenAgent | AttachAgent | ListAgents;

/** Open an agent, and drive it. */
export interface OpenAgent {
  type: "open";
  id?: unknown;
  dialect?: string | null;
  cwd?: string | null;
  flags?: string[];
  env?: Record<string, string>;
  program?: string;
  keep?: boolean;
  cursor?: boolean;
  client?: string;
}

/** Drive or watch an agent that is there. */
export interface AttachAgent {
  type: "attach";
  agent: string;
  id?: unknown;
  dialect?: string | null;
  /** The number that was seen last. */
  from?: number | null;
  role?: "drive" | "watch";
  cursor?: boolean;
  client?: string;
  stream?: "full" | "deltas" | null;
  settled?: boolean;
  show_thinking?: boolean;
}

/** List the agents that there are. */
export interface ListAgents {
  type: "agents";
  id?: unknown;
}

/** The answer to a first line, the same in every dialect. */
export type FirstLineResponse = OpenAgentResponse | AttachAgentResponse | ListAgentsResponse | FirstLineFailure;

/** The answer to `open`. */
export interface OpenAgentResponse {
  type: "response";
  command: "open";
  success: true;
  /** That of the first line; absent if it had none. */
  id?: unknown;
  data: Attached;
}

/** The answer to `attach`. */
export interface AttachAgentResponse {
  type: "response";
  command: "attach";
  success: true;
  /** That of the first line; absent if it had none. */
  id?: unknown;
  data: Attached;
}

/** The answer to `agents`. */
export interface ListAgentsResponse {
  type: "response";
  command: "agents";
  success: true;
  /** That of the first line; absent if it had none. */
  id?: unknown;
  data: AgentsListed;
}

/** A first line was refused. */
export interface FirstLineFailure {
  /** That of the command; absent if it had none, or could not be read. */
  id?: unknown;
  type: "response";
  /** The name of the command, known or not; of a line that is none, `parse` or empty. */
  command: string;
  success: false;
  /** A sentence for people. */
  error: string;
  /** Told by servers only. An addition of linnet's. */
  code?: ErrorCode;
}

/** What `open` and `attach` are answered with. */
export interface Attached {
  /** The id of the agent. */
  agent: string;
  /** The number of the event that was told last. */
  seq: number;
  /** What is spoken from here on. */
  dialect: string;
  /** Sentences for whoever opened it. */
  remarks: string[];
}

/** What `agents` is answered with. */
export interface AgentsListed {
  agents: AgentSummary[];
}

/** One agent as lists show it, on every transport. Times are milliseconds since 1970. */
export interface AgentSummary {
  id: string;
  state: "asleep" | "idle" | "working" | "tool" | "waiting" | "compacting" | "retrying";
  cwd: string;
  name: string;
  model: string;
  provider: string;
  /** What it was opened with; its clients may speak others. */
  dialect: string;
  session_id: string;
  session_file: string | null;
  created: number;
  changed: number;
  /** When it came into this state. */
  since: number;
  /** The one that has run longest of those that run. */
  tool: RunningTool | null;
  /** Questions that nobody has answered. */
  waiting: AgentQuestion[];
  prompts: number;
  tokens: AgentTokens;
  cost: number;
  /** The last words of the model. */
  last: string;
  /** The number of its last event. */
  seq: number;
  drivers: number;
  watchers: number;
  /** Why the last run failed, if it did. */
  error: string;
}

export interface RunningTool {
  name: string;
  /** What it is about: a command, a path. */
  title: string;
  since: number;
}

/** A question that nobody has answered, as the `extension_ui_request` or `tool_request` put it. An addition. */
export interface AgentQuestion {
  id: string;
  /** permission, question or tool. */
  kind: string;
  title: string;
  toolCallId?: string;
  method?: string;
  message?: string;
  options?: string[];
  placeholder?: string;
  prefill?: string;
  /** What is left of it, in milliseconds. */
  timeout?: number;
  permission?: AgentPermission;
  toolName?: string;
  args?: Record<string, unknown>;
}

/** What a tool is about to do, for clients that show more than a title. An addition. */
export interface AgentPermission {
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  preview: string;
}

export interface AgentTokens {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}
