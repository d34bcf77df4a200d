// The pipe to linnet: frames out at once, frames in one after the other, and calls that are answered, awaited or not.
import { writeSync } from "node:fs";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

const OUTPUT = 3; // Not 1: what an extension prints, and its children, must not tear a frame.
const INPUT = 4;
const { port1: mine, port2: theirs } = new MessageChannel();
const bell = new SharedArrayBuffer(4);
const signal = new Int32Array(bell);
const waiting = new Map(); // Calls that are awaited, by id.
const arrived = []; // Frames that came while a call was waited for.
let nextId = 1;
let handle = () => {};
let draining = false;

/** Begin to read; `handler` is called with each frame, in order, and with null when there will be no more. */
export function open(handler) {
  handle = handler;
  mine.on("message", (line) => {
    arrived.push(line);
    drain();
  });
  new Worker(new URL("./reader.js", import.meta.url), {
    workerData: { port: theirs, bell, input: INPUT },
    transferList: [theirs],
  });
}

/** Send a frame. */
export function send(frame) {
  let data = Buffer.from(`${JSON.stringify(frame)}\n`);
  while (data.length) {
    try {
      data = data.subarray(writeSync(OUTPUT, data));
    } catch (fault) {
      if (fault.code !== "EAGAIN") process.exit(1); // Nobody listens any more.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** Ask linnet for something that it answers at once, and return that. Throws what went wrong. */
export function callNow(extension, method, args = {}) {
  const id = nextId++;
  send({ type: "call", id, extension, method, args });
  for (;;) {
    const seen = Atomics.load(signal, 0);
    for (let got; (got = receiveMessageOnPort(mine)); ) {
      const frame = got.message === null ? null : JSON.parse(got.message);
      if (frame === null) process.exit(0);
      if (frame.type === "return" && frame.id === id) return value(frame);
      arrived.push(got.message);
      setImmediate(drain);
    }
    Atomics.wait(signal, 0, seen);
  }
}

/** Ask linnet for something that takes its time. An aborted `abort` withdraws it. */
export function call(extension, method, args = {}, abort = undefined) {
  const id = nextId++;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ type: "call", id, extension, method, args });
    const withdraw = () => send({ type: "withdraw", id });
    if (abort?.aborted) withdraw();
    else abort?.addEventListener("abort", withdraw, { once: true });
  });
}

function drain() {
  if (draining) return;
  draining = true;
  while (arrived.length) {
    const line = arrived.shift();
    const frame = line === null ? null : JSON.parse(line);
    if (frame?.type === "return") {
      const asked = waiting.get(frame.id);
      waiting.delete(frame.id);
      if (!asked) continue;
      try {
        asked.resolve(value(frame));
      } catch (fault) {
        asked.reject(fault);
      }
    } else {
      handle(frame);
    }
  }
  draining = false;
}

function value(frame) {
  if (frame.error === undefined) return frame.value ?? undefined;
  throw new Error(frame.error);
}
