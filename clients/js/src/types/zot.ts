// linnet: the zot protocol, as linnet speaks it. Made by `linnet schema --dialect zot --format typescript`: do not edit.
//
// Commands and events of one line of JSON each. Fields that are not listed may be added in later versions: ignore what you do not know.

/** Every command, by its `type`. */
export interface Commands {
  hello: HelloCommand;
  prompt: PromptCommand;
  abort: AbortCommand;
  compact: CompactCommand;
  get_state: GetStateCommand;
  get_messages: GetMessagesCommand;
  clear: ClearCommand;
  set_model: SetModelCommand;
  get_models: GetModelsCommand;
  get_commands: GetCommandsCommand;
  reload: ReloadCommand;
  ping: PingCommand;
  answer: AnswerCommand;
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
  hello: HelloResponse;
  prompt: PromptResponse;
  abort: AbortResponse;
  compact: CompactResponse;
  get_state: GetStateResponse;
  get_messages: GetMessagesResponse;
  clear: ClearResponse;
  set_model: SetModelResponse;
  get_models: GetModelsResponse;
  get_commands: GetCommandsResponse;
  reload: ReloadResponse;
  ping: PingResponse;
  answer: AnswerResponse;
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
  text_delta: TextDeltaEvent;
  tool_use_args: ToolUseArgsEvent;
  thinking_delta: ThinkingDeltaEvent;
  turn_start: TurnStartEvent;
  user_message: UserMessageEvent;
  assistant_start: AssistantStartEvent;
  tool_use_start: ToolUseStartEvent;
  tool_use_end: ToolUseEndEvent;
  usage: UsageEvent;
  assistant_message: AssistantMessageEvent;
  tool_call: ToolCallEvent;
  turn_end: TurnEndEvent;
  tool_progress: ToolProgressEvent;
  tool_result: ToolResultEvent;
  error: ErrorEvent | UnavailableEvent;
  compact_done: CompactDoneEvent;
  session_error: SessionErrorEvent;
  project_untrusted: ProjectUntrustedEvent;
  question: QuestionEvent;
  question_closed: QuestionClosedEvent;
  tool_request: ToolRequestEvent;
  tool_request_closed: ToolRequestClosedEvent;
  ext_notify: ExtNotifyEvent;
  ext_display: ExtDisplayEvent;
  ext_error: ExtErrorEvent;
  ext_status: ExtStatusEvent;
  ext_widget: ExtWidgetEvent;
  ext_title: ExtTitleEvent;
  ext_editor_text: ExtEditorTextEvent;
  output: OutputEvent;
  done: DoneEvent;
  session: SessionEvent;
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

/** Say who we are; answered with who is there. Must be the first command where a token is asked for. */
export interface HelloCommand {
  type: "hello";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The token that the agent was started with. */
  token?: string;
}

/** An image to say something about. */
export interface PromptImage {
  /** In base64. */
  data: string;
  /** Overridden by the bytes, if they are PNG, JPEG, GIF or WebP. */
  mime_type?: string;
}

/** Run a prompt, when those before it are done. `done` is the last of its events. */
export interface PromptCommand {
  type: "prompt";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** What to say. May be empty if there are images. */
  message: string;
  /** What to show. */
  images?: PromptImage[];
  /** The answer is to fit this JSON Schema, and is told as `output`. An addition of linnet's. */
  output_schema?: Record<string, unknown>;
}

/** Cancel what runs. Its last events follow. */
export interface AbortCommand {
  type: "abort";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Replace old messages by a summary, when what was asked for before is done. */
export interface CompactCommand {
  type: "compact";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return model, folder, cost, and whether it is busy. */
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

/** Forget the conversation. */
export interface ClearCommand {
  type: "clear";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Use another model of the same provider, from the next prompt on. */
export interface SetModelCommand {
  type: "set_model";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The id of the model. */
  model: string;
  /** Put it in the user's settings as well, for later starts. An addition of linnet's. */
  save?: boolean;
}

/** Return the provider's models. */
export interface GetModelsCommand {
  type: "get_models";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Return what a user may type as `/name`: commands of extensions, templates, skills. An addition of linnet's. */
export interface GetCommandsCommand {
  type: "get_commands";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Read the extensions again, between runs. An addition of linnet's. */
export interface ReloadCommand {
  type: "reload";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Answer, and do nothing else. */
export interface PingCommand {
  type: "ping";
  /** Any JSON value; the response has the same. */
  id?: unknown;
}

/** Answer a question: with `value`, `confirmed` or `cancelled`, as its method wants. An addition of linnet's. */
export interface AnswerCommand {
  type: "answer";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The id of the question. */
  request_id: string;
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
  request_id: string;
  /** The result, for the model to read. */
  content?: string | ContentBlock[];
  /** The tool failed. */
  is_error?: boolean;
  /** For clients that show more than the model sees. */
  details?: Record<string, unknown>;
}

/** Tell what a tool that the client runs has printed since. An addition of linnet's. */
export interface ToolResponseProgressCommand {
  type: "tool_response_progress";
  /** Any JSON value; the response has the same. */
  id?: unknown;
  /** The id of the `tool_request`. */
  request_id: string;
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

export interface GreetingData {
  protocol_version: number;
  version: string;
  provider: string;
  model: string;
}

/** The answer to `hello`. */
export interface HelloResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "hello";
  success: true;
  data: GreetingData;
}

export interface StartedData {
  started: boolean;
}

/** The answer to `prompt`. */
export interface PromptResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "prompt";
  success: true;
  data: StartedData;
}

/** The answer to `abort`. */
export interface AbortResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "abort";
  success: true;
}

/** The answer to `compact`. */
export interface CompactResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "compact";
  success: true;
  data: StartedData;
}

export interface StateData {
  provider: string;
  model: string;
  cwd: string;
  message_count: number;
  busy: boolean;
  usage: Tokens;
  session_file?: string;
  waiting_for?: WaitingFor[];
  sandbox?: SandboxState;
}

/** How many tokens were used, and what they cost. */
export interface Tokens {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost_usd: number;
  /** An addition: false if a price is not known. Then `cost_usd` is what the rest has cost. */
  cost_known?: boolean;
}

/** A question that nobody has answered, as the `question` or `tool_request` put it. An addition. */
export interface WaitingFor {
  request_id: string;
  /** permission, question or tool. */
  kind: string;
  title: string;
  call_id?: string;
  method?: string;
  message?: string;
  options?: string[];
  placeholder?: string;
  prefill?: string;
  /** What is left of it. */
  timeout_ms?: number;
  permission?: PermissionAsked;
  name?: string;
  args?: Record<string, unknown>;
}

/** What a tool is about to do. An addition. */
export interface PermissionAsked {
  call_id: string;
  name: string;
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

/** A message; the results of one reply are one of role `tool`. */
export interface Message {
  role: "user" | "assistant" | "tool";
  content: Block[];
  time: string;
}

export type Block = TextBlock | ImageBlock | ToolCallBlock | ToolResultBlock;

/** A text. */
export interface TextBlock {
  type: "text";
  text: string;
}

/** An image. Its data is never sent back. */
export interface ImageBlock {
  type: "image";
  mime_type: string;
  /** The size of the image. */
  bytes: number;
}

/** A call of a tool. */
export interface ToolCallBlock {
  type: "tool_call";
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** What a tool call came to. */
export interface ToolResultBlock {
  type: "tool_result";
  call_id: string;
  is_error: boolean;
  content: (TextBlock | ImageBlock)[];
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

/** The answer to `clear`. */
export interface ClearResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "clear";
  success: true;
}

export interface ModelData {
  model: string;
}

/** The answer to `set_model`. */
export interface SetModelResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "set_model";
  success: true;
  data: ModelData;
}

export interface ModelsData {
  models: ModelInfo[];
}

export interface ModelInfo {
  id: string;
  provider: string;
  context_window: number;
  max_output: number;
  reasoning: boolean;
}

/** The answer to `get_models`. */
export interface GetModelsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_models";
  success: true;
  data: ModelsData;
}

export interface CommandsData {
  commands: SlashItem[];
}

/** Something that a user may type as `/name`. An addition. */
export interface SlashItem {
  name: string;
  description: string;
  source: string;
  location: string;
  path: string;
  argument_hint?: string;
}

/** The answer to `get_commands`. An addition of linnet's. */
export interface GetCommandsResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "get_commands";
  success: true;
  data: CommandsData;
}

/** The answer to `reload`. An addition of linnet's. */
export interface ReloadResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "reload";
  success: true;
}

export interface PongData {
  pong: boolean;
}

/** The answer to `ping`. */
export interface PingResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "ping";
  success: true;
  data: PongData;
}

/** The answer to `answer`. An addition of linnet's. */
export interface AnswerResponse {
  /** That of the command; absent if it had none. */
  id?: unknown;
  type: "response";
  command: "answer";
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

/** A piece of text. */
export interface TextDeltaEvent {
  type: "text_delta";
  delta: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A piece of the call's arguments, as JSON text. */
export interface ToolUseArgsEvent {
  type: "tool_use_args";
  id: string;
  delta: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A piece of what the model thinks. An addition, sent only when asked for with --show-thinking. */
export interface ThinkingDeltaEvent {
  type: "thinking_delta";
  delta: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A model call begins; `step` counts from 1 within a prompt. */
export interface TurnStartEvent {
  type: "turn_start";
  step: number;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The prompt, as it was added to the conversation. */
export interface UserMessageEvent {
  type: "user_message";
  content: (TextBlock | ImageBlock)[];
  time: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The model has begun to answer. */
export interface AssistantStartEvent {
  type: "assistant_start";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The model begins to write a tool call. */
export interface ToolUseStartEvent {
  type: "tool_use_start";
  id: string;
  name: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The call is written. */
export interface ToolUseEndEvent {
  type: "tool_use_end";
  id: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** What the reply has used, and in `cumulative` the session. */
export interface UsageEvent {
  type: "usage";
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost_usd: number;
  cumulative: Tokens;
  cost_known?: boolean;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The complete reply, if it has text or calls. */
export interface AssistantMessageEvent {
  type: "assistant_message";
  content: (TextBlock | ToolCallBlock)[];
  time: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A call that will be answered. */
export interface ToolCallEvent {
  type: "tool_call";
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The model call is over. */
export interface TurnEndEvent {
  type: "turn_end";
  stop: "end_turn" | "tool_use" | "length" | "error" | "aborted";
  error?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A running tool has printed something. */
export interface ToolProgressEvent {
  type: "tool_progress";
  id: string;
  text: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A tool has finished. */
export interface ToolResultEvent {
  type: "tool_result";
  id: string;
  is_error: boolean;
  content: (TextBlock | ImageBlock)[];
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Why a prompt or a compaction failed; `done` follows. */
export interface ErrorEvent {
  type: "error";
  message: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A compaction has succeeded: the last of its events. */
export interface CompactDoneEvent {
  type: "compact_done";
  summary: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** What was said last could not be saved. The run goes on. An addition. */
export interface SessionErrorEvent {
  type: "session_error";
  session_file: string;
  message: string;
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

/** Something that a project brings. */
export interface Found {
  kind: string;
  path: string;
}

/** A question to whoever drives the agent, to be answered with `answer`. An addition. */
export interface QuestionEvent {
  type: "question";
  request_id: string;
  method: "select" | "confirm" | "input" | "editor";
  title: string;
  message?: string;
  options?: string[];
  placeholder?: string;
  prefill?: string;
  timeout_ms?: number;
  permission?: PermissionAsked;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Nobody waits for the answer to a question any more. An addition. */
export interface QuestionClosedEvent {
  type: "question_closed";
  request_id: string;
  reason: "expired" | "withdrawn" | "answered";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The client is to run a tool that it declared. An addition. */
export interface ToolRequestEvent {
  type: "tool_request";
  request_id: string;
  call_id: string;
  name: string;
  args: Record<string, unknown>;
  timeout_ms?: number;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Nobody waits for the tool's result any more. An addition. */
export interface ToolRequestClosedEvent {
  type: "tool_request_closed";
  request_id: string;
  call_id: string;
  reason: "expired" | "withdrawn" | "answered";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A message of an extension. */
export interface ExtNotifyEvent {
  type: "ext_notify";
  extension: string;
  level: string;
  message: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A text that a command of an extension shows. */
export interface ExtDisplayEvent {
  type: "ext_display";
  extension: string;
  text: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** An extension did something wrong, or nothing in time. An addition. */
export interface ExtErrorEvent {
  type: "ext_error";
  path: string;
  event: string;
  error: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A short text is shown until it is set again. null takes it away. An addition. */
export interface ExtStatusEvent {
  type: "ext_status";
  extension: string;
  key: string;
  text: string | null;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** Some lines are shown until they are set again. null takes them away. An addition. */
export interface ExtWidgetEvent {
  type: "ext_widget";
  extension: string;
  key: string;
  lines: string[] | null;
  placement: "above_editor" | "below_editor";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The window has got a title. An addition. */
export interface ExtTitleEvent {
  type: "ext_title";
  extension: string;
  title: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The editor has got a text for the user to begin with. An addition. */
export interface ExtEditorTextEvent {
  type: "ext_editor_text";
  extension: string;
  text: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The answer to a prompt that had an `output_schema` has been read. An addition. */
export interface OutputEvent {
  type: "output";
  value?: unknown;
  /** Why there is no value. */
  error?: string;
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** A prompt, or a compaction that failed, is over: the last of its events. */
export interface DoneEvent {
  type: "done";
  /** The number of the event, where a server was asked for a cursor. An addition of linnet's. */
  seq?: number;
}

/** The session that a prompt from the command line is kept in: the first line of `--mode json`. An addition. */
export interface SessionEvent {
  type: "session";
  id: string;
  session_file: string;
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
