// The colours of a terminal, as classes of the style sheet. All other control sequences are dropped.

const SEQUENCE = /\x1b(?:\[([0-9;:]*)([@-~])|\[[0-?]*[ -\/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -\/]*[0-~])/g;
const STYLES = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"] };

/** Return pairs of classes and text. Colours beyond the sixteen named ones are left out. */
export function runs(text) {
  if (!text.includes("\x1b")) return [["", returned(text)]];
  const out = [];
  let at = 0, ink = "", ground = "", styles = new Set();
  const classes = () => [...styles, ink, ground].filter(Boolean).join(" ");
  const add = (piece) => piece && out.push([classes(), returned(piece)]);
  for (const found of text.matchAll(SEQUENCE)) {
    add(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] !== "m") continue;
    const codes = (found[1] || "0").split(/[;:]/).map(Number);
    for (let n = 0; n < codes.length; n++) {
      const code = codes[n];
      if (code === 0) [ink, ground, styles] = ["", "", new Set()];
      else if (STYLES[code]) styles.add(STYLES[code]);
      else if (OFF[code]) OFF[code].forEach((name) => styles.delete(name));
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) ink = `f${code < 90 ? code - 30 : code - 82}`;
      else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) ground = `b${code < 100 ? code - 40 : code - 92}`;
      else if (code === 39) ink = "";
      else if (code === 49) ground = "";
      else if (code === 38 || code === 48) {
        const named = codes[n + 1] === 5 && codes[n + 2] < 16 ? codes[n + 2] : -1;
        if (code === 38) ink = named < 0 ? "" : `f${named}`;
        else ground = named < 0 ? "" : `b${named}`;
        n += codes[n + 1] === 5 ? 2 : 4;
      }
    }
  }
  add(text.slice(at));
  return out;
}

/** Return the text as a terminal shows it after carriage returns: what was written over is gone. */
function returned(text) {
  if (!text.includes("\r")) return text;
  return text.replace(/\r+\n/g, "\n").replace(/[^\n]*\r(?=[^\n])/g, "");
}
