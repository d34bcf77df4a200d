// Pictures of a conversation. Only those that are of four kinds by their bytes are shown; others are named.

import { html, memo, useEffect, useState } from "../dom.js";
import { bytes, clean } from "../text.js";

const KINDS = [
  ["image/png", "PNG", (b) => b[0] === 0x89 && b[1] === 0x50 && b[2] === 0x4e && b[3] === 0x47],
  ["image/jpeg", "JPEG", (b) => b[0] === 0xff && b[1] === 0xd8 && b[2] === 0xff],
  ["image/gif", "GIF", (b) => b[0] === 0x47 && b[1] === 0x49 && b[2] === 0x46 && b[3] === 0x38],
  ["image/webp", "WebP", (b) => b[0] === 0x52 && b[1] === 0x49 && b[8] === 0x57 && b[9] === 0x45],
];

function decoded(data) {
  try {
    return Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

const Picture = memo(({ data, mimeType }) => {
  const [shown, setShown] = useState(null);
  const [large, setLarge] = useState(false);
  useEffect(() => {
    const raw = decoded(typeof data === "string" ? data : "");
    const kind = KINDS.find(([, , is]) => is(raw));
    const url = kind ? URL.createObjectURL(new Blob([raw], { type: kind[0] })) : "";
    setShown({ url, name: kind ? `${kind[1]} image, ${bytes(raw.length)}` : "", size: raw.length });
    return () => url && URL.revokeObjectURL(url);
  }, [data]);
  if (!shown) return null;
  if (!shown.url) return html`<p class="remark">Image not shown: ${clean(mimeType || "of no kind").slice(0, 80)}${shown.size ? ` (${bytes(shown.size)})` : ""}</p>`;
  return html`<button type="button" class="shot ${large ? "large" : ""}" aria-expanded=${large} aria-label=${`${large ? "Shrink" : "Enlarge"} ${shown.name}`} onClick=${() => setLarge(!large)}>
    <img src=${shown.url} alt=${shown.name} decoding="async" /></button>`;
});

export const Pictures = ({ content }) =>
  (Array.isArray(content) ? content : [])
    .filter((part) => part?.type === "image")
    .map((part) => html`<${Picture} data=${part.data} mimeType=${part.mimeType} />`);
