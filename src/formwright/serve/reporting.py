"""The report of a run, made when it is asked for and kept in memory until the journal has grown."""

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from formwright.base.diagnostics import InputError
from formwright.serve.drawing import folder_address
from formwright.serve.watching import Watched

KEPT: Final = 4
"""Reports that are kept, each a few hundred KB."""


@dataclass(frozen=True, slots=True)
class Maker:
    """``make(folder, address)`` is the report of a folder as HTML, whose figures lead to files
    below ``address``; ``script()`` is the only text of it that a browser may run.

    ``make`` raises ``InputError`` where there is nothing to report yet.
    """

    make: Callable[[Path, str], str]
    script: Callable[[], str]


@dataclass(slots=True)
class Reports:
    """Made one at a time: each takes the core of a run that may be measuring."""

    maker: Maker
    kept: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict)
    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    async def answer(self, run: Watched) -> Response:
        """The report as a page of its own, or why there is none."""
        view = await to_thread.run_sync(run.look)
        key = (run.name, view.mark)
        html = self.kept.get(key)
        if html is None:
            try:
                html = await to_thread.run_sync(self._made, run, limiter=self.limiter)
            except InputError as error:
                return PlainTextResponse(f"{error}\n", 404)
            self.kept[key] = html
            if len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        policy = report_policy(self.maker.script())
        return HTMLResponse(html, headers={"content-security-policy": policy})

    def _made(self, run: Watched) -> str:
        return self.maker.make(run.follower.path.parent, folder_address(run.name))


def report_policy(script: str) -> str:
    """What a browser may do with a report: run its one script, draw what it carries, no more."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline';"
        f" script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )
