// Reads the frames that linnet sends, in a thread of its own: so the main thread can wait for one without an event loop.
import { Socket } from "node:net";
import { workerData } from "node:worker_threads";

const { port, bell, input } = workerData;
const signal = new Int32Array(bell);
let pending = [];

function post(line) {
  port.postMessage(line);
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

// A socket, and no read that blocks: a process does not end before such a read has.
const socket = new Socket({ fd: input, readable: true, writable: false });
socket.on("data", (chunk) => {
  let start = 0;
  for (let end; (end = chunk.indexOf(10, start)) !== -1; start = end + 1) {
    pending.push(chunk.subarray(start, end));
    const line = Buffer.concat(pending).toString("utf8");
    pending = [];
    if (line) post(line);
  }
  if (start < chunk.length) pending.push(chunk.subarray(start));
});
socket.on("end", () => post(null));
socket.on("error", () => post(null));
