// The one door to preact and htm, and what several views need of them.

import { Component, h } from "./vendor/standalone.module.js";

export { Component, h, html, render, useEffect, useLayoutEffect, useRef, useState } from "./vendor/standalone.module.js";

const alike = (a, b) =>
  a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, at) => one === b[at]));

/** Return a component that is drawn again only if one of its properties is another one. */
export const memo = (view) =>
  class extends Component {
    shouldComponentUpdate(next) {
      const now = this.props;
      for (const name in next) if (!alike(next[name], now[name])) return true;
      for (const name in now) if (!(name in next)) return true;
      return false;
    }

    render(props) {
      return h(view, props);
    }
  };

/** Return whether nothing has the focus, as when what had it is gone. */
export const isAdrift = () => !document.activeElement || document.activeElement === document.body;

const told = { timer: 0 };

/** Say something to whoever listens to the page, and show it for a moment if it is for everybody. */
export function tell(text, { aloud = true } = {}) {
  const place = document.getElementById("told"), voice = document.getElementById("voice");
  voice.textContent = text;
  if (!aloud) return;
  place.textContent = text;
  place.classList.add("up");
  clearTimeout(told.timer);
  told.timer = setTimeout(() => place.classList.remove("up"), 4000);
}
