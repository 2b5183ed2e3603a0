"""What a relaxation bought, as rows of its table."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from formwright.flow.codesign_results import Effect, PurchaseRow, Steps
from formwright.flow.codesign_setting import plain
from formwright.walls.state import State


def purchase_rows(state: State, entries: Sequence[int]) -> tuple[PurchaseRow, ...]:
    """``entries``: of the start and of each round after it, in order."""
    return tuple(_row(bought, entries[bought["round"]]) for bought in state.purchases)


def given_back_last(state: State) -> Steps:
    """What went back when no purchase was left: after the last of the purchases."""
    last = state.rounds[-1] if state.rounds else {}
    return _steps(last.get("reclaimed") or {}) if last.get("bought") is None else {}


def _row(bought: Mapping[str, Any], entry: int) -> PurchaseRow:
    verdict: Mapping[str, Any] = bought["verdict"] or {}
    return PurchaseRow(
        round=bought["round"],
        way=bought["way"],
        fields=_steps(bought["fields"]),
        area=_number(bought["area_added"]),
        total_area=_number(bought["area"]),
        predicted=_number(bought["drop"]),
        price=_number(bought["gain"]),
        evaluated=_number(verdict.get("evaluated")),
        verdict=verdict.get("verdict", ""),
        mechanism=tuple(bought["mechanism"]),
        reclaimed=_steps(bought["reclaimed"]),
        objective=_number(bought["objective"]),
        entry=entry,
        effects=tuple(_effect(told) for told in bought.get("effects", ())),
    )


def _effect(told: Sequence[str | None]) -> Effect:
    name, *numbers = told
    time_before, time, energy_before, energy = (_number(n) for n in numbers)
    assert name is not None
    assert time is not None
    return Effect(name, time_before, time, energy_before, energy)


def _steps(fields: Mapping[str, Sequence[int | str]]) -> Steps:
    return {name: (plain(Fraction(a)), plain(Fraction(b))) for name, (a, b) in fields.items()}


def _number(text: str | float | None) -> float | None:
    return None if text is None else float(Fraction(text))
