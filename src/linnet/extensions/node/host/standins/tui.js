// In place of pi-tui: measures and keys that work, and components that can be made and extended, and draw nothing.
export const CURSOR_MARKER = "\x1b_pi:c\x07";
const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|_[^\x07]*\x07)/g;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

function widthOf(grapheme) {
  const code = grapheme.codePointAt(0);
  if (code < 32 || (code >= 0x7f && code < 0xa0) || /^\p{Mark}$/u.test(grapheme)) return 0;
  const wide =
    /\p{Extended_Pictographic}/u.test(grapheme) && code > 0xff
      ? true
      : (code >= 0x1100 && code <= 0x115f) ||
        (code >= 0x2e80 && code <= 0xa4cf) ||
        (code >= 0xac00 && code <= 0xd7a3) ||
        (code >= 0xf900 && code <= 0xfaff) ||
        (code >= 0xfe30 && code <= 0xfe6f) ||
        (code >= 0xff00 && code <= 0xff60) ||
        (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

/** Return how many columns a text takes in a terminal. */
export function visibleWidth(text) {
  let width = 0;
  for (const { segment } of graphemes.segment(String(text).replace(ESCAPES, ""))) width += widthOf(segment);
  return width;
}

/** Return as much of a text as fits into so many columns, with an ellipsis if that is not all. */
export function truncateToWidth(text, width, ellipsis = "...", pad = false) {
  const filled = (out) => (pad ? out + " ".repeat(Math.max(0, width - visibleWidth(out))) : out);
  if (visibleWidth(text) <= width) return filled(text);
  const room = Math.max(0, width - visibleWidth(ellipsis));
  let out = "";
  let used = 0;
  for (const piece of String(text).split(/(\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|_[^\x07]*\x07))/)) {
    if (piece.startsWith("\x1b")) {
      out += piece;
      continue;
    }
    for (const { segment } of graphemes.segment(piece)) {
      if (used + widthOf(segment) > room) return filled(`${out}\x1b[0m${ellipsis}`);
      out += segment;
      used += widthOf(segment);
    }
  }
  return filled(out);
}

/** Return the lines that a text takes in so many columns, broken between words where that is possible. */
export function wrapTextWithAnsi(text, width) {
  return String(text)
    .split("\n")
    .flatMap((line) => {
      const lines = [];
      let current = "";
      for (const word of line.split(/(?<= )/)) {
        if (current && visibleWidth(current) + visibleWidth(word.trimEnd()) > width) {
          lines.push(current.trimEnd());
          current = "";
        }
        current += word;
      }
      return [...lines, current];
    });
}

export function fuzzyMatch(query, text) {
  let at = 0;
  for (const letter of query.toLowerCase()) {
    at = text.toLowerCase().indexOf(letter, at) + 1;
    if (!at) return { matches: false, score: 0 };
  }
  return { matches: true, score: at };
}

/** Return the items whose text has the letters of the query in this order. */
export function fuzzyFilter(items, query, textOf = String) {
  const words = query.trim().split(/\s+/).filter(Boolean);
  return items.filter((item) => words.every((word) => fuzzyMatch(word, textOf(item)).matches));
}

const named = {
  escape: ["\x1b"], esc: ["\x1b"], enter: ["\r", "\n"], return: ["\r", "\n"], tab: ["\t"], space: [" "],
  backspace: ["\x7f", "\b"], up: ["\x1b[A", "\x1bOA"], down: ["\x1b[B", "\x1bOB"], right: ["\x1b[C", "\x1bOC"],
  left: ["\x1b[D", "\x1bOD"], home: ["\x1b[H"], end: ["\x1b[F"], delete: ["\x1b[3~"], pageUp: ["\x1b[5~"],
  pageDown: ["\x1b[6~"], "shift+tab": ["\x1b[Z"],
};
const joined = (...modifiers) => (key) => [...modifiers, key].join("+");

export const Key = Object.freeze({
  ...Object.fromEntries(Object.keys(named).map((name) => [name, name])),
  ctrl: joined("ctrl"),
  shift: joined("shift"),
  alt: joined("alt"),
  super: joined("super"),
  ctrlShift: joined("ctrl", "shift"),
  shiftCtrl: joined("ctrl", "shift"),
  ctrlAlt: joined("ctrl", "alt"),
  altCtrl: joined("ctrl", "alt"),
  shiftAlt: joined("shift", "alt"),
  altShift: joined("shift", "alt"),
  ctrlShiftAlt: joined("ctrl", "shift", "alt"),
});

/** Return whether what a terminal sent is this key. */
export function matchesKey(data, key) {
  if (named[key]) return named[key].includes(data);
  const plain = /^(ctrl|alt)\+(.)$/.exec(key);
  if (plain?.[1] === "ctrl") return data === String.fromCharCode(plain[2].toLowerCase().charCodeAt(0) & 0x1f);
  return plain ? data === `\x1b${plain[2]}` : data === key;
}

export function parseKey(data) {
  return Object.keys(named).find((name) => named[name].includes(data)) ?? (data.length === 1 ? data : undefined);
}

export const isKeyRelease = () => false;
export const isKeyRepeat = () => false;
export const renderFakeCursor = (text) => text;
export const hyperlink = (text) => text;

/** What draws nothing. */
class Drawn {
  constructor(...given) {
    this.given = given;
    this.children = [];
  }

  addChild(child) {
    this.children.push(child);
  }

  removeChild(child) {
    this.children = this.children.filter((each) => each !== child);
  }

  clear() {
    this.children = [];
  }

  render() {
    return [];
  }

  invalidate() {}
  handleInput() {}
  setText() {}
  setValue() {}
  getText() {
    return "";
  }

  getValue() {
    return "";
  }

  dispose() {}
}

export class Text extends Drawn {}
export class TruncatedText extends Drawn {}
export class Box extends Drawn {}
export class Container extends Drawn {}
export class Spacer extends Drawn {}
export class Markdown extends Drawn {}
export class Image extends Drawn {}
export class Loader extends Drawn {}
export class CancellableLoader extends Drawn {}
export class Input extends Drawn {}
export class Editor extends Drawn {}
export class SelectList extends Drawn {}
export class SettingsList extends Drawn {}
export class TUI extends Drawn {}
