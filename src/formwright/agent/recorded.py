"""The programs of a transcript as a proposer for searches that ask other questions.

:class:`formwright.agent.replay.Replay` repeats a run, question by question. This one has no run to
repeat: asked to adapt something it gives one of the texts that were proposed then, drawn by the
request's seed and number, of those that have the formula of the request where there are such.
Whether a text is right is for others to find out.
"""

from pathlib import Path
from random import Random

from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.agent.replay import recorded
from formwright.base.diagnostics import fail


class Recorded:
    """A :class:`~formwright.agent.protocol.Proposer` from the transcript at ``path``.

    Of a folder all its ``transcript.jsonl`` are taken, in the order of their paths. Raises
    ``InputError`` for a file that is no transcript and a folder that has none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.proposals: tuple[Proposal, ...] = tuple(
            proposal
            for transcript in _transcripts(path)
            for exchange in recorded(transcript)
            for proposal in exchange.reply.proposals
            if proposal.language == "fw"
        )
        """In the order in which they were made; the last ones were made knowing the others."""

    @property
    def name(self) -> str:
        return f"transcript:{self._path.name}"

    def propose(self, request: Request) -> Reply:
        """One recorded program; none for what is not a request to adapt."""
        if request.kind != "adapt":
            return Reply((), Spent(), f"a transcript has no answer to {request.kind} of its own")
        if not self.proposals:
            return Reply((), Spent(), f"{self._path} has no programs")
        about = [p for p in self.proposals if all(line in p.text for line in request.formula)]
        draws = Random(f"{request.seed}:{request.number}")
        return Reply((draws.choice(about or self.proposals),), Spent(calls=1))


def _transcripts(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob("transcript.jsonl"))
    if not found:
        raise fail(f"no transcript.jsonl in {path}", hint="a run keeps its own under that name")
    return found
