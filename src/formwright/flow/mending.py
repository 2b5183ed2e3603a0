"""Repair of a refuted text with the verifier as its judge, quick proofs before whole ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formwright.agent.protocol import Finding
from formwright.agent.repair import Effort, Mended, mend
from formwright.base.host import cache_folder
from formwright.flow.proving import prove
from formwright.ir.template import Template
from formwright.proof.database import Database
from formwright.proof.kept import context, database_path
from formwright.proof.verdict import LIMITS, Limits, Proof
from formwright.replay import replay
from formwright.smt import prove as prove_conditions

QUICK = Limits(seconds=6.0, whole=60.0)
"""What a quick proof may take: it ends at the first obligation that is not proved."""


@dataclass(frozen=True, slots=True)
class Judges:
    """Proofs of candidates; ``store`` keeps what they show (``None``: the user's store)."""

    store: Path | None = None
    limits: Limits = LIMITS

    def prove(self, template: Template) -> Proof:
        """The whole proof."""
        return prove(template, store=self.store, limits=self.limits)

    def refute(self, template: Template) -> Proof:
        """The first obligation that is not proved ends it; what is shown is kept."""
        folder = self.store or cache_folder() / "proofs"
        database = Database(database_path(folder), context())
        try:
            return prove_conditions(
                template,
                replayer=replay,
                stop_early=True,
                timeout_ms=QUICK.call_ms,
                seconds=QUICK.whole,
                obligation_seconds=QUICK.seconds,
                memory_mb=QUICK.memory,
                database=database,
            )
        finally:
            database.close()


def mend_text(
    text: str,
    findings: Sequence[Finding] = (),
    *,
    effort: Effort | None = None,
    store: Path | None = None,
) -> Mended | None:
    """:func:`formwright.agent.repair.mend` with the verifier; ``None`` where nothing was found."""
    judges = Judges(store)
    return mend(text, findings, prove=judges.prove, refute=judges.refute, effort=effort)
