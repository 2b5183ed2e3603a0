"""What all steps of a study share, and what is refused before its work begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from formwright import __version__
from formwright.base.diagnostics import Diagnostic, InputError, fail
from formwright.base.digest import digest
from formwright.chip.library import Library, Point
from formwright.flow.codesign_results import Values
from formwright.flow.executor import Executor
from formwright.flow.jobs import Prove
from formwright.flow.journal import Journal
from formwright.flow.listener import Listener
from formwright.flow.steps import Steps
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.simulate.evaluator import Evaluator
from formwright.simulate.named import EVALUATORS
from formwright.walls.areas import Areas
from formwright.walls.core import Answer, Inner
from formwright.walls.counting import Shared
from formwright.walls.finite import FiniteInner
from formwright.walls.inner import Store, build_inner
from formwright.walls.recalibrate import Recalibration
from formwright.walls.study import RELAXATIONS, Method, Study


@dataclass(slots=True)
class Room:
    """One study at work: the inner problem, its answer at the reference, answers that were given.

    ``shared``: answers that all methods share, each with the seconds that it took first.
    ``repairs``: those of the model so far, as data; ``inner`` is the repaired one.
    """

    study: Study
    inner: Inner
    evaluator: Evaluator | None
    reference: Answer
    journal: Journal
    listener: Listener
    out: Path
    executor: Executor
    shared: Shared = field(default_factory=Shared)
    repairs: Sequence[Mapping[str, Any]] = ()
    recalibration: Recalibration | None = None

    @property
    def steps(self) -> Steps:
        """Steps of the journal that the executor performs."""
        return Steps(self.journal, self.out, self.executor, self.listener)

    @property
    def validated(self) -> Method | None:
        """The relaxation whose purchases are held against the evaluator: the strongest one."""
        named = [m for m in RELAXATIONS if m in self.study.search.methods]
        return named[-1] if named else None

    def entry(self, key: str) -> int:
        """The number of the journal entry of the step ``key``, which is done."""
        number = self.journal.number(key)
        assert number is not None, key
        return number


def identify(journal: Journal, study: Study, out: Path) -> None:
    """A journal goes on only for the study, the library and the templates that it began with.

    Raises:
        InputError: ``out`` belongs to another study or version.
    """
    now = {
        "version": __version__,
        "library": digest(study.library),
        "templates": {n: digest(inlined(t)) for n, t in study.templates.items()},
        "study": digest(study),
    }
    if journal.entries and journal.known("study") is None:
        raise fail(f"{out} holds another run", hint="give this study its own folder with --out")
    then = journal.step("study", lambda: now)
    if not isinstance(then, dict):
        then = {}
    changed = sorted(k for k in now if then.get(k) != now[k])
    if changed:
        what = next(k for k in ("version", "library", "templates", "study") if k in changed)
        raise fail(
            f"{out} holds a study with another {what}",
            hint="give this study its own folder with --out",
        )


def prove_templates(steps: Steps, study: Study) -> dict[str, str]:
    """Verdicts by template. One that is refuted is refused; one that is not proved is said to
    be modelled only: it may state costs, but nobody has shown that its programs are right.

    Raises:
        InputError: a template has a counterexample.
    """
    verdicts: dict[str, str] = {}
    faults: list[Diagnostic] = []
    programs = {n: t for n, t in study.templates.items() if not t.formulation}
    if programs:
        steps.listener.stage(f"proving {', '.join(programs)}")
    steps.all({f"prove/{name}": Prove(template) for name, template in programs.items()})
    for name, template in study.templates.items():
        found = steps.journal.step(f"prove/{name}", lambda t=template: _modelled(t))  # type: ignore[misc]
        verdicts[name] = found["verdict"]
        steps.listener.done(f"{name}: {found['verdict']}")
        if found["verdict"] == "refuted":
            told = f"template {name} is refuted: {', '.join(found['open'])}"
            faults.append(Diagnostic(told, template.span, f"see formwright prove {name}"))
    if faults:
        raise InputError(faults)
    return verdicts


def _modelled(template: Template) -> dict[str, Any]:
    return {"verdict": "modelled", "open": [], "why": template.formulation}


def open_inner(study: Study, store: Store | None = None) -> Inner:
    """``store``: tables of designs that another problem of the same kernels has made.

    Raises:
        InputError: listed programs of which none fits the reference chip.
    """
    if not study.programs:
        return build_inner(study.problem(None), store)
    joined: Literal["worst", "weighted"] = "worst" if study.objective == "worst" else "weighted"
    plain_costs = FiniteInner(study.library, study.programs, joined).solve(study.reference)
    if plain_costs.objective is None:
        raise fail(f"the reference chip has no program: {plain_costs.reason}")
    times = {s.name: s.time for s in plain_costs.scenarios}
    programs = tuple(replace(p, reference=times[p.name]) for p in study.programs)
    return FiniteInner(study.library, programs, joined)


def open_evaluator(study: Study) -> Evaluator | None:
    if study.evaluator is None:
        return None
    return EVALUATORS[study.evaluator.name].make(study.evaluator.noise)


def refuse_hopeless(study: Study, inner: Inner) -> Answer:
    """The answer at the reference, once every scenario is known to have a program somewhere.

    Raises:
        InputError: a scenario that no program satisfies on any chip of the library, none within
            a budget, or none on the reference chip.
    """
    if inner.lower(study.library.whole) == float("inf"):
        free = inner.solve(study.reference, frozenset(inner.walls))
        why = f": on the reference with every wall removed, {free.reason}" if free.reason else ""
        raise fail(
            f"no chip of the library can run this study{why}",
            hint="widen the menus, ease the limits, or add a template",
        )
    faults: list[Diagnostic] = []
    areas = Areas(study.library)
    for budget in study.budgets:
        box = areas.cut(study.library.whole, budget)
        if box is None or inner.lower(box) == float("inf"):
            under = "of the library" if budget is None else f"within {float(budget):g} mm2"
            top = inner.solve(tuple(high for _, high in box)) if box is not None else None
            why = top.reason if top is not None and top.objective is None else "all are too large"
            faults.append(
                Diagnostic(
                    f"no chip {under} has a program for every scenario: {why}",
                    hint="raise the budget, widen the menus, or add a template",
                )
            )
    reference = inner.solve(study.reference)
    if reference.objective is None:
        faults.append(
            Diagnostic(
                f"the reference chip has no program: {reference.reason}",
                hint="choose another reference, or another start",
            )
        )
    if faults:
        raise InputError(faults)
    return reference


def shown(library: Library, point: Point) -> Values:
    """The fields in base units."""
    return {name: plain(Fraction(v)) for name, v in library.shown(point).items()}


def plain(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
