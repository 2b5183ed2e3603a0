// Puts what the server sends in its place. The server has escaped every text of it.
"use strict";
(() => {
  const main = document.getElementById("parts");
  const link = document.getElementById("link");
  const news = document.getElementById("news");
  const shown = new Map();
  for (const part of main.children) shown.set(part.id, part.innerHTML);

  // An entry that has focus keeps it, and tables stay where they were scrolled to.
  const replace = (part, html) => {
    const focused = document.activeElement;
    const id = part.contains(focused) ? focused.id : "";
    const wide = [...part.querySelectorAll(".scroll")].map((e) => [e.id, e.scrollLeft]);
    part.innerHTML = html;
    for (const [key, left] of wide) {
      const found = document.getElementById(key);
      if (found) found.scrollLeft = left;
    }
    if (id) document.getElementById(id)?.focus({ preventScroll: true });
  };

  const put = (parts) => {
    const wanted = new Set(parts.map(([key]) => `part-${key}`));
    for (const part of [...main.children]) {
      if (!wanted.has(part.id)) { part.remove(); shown.delete(part.id); }
    }
    let before = null;
    for (const [key, html] of parts) {
      const id = `part-${key}`;
      let part = document.getElementById(id);
      if (!part) {
        part = document.createElement("section");
        part.id = id;
        if (key !== "report") part.setAttribute("aria-labelledby", `h-${key}`);
        main.insertBefore(part, before ? before.nextSibling : main.firstChild);
      }
      if (shown.get(id) !== html) { replace(part, html); shown.set(id, html); }
      before = part;
    }
  };

  // How long ago the last entry was: a run that thinks writes nothing for a while.
  const ago = document.getElementById("ago");
  let last = link.dataset.last;
  const tick = () => {
    const seconds = Math.round((Date.now() - Date.parse(last)) / 1000);
    if (!Number.isFinite(seconds)) { ago.textContent = ""; return; }
    const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    const told = seconds < 60 ? `${s} s` : seconds < 3600 ? `${m} min ${s} s` : `${h} h ${m} min`;
    ago.textContent = seconds < 0 ? "" : `(last entry ${told} ago)`;
  };
  setInterval(tick, 1000);
  tick();

  const source = new EventSource(document.body.dataset.events);
  source.addEventListener("open", () => { link.textContent = "live"; });
  source.addEventListener("error", () => {
    link.textContent = source.readyState === EventSource.CLOSED
      ? "not connected: reload the page" : "not connected: trying again";
  });
  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    document.title = state.title;
    if (news.textContent !== state.news) news.textContent = state.news;
    last = state.last;
    tick();
    put(state.parts);
  });
})();
