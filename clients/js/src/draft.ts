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
  #blocks = new Map<number, Piece>();
  #isWhole = true;

  /** Whether `message` is what `message_end` said, or nothing was said yet. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The message so far; undefined before the first. It is put together when it is asked for. */
  get message(): Assistant | undefined {
    if (!this.#head || this.#isWhole) return this.#head as Assistant | undefined;
    const pieces = [...this.#blocks].sort(([one], [other]) => one - other);
    return { ...this.#head, content: pieces.map(([, piece]) => made(piece)) } as unknown as Assistant;
  }

  /** What was said so far. */
  get text(): string {
    return (this.message?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
  }

  /** Take in the next event, of whatever kind. */
  add(event: Event<"pi-1"> | Event<"pi-0.87"> | Event<"pi-0.73"> | Event<"pi"> | Event<"pi-legacy">): void {
    const { type, message, assistantMessageEvent, usage } = event as Frame;
    if (type === "message_update") this.#grow(assistantMessageEvent, message, usage);
    else if (message?.role !== "assistant") return;
    else if (type === "message_start") this.#begin(message);
    else if (type === "message_end") {
      this.#head = message;
      this.#isWhole = true;
      this.#blocks.clear();
    }
  }

  /** Begin another message. What it has already is told again by updates, so it is dropped. */
  #begin(message: Frame): void {
    this.#head = { ...message, content: [] };
    this.#isWhole = false;
    this.#blocks.clear();
  }

  #grow(update: Frame, message: Frame | undefined, usage: unknown): void {
    if (!this.#head || this.#isWhole) this.#begin({ role: "assistant", stopReason: "pending" } as unknown as Frame); // Its beginning was missed.
    if (usage) this.#head = { ...this.#head!, usage };
    const { contentIndex: at, delta, content, id, toolName, toolCall } = update;
    const kind = /^(text|thinking|toolcall)_(start|delta|end)$/.exec(update.type);
    if (!kind) return;
    const [, of, step] = kind as unknown as [string, Piece["of"], string];
    let piece = this.#blocks.get(at);
    if (step === "start" || piece?.of !== of) {
      piece = { of, parts: [] };
      if (step === "start" && of === "toolcall") {
        // Earlier versions repeat the message so far instead.
        const named = message?.content?.[at] ?? {};
        piece.call = { id: id ?? named.id ?? "", name: toolName ?? named.name ?? "" };
      }
      this.#blocks.set(at, piece);
    }
    if (step === "delta") piece.parts.push(delta);
    else if (step === "end") {
      piece.parts = [content];
      piece.whole = toolCall;
    }
  }
}

/** A block so far. */
interface Piece {
  of: "text" | "thinking" | "toolcall";
  parts: string[];
  call?: { id: string; name: string };
  whole?: Frame;
}

function made(piece: Piece): Block {
  if (piece.parts.length > 1) piece.parts = [piece.parts.join("")];
  const said = piece.parts[0] ?? "";
  if (piece.of === "text") return { type: "text", text: said };
  if (piece.of === "thinking") return { type: "thinking", thinking: said };
  return (piece.whole ?? { type: "toolCall", id: "", name: "", ...piece.call, arguments: soFar(said) }) as Block;
}
