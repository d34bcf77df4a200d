// What extensions say, as blocks of text and images.

/** Return content as a list of blocks: a string is one text. */
export function said(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw new TypeError("content must be a string or a list of text and image blocks");
  for (const block of content) {
    const fits = block?.type === "text" ? typeof block.text === "string" : block?.type === "image";
    if (!fits) throw new TypeError("content must be a string or a list of text and image blocks");
  }
  return content;
}

/** Return the result of a tool as linnet takes it. Throws if it is none. */
export function toolResult(result) {
  if (result === null || typeof result !== "object" || !Array.isArray(result.content)) {
    throw new TypeError("the tool returned no result: expected { content: [...] }");
  }
  return {
    content: said(result.content),
    details: result.details,
    isError: Boolean(result.isError),
    terminate: Boolean(result.terminate),
  };
}
