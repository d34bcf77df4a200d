/** Return what can be told of an object that is still being written: `{"command":"make t` is `{"command":"make t"}` so far. */
export function soFar(text: string): Record<string, unknown> {
  const open: string[] = []; // The brackets that close what is open.
  let safe: [end: number, closers: string] = [0, ""]; // The end of the last value, and what closes it.
  let isKey = false;
  const value = (end: number) => (safe = [end, [...open].reverse().join("")]);
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === "{" || char === "[") {
      open.push(char === "{" ? "}" : "]");
      isKey = char === "{";
      value(at + 1);
    } else if (char === "}" || char === "]") {
      open.pop();
      value(at + 1);
    } else if (char === ",") isKey = open.at(-1) === "}";
    else if (char === ":") isKey = false;
    else if (char === '"') {
      const from = at;
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
      if (isKey) continue;
      if (at < text.length) value(at + 1);
      else return read(text.slice(0, from) + unbroken(text.slice(from)) + '"' + [...open].reverse().join(""));
    } else if (/[-\w]/.test(char)) {
      while (at + 1 < text.length && /[-+.\w]/.test(text[at + 1]!)) at++;
      if (at + 1 < text.length || /\d$|[el]$/.test(text)) value(at + 1);
    }
  }
  return read(text.slice(0, safe[0]) + safe[1]);
}

/** Return the beginning of a string without an escape that is not complete. */
const unbroken = (text: string): string => text.replace(/(^|[^\\])((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1$2");

function read(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
