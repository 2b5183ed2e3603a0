"""All conditions of a step, in the order of ``docs/refinement.md``."""

from collections.abc import Iterator, Mapping

from formwright.smt.goals import Goal, Query
from formwright.smt.step.ends import completion_goals
from formwright.smt.step.inductive import kept_goals, matching_goals, visible_goals
from formwright.smt.step.progress import progress_goals
from formwright.smt.step.ranges import range_goals
from formwright.smt.step.ranks import rank_goals, termination_goals
from formwright.smt.step.setting import Setting
from formwright.smt.step.start import initial_goals
from formwright.smt.terms import TRUE, Formula, Number


def step_goals(setting: Setting) -> Iterator[Goal]:
    """S14 to S23 but for ``vacuity``, which asks for a state and not for its absence."""
    yield from initial_goals(setting)
    yield from range_goals(setting)
    yield from matching_goals(setting)
    yield from kept_goals(setting)
    yield from visible_goals(setting)
    yield from rank_goals(setting)
    yield from progress_goals(setting)
    yield from completion_goals(setting)
    yield from termination_goals(setting)


def acting_conditions(setting: Setting) -> Iterator[tuple[str, list[Formula]]]:
    """S22: what has to hold together for states to be related, and for each action to act.

    What is related is looked at in full once; for an action, as far as it bears on its guards.
    """
    whole = setting.case().query(TRUE, everything=True)
    yield "all clauses of the relation hold together", list(whole.facts)
    for action in setting.refinement.fine.actions:
        query = setting.acting(action).case.copy().query(TRUE)
        yield f"the action {action.name} can act in a related state", list(query.facts)


def shown_state(setting: Setting, query: Query, values: Mapping[str, Number]) -> dict[str, Number]:
    """The state and the names of a solution, as a person writes them."""
    atoms, cells = setting.atoms, setting.cells
    shown = {n: v for n, v in values.items() if "@" not in n}
    shown |= {n: atoms.value(p, values) for n, p in query.given if p.symbols() <= set(values)}
    for name, value in values.items():
        read = cells.reads.get(name)
        if read is not None and frozenset(atoms.closure(read.index.symbols())) <= set(values):
            shown[f"{read.name}[{atoms.value(read.index, values)}]"] = value
        elif name.endswith("@") and name[:-1] in cells.variables:
            shown[name[:-1]] = value
    return shown
