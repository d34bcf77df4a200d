"use strict";
const root = document.documentElement;
const KEY = "linnet-theme";
root.classList.add("js");
try {
  const theme = localStorage.getItem(KEY);
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
} catch { /* Nothing is kept where that is not allowed. */ }

document.addEventListener("DOMContentLoaded", () => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => document.querySelectorAll(selector);
  const { up, newest, end } = JSON.parse($("#tree").textContent);
  const outline = $("#outline"), query = $("#query"), count = $("#count"), bar = $("#bar");
  const help = $("#help"), large = $("#large"), told = $("#told"), menu = $("#menu");

  // What shows an entry: one element with its id, and perhaps a mark or two elsewhere. And its line in the outline.
  const shown = up.map(() => []);
  for (const element of all("[data-n]")) shown[element.dataset.n].push(element);
  const main = shown.map((elements) => elements.find((element) => element.id));
  const rows = [];
  for (const row of outline.children) {
    rows[row.dataset.r] = row;
    row.firstElementChild.tabIndex = -1;
    if (row.dataset.also) rows[row.dataset.also] = row;
  }

  // Of the lines that are listed, one can be reached by Tab, and arrows lead from there to the others.
  const listed = () => [...outline.children].filter((row) => row.getClientRects().length);
  const stop = () => outline.querySelector("[tabindex='0']");
  const rove = (line) => {
    if (stop()) stop().tabIndex = -1;
    line.tabIndex = 0;
  };
  const settle = () => {
    const left = listed();
    if (left.length && !left.includes(stop()?.parentElement)) rove(left[0].firstElementChild);
    $("#none").hidden = left.length > 0;
  };

  // The branch: `tip` is its end, `path` the way there from the root.
  const trail = (n) => {
    const found = [];
    for (; n >= 0; n = up[n]) found.push(n);
    return found.reverse();
  };
  let tip = end, path = trail(end), chosen = -1;
  const isOn = (n) => !main[n].hidden;
  const toggle = (n, on) => {
    for (const element of shown[n]) element.hidden = !on;
    if (Number(rows[n].dataset.r) === n) rows[n].classList.toggle("on", on);
  };
  const show = (n) => {
    if (n === tip) return;
    const now = trail(n), kept = new Set(now);
    for (const m of path) if (!kept.has(m)) toggle(m, false);
    for (const m of now) if (!isOn(m)) toggle(m, true);
    [tip, path] = [n, now];
    onward();
  };
  const onward = () => {
    const more = tip >= 0 && newest[tip] !== tip;
    $("#onward").hidden = !more;
    if (more) $("#onward a").setAttribute("href", `#${main[newest[tip]].id}`);
  };

  const open = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  const choose = (n, focus = true) => {
    main[chosen]?.classList.remove("at");
    outline.querySelector("[aria-current]")?.removeAttribute("aria-current");
    chosen = n;
    main[n].classList.add("at");
    const line = rows[n].firstElementChild, list = outline.parentElement;
    line.setAttribute("aria-current", "true");
    rove(line);
    const { top, bottom } = line.getBoundingClientRect(), frame = list.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom) list.scrollTop += top - frame.top - frame.height / 3;
    if (focus) main[n].focus({ preventScroll: true });
  };
  const scroll = (element, block = "start") => {
    element.scrollIntoView({ block });
    // What was never drawn has a guessed height: once it is drawn, the place may be another.
    requestAnimationFrame(() => element.scrollIntoView({ block }));
  };
  const visit = (n, act) => {
    history.replaceState({ tip, y: scrollY }, "");
    act();
    history.pushState({ tip }, "", `#${main[n].id}`);
  };
  const reveal = (n, y) => {
    if (!isOn(n)) show(newest[n]);
    open(main[n]);
    choose(n);
    if (y === undefined) scroll(main[n]);
  };
  const go = (n) => visit(n, () => reveal(n));
  const turn = (n, rel) => {
    // To another branch: what was looked at stays where it is on the screen.
    const fork = (m) => main[m].querySelector(":scope > .fork");
    const before = fork(path.find((m) => up[m] === up[n])).getBoundingClientRect().top;
    visit(n, () => {
      show(newest[n]);
      open(main[n]);
      choose(n);
    });
    scrollBy(0, fork(n).getBoundingClientRect().top - before);
    if (rel) (fork(n).querySelector(`[rel=${rel}]`) ?? fork(n).querySelector("a")).focus({ preventScroll: true });
  };
  const named = (id) => {
    let found = document.getElementById(id);
    try {
      found ??= document.getElementById(`e-${encodeURIComponent(decodeURIComponent(id.slice(2)))}`);
    } catch { /* No such entry. */ }
    return found?.matches(".e") ? Number(found.dataset.n) : -1;
  };
  const arrive = (state) => {
    const n = named(location.hash.slice(1));
    if (state) show(state.tip);
    else if (!location.hash) show(end);
    if (n >= 0) reveal(n, state?.y);
    if (state?.y !== undefined) scrollTo(0, state.y);
  };
  addEventListener("popstate", (event) => arrive(event.state));

  // From message to message, starting at what is on the screen.
  const isNear = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > bar.offsetHeight && top < innerHeight;
  };
  const here = () => {
    if (chosen >= 0 && isOn(chosen) && isNear(main[chosen])) return chosen;
    const pieces = path.filter((n) => main[n].parentElement.id === "conversation");
    let [low, high] = [0, pieces.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (main[pieces[middle]].getBoundingClientRect().bottom > bar.offsetHeight + 1) high = middle;
      else low = middle + 1;
    }
    return pieces[low] ?? -1;
  };
  const step = (by, kind = "article") => {
    const stops = path.filter((n) => main[n].matches(kind));
    const now = here();
    const next = by > 0 ? stops.find((n) => n > now) : stops.findLast((n) => n < now);
    const start = chosen < 0 && scrollY < bar.offsetHeight ? stops[0] : next;
    if (start === undefined) return;
    choose(start);
    scroll(main[start]);
  };
  const branch = (rel) => {
    const forks = path.filter((n) => main[n].querySelector(":scope > .fork"));
    const now = here();
    const at = forks.findLast((n) => n <= now) ?? forks[0];
    const link = at === undefined ? null : main[at].querySelector(`:scope > .fork [rel=${rel}]`);
    if (link) turn(named(link.hash.slice(1)));
  };

  // Search: in all that was said, whatever branch it is on.
  let index = null, hits = [], hit = -1, filter = "all";
  const OURS = ".by, .meta, .fork, .day, .absent, .verdict, .thinking > summary, .more > summary"; // Nobody said those words.
  const words = (n) => {
    const found = [rows[n].querySelector(".tag")?.textContent ?? ""];
    const walk = (element) => {
      for (const child of element.children) {
        if (child.matches(".said, .call, .thinking, .call > summary, .block, .more")) walk(child);
        else if (!child.matches(`${OURS}, .result, .call > summary > [data-n]`)) found.push(child.textContent);
      }
    };
    walk(main[n]);
    return found.join("\n").toLowerCase();
  };
  const passes = (row) =>
    filter === "all" || (filter === "talk" ? !row.matches(".t, .m") : row.classList.contains(filter === "user" ? "u" : filter));
  const tell = () => {
    const total = hits.length;
    count.textContent = !query.value.trim() ? "" : hit < 0 ? (total === 1 ? "1 match" : `${total} matches`) : `${hit + 1} of ${total}`;
  };
  const mark = (n, wanted) => {
    if (!window.Highlight) return null;
    CSS.highlights.delete("found");
    if (n < 0) return null;
    const texts = document.createTreeWalker(main[n], NodeFilter.SHOW_TEXT), nodes = [];
    let said = "";
    while (texts.nextNode()) {
      if (texts.currentNode.parentElement.closest(".e") !== main[n]) continue;
      nodes.push([said.length, texts.currentNode]);
      said += texts.currentNode.data;
    }
    const place = (at) => {
      const [start, node] = nodes.findLast(([start]) => start <= at);
      return [node, Math.min(at - start, node.length)];
    };
    const ranges = [];
    const lower = said.toLowerCase();
    for (let at = lower.indexOf(wanted); at >= 0 && ranges.length < 500; at = lower.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(...place(at));
      range.setEnd(...place(at + wanted.length - 1));
      range.setEnd(range.endContainer, Math.min(range.endOffset + 1, range.endContainer.length));
      if (!range.startContainer.parentElement.closest(OURS)) ranges.push(range);
    }
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
    return ranges[0] ?? null;
  };
  const prepare = () => { index ??= main.map((_, n) => ({ n, row: rows[n], text: words(n) })); };
  const search = () => {
    const wanted = query.value.trim().toLowerCase();
    prepare();
    const found = new Map(); // One match a line, though a line may stand for two entries.
    if (wanted) for (const { n, row, text } of index) if (!found.has(row) && text.includes(wanted)) found.set(row, n);
    for (const row of outline.children) row.classList.toggle("miss", wanted !== "" && !found.has(row));
    hits = [...found].filter(([row]) => passes(row)).map(([, n]) => n);
    hit = -1;
    mark(-1);
    tell();
    settle();
  };
  const seek = (by) => {
    if (!hits.length) return;
    hit = hit < 0 ? (by > 0 ? 0 : hits.length - 1) : (hit + by + hits.length) % hits.length;
    const n = hits[hit], typing = document.activeElement === query;
    if (!isOn(n)) show(newest[n]);
    open(main[n]);
    choose(n, !typing);
    history.replaceState({ tip }, "", `#${main[n].id}`);
    const range = mark(n, query.value.trim().toLowerCase());
    if (range) open(range.startContainer.parentElement);
    scroll(range ? range.startContainer.parentElement : main[n], range ? "center" : "start");
    tell();
  };
  const sift = (name) => {
    outline.dataset.filter = filter = name;
    for (const button of all("[data-filter][aria-pressed]")) button.setAttribute("aria-pressed", button.dataset.filter === name);
    if (query.value) search();
    else settle();
  };

  const steady = (act) => {
    const n = here(), before = main[n]?.getBoundingClientRect().top;
    act();
    if (n >= 0) scrollBy(0, main[n].getBoundingClientRect().top - before);
  };
  const unfold = (selector, button) => {
    const now = button.getAttribute("aria-pressed") !== "true";
    steady(() => all(selector).forEach((details) => { details.open = now; }));
    button.setAttribute("aria-pressed", now);
  };
  const repaint = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem(KEY, root.dataset.theme);
    } catch { /* Until the page is closed, then. */ }
  };
  const drawer = (on) => {
    root.classList.toggle("drawer", on);
    menu.setAttribute("aria-expanded", on);
    $("main").inert = bar.inert = on;
    (on ? $("#side") : menu).focus({ preventScroll: true });
  };
  let fading;
  const tellAloud = (text) => {
    told.textContent = text;
    told.classList.add("up");
    clearTimeout(fading);
    fading = setTimeout(() => told.classList.remove("up"), 1600);
  };
  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      tellAloud(`${what} copied`);
    } catch {
      tellAloud(`${what} could not be copied`);
    }
  };

  const copier = Object.assign(document.createElement("button"), { type: "button", className: "copy", ariaLabel: "Copy" });
  for (const pre of all(".block pre")) pre.tabIndex = 0; // Tab leads there, and from there to Copy.
  const offer = (event) => {
    const block = event.target.closest(".block");
    if (block && copier.parentElement !== block) block.append(copier);
  };
  document.addEventListener("pointerover", offer);
  document.addEventListener("focusin", offer);
  const source = (block) =>
    [...block.querySelectorAll("pre")].map((pre) => (block.matches(".diff") ? [...pre.children].map((line) => line.textContent).join("\n") : pre.textContent)).join("\n");

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const link = event.target.closest('a[href^="#e-"]');
    const button = event.target.closest("button");
    if (link) {
      const n = named(link.hash.slice(1));
      if (n < 0) return;
      event.preventDefault();
      if (link.matches(".link")) {
        history.replaceState({ tip }, "", link.hash);
        choose(n, false);
        copy(location.href, "Link");
      } else if (link.closest(".fork")) turn(n, link.rel);
      else {
        if (root.classList.contains("drawer")) drawer(false);
        go(n);
      }
    } else if (button === copier) copy(source(copier.parentElement), "Text");
    else if (button?.matches(".shot")) {
      large.firstElementChild.src = button.firstElementChild.src;
      large.showModal();
    } else if (button?.dataset.filter) sift(button.dataset.filter);
    else if (button && button.closest("#help")) help.close();
    else if (event.target.closest("#large")) large.close();
    else if (event.target.id === "veil") drawer(false);
  });
  menu.addEventListener("click", () => drawer(!root.classList.contains("drawer")));
  $("#thoughts").addEventListener("click", (event) => unfold(".thinking", event.currentTarget));
  $("#tools").addEventListener("click", (event) => unfold(".call", event.currentTarget));
  $("#theme").addEventListener("click", repaint);
  $("#keys").addEventListener("click", () => help.showModal());
  matchMedia("(max-width: 62rem)").addEventListener("change", () => { if (root.classList.contains("drawer")) drawer(false); });
  outline.addEventListener("focusin", (event) => rove(event.target));
  query.addEventListener("focus", prepare);
  query.addEventListener("input", search);

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    u: () => step(1, "article.user"),
    U: () => step(-1, "article.user"),
    n: () => seek(1),
    N: () => seek(-1),
    "[": () => branch("prev"),
    "]": () => branch("next"),
    "/": () => {
      if (getComputedStyle($("#side")).visibility === "hidden") drawer(true);
      query.focus();
      query.select();
    },
    t: () => $("#tools").click(),
    h: () => $("#thoughts").click(),
    d: repaint,
    "?": () => help.showModal(),
    Escape: () => {
      if (root.classList.contains("drawer")) drawer(false);
      else if (query.value) {
        query.value = "";
        search();
      }
    },
  };
  ["all", "user", "talk", "tagged"].forEach((name, at) => { keys[at + 1] = () => sift(name); });
  const along = (event) => {
    const lines = listed();
    const at = lines.indexOf(event.target.closest("li"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (to === undefined) return false;
    lines[to]?.firstElementChild.focus();
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (help.open || large.open) {
      if (event.key === "?") help.close();
      return;
    }
    let done = true;
    if (event.target === query) {
      if (event.key === "Enter") seek(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        keys.Escape();
        query.blur();
      } else if (event.key === "ArrowDown") listed()[0]?.firstElementChild.focus();
      else done = false;
    } else if (outline.contains(event.target) && along(event)) done = true;
    else if (Object.hasOwn(keys, event.key)) keys[event.key]();
    else done = false;
    if (done) event.preventDefault();
  });

  $("#where").textContent = $("h1").textContent;
  if (rows.length) rows.find((row) => row).firstElementChild.tabIndex = 0;
  onward();
  history.replaceState({ tip }, "");
  if (location.hash) arrive(null);
});
