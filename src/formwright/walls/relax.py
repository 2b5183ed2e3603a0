"""Wall relaxation: Algorithm 1 of the paper (section 3.2) and what is built past it.

One call of :func:`step` is one pricing round: price, buy, validate, reclaim. Between rounds a run
is a :class:`~formwright.walls.state.State`, plain data, so that a caller can keep it and go on
from it at any time with the same end. See docs/walls.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from formwright.base.diagnostics import fail
from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.core import Inner
from formwright.walls.counting import Counted
from formwright.walls.exchange import exchange
from formwright.walls.moves import Ground, Move, height, pick
from formwright.walls.outcome import Outcome, Reached
from formwright.walls.pricing import price, text
from formwright.walls.reclaim import reclaim, settle, trim
from formwright.walls.records import designs_of, given_back, purchase, software_of
from formwright.walls.state import Options, Spent, State, Visited
from formwright.walls.verdict import Agrees, Judge, Repaired, Unexplained, Visit
from formwright.walls.widen import widen

NAMES: Mapping[str, str] = {
    "paper": "wall relaxation",
    "coupled": "coupled wall relaxation",
    "sets": "wall relaxation with sets",
}


@dataclass(frozen=True, slots=True)
class Stepped:
    """``inner`` is another one than was given where the model was repaired."""

    state: State
    inner: Inner


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a round found to buy, if anything, and the round's record so far."""

    move: Move | None
    stopped: str
    record: dict[str, Any]
    certificate: dict[str, Any] | None = None


def begin(inner: Inner, options: Options, start: Point) -> State:
    """The start, solved. ``InputError`` where it is over the ceiling or breaks a rule."""
    ground = Ground(inner.library, options.budget)
    if not ground.within(start):
        over, limit = float(ground.area(start)), float(options.budget or 0)
        raise fail(
            f"the start has {over:.6g} mm2, over the ceiling of {limit:.6g} mm2",
            hint="start from a smaller chip, or raise the ceiling",
        )
    if not ground.lawful(start):
        raise fail(
            f"the start breaks {', '.join(inner.library.broken(start))}",
            hint="start from a chip that keeps the rules of its library",
        )
    counted = _counted(inner)
    ask = Asked(counted)
    answer = ask.solve(start)
    spent = _spent(counted)
    first = Visited(start, answer.objective, ground.area(start), spent, 0)
    return State(
        start,
        answer.objective,
        0,
        0,
        "",
        tuple(ask.queries),
        spent,
        Spent(),
        (first,),
        software=software_of(answer),
    )


def step(inner: Inner, options: Options, state: State, judge: Judge | None = None) -> Stepped:
    """One round from ``state``. ``judge`` holds a purchase against the evaluator, before it is
    accepted; without it purchases are predicted only."""
    if state.done:
        return Stepped(state, inner)
    if state.round >= options.rounds:
        return Stepped(replace(state, done="the rounds are spent"), inner)
    ask = Asked(_resumed(inner, state), state.queries)
    ask.imply(state.point, ask.counted.inner.keep(state.point, designs_of(state)))
    ground = Ground(inner.library, options.budget)
    offer = _offered(ask, ground, options, state.point)
    state = replace(state, round=state.round + 1)
    if offer.move is None:
        return Stepped(_ended(ask, ground, options, state, offer), inner)
    here = Visit(state.point, ask.solve(state.point))
    there = Visit(offer.move.point, ask.solve(offer.move.point))
    verdict = None if judge is None else judge(here, there)
    if isinstance(verdict, Repaired):
        return _repaired(ground, state, ask, offer, verdict)
    return Stepped(_bought(ask, ground, options, state, offer, here, verdict), inner)


def run(inner: Inner, options: Options, start: Point, judge: Judge | None = None) -> State:
    """All rounds at once."""
    stepped = Stepped(begin(inner, options, start), inner)
    while not stepped.state.done:
        stepped = step(stepped.inner, options, stepped.state, judge)
    return stepped.state


def outcome(inner: Inner, options: Options, state: State) -> Outcome:
    """What the run ended in, in the form of all methods.

    The trajectory is that of the last model: objectives under another are not comparable.
    """
    best = min(
        (v for v in state.visited if v.model == state.model and v.objective is not None),
        key=lambda v: (height(v.objective), v.area),
        default=None,
    )
    total = state.earlier + state.spent
    reached: list[Reached] = []
    for each in state.visited:
        if each.model != state.model or each.objective is None:
            continue
        if not reached or each.objective < reached[-1].objective:
            paid = each.spent
            reached.append(
                Reached(
                    paid.solves,
                    paid.evaluations,
                    paid.seconds,
                    each.point,
                    each.objective,
                    each.area,
                )
            )
    return Outcome(
        NAMES[options.variant],
        None if best is None else best.point,
        None if best is None else inner.solve(best.point),
        None if best is None else best.area,
        None if best is None else best.objective,
        total.solves,
        total.evaluations,
        total.relaxations,
        total.seconds,
        tuple(reached),
        note=state.done,
    )


def front(state: State) -> tuple[Visited, ...]:
    """The visited chips of the last model that no other beats in both area and objective."""
    kept: list[Visited] = []
    visited = [v for v in state.visited if v.model == state.model and v.objective is not None]
    for each in sorted(visited, key=lambda v: (v.area, height(v.objective))):
        if not kept or height(each.objective) < height(kept[-1].objective):
            kept.append(each)
    return tuple(kept)


def _offered(ask: Asked, ground: Ground, options: Options, here: Point) -> _Offer:
    """Steps 2 and 3."""
    if options.variant != "sets":
        priced = price(
            ask,
            ground,
            here,
            look_ahead=options.look_ahead,
            coupled=options.variant == "coupled",
        )
        move = pick(priced.moves, options.near)
        return _Offer(move, _stopped(ask, here, priced.dear), priced.record)
    fields = len(ask.capacities) + len(ask.others)
    widened = widen(
        ask,
        ground,
        here,
        look_ahead=options.look_ahead,
        effort=options.effort,
        patience=max(4, fields),
        near=options.near,
        reach=options.reach,
        throughput=options.prices_throughput,
    )
    record = {**widened.record, "together": widened.together}
    stopped = _stopped(ask, here, widened.dear)
    certificate = {"sets": widened.record["sets"]}
    if widened.best is not None or not options.exchange or ask.solve(here).objective is None:
        return _Offer(widened.best, stopped, record, certificate)
    patience = options.patience or 16 * fields
    exchanged = exchange(ask, ground, here, effort=patience, throughput=options.prices_throughput)
    certificate["exchange"] = {**exchanged.record, "closed": exchanged.closed}
    record["exchange"] = exchanged.record
    return _Offer(exchanged.best, stopped, record, certificate)


def _stopped(ask: Asked, here: Point, dear: int) -> str:
    """Why the run ends where nothing is bought; ``dear`` moves were over the ceiling.

    ``here`` was asked for before.
    """
    if ask.solve(here).objective is None:
        return "no program was found for the start or for a step from it"
    return "the ceiling is reached" if dear else "no purchase helps"


def _bought(
    ask: Asked,
    ground: Ground,
    options: Options,
    state: State,
    offer: _Offer,
    here: Visit,
    verdict: Agrees | Unexplained | None,
) -> State:
    """Steps 5 and 6."""
    move = offer.move
    assert move is not None
    if options.variant == "sets":
        point, given = trim(ask, ground, move.point)
    else:
        point, given = reclaim(ask, move.point)
    answer = ask.solve(point)
    spent = _spent(ask.counted)
    bought = purchase(
        ask.library,
        move,
        here,
        Visit(point, answer),
        given,
        verdict,
        area_before=ground.area(here.point),
        area=ground.area(point),
        together=offer.record.get("together"),
    )
    total = state.earlier + spent
    bought = {"round": state.round, "model": state.model, **bought, "solves": total.solves}
    visit = Visited(point, answer.objective, ground.area(point), state.earlier + spent, state.model)
    return replace(
        state,
        point=point,
        objective=answer.objective,
        software=software_of(answer),
        queries=tuple(ask.queries),
        spent=spent,
        visited=(*state.visited, visit),
        rounds=(*state.rounds, {"round": state.round, **offer.record, "bought": bought}),
        purchases=(*state.purchases, bought),
    )


def _repaired(
    ground: Ground, state: State, ask: Asked, offer: _Offer, verdict: Repaired
) -> Stepped:
    """Nothing is bought: the incumbent is solved anew and every price is void."""
    earlier = state.earlier + _spent(ask.counted)
    counted = _counted(verdict.inner)
    fresh = Asked(counted)
    answer = fresh.solve(state.point)
    objective = answer.objective
    spent, model = _spent(counted), state.model + 1
    visit = Visited(state.point, objective, ground.area(state.point), earlier + spent, model)
    record = {"round": state.round, **offer.record, "bought": None, "repair": dict(verdict.data)}
    new = replace(
        state,
        objective=objective,
        software=software_of(answer),
        model=model,
        queries=tuple(fresh.queries),
        spent=spent,
        earlier=earlier,
        visited=(*state.visited, visit),
        rounds=(*state.rounds, record),
        repairs=(*state.repairs, dict(verdict.data)),
    )
    return Stepped(new, verdict.inner)


def _ended(ask: Asked, ground: Ground, options: Options, state: State, offer: _Offer) -> State:
    """Nothing helps. What stands idle is given back; a chip past the ceiling is looked at."""
    point, visited, record = state.point, state.visited, dict(offer.record)
    certificate = offer.certificate
    if options.variant == "sets" and state.objective is not None:
        point, given = settle(ask, ground, point, 8 * (len(ask.capacities) + len(ask.others)))
        record["reclaimed"] = given_back(ask.library, given)
        names = frozenset(ask.library.fields[i].name for i in ask.capacities)
        without = ask.solve(point, names).objective
        certificate = {**(certificate or {}), "all_removed": text(without)}
        if given:
            spent = state.earlier + _spent(ask.counted)
            objective = ask.solve(point).objective
            visited = (
                *visited,
                Visited(point, objective, ground.area(point), spent, state.model),
            )
    return replace(
        state,
        point=point,
        objective=ask.solve(point).objective,
        software=software_of(ask.solve(point)),
        done=offer.stopped,
        queries=tuple(ask.queries),
        spent=_spent(ask.counted),
        visited=visited,
        rounds=(*state.rounds, {"round": state.round, **record, "bought": None}),
        certificate=certificate,
    )


def _counted(inner: Inner) -> Counted:
    """A count of its own over what ``inner`` shares with other methods."""
    if isinstance(inner, Counted):
        return Counted(inner.inner, inner.shared)
    return Counted(inner)


def _resumed(inner: Inner, state: State) -> Counted:
    """The count as ``state`` has it. So a round counts the same whatever the process did before."""
    counted, paid = _counted(inner), state.spent
    asked = [(q.point, q.removed) for q in state.queries]
    counted.restore(asked, paid.evaluations, paid.relaxations, paid.seconds)
    return counted


def _spent(counted: Counted) -> Spent:
    return Spent(counted.solves, counted.evaluations, counted.relaxations, counted.seconds)
