"""Study files: all their faults, each with its place, before any work is done."""

from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Final

from formwright.base.diagnostics import InputError, fail, nearest
from formwright.base.quantities import Quantity, show_quantity
from formwright.base.source import Source
from formwright.base.toml import Document, Place, read_toml, read_toml_file
from formwright.chip.library import Library, Point
from formwright.chip.library_files import load_library
from formwright.contract.fields import Fields
from formwright.contract.workloads import NAME
from formwright.walls.problem import Objective
from formwright.walls.study import OBJECTIVES, Study
from formwright.walls.study_counters import read_coefficients, read_counters
from formwright.walls.study_points import (
    read_budgets,
    read_chips,
    read_library_part,
    read_point,
    read_quantity,
    rule_faults,
)
from formwright.walls.study_programs import read_programs
from formwright.walls.study_search import (
    evaluator_faults,
    read_evaluator,
    read_generated,
    read_search,
)
from formwright.walls.study_workloads import (
    read_kernels,
    read_scenarios,
    read_templates,
)

_KEYS: Final = (
    "name",
    "description",
    "library",
    "objective",
    "budget",
    "budgets",
    "start",
    "reference",
    "look_ahead",
    "rounds",
    "front",
    "templates",
    "kernels",
    "scenarios",
    "programs",
    "methods",
    "evaluator",
    "coefficients",
    "counters",
    "chips",
    "menus",
    "generated",
)


def shipped_studies() -> tuple[str, ...]:
    """The names of the studies that come with the package."""
    folder = resources.files("formwright") / "studies"
    return tuple(
        sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    )


def load_study(name_or_path: str) -> Study:
    """The study of a file, or one that ships.

    Raises:
        InputError: every fault of the file with line, column and hint, or those of a library
            or template that it names, shown in their own text.
    """
    document, folder = _document(name_or_path)
    fields = Fields(document)
    study = _study(fields, folder)
    if fields.faults or study is None:
        raise InputError(fields.faults, document.source)
    return study


def _document(name: str) -> tuple[Document, Path]:
    if name.endswith(".toml") or "/" in name:
        return read_toml_file(Path(name)), Path(name).parent
    known = shipped_studies()
    if name not in known:
        hint = nearest(name, known) or f"studies: {', '.join(known)}, or the path of a .toml file"
        raise fail(f'no study is called "{name}"', hint=hint)
    file = resources.files("formwright") / "studies" / f"{name}.toml"
    source = Source(f"{name}.toml", file.read_text(encoding="utf-8"))
    return read_toml(source), Path(str(file)).parent


def _study(fields: Fields, folder: Path) -> Study | None:
    document = fields.document
    fields.faults.extend(document.unknown((), document.table, _KEYS))
    name = fields.text(("name",), Path(document.source.name).stem)
    if name is not None and not NAME.fullmatch(name):
        fields.fault(f'"{name}" is not a name for a study', ("name",), "use letters, digits, - _ .")
    description = fields.text(("description",), "")
    goal = _goal(fields)
    search = read_search(fields)
    evaluator = read_evaluator(fields)
    generated = read_generated(fields)
    tolerance = None
    if fields.get(("front",)) is not None:
        tolerance = read_quantity(fields, ("front",), "ratio")
        if tolerance is not None and tolerance >= 1:
            fields.fault(
                "front is a tolerance below 100 %",
                ("front",),
                'write front = "1 %", or leave it out',
            )
    library = _library(fields, folder)
    if library is None or goal is None:
        return None
    library = read_library_part(fields, library)
    budgets = read_budgets(fields)
    start = read_point(fields, ("start",), library, library.start)
    reference = None if start is None else read_point(fields, ("reference",), library, start)
    chips = read_chips(fields, library)
    if start is not None:
        _start_faults(fields, library, start, budgets)
    if reference is not None and reference != start:
        rule_faults(fields, ("reference",), library, reference)
    listed = fields.get(("programs",)) is not None
    texts = read_templates(fields, folder, library, goal)
    if evaluator is not None:
        evaluator_faults(fields, evaluator, texts.templates.values())
    coefficients = read_coefficients(fields, texts)
    counters = read_counters(fields, texts, library)
    kernels = {} if listed else read_kernels(fields, texts)
    scenarios = () if listed else read_scenarios(fields, kernels)
    programs = read_programs(fields, library) if listed else ()
    if listed:
        _listed_faults(fields, goal)
    if fields.faults or name is None or description is None or search is None:
        return None
    if start is None or reference is None:
        return None
    return Study(
        name=name,
        description=description,
        library=library,
        objective=goal,
        budgets=budgets,
        start=start,
        reference=reference,
        templates=texts.templates,
        scenarios=scenarios,
        programs=programs,
        search=search,
        evaluator=evaluator,
        coefficients=coefficients,
        counters=counters,
        chips=chips,
        front_tolerance=tolerance,
        generated=generated,
    )


def _goal(fields: Fields) -> Objective | None:
    text = fields.choice(("objective",), OBJECTIVES, "worst")
    return next((g for g in OBJECTIVES if g == text), None)


def _library(fields: Fields, folder: Path) -> Library | None:
    name = fields.text(("library",), None)
    if name is None:
        if fields.get(("library",)) is None:
            fields.fault("the study names no library", ("library",), 'write library = "tiled-gpu"')
        return None
    at = str(folder / name) if name.endswith(".toml") else name
    try:
        return load_library(at)
    except InputError as error:
        if error.source is not None:
            raise
        first = error.diagnostics[0]
        fields.fault(first.message, ("library",), first.hint)
        return None


def _start_faults(
    fields: Fields, library: Library, start: Point, budgets: tuple[Fraction | None, ...]
) -> None:
    rule_faults(fields, ("start",), library, start)
    smallest = budgets[0]
    area = library.area(start)
    if smallest is None or area <= smallest:
        return
    shown = [show_quantity(Quantity(a, "area"), 6) for a in (area, smallest)]
    place: Place = ("start",) if fields.get(("start",)) is not None else ("budget",)
    fields.fault(
        f"the start takes {shown[0]}, over the budget of {shown[1]}",
        place if fields.get(place) is not None else ("budgets",),
        "start from a smaller chip, or raise the budget",
    )


def _listed_faults(fields: Fields, goal: Objective) -> None:
    for key in ("kernels", "scenarios", "templates", "evaluator"):
        if fields.get((key,)) is not None:
            fields.fault(f"{key} and programs are both given", (key,), "leave one out")
    if goal == "energy-delay":
        fields.fault(
            "listed programs have a cost, not an energy", ("objective",), "write worst or weighted"
        )
