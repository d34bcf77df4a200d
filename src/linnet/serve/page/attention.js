// How many agents wait, where somebody sees it who looks elsewhere: in the title, in the icon, and in a notification if
// the user has asked for those.

const KEY = "linnet-notify";
const state = { number: 0, drawn: -1, url: "", shown: null };

export const canNotify = () => "Notification" in window;
export const notifies = () => canNotify() && Notification.permission === "granted" && read() === "on";

function read() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // Nothing is kept where that is not allowed.
  }
}

/** Switch notifications on or off. Asks the browser's question, so it must follow a click. Return whether they are on. */
export async function switchNotifications() {
  const on = !notifies();
  if (on && Notification.permission !== "granted" && (await Notification.requestPermission()) !== "granted") return false;
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch { /* Then it is off. */ }
  return notifies();
}

/** Return what the number means, as a sentence. */
export const sentence = (number) =>
  number === 0 ? "No agent waits for you." : number === 1 ? "1 agent waits for you." : `${number} agents wait for you.`;

/** Show the number. `title` is what else the title says. A notification comes only if more wait than before. */
export function show(number, title, detail) {
  document.title = `${number ? `(${number}) ` : ""}${title}`;
  if (number !== state.drawn) draw(number);
  const more = number > state.number;
  const changed = number !== state.number;
  state.number = number;
  if (!changed) return false;
  if (number === 0) state.shown?.close?.();
  else if (more && notifies() && !document.hasFocus()) {
    try {
      state.shown = new Notification(sentence(number), { body: detail, tag: "linnet-waiting", renotify: true });
      state.shown.onclick = () => window.focus();
    } catch { /* Some phones allow them to service workers only. */ }
  }
  return true;
}

/** Draw the icon: a dot, and the number in it if somebody waits. */
function draw(number) {
  state.drawn = number;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.fillStyle = number ? "#b4521e" : "#0d676c";
  pen.beginPath();
  pen.arc(32, 32, number ? 32 : 26, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = "#fff";
  if (number) {
    pen.font = `700 ${number > 9 ? 36 : 44}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(number > 99 ? "99" : String(number), 32, 35);
  } else {
    pen.beginPath();
    pen.arc(41, 25, 6, 0, 2 * Math.PI);
    pen.fill();
  }
  canvas.toBlob((blob) => {
    if (!blob || state.drawn !== number) return;
    const link = document.querySelector("link[rel=icon]");
    const { url } = state;
    if (url) setTimeout(() => URL.revokeObjectURL(url), 10_000); // The browser may still be on its way to fetch it.
    link.href = state.url = URL.createObjectURL(blob);
    link.dataset.number = String(number);
  });
}
