/** An agent in a server's list. Times are milliseconds since 1970. */
export interface AgentSummary {
  id: string;
  state: "asleep" | "idle" | "working" | "tool" | "waiting" | "compacting" | "retrying";
  cwd: string;
  name: string | null;
  model: string;
  provider: string;
  dialect: string;
  session_id: string;
  session_file: string | null;
  created: number;
  changed: number;
  since: number;
  tool: { name: string; title: string; since: number } | null;
  waiting: Record<string, unknown>[];
  prompts: number;
  tokens: { input: number; output: number; cache_read: number; cache_write: number };
  cost: number;
  last: string;
  seq: number;
  drivers: number;
  watchers: number;
  error: string | null;
}
