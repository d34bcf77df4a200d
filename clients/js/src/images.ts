/** An image: its bytes (PNG, JPEG, GIF or WebP), or its data in base64 with its type. */
export type Image = Uint8Array | { data: string; mimeType: string };

/** An image as it is sent. */
export interface Encoded {
  type: "image";
  data: string;
  mimeType: string;
}

const KINDS = { png: /^\x89PNG/, jpeg: /^\xff\xd8\xff/, gif: /^GIF8/, webp: /^.{8}WEBP/s };

/** Return an image as it is sent. Throws TypeError for bytes that are no image. */
export function encoded(image: Image): Encoded {
  if ("data" in image) return { type: "image", data: image.data, mimeType: image.mimeType };
  let binary = "";
  for (let at = 0; at < image.length; at += 0x8000) binary += String.fromCharCode(...image.subarray(at, at + 0x8000));
  for (const [kind, begin] of Object.entries(KINDS)) {
    if (begin.test(binary)) return { type: "image", data: btoa(binary), mimeType: `image/${kind}` };
  }
  throw new TypeError("these bytes are no PNG, JPEG, GIF or WebP");
}
