"""Transcripts: what a proposer was asked and answered, one line of JSON for each request.

:class:`Recording` writes one and answers from it what is in it already, so a run that goes on
after a kill asks nothing twice. :class:`Replay` reads one: tests and other machines repeat a run.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from formwright.agent.budget import Ledger
from formwright.agent.plain import question, reply_data, reply_from, request_data
from formwright.agent.protocol import Proposer, Reply, Request, Spent
from formwright.agent.secrets import struck
from formwright.base.diagnostics import Diagnostic, InputError, fail
from formwright.base.source import Span

SCHEMA: Final = 1
BYTES: Final = 256 << 20
"""Of a transcript; a larger one is refused unread."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """``asked`` is the digest of :func:`formwright.agent.plain.question`."""

    number: int
    kind: str
    asked: str
    reply: Reply
    proposer: str = ""


class Recording:
    """A proposer whose answers are kept in the file at ``path``, flushed before they are used.

    One process writes a file at a time (the run's journal sees to it). Raises ``InputError`` for a
    file that is no transcript, or one of another proposer's answers.
    """

    def __init__(self, proposer: Proposer, path: Path, ledger: Ledger | None = None) -> None:
        self._proposer, self._path, self._ledger = proposer, path, ledger
        self._kept = {e.number: e for e in _whole(path)} if path.exists() else {}
        others = sorted({e.proposer for e in self._kept.values()} - {proposer.name})
        if others:
            raise fail(
                f"{path} has answers of {', '.join(others)}, not of {proposer.name}",
                hint="give this run its own folder with --out, or repeat them with --agent replay",
            )

    @property
    def name(self) -> str:
        return self._proposer.name

    def propose(self, request: Request) -> Reply:
        """The kept answer to this request, else the proposer's, kept."""
        kept = self._kept.get(request.number)
        if kept is not None:
            return _answered(kept, request, self._ledger)
        reply = self._proposer.propose(request)
        asked = question(request)
        line = {
            "schema": SCHEMA,
            "number": request.number,
            "proposer": self.name,
            "kind": request.kind,
            "asked": asked,
            "request": request_data(request),
            "reply": reply_data(reply),
        }
        text = struck(json.dumps(line, sort_keys=True, ensure_ascii=False))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "ab") as stream:
            stream.write(text.encode("utf-8", "replace") + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._kept[request.number] = Exchange(request.number, request.kind, asked, reply, self.name)
        return reply


class Replay:
    """Answers from the transcript at ``path``, by number. Raises ``InputError``.

    A request that differs from the recorded one is a problem of the reply, in words: the run went
    another way.
    """

    def __init__(self, path: Path, ledger: Ledger | None = None) -> None:
        self._path, self._ledger = path, ledger
        self._kept = {e.number: e for e in recorded(path)}

    @property
    def name(self) -> str:
        return f"replay:{self._path.name}"

    def __len__(self) -> int:
        return len(self._kept)

    def propose(self, request: Request) -> Reply:
        """The recorded answer to the request of this number."""
        kept = self._kept.get(request.number)
        if kept is None:
            told = f"the transcript has no answer {request.number} ({len(self)} are recorded)"
            return Reply((), Spent(), told)
        return _answered(kept, request, self._ledger)


def recorded(path: Path) -> tuple[Exchange, ...]:
    """What the transcript at ``path`` has, in order. Raises ``InputError``."""
    if not path.is_file():
        raise fail(f"no transcript {path}", hint="a run keeps its own as transcript.jsonl")
    return tuple(_read(path, cut=False))


def _answered(kept: Exchange, request: Request, ledger: Ledger | None) -> Reply:
    if (kept.kind, kept.asked) != (request.kind, question(request)):
        told = (
            f"request {request.number} is not the recorded one: recorded is {kept.kind}, asked "
            f"{request.kind} of another contract, formula or parent"
            if kept.kind == request.kind
            else f"request {request.number} is {request.kind}; recorded is {kept.kind}"
        )
        return Reply((), Spent(), told)
    if ledger is not None:
        ledger.charge(kept.reply.spent)
    return kept.reply


def _whole(path: Path) -> tuple[Exchange, ...]:
    """Entries of a file that goes on: what a kill left of a last line is cut off."""
    found = tuple(_read(path, cut=True))
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with open(path, "r+b") as stream:
            stream.truncate(data.rfind(b"\n") + 1)
    return found


def _read(path: Path, *, cut: bool) -> Iterator[Exchange]:
    if path.stat().st_size > BYTES:
        raise fail(f"{path} is larger than {BYTES} bytes")
    rows = path.read_bytes().split(b"\n")
    last = rows.pop()
    if last and not cut:
        rows.append(last)
    faults: list[Diagnostic] = []
    found: dict[int, Exchange] = {}
    for number, row in enumerate(rows, 1):
        try:
            exchange = _exchange(json.loads(row))
            if exchange.number in found:
                raise ValueError(f"a second answer {exchange.number}")
            found[exchange.number] = exchange
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            span = Span(str(path), number, 1, 2)
            faults.append(Diagnostic(f"no line of a transcript: {error}", span))
    if faults:
        raise InputError(faults)
    yield from found.values()


def _exchange(data: Any) -> Exchange:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']}, known is {SCHEMA}")
    number = data["number"]
    if not isinstance(number, int):
        raise ValueError("a number that is none")
    kind, asked, proposer = (str(data[name]) for name in ("kind", "asked", "proposer"))
    return Exchange(number, kind, asked, reply_from(data["reply"]), proposer)
