"""Proof of a chain: its steps from the top down, how they hang together, one theorem."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from formwright.base.host import cache_folder
from formwright.lang.chain_sources import ChainSource, load_chain_source
from formwright.proof.chains import ChainProof, Composition, StepProof
from formwright.proof.kept import solver_version
from formwright.proof.kept_chains import chain_digest, keep_chain, read_chain, read_kept
from formwright.proof.verdict import LIMITS, Limits, Obligation, Verdict, overall

# As in ``proving``: kept proofs of the very texts answer before the parser could be imported.
if TYPE_CHECKING:
    from formwright.ir.chain import Chain
    from formwright.ir.template import Template
    from formwright.proof.composition import Composer
    from formwright.proof.verdict import Proof

Progress = Callable[[str], None]


def prove_chain(
    reference: str,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
    store: Path | None = None,
    limits: Limits = LIMITS,
) -> ChainProof:
    """Every step and their composition; what is kept of the very texts is not asked again.

    The first thing from the top down that is not proved decides; what stands below it is
    *inherited*: it is not looked at, and no fault of its own.
    """
    source = load_chain_source(reference)
    folder, texts = store or cache_folder() / "proofs", _texts(source)
    kept = None if fresh else read_chain(folder, texts)
    if kept is not None:
        return kept
    from formwright.lang.chains import parse_chain

    proof = prove_parsed(
        parse_chain(source), fresh=fresh, progress=progress, store=folder, limits=limits
    )
    keep_chain(folder, texts, proof)
    return proof


def prove_parsed(
    chain: "Chain",
    *,
    fresh: bool = False,
    progress: Progress | None = None,
    store: Path | None = None,
    limits: Limits = LIMITS,
) -> ChainProof:
    """As :func:`prove_chain`, for a chain that is there as data."""
    from formwright.lang.format import workload_text
    from formwright.proof.store import template_digest

    folder = store or cache_folder() / "proofs"
    steps = [template_digest(s) for s in chain.steps]
    assumed = [list(a) for a in chain.assumptions]
    known = chain_digest(chain.name, workload_text(chain.workload), steps, assumed)
    kept = None if fresh else read_kept(folder, known)
    return kept or _Work(chain, known, folder, fresh, progress or _silent, limits).proof()


def _silent(_: str) -> None:
    return None


def _texts(source: ChainSource) -> list[str]:
    return [source.source.text, *(s.text for s in source.steps)]


class _Work:
    """One proof of one chain."""

    def __init__(
        self,
        chain: "Chain",
        digest: str,
        folder: Path,
        fresh: bool,
        progress: Progress,
        limits: Limits,
    ) -> None:
        self._chain = chain
        self._digest = digest
        self._folder = folder
        self._fresh = fresh
        self._progress = progress
        self._limits = limits
        self._place = 0
        self._around: list[Obligation] = []
        self._broken = ""
        self._verdict: Verdict = "proved"

    def proof(self) -> ChainProof:
        from formwright.proof.chain_environment import environment
        from formwright.proof.chain_theorem import assumptions, theorem
        from formwright.proof.composition import Composer

        start = time.perf_counter()
        composer = Composer(self._chain, self._prove, self._prove)
        steps = tuple(self._step(composer, n) for n in range(len(self._chain.steps)))
        if not self._broken:
            obligations, _ = composer.whole()
            self._add(obligations)
        else:
            self._around.append(_inherited(self._broken))
        carried = environment(self._chain.steps).carried
        return ChainProof(
            chain=self._chain.name,
            digest=self._digest,
            verdict=self._verdict,
            broken=self._broken,
            steps=steps,
            composition=Composition(
                tuple(self._around), theorem(self._chain), assumptions(self._chain, carried)
            ),
            seconds=time.perf_counter() - start,
            solver=solver_version(),
        )

    def _step(self, composer: "Composer", place: int) -> StepProof:
        from formwright.proof.composition import complete

        step, self._place = self._chain.steps[place], place
        if not self._broken:
            self._say(place, "how it hangs on what is above")
            self._add(composer.above(place))
        if self._broken:
            return StepProof(step.name, None, self._broken)
        proof = self._prove(step)
        if proof.verdict == "proved":
            self._add((complete(step.name, proof),))
        else:
            self._broken, self._verdict = step.name, proof.verdict
        return StepProof(step.name, proof)

    def _add(self, obligations: tuple[Obligation, ...]) -> None:
        self._around += obligations
        verdict = overall(obligations)
        if verdict != "proved":
            first = next(o for o in obligations if o.verdict == verdict)
            self._broken, self._verdict = first.name, verdict

    def _prove(self, template: "Template", only: str = "") -> "Proof":
        from formwright.flow.proving import prove

        return prove(
            template,
            fresh=self._fresh,
            progress=lambda text: self._say(self._place, text),
            store=self._folder,
            limits=self._limits,
            only=only,
        )

    def _say(self, place: int, text: str) -> None:
        name = self._chain.steps[place].name
        self._progress(f"{place + 1}/{len(self._chain.steps)} {name}: {text}")


def _inherited(broken: str) -> Obligation:
    return Obligation(
        name=f"below {broken}",
        group="chain",
        condition="inherited",
        verdict="unresolved",
        evidence="none",
        seconds=0.0,
        detail=f"not looked at: {broken} is not proved",
    )
