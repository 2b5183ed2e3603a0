"""The inner problem over templates: the best software for a chip, for all scenarios, exactly.

Scenarios and kernels separate once the chip is fixed, so each kernel is solved by itself and
remembered by what it reads of the chip: a chip that leaves a kernel's walls and costs where they
were costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.digest import digest
from formwright.chip.library import Box, Library, Point
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.walls.core import NONE, Answer, Chosen, Walls
from formwright.walls.emptiness import why_empty
from formwright.walls.floors import menus_of
from formwright.walls.formulation import formulate
from formwright.walls.narrow import narrowed
from formwright.walls.objective import Joined, Joiner, Parts
from formwright.walls.problem import CodesignProblem, Coefficients, Kernel, ScenarioSpec
from formwright.walls.slices import slices_of
from formwright.walls.table import Span, Table, tabulated
from formwright.walls.works import Design, Work

Key = tuple[Any, ...]


@dataclass(slots=True)
class Store:
    """Tables by the content of what they were made of: an inner problem made again, with other
    coefficients or another objective, keeps those that do not change."""

    tables: dict[str, Table | str] = field(default_factory=dict)

    def table(
        self, template: Template, kernel: Kernel, problem: CodesignProblem, energy: bool
    ) -> Table | str:
        """The table, or why the template takes no part."""
        known = dict(problem.coefficients.get(template.name, {}))
        key = digest([template, dict(kernel.extents), kernel.name, known, problem.library, energy])
        if key not in self.tables:
            shape = formulate(template, kernel, problem.library, known)
            made = shape if isinstance(shape, str) else tabulated(shape, problem.library, energy)
            self.tables[key] = made
        return self.tables[key]


class TemplateInner:
    """The inner problem of a co-design; see :class:`formwright.walls.core.Inner`.

    Answers are exact and remembered. ``works`` are the kernels with their tables, by name.
    """

    def __init__(self, problem: CodesignProblem, works: Mapping[str, Work], store: Store) -> None:
        self.problem = problem
        self.works = works
        self.store = store
        self._joiner = Joiner(problem)
        self._menus = menus_of(problem.library)
        self._read = {n: self._places(w.fields) for n, w in works.items()}
        self._answers: dict[tuple[Point, Walls], Answer] = {}
        self._parts: dict[Key, Parts | None] = {}
        self._kept: dict[Key, Design | None] = {}
        self._below: dict[Key, Any] = {}
        self._times: dict[str, Fraction] | None = None

    @property
    def library(self) -> Library:
        return self.problem.library

    @property
    def walls(self) -> tuple[str, ...]:
        named = frozenset[str]().union(*(w.walls for w in self.works.values()))
        return tuple(f.name for f in self.library.fields if f.name in named)

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that some cost or the left side of some wall reads."""
        shapes = [t.formulation for w in self.works.values() for t in w.tables]
        named = {f for shape in shapes for f in shape.cost_fields}
        return tuple(f.name for f in self.library.fields if f.name in named)

    @property
    def reference(self) -> Mapping[str, Fraction]:
        """The time of each scenario that has the ratio 1.

        Raises :class:`InputError` if the reference chip has no program for one.
        """
        if self._times is None:
            joined = self._joined(self.problem.reference, NONE)
            if joined.reason:
                told = f"the reference chip: {joined.reason}"
                hint = "take a chip that runs every kernel within the limits"
                raise InputError([Diagnostic(told, None, hint)])
            self._times = {s.name: joined.time(s.name) for s in self.problem.scenarios}
            for name, time in self._times.items():
                if time <= 0:
                    told = f"the reference chip: the time of scenario {name} is {time} there"
                    hint = "ratios are to that time: bound the costs above 0"
                    raise InputError([Diagnostic(told, None, hint)])
        return self._times

    def measured_by(self, times: Mapping[str, Fraction]) -> None:
        """Take these times of the scenarios as those of ratio 1, before anything is solved."""
        self._times = dict(times)

    def solve(self, point: Point, removed: Walls = NONE) -> Answer:
        """The best software of the chip at ``point``, the walls in ``removed`` dropped."""
        asked = (point, removed)
        if asked not in self._answers:
            self._answers[asked] = self._answer(self._joined(point, removed))
        return self._answers[asked]

    def keep(self, point: Point, software: Answer) -> Answer:
        """What the designs of ``software`` cost at ``point``: none where one does not fit."""
        chip = self._chip(point)
        chosen: dict[tuple[str, str], Design] = {}
        for scenario in software.scenarios:
            for each in scenario.chosen:
                design = self._kept_design(each, point, chip)
                if design is None:
                    told = f"scenario {scenario.name}: the design of {each.work} does not fit"
                    return Answer(None, (), told)
                chosen[scenario.name, each.work] = design
        missing = [
            f"scenario {s.name}: no design of {k.name} is given"
            for s in self.problem.scenarios
            for k, _ in s.works
            if (s.name, k.name) not in chosen
        ]
        if missing:
            return Answer(None, (), missing[0])
        return self._answer(self._joiner.given(chosen))

    def lower(self, box: Box) -> float:
        """No chip of ``box`` reaches an objective below this, with any software."""
        span = self._span(box)
        parts: dict[str, Any] = {}
        for name, work in self.works.items():
            key = (name, *(box[i] for i in self._read[name]))
            if key not in self._below:
                self._below[key] = self._bound(work, box, span)
            parts[name] = self._below[key]
            if parts[name] is None or parts[name] == inf:
                return inf
        return self._joiner.below(parts, self.reference)

    def narrowed(self, box: Box, cutoff: float) -> "TemplateInner":
        """For :meth:`lower` of parts of ``box``: designs that no software below ``cutoff`` has
        there are left out. Where all costs are sliced, bounds read no rows: nothing changes."""
        if not self._joiner.fronts and all(w.slices and all(w.slices) for w in self.works.values()):
            return self
        times = {name: float(time) for name, time in self.reference.items()}
        works = narrowed(self.works, self.problem, times, self._span(box), self._menus, cutoff)
        inner = TemplateInner(self.problem, works, self.store)
        inner.measured_by(self.reference)
        return inner

    def only(self, software: Answer) -> "TemplateInner":
        """The same problem with the designs of each kernel cut down to those of ``software``."""
        taken: dict[str, list[Chosen]] = {}
        for each in software.software.values():
            taken.setdefault(each.work, []).append(each)
        works = {n: _cut(w, taken.get(n, []), self.library) for n, w in self.works.items()}
        inner = TemplateInner(self.problem, works, self.store)
        inner.measured_by(self.reference)
        return inner

    def refitted(self, coefficients: Coefficients) -> "TemplateInner":
        """The problem with other coefficients; tables of templates that keep theirs are kept."""
        return build_inner(replace(self.problem, coefficients=coefficients), self.store)

    def _answer(self, joined: Joined) -> Answer:
        if joined.reason:
            return Answer(None, (), joined.reason)
        return self._joiner.answer(joined, self.reference)

    def _joined(self, point: Point, removed: Walls) -> Joined:
        chip = self._chip(point)
        parts = {n: self._part(n, point, chip, removed) for n in self.works}
        return self._joiner.joined(parts, chip)

    def _part(
        self, name: str, point: Point, chip: Mapping[str, int | Fraction], removed: Walls
    ) -> Parts | None:
        work = self.works[name]
        gone = removed & work.walls
        key = (name, gone, *(point[i] for i in self._read[name]))
        if key not in self._parts:
            self._parts[key] = self._joiner.part(work, point, chip, gone)
        return self._parts[key]

    def _kept_design(
        self, each: Chosen, point: Point, chip: Mapping[str, int | Fraction]
    ) -> Design | None:
        read = (point[i] for i in self._read[each.work])
        key = (each.work, each.template, tuple(sorted(each.assignment.items())), *read)
        if key not in self._kept:
            work = self.works[each.work]
            self._kept[key] = work.kept(each.template, each.assignment, chip)
        return self._kept[key]

    def _chip(self, point: Point) -> dict[str, int | Fraction]:
        pairs = zip(self.library.fields, point, strict=True)
        return {f"chip.{f.name}": f.menu[i] for f, i in pairs}

    def _span(self, box: Box) -> dict[str, tuple[int | Fraction, int | Fraction]]:
        pairs = zip(self.library.fields, box, strict=True)
        return {f"chip.{f.name}": (f.menu[lo], f.menu[hi]) for f, (lo, hi) in pairs}

    def _bound(self, work: Work, box: Box, span: Span) -> Any:
        if self._joiner.fronts:
            return work.lower_front(span, self._menus)
        return work.least_time(box, span, self._menus)

    def _places(self, fields: frozenset[str]) -> tuple[int, ...]:
        return tuple(i for i, f in enumerate(self.library.fields) if f.name in fields)


def build_inner(problem: CodesignProblem, store: Store | None = None) -> TemplateInner:
    """The inner problem; ``store`` shares tables between problems.

    Raises :class:`InputError` with every fault: templates that do not fit the library, a kernel
    that no template takes, too many designs, units that differ, energies that are needed and not
    given.
    """
    store = Store() if store is None else store
    kernels = _kernels(problem.scenarios)
    energy = _needs_energy(problem)
    faults = [*_unit_faults(kernels.values(), energy), *_token_faults(problem)]
    works: dict[str, Work] = {}
    for name, kernel in kernels.items():
        try:
            works[name] = _work(kernel, problem, store, energy)
        except InputError as error:
            faults += [d for d in error.diagnostics if d not in faults]
    if faults:
        raise InputError(faults)
    return TemplateInner(problem, works, store)


def _kernels(scenarios: Sequence[ScenarioSpec]) -> dict[str, Kernel]:
    """The kernels by name. A name means one kernel in all scenarios."""
    found: dict[str, Kernel] = {}
    faults: list[Diagnostic] = []
    for scenario in scenarios:
        names = [k.name for k, _ in scenario.works]
        for name in sorted({n for n in names if names.count(n) > 1}):
            faults.append(Diagnostic(f'scenario {scenario.name} has kernel "{name}" twice'))
        for kernel, _ in scenario.works:
            if found.setdefault(kernel.name, kernel) != kernel:
                told = (
                    f'kernel "{kernel.name}" of scenario {scenario.name} is another one elsewhere'
                )
                faults.append(Diagnostic(told, None, "give it another name"))
    if faults:
        raise InputError(faults)
    return found


def _work(kernel: Kernel, problem: CodesignProblem, store: Store, energy: bool) -> Work:
    made = [store.table(t, kernel, problem, energy) for t in kernel.templates]
    refused = tuple(m for m in made if isinstance(m, str))
    tables = tuple(m for m in made if not isinstance(m, str))
    if not any(t.count for t in tables):
        named = ", ".join(t.name for t in kernel.templates)
        told = f"no template takes kernel {kernel.name}: {named or 'none is given'}"
        shapes = [inlined(t.formulation.template) for t in tables]
        empty = [why_empty(shape, kernel.extents) for shape in shapes]
        raise InputError([Diagnostic(told, None, "; ".join([*refused, *empty]) or None)])
    return _sliced(kernel.name, tables, refused, problem.library)


def _needs_energy(problem: CodesignProblem) -> bool:
    limits = any(s.limits.power is not None for s in problem.scenarios)
    return problem.objective == "energy-delay" or limits


def _unit_faults(kernels: Any, energy: bool) -> list[Diagnostic]:
    templates = {t.name: t for k in kernels for t in k.templates if t.cost is not None}
    units = {t.cost.unit for t in templates.values() if t.cost is not None}
    faults = []
    if len(units) > 1:
        told = f"the templates' costs have different units: {', '.join(sorted(units))}"
        faults.append(Diagnostic(told, None, "write them all in one unit"))
    if not energy:
        return faults
    without = [n for n, t in templates.items() if t.cost is not None and t.cost.energy is None]
    for name in sorted(without):
        told = f"{name} has no energy, which the objective or a power limit needs"
        faults.append(Diagnostic(told, templates[name].span, "write energy joules = … in its cost"))
    own = {t.cost.energy_unit for t in templates.values() if t.cost and t.cost.energy is not None}
    if len(own) > 1:
        told = f"the templates' energies have different units: {', '.join(sorted(own))}"
        faults.append(Diagnostic(told, None, "write them all in one unit"))
    return faults


def _token_faults(problem: CodesignProblem) -> list[Diagnostic]:
    return [
        Diagnostic(f"scenario {s.name} has a token rate and no number of tokens")
        for s in problem.scenarios
        if s.limits.rate is not None and not s.tokens
    ]


def _sliced(
    name: str, tables: tuple[Table, ...], refused: tuple[str, ...], library: Library
) -> Work:
    return Work(name, tables, refused, tuple(slices_of(t, library) for t in tables))


def _cut(work: Work, chosen: Sequence[Chosen], library: Library) -> Work:
    """``work`` with the designs of ``chosen`` alone."""
    tables = []
    for table in work.tables:
        name = table.formulation.template.name
        designs = {tuple(c.assignment.items()): c.assignment for c in chosen if c.template == name}
        if designs:
            tables.append(table.of_designs(list(designs.values())))
    return _sliced(work.name, tuple(tables), work.refused, library)
