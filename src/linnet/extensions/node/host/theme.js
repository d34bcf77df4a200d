// `ctx.ui.theme`: the colours of any terminal, under the names that extensions use. Texts that are shown may carry them.
const DIM = "dim";
const PLAIN = "plain";
const COLOURS = {
  accent: 5, border: 4, borderAccent: 5, borderMuted: DIM, success: 2, error: 1, warning: 3, muted: DIM, dim: DIM,
  text: PLAIN, thinkingText: DIM, userMessageText: PLAIN, customMessageText: DIM, customMessageLabel: 5, toolTitle: PLAIN,
  toolOutput: DIM, mdHeading: 3, mdLink: 4, mdLinkUrl: DIM, mdCode: 5, mdCodeBlock: 2, mdCodeBlockBorder: DIM,
  mdQuote: DIM, mdQuoteBorder: DIM, mdHr: DIM, mdListBullet: 5, toolDiffAdded: 2, toolDiffRemoved: 1,
  toolDiffContext: DIM, syntaxComment: DIM, syntaxKeyword: 4, syntaxFunction: 3, syntaxVariable: 6, syntaxString: 2,
  syntaxNumber: 5, syntaxType: 5, syntaxOperator: DIM, syntaxPunctuation: DIM, thinkingOff: DIM, thinkingMinimal: 4,
  thinkingLow: 4, thinkingMedium: 6, thinkingHigh: 5, thinkingXhigh: 13, thinkingMax: 1, bashMode: 2,
};
const BACKGROUNDS = new Set([
  "selectedBg", "userMessageBg", "customMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg",
]);

/** Return what begins and what ends a colour. */
function codes(name) {
  const colour = COLOURS[name];
  if (colour === undefined) throw new Error(`Unknown theme color: ${name}`);
  if (colour === DIM) return ["\x1b[39m\x1b[2m", "\x1b[22;39m"];
  return [colour === PLAIN ? "\x1b[39m" : `\x1b[38;5;${colour}m`, "\x1b[39m"];
}

function background(name) {
  if (!BACKGROUNDS.has(name)) throw new Error(`Unknown theme color: ${name}`);
  return "\x1b[49m";
}

export const theme = Object.freeze({
  name: "system",
  fg: (name, text) => codes(name).join(text),
  bg: (name, text) => `${background(name)}${text}\x1b[49m`,
  bold: String,
  italic: String,
  underline: String,
  inverse: String,
  strikethrough: String,
  getFgAnsi: (name) => codes(name)[0],
  getBgAnsi: background,
  getColorMode: () => "256color",
  getThinkingBorderColor: () => String,
  getBashModeBorderColor: () => String,
});
