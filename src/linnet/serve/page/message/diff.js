// Lines of a change, from either of two formats: unified hunks, and pi's numbered lines. As the exported page has them.

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;
const UNIFIED = /^(?:diff |index |Index: |=== |--- [^\n]*\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)/;
const ANY_HUNK = /^@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@/m;
const NUMBERED = /^([-+ ]) {0,8}(\d{1,9}) (.*)$/;
const SKIPPED = /^ {2,}\.\.\.$/;
const HEADERS = ["diff ", "index ", "--- ", "+++ ", "new file ", "deleted file ", "similarity ", "rename ", "Index: ", "==="];
const KINDS = { "+": "add", "-": "del", " ": "same" };

const rows = (text) => (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
const line = (kind, number, text) => ({ kind, number, text });

export const isUnified = (text) => UNIFIED.test(text) && ANY_HUNK.test(text);

/** Return whether a text is a change in either format. */
export function isDiff(text) {
  if (isUnified(text)) return true;
  const all = rows(text);
  return all.every((row) => !row || NUMBERED.test(row) || SKIPPED.test(row)) && all.some((row) => /^[-+]/.test(row));
}

/** Return {kind, number, text} for each line. The number is that in the new file, or in the old if it was removed. */
export function lines(diff) {
  const all = rows(diff);
  if (!isUnified(diff) && all.every((row) => !row || NUMBERED.test(row) || SKIPPED.test(row))) {
    return all.map((row) => {
      const found = NUMBERED.exec(row);
      return found ? line(KINDS[found[1]], found[2], found[3]) : line("hunk", "", row.trim());
    });
  }
  return unified(all);
}

/** Return all of `old` as removed and all of `made` as added: for a change that was asked for only. */
export function replaced(old, made) {
  return [
    ...(old ? rows(old) : []).map((row) => line("del", "", row)),
    ...(made ? rows(made) : []).map((row) => line("add", "", row)),
  ];
}

function unified(all) {
  const out = [];
  let old = 0, now = 0, oldLeft = 0, nowLeft = 0;
  for (const row of all) {
    const sign = row[0] || "", rest = row.slice(1), inside = oldLeft > 0 || nowLeft > 0;
    const found = inside ? null : HUNK.exec(row);
    if (found) {
      [old, now] = [Number(found[1]), Number(found[3])];
      [oldLeft, nowLeft] = [Number(found[2] ?? 1), Number(found[4] ?? 1)];
      out.push(line("hunk", "", row));
    } else if (!inside && HEADERS.some((head) => row.startsWith(head))) out.push(line("head", "", row));
    else if (sign === "\\") out.push(line("hunk", "", row));
    else if (sign === "-") {
      out.push(line("del", inside ? old : "", rest));
      old++; oldLeft--;
    } else if (sign === "+") {
      out.push(line("add", inside ? now : "", rest));
      now++; nowLeft--;
    } else if (!inside) out.push(line("plain", "", row));
    else {
      out.push(line("same", now, rest));
      old++; oldLeft--; now++; nowLeft--;
    }
  }
  return out;
}
