"""Warps that load and use slots of a ring: the rule P <= S-2+beta, found by running."""

from itertools import product

import pytest
import replay_systems as systems

from formwright.ir.template import Template
from formwright.replay.system import explore_step, refute_step, search
from formwright.replay.system.findings import WrongResult

SECONDS = 30.0
"""More than any of these takes on a busy machine."""

COMBINATIONS = list(product((2, 3, 4), (1, 2, 3, 4), (0, 1)))


def at(extent: int, slots: int, distance: int, beta: int, warps: int = 2) -> dict[str, int]:
    return {"M": 1, "N": 1, "K": extent, "W": warps, "S": slots, "P": distance, "beta": beta}


def is_safe(slots: int, distance: int, beta: int) -> bool:
    return distance <= slots - 2 + beta


@pytest.mark.slow
def test_every_combination_is_right_as_the_rule_says() -> None:
    states = 0
    for slots, distance, beta in COMBINATIONS:
        seen = explore_step(systems.pipeline(), at(5, slots, distance, beta))
        assert seen.complete
        states += seen.states
        if is_safe(slots, distance, beta):
            assert seen.found is None
        else:
            assert seen.found is not None
            assert isinstance(seen.found.finding, WrongResult)
    assert len(COMBINATIONS) == 24
    assert states > 40_000


def test_one_warp_alone_is_never_overtaken() -> None:
    assert explore_step(systems.pipeline(), at(4, 2, 1, 0, warps=1)).found is None


def test_a_model_leads_to_the_smallest_fault() -> None:
    """S = 4, P = 3, beta = 0 has no deadlock and is wrong, with five tiles or more."""
    model = {**at(9, 4, 3, 0, warps=7), "M": 5}
    shown = refute_step(systems.pipeline(), model, SECONDS)
    assert shown is not None
    assert [shown.values[n] for n in ("S", "P", "beta", "W", "K", "M")] == [2, 1, 0, 2, 3, 1]


def test_where_requirements_keep_the_decisions_the_fault_is_theirs() -> None:
    template = systems.pipeline("deep: S >= 4\n  far: P = S - 1")
    shown = refute_step(template, at(9, 4, 3, 0, warps=7), SECONDS)
    assert shown is not None
    assert [shown.values[n] for n in ("S", "P", "beta", "W", "K")] == [4, 3, 0, 2, 5]
    assert shown.text.startswith("wrong result: 4, the coarse system computes 0")
    assert shown.interleaving is not None
    assert shown.interleaving.lanes == ("w0", "w1")
    wrong = [e for e in shown.interleaving.events if "is wrong" in e.note]
    assert len(wrong) == 1
    assert "held = 4" in wrong[0].reads
    harm = [e for e in shown.interleaving.events if "held := 4" in e.writes]
    assert [e.lane for e in harm] != [wrong[0].lane]


def test_the_smallest_fault_is_found_without_a_model() -> None:
    shown = search(systems.pipeline(), SECONDS).counterexample
    assert shown is not None
    assert [shown.values[n] for n in ("S", "P", "beta", "W", "K")] == [2, 1, 0, 2, 3]
    assert len(shown.trace) == 6 * 3 + 1


@pytest.mark.slow
def test_the_right_condition_leaves_nothing_to_find() -> None:
    right = search(systems.pipeline("safe: P <= S - 2 + beta"), 3.0)
    assert right.counterexample is None
    assert right.instances >= 4


def test_requirements_bound_the_search_and_constraints_do_not() -> None:
    def changed(text: str) -> Template:
        return systems.step("pipeline", text, scope="  agents   W >= 1\n")

    base = systems.PIPELINE.replace("{requires}", "some: P >= 1")
    constrained = base.replace("requires\n", "constraints\n  slow: P >= 5\n\nrequires\n")
    assert search(changed(constrained), SECONDS).counterexample is not None
    alone = base.replace("requires\n", "constraints\n").replace("some: P >= 1", "safe: P < 1")
    assert search(changed(alone), 1.0).counterexample is None
