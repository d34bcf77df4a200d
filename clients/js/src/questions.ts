import type { Frame } from "./conversation.js";

/** A question that the agent asks, in whatever protocol: about a tool call, or of an extension. */
export interface Question {
  id: string;
  method: "select" | "confirm" | "input" | "editor";
  title: string;
  message?: string | undefined;
  /** What there is to choose from, for `select`. */
  options?: string[] | undefined;
  placeholder?: string | undefined;
  prefill?: string | undefined;
  /** The call that is asked about, if it is a permission. */
  permission?: { callId: string; tool: string; args: Record<string, unknown>; preview: string } | undefined;
  /** Milliseconds after which no answer is a no. */
  timeout?: number | undefined;
}

/**
 * An answer: what was chosen or written, a yes or no, or nothing to dismiss the question. A `reason` is for the model to
 * read. A permission takes a yes or no, or one of its `options`.
 */
export type QuestionAnswer =
  | string
  | boolean
  | null
  | undefined
  | { value?: string; confirmed?: boolean; reason?: string };

/** Return the question that an event is, if it is one. */
export function question(event: Frame): Question | undefined {
  const { type, method, permission } = event;
  if (!/^(question|extension_ui_request) (select|confirm|input|editor)$/.test(`${type} ${method}`)) return;
  return {
    title: "",
    ...event,
    method,
    id: event.request_id ?? event.id,
    timeout: event.timeout_ms ?? event.timeout,
    permission: permission && {
      ...permission,
      callId: permission.call_id ?? permission.toolCallId,
      tool: permission.name ?? permission.toolName,
    },
  };
}

/** Return the id of the question or of the tool's call that an event says is closed. */
export function closed(event: Frame): string | undefined {
  return event.type.endsWith("_closed") ? (event.request_id ?? event.requestId ?? event.id) : undefined;
}

/** Return the fields of an answer. */
export function told(answer: QuestionAnswer): object {
  if (typeof answer === "string") return { value: answer };
  if (typeof answer === "boolean") return { confirmed: answer };
  const { value, confirmed, reason } = answer ?? {};
  const given = value !== undefined ? { value } : confirmed !== undefined ? { confirmed } : { cancelled: true };
  return { ...given, reason };
}
