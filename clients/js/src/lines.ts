/** A line of more bytes than this ends a conversation: 256 MiB. */
export const LONGEST_LINE = 256 * 1024 * 1024;

/**
 * Return a function that takes in bytes and returns the lines that they complete: they end at LF and at nothing else.
 * Time goes with the bytes, however they are cut.
 */
export function lineSplitter(longest = LONGEST_LINE): (bytes: Uint8Array) => string[] {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  return (bytes) => {
    const lines = decoder.decode(bytes, { stream: true }).split("\n");
    const rest = lines.pop()!;
    if (lines.length) {
      lines[0] = parts.join("") + lines[0];
      parts = [];
      size = 0;
    }
    parts.push(rest);
    size += rest.length;
    if (size > longest) throw new RangeError(`a line is longer than ${longest} bytes`);
    return lines;
  };
}
