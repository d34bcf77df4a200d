import type { Frame } from "./conversation.js";
import { soFar } from "./partial-json.js";
import type { Event, Message } from "./names.js";

type Assistant = Extract<Message<"pi-1">, { role: "assistant" }>;
type Block = Assistant["content"][number];

/**
 * Puts the message that an agent is saying together from what each update adds, in every generation of pi's protocol.
 *
 * What was put together equals what `message_end` says, but for what only that has: signatures of thoughts, the stop
 * reason, the final usage, and how long it took.
 */
export class PiDraft {
  #head: Frame | undefined; // All but its content.
  #blocks: Record<number, Piece> = {};
  #isWhole = true;

  /** Whether `message` is what `message_end` said, or nothing was said yet. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The message so far; undefined before the first. It is put together when it is asked for. */
  get message(): Assistant | undefined {
    if (!this.#head || this.#isWhole) return this.#head as Assistant | undefined;
    return { ...this.#head, content: Object.values(this.#blocks).map(made) } as unknown as Assistant;
  }

  /** What was said so far. */
  get text(): string {
    return (this.message?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
  }

  /** Take in the next event, of whatever kind. */
  add(event: Event<"pi-1"> | Event<"pi-0.87"> | Event<"pi-0.73"> | Event<"pi"> | Event<"pi-legacy">): void {
    const { type, message, assistantMessageEvent, usage } = event as Frame;
    if (type === "message_update") this.#grow(assistantMessageEvent, message, usage);
    else if (message?.role === "assistant") {
      if (type === "message_start") this.#begin(message, false);
      else if (type === "message_end") this.#begin(message, true);
    }
  }

  /** Begin another message. What it has already is told again by updates, so it is dropped, unless it is the whole. */
  #begin(message: object, isWhole: boolean): void {
    this.#head = message as Frame;
    this.#isWhole = isWhole;
    this.#blocks = {};
  }

  #grow(update: Frame, message: Frame | undefined, usage: unknown): void {
    if (!this.#head || this.#isWhole) this.#begin({ role: "assistant", stopReason: "pending" }, false); // Its beginning was missed.
    if (usage) this.#head = { ...this.#head!, usage };
    const { contentIndex: at, delta, content, id, toolName, toolCall } = update;
    const [, of, step] = /^(text|thinking|toolcall)_(start|delta|end)$/.exec(update.type) ?? [];
    if (!of) return;
    // Earlier versions repeat the message so far instead of naming the call.
    const named = message?.content?.[at];
    let piece = this.#blocks[at];
    if (step === "start") piece = { of, said: "", id: id ?? named?.id ?? "", name: toolName ?? named?.name ?? "" };
    else if (piece?.of !== of) piece = { of, said: "", id: "", name: "" };
    this.#blocks[at] = piece;
    if (step === "delta") piece.said += delta;
    else if (step === "end") {
      piece.said = content ?? "";
      piece.whole = toolCall;
    }
  }
}

/** A block so far. */
interface Piece {
  of: string;
  said: string;
  id: string;
  name: string;
  whole?: Block;
}

function made({ of, said, id, name, whole }: Piece): Block {
  if (of === "toolcall") return whole ?? { type: "toolCall", id, name, arguments: soFar(said) };
  return { type: of, [of]: said } as unknown as Block;
}
