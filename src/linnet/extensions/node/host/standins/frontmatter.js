// Reads the YAML at the beginning of a Markdown file: what people write there, not all that YAML can say.

/** Return the fields and the rest of the text. Throws an Error for what makes no sense. */
export function parseFrontmatter(content) {
  const text = content.replace(/\r\n?/g, "\n");
  const match = /^---\n([\s\S]*?)\n?---(?:\n|$)/.exec(text);
  if (!match) return { frontmatter: {}, body: text };
  const lines = match[1].split("\n").map((line) => line.replace(/\s+$/, ""));
  return { frontmatter: block(lines, 0) ?? {}, body: text.slice(match[0].length).trim() };
}

export function stripFrontmatter(content) {
  return parseFrontmatter(content).body;
}

const indentOf = (line) => line.length - line.trimStart().length;
const isBlank = (line) => !line?.trim() || line.trim().startsWith("#");

/** Take the lines of one block, which are indented at least so far, and return its value. */
function block(lines, least) {
  while (lines.length && isBlank(lines[0])) lines.shift();
  if (!lines.length || indentOf(lines[0]) < least) return null;
  const indent = indentOf(lines[0]);
  return /^-(\s|$)/.test(lines[0].trim()) ? list(lines, indent) : mapping(lines, indent);
}

function list(lines, indent) {
  const found = [];
  while (lines.length) {
    if (isBlank(lines[0])) lines.shift();
    else if (indentOf(lines[0]) === indent && /^-(\s|$)/.test(lines[0].trim())) {
      const rest = lines.shift().trim().slice(1).trim();
      if (!rest) found.push(block(lines, indent + 1));
      else if (/^[\w-]+:(\s|$)/.test(rest)) {
        lines.unshift(" ".repeat(indent + 2) + rest);
        found.push(mapping(lines, indent + 2));
      } else found.push(scalar(rest));
    } else break;
  }
  return found;
}

function mapping(lines, indent) {
  const found = {};
  while (lines.length) {
    if (isBlank(lines[0])) {
      lines.shift();
      continue;
    }
    if (indentOf(lines[0]) < indent) break;
    const match = /^("[^"]*"|'[^']*'|[^\s:#][^:]*?)\s*:(?:\s+(.*))?$/.exec(lines[0].trim());
    if (!match || indentOf(lines[0]) > indent) throw new Error(`this line of the frontmatter makes no sense: ${lines[0].trim()}`);
    lines.shift();
    const name = match[1].replace(/^["']|["']$/g, "");
    const rest = match[2]?.trim() ?? "";
    const style = /^([|>])([+-]?)$/.exec(rest);
    if (style) found[name] = folded(lines, indent, style[1], style[2]);
    else if (rest && !rest.startsWith("#")) found[name] = scalar(rest);
    else found[name] = block(lines, indent + 1) ?? (/^\s*-/.test(lines[0] ?? "") ? block(lines, indent) : null);
  }
  return found;
}

function folded(lines, indent, style, chomp) {
  const taken = [];
  while (lines.length && (!lines[0].trim() || indentOf(lines[0]) > indent)) taken.push(lines.shift());
  const margin = Math.min(...taken.filter((line) => line.trim()).map(indentOf));
  const own = taken.map((line) => line.slice(margin));
  const text = style === "|" ? own.join("\n") : own.join("\n").replace(/([^\n])\n(?=[^\n])/g, "$1 ");
  return text.replace(/\n+$/, "") + (chomp === "-" ? "" : "\n");
}

function scalar(word) {
  if (/^".*"$/s.test(word)) return JSON.parse(word);
  if (/^'.*'$/s.test(word)) return word.slice(1, -1).replace(/''/g, "'");
  if (word.startsWith("[")) {
    if (!word.endsWith("]")) throw new Error(`a list in the frontmatter has no end: ${word}`);
    return word.slice(1, -1).split(",").map((each) => each.trim()).filter(Boolean).map(scalar);
  }
  const plain = word.replace(/\s+#.*$/, "");
  if (plain === "true" || plain === "false") return plain === "true";
  if (plain === "null" || plain === "~") return null;
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : plain;
}
