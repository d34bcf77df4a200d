// What only zot's protocol and pi's first one need. It is loaded when one of them is spoken.
import type { Frame } from "./conversation.js";
import type { Encoded } from "./images.js";
import type { ToolContent } from "./tools.js";
import type { Work } from "./work.js";

const isLong = (type: string) => type === "prompt" || type === "compact";

/** Of zot's protocol: one prompt or compaction at a time, the others wait. */
export function zotWork(): Work {
  const begun: string[] = [];
  const ended: string[] = [];
  const waiting = new Map<string, string>(); // Not answered yet: ids and types, in the order they were sent.
  let active = "";
  let compacts = false;
  let isUnsure = false;
  const begin = (id: string) => {
    active = id;
    compacts = waiting.get(id) === "compact";
    waiting.delete(id);
    begun.push(id);
  };
  const end = () => {
    if (active) ended.push(active);
    active = "";
    compacts = false;
  };
  return {
    answers: true,
    begun,
    ended,
    isFree: () => !waiting.size && !active && !isUnsure,
    asks: () => isUnsure && !waiting.size,
    sent(id, type) {
      if (isLong(type)) waiting.set(id, type);
    },
    answered(id, { type }, { success }) {
      if (!waiting.has(id)) {
        if (type === "abort" && success && compacts) end(); // A compaction that is aborted has no last event.
      } else if (success) {
        end(); // One runs at a time: if this one starts, nothing else does.
        begin(id);
      } else waiting.delete(id);
    },
    heard({ type }) {
      if (type === "done") isUnsure &&= !!active;
      if (type === "done" || type === "compact_done" || (type === "error" && compacts)) end();
      else if (/^(user_message|turn_start|assistant_start|text_delta|tool_call)$/.test(type) && !active && !isUnsure) {
        for (const id of waiting.keys()) return begin(id); // Words without an answer before them: the oldest has begun.
      }
    },
    learned({ success, data }) {
      if (success && data?.busy) return;
      isUnsure = false;
      end();
    },
    lost() {
      isUnsure = true;
    },
  };
}

/** Of pi's earlier protocol, which has no answers, and in which a run ends with `agent_end`. */
export function legacyWork(): Work {
  const begun: string[] = [];
  const ended: string[] = [];
  const open: string[] = [];
  let isRunning = false;
  return {
    answers: false,
    begun,
    ended,
    isFree: () => !open.length && !isRunning,
    asks: () => false,
    sent(id, type) {
      if (!isLong(type)) return;
      open.push(id);
      begun.push(id);
    },
    answered() {},
    heard({ type, auto }) {
      if (type === "agent_start") isRunning = true;
      else if (type === "agent_end" || (!isRunning && (type === "error" || (type === "compaction" && !auto)))) {
        isRunning = false;
        ended.push(...open.splice(0));
      }
    },
    learned() {},
    lost() {},
  };
}

/** Return the event that a compaction has ended with: an `error` if it went wrong. */
export async function compacted(events: AsyncIterable<Frame>): Promise<Frame> {
  for await (const event of events) {
    if (/^(compact_done|compaction|error)$/.test(event.type)) return event;
  }
  return { type: "error", message: "the compaction was aborted" };
}

/** Return `request_id` for `requestId`. */
export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Return what a tool has come to in zot's words. */
export const inZotsWords = (content: unknown): unknown =>
  Array.isArray(content) ? content.map((block: ToolContent) => (block.type === "image" ? { type: "image", ...zotsImage(block) } : block)) : content;

/** Return images in zot's words. */
export const zotsImages = (images: readonly Encoded[]): object[] => images.map(zotsImage);

const zotsImage = ({ data, mimeType }: Encoded): object => ({ mime_type: mimeType, data });
