/** A line of more bytes than this ends a conversation: 256 MiB. */
export const LONGEST_LINE = 256 * 1024 * 1024;

/** Splits a stream of bytes into lines, at LF and at nothing else. Time goes with the bytes, however they are cut. */
export class LineSplitter {
  #parts: string[] = [];
  #size = 0;
  #decoder = new TextDecoder();

  constructor(private readonly longest = LONGEST_LINE) {}

  /** Take in bytes, and return the lines that they complete. */
  feed(bytes: Uint8Array): string[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const lines: string[] = [];
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      const piece = text.slice(from, at);
      lines.push(this.#parts.length ? this.#parts.join("") + piece : piece);
      this.#parts = [];
      this.#size = 0;
      from = at + 1;
    }
    if (from < text.length) {
      this.#parts.push(text.slice(from));
      this.#size += text.length - from;
      if (this.#size > this.longest) throw new RangeError(`a line is longer than ${this.longest} bytes`);
    }
    return lines;
  }

  /** Return what came after the last LF: a line that was not ended. */
  rest(): string {
    return this.#parts.join("") + this.#decoder.decode();
  }
}
