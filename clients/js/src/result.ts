import type { Frame } from "./conversation.js";

/** Folds the events of a run into what came of it: words, a value, and why it failed. */
export class RunResult {
  /** Why it failed; empty if all went well. */
  failure = "";
  value: unknown;
  /** Why there is no value; empty if there is one. */
  noValue = "the agent was not asked for a value, or knows of none: give a schema";
  readonly #replies: string[][] = [];

  /** What the agent said: its replies, with an empty line between two. */
  get text(): string {
    return this.#replies.map((parts) => parts.join("")).filter(Boolean).join("\n\n");
  }

  add(event: Frame): void {
    switch (event.type) {
      case "text_delta":
        return this.#said(event.delta);
      case "message_update": {
        const update = event.assistantMessageEvent;
        if (update?.type === "text_delta") this.#said(update.delta);
        return;
      }
      case "assistant_start":
      case "message_start":
        this.#replies.push([]);
        return;
      case "turn_end":
        // zot's. What counts is how the last one went.
        if (event.stop) this.failure = /^(error|aborted)$/.test(event.stop) ? event.error || `the run ended with ${event.stop}` : "";
        return;
      case "message_end": {
        const { role, stopReason, errorMessage } = event.message ?? {};
        if (role !== "assistant") return;
        const failed = stopReason === "error" || stopReason === "aborted";
        this.failure = failed ? errorMessage || `the run ended with ${stopReason}` : "";
        return;
      }
      case "agent_end":
        this.failure = event.errorMessage || this.failure;
        return;
      case "error":
        this.failure = event.message ?? event.error ?? "";
        return;
      case "output":
        this.noValue = event.error ?? "";
        this.value = event.value;
    }
  }

  #said(text: string): void {
    if (!this.#replies.length) this.#replies.push([]);
    this.#replies.at(-1)!.push(text);
  }
}
