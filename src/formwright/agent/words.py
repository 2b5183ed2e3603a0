"""Answers in words, from the data of a request: nothing is made up that is not in it."""

from collections.abc import Mapping, Sequence
from typing import Any


def diagnosis_words(data: Mapping[str, Any]) -> str:
    """``representation: …`` from ``data["diagnosis"]``, one or several as JSON; else empty."""
    told = data.get("diagnosis")
    several = [told] if isinstance(told, Mapping) else told
    if not isinstance(several, Sequence) or isinstance(several, str):
        return ""
    lines = list[str]()
    for one in several:
        if isinstance(one, Mapping) and one.get("kind"):
            rest = [str(one[key]) for key in ("says", "repair") if one.get(key)]
            lines.append(f"{one['kind']}: {'; '.join(rest)}")
    return "\n".join(lines)


def mechanism_words(data: Mapping[str, Any]) -> str:
    """What a purchase made possible, from ``data``; empty where nothing of it is told.

    ``purchase``: figures of the chip by name, before and after. ``decisions``: those of the design
    that changed, before and after. ``binding``: walls that held before and do not now.
    """
    bought = _changes(data.get("purchase"))
    if not bought:
        return ""
    text = f"more of {bought}"
    decisions = _changes(data.get("decisions"))
    if decisions:
        text += f" makes room for {decisions}"
    binding = data.get("binding")
    if isinstance(binding, Sequence) and not isinstance(binding, str) and binding:
        text += f"; the wall that kept it out was {', '.join(map(str, binding))}"
    return text


def _changes(told: Any) -> str:
    if not isinstance(told, Mapping):
        return ""
    return ", ".join(
        f"{name} ({pair[0]} -> {pair[1]})"
        for name, pair in told.items()
        if isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
    )
