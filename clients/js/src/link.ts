import { Conversation, parsed, type Command, type Frame, type Output, type Reply } from "./conversation.js";
import { AgentGone, TimedOut } from "./errors.js";
import { Stream } from "./stream.js";
import type { Line, Transport } from "./transport.js";
import type { Work } from "./work.js";

/** How long to wait for something. */
export interface Waiting {
  /** Stop waiting. What was asked for still happens. */
  signal?: AbortSignal | undefined;
  /** Milliseconds. */
  timeout?: number | undefined;
}

export interface LinkOptions {
  /** Bytes of events that may wait to be taken before the agent is held up. */
  room: number;
  /** Milliseconds for which a connection that was lost is tried again. */
  retryFor: number;
  onConnection?: ((state: "connected" | "lost") => void) | undefined;
  /** Called once the events of a batch have been delivered. */
  onEvents: (events: readonly Frame[]) => void;
  /** Called when a connection was found again, before what was not answered is sent again. */
  onReconnected: () => void;
  seq?: number | undefined;
}

interface Waiter {
  resolve: () => void;
  reject: (error: Error) => void;
}

interface Taken {
  frame: Frame;
  size: number;
}

export interface Pending {
  id: string;
  promise: Promise<Reply>;
  /** The answer, once it is there. */
  reply?: Reply;
}

const ASK_AGAIN = 250; // Milliseconds after which an agent that said it is busy is asked again.
const SLOWEST = 5_000; // Milliseconds between two attempts to connect.
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * A conversation with an agent on its transport, whoever waits for it, and whoever listens.
 *
 * Reading stops while a stream holds more than `room` bytes of events that nobody has taken, so that the agent notices
 * and slows down; but never while somebody waits for anything. So a slow reader costs a bounded amount of memory, and
 * nobody waits for something that lies unread. Once `gone` is set, which always happens in the end, every promise is
 * settled and every stream ended.
 */
export class Link {
  gone: AgentGone | undefined;
  /** The number of the last event that was seen to its end. */
  seq: number | undefined;
  readonly over: Promise<AgentGone>;
  readonly #conversation: Conversation;
  readonly #pending = new Map<string, { pending: Pending; resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  // Weak: one that nobody reads any more must not stop reading. What is waited for is in `#held`.
  #streams: WeakRef<Stream>[] = [];
  readonly #held = new Set<Stream>();
  #idle: Waiter[] = [];
  #waiting = 0;
  #told = new Map<string, string>(); // What is not answered, by a name of its own, until it is known to have arrived.
  #isConnected = false;
  #isClosing = false;
  #events: Frame[] = [];
  #wake: (() => void) | undefined;
  #asking: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly transport: Transport,
    work: Work,
    private readonly options: LinkOptions,
  ) {
    this.#conversation = new Conversation(work);
    this.seq = options.seq;
    transport.onChange = () => this.#changed();
    transport.onAnswer = (text) => {
      const frame = parsed(text);
      if (frame) this.#take([{ frame, size: text.length }]);
    };
    this.over = this.#run();
  }

  get isIdle(): boolean {
    return this.#conversation.work.isIdle;
  }

  /** Send a command. `stream` gets the events of what it begins. Throws AgentGone. */
  ask(command: Command, stream?: Stream): Pending {
    this.#check();
    const { id, outputs } = this.#conversation.ask(command);
    const pending = { id } as Pending;
    pending.promise = new Promise((resolve, reject) => this.#pending.set(id, { pending, resolve, reject }));
    pending.promise.catch(() => {}); // Whoever waits is told; nobody has to.
    if (stream) {
      stream.id = id;
      this.#streams.push(new WeakRef(stream));
    }
    this.#send(id, command);
    this.#deliver(outputs, 0);
    this.#settle();
    return pending;
  }

  /** Send a frame that is not answered. One with a name is sent again after a reconnect, until it is `confirmed`. */
  tell(frame: Frame, name?: string): void {
    this.#check();
    const text = JSON.stringify(frame);
    if (name !== undefined || !this.#isConnected) this.#told.set(name ?? `${this.#told.size} ${text}`, text);
    if (this.#isConnected) this.transport.send({ text, type: frame.type });
  }

  /** What was told under this name has arrived. */
  confirmed(name: string): void {
    this.#told.delete(name);
  }

  /** Return a stream of everything that comes from now on. */
  listen(): Stream {
    const stream = new Stream();
    if (this.gone) stream.end(this.gone);
    this.#streams.push(new WeakRef(stream));
    return stream;
  }

  /** Wait for an answer. Throws TimedOut, AgentGone, or the reason of the signal. */
  async answer(pending: Pending, what: string, waiting: Waiting): Promise<Reply> {
    try {
      return await this.wait(pending.promise, what, waiting);
    } catch (error) {
      if (this.#pending.delete(pending.id)) this.#conversation.forget(pending.id);
      throw error;
    }
  }

  /** Wait until something can be taken from a stream, or it has ended. */
  async ready(stream: Stream, what: string, waiting: Waiting): Promise<void> {
    if (stream.isReady) return;
    this.#held.add(stream);
    try {
      while (!stream.isReady) await this.wait(stream.changed(), what, waiting);
    } finally {
      this.#held.delete(stream);
    }
  }

  /** Wait until a stream has ended. */
  async ended(stream: Stream, what: string, waiting: Waiting): Promise<void> {
    if (stream.ended) return;
    this.#held.add(stream);
    try {
      await this.wait(stream.over, what, waiting);
    } finally {
      this.#held.delete(stream);
    }
  }

  take(stream: Stream): Frame | undefined {
    const wasFull = stream.size > this.options.room;
    const event = stream.take();
    if (wasFull) this.#changed();
    return event;
  }

  /** Drop a stream that nobody wants any more. */
  drop(stream: Stream): void {
    stream.drain();
    stream.isDropped = !stream.ended;
    stream.end();
    this.#streams = this.#streams.filter((ref) => ref.deref() !== stream);
    this.#changed();
  }

  /** Wait until nothing runs, waits or follows by itself any more. */
  async idle(waiting: Waiting): Promise<void> {
    this.#check();
    if (this.isIdle) return;
    let waiter: Waiter | undefined;
    const promise = new Promise<void>((resolve, reject) => this.#idle.push((waiter = { resolve, reject })));
    promise.catch(() => {});
    this.#question();
    try {
      await this.wait(promise, "waitIdle", waiting);
    } finally {
      this.#idle = this.#idle.filter((other) => other !== waiter);
    }
  }

  /** End the conversation; return how it ended. Can be called again. */
  async close(patience: number): Promise<AgentGone> {
    this.#isClosing = true;
    if (!this.gone) this.transport.close(patience);
    this.#changed();
    return this.over;
  }

  /** Wait for a promise. Throws TimedOut, or the reason of the signal. */
  async wait<T>(promise: Promise<T>, what: string, { signal, timeout }: Waiting): Promise<T> {
    signal?.throwIfAborted();
    this.#waiting++;
    this.#changed();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let abort: (() => void) | undefined;
    try {
      const others: Promise<never>[] = [];
      if (signal) {
        others.push(
          new Promise((_, reject) => signal.addEventListener("abort", (abort = () => reject(signal.reason)), { once: true })),
        );
      }
      if (timeout !== undefined && timeout < LONGEST_TIMER) {
        others.push(new Promise((_, reject) => (timer = setTimeout(() => reject(new TimedOut(what, timeout)), timeout))));
      }
      return await (others.length ? Promise.race([promise, ...others]) : promise);
    } finally {
      this.#waiting--;
      clearTimeout(timer);
      if (abort) signal?.removeEventListener("abort", abort);
    }
  }

  #check(): void {
    if (this.gone) throw new AgentGone(this.gone);
    if (this.#isClosing) throw new AgentGone({ reason: "the client is closed" });
  }

  #send(id: string | undefined, command: Command): void {
    if (this.#isConnected) this.transport.send({ text: JSON.stringify({ id, ...command }), type: command.type, id });
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Read until nothing can come any more. */
  async #run(): Promise<AgentGone> {
    let reason = "";
    let lostAt = 0;
    let delay = 0;
    for (let first = true; !this.#isClosing; first = false) {
      try {
        const batches = await this.transport.connect(this.seq);
        [lostAt, delay] = [0, 0];
        reason = "";
        this.#connected(first);
        await this.#read(batches);
      } catch (error) {
        reason = (error as Error).message;
        if (error instanceof AgentGone || error instanceof RangeError) break;
      }
      if (this.#isConnected && !this.#isClosing) this.options.onConnection?.("lost");
      this.#isConnected = false;
      lostAt ||= Date.now();
      if (!this.transport.resumes || Date.now() - lostAt > this.options.retryFor) break;
      delay = Math.min(SLOWEST, delay * 2 || 25);
      const until = Date.now() + delay * (0.5 + Math.random());
      while (!this.#isClosing && Date.now() < until) await this.#sleep(until - Date.now());
    }
    this.#isConnected = false;
    if (!this.#isClosing) this.transport.close(0);
    const ending = await this.transport.gone();
    return this.#finish(new AgentGone({ ...ending, reason: this.#isClosing ? "the client is closed" : ending.reason || reason }));
  }

  async #read(batches: AsyncIterable<readonly Line[]>): Promise<void> {
    let open: Taken[] = []; // Lines of an event that is not complete: after a break they come again.
    for await (const batch of batches) {
      const whole: Taken[] = [];
      for (const { text, seq } of batch) {
        const frame = parsed(text);
        if (!frame) continue;
        const number = seq ?? (frame.type === "response" ? undefined : frame.seq);
        (this.transport.resumes ? open : whole).push({ frame, size: text.length });
        if (!this.transport.resumes || (number === undefined && frame.type !== "response")) continue;
        this.seq = number ?? this.seq;
        whole.push(...open);
        open = [];
      }
      this.#take(whole);
      while (this.#isFull()) await this.#sleep(1000);
    }
  }

  #take(lines: readonly Taken[]): void {
    for (const { frame, size } of lines) this.#deliver(this.#conversation.take(frame), size);
    this.#settle();
  }

  /** Say what follows from what was taken in. */
  #settle(): void {
    const events = this.#events;
    this.#events = [];
    if (events.length) this.options.onEvents(events);
    this.#question();
  }

  #deliver(outputs: readonly Output[], size: number): void {
    for (const output of outputs) {
      if ("heard" in output) {
        for (const ref of this.#streams) ref.deref()?.put(output.heard, size);
        this.#events.push(output.heard);
      } else if ("answered" in output) {
        const asked = this.#pending.get(output.answered);
        this.#pending.delete(output.answered);
        if (asked) asked.pending.reply = output.reply;
        asked?.resolve(output.reply);
        if (!output.reply.success) this.#endRun(output.answered);
      } else if ("begun" in output) {
        for (const ref of this.#streams) {
          const stream = ref.deref();
          if (stream?.id === output.begun) stream.begin();
        }
      } else if ("ended" in output) this.#endRun(output.ended);
      else for (const { resolve } of this.#idle.splice(0)) resolve();
    }
  }

  #endRun(id: string): void {
    this.#streams = this.#streams.filter((ref) => {
      const stream = ref.deref();
      if (stream?.id === id) stream.end();
      return stream && stream.id !== id;
    });
  }

  /** Ask whether the agent is idle, if somebody waits for that. */
  #question(again = false): void {
    const isWatched = this.#idle.length > 0 || this.#streams.some((ref) => ref.deref()?.id);
    if (!isWatched || !this.#isConnected) return;
    const question = this.#conversation.question(again);
    if (question) this.#send(question.id, question);
    if (this.#conversation.isUnsure && !this.#asking) {
      this.#asking = setTimeout(() => {
        this.#asking = undefined;
        this.#question(true);
      }, ASK_AGAIN);
    }
  }

  #isFull(): boolean {
    if (this.#waiting || this.#isClosing || this.transport.isOver) return false;
    return this.#streams.some((ref) => (ref.deref()?.size ?? 0) > this.options.room);
  }

  /** Wait for a while, or until something has changed. */
  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #connected(isFirst: boolean): void {
    this.#isConnected = true;
    if (!this.transport.apart) this.#conversation.reconnected();
    const unanswered = [...this.#conversation.asked];
    if (!isFirst) this.options.onReconnected();
    for (const [id, command] of unanswered) this.#send(id, command);
    for (const [name, text] of [...this.#told]) {
      this.transport.send({ text, type: "" });
      if (name.endsWith(text)) this.#told.delete(name);
    }
    this.options.onConnection?.("connected");
    this.#question();
  }

  #finish(gone: AgentGone): AgentGone {
    this.gone = gone;
    clearTimeout(this.#asking);
    for (const { reject } of [...this.#pending.values(), ...this.#idle]) reject(gone);
    for (const ref of this.#streams) {
      const stream = ref.deref();
      stream?.end(this.#isClosing && stream.id === undefined ? undefined : gone);
    }
    this.#pending.clear();
    this.#idle = [];
    this.#streams = [];
    return gone;
  }
}
