"""Small parameters: which are tried, in which order, and that every condition holds."""

from fractions import Fraction
from itertools import islice
from time import thread_time

import replay_systems as systems

from formwright.ir.template import Template
from formwright.replay.system import refute_step
from formwright.replay.system.domain import boxes, domain, drawn, smaller

NONE: frozenset[str] = frozenset()

SCOPE = """  given    Tk >= 3, share >= 0
  where    Tk <= 64
  chip     area > 0, byte_area >= 0, port_area >= 0, entry_area >= 1/2
  where    16384*chip.byte_area + chip.port_area*Tk + chip.entry_area <= chip.area
"""


def until(seconds: float = 20.0) -> float:
    return thread_time() + seconds


def tiled() -> Template:
    """A handshake that depends on K/Tk only, with a chip in its scope."""
    text = systems.HANDSHAKE.replace("{ready}", "full").replace("{room}", "and not full")
    head, coarse, rest = text.partition("coarse:")
    body = (coarse + rest).replace("in K", "in ceil(K/Tk)").replace("= K", "= ceil(K/Tk)")
    body = body.replace("K + 1", "ceil(K/Tk) + 1")
    return systems.step("tiled", head + body, SCOPE)


def test_what_the_systems_use_varies_and_the_rest_fits() -> None:
    around = domain(tiled())
    assert around.used == ("Tk", "K")
    first = list(islice(boxes(around, {}, NONE, until()), 8))
    assert first[0]["Tk"] == 3
    assert first[0]["K"] == 3
    assert [v["K"] for v in first if v["Tk"] == 3][:3] == [3, 6, 1]
    assert all(around.admits(v) for v in first)
    assert all(v["share"] == 0 and v["M"] == 1 for v in first)


def test_a_hint_stays_where_it_is_fixed_and_where_nothing_depends_on_it() -> None:
    around = domain(tiled())
    hint = {"Tk": 7, "share": 5, "chip.area": Fraction(3, 2), "chip.byte_area": 0}
    near = next(boxes(around, hint, frozenset({"Tk"}), until()))
    assert (near["Tk"], near["K"], near["share"]) == (7, 7, 5)
    assert near["chip.area"] == Fraction(3, 2)
    assert around.admits(near)


def test_draws_are_the_same_in_every_run() -> None:
    around = domain(systems.pipeline("safe: P <= S - 2 + beta"))
    several = [list(islice(drawn(around, {}, until()), 20)) for _ in range(2)]
    assert several[0] == several[1]
    assert all(around.admits(v) for v in several[0])
    assert len({tuple(v.values()) for v in several[0]}) > 10


def test_smaller_keeps_the_conditions() -> None:
    around = domain(systems.pipeline("safe: P <= S - 2 + beta"))
    values = {"M": 1, "N": 1, "K": 3, "W": 2, "S": 3, "P": 2, "beta": 1}
    less = list(smaller(around, values))
    assert {**values, "K": 2} in less
    assert {**values, "P": 1} in less
    assert {**values, "S": 2} not in less
    assert {**values, "beta": 0} not in less


def test_conditions_that_nothing_meets_refute_nothing() -> None:
    template = systems.pipeline("never: P < 0")
    assert refute_step(template, {"K": 3, "W": 2, "S": 2, "P": 2, "beta": 0}, 0.5) is None


def test_a_model_may_be_partial_and_have_fractions() -> None:
    shown = refute_step(systems.pipeline(), {"S": Fraction(3), "beta": Fraction(0), "odd": 1})
    assert shown is not None
    assert shown.text.startswith("wrong result")
