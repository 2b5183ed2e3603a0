"""The choice among measured candidates: ceilings refuse, the goal picks, the rest is given up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.codegen.size import code_bytes
from formwright.contract.objectives import Goal, Objective
from formwright.contract.problem import Problem, Workload
from formwright.flow.candidates import Candidate, assignment_text
from formwright.flow.setting import Setting
from formwright.roofline import UnboundedError, intensity_of, roofs_of
from formwright.roofline.energy import energy_of, lacking

SAME: Final = 1.01
"""What is within this of the best is not called given up: two measurements differ as much."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate by every measure; ``None`` where it was not measured or cannot be.

    ``seconds``, ``p50``, ``p99`` and ``rate`` (calls a second, every core at work) are measured in
    the search. ``memory_bytes`` is what the library asks for beside its tensors, ``code_bytes``
    its machine code. ``joules`` of a call are modelled.
    """

    key: str
    label: str
    seconds: float
    p50: float | None
    p99: float | None
    memory_bytes: int | None
    code_bytes: int | None
    joules: float | None
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """``winner``: its key; ``refused``: reasons by key; ``best``: keys of the Pareto frontier."""

    goal: Goal
    winner: str | None
    standings: tuple[Standing, ...]
    refused: Mapping[str, str]
    best: frozenset[str]
    gave_up: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "objective": self.goal,
            "winner": self.winner,
            "gave_up": list(self.gave_up),
            "candidates": [
                asdict(s)
                | {"refused": self.refused.get(s.key), "pareto": s.key in self.best}
                | {"winner": s.key == self.winner}
                for s in self.standings
            ],
        }


Measure = Callable[[Standing], float | None]

MEASURES: Final[Mapping[str, Measure]] = {
    "latency": lambda s: s.seconds,
    "throughput": lambda s: 1 / s.rate if s.rate else None,
    "tail": lambda s: s.p99,
    "memory": lambda s: s.memory_bytes,
    "code_size": lambda s: s.code_bytes,
    "energy": lambda s: s.joules,
}
"""Less is better; of throughput, the seconds that pass for each call."""


def require(problem: Problem, threads: int, chip: Mapping[str, Any], chip_name: str) -> None:
    """Raises ``InputError`` for a goal that cannot be measured or modelled here."""
    objective = problem.objective
    if objective.goal == "throughput" and threads != 1:
        raise _refusal(
            objective,
            f"throughput is of independent calls with one thread each, not with {threads}",
            "write threads = 1",
        )
    if objective.goal == "throughput" and problem.contract.ahead:
        raise _refusal(
            objective,
            "throughput is not measured with inputs packed ahead",
            "leave ahead out, or take another objective",
        )
    missing = lacking(chip)
    if objective.goal == "energy" and missing:
        raise _refusal(
            objective,
            f"chip {chip_name} has no {' and no '.join(missing)}, so energy is not modelled",
            'add them to a chip file: flop_energy = { value = "3 pJ", source = "…" }',
        )


def _refusal(objective: Objective, message: str, hint: str) -> InputError:
    return InputError([Diagnostic(message, objective.span, hint)])


def standing(
    setting: Setting, workload: Workload, candidate: Candidate, timed: Mapping[str, Any]
) -> Standing:
    """``timed`` is what the search's measurement says of this candidate.

    The size of its code is that of the library that was measured, which a repeated run, built by
    another compiler, has from the record.
    """
    tail = timed.get("tail")
    memory = timed.get("memory_bytes")
    code = timed["code_bytes"] if "code_bytes" in timed else code_bytes(candidate.library)
    return Standing(
        key=candidate.key,
        label=f"{candidate.template} {assignment_text(candidate.assignment)}",
        seconds=float(timed["seconds"]["median"]),
        p50=None if tail is None else float(tail["p50"]),
        p99=None if tail is None else float(tail["p99"]),
        memory_bytes=None if memory is None else int(memory),
        code_bytes=None if code is None else int(code),
        joules=_joules(setting, workload, candidate),
        rate=float(timed["rate"]["median"]) if "rate" in timed else None,
    )


def _joules(setting: Setting, workload: Workload, candidate: Candidate) -> float | None:
    if lacking(setting.chip):
        return None
    template = setting.templates[candidate.template].template
    roofs = roofs_of(setting.chip, setting.threads)
    values = setting.parameters(template, workload)
    try:
        intensity = intensity_of(template, values, candidate.assignment, roofs)
    except UnboundedError:
        return None
    return energy_of(intensity, roofs, setting.chip)


def choose_winner(standings: Sequence[Standing], objective: Objective) -> Choice:
    """The best by the goal among those below every ceiling; ties go to the faster one."""
    refused = {s.key: why for s in standings if (why := _above(s, objective))}
    held = [s for s in standings if s.key not in refused]
    measure = MEASURES[objective.goal]
    for s in held:
        if measure(s) is None:
            refused[s.key] = f"its {_NAMES[objective.goal]} is not known"
    held = [s for s in held if s.key not in refused]
    winner = min(held, key=lambda s: (measure(s) or 0.0, s.seconds, s.key), default=None)
    return Choice(
        goal=objective.goal,
        winner=None if winner is None else winner.key,
        standings=tuple(sorted(standings, key=lambda s: s.seconds)),
        refused=refused,
        best=frozenset(_frontier(held)),
        gave_up=() if winner is None else _gave_up(winner, held),
    )


def _above(s: Standing, objective: Objective) -> str | None:
    """The first ceiling that it breaks; what is not known holds no ceiling."""
    ceilings = objective.ceilings
    for limit, value, name in (
        (ceilings.memory_bytes, s.memory_bytes, "memory_bytes"),
        (ceilings.code_bytes, s.code_bytes, "code_bytes"),
        (ceilings.p99_ratio, tail_ratio(s), "p99_ratio"),
    ):
        if limit is None:
            continue
        if value is None:
            return f"{name} is not known, and the ceiling is {limit}"
        if value > limit:
            return f"{name} {value:.4g} is above the ceiling {limit}"
    return None


def tail_ratio(s: Standing) -> float | None:
    """Its slow calls over its usual ones."""
    return s.p99 / s.p50 if s.p99 is not None and s.p50 else None


def _frontier(held: Sequence[Standing]) -> list[str]:
    """Those that no other beats in one measure without losing in another."""
    known = [m for m in MEASURES.values() if all(m(s) is not None for s in held)]

    def beaten(s: Standing) -> bool:
        for other in held:
            pairs = [(m(other) or 0.0, m(s) or 0.0) for m in known]
            if all(a <= b for a, b in pairs) and any(a < b for a, b in pairs):
                return True
        return False

    return [s.key for s in held if not beaten(s)]


_NAMES: Final[Mapping[str, str]] = {
    "latency": "time",
    "throughput": "time for each call, all cores at work (throughput)",
    "tail": "tail (p99)",
    "memory": "memory",
    "code_size": "code",
    "energy": "energy",
}


def _gave_up(winner: Standing, held: Sequence[Standing]) -> tuple[str, ...]:
    found = []
    for goal, measure in MEASURES.items():
        ours = measure(winner)
        known = [(value, s) for s in held if (value := measure(s)) is not None]
        if ours is None or not known:
            continue
        best, other = min(known, key=lambda pair: pair[0])
        if ours <= best * SAME:
            continue
        found.append(f"{_NAMES[goal]}: {other.label} needs {1 - best / ours:.0%} less")
    return tuple(found)
