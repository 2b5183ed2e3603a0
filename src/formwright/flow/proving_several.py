"""Several templates proved by an executor; what is proved is kept as it is of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.source import Source
from formwright.flow.executor import Done, Executor
from formwright.flow.jobs import Prove
from formwright.flow.listener import Listener
from formwright.flow.machines import Machine, this_machine
from formwright.flow.proving import kept_proof
from formwright.lang import load_source
from formwright.lang.chain_sources import names_chain
from formwright.proof.rereading import proof_of
from formwright.proof.verdict import Limits, Proof


@dataclass(frozen=True, slots=True)
class Several:
    """``proofs`` and the ``machines`` that they were made on, by what was asked for."""

    proofs: Mapping[str, Proof]
    machines: Mapping[str, Machine]
    lost: int
    seconds: float

    @property
    def held(self) -> bool:
        """Every template is proved."""
        return all(p.verdict == "proved" for p in self.proofs.values())

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright prove A B --json``; ``lost``: attempts that
        came to nothing."""
        return {
            "schema": 1,
            "held": self.held,
            "proofs": {
                name: p.as_json() | {"machine": self.machines[name].name}
                for name, p in self.proofs.items()
            },
            "machines": {m.name: m.as_json() for m in self.machines.values()},
            "lost": self.lost,
            "seconds": self.seconds,
        }


def prove_several(
    references: Sequence[str],
    executor: Executor,
    listener: Listener,
    limits: Limits,
    fresh: bool = False,
) -> Several:
    """Prove the templates of ``references``; those that are kept are taken from there.

    Raises:
        InputError: every text that is no template, or a chain among them.
    """
    start = monotonic()
    sources = _read(references)
    heard = _Hearer(listener)
    proofs = {} if fresh else {n: p for n, s in sources.items() if (p := kept_proof(s))}
    machines = dict.fromkeys(proofs, this_machine())
    jobs = {n: Prove(source, limits, fresh) for n, source in sources.items() if n not in proofs}
    faults: list[Diagnostic] = []
    ended = 0
    listener.stage(f"proving {len(jobs)} templates", ended, len(jobs))
    for name, outcome in executor.perform(jobs, Path(), this_machine(), heard):
        match outcome:
            case Done():
                proofs[name], machines[name] = proof_of(outcome.data["full"]), outcome.machine
                listener.done(f"{name}: {proofs[name].verdict} ({outcome.seconds:.2f} s)")
            case InputError():
                faults += outcome.diagnostics
            case _:
                raise outcome
        ended += 1
        listener.stage(f"proving {len(jobs)} templates", ended, len(jobs))
    if faults:
        raise InputError(faults)
    return Several(
        {name: proofs[name] for name in sources},
        {name: machines[name] for name in sources},
        heard.attempts,
        monotonic() - start,
    )


def _read(references: Sequence[str]) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    faults: list[Diagnostic] = []
    for name in dict.fromkeys(references):
        if names_chain(name):
            told = f"{name} is a chain: its steps are proved one after another"
            faults.append(Diagnostic(told, hint=f"formwright prove {name} --executor here, alone"))
            continue
        try:
            sources[name] = load_source(name)
        except InputError as error:
            faults += error.diagnostics
    if faults:
        raise InputError(faults)
    return sources


class _Hearer:
    """Losses are told and counted: there is no journal that would keep them."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.attempts = 0

    def lost(self, key: str, where: str, why: str, *, again: bool) -> None:
        self.attempts += 1
        self._listener.done(f"{key}: lost ({why}); {'made again' if again else 'given up'}")

    def say(self, text: str) -> None:
        self._listener.stage(text)
