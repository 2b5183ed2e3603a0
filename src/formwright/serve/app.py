"""The addresses of the live page: pages, their events, entries as text, and the report."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from importlib.resources import files
from json import dumps
from time import monotonic
from typing import Final

from anyio import sleep, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from formwright.report.html.document import style
from formwright.report.html.escaped import escaped
from formwright.serve.drawing import events_address
from formwright.serve.files import file_answer
from formwright.serve.guard import App, Guard
from formwright.serve.reporting import Maker, Reports
from formwright.serve.showing import Shown, show_all, show_run
from formwright.serve.watching import Watch

EVERY: Final = 0.25
"""Seconds between two looks at a journal; a run may be measuring on the same cores."""
EVERY_LIST: Final = 1.0
"""The same for a list of runs."""

ALIVE: Final = 10.0
"""Seconds after which a stream that has nothing to say says that it is there."""

MOST_STREAMS: Final = 64

_LOST: Final = "no run of that name in this folder\n"


@dataclass(slots=True)
class Pages:
    """What the addresses answer; ``streams`` counts those that are open."""

    watch: Watch
    reports: Reports
    streams: int = field(default=0)

    async def page(self, request: Request) -> Response:
        """The page as it is now, whole without a script; with one it goes on by itself."""
        shown = await self._shown(request)
        if shown is None:
            return PlainTextResponse(_LOST, 404)
        return HTMLResponse(_page(shown, events_address(_asked(request))))

    async def events(self, request: Request) -> Response:
        """Server-sent events: the state, and again whenever it has changed.

        A client that says which state it had last (``Last-Event-ID``) is not told that one again.
        """
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if self.streams >= MOST_STREAMS:
            return PlainTextResponse("too many pages are open\n", 503, {"retry-after": "5"})
        if await self._shown(request) is None:
            return PlainTextResponse(_LOST, 404)
        return StreamingResponse(self._stream(request), media_type="text/event-stream")

    async def _stream(self, request: Request) -> AsyncIterator[str]:
        mark = request.headers.get("last-event-id", "")
        self.streams += 1
        try:
            yield "retry: 1000\n\n"
            said = monotonic()
            while True:
                shown = await self._shown(request)
                if shown is not None and shown.mark != mark:
                    mark, said = shown.mark, monotonic()
                    yield _event(shown)
                elif monotonic() - said > ALIVE:
                    said = monotonic()
                    yield ": still here\n\n"
                one = shown is None or "runs" not in shown.parts
                await sleep(EVERY if one else EVERY_LIST)
        finally:
            self.streams -= 1

    async def entry(self, request: Request) -> Response:
        """One entry, as it stands in the journal."""
        run = self.watch.run(_asked(request) or "")
        number = request.query_params.get("number", "")
        if run is None or not number.isdecimal() or len(number) > 9:
            return PlainTextResponse(_LOST, 404)
        await to_thread.run_sync(run.look)
        line = await to_thread.run_sync(run.line, int(number))
        if not line:
            return PlainTextResponse("the journal has no such entry\n", 404)
        return Response(line, media_type="application/json; charset=utf-8")

    async def report(self, request: Request) -> Response:
        """The report of a run, made now."""
        run = self.watch.run(_asked(request) or "")
        if run is None:
            return PlainTextResponse(_LOST, 404)
        return await self.reports.answer(run)

    async def file(self, request: Request) -> Response:
        """A file of the folder that a figure of a report leads to."""
        return await to_thread.run_sync(file_answer, self.watch.folder, request.path_params["path"])

    async def _shown(self, request: Request) -> Shown | None:
        name = _asked(request)
        if name is None:
            return await to_thread.run_sync(show_all, self.watch)
        return await to_thread.run_sync(show_run, self.watch, name)


def make_app(watch: Watch, names: frozenset[str], maker: Maker) -> App:
    """The server as an ASGI app; ``names`` are the hosts under which it may be asked."""
    pages = Pages(watch, Reports(maker))
    routes = [
        _route("/", pages.page),
        _route("/run", pages.page),
        _route("/events", pages.events),
        _route("/entry", pages.entry),
        _route("/report", pages.report),
        _route("/file/{path:path}", pages.file),
        _route("/live.js", _text(_resource("live.js"), "text/javascript")),
        _route("/live.css", _text(style() + _resource("live.css"), "text/css")),
        _route("/live.svg", _text(_resource("live.svg"), "image/svg+xml")),
    ]
    return Guard(Starlette(routes=routes), names)


def _route(path: str, answer: Callable[[Request], Awaitable[Response]]) -> Route:
    return Route(path, answer, methods=["GET"])


def _resource(name: str) -> str:
    return (files("formwright.serve") / name).read_text(encoding="utf-8")


def _text(text: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return Response(text, media_type=media_type)

    return answer


def _asked(request: Request) -> str | None:
    """The run that an address names; ``None`` for all of them."""
    return request.query_params.get("run")


def _event(shown: Shown) -> str:
    """One event; JSON has no line ends of its own, so its data is one line."""
    data = dumps(
        {
            "title": f"{shown.title} · Formwright",
            "news": shown.news,
            "last": shown.last,
            "parts": list(shown.parts.items()),
        }
    )
    return f"id: {shown.mark}\nevent: state\ndata: {data}\n\n"


def _page(shown: Shown, events: str) -> str:
    parts = "".join(_part(key, html) for key, html in shown.parts.items())
    title = escaped(shown.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title} · Formwright</title>'
        '<link rel="icon" href="/live.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/live.css"><script src="/live.js" defer></script></head>'
        f'<body class="live" data-events="{escaped(events)}">'
        '<a class="skip" href="#main">Skip to the run</a><main id="main" tabindex="-1"><header>'
        f'<p class="kind">live</p><h1>{title}</h1>'
        f'<p class="answer" role="status" id="news">{escaped(shown.news)}</p>'
        f'<p class="note"><span id="link" data-last="{escaped(shown.last)}">as it was when the page'
        ' was loaded</span> <span id="ago"></span></p><p><a href="/">All runs</a></p></header>'
        f'<div id="parts">{parts}</div></main></body></html>\n'
    )


def _part(key: str, html: str) -> str:
    named = "" if key == "report" else f' aria-labelledby="h-{escaped(key)}"'
    return f'<section id="part-{escaped(key)}"{named}>{html}</section>'
