// Texts, numbers and times as people read them. Whatever an agent said goes through `clean` before it is shown.

// Characters that cannot be seen, or that turn the direction of what follows. Tab and line feed are not among them, nor
// joiners, which are part of words and of emoji. The exported page spells the same ones out.
const CONTROL = "\\u0000-\\u0008\\u000b-\\u001f\\u007f";
const UNWRITABLE = "\\u0080-\\u009f\\ud800-\\udfff\\ufffe\\uffff";
const HIDDEN =
  "\\u00ad\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}";
const VARIANT = "\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}";
const PLAIN = /^[\n\x20-\x7e]*$/;
const SPELLED = new RegExp(
  "(\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f})" +
    `|([${CONTROL}])|([${UNWRITABLE}])|([${HIDDEN}]|(?<=[${VARIANT}])[${VARIANT}])`,
  "gu",
);

/** Return the text without characters that hide. Lines end in a line feed. What is no text is made one. */
export function clean(value) {
  const text = typeof value === "string" ? value : value == null ? "" : String(value);
  if (PLAIN.test(text)) return text;
  return text.replace(/\r\n?/g, "\n").replace(SPELLED, (found, flag, control, unwritable) => {
    if (flag) return flag;
    if (control) return control === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + control.charCodeAt(0));
    if (unwritable) return "\ufffd";
    return `[U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** Return the text on one line, of at most so many characters. `end` stands where a line ended. */
export function short(value, most, end = " ") {
  const text = typeof value === "string" ? value : value == null ? "" : String(value);
  const head = clean(text.slice(0, most * 4));
  const lines = head.split("\n").map((line) => line.split(/\s+/).filter(Boolean).join(" "));
  const words = lines.filter(Boolean).join(end);
  if (words.length <= most && text.length <= most * 4) return words;
  return `${words.slice(0, most - 1).trimEnd()}…`;
}

/** Return a number with at most three digits and a unit, such as 12.3k. */
export function count(number) {
  if (!Number.isFinite(number)) return "";
  if (Math.abs(number) < 1000) return String(number);
  for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    const shown = number / unit;
    if (Math.abs(shown) >= (unit > 1e3 ? 0.9995 : 1)) {
      return Math.abs(shown) < 99.95 ? `${shown.toFixed(1)}${name}` : `${Math.round(shown)}${name}`;
    }
  }
  return String(number);
}

export function money(dollars) {
  if (!(dollars > 0)) return "";
  if (dollars >= 1) return `$${dollars.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return `$${dollars.toFixed(dollars >= 0.01 ? 3 : 4)}`;
}

/** Return how long something took, as people say it; "" for less than a tenth of a second. */
export function duration(ms) {
  const seconds = ms / 1000;
  if (!(seconds >= 0.1)) return "";
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  return elapsed(ms);
}

/** The same in whole seconds, for what goes on: it is read while it changes. */
export function elapsed(ms) {
  const whole = Math.max(0, Math.round(ms / 1000));
  if (!Number.isFinite(whole)) return "";
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(whole / 86400)} days`;
}

export function clock(ms) {
  const date = new Date(ms);
  return Number.isFinite(date.getTime()) ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : "";
}

/** Return a time, with its day if that is not the day of another time: of now, unless it is said. */
export function moment(ms, other = Date.now()) {
  const date = new Date(ms);
  if (!Number.isFinite(date.getTime())) return "";
  const day = date.toDateString() === new Date(other).toDateString() ? "" : `${date.toLocaleDateString([], { day: "numeric", month: "short" })}, `;
  return `${day}${clock(ms)}`;
}

export function bytes(number) {
  if (number < 1024) return `${number} bytes`;
  return number >= 1048576 ? `${(number / 1048576).toFixed(1)} MB` : `${(number / 1024).toFixed(1)} KB`;
}

/** Return [[group, members]…] in the order in which the groups first come. */
export function grouped(all, of) {
  const groups = new Map();
  for (const one of all) groups.set(of(one), [...(groups.get(of(one)) ?? []), one]);
  return [...groups];
}

/** Return the last part of a path. */
export function folder(path) {
  const parts = clean(path).split("/").filter(Boolean);
  return parts[parts.length - 1] || "/";
}

/** Return what went in, what came out and what that cost, in a few characters. */
export function spent({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cost } = {}) {
  const into = input + cacheRead + cacheWrite;
  const parts = [into ? `↑${count(into)}` : "", output ? `↓${count(output)}` : "", money(cost?.total ?? 0)];
  return parts.filter(Boolean).join(" ");
}
