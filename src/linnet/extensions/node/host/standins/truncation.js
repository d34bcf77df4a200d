// Cuts long texts as pi's tools do.
export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;

/** Return a number of bytes in words. */
export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

const size = (text) => Buffer.byteLength(text, "utf8");

function lines(text) {
  const found = text.split("\n");
  return text.endsWith("\n") ? found.slice(0, -1) : found;
}

function told(text, kept, { maxLines, maxBytes, truncatedBy, lastLinePartial = false, firstLineExceedsLimit = false }) {
  const content = kept.join("\n");
  return {
    content: truncatedBy ? content : text,
    truncated: Boolean(truncatedBy),
    truncatedBy: truncatedBy ?? null,
    totalLines: lines(text).length,
    totalBytes: size(text),
    outputLines: truncatedBy ? kept.length : lines(text).length,
    outputBytes: truncatedBy ? size(content) : size(text),
    lastLinePartial,
    firstLineExceedsLimit,
    maxLines,
    maxBytes,
  };
}

function limits({ maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = {}) {
  return { maxLines, maxBytes };
}

/** Return the whole lines that a text begins with, as many as the limits allow. */
export function truncateHead(text, options) {
  const { maxLines, maxBytes } = limits(options);
  const all = lines(text);
  if (all.length <= maxLines && size(text) <= maxBytes) return told(text, all, { maxLines, maxBytes });
  if (size(all[0] ?? "") > maxBytes) {
    return told(text, [], { maxLines, maxBytes, truncatedBy: "bytes", firstLineExceedsLimit: true });
  }
  const kept = [];
  let bytes = 0;
  for (const line of all) {
    const more = size(line) + (kept.length ? 1 : 0);
    if (kept.length >= maxLines) return told(text, kept, { maxLines, maxBytes, truncatedBy: "lines" });
    if (bytes + more > maxBytes) return told(text, kept, { maxLines, maxBytes, truncatedBy: "bytes" });
    kept.push(line);
    bytes += more;
  }
  return told(text, kept, { maxLines, maxBytes, truncatedBy: "bytes" });
}

/** Return the lines that a text ends with, as many as the limits allow; of one that is too long, its end. */
export function truncateTail(text, options) {
  const { maxLines, maxBytes } = limits(options);
  const all = lines(text);
  if (all.length <= maxLines && size(text) <= maxBytes) return told(text, all, { maxLines, maxBytes });
  const kept = [];
  let bytes = 0;
  for (const line of all.toReversed()) {
    const more = size(line) + (kept.length ? 1 : 0);
    if (kept.length >= maxLines) return told(text, kept, { maxLines, maxBytes, truncatedBy: "lines" });
    if (bytes + more > maxBytes) {
      if (kept.length) return told(text, kept, { maxLines, maxBytes, truncatedBy: "bytes" });
      const end = Buffer.from(line).subarray(-maxBytes).toString("utf8").replace(/^\uFFFD+/, "");
      return told(text, [end], { maxLines, maxBytes, truncatedBy: "bytes", lastLinePartial: true });
    }
    kept.unshift(line);
    bytes += more;
  }
  return told(text, kept, { maxLines, maxBytes, truncatedBy: "bytes" });
}

/** Return the first characters of a line. */
export function truncateLine(line, most = GREP_MAX_LINE_LENGTH) {
  if (line.length <= most) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, most)}... [truncated]`, wasTruncated: true };
}
