import type { Frame } from "./conversation.js";

/** Events that wait to be taken: all that come, or those of one run. */
export class Stream {
  /** The command whose events these are. */
  id: string | undefined;
  /** How large the events are that wait, about. */
  size = 0;
  begun = false;
  ended = false;
  error: Error | undefined;
  /** Whether events need not be kept, only looked at. */
  drains = false;
  #events: { event: Frame; size: number }[] = [];
  #first = 0;
  #wake: (() => void) | undefined;
  #isOver!: () => void;
  /** Resolves when it has ended. */
  readonly over = new Promise<void>((resolve) => (this.#isOver = resolve));
  /** Whether somebody wanted no more of it before its end. */
  isDropped = false;

  constructor(
    id?: string,
    private readonly look?: (event: Frame) => void,
  ) {
    this.id = id;
    this.begun = id === undefined;
  }

  /** Called when its run begins. */
  onBegin: (() => void) | undefined;

  begin(): void {
    if (!this.begun) this.onBegin?.();
    this.begun = true;
  }

  put(event: Frame, size: number): void {
    if (!this.begun || this.ended) return;
    this.look?.(event);
    if (this.drains) return;
    this.#events.push({ event, size });
    this.size += size;
    this.#tell();
  }

  end(error?: Error): void {
    if (this.ended) return;
    this.ended = true;
    this.error = error;
    this.#isOver();
    this.#tell();
  }

  /** Take no more events, and forget those that wait. */
  drain(): void {
    this.drains = true;
    this.#events = [];
    this.#first = this.size = 0;
  }

  get isReady(): boolean {
    return this.#first < this.#events.length || this.ended;
  }

  /** Return the next event, if one waits. */
  take(): Frame | undefined {
    const next = this.#events[this.#first];
    if (!next) return undefined;
    this.size -= next.size;
    if (++this.#first === this.#events.length || (this.#first > 1024 && this.#first * 2 > this.#events.length)) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
    return next.event;
  }

  /** Resolves when there may be something to take, or when it has ended. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      const before = this.#wake;
      this.#wake = () => {
        before?.();
        resolve();
      };
    });
  }

  #tell(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
