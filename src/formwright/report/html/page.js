// What a page does beyond being read: tables sort, filter and show more; drawings say their values
// to the pointer and to the keyboard; links open the folds that they lead into.
// Nothing is fetched and nothing is kept. Without it the page is whole, save rows beyond the first.
"use strict";
(() => {
  const all = (what, root) => Array.from(root.querySelectorAll(what));
  const make = (name, attributes, ...inner) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inner);
    return made;
  };
  const counted = (number) => number.toLocaleString("en");
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  // ---- tables

  const MORE = 500;

  /** What a cell sorts by: a number, a text, or nothing, which comes last in both directions. */
  const keyOf = (cell) => {
    if (!cell) return null;
    if (cell.dataset.n !== undefined) return Number(cell.dataset.n);
    const text = cell.dataset.v ?? cell.textContent.trim();
    return text === "" ? null : text;
  };

  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    if (typeof a !== typeof b) return sign * (typeof a === "number" ? -1 : 1);
    return sign * collator.compare(a, b);
  };

  const table = (box) => {
    const body = box.querySelector("tbody");
    const held = box.querySelector("template");
    const rows = [...body.rows, ...(held ? held.content.children : [])];
    const shown = Number(box.dataset.shown);
    let limit = shown;
    let order = rows;
    let wanted = "";
    let texts = null;
    const heads = all("thead th", box);
    const count = make("p", { class: "count", role: "status" });
    const more = make("button", { type: "button" });
    const whole = make("button", { type: "button" }, "Show all");

    const draw = () => {
      let chosen = order;
      if (wanted) {
        texts ??= new Map(rows.map((row) => [row, row.textContent.replaceAll("\u00a0", " ").toLowerCase()]));
        chosen = order.filter((row) => texts.get(row).includes(wanted));
      }
      body.replaceChildren(...chosen.slice(0, limit));
      const left = chosen.length - Math.min(limit, chosen.length);
      more.hidden = whole.hidden = left === 0;
      more.textContent = `Show ${counted(Math.min(MORE, left))} more`;
      const of = wanted ? `${counted(chosen.length)} that match` : `${counted(rows.length)} rows`;
      count.textContent = left ? `${counted(limit)} of ${of}` : of;
    };

    const sort = (column) => {
      const head = heads[column];
      const now = head.getAttribute("aria-sort");
      const next = { null: "ascending", ascending: "descending", descending: null }[now];
      for (const each of heads) each.removeAttribute("aria-sort");
      order = rows;
      if (next) {
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
        order = [...rows].sort((a, b) => compare(keys.get(a), keys.get(b), sign));
      }
      draw();
    };

    if (rows.length > 2) {
      heads.forEach((head, column) => {
        const word = head.querySelector(".ev");
        const named = [...head.childNodes].filter((node) => node !== word);
        const button = make("button", { type: "button" }, ...named);
        button.addEventListener("click", () => sort(column));
        head.replaceChildren(button, ...(word ? [" ", word] : []));
      });
    }
    if (rows.length <= shown && box.dataset.filter === undefined) return;
    const tools = make("div", { class: "tools" });
    if (box.dataset.filter !== undefined) {
      const field = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
      let waits = 0;
      field.addEventListener("input", () => {
        clearTimeout(waits);
        waits = setTimeout(() => {
          wanted = field.value.trim().toLowerCase();
          limit = shown;
          draw();
        }, 120);
      });
      tools.append(make("label", {}, "Filter ", field));
    }
    more.addEventListener("click", () => { limit += MORE; draw(); });
    whole.addEventListener("click", () => { limit = rows.length; draw(); });
    tools.append(count, more, whole);
    box.querySelector(":scope > .count")?.remove();
    box.prepend(tools);
    draw();
  };

  // ---- drawings

  const NEAR = 44;

  /** Where a mark stands in its drawing: a share of the width, or two, and pixels down. */
  const standing = (mark) => {
    const read = (name) => parseFloat(mark.getAttribute(name)) || 0;
    const left = (read("cx") || read("x")) / 100;
    const wide = mark.tagName === "rect" ? read("width") / 100 : 0;
    const flat = mark.tagName === "rect";
    return { left, right: left + wide, down: flat ? null : read("cy") || read("y") };
  };

  const drawing = (figure) => {
    const stage = figure.querySelector(".stage");
    if (!stage || !stage.querySelector("[data-m]")) return;
    const title = figure.querySelector(".title").textContent;
    const hint = "Values: point at a mark, or focus the drawing and use the arrow keys.";
    const readout = make("p", { class: "readout hint" }, hint);
    const steps = make("div", {
      class: "steps", role: "slider", tabindex: "0", "aria-label": `Values of ${title}`,
      "aria-valuemin": "1", "aria-valuemax": "1", "aria-valuenow": "1", "aria-valuetext": hint,
    });
    stage.append(steps);
    (figure.querySelector(".xname") ?? stage).after(readout);
    let marks = null;
    let chosen = -1;

    /** The marks are looked up once somebody comes; the browser's own titles would hide them. */
    const wake = () => {
      if (marks) return;
      marks = all("[data-m]", stage).map((mark) => {
        const told = mark.querySelector("title");
        const text = told.textContent;
        told.remove();
        return { mark, text, svg: mark.closest("svg.draw"), ...standing(mark) };
      });
      steps.setAttribute("aria-valuemax", String(marks.length));
    };

    const choose = (number) => {
      if (number === chosen || number < 0 || number >= marks.length) return;
      if (chosen >= 0) marks[chosen].mark.classList.remove("on");
      chosen = number;
      const { mark, text } = marks[chosen];
      mark.classList.add("on");
      readout.classList.remove("hint");
      steps.setAttribute("aria-valuenow", String(chosen + 1));
      steps.setAttribute("aria-valuetext", text);
      readout.replaceChildren(make("b", {}, text));
      if (mark.dataset.to) readout.append(" · ", make("a", { href: mark.dataset.to }, "entry"));
    };

    stage.addEventListener("pointermove", (event) => {
      wake();
      const at = event.target.closest("svg.draw, li");
      const svg = at && (at.tagName === "LI" ? at.querySelector("svg.draw") : at);
      if (!svg) return;
      const box = svg.getBoundingClientRect();
      const x = event.clientX - box.left;
      const y = event.clientY - box.top;
      let best = -1;
      let least = svg.closest("li") ? Infinity : NEAR;
      marks.forEach((each, number) => {
        if (each.svg !== svg) return;
        const across = Math.max(0, each.left * box.width - x, x - each.right * box.width);
        const far = Math.hypot(across, each.down === null ? 0 : each.down - y);
        if (far < least) [best, least] = [number, far];
      });
      choose(best);
    });
    stage.addEventListener("pointerdown", wake);
    steps.addEventListener("focus", () => { wake(); if (chosen < 0) choose(0); });
    steps.addEventListener("keydown", (event) => {
      wake();
      const last = marks.length - 1;
      const to = {
        ArrowRight: chosen + 1, ArrowDown: chosen + 1, ArrowLeft: chosen - 1, ArrowUp: chosen - 1,
        Home: 0, End: last, PageDown: Math.min(last, chosen + 10), PageUp: Math.max(0, chosen - 10),
      }[event.key];
      if (to !== undefined) {
        event.preventDefault();
        choose(to);
      } else if (event.key === "Enter" && chosen >= 0 && marks[chosen].mark.dataset.to) {
        location.href = marks[chosen].mark.dataset.to;
      }
    });
  };

  // ---- folds and boxes that scroll

  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    const target = id && document.getElementById(id);
    if (!target) return;
    let opened = false;
    for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) {
      opened ||= !each.open;
      each.open = true;
    }
    if (opened) target.scrollIntoView();
    if (target.tagName === "DETAILS") target.querySelector("summary").focus({ preventScroll: true });
  };

  /** A box is a stop of the keyboard only while there is something to scroll in it. */
  const fits = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const over = target.scrollWidth > target.clientWidth + 1;
      target.classList.toggle("over", over);
      if (over) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });

  const enhance = (root) => {
    all(".rows", root).forEach(table);
    all("figure.chart", root).forEach(drawing);
    all(".scroll", root).forEach((box) => fits.observe(box));
  };

  enhance(document);
  // What a live page puts in later asks for the same by an event of this name.
  document.addEventListener("formwright:added", (event) => enhance(event.target));
  reveal();
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) setTimeout(reveal);
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details.fold:not(.all, [open])", document);
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });
})();
