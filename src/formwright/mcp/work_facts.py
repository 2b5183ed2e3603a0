"""In the child: what was measured and qualified, told to the population where it has the template.

Only the server's own work gets there, with the job as its source; no tool takes a figure.
"""

from collections.abc import Mapping
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.chip.machine import cpu_name
from formwright.flow.candidates import Candidate
from formwright.mcp.asked import Asked
from formwright.mcp.opening import Opened
from formwright.population import ChipKey, Design, Fact, open_population, work_of
from formwright.population.entries import Work


def tell_measured(
    asked: Asked, session: Opened, timed: Mapping[str, tuple[Candidate, Mapping[str, Any]]]
) -> bool:
    """Times of designs by key, as facts; whether the population has the template."""
    facts = [
        Fact(
            template=_digest(session),
            assignment=candidate.assignment,
            chip=_chip(session),
            machine=cpu_name(),
            work=_work(session),
            quantity="seconds",
            value=float(times["median"]),
            unit="s",
            evidence="measured",
            source=f"mcp:{asked.folder.name}:measure/{session.workload.name}/0:{key}",
            low=float(times["low"]),
            high=float(times["high"]),
        )
        for key, (candidate, times) in timed.items()
    ]
    return _record(asked, session, *facts)


def tell_qualified(
    asked: Asked, session: Opened, winner: Candidate, done: Mapping[str, Any]
) -> bool:
    """The design that was asked for, and whether a kernel of it passed."""
    design = Design(
        template=_digest(session),
        assignment=winner.assignment,
        chip=_chip(session),
        work=_work(session),
        objective=winner.predicted,
        bound=None,
        qualified=done["artifact"] is not None,
        artifact=str(done["library"]),
        source=f"mcp:{asked.folder.name}:qualify/{session.workload.name}",
    )
    return _record(asked, session, design)


def _record(asked: Asked, session: Opened, *seen: Fact | Design) -> bool:
    population = open_population(asked.population)
    try:
        population.entry(_digest(session))
    except InputError:  # it was never submitted: nobody asked to keep anything of it
        return False
    population.record(*seen)
    return True


def _digest(session: Opened) -> str:
    return str(session.setting.templates[session.template].proof["digest"])


def _chip(session: Opened) -> ChipKey:
    return ChipKey(session.setting.chip_name, session.setting.chip_key)


def _work(session: Opened) -> Work:
    contract, threads = session.setting.problem.contract, session.setting.threads
    return work_of(contract, session.workload.extents, threads)
