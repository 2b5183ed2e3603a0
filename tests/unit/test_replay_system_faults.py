"""Each kind of finding, and right systems in which there is none (rules S14 to S24)."""

import replay_systems as systems

from formwright.ir.template import Template
from formwright.proof.verdict import Counterexample
from formwright.replay.system import Limits, explore_step, refute_step, search
from formwright.replay.system.findings import (
    CoarseCannot,
    EmitsDiffer,
    Endless,
    EndsApart,
    Finding,
    OutOfRange,
    Stuck,
    WrongResult,
)

SECONDS = 20.0
"""More than any of these takes on a busy machine."""


def finding(template: Template, **values: int) -> Finding | None:
    """At these parameters, the search being complete where nothing is found."""
    seen = explore_step(template, {"M": 1, "N": 1, "K": 1, **values})
    assert seen.complete
    return None if seen.found is None else seen.found.finding


def counterexample(template: Template) -> Counterexample:
    shown = search(template, SECONDS).counterexample
    assert shown is not None
    assert shown.replayed
    assert shown.interleaving is not None
    assert shown.trace[-1] == shown.interleaving.defect
    assert {e.lane for e in shown.interleaving.events} <= set(shown.interleaving.lanes)
    return shown


def test_a_handshake_needs_both_waits() -> None:
    assert [finding(systems.handshake(), K=k) for k in (1, 2, 3, 4)] == [None] * 4
    assert isinstance(finding(systems.handshake(ready="true"), K=1), WrongResult)
    shown = counterexample(systems.handshake(ready="true"))
    assert shown.values["K"] == 1
    assert len(shown.trace) == 2
    lost = counterexample(systems.handshake(room=""))
    assert lost.values["K"] == 2
    assert lost.interleaving is not None
    assert [e.lane for e in lost.interleaving.events] == ["environment", "environment", "unit"]
    assert "writes cell := 1" in lost.trace[1]


def test_what_the_world_sees_is_told_when_nothing_else_is_wrong() -> None:
    shown = finding(systems.timer(match="none"), K=2)
    assert shown == EndsApart((2,), None)
    text = systems.HANDSHAKE.replace("emits cell", "emits cell + 1")
    other = systems.step("other", text.replace("{ready}", "full").replace("{room}", "and not full"))
    assert finding(other, K=2) == EmitsDiffer((1,), (0,))


def test_a_coarse_action_that_cannot_act() -> None:
    again = finding(systems.timer(finished="false"), K=2)
    assert isinstance(again, CoarseCannot)
    assert again.call == "finish"
    assert "not done" in again.why
    text = systems.HANDSHAKE.replace("take(k): take(k)", "take(k): take(k + 1)")
    beyond = systems.step(
        "beyond", text.replace("{ready}", "full").replace("{room}", "and not full")
    )
    assert finding(beyond, K=1) == CoarseCannot("take(1)", "k = 1 is outside 0 .. 1")


def test_faults_of_the_design_come_before_mismatches() -> None:
    """Coarse and fine part at the first step; the fine system is stuck at the second."""
    text = systems.QUEUE.replace("action item when sent < K", "action item when sent > K")
    stuck = systems.step("parted", text.replace("{requires}", ""))
    assert isinstance(finding(stuck, K=2, depth=1, burst=2), Stuck)
    assert isinstance(finding(stuck, K=2, depth=1, burst=1), CoarseCannot)


def test_a_queue_must_hold_a_burst() -> None:
    for depth in (1, 2, 4):
        for burst in (1, 2, 3):
            for extent in (1, 2, 3, 5):
                shown = finding(systems.queue(), K=extent, depth=depth, burst=burst)
                if depth < min(burst, extent):
                    assert isinstance(shown, Stuck)
                else:
                    assert shown is None
    shown = counterexample(systems.queue())
    assert (shown.values["depth"], shown.values["burst"], shown.values["K"]) == (1, 2, 2)
    assert "unit waits in push for fill < 1" in shown.text
    assert search(systems.queue("requires\n  fits: burst <= depth\n"), 2.0).counterexample is None


def test_a_meeting_that_one_agent_never_comes_to() -> None:
    assert finding(systems.meeting(), W=3) is None
    shown = counterexample(systems.meeting("and w < 2"))
    assert shown.values["W"] == 3
    assert shown.interleaving is not None
    assert shown.interleaving.lanes == ("w0", "w1", "w2")
    assert "w2 waits in come_in(2)" in shown.text
    assert isinstance(finding(systems.meeting(everyone="W + 1"), W=2), Stuck)


def test_endless_internal_work() -> None:
    assert finding(systems.timer(), K=3) is None
    assert finding(systems.timer(following="t"), K=3) == Endless(1)
    back = systems.timer(more="or t = 1", following="if t < 2 then 1 - t else t")
    assert finding(back, K=1) == Endless(2)
    assert len(counterexample(back).trace) == 3


def test_indices_and_variables_stay_in_their_ranges() -> None:
    assert finding(systems.walk(), K=3) is None
    assert finding(systems.walk(place="j + 1"), K=1) == OutOfRange(
        "index 1 of x is outside 0 .. 1, in mark(0)"
    )
    assert finding(systems.walk(end="K"), K=2) == OutOfRange("p = 2 is outside 0 .. 2")
    assert finding(systems.timer(following="t + 4"), K=2) == OutOfRange("t = 4 is outside 0 .. 4")
    divided = systems.timer(more="and 2 // (1 - t) >= 0")
    assert isinstance(finding(divided, K=3), OutOfRange)


def test_any_integer_is_exact_where_a_guard_says_which() -> None:
    assert finding(systems.walk(place="0"), K=2) == WrongResult((False,), ((True,),))
    text = systems.WALK.replace("j = p and p {limit}", "j >= p and j <= p and p < K")
    text = text.replace("{end}", "K + 1").replace("{place}", "p")
    sampled = explore_step(systems.step("sampled", text), {"M": 1, "N": 1, "K": 2})
    assert sampled.found is None
    assert not sampled.complete
    assert "sample" in sampled.cut


JUNK = """
coarse:
  token i in K
  var p : 0 .. K + 1 = 0
  var y : int = 0
  action add when p < K:
    y := y + (if p = i then 1 else 0)
    p := p + 1
  final  p = K
  result y

fine:
  token i in K
  var p    : 0 .. K + 1 = 0
  var full : bool = false
  var y    : int = 0
  action fill when not full and p < K:
    full := true
  action add(junk any) when {when}:
    y := y + (if not full then junk else if p = i then 1 else 0)
    p := p + 1
    full := false
  final  p = K
  result y

relation
  same: p = coarse.p

match
  add(junk): add

rank
  if full then 0 else 1
"""


def test_a_value_that_nothing_depends_on_is_left_blank() -> None:
    right = systems.step("junk", JUNK.replace("{when}", "full"))
    assert finding(right, K=4) is None
    wrong = systems.step("junk", JUNK.replace("{when}", "p < K"))
    shown = counterexample(wrong)
    assert shown.values["K"] == 1
    assert shown.trace[0].startswith("unit: add(-1); reads p = 0")
    assert shown.text.startswith("wrong result: -1, the coarse system computes 1")


def test_values_that_were_not_tried_may_act() -> None:
    """No value of the sample passes the guard: that is no deadlock."""
    beside = systems.step("junk", JUNK.replace("{when}", "full and junk > 100"))
    seen = explore_step(beside, {"M": 1, "N": 1, "K": 2})
    assert seen.found is None
    assert not seen.complete


def test_limits_are_told() -> None:
    values = {"M": 1, "N": 1, "K": 4, "W": 2, "S": 4, "P": 1, "beta": 1}
    few = explore_step(systems.pipeline(), values, Limits(states=50))
    assert few.found is None
    assert not few.complete
    assert "50" in few.cut or "states" in few.cut
    late = explore_step(systems.pipeline(), values, Limits(deadline=0.0))
    assert late.cut == "time"


def test_no_time_means_no_claim() -> None:
    model = {"M": 1, "N": 1, "K": 4}
    assert refute_step(systems.handshake(ready="true"), model, seconds=0.0) is None
