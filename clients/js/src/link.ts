import { conversation, parsed, type Asked, type Command, type Frame } from "./conversation.js";
import { AgentGone, TimedOut } from "./errors.js";
import { stream as newStream, type Stream } from "./stream.js";
import type { Line, Transport } from "./transport.js";
import { about, deferred, longer, onAbort, sleep, type Deferred, type Waiting } from "./waiting.js";
import type { Work } from "./work.js";

export interface LinkOptions {
  /** Bytes of events that may wait to be taken before the agent is held up: 64 MiB. */
  room?: number | undefined;
  /** Milliseconds for which a lost connection is tried again: five minutes. */
  retryFor?: number | undefined;
  /** Called when the connection to a server is there, and when it was lost. */
  onConnection?: ((state: "connected" | "lost") => void) | undefined;
}

/** See `link`. */
export interface Link {
  gone?: AgentGone;
  /** The number of the last event that was seen to its end. */
  seq: number | undefined;
  over: Promise<AgentGone>;
  /** Send a command. `stream` gets the events of what it begins. Throws AgentGone. */
  ask(command: Command, stream?: Stream): Asked;
  /** Send a frame that is not answered. One with a name is sent again after a reconnect, until it is `arrived`. */
  tell(frame: Frame, name?: string): void;
  /** What was told under this name has arrived. */
  arrived(name: string): void;
  /** Return a stream of everything that comes from now on. */
  listen(): Stream;
  /** Wait for a promise. Throws TimedOut, or the reason of the signal. */
  wait<T>(promise: Promise<T>, what: string, waiting: Waiting): Promise<T>;
  /** Wait until something is so, which only changes as a stream does. */
  until(stream: Stream, isSo: () => boolean, what: string, waiting: Waiting): Promise<void>;
  /** Wait until nothing runs, waits or follows by itself any more. */
  idle(waiting: Waiting): Promise<void>;
  take(stream: Stream): Frame | undefined;
  /** Drop a stream that nobody wants any more. */
  drop(stream: Stream): void;
  /** End the conversation; return how it ended. Can be called again. */
  close(patience: number): Promise<AgentGone>;
}

interface Taken {
  frame: Frame;
  size: number;
}

const ASK_AGAIN = 250; // Milliseconds after which an agent that said it is busy is asked again.
const LONGEST_TIMER = 2 ** 31 - 1;
const CLOSED = { reason: "the client is closed" };

/**
 * A conversation with an agent on its transport, whoever waits for it, and whoever listens. `seq` is the number to go on
 * from.
 *
 * Reading stops while a stream holds more than `room` bytes of events that nobody has taken, so that the agent notices
 * and slows down; but never while somebody waits for anything. So a slow reader costs a bounded amount of memory, and
 * nobody waits for something that lies unread. Once `gone` is set, which always happens in the end, every promise is
 * settled and every stream ended.
 */
export function link(
  transport: Transport,
  work: Work,
  seq: number | undefined,
  { room = 0x400_0000, retryFor = 300_000, onConnection }: LinkOptions,
  /** Called once the events of a batch have been delivered. */
  onEvents: (events: readonly Frame[]) => void,
  /** Called when a connection was found again, before what was not answered is sent again. */
  onReconnected: () => void,
): Link {
  let streams: WeakRef<Stream>[] = []; // Weak: one that nobody reads any more must not stop reading.
  const waits = new Set<object>(); // Who waits, with the streams that are kept for that.
  const idlers = new Set<Deferred<void>>();
  const told = new Map<string, string>(); // What is not answered, by a name of its own, until it is known to have arrived.
  let isConnected = false;
  let isClosing = false;
  let events: Frame[] = [];
  let size = 0; // Of the line that is taken in.
  let change: AbortController | undefined; // Wakes whoever rests.
  let asking: ReturnType<typeof setTimeout> | undefined;

  const live = () => streams.flatMap((ref) => ref.deref() ?? []);
  const run = (id: string) => live().find((stream) => stream.id === id);
  const changed = () => change?.abort();
  const rest = (milliseconds: number) => sleep(milliseconds, (change = new AbortController()).signal);
  const send = (id: string | undefined, command: Command) => {
    if (isConnected) transport.send({ text: JSON.stringify({ id, ...command }), type: command.type, id });
  };

  const talk = conversation(work, {
    heard(event) {
      for (const stream of live()) stream.put(event, size);
      events.push(event);
    },
    begun: (id) => run(id)?.begin(),
    ended(id) {
      const over = run(id);
      over?.end();
      forget(over);
    },
    idle() {
      for (const { resolve } of idlers) resolve();
    },
  });

  function check(): void {
    if (self.gone) throw new AgentGone(self.gone);
    if (isClosing) throw new AgentGone(CLOSED);
  }

  /** Keep a stream no longer, nor those that nobody reads. */
  function forget(stream: Stream | undefined): void {
    streams = streams.filter((ref) => ![stream, undefined].includes(ref.deref()));
  }

  async function wait<T>(promise: Promise<T>, what: string, { signal, timeout = Infinity }: Waiting, stream?: Stream): Promise<T> {
    signal?.throwIfAborted();
    const waiter = { stream };
    waits.add(waiter);
    changed();
    const stopped = deferred<never>();
    const off = onAbort(signal, () => stopped.reject(signal!.reason));
    const late = () => stopped.reject(new TimedOut(what, timeout));
    const timer = timeout < LONGEST_TIMER ? setTimeout(late, timeout) : undefined;
    try {
      return await Promise.race([promise, stopped.promise]);
    } finally {
      waits.delete(waiter);
      clearTimeout(timer);
      off();
    }
  }

  function take(lines: readonly Taken[]): void {
    for (const line of lines) {
      size = line.size;
      talk.take(line.frame);
    }
    settle();
  }

  /** Say what follows from what was taken in. */
  function settle(): void {
    const news = events;
    events = [];
    if (news.length) onEvents(news);
    inquire();
  }

  /** Ask whether the agent is idle, if somebody waits for that. */
  function inquire(again = false): void {
    if (!isConnected || !(idlers.size || live().some((stream) => stream.id))) return;
    const question = talk.inquiry(again);
    if (question) send(question.id, question);
    if (talk.isUnsure()) {
      asking ??= setTimeout(() => {
        asking = undefined;
        inquire(true);
      }, ASK_AGAIN);
    }
  }

  /** Read until nothing can come any more. */
  async function conducted(): Promise<AgentGone> {
    let reason = "";
    let lostAt = 0;
    let delay = 0;
    for (let isFirst = true; !isClosing; isFirst = false) {
      try {
        const batches = await transport.connect(self.seq);
        lostAt = delay = 0;
        reason = "";
        connected(isFirst);
        await read(batches);
      } catch (error) {
        reason = (error as Error).message;
        if (error instanceof AgentGone || error instanceof RangeError) break;
      }
      if (isConnected && !isClosing) onConnection?.("lost");
      isConnected = false;
      lostAt ||= Date.now();
      if (!transport.resumes || Date.now() - lostAt > retryFor) break;
      delay = longer(delay);
      const until = Date.now() + about(delay);
      while (!isClosing && Date.now() < until) await rest(until - Date.now());
    }
    isConnected = false;
    if (!isClosing) transport.close(0);
    const ending = await transport.gone();
    const gone = new AgentGone({ ...ending, reason: reason || ending.reason, ...(isClosing && CLOSED) });
    self.gone = gone;
    clearTimeout(asking);
    for (const { reject } of [...talk.asked.values(), ...idlers]) reject(gone);
    for (const stream of live()) stream.end(isClosing && stream.id === undefined ? undefined : gone);
    streams = [];
    return gone;
  }

  function connected(isFirst: boolean): void {
    isConnected = true;
    if (!transport.apart) talk.reconnected();
    const unanswered = [...talk.asked.values()];
    if (!isFirst) onReconnected();
    for (const { id, said } of unanswered) send(id, said);
    for (const [name, text] of [...told]) {
      transport.send({ text, type: "" });
      if (name.endsWith(text)) told.delete(name);
    }
    onConnection?.("connected");
    inquire();
  }

  async function read(batches: AsyncIterable<readonly Line[]>): Promise<void> {
    let open: Taken[] = []; // Lines of an event that is not complete: after a break they come again.
    for await (const batch of batches) {
      const whole: Taken[] = [];
      for (const { text, seq } of batch) {
        const frame = parsed(text);
        if (!frame) continue;
        const isAnswer = frame.type === "response";
        const number = seq ?? (isAnswer ? undefined : frame.seq);
        open.push({ frame, size: text.length });
        if (transport.resumes && number === undefined && !isAnswer) continue;
        if (transport.resumes) self.seq = number ?? self.seq;
        whole.push(...open.splice(0));
      }
      take(whole);
      while (!waits.size && !isClosing && !transport.hasEnded && live().some((stream) => stream.weight > room)) await rest(1000);
    }
  }

  const self = <Link>{
    seq,
    wait,
    ask(command, stream) {
      check();
      const asked = talk.ask(command);
      if (stream) {
        stream.id = asked.id;
        streams.push(new WeakRef(stream));
      }
      send(asked.id, command);
      talk.settle();
      settle();
      return asked;
    },
    tell(frame, name) {
      check();
      const text = JSON.stringify(frame);
      if (name !== undefined || !isConnected) told.set(name ?? `${told.size} ${text}`, text);
      if (isConnected) transport.send({ text, type: frame.type });
    },
    arrived: (name) => void told.delete(name),
    listen() {
      const stream = newStream();
      if (self.gone) stream.end(self.gone);
      streams.push(new WeakRef(stream));
      return stream;
    },
    async until(stream, isSo, what, waiting) {
      const becameSo = async () => {
        while (!isSo()) await stream.news();
      };
      if (!isSo()) await wait(becameSo(), what, waiting, stream);
    },
    async idle(waiting) {
      check();
      if (work.isFree()) return;
      const idler = deferred<void>();
      idlers.add(idler);
      inquire();
      try {
        await wait(idler.promise, "waitIdle", waiting);
      } finally {
        idlers.delete(idler);
      }
    },
    take(stream) {
      const wasFull = stream.weight > room;
      const event = stream.take();
      if (wasFull) changed();
      return event;
    },
    drop(stream) {
      stream.drain();
      stream.isDropped = !stream.ended;
      stream.end();
      forget(stream);
      changed();
    },
    close(patience) {
      isClosing = true;
      if (!self.gone) transport.close(patience);
      changed();
      return self.over;
    },
  };
  transport.onChange = changed;
  transport.onAnswer = (text) => {
    const frame = parsed(text);
    if (frame) take([{ frame, size: text.length }]);
  };
  self.over = conducted();
  return self;
}
