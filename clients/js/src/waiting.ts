/** How long to wait for something. */
export interface Waiting {
  /** Stop waiting. What was asked for still happens. */
  signal?: AbortSignal | undefined;
  /** Milliseconds. */
  timeout?: number | undefined;
}

/** A promise that somebody else settles. It may fail without anybody waiting. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
}

export function deferred<T>(): Deferred<T> {
  const made = {} as Deferred<T>;
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  made.promise.catch(() => {});
  return made;
}

/** Call something when a signal is aborted, or at once if it was. Return what takes that back. */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (signal?.aborted) call();
  signal?.addEventListener("abort", call, { once: true });
  return () => signal?.removeEventListener("abort", call);
}

/** Wait for a while, or until a signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let off = () => {};
    const done = () => {
      clearTimeout(timer);
      off();
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    off = onAbort(signal, done);
  });
}

/** Return the milliseconds to wait before another attempt, after those before the last one. */
export const longer = (delay: number): number => Math.min(5_000, delay * 2 || 25);

/** Some time around it, so that not all clients come at once. */
export const about = (delay: number): number => delay * (0.5 + Math.random());
