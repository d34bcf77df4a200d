import { isObject } from "./conversation.js";

// A string without what is cut off of its last escape, and the quote at its end; a word or a number; any other character.
const TOKENS = /"(?:\\(?:u[\da-f]{4}|[^u])|[^"\\])*("?)|[-+.\w]+|\S/gi;

/** Return what can be told of an object that is still being written: `{"command":"make t` is `{"command":"make t"}` so far. */
export function soFar(text: string): Record<string, unknown> {
  let closers = ""; // The brackets that close what is open.
  let safe = ""; // The text up to the end of the last value, and what closes it.
  let isKey = false;
  for (const { 0: token, 1: quote, index } of text.matchAll(TOKENS)) {
    const end = index + token.length;
    let isWhole = false;
    if (token === "," || token === ":") isKey = token === "," && closers[0] === "}";
    else if (token === "{" || token === "[") {
      isKey = token === "{";
      isWhole = true;
      closers = (isKey ? "}" : "]") + closers;
    } else if (token === "}" || token === "]") {
      isWhole = true;
      closers = closers.slice(1);
    } else if (token[0] !== '"') isWhole = end < text.length || /[\del]$/.test(token);
    else if (quote) isWhole = !isKey;
    else if (!isKey) return read(text.slice(0, end) + '"' + closers);
    else break;
    if (isWhole) safe = text.slice(0, end) + closers;
  }
  return read(safe);
}

function read(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
