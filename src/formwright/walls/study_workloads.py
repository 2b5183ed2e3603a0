"""What a study says about work: kernels and their templates, scenarios, listed programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import InputError, nearest
from formwright.base.toml import Place
from formwright.chip.library import Library
from formwright.chip.library_walls import TooManyError, falls
from formwright.contract.fields import Fields
from formwright.ir.expr import Expr
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.ir.types import size_values
from formwright.lang import load, parse_expression
from formwright.walls.problem import Kernel, Limits, Objective, ScenarioSpec
from formwright.walls.study_points import name_fault, read_quantity

MOST_EXTENT: Final = 2**40


@dataclass(frozen=True, slots=True)
class Texts:
    """The templates of a study by the name that it gives them; ``None`` for one with faults."""

    templates: Mapping[str, Template]
    folder: Path

    def named(self, name: str) -> str:
        """A path in a study is relative to its file; a bare name ships with us."""
        return name if not name.endswith(".fw") else str(self.folder / name)


def read_templates(fields: Fields, folder: Path, library: Library, goal: Objective | None) -> Texts:
    """The templates that the study and its kernels name, each read once.

    Raises:
        InputError: a template with faults of its own; they are shown in its text.
    """
    names: dict[str, Place] = {}
    for place in _lists_of_templates(fields):
        for number, name in enumerate(fields.texts(place, ()) or ()):
            names.setdefault(name, (*place, number))
    found: dict[str, Template] = {}
    texts = Texts(found, folder)
    for name, place in names.items():
        try:
            _, template = load(texts.named(name))
        except InputError as error:
            if error.source is not None:
                raise
            first = error.diagnostics[0]
            fields.fault(first.message, place, first.hint)
            continue
        found[name] = template
        _fits(fields, place, template, library, goal)
    return texts


def _lists_of_templates(fields: Fields) -> list[Place]:
    kernels = fields.get(("kernels",))
    kernels = kernels if isinstance(kernels, dict) else {}
    own: list[Place] = [
        ("kernels", name, "templates")
        for name, entry in kernels.items()
        if isinstance(entry, dict) and "templates" in entry
    ]
    return [("templates",), *own] if fields.get(("templates",)) is not None else own


def _fits(
    fields: Fields, place: Place, template: Template, library: Library, goal: Objective | None
) -> None:
    """Whether the library has what the template asks of a chip, and the objective a figure."""
    known = {f"chip.{f.name}" for f in library.fields} | {f"chip.{d.name}" for d in library.derived}
    for parameter in template.scope.chip:
        if parameter.name not in known:
            fields.fault(
                f"{template.name} reads {parameter.name}, which library {library.name} has not",
                place,
                nearest(parameter.name, known) or "add it to the library as a derived quantity",
            )
    for wall in sorted({c.wall for c in template.constraints if c.wall} & _names(known)):
        _wall_fault(fields, place, template.name, wall, library)
    if template.cost is None:
        fields.fault(f"{template.name} has no cost", place, "a design without one is no choice")
    elif goal == "energy-delay" and template.cost.energy is None:
        fields.fault(
            f"{template.name} says nothing of energy, which the objective asks for",
            place,
            "add a line `energy …` to its cost, or choose another objective",
        )


def _names(known: set[str]) -> set[str]:
    return {name.removeprefix("chip.") for name in known}


def _wall_fault(fields: Fields, place: Place, template: str, wall: str, library: Library) -> None:
    """Relaxation takes more of a field to admit more: a wall that falls would mislead it."""
    try:
        found = falls(library, wall)
    except TooManyError:
        told = f"whether {wall}, a wall of {template}, grows with its fields is too long to check"
        fields.fault(told, place, "let it read fewer fields")
        return
    if found is not None:
        step = f"{found.field} grows from {found.before} to {found.after}"
        told = f"{wall}, a wall of {template}, falls as {step}"
        fields.fault(told, place, "a wall stands on what grows with the fields behind it")


def read_kernels(fields: Fields, texts: Texts) -> dict[str, Kernel]:
    """``[kernels.NAME]``: extents, and the templates that may do it if not all of the study's."""
    table = fields.get(("kernels",))
    if not isinstance(table, dict) or not table:
        fields.fault("the study has no kernels", ("kernels",), "write [kernels.NAME] and extents")
        return {}
    usual = fields.get(("templates",))
    usual = tuple(u for u in usual if isinstance(u, str)) if isinstance(usual, list) else ()
    found: dict[str, Kernel] = {}
    for name, entry in table.items():
        kernel = _kernel(fields, name, entry, texts, usual)
        if kernel is not None:
            found[name] = kernel
    return found


def _kernel(
    fields: Fields, name: str, entry: Any, texts: Texts, usual: tuple[str, ...]
) -> Kernel | None:
    place: Place = ("kernels", name)
    name_fault(fields, place, "kernel")
    if not isinstance(entry, dict):
        fields.fault(f"kernel {name} is not a table", place, "write its extents: { M = …, N = … }")
        return None
    before = len(fields.faults)
    named = fields.texts((*place, "templates"), usual) or ()
    if not named:
        fields.fault(f"kernel {name} has no template", place, "write templates = [names]")
        return None
    templates = tuple(texts.templates[n] for n in named if n in texts.templates)
    extents: dict[str, int] = {}
    for key in entry:
        if key != "templates":
            value = fields.whole((*place, key), 0, MOST_EXTENT, None)
            extents[key] = 0 if value is None else value
    for template in templates:
        _extents_fault(fields, place, template, extents)
    if len(fields.faults) > before or len(templates) < len(named):
        return None
    return Kernel(name, templates, _integers(templates, extents))


def _integers(templates: tuple[Template, ...], extents: Mapping[str, int]) -> dict[str, int]:
    """Extents as given; agents that are not are one, element sizes are the templates' own."""
    values: dict[str, int] = {}
    for template in templates:
        values.update({p.name: 1 for p in template.scope.agents})
        values.update({name: int(v) for name, v in size_values(template).items()})
    return values | dict(extents)


def _extents_fault(
    fields: Fields, place: Place, template: Template, extents: Mapping[str, int]
) -> None:
    asked = [p.name for p in (*template.scope.extents, *template.scope.given)]
    for name in asked:
        if name not in extents:
            fields.fault(
                f"{template.name} needs {name} of kernel {place[-1]}", place, f"add {name} = …"
            )
    known = {*asked, *(p.name for p in template.scope.agents)}
    for name in extents:
        if name not in known:
            hint = nearest(name, asked) or f"its extents are {', '.join(asked)}"
            fields.fault(f"{template.name} has no extent {name}", (*place, name), hint)


def read_scenarios(fields: Fields, kernels: Mapping[str, Kernel]) -> tuple[ScenarioSpec, ...]:
    """``[scenarios.NAME]``: which kernels how often, its weight, its tokens, its limits."""
    table = fields.get(("scenarios",))
    if not isinstance(table, dict) or not table:
        fields.fault(
            "the study has no scenarios",
            ("scenarios",),
            "write [scenarios.NAME] and works = { KERNEL = count }",
        )
        return ()
    found: list[ScenarioSpec] = []
    used: set[str] = set()
    known = kernels.keys() | _written(fields)
    for name, entry in table.items():
        place: Place = ("scenarios", name)
        name_fault(fields, place, "scenario")
        if not isinstance(entry, dict):
            fields.fault(f"scenario {name} is not a table", place, f"write [scenarios.{name}]")
            continue
        fields.faults.extend(
            fields.document.unknown(place, entry, ("works", "weight", "tokens", "limits"))
        )
        works = _works(fields, (*place, "works"), name, entry.get("works"), known)
        used.update(works)
        weight = _weight(fields, (*place, "weight"), entry)
        tokens = fields.whole((*place, "tokens"), 1, MOST_EXTENT, 1)
        told = "tokens" in entry
        limits = _limits(fields, (*place, "limits"), entry.get("limits", {}), told)
        if weight is not None and tokens is not None and works.keys() <= kernels.keys():
            pairs = tuple((kernels[k], count) for k, count in works.items())
            found.append(ScenarioSpec(name, pairs, weight, tokens if told else None, limits))
    for name in kernels:
        if name not in used:
            fields.fault(
                f"kernel {name} is in no scenario", ("kernels", name), "use it, or leave it out"
            )
    return tuple(found)


def _written(fields: Fields) -> set[str]:
    table = fields.get(("kernels",))
    return set(table) if isinstance(table, dict) else set()


def _works(
    fields: Fields, place: Place, scenario: str, table: Any, known: set[str]
) -> dict[str, int]:
    if not isinstance(table, dict) or not table:
        fields.fault(f"scenario {scenario} has no works", place, "write works = { KERNEL = count }")
        return {}
    found: dict[str, int] = {}
    for name in table:
        if name not in known:
            hint = nearest(name, known) or f"kernels are {', '.join(sorted(known))}"
            fields.fault(f'no kernel is called "{name}"', (*place, name), hint)
            continue
        count = fields.whole((*place, name), 1, MOST_EXTENT, None)
        if count is not None:
            found[name] = count
    return found


def _weight(fields: Fields, place: Place, entry: Mapping[str, Any]) -> Fraction | None:
    return read_quantity(fields, place, "ratio") if "weight" in entry else Fraction(1)


def _limits(fields: Fields, place: Place, table: Any, tokens: bool) -> Limits:
    if not isinstance(table, dict):
        fields.fault("limits is not a table", place, "as in limits = { power = 2 }")
        return Limits()
    fields.faults.extend(fields.document.unknown(place, table, ("power", "rate")))
    if "rate" in table and not tokens:
        fields.fault("a rate of tokens needs their number", place, "add tokens = …")
    power = _number(fields, (*place, "power"), table)
    rate = _number(fields, (*place, "rate"), table)
    return Limits(power=power, rate=rate)


def _number(fields: Fields, place: Place, table: Mapping[str, Any]) -> Fraction | None:
    return read_quantity(fields, place, "ratio") if place[-1] in table else None


def read_expression(fields: Fields, place: Place, value: Any, known: set[str]) -> Expr | None:
    """A number, or the text of an expression over ``known`` names."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        told = "is missing" if value is None else "is no expression"
        fields.fault(f"{place[-1]} {told}", place, f'write {place[-1]} = 3, or "3 * chip.NAME"')
        return None
    try:
        expr = parse_expression(str(value), fields.document.source.name)
    except InputError as error:
        first = error.diagnostics[0]
        fields.fault(f"{place[-1]}: {first.message}", place, first.hint)
        return None
    unknown = sorted(free_names(expr) - known)
    for name in unknown:
        hint = nearest(name, known) or f"known: {', '.join(sorted(known))}"
        fields.fault(f'{place[-1]} reads an unknown name "{name}"', place, hint)
    return None if unknown else expr
