/** An image: its bytes (PNG, JPEG, GIF or WebP), or its data in base64 with its type. */
export type Image = Uint8Array | { data: string; mimeType: string };

const KINDS: [type: string, bytes: string, at: number][] = [
  ["image/png", "\x89PNG", 0],
  ["image/jpeg", "\xff\xd8\xff", 0],
  ["image/gif", "GIF8", 0],
  ["image/webp", "WEBP", 8],
];

/** Return an image as it is sent. Throws TypeError for bytes that are no image. */
export function encoded(image: Image): { data: string; mimeType: string } {
  if (!(image instanceof Uint8Array)) return image;
  const text = (from: number, to: number) => String.fromCharCode(...image.subarray(from, to));
  const kind = KINDS.find(([, bytes, at]) => text(at, at + bytes.length) === bytes);
  if (!kind) throw new TypeError("these bytes are no PNG, JPEG, GIF or WebP");
  let binary = "";
  for (let at = 0; at < image.length; at += 0x8000) binary += text(at, at + 0x8000);
  return { data: btoa(binary), mimeType: kind[0] };
}
