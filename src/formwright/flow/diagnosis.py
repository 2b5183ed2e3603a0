"""Why the present best is not better: the causes of a shortfall, the largest first.

Pure: a :class:`Case` in, diagnoses out. A loss counts where it is beyond the noise of the
measurements; nothing is said where nothing is. What each kind rests on is in ``docs/diagnosis.md``.
"""

from collections.abc import Mapping
from typing import Final

from formwright.flow.diagnosis_costs import Shares, shares_of
from formwright.flow.diagnosis_data import Case, Diagnosis, Figure, Solved, Tried, measured
from formwright.flow.diagnosis_model import MODEL, Model, missing_wall, model_of, prediction
from formwright.ir.template import Template

LEAST_LOSS: Final = 0.02
"""Of the present time: smaller losses are not worth a step of the loop."""
ROOF: Final = 0.8
"""A roof bounds a design that spends this share of its time there (docs/roofline.md)."""

LEAD: Final = 0.05
"""Of the time: what leads by less is as good as level with the next."""

_LOWER: Final = {"operator": "mapping", "mapping": "schedule", "schedule": "architecture"}


def diagnose(case: Case) -> tuple[Diagnosis, ...]:
    """Every cause with a loss beyond the noise, the largest loss first; empty if there is none.

    What is only open by the model (no better design is known) stands behind all others.
    """
    mine = case.mine
    if not mine:
        return tuple(filter(None, (_unsolved(s, None) for s in case.solved)))
    best = min(mine, key=lambda t: (t.seconds, t.entry))
    noise = max([MODEL, *((t.high - t.low) / t.seconds for t in mine)])
    chosen = _chosen(case)
    models: dict[str, Model] = {}
    found: list[Diagnosis | None] = []
    for solved in case.solved:
        model = model_of(case, solved, noise)
        if model is not None:
            models[solved.template] = model
            if solved.template in {best.template, *([chosen.template] if chosen else [])}:
                first = chosen if chosen and chosen.template == solved.template else None
                found.append(prediction(case, solved, model, first, best))
                found.append(missing_wall(solved, model, _best_of(mine, solved.template)))
        found.append(_unsolved(solved, best))
    found += [_precondition(case, name, best) for name in sorted(case.templates)]
    found.append(_representation(case, best))
    found.append(_moved(case, models, best))
    causes = sorted(filter(None, found), key=lambda d: (-d.loss, d.kind, d.template))
    if not causes:
        return tuple(filter(None, (_room(case, models, best),)))
    return tuple(causes)


def _chosen(case: Case) -> Tried | None:
    """The measured design that the model put first, over all templates."""
    answers = [s for s in case.solved if s.objective is not None]
    for solved in sorted(answers, key=lambda s: (s.objective or 0.0, s.template)):
        for tried in case.mine:
            if tried.template == solved.template and tried.assignment == solved.assignment:
                return tried
    return None


def _best_of(mine: tuple[Tried, ...], template: str) -> Tried:
    return min((t for t in mine if t.template == template), key=lambda t: (t.seconds, t.entry))


def _representation(case: Case, best: Tried) -> Diagnosis | None:
    """Something outside is faster, and the intervals do not touch."""
    faster = [o for o in case.outside if o.high < best.low]
    if not faster:
        return None
    other = min(faster, key=lambda o: (o.seconds, o.name))
    loss = 1 - other.seconds / best.seconds
    if loss <= LEAST_LOSS:
        return None
    shares = _shares(case, best)
    return Diagnosis(
        kind="representation",
        template=best.template,
        loss=loss,
        evidence="measured",
        says=(
            f"{other.name} takes {loss:.0%} less than the best of {len(case.mine)} measured"
            f" design(s), which is of {best.template}"
        ),
        repair=f"write or adapt a template{_around(shares)}",
        action="new",
        figures=(measured("the best inside", best), measured(f"outside: {other.name}", other)),
        data=_where(shares) | {"level": case.templates[best.template].fine},
    )


def _precondition(case: Case, name: str, best: Tried) -> Diagnosis | None:
    """A condition excludes designs that are safe and better by the model."""
    mine = [e for e in case.excluded if e.template == name and e.proved and e.safe < e.required]
    if not mine or name != best.template:
        return None
    most = min(mine, key=lambda e: (e.safe, e.condition))
    loss = 1 - most.safe / most.required
    if loss <= LEAST_LOSS:
        return None
    what = "what it requires" if most.condition == "requires" else most.condition
    return Diagnosis(
        kind="precondition",
        template=name,
        loss=loss,
        evidence="modelled",
        says=f"{name}: {what} excludes designs that are proved and {loss:.0%} better by the model",
        repair=f"weaken {what}: the designs that it excludes are proved",
        action="weaken",
        figures=(
            Figure("best cost under it", most.required, "seconds", "modelled", most.entry),
            Figure("best safe cost without", most.safe, "seconds", "modelled", most.entry),
        ),
        data={"condition": most.condition, "assignment": dict(most.assignment)},
    )


def _unsolved(solved: Solved, best: Tried | None) -> Diagnosis | None:
    """The solver stopped before the optimum of the model: what its bound leaves open.

    Of a template without any design measured, the bound is held against the best time.
    """
    if solved.status in ("optimal", "infeasible"):
        return None
    at = solved.objective
    if at is None and best is not None:
        at = best.seconds
    gap = None if at is None or solved.bound is None else max(0.0, 1 - solved.bound / at)
    if gap is not None and gap <= LEAST_LOSS:
        return None
    figures = [
        Figure(name, value, "seconds", "modelled", solved.entry)
        for name, value in (("incumbent", solved.objective), ("bound", solved.bound))
        if value is not None
    ]
    open_by = "by an unknown part" if gap is None else f"by up to {gap:.0%}"
    return Diagnosis(
        kind="optimisation",
        template=solved.template,
        loss=1.0 if gap is None else gap,
        evidence="modelled",
        says=f"the solver stopped above the optimum of {solved.template}, {open_by}",
        repair="solve for longer, shorten the menus, or declare a structure that splits the search",
        action="solve",
        figures=tuple(figures),
        data={"status": solved.status},
    )


def _moved(case: Case, models: dict[str, Model], best: Tried) -> Diagnosis | None:
    """The best design of now is faster than that of before, and something else holds it up."""
    earlier = _earlier(case)
    old = min(earlier, key=lambda t: (t.seconds, t.entry), default=None)
    if old is None or best.high >= old.low or not (_holds(models, old) and _holds(models, best)):
        return None
    was, now = _shares(case, old), _shares(case, best)
    if was is None or now is None or not _differs(case, was, old, now, best):
        return None
    share = now.resources.get(now.resource, 0.0)
    same = was.resource == now.resource
    lower = _LOWER.get(case.templates[best.template].fine, "schedule")
    return Diagnosis(
        kind="bottleneck moved",
        template=best.template,
        loss=now.coefficients.get(now.coefficient, share) if same else share,
        evidence="modelled",
        says=(
            f"the bottleneck moved from {_named(was)} to {_named(now)}"
            f" as the time fell to {best.seconds / old.seconds:.0%}"
        ),
        repair=f"ask for a template one level lower ({lower}){_around(now)}",
        action="lower",
        figures=(
            measured("the best of before", old),
            measured("the best of now", best),
            Figure(f"share of {was.resource} before", was.resources[was.resource], "of the time",
                   "modelled", old.entry),
            Figure(f"share of {now.resource} now", share, "of the time", "modelled", best.entry),
        ),
        data=_where(now) | {"level": lower, "was": was.resource},
    )  # fmt: skip


def _earlier(case: Case) -> tuple[Tried, ...]:
    if case.before is not None:
        return tuple(t for t in case.tried[: case.before] if t.workload == case.workload)
    last = case.mine[-1].entry
    return tuple(t for t in case.mine if t.entry != last)


def _holds(models: dict[str, Model], tried: Tried) -> bool:
    """Whether the refitted model has the time of this design, so that its shares may be read."""
    model = models.get(tried.template)
    if model is None:
        return False
    ratio = model.explained[f"{tried.entry} {tuple(sorted(tried.assignment.items()))}"]
    return 1 / (1 + model.noise) <= ratio / tried.seconds <= 1 + model.noise


def _differs(case: Case, was: Shares, old: Tried, now: Shares, best: Tried) -> bool:
    """Another resource; or another coefficient, where both templates have both of them."""
    if _passed(was.resources, now.resources, was.resource, now.resource):
        return True
    both = _coefficients(case.templates[old.template]) & _coefficients(
        case.templates[best.template]
    )
    return {was.coefficient, now.coefficient} <= both and _passed(
        was.coefficients, now.coefficients, was.coefficient, now.coefficient
    )


def _passed(was: Mapping[str, float], now: Mapping[str, float], first: str, second: str) -> bool:
    """Whether ``first`` led clearly before and ``second`` leads clearly now."""
    return (
        was.get(first, 0.0) - was.get(second, 0.0) > LEAD
        and now.get(second, 0.0) - now.get(first, 0.0) > LEAD
    )


def _coefficients(template: Template) -> set[str]:
    return set() if template.cost is None else {c.name for c in template.cost.coefficients}


def _room(case: Case, models: dict[str, Model], best: Tried) -> Diagnosis | None:
    """Nothing better is known, and no roof of the chip explains the time either."""
    if not best.roofs:
        return None
    near = max(best.roofs, key=lambda n: (best.roofs[n], n))
    share = best.roofs[near]
    if share >= ROOF:
        return None
    shares = _shares(case, best) if _holds(models, best) else None
    return Diagnosis(
        kind="representation",
        template=best.template,
        loss=1 - share,
        evidence="modelled",
        says=(
            f"no better design is known; the nearest roof is {near}, at {share:.0%}:"
            " whether a template can come closer is open"
        ),
        repair=f"write or adapt a template{_around(shares)}",
        action="new",
        figures=(
            measured("the best inside", best),
            Figure(f"share at the roof {near}", share, "of the time", "modelled", best.entry),
        ),
        data=_where(shares) | {"level": case.templates[best.template].fine, "roof": near},
    )


def _shares(case: Case, tried: Tried) -> Shares | None:
    weights = case.coefficients.get(tried.template, {})
    template = case.templates[tried.template]
    return shares_of(template, tried.parameters, tried.assignment, weights)


def _named(shares: Shares) -> str:
    return f"{shares.resource} ({shares.coefficient})" if shares.coefficient else shares.resource


def _around(shares: Shares | None) -> str:
    if shares is None or not shares.resource:
        return ""
    told = f" around {shares.resource}, which has {shares.resources[shares.resource]:.0%}"
    if not shares.coefficient:
        return f"{told} of the time"
    return (
        f"{told} of the time ({shares.coefficient}: {shares.coefficients[shares.coefficient]:.0%})"
    )


def _where(shares: Shares | None) -> dict[str, object]:
    """Where the time goes, for whoever is asked for the next template."""
    if shares is None:
        return {"resource": "", "resources": {}, "coefficients": {}}
    return {
        "resource": shares.resource,
        "resources": dict(shares.resources),
        "coefficients": dict(shares.coefficients),
    }
