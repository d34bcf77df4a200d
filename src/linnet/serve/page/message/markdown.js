// Markdown as nodes of preact: text stays text, and no string of HTML is ever made. A reply that is still being said is
// cut into pieces, so that only its last one is read again when it grows.

import { h, memo } from "../dom.js";
import { clean } from "../text.js";
import { Code } from "./block.js";

const DEEP = 8; // Lists in lists, and stars in stars: beyond this they are text.
const FAR = 4000; // A mark that is not closed within so many characters is text.
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const DIVIDER = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** Return whether an address may be a link, and how it is written then; "" if not. */
export function address(text) {
  if (!/^https?:\/\//i.test(text)) return "";
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : "";
  } catch {
    return "";
  }
}

const link = (href, inner) => h("a", { href, rel: "noopener noreferrer nofollow", target: "_blank" }, inner);

/** Return nodes for what is within a line. */
export function inline(text, deep = 0) {
  const out = [];
  let plain = "", at = 0;
  const flush = () => {
    if (plain) out.push(plain);
    plain = "";
  };
  const put = (node, next) => {
    flush();
    out.push(node);
    at = next;
  };
  const until = (mark, from) => {
    const found = text.indexOf(mark, from);
    return found >= 0 && found - from < FAR ? found : -1;
  };
  while (at < text.length) {
    const sign = text[at];
    if (sign === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] || "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    if (sign === "`") {
      const mark = /^`+/.exec(text.slice(at, at + 40))[0];
      const end = until(mark, at + mark.length);
      if (end >= 0) {
        const code = text.slice(at + mark.length, end);
        put(h("code", null, /^ .*\S.* $/s.test(code) ? code.slice(1, -1) : code), end + mark.length);
      } else {
        plain += mark;
        at += mark.length;
      }
      continue;
    }
    if (deep < DEEP && (sign === "*" || sign === "_" || sign === "~")) {
      const mark = text.startsWith(sign + sign, at) ? sign + sign : sign;
      const before = text[at - 1] || " ", next = text[at + mark.length] || " ";
      const opens = /\S/.test(next) && (sign !== "_" || !/\w/.test(before)) && (sign !== "~" || mark === "~~");
      let end = opens ? until(mark, at + mark.length + 1) : -1;
      while (end >= 0 && (/\s/.test(text[end - 1]) || (sign === "_" && /\w/.test(text[end + mark.length] || "")))) {
        end = text.indexOf(mark, end + 1);
        if (end - at > FAR) end = -1;
      }
      if (end >= 0 && mark.length === 1 && text[end + 1] === sign) end = until(sign, end + 2);
      if (end > at + mark.length) {
        const tag = sign === "~" ? "del" : mark.length === 2 ? "strong" : "em";
        put(h(tag, null, inline(text.slice(at + mark.length, end), deep + 1)), end + mark.length);
      } else {
        plain += mark;
        at += mark.length;
      }
      continue;
    }
    if (sign === "[" || (sign === "!" && text[at + 1] === "[")) {
      const picture = sign === "!";
      const from = at + (picture ? 2 : 1), close = until("](", from);
      const end = close >= 0 ? until(")", close + 2) : -1;
      if (end >= 0 && deep < DEEP) {
        const [words, target] = [text.slice(from, close), text.slice(close + 2, end).trim().split(/\s/)[0]];
        const href = address(target);
        if (picture) put(h("span", { class: "picture" }, `Image: ${words || "without a name"} (${target})`), end + 1);
        else if (href && !words.includes("[")) put(link(href, inline(words, DEEP)), end + 1);
        else put(text.slice(at, end + 1), end + 1);
        continue;
      }
    }
    if (sign === "<" || ((sign === "h" || sign === "H") && !/\w/.test(text[at - 1] || " "))) {
      const found = /^<?(https?:\/\/[^\s<>"'`\])]+[^\s<>"'`\]).,;:!?*_~])>?/i.exec(text.slice(at, at + 2000));
      const href = found && found[0].startsWith("<") === found[0].endsWith(">") ? address(found[1]) : "";
      if (href) {
        put(link(href, found[1]), at + found[0].length);
        continue;
      }
    }
    const rest = /^[^\\`*_~[!<hH]+/.exec(text.slice(at + 1, at + FAR));
    plain += sign + (rest ? rest[0] : "");
    at += 1 + (rest ? rest[0].length : 0);
  }
  flush();
  return out;
}

const cells = (row) => row.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
const aligned = (cell) => (/^:-+:$/.test(cell) ? "center" : /-:$/.test(cell) ? "right" : undefined);
const isTable = (lines, at) =>
  lines[at].includes("|") && DIVIDER.test(lines[at + 1] || "") && (lines[at + 1].includes("|") || lines[at].trim().startsWith("|"));
const begins = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || /^ {0,3}>/.test(line) || ITEM.test(line);

/** Return nodes for whole lines. */
function blocks(lines, deep) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let found;
    if (!line.trim()) at++;
    else if ((found = FENCE.exec(line))) {
      const inside = [], mark = new RegExp(`^ {0,3}\\${found[1][0]}{${found[1].length},}\\s*$`);
      for (at++; at < lines.length && !mark.test(lines[at]); at++) inside.push(lines[at]);
      at++;
      out.push(h(Code, { text: inside.join("\n"), name: found[2] }));
    } else if ((found = HEADING.exec(line))) {
      out.push(h(`h${Math.min(6, found[1].length + 2)}`, null, inline(found[2] || "")));
      at++;
    } else if (RULE.test(line)) {
      out.push(h("hr"));
      at++;
    } else if (deep < DEEP && /^ {0,3}>/.test(line)) {
      const inside = [];
      for (; at < lines.length && lines[at].trim(); at++) inside.push(lines[at].replace(/^ {0,3}> ?/, ""));
      out.push(h("blockquote", null, blocks(inside, deep + 1)));
    } else if (deep < DEEP && ITEM.test(line)) {
      const [node, next] = list(lines, at, deep);
      out.push(node);
      at = next;
    } else if (isTable(lines, at)) {
      const head = cells(line), sides = cells(lines[at + 1]).map(aligned), body = [];
      for (at += 2; at < lines.length && lines[at].includes("|"); at++) body.push(cells(lines[at]));
      const row = (tag, told) => h("tr", null, head.map((_, n) => h(tag, { class: sides[n] }, inline(told[n] || ""))));
      const made = h("table", null, h("thead", null, row("th", head)), h("tbody", null, body.map((told) => row("td", told))));
      out.push(h("div", { class: "table", tabindex: 0 }, made));
    } else if (/^ {4}|^\t/.test(line)) {
      const inside = [];
      for (; at < lines.length && (/^ {4}|^\t/.test(lines[at]) || !lines[at].trim()); at++) inside.push(lines[at].replace(/^ {4}|^\t/, ""));
      out.push(h(Code, { text: inside.join("\n").trimEnd() }));
    } else {
      const words = [line];
      for (at++; at < lines.length && lines[at].trim() && !begins(lines[at]); at++) words.push(lines[at]);
      const nodes = [];
      words.forEach((word, n) => {
        nodes.push(word.replace(/^\s+/, "").replace(/(?: {2,}|\\)$/, ""));
        if (n < words.length - 1) nodes.push(/(?: {2,}|\\)$/.test(word) ? null : "\n");
      });
      out.push(h("p", null, broken(nodes)));
    }
  }
  return out;
}

/** Return nodes for pieces of text; null stands for a line break that was asked for. */
function broken(pieces) {
  const out = [];
  let text = "";
  for (const piece of [...pieces, null]) {
    if (piece !== null) {
      text += piece;
      continue;
    }
    out.push(...inline(text), h("br"));
    text = "";
  }
  out.pop();
  return out;
}

function list(lines, start, deep) {
  const first = ITEM.exec(lines[start]), ordered = /\d/.test(first[2]), items = [];
  let at = start;
  while (at < lines.length) {
    const found = ITEM.exec(lines[at]);
    if (!found || /\d/.test(found[2]) !== ordered || RULE.test(lines[at])) break;
    const wide = found[1].length + found[2].length + 1, inside = [found[4]];
    for (at++; at < lines.length; at++) {
      const indent = /^ */.exec(lines[at])[0].length;
      if (!lines[at].trim()) {
        const next = lines.slice(at).find((line) => line.trim());
        if (!next || /^ */.exec(next)[0].length < Math.min(wide, 2)) break;
        inside.push("");
      } else if (indent >= Math.min(wide, 2)) inside.push(lines[at].slice(Math.min(indent, wide)));
      else if (ITEM.test(lines[at]) || begins(lines[at])) break;
      else inside.push(lines[at]);
    }
    while (at < lines.length && !lines[at].trim() && ITEM.test(lines.slice(at).find((line) => line.trim()) || "")) at++;
    const nodes = blocks(inside, deep + 1);
    items.push(h("li", null, nodes.length && nodes[0].type === "p" ? [nodes[0].props.children, ...nodes.slice(1)] : nodes));
  }
  const number = ordered ? Number.parseInt(first[2], 10) : 1;
  return [h(ordered ? "ol" : "ul", number === 1 ? null : { start: number }, items), at];
}

/** Return the text in pieces that can be read one by one. */
export function pieces(text) {
  const out = [];
  let held = [], fence = "", listed = false;
  for (const line of text.split("\n")) {
    const found = FENCE.exec(line);
    const blank = held.length > 0 && !held[held.length - 1].trim();
    if (!fence && blank && line.trim() && !(listed && (/^ {2}|^\t/.test(line) || ITEM.test(line))) && !/^ {4}|^\t/.test(line)) {
      out.push(held.join("\n"));
      held = [];
    }
    if (!held.length) listed = ITEM.test(line);
    held.push(line);
    if (fence) {
      if (line.trim().startsWith(fence) && !line.trim().replaceAll(fence[0], "")) fence = "";
    } else if (found) fence = found[1];
  }
  if (held.length) out.push(held.join("\n"));
  return out;
}

const Piece = memo(({ text }) => blocks(text.split("\n"), 0));

/** Draw a text that is Markdown. */
export const Prose = memo(({ text }) =>
  h("div", { class: "prose" }, pieces(clean(text)).map((piece, at) => h(Piece, { key: at, text: piece }))),
);
