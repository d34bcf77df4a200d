import type { Frame } from "./conversation.js";

interface Waiting {
  event?: Frame;
  weight: number;
  next?: Waiting;
}

/** Events that wait to be taken: all that come, or those of one run. */
export interface Stream {
  /** The command whose events these are. */
  id: string | undefined;
  /** How large the events are that wait, about. */
  weight: number;
  begun: boolean;
  ended: boolean;
  error?: Error | undefined;
  /** Whether events need not be kept, only looked at. */
  drains: boolean;
  /** Whether somebody wanted no more of it before its end. */
  isDropped: boolean;
  /** Called when its run begins, and when it has ended. */
  onBegin?: () => void;
  onEnd?: () => void;
  begin(): void;
  put(event: Frame, weight: number): void;
  end(error?: Error): void;
  /** Take no more events, and forget those that wait. */
  drain(): void;
  /** Whether an event waits. */
  isReady(): boolean;
  /** Return the next event, if one waits. */
  take(): Frame | undefined;
  /** Resolves when there may be something to take, or when it has ended. */
  news(): Promise<void>;
}

/** Return a stream of all that comes, or with an id, of what comes once that has begun. `look` is shown every event. */
export function stream(id?: string, look?: (event: Frame) => void): Stream {
  let taken: Waiting = { weight: 0 }; // The last that was. Those that wait follow it.
  let last = taken;
  const waiters = new Set<() => void>();
  const tell = () => {
    for (const resolve of waiters) resolve();
    waiters.clear();
  };
  const self: Stream = {
    id,
    weight: 0,
    begun: id === undefined,
    ended: false,
    drains: false,
    isDropped: false,
    begin() {
      if (!self.begun) self.onBegin?.();
      self.begun = true;
    },
    put(event, weight) {
      if (!self.begun || self.ended) return;
      look?.(event);
      if (self.drains) return;
      last = last.next = { event, weight };
      self.weight += weight;
      tell();
    },
    end(error) {
      if (self.ended) return;
      self.ended = true;
      self.error = error;
      self.onEnd?.();
      tell();
    },
    drain() {
      self.drains = true;
      self.weight = 0;
      last = taken = { weight: 0 };
    },
    isReady: () => !!taken.next,
    take() {
      if (!taken.next) return;
      taken = taken.next;
      self.weight -= taken.weight;
      const { event } = taken;
      delete taken.event; // It is not kept until the next one is taken.
      return event;
    },
    news: () => new Promise((resolve) => void waiters.add(resolve)),
  };
  return self;
}
