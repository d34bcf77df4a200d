// The few signs of the page, drawn by hand in a square of 16.

import { html } from "./dom.js";

const PATHS = {
  back: "M10 3 5 8l5 5",
  theme: "M8 1.75a6.25 6.25 0 1 0 0 12.5zM8 1.75a6.25 6.25 0 0 1 0 12.5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.25 1.5H2.75zM6.75 14h2.5",
  plus: "M8 3v10M3 8h10",
  keys: "M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6",
  check: "m3 8.5 3.2 3.2L13 4.8",
  cross: "m4 4 8 8M12 4l-8 8",
  stop: "M4.5 4.5h7v7h-7z",
  branch: "M4.5 2v12M4.5 9c4 0 7-1 7-5.5M9.6 5 11.5 3l1.9 2",
  plot: "M2 13.5h12M3 11l3.2-4 2.8 2.5L13.5 4",
  down: "M8 3v10M4 9l4 4 4-4",
  picture: "M2 3h12v10H2zM2 11l3.5-3.500 3 3 2-2L14 12M10.500 6h.01",
};

export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
