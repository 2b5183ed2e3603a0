"""A workload of a run as a :class:`Case`, read from the run's setting and journal.

Read are the entries ``solve/WORKLOAD/…``, ``measure/WORKLOAD/…`` and ``confirm/WORKLOAD``, in
their order. Nothing is measured or solved here.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import median
from typing import Any

from formwright.base.digest import digest
from formwright.contract.problem import Workload
from formwright.flow.diagnosis_data import Case, Excluded, Outside, Solved, Tried
from formwright.flow.job_solving import design_key
from formwright.flow.setting import Setting, fractions_from_text
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.qualify.qualification import OURS
from formwright.roofline import Roofs, UnboundedError, intensity_of, point_of, roofs_of
from formwright.roofline.point import SLOW, Intensity


def read_case(
    setting: Setting,
    workload: Workload,
    *,
    outside: Iterable[Outside] = (),
    excluded: Iterable[Excluded] = (),
    since: int | None = None,
) -> Case:
    """``since``: number of the journal entry that began the present generation.

    Baselines of a confirmation stand among ``outside`` by themselves; figures of a population
    are the caller's to add, those that hold on this chip and machine.
    """
    entries = setting.journal.entries
    templates = {n: p.template for n, p in setting.templates.items()}
    tried = [(number, t) for number, t in _tried(setting, entries, templates)]
    before = None if since is None else sum(number < since for number, _ in tried)
    return Case(
        workload=workload.name,
        templates=templates,
        coefficients=setting.coefficients,
        tried=tuple(t for _, t in tried),
        solved=tuple(_solved(entries, workload.name, templates)),
        outside=(*_baselines(entries, workload.name), *outside),
        excluded=tuple(excluded),
        before=before,
    )


def _tried(
    setting: Setting, entries: Sequence[Mapping[str, Any]], templates: Mapping[str, Template]
) -> Iterable[tuple[int, Tried]]:
    """Measured designs in the order of their entries; the first measurement of each counts, made
    to stand beside those of earlier rounds by the designs that its round timed again."""
    workloads = {w.name: w for w in setting.problem.workloads}
    digests = {n: digest(inlined(t)) for n, t in templates.items()}
    solved: dict[tuple[str, str], Mapping[str, Any]] = {}
    seen: dict[str, dict[str, float]] = {}
    roofs = roofs_of({**setting.chip, "chip.cores": setting.threads}, setting.threads)
    for entry in entries:
        kind, name = _parts(entry["key"])
        if name not in workloads:
            continue
        if kind == "solve":
            for design in entry["data"]["designs"]:
                if design["template"] in digests:
                    key = design_key(digests[design["template"]], design["assignment"])
                    solved[name, key] = design
        elif kind == "measure":
            programs = {k: p for k, p in entry["data"]["programs"].items() if "failure" not in p}
            mine = seen.setdefault(name, {})
            drift = _drift(mine, programs)
            for key in sorted(programs.keys() - mine.keys()):
                design_of = solved.get((name, key))
                if design_of is None:
                    continue
                template = templates[design_of["template"]]
                seconds = {
                    n: drift * float(programs[key]["seconds"][n]) for n in ("median", "low", "high")
                }
                mine[key] = seconds["median"]
                parameters = setting.parameters(template, workloads[name])
                one = _one(entry["key"], name, template, design_of, parameters, seconds, roofs)
                yield entry["number"], one


def _drift(seen: Mapping[str, float], programs: Mapping[str, Any]) -> float:
    """By what a round's times are multiplied to stand beside those of before: the median over the
    designs that it timed again."""
    again = [
        seen[key] / float(timed["seconds"]["median"])
        for key, timed in programs.items()
        if key in seen
    ]
    return median(again) if again else 1.0


def _parts(key: str) -> tuple[str, str]:
    """The kind of an entry and the workload that it is about."""
    kind, _, rest = key.partition("/")
    return kind, rest.partition("/")[0]


def _one(
    entry: str,
    workload: str,
    template: Template,
    design: Mapping[str, Any],
    parameters: Mapping[str, Scalar],
    seconds: Mapping[str, float],
    roofs: Roofs,
) -> Tried:
    assignment = {d.name: int(design["assignment"][d.name]) for d in template.decisions}
    counters, shares = _counted(
        template,
        tuple(sorted(parameters.items())),
        tuple(sorted(assignment.items())),
        seconds["median"],
        roofs,
    )
    return Tried(
        workload=workload,
        template=str(design["template"]),
        assignment=assignment,
        parameters=parameters,
        predicted=float(design["predicted"]),
        seconds=seconds["median"],
        low=seconds["low"],
        high=seconds["high"],
        entry=entry,
        counters=counters,
        roofs=shares,
    )


def _counted(
    template: Template,
    parameters: tuple[tuple[str, Scalar], ...],
    assignment: tuple[tuple[str, int], ...],
    seconds: float,
    roofs: Roofs,
) -> tuple[dict[str, Fraction], dict[str, float]]:
    """What the text does, and the share of ``seconds`` at each roof; empty if it is unbounded."""
    try:
        intensity = _intensity(template, parameters, assignment, roofs.levels, roofs.threads)
    except UnboundedError:
        return {}, {}
    counters = {f"bytes_{u}": Fraction(intensity.bytes(u)) for u in intensity.moved}
    slow = {n: intensity.operations.get(n, 0) for n in SLOW}
    words = {"/": "divisions"}
    counters |= {words.get(n, n): Fraction(count) for n, count in slow.items() if count}
    counters["operations"] = Fraction(intensity.flops)
    point = point_of(template.name, intensity, roofs, seconds)
    shares = {u.level: u.share for u in point.uses if u.share is not None}
    if point.peak_share is not None:
        shares["arithmetic"] = point.peak_share
    return counters, shares


@lru_cache(maxsize=512)
def _intensity(
    template: Template,
    parameters: tuple[tuple[str, Scalar], ...],
    assignment: tuple[tuple[str, int], ...],
    levels: tuple[Any, ...],
    threads: int,
) -> Intensity:
    """Kept between the diagnoses of a run: a program text is counted once for a design."""
    roofs = Roofs(levels, None, threads, ())
    return intensity_of(template, dict(parameters), dict(assignment), roofs)


def _solved(
    entries: Sequence[Mapping[str, Any]], workload: str, templates: Mapping[str, Template]
) -> Iterable[Solved]:
    """The last answer for each template."""
    last: dict[str, Solved] = {}
    for entry in entries:
        kind, name = _parts(entry["key"])
        if kind != "solve" or name != workload:
            continue
        data = entry["data"]
        for template, answer in data["solutions"].items():
            if template not in templates:
                continue
            first = next((d for d in data["designs"] if d["template"] == template), None)
            objective = answer.get("objective", None if first is None else first["predicted"])
            bound = answer.get("bound")
            last[template] = Solved(
                template=template,
                status=str(answer["status"]),
                assignment={} if first is None else dict(first["assignment"]),
                objective=None if objective is None else float(objective),
                bound=None if bound is None else float(bound),
                coefficients=fractions_from_text(answer.get("coefficients", {})),
                entry=str(entry["key"]),
            )
    return last.values()


def _baselines(entries: Sequence[Mapping[str, Any]], workload: str) -> Iterable[Outside]:
    for entry in entries:
        if entry["key"] != f"confirm/{workload}":
            continue
        for name, timed in entry["data"]["programs"].items():
            if name != OURS and "failure" not in timed:
                seconds = {n: float(timed["seconds"][n]) for n in ("median", "low", "high")}
                yield Outside(
                    name, seconds["median"], seconds["low"], seconds["high"], str(entry["key"])
                )
