// Where something is said to an agent: a prompt if it is idle; while it works, either now or when it is done.

import { html, tell, useEffect, useRef, useState } from "./dom.js";
import { command } from "./api.js";
import { Icon } from "./icons.js";
import { bytes, clean, short } from "./text.js";

const drafts = new Map(); // What was typed and not sent, by agent.
const LARGEST = 20 * 1048576;

/** Return a file as an image block; null if it is none. */
async function image(file) {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type) || file.size > LARGEST) return null;
  const raw = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < raw.length; at += 0x8000) text += String.fromCharCode(...raw.subarray(at, at + 0x8000));
  return { type: "image", data: btoa(text), mimeType: file.type, name: file.name, size: file.size };
}

export function Composer({ agent, busy, queue, typed }) {
  const [text, setText] = useState(drafts.get(agent) || "");
  const [images, setImages] = useState([]);
  const [sending, setSending] = useState(false);
  const field = useRef(null);
  useEffect(() => setText(drafts.get(agent) || ""), [agent]);
  useEffect(() => {
    if (typed) put(typed.text);
  }, [typed?.text, typed?.number]);
  useEffect(() => {
    const { current } = field;
    if (!current) return;
    current.style.height = "auto";
    current.style.height = `${Math.min(current.scrollHeight + 2, innerHeight * 0.4)}px`;
  }, [text]);

  function put(value) {
    drafts.set(agent, value);
    setText(value);
  }

  async function send(type) {
    const message = text.trim();
    if ((!message && !images.length) || sending) return;
    setSending(true);
    const sent = images.map(({ type: kind, data, mimeType }) => ({ type: kind, data, mimeType }));
    try {
      await command(agent, { type, message, ...(sent.length ? { images: sent } : {}) });
      put("");
      setImages([]);
    } catch (error) {
      tell(error.message);
    }
    setSending(false);
    field.current?.focus();
  }

  async function attach(files) {
    const all = [...files]; // The list itself is emptied when the field is.
    const made = (await Promise.all(all.map(image))).filter(Boolean);
    if (made.length < all.length) tell("Only PNG, JPEG, GIF and WebP images of at most 20 MB can be sent.");
    setImages((before) => [...before, ...made]);
  }

  const typedKey = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    send(busy ? (event.altKey ? "follow_up" : "steer") : "prompt");
  };
  const pasted = (event) => {
    const files = [...(event.clipboardData?.files || [])];
    if (!files.length) return;
    event.preventDefault();
    attach(files);
  };
  const submit = (event) => {
    event.preventDefault();
    send(busy ? "steer" : "prompt");
  };
  const empty = (!text.trim() && !images.length) || sending;
  const waits = [...queue.steering.map((one) => ["next", one]), ...queue.followUp.map((one) => ["later", one])];
  return html`<form class="composer" onSubmit=${submit}>
    ${waits.length > 0 && html`<ul class="queue" aria-label="Messages that wait">
      ${waits.map(([when, words]) => html`<li><b>${when}</b> ${short(words, 120)}</li>`)}
      <li><button type="button" class="quiet" onClick=${() => command(agent, { type: "clear_queue" }).catch((error) => tell(error.message))}>Take back</button></li>
    </ul>`}
    ${images.length > 0 && html`<ul class="queue" aria-label="Images to send">${images.map((one, at) => html`<li>${clean(one.name || "image")} (${bytes(one.size)})
      <button type="button" class="quiet" onClick=${() => setImages(images.filter((_, n) => n !== at))}>Remove</button></li>`)}</ul>`}
    <div class="field">
      <textarea id="prompt" ref=${field} rows="1" value=${text} onInput=${(event) => put(event.target.value)} onKeyDown=${typedKey} onPaste=${pasted}
        aria-label="What to say to the agent" placeholder=${busy ? "Say something while it works…" : "What should it do?"} enterkeyhint="enter"></textarea>
      <div class="send">
        <label class="attach" title="Attach images"><input type="file" accept="image/png,image/jpeg,image/gif,image/webp" multiple
          onChange=${(event) => { attach(event.target.files); event.target.value = ""; }} /><${Icon} name="picture" /><span class="hidden">Attach images</span></label>
        ${busy && html`<button type="button" class="no" onClick=${() => stop(agent)}><${Icon} name="stop" />Stop</button>`}
        ${busy && html`<button type="button" disabled=${empty} onClick=${() => send("follow_up")} title="When it is done (Alt+Enter)">Follow up</button>`}
        <button type="submit" class="yes" disabled=${empty} title=${busy ? "After the tools that it has called (Enter)" : "Enter"}>${busy ? "Steer" : "Send"}</button>
      </div>
    </div>
  </form>`;
}

export async function stop(agent) {
  try {
    await command(agent, { type: "abort" });
    tell("Stopped");
  } catch (error) {
    tell(error.message);
  }
}
