"""Problems drawn at random, in which a set of walls pays only together: who finds it."""

from functools import partial
from math import comb
from typing import Any, Final

from formwright.flow.codesign_setting import Room
from formwright.walls.generated import generate
from formwright.walls.relax import outcome, run
from formwright.walls.state import Options, Variant

VARIANTS: Final[tuple[Variant, ...]] = ("paper", "coupled", "sets")


def run_generated(room: Room) -> tuple[dict[str, Any], ...]:
    """A row for each size of hidden set and seed: whether each variant ends at the best chip,
    its inner solves, and how many sets of that size there are."""
    drawn = room.study.generated
    if drawn is None:
        return ()
    rows: list[dict[str, Any]] = []
    for hidden in drawn.hidden:
        for seed in range(drawn.seeds):
            key = f"generated/{hidden}/{seed}"
            room.listener.stage(f"generated problems, {hidden} hidden", seed, drawn.seeds)
            found = room.journal.step(key, partial(_row, room, seed, drawn.walls, hidden))
            rows.append({**found, "entry": room.entry(key)})
        room.listener.done(f"{drawn.seeds} generated problems with {hidden} hidden walls")
    return tuple(rows)


def _row(room: Room, seed: int, walls: int, hidden: int) -> dict[str, Any]:
    problem = generate(seed, walls, hidden)
    search = room.study.search
    row: dict[str, Any] = {
        "seed": seed,
        "walls": walls,
        "hidden": hidden,
        "together": " ".join(sorted(problem.hidden[0])),
        "best": float(problem.best),
        "sets_of_that_size": comb(walls, hidden),
    }
    for variant in VARIANTS:
        options = Options(variant, search.look_ahead, search.rounds, problem.budget)
        state = run(problem.inner, options, problem.start)
        ended = outcome(problem.inner, options, state)
        assert ended.objective is not None
        row[f"{variant}_objective"] = float(ended.objective)
        row[f"{variant}_found"] = ended.objective == problem.best
        row[f"{variant}_solves"] = ended.solves
    return row
