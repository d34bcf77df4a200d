// linnet: the protocol of pi 0.35.0, as linnet speaks it. Made by `linnet schema --dialect pi --format typescript`: do not edit.
//
// Commands and events of one line of JSON each. Fields that are not listed may be added in later versions: ignore what you do not know.

/** Every command, by its `type`. */
export interface Commands {
  prompt: PromptCommand;
  steer: SteerCommand;
  follow_up: FollowUpCommand;
  abort: AbortCommand;
  new_session: NewSessionCommand;
  get_state: GetStateCommand;
  get_messages: GetMessagesCommand;
  set_model: SetModelCommand;
  cycle_model: CycleModelCommand;
  get_available_models: GetAvailableModelsCommand;
  set_thinking_level: SetThinkingLevelCommand;
  cycle_thinking_level: CycleThinkingLevelCommand;
  get_available_thinking_levels: GetAvailableThinkingLevelsCommand;
  set_steering_mode: SetSteeringModeCommand;
  set_follow_up_mode: SetFollowUpModeCommand;
  compact: CompactCommand;
  set_auto_compaction: SetAutoCompactionCommand;
  set_auto_retry: SetAutoRetryCommand;
  abort_retry: AbortRetryCommand;
  bash: BashCommand;
  abort_bash: AbortBashCommand;
  get_session_stats: GetSessionStatsCommand;
  export_html: ExportHtmlCommand;
  switch_session: SwitchSessionCommand;
  branch: BranchCommand;
  fork: ForkCommand;
  clone: CloneCommand;
  navigate: NavigateCommand;
  get_branch_messages: GetBranchMessagesCommand;
  get_fork_messages: GetForkMessagesCommand;
  get_entries: GetEntriesCommand;
  get_tree: GetTreeCommand;
  get_last_assistant_text: GetLastAssistantTextCommand;
  set_session_name: SetSessionNameCommand;
  get_commands: GetCommandsCommand;
  list_sessions: ListSessionsCommand;
  reload: ReloadCommand;
  set_stream: SetStreamCommand;
  extension_ui_response: ExtensionUiResponseCommand;
  tool_response: ToolResponseCommand;
  tool_response_progress: ToolResponseProgressCommand;
  set_tools: SetToolsCommand;
  trust: TrustCommand;
}

/** The `type` of a command. */
export type CommandName = keyof Commands;

/** A line that the agent reads. */
export type Command = Commands[CommandName];

/** The answer to every command that succeeded, by its name. */
export interface Responses {
  prompt: PromptResponse;
  steer: SteerResponse;
  follow_up: FollowUpResponse;
  abort: AbortResponse;
  new_session: NewSessionResponse;
  get_state: GetStateResponse;
  get_messages: GetMessagesResponse;
  set_model: SetModelResponse;
  cycle_model: CycleModelResponse;
  get_available_models: GetAvailableModelsResponse;
  set_thinking_level: SetThinkingLevelResponse;
  cycle_thinking_level: CycleThinkingLevelResponse;
  get_available_thinking_levels: GetAvailableThinkingLevelsResponse;
  set_steering_mode: SetSteeringModeResponse;
  set_follow_up_mode: SetFollowUpModeResponse;
  compact: CompactResponse;
  set_auto_compaction: SetAutoCompactionResponse;
  set_auto_retry: SetAutoRetryResponse;
  abort_retry: AbortRetryResponse;
  bash: BashResponse;
  abort_bash: AbortBashResponse;
  get_session_stats: GetSessionStatsResponse;
  export_html: ExportHtmlResponse;
  switch_session: SwitchSessionResponse;
  branch: BranchResponse;
  fork: ForkResponse;
  clone: CloneResponse;
  navigate: NavigateResponse;
  get_branch_messages: GetBranchMessagesResponse;
  get_fork_messages: GetForkMessagesResponse;
  get_entries: GetEntriesResponse;
  get_tree: GetTreeResponse;
  get_last_assistant_text: GetLastAssistantTextResponse;
  set_session_name: SetSessionNameResponse;
  get_commands: GetCommandsResponse;
  list_sessions: ListSessionsResponse;
  reload: ReloadResponse;
  set_stream: SetStreamResponse;
  extension_ui_response: ExtensionUiResponseResponse;
  tool_response: ToolResponseResponse;
  tool_response_progress: ToolResponseProgressResponse;
  set_tools: SetToolsResponse;
  trust: TrustResponse;
}


/** What a command is answered with when it succeeded: `data` of its response; `undefined` where there is none. */
export type Answer<C extends CommandName = CommandName> = Responses[C] extends { data: infer D } ? D : undefined;

/** The answer to a command: `Response<"get_state">` is that of one, `Response` that of any. */
export type Response<C extends CommandName = CommandName> = Responses[C] | FailureResponse<C>;

/** Every event, by its `type`. */
export interface Events {
  agent_start: AgentStartEvent;
  agent_end: AgentEndEvent;
  agent_settled: AgentSettledEvent;
  turn_start: TurnStartEvent;
  turn_end: TurnEndEvent;
  message_start: MessageStartEvent;
  message_update: MessageUpdateEvent;
  message_end: MessageEndEvent;
  tool_execution_start: ToolExecutionStartEvent;
  tool_execution_update: ToolExecutionUpdateEvent;
  tool_execution_end: ToolExecutionEndEvent;
  queue_update: QueueUpdateEvent;
  auto_retry_start: AutoRetryStartEvent;
  auto_retry_end: AutoRetryEndEvent;
  auto_compaction_start: AutoCompactionStartEvent;
  auto_compaction_end: AutoCompactionEndEvent;
  session_info_changed: SessionInfoChangedEvent;
  extension_ui_request: ExtensionUiRequestEvent;
  hook_error: HookErrorEvent;
  extension_ui_closed: ExtensionUiClosedEvent;
  tool_request: ToolRequestEvent;
  tool_request_closed: ToolRequestClosedEvent;
  output: OutputEvent;
  session_error: SessionErrorEvent;
  project_untrusted: ProjectUntrustedEvent;
  session: SessionEvent;
  gap: GapEvent;
  snapshot: SnapshotEvent;
  error: UnavailableEvent;
}

/** The `type` of an event. */
export type EventName = keyof Events;

/** A line about what happens. */
export type Event = Events[EventName];

/** A line, in either direction. */
export type Line = Command | Output;

/** A line that the agent prints. */
export type Output = Response | Event;

/** A command was refused, or failed. Nothing has changed unless its page says so. */
export interface FailureResponse<C extends string = string> {
  /** That of the command; absent if it had none, or could not be read. */
  id?: unknown;
  type: "response";
  command: C;
  success: false;
  /** A sentence for people. */
  error: string;
  /** Told by servers only. An addition of linnet's. */
  code?: ErrorCode;
}

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

/** Say something. It begins a run, unless one goes on; then `streamingBehavior` says when it is heard. */
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
  /** While the agent works: after the running tools, or when nothing is left to do. */
  streamingBehavior?: "steer" | "followUp";
  /** The answer is to fit this JSON Schema, and is told as `output`. An addition of linnet's. */
  outputSchema?: Record<string, unknown>;
}

/** Say something to the run that goes on, as soon as the running tools are done. */
export interface SteerCommand {
  type: "steer";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** What to say. May be empty if there are images. */
  message: string;
  /** What to show. */
  images?: PromptImage[];
  /** Files to show. */
  attachments?: PromptAttachment[];
}

/** Say something when the agent has nothing left to do. */
export interface FollowUpCommand {
  type: "follow_up";
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

/** Begin an empty session. What runs is aborted. */
export interface NewSessionCommand {
  type: "new_session";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The path of the session that it comes from. */
  parentSession?: string;
}

/** Return the model, the modes, what runs and what waits. */
export interface GetStateCommand {
  type: "get_state";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return the conversation. */
export interface GetMessagesCommand {
  type: "get_messages";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Use another model. */
export interface SetModelCommand {
  type: "set_model";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The provider that has it. */
  provider: string;
  /** The id of the model. */
  modelId: string;
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Go to the next model. */
export interface CycleModelCommand {
  type: "cycle_model";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return the models that can be used. */
export interface GetAvailableModelsCommand {
  type: "get_available_models";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Say how much the model is to think. */
export interface SetThinkingLevelCommand {
  type: "set_thinking_level";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** One that the model has not becomes the nearest that it has. */
  level: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Go to the next level of thinking. */
export interface CycleThinkingLevelCommand {
  type: "cycle_thinking_level";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return the levels of thinking that the model has. */
export interface GetAvailableThinkingLevelsCommand {
  type: "get_available_thinking_levels";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Say whether several steering messages are heard one by one or all at once. */
export interface SetSteeringModeCommand {
  type: "set_steering_mode";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** How many are heard at once. */
  mode: "all" | "one-at-a-time";
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Say whether several follow-ups are heard one by one or all at once. */
export interface SetFollowUpModeCommand {
  type: "set_follow_up_mode";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** How many are heard at once. */
  mode: "all" | "one-at-a-time";
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Replace old messages by a summary; answered when it is there. A run that goes on is aborted. */
export interface CompactCommand {
  type: "compact";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** What the summary is to keep. */
  customInstructions?: string;
}

/** Say whether a conversation that grows too long is compacted by itself. */
export interface SetAutoCompactionCommand {
  type: "set_auto_compaction";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** Whether it is. */
  enabled: boolean;
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Say whether a run that failed for a passing reason is tried again by itself. */
export interface SetAutoRetryCommand {
  type: "set_auto_retry";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** Whether it is. */
  enabled: boolean;
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Give up waiting for a retry. */
export interface AbortRetryCommand {
  type: "abort_retry";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Run a shell command; answered when it has ended. The model reads of it with the next prompt. */
export interface BashCommand {
  type: "bash";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The command. */
  command: string;
  /** The model is never told of it. */
  excludeFromContext?: boolean;
}

/** Kill the commands of `bash`, each of which is then answered. */
export interface AbortBashCommand {
  type: "abort_bash";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return counts of messages and tokens, and what the session has cost. */
export interface GetSessionStatsCommand {
  type: "get_session_stats";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Write the session as a page. */
export interface ExportHtmlCommand {
  type: "export_html";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The file to write; otherwise it is named after the session. */
  outputPath?: string;
}

/** Go on in another session. What runs is aborted. */
export interface SwitchSessionCommand {
  type: "switch_session";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The path of its file, or the beginning of its id. */
  sessionPath: string;
}

/** Go on from before a message of the user's, in a session of its own. What runs is aborted. */
export interface BranchCommand {
  type: "branch";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The entry of a message of the user's. */
  entryId: string;
}

/** Go on from before a message of the user's, in a session of its own. What runs is aborted. */
export interface ForkCommand {
  type: "fork";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The entry of a message of the user's. */
  entryId: string;
}

/** Go on with the same conversation, in a session of its own. What runs is aborted. */
export interface CloneCommand {
  type: "clone";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Go on from another entry of this session. What runs is aborted. An addition of linnet's. */
export interface NavigateCommand {
  type: "navigate";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The entry; null is the beginning. */
  entryId: string | null;
}

/** Return the messages of the user's that `branch` takes. */
export interface GetBranchMessagesCommand {
  type: "get_branch_messages";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return the messages of the user's that `fork` takes. */
export interface GetForkMessagesCommand {
  type: "get_fork_messages";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return the entries of the session as they stand in its file, without its header. */
export interface GetEntriesCommand {
  type: "get_entries";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** Those after this entry; otherwise all. */
  since?: string;
}

/** Return the entries of the session as a tree. */
export interface GetTreeCommand {
  type: "get_tree";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return what the agent said last; null if it said nothing. */
export interface GetLastAssistantTextCommand {
  type: "get_last_assistant_text";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Name the session. */
export interface SetSessionNameCommand {
  type: "set_session_name";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The name; not empty. */
  name: string;
}

/** Return what a user may type as `/name`: commands of extensions, templates, skills. */
export interface GetCommandsCommand {
  type: "get_commands";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return this folder's sessions, the newest first. An addition of linnet's. */
export interface ListSessionsCommand {
  type: "list_sessions";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** Those of all folders. */
  all?: boolean;
}

/** Read the extensions again, between runs. An addition of linnet's. */
export interface ReloadCommand {
  type: "reload";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Choose what updates of a message carry, and whether the end of a prompt is told. An addition of linnet's. */
export interface SetStreamCommand {
  type: "set_stream";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** `full` repeats the message so far; `deltas` has only what is new. Needed without `settled`. */
  mode?: "full" | "deltas";
  /** Whether `agent_settled` is told. */
  settled?: boolean;
}

/** Answer a question: with `value`, `confirmed` or `cancelled`, as its method wants. */
export interface ExtensionUiResponseCommand {
  type: "extension_ui_response";
  /** The id of the question. */
  id: string;
  /** What was chosen or written, for `select`, `input` and `editor`. */
  value?: string;
  /** Yes or no, for `confirm`. */
  confirmed?: boolean;
  /** The question was dismissed. */
  cancelled?: boolean;
  /** Why not, for the model to read, where a tool is asked about. An addition of linnet's. */
  reason?: string;
}

/** A text or an image. */
export interface ContentBlock {
  /** `text` or `image`. */
  type: string;
  text?: string;
  /** The image in base64. */
  data?: string;
  mimeType?: string;
}

/** Return what came of a tool that the client was asked to run. An addition of linnet's. */
export interface ToolResponseCommand {
  type: "tool_response";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The id of the `tool_request`. */
  requestId: string;
  /** The result, for the model to read. */
  content?: string | ContentBlock[];
  /** The tool failed. */
  isError?: boolean;
  /** For clients that show more than the model sees. */
  details?: Record<string, unknown>;
}

/** Tell what a tool that the client runs has printed since. An addition of linnet's. */
export interface ToolResponseProgressCommand {
  type: "tool_response_progress";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The id of the `tool_request`. */
  requestId: string;
  /** The new output. */
  text?: string;
}

/**
 * A tool that a client declares.
 *
 * Its schema is called `parameters` by most vendors, `inputSchema` by MCP and `input_schema` by Anthropic.
 */
export interface DeclaredTool {
  name: string;
  description?: string;
  parameters?: Record<string, unknown> | null;
  input_schema?: Record<string, unknown> | null;
  inputSchema?: Record<string, unknown> | null;
}

/** Declare the tools that the client runs, instead of those it declared before. An addition of linnet's. */
export interface SetToolsCommand {
  type: "set_tools";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The tools; an empty list takes them away. */
  tools: DeclaredTool[];
}

/** Say whether what the project brings may be used. An addition of linnet's. */
export interface TrustCommand {
  type: "trust";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** For as long as this process lives, for good, or never. */
  answer: "once" | "always" | "never";
}

export type Message = UserMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage | CompactionSummaryMessage | BranchSummaryMessage | CustomMessage;

/** Something that the user said. */
export interface UserMessage {
  role: "user";
  content: UserContent[];
  timestamp: number;
  attachments: (Record<string, unknown>)[];
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
  totalTokens: number;
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

/** The answer to `prompt`. */
export interface PromptResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "prompt";
  success: true;
}

/** The answer to `steer`. */
export interface SteerResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "steer";
  success: true;
}

/** The answer to `follow_up`. */
export interface FollowUpResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "follow_up";
  success: true;
}

/** The answer to `abort`. */
export interface AbortResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "abort";
  success: true;
}

export interface CancelledData {
  cancelled: boolean;
  /** An addition: the session's model cannot be used here, say. */
  warning?: string;
}

/** The answer to `new_session`. */
export interface NewSessionResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "new_session";
  success: true;
  data: CancelledData;
}

export interface StateData {
  model: Model | null;
  thinkingLevel: string;
  isStreaming: boolean;
  isCompacting: boolean;
  steeringMode: string;
  followUpMode: string;
  sessionFile?: string;
  sessionId: string;
  autoCompactionEnabled: boolean;
  messageCount: number;
  pendingMessageCount: number;
  sessionName?: string;
  sessionError?: string;
  waitingFor?: WaitingFor[];
  sandbox?: SandboxState;
}

export interface Model {
  id: string;
  name: string;
  api: string;
  provider: string;
  baseUrl: string;
  reasoning: boolean;
  input: string[];
  contextWindow: number;
  maxTokens: number;
  cost: Prices;
  costKnown?: false;
}

export interface Prices {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A question that nobody has answered, as the `extension_ui_request` or `tool_request` put it. An addition. */
export interface WaitingFor {
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
  permission?: PermissionAsked;
  toolName?: string;
  args?: Record<string, unknown>;
}

/** What a tool is about to do, for clients that show more than a title. An addition. */
export interface PermissionAsked {
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  preview: string;
}

/** The sandbox that commands run in. */
export interface SandboxState {
  engine: string;
  /** Commands may use the network as if there were no sandbox. */
  network: boolean;
  /** The hosts that commands reach where they may not use the network. */
  hosts?: string[];
}

/** The answer to `get_state`. */
export interface GetStateResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_state";
  success: true;
  data: StateData;
}

export interface MessagesData {
  messages: Message[];
}

/** The answer to `get_messages`. */
export interface GetMessagesResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_messages";
  success: true;
  data: MessagesData;
}

/** The answer to `set_model`. */
export interface SetModelResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_model";
  success: true;
  data: Model;
}

export interface CycleModelData {
  model: Model;
  thinkingLevel: string;
  isScoped: boolean;
}

/** The answer to `cycle_model`. */
export interface CycleModelResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "cycle_model";
  success: true;
  data: CycleModelData | null;
}

export interface ModelsData {
  models: Model[];
}

/** The answer to `get_available_models`. */
export interface GetAvailableModelsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_available_models";
  success: true;
  data: ModelsData;
}

/** The answer to `set_thinking_level`. */
export interface SetThinkingLevelResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_thinking_level";
  success: true;
}

export interface LevelData {
  level: string;
}

/** The answer to `cycle_thinking_level`. */
export interface CycleThinkingLevelResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "cycle_thinking_level";
  success: true;
  data: LevelData | null;
}

export interface LevelsData {
  levels: string[];
}

/** The answer to `get_available_thinking_levels`. */
export interface GetAvailableThinkingLevelsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_available_thinking_levels";
  success: true;
  data: LevelsData;
}

/** The answer to `set_steering_mode`. */
export interface SetSteeringModeResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_steering_mode";
  success: true;
}

/** The answer to `set_follow_up_mode`. */
export interface SetFollowUpModeResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_follow_up_mode";
  success: true;
}

/** What a compaction came to. */
export interface CompactionResult {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  details: Files;
}

export interface Files {
  readFiles: string[];
  modifiedFiles: string[];
}

/** The answer to `compact`. */
export interface CompactResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "compact";
  success: true;
  data: CompactionResult;
}

/** The answer to `set_auto_compaction`. */
export interface SetAutoCompactionResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_auto_compaction";
  success: true;
}

/** The answer to `set_auto_retry`. */
export interface SetAutoRetryResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_auto_retry";
  success: true;
}

/** The answer to `abort_retry`. */
export interface AbortRetryResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "abort_retry";
  success: true;
}

export interface BashData {
  output: string;
  exitCode: number | null;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
}

/** The answer to `bash`. */
export interface BashResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "bash";
  success: true;
  data: BashData;
}

/** The answer to `abort_bash`. */
export interface AbortBashResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "abort_bash";
  success: true;
}

export interface StatsData {
  sessionFile?: string;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: Tokens;
  cost: number;
  costKnown?: false;
}

export interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/** The answer to `get_session_stats`. */
export interface GetSessionStatsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_session_stats";
  success: true;
  data: StatsData;
}

export interface PathData {
  path: string;
}

/** The answer to `export_html`. */
export interface ExportHtmlResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "export_html";
  success: true;
  data: PathData;
}

/** The answer to `switch_session`. */
export interface SwitchSessionResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "switch_session";
  success: true;
  data: CancelledData;
}

export interface BranchData {
  text: string;
  cancelled: boolean;
}

/** The answer to `branch`. */
export interface BranchResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "branch";
  success: true;
  data: BranchData;
}

/** The answer to `fork`. */
export interface ForkResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "fork";
  success: true;
  data: BranchData;
}

/** The answer to `clone`. */
export interface CloneResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "clone";
  success: true;
  data: CancelledData;
}

export interface NavigateData {
  leafId: string | null;
  cancelled: boolean;
}

/** The answer to `navigate`. An addition of linnet's. */
export interface NavigateResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "navigate";
  success: true;
  data: NavigateData;
}

export interface BranchMessagesData {
  messages: BranchMessage[];
}

export interface BranchMessage {
  entryId: string;
  text: string;
}

/** The answer to `get_branch_messages`. */
export interface GetBranchMessagesResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_branch_messages";
  success: true;
  data: BranchMessagesData;
}

/** The answer to `get_fork_messages`. */
export interface GetForkMessagesResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_fork_messages";
  success: true;
  data: BranchMessagesData;
}

export interface EntriesData {
  entries: (Record<string, unknown>)[];
  leafId: string | null;
}

/** The answer to `get_entries`. */
export interface GetEntriesResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_entries";
  success: true;
  data: EntriesData;
}

export interface TreeData {
  leafId: string | null;
  nodes: TreeNode[];
}

export interface TreeNode {
  id: string;
  parentId: string | null;
  type: string;
  timestamp: string;
  role?: string;
  text?: string;
  label?: string;
}

/** The answer to `get_tree`. */
export interface GetTreeResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_tree";
  success: true;
  data: TreeData;
}

export interface TextData {
  text: string | null;
}

/** The answer to `get_last_assistant_text`. */
export interface GetLastAssistantTextResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_last_assistant_text";
  success: true;
  data: TextData;
}

/** The answer to `set_session_name`. */
export interface SetSessionNameResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_session_name";
  success: true;
}

export interface CommandsData {
  commands: SlashItem[];
}

export interface SlashItem {
  name: string;
  description?: string;
  source: string;
  location: string;
  path?: string;
  sourceInfo: SlashSource;
  argumentHint?: string;
}

export interface SlashSource {
  path: string;
  source: string;
  scope: string;
  origin: string;
  baseDir?: string;
}

/** The answer to `get_commands`. */
export interface GetCommandsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_commands";
  success: true;
  data: CommandsData;
}

export interface SessionsData {
  sessions: SessionItem[];
}

export interface SessionItem {
  path: string;
  id: string;
  name?: string;
  cwd: string;
  created: string;
  modified: string;
  messageCount: number;
  firstMessage: string;
  provider: string;
  modelId: string;
  tokens: number;
  cost: number;
  parentSession?: string;
  current: boolean;
  costKnown?: false;
}

/** The answer to `list_sessions`. An addition of linnet's. */
export interface ListSessionsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "list_sessions";
  success: true;
  data: SessionsData;
}

/** The answer to `reload`. An addition of linnet's. */
export interface ReloadResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "reload";
  success: true;
}

/** The answer to `set_stream`. An addition of linnet's. */
export interface SetStreamResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_stream";
  success: true;
}

/** The answer to `extension_ui_response`. */
export interface ExtensionUiResponseResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "extension_ui_response";
  success: true;
}

/** The answer to `tool_response`. An addition of linnet's. */
export interface ToolResponseResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "tool_response";
  success: true;
}

/** The answer to `tool_response_progress`. An addition of linnet's. */
export interface ToolResponseProgressResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "tool_response_progress";
  success: true;
}

/** The answer to `set_tools`. An addition of linnet's. */
export interface SetToolsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_tools";
  success: true;
}

/** The answer to `trust`. An addition of linnet's. */
export interface TrustResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "trust";
  success: true;
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

/** A prompt is over, with all that followed from it by itself. Before 0.80 an addition, if a client asks for it. */
export interface AgentSettledEvent {
  type: "agent_settled";
  aborted: boolean;
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

/** A tool has printed something; all of it so far, or its end. */
export interface ToolExecutionUpdateEvent {
  type: "tool_execution_update";
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  partialResult: ToolOutcome;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

export interface ToolOutcome {
  content: UserContent[];
  details: Record<string, unknown>;
}

/** A tool has ended. */
export interface ToolExecutionEndEvent {
  type: "tool_execution_end";
  toolCallId: string;
  toolName: string;
  result: ToolOutcome;
  isError: boolean;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** What waits to be said to the agent has changed: the texts that wait now. */
export interface QueueUpdateEvent {
  type: "queue_update";
  steering: string[];
  followUp: string[];
  /** An addition: what an abort or a new session did away with. */
  dropped?: string[];
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A run that failed is tried again after a wait. */
export interface AutoRetryStartEvent {
  type: "auto_retry_start";
  attempt: number;
  maxAttempts: number;
  delayMs: number;
  errorMessage: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The retries are over. */
export interface AutoRetryEndEvent {
  type: "auto_retry_end";
  success: boolean;
  attempt: number;
  finalError?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The conversation is compacted by itself. */
export interface AutoCompactionStartEvent {
  type: "auto_compaction_start";
  reason: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** That is over. */
export interface AutoCompactionEndEvent {
  type: "auto_compaction_end";
  result: CompactionResult | null;
  aborted: boolean;
  willRetry: boolean;
  errorMessage?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The session has a new name. */
export interface SessionInfoChangedEvent {
  type: "session_info_changed";
  name: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A question to whoever drives the agent, or something to show, which wants no answer. */
export interface ExtensionUiRequestEvent {
  type: "extension_ui_request";
  id: string;
  method: "select" | "confirm" | "input" | "editor" | "notify" | "setStatus" | "setWidget" | "setTitle" | "set_editor_text";
  title?: string;
  message?: string;
  options?: string[];
  placeholder?: string;
  prefill?: string;
  /** In milliseconds. */
  timeout?: number;
  permission?: PermissionAsked;
  notifyType?: "info" | "warning" | "error";
  statusKey?: string;
  statusText?: string;
  widgetKey?: string;
  widgetLines?: string[];
  widgetPlacement?: "aboveEditor" | "belowEditor";
  text?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** An extension failed, or did not answer in time. Everything else goes on. */
export interface HookErrorEvent {
  type: "hook_error";
  hookPath: string;
  event: string;
  error: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Nobody waits for the answer to a question any more. An addition. */
export interface ExtensionUiClosedEvent {
  type: "extension_ui_closed";
  id: string;
  reason: "expired" | "withdrawn" | "answered";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The client is to run a tool that it declared. An addition. */
export interface ToolRequestEvent {
  type: "tool_request";
  requestId: string;
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  timeout?: number;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Nobody waits for the tool's result any more. An addition. */
export interface ToolRequestClosedEvent {
  type: "tool_request_closed";
  requestId: string;
  toolCallId: string;
  reason: "expired" | "withdrawn" | "answered";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The answer to a prompt that had an `outputSchema` has been read. An addition. */
export interface OutputEvent {
  type: "output";
  value?: unknown;
  /** Why there is no value. */
  error?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** What was said last could not be saved. An addition. */
export interface SessionErrorEvent {
  type: "session_error";
  sessionFile: string;
  error: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Nobody has said whether this folder is trusted, so what was found in it is left out. An addition. */
export interface ProjectUntrustedEvent {
  type: "project_untrusted";
  path: string;
  found: Found[];
  changed?: string[];
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

export interface Found {
  kind: string;
  path: string;
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

/** No snapshot could be taken: the agent cannot be woken. An addition, of servers. */
export interface UnavailableEvent {
  type: "error";
  error: string;
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
