// Light or dark, before anything is drawn. This is no module, since those come later than the first look at the page.
"use strict";
try {
  const theme = localStorage.getItem("linnet-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch { /* Nothing is kept where that is not allowed. */ }
