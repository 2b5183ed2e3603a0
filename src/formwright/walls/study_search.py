"""What a study says about how to look: methods, seeds, the evaluator, generated problems."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

from formwright.base.toml import Place
from formwright.contract.fields import Fields
from formwright.ir.template import Template
from formwright.lang import load
from formwright.simulate.named import EVALUATORS
from formwright.walls.study import METHODS, EvaluatorChoice, Generated, Method, Search
from formwright.walls.study_points import read_quantity

MOST_SOLVES: Final = 1_000_000
SPARE: Final = 4
"""Walls of a generated problem that are not in its hidden set: decoys need them."""

USUAL_NOISE: Final = Fraction(5, 100)


def read_search(fields: Fields) -> Search | None:
    """``[methods]``, and the depth of the relaxation at the top of the file."""
    before = len(fields.faults)
    table = _table(fields, "methods", ("names", "seeds", "solves", "bound_seconds"))
    usual = tuple(m for m in METHODS if m != "joint-program")
    names = fields.chosen(("methods", "names"), METHODS, usual) if table is not None else ()
    seeds = fields.whole(("methods", "seeds"), 1, 1000, 10) if table is not None else None
    solves = fields.whole(("methods", "solves"), 1, MOST_SOLVES, 200) if table is not None else None
    seconds = fields.seconds(("methods", "bound_seconds"), 60.0) if table is not None else None
    look_ahead = fields.whole(("look_ahead",), 1, 64, 2)
    rounds = fields.whole(("rounds",), 1, 1000, 20)
    if names == () and table is not None:
        fields.fault("no method is named", ("methods", "names"), f"known: {', '.join(METHODS)}")
    if len(fields.faults) > before or not names or seeds is None or solves is None:
        return None
    if look_ahead is None or rounds is None or seconds is None:
        return None
    chosen: tuple[Method, ...] = tuple(m for m in METHODS if m in names)
    return Search(chosen, look_ahead, rounds, seeds, solves, seconds)


def read_evaluator(fields: Fields) -> EvaluatorChoice | None:
    """``[evaluator]``: the designs that are bought are held against it."""
    if fields.get(("evaluator",)) is None:
        return None
    table = _table(fields, "evaluator", ("name", "noise", "samples"))
    if table is None:
        return None
    place: Place = ("evaluator", "name")
    if "name" not in table:
        known = ", ".join(sorted(EVALUATORS))
        fields.fault("the evaluator has no name", ("evaluator",), f"known: {known}")
        return None
    name = fields.choice(place, sorted(EVALUATORS), "")
    samples = fields.whole(("evaluator", "samples"), 2, 10_000, 30)
    noise: Fraction | None = USUAL_NOISE
    if "noise" in table:
        noise = read_quantity(fields, ("evaluator", "noise"), "ratio", none=True)
    if name is None or samples is None or noise is None:
        return None
    return EvaluatorChoice(name, noise, samples)


def evaluator_faults(
    fields: Fields, evaluator: EvaluatorChoice, templates: Iterable[Template]
) -> None:
    """Faults where the evaluator cannot follow the designs of a template."""
    known = EVALUATORS[evaluator.name].templates
    place: Place = ("evaluator", "name")
    for template in templates:
        told = f"evaluator {evaluator.name} cannot follow designs of {template.name}"
        if template.name not in known:
            fields.fault(told, place, f"it knows {', '.join(known)}; or leave [evaluator] out")
            continue
        wanted = {d.name for d in load(template.name)[1].decisions}
        lacking = sorted(wanted - {d.name for d in template.decisions})
        if lacking:
            why = f"{told}: they have no {', '.join(lacking)}"
            fields.fault(why, place, "give a template of another form another name")


def read_generated(fields: Fields) -> Generated | None:
    """``[generated]``: ``hidden`` sizes of the sets that pay only together."""
    if fields.get(("generated",)) is None:
        return None
    table = _table(fields, "generated", ("seeds", "walls", "hidden"))
    if table is None:
        return None
    seeds = fields.whole(("generated", "seeds"), 1, 10_000, 50)
    walls = fields.whole(("generated", "walls"), 2, 64, 12)
    place: Place = ("generated", "hidden")
    hidden = fields.get(place)
    hidden = [2, 3] if hidden is None else hidden
    good = isinstance(hidden, list) and hidden and all(_whole(h) and 2 <= h <= 6 for h in hidden)
    if not good:
        fields.fault("hidden is not a list of sizes of sets", place, "as in [2, 3]; 2 .. 6 walls")
        return None
    if walls is not None and walls < max(hidden) + SPARE:
        told = f"{walls} walls are too few to hide {max(hidden)} among others"
        fields.fault(told, place, f"draw problems with at least {max(hidden) + SPARE} walls")
        return None
    return None if seeds is None or walls is None else Generated(seeds, walls, tuple(hidden))


def _table(fields: Fields, name: str, known: tuple[str, ...]) -> dict[str, Any] | None:
    table = fields.get((name,))
    if table is None:
        return {}
    if not isinstance(table, dict):
        fields.fault(f"{name} is not a table", (name,), f"write [{name}] on a line of its own")
        return None
    fields.faults.extend(fields.document.unknown((name,), table, known))
    return table


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
