"""Headless Chromium for tests: one page, what goes wrong in it, and how it looks.

Chromium is the system's (Debian's ``chromium-headless-shell`` or ``chromium``), found by its name;
the library that drives it fetches no browser. Where either is missing, tests are skipped and say
which.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

WIDTHS = (1440, 768, 390)
"""Pixels of a laptop, a tablet and a phone."""


@contextmanager
def chromium(*arguments: str) -> Iterator["Browser"]:
    """A browser of its own; skipped, with the reason, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(arguments))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched(
    browser: "Browser", width: int = 1440, scheme: str = "light", script: bool = True
) -> Iterator[tuple["Page", list[str]]]:
    """A page, and a list that grows with what it complains of and with what it fails to load."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        java_script_enabled=script,
    )
    page = context.new_page()
    page.set_default_timeout(120_000)
    said: list[str] = []
    page.on("console", lambda m: said.append(f"{m.type}: {m.text}"))
    page.on("pageerror", lambda e: said.append(f"error: {e}"))
    page.on("requestfailed", lambda r: said.append(f"not loaded: {r.url[:200]}"))
    page.on("response", lambda r: r.status >= 400 and said.append(f"{r.status}: {r.url}"))
    page.on("dialog", lambda d: (said.append(f"dialog: {d.message}"), d.dismiss()))
    try:
        yield page, said
    finally:
        context.close()


def outside(page: "Page") -> list[str]:
    """Start before ``goto``: addresses that the page asks for beside itself and its own data."""
    asked: list[str] = []
    page.on(
        "request",
        lambda r: (
            asked.append(r.url)
            if not r.url.startswith("data:") and not r.is_navigation_request()
            else None
        ),
    )
    return asked


def clock(page: "Page") -> Callable[[], float]:
    """Start before ``goto``: seconds of a core that the page's main thread has worked so far.

    Not by the clock on the wall: other tests share the cores.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    return worked


def violations(page: "Page", *rules: str) -> list[str]:
    """What axe-core finds by all its rules, or by these, each with the element it is found at."""
    package = pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python, which has axe-core, is missing"
    )
    page.evaluate(files(package.__name__).joinpath("axe.min.js").read_text(encoding="utf-8"))
    chosen = {"runOnly": list(rules)} if rules else {}
    found: list[dict[str, Any]] = page.evaluate(
        "async (o) => (await axe.run(document, o)).violations",
        {"resultTypes": ["violations"], **chosen},
    )
    return [
        f"{f['id']} ({f['impact']}): {n['html'][:160]} {n.get('failureSummary', '')[:300]}"
        for f in found
        for n in f["nodes"][:5]
    ]


def unfold(page: "Page") -> None:
    """Open every fold, so that what is in it is looked at too."""
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")


def misplaced(page: "Page") -> list[str]:
    """Texts that are cut off, lie over each other or stand beyond the page, as it is now."""
    found: list[str] = page.evaluate(_MISPLACED)
    return found


_MISPLACED = """() => {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} wide`);
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const skipped = "script, style, template, .vh, .skip, defs, noscript";
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const at = node.parentElement;
    if (!node.data.trim() || at.closest(skipped) || at.localName === "title") continue;
    if (!at.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = node.data.trim().slice(0, 40);
    for (const line of range.getClientRects()) {
      let [left, right, top, bottom] = [line.left, line.right, line.top, line.bottom];
      for (let up = at; up && up !== document.body; up = up.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(up);
        if (overflowX === "visible" && overflowY === "visible") continue;
        if (up.namespaceURI !== "http://www.w3.org/1999/xhtml") continue;
        const edge = up.getBoundingClientRect();
        const hides = [overflowX, overflowY].some((o) => o === "hidden" || o === "clip");
        const beyond = left < edge.left - 1 || right > edge.right + 1
          || top < edge.top - 2 || bottom > edge.bottom + 2;
        if (hides && beyond) found.push(`cut: ${text}`);
        [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
        [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
      }
      if (right - left < 1 || bottom - top < 1) continue;
      if (left < -0.5 || right > innerWidth + 0.5) found.push(`beyond the page: ${text}`);
      boxes.push({ left, right, top: top + 2, bottom: bottom - 2, node, text });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  let near = [];
  for (const box of boxes) {
    near = near.filter((other) => other.bottom > box.top);
    for (const other of near) {
      if (other.node === box.node) continue;
      const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      const down = Math.min(box.bottom, other.bottom) - box.top;
      if (across > 1.5 && down > 1.5) found.push(`over each other: ${other.text} | ${box.text}`);
    }
    near.push(box);
  }
  return found.slice(0, 40);
}"""


def audited(
    browser: "Browser",
    file: Path,
    shots: Path | None = None,
    schemes: Sequence[str] = ("light", "dark"),
) -> list[str]:
    """All that is wrong with a page: at three widths, light and dark, with every fold open.

    ``shots``: a folder for pictures of the page as it opens.
    """
    wrong: list[str] = []
    for scheme in schemes:
        with watched(browser, WIDTHS[0], scheme) as (page, said):
            asked = outside(page)
            page.goto(file.as_uri())
            if shots is not None:
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    name = f"{file.stem}-{width}-{scheme}.png"
                    page.screenshot(path=shots / name, full_page=True)
            unfold(page)
            for width in WIDTHS if scheme == "light" else WIDTHS[:1]:
                page.set_viewport_size({"width": width, "height": 900})
                wrong += [f"{width} {scheme}: {each}" for each in misplaced(page)]
            # Only the colours are others in the dark.
            rules = () if scheme == "light" else ("color-contrast",)
            wrong += [f"{scheme}: {each}" for each in violations(page, *rules)]
            wrong += [*said, *(f"asked for {url}" for url in asked)]
    return wrong
