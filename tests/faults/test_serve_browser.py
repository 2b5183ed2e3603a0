"""The live page in Chromium beside a real run: over reloads, kills, restarts; nobody else reads it.

Must-hold 5 of the reports: progress is shown live, a reload and a restart of the run are survived,
any other origin is refused, nothing is written.
"""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from browser import WIDTHS, chromium, misplaced, violations, watched
from live_pages import COMMAND, open_for_writing, seen, serving

pytestmark = pytest.mark.slow

PROBLEM = """
name = "live"
operator = "gemv"
templates = ["gemv_rows"]
threads = 1
baselines = ["numpy"]

[workloads]
square = { N = 700, K = 700 }
wide = { N = 64, K = 4096 }

[budget]
candidates = 3
rounds = 2
seconds = 60
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium("--host-resolver-rules=MAP evil.example 127.0.0.1") as found:
        yield found


def wrong(said: list[str]) -> list[str]:
    """What a page complained of; a stream that ends as its page is left is no fault."""
    return [one for one in said if not (one.startswith("not loaded: ") and "/events" in one)]


@contextmanager
def running(folder: Path, problem: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [COMMAND, "run", str(problem), "--out", str(folder), "-q"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def entries(page: Any) -> int:
    """How many entries the page says that there are."""
    shown = page.locator("#part-now dt:text-is('entries') + dd").inner_text()
    return int(shown.replace(",", ""))


def waited(page: Any, script: str, seconds: float, *arguments: Any) -> None:
    page.wait_for_function(script, arg=arguments[0] if arguments else None, timeout=seconds * 1e3)


STANDS = "word => document.getElementById('news').textContent.startsWith(word)"
GREW = (
    "n => parseInt([...document.querySelectorAll('#part-now dt')]"
    ".find(e => e.textContent === 'entries').nextSibling.textContent.replace(',', '')) > n"
)


def test_a_run_is_followed_live_over_a_reload_a_kill_and_another_run(
    browser: Any, tmp_path: Path
) -> None:
    problem, out = tmp_path / "live.toml", tmp_path / "out"
    problem.write_text(PROBLEM)
    out.mkdir()
    with serving(out) as served, watched(browser) as (page, said):
        page.goto(f"http://127.0.0.1:{served.port}/")
        assert "No journal yet" in page.locator("main").inner_text()
        with running(out, problem):
            waited(page, STANDS, 180, "at work")  # without a reload
            before = entries(page)
            waited(page, GREW, 180, before)
            assert page.locator("#link").inner_text() == "live"
            page.wait_for_selector("text=designs built", timeout=180_000)
            before = entries(page)
            page.reload()
            assert entries(page) >= before
            waited(page, GREW, 180, before)
        waited(page, STANDS, 30, "at rest")  # it was killed
        before = entries(page)
        with running(out, problem) as again:
            waited(page, STANDS, 180, "at work")
            waited(page, GREW, 180, before)
            assert again.wait(500) in (0, 1)
        waited(page, STANDS, 20, "finished")
        whole = page.locator("#part-workloads").inner_text()
        assert "over numpy" in whole
        assert "measured" in whole
        tree = seen(out)
        with page.expect_navigation():
            page.click("#to-report")
        assert "live" in page.locator("h1").inner_text()
        page.go_back()
        waited(page, STANDS, 30, "finished")
        page.locator("#part-latest a").first.click()
        assert '"key"' in page.locator("body").inner_text()
        page.go_back()
        waited(page, STANDS, 30, "finished")
        assert open_for_writing(served.process.pid, tmp_path) == []
        assert seen(out) == tree
        shutil.rmtree(out)
        other = tmp_path / "other.toml"
        other.write_text(PROBLEM.replace('"live"', '"other"').replace("wide =", "long ="))
        with running(out, other):
            waited(page, "() => document.querySelector('main').innerText.includes('long')", 180)
            assert "wide" not in page.locator("main").inner_text()
            assert "finished" not in page.locator("#news").inner_text()
    assert wrong(said) == []


def test_it_reads_well_at_every_width(browser: Any) -> None:
    kept = Path(__file__).parents[2] / "studies" / "transcripts"
    found: list[str] = []
    with serving(kept) as served:
        for scheme in ("light", "dark"):
            with watched(browser, WIDTHS[0], scheme) as (page, said):
                for path in ("/", "/run?run=gemm"):
                    page.goto(f"http://127.0.0.1:{served.port}{path}")
                    page.wait_for_selector("#link:text-is('live')")
                    for width in WIDTHS:
                        page.set_viewport_size({"width": width, "height": 900})
                        found += [f"{path} {width} {scheme}: {m}" for m in misplaced(page)]
                        if "FORMWRIGHT_SHOTS" in os.environ:
                            name = f"serve{len(path)}-{width}-{scheme}.png"
                            place = Path(os.environ["FORMWRIGHT_SHOTS"]) / name
                            page.screenshot(path=place, full_page=True)
                    found += [f"{path} {scheme}: {v}" for v in violations(page)]
                found += wrong(said)
    assert found == []


def test_without_a_script_the_page_is_whole(browser: Any) -> None:
    kept = Path(__file__).parents[2] / "studies" / "transcripts" / "gemm"
    with serving(kept) as served, watched(browser, script=False) as (page, _):
        page.goto(f"http://127.0.0.1:{served.port}/")
        assert "artifacts/tokens" in page.locator("main").inner_text()


class _Elsewhere(BaseHTTPRequestHandler):
    """A page of another site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><p>elsewhere")

    def log_message(self, *_: Any) -> None: ...


TRIES = """async address => {
  const got = {};
  for (const mode of ["cors", "no-cors"]) {
    try {
      const answer = await fetch(address, { mode });
      got[mode] = `${answer.type} ${answer.status} ${(await answer.text()).length}`;
    } catch (error) { got[mode] = "refused"; }
  }
  const settled = (make) => new Promise((done) => {
    const element = make();
    element.onload = element.onopen = () => done("loaded");
    element.onerror = () => done("refused");
    if (element.nodeType) document.body.append(element);
    setTimeout(() => done("nothing"), 1500);
  });
  got.events = await settled(() => new EventSource(address + "events"));
  got.script = await settled(() => Object.assign(
    document.createElement("script"), { src: address + "live.js" }));
  got.image = await settled(() => Object.assign(new Image(), { src: address + "live.svg" }));
  const frame = document.createElement("iframe");
  frame.src = address;
  await new Promise((done) => { frame.onload = done; document.body.append(frame); });
  try { got.frame = frame.contentDocument.body.innerText; } catch { got.frame = "closed"; }
  return got;
}"""


def test_no_page_of_another_site_reads_it(browser: Any) -> None:
    """Neither by asking, nor embedded, nor under a name of its own that points here."""
    kept = Path(__file__).parents[2] / "studies" / "transcripts" / "gemm"
    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    try:
        with serving(kept) as served, watched(browser) as (page, _):
            address = f"http://127.0.0.1:{served.port}/"
            for site in ("127.0.0.1", "localhost", "evil.example"):
                page.goto(f"http://{site}:{elsewhere.server_port}/")
                got = page.evaluate(TRIES, address)
                assert got["cors"] == "refused"
                assert got["no-cors"] in ("refused", "opaque 0 0")
                assert got["events"] == "refused"
                assert got["script"] == "refused"
                assert got["image"] == "refused"
                assert got["frame"] == "closed"
            answer = page.goto(f"http://evil.example:{served.port}/")
            assert answer is not None
            assert answer.status == 421
            assert "tokens" not in page.locator("body").inner_text()
    finally:
        elsewhere.shutdown()
        elsewhere.server_close()
