"""A proposer that is a folder: each request is a file, and somebody writes its answer beside it.

    0007-repair/request.md       the prompt, as a model would get it
    0007-repair/request.json     the same as data
    0007-repair/answer.md        what is waited for; read_answer's form, or answer.fw, answer.c
    0007-repair/problem-1.md     what was wrong with it; the next answer is answer-2.md, …

An answer counts when its size stands still for one look, so an editor that saves in steps is not
read half-way; writing under another name and renaming is safe anyway.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from formwright.agent.answers import ANSWER_BYTES, read_answer
from formwright.agent.budget import Ledger
from formwright.agent.plain import request_data
from formwright.agent.prompt import TOKENS, follow_up, prompt_for
from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.agent.secrets import struck
from formwright.base.diagnostics import fail
from formwright.base.files import write_json, write_text

SUFFIXES: Final = (".md", ".fw", ".c")
LOOK: Final = 0.25
"""Seconds between looks."""


@dataclass(frozen=True, slots=True)
class Manual:
    """A :class:`~formwright.agent.protocol.Proposer`. Charges ``ledger`` a call and its seconds.

    ``seconds``: how long one request waits. ``turns``: answers that one request may have. A
    request that is there already (a resumed run) is not written again and its answers count.
    """

    folder: Path
    ledger: Ledger
    screening: Callable[[Proposal], tuple[Finding, ...]] | None = None
    seconds: float = 3600.0
    turns: int = 5
    look: float = LOOK

    @property
    def name(self) -> str:
        return "manual"

    def propose(self, request: Request) -> Reply:
        """Waits for an answer; the problem says what there was none of.

        Raises ``InputError`` if the folder cannot be written.
        """
        stop = self.ledger.exhausted()
        if stop:
            return Reply((), Spent(), stop)
        start = time.monotonic()
        end = start + min(self.seconds, self.ledger.left("seconds"))
        place = self.folder / f"{request.number:04d}-{request.kind}"
        try:
            if not (place / "request.json").exists():
                prompt = prompt_for(request, TOKENS)
                write_text(place / "request.md", struck(f"{prompt.system}\n\n{prompt.user}\n"))
                write_json(place / "request.json", request_data(request))
            proposals, problem = self._answered(place, request, end)
        except OSError as error:
            raise fail(
                f"cannot use {place}: {error.strerror}", hint="name a folder that can be written"
            ) from None
        spent = Spent(calls=1, seconds=time.monotonic() - start)
        self.ledger.charge(spent)
        return Reply(proposals, spent, problem)

    def _answered(
        self, place: Path, request: Request, end: float
    ) -> tuple[tuple[Proposal, ...], str]:
        for turn in range(1, self.turns + 1):
            named = "answer" if turn == 1 else f"answer-{turn}"
            found = self._waited(place, named, end)
            if found is None:
                return (), f"no {place / named}.md in time"
            proposals, faults = _read(found, request)
            kept: list[Proposal] = []
            for proposal in proposals:
                wrong = self.screening(proposal) if self.screening else ()
                faults = (*faults, *wrong)
                if not wrong:
                    kept.append(proposal)
            if kept:
                return tuple(kept), ""
            told = f"{follow_up(faults)}\nWrite answer-{turn + 1}.md.\n"
            write_text(place / f"problem-{turn}.md", told)
        return (), f"no usable answer in {self.turns} tries: see {place}"

    def _waited(self, place: Path, named: str, end: float) -> Path | None:
        size = -1
        while True:
            for path in (place / f"{named}{suffix}" for suffix in SUFFIXES):
                if path.is_file():
                    now = path.stat().st_size
                    if now == size and now > 0:
                        return path
                    size = now
                    break
            if time.monotonic() >= end:
                return None
            time.sleep(min(self.look, max(0.0, end - time.monotonic())))


def _read(path: Path, request: Request) -> tuple[tuple[Proposal, ...], tuple[Finding, ...]]:
    with path.open("rb") as stream:
        data = stream.read(ANSWER_BYTES + 1)
    text = struck(data.decode("utf-8", "replace"))
    if path.suffix != ".md":
        text = f"````{path.suffix[1:]}\n{text}\n````\n"
    return read_answer(text, request)
