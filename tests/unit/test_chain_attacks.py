"""Chains made to claim more than holds: what the surroundings have to do is never lost."""

from pathlib import Path

from formwright.base.source import Source
from formwright.flow.proving import prove
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.proof.chain_environment import environment

STEP = """template {name} : {coarse} -> {fine}

scope
  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents  M >= 1, N >= 1, K >= 1

coarse {coarse}
  token y any
  var done : bool = false
  {above}
  final done
  result y

fine {fine}
  token y any
  var done : bool = false
  {below}
  final done
  result y

match
  get: get
"""


def acting(who: str, assumed: str = "", more: str = "") -> str:
    stated = f'assume arrival "{assumed}"\n  ' if assumed else ""
    return f"{stated}{who} get when not done:\n    done := true{more}"


def step(name: str, above: str, below: str) -> Template:
    coarse, fine = name[0], name[1]
    text = STEP.format(
        name=f"{coarse}_to_{fine}", coarse=coarse, fine=fine, above=above, below=below
    )
    return parse(Source(f"{name}.fw", text))


def test_two_assumptions_of_one_name_are_two() -> None:
    fair, there = acting("environment", "the arbiter is fair"), acting("environment", "it arrives")
    found = environment([step("ab", acting("action"), there), step("bc", there, fair)])
    assert {a.text for a in found.carried} == {"it arrives", "the arbiter is fair"}
    names = [o.name for o in found.obligations]
    assert len(names) == len(set(names))


def test_new_work_of_the_surroundings_needs_an_assumption_of_its_own() -> None:
    """What is assumed of the arrival says nothing of the grant."""
    there = acting("environment", "it arrives")
    grant = "\n  environment grant when not done:\n    done := done"
    more = acting("environment", more=grant)
    found = environment([step("ab", acting("action"), there), step("bc", there, more)])
    wrong = [o for o in found.obligations if o.verdict != "proved"]
    assert [o.detail for o in wrong] == [
        "its surroundings do grant, and nothing is assumed of them"
    ]
    again = acting("environment", "the arbiter is fair", grant)
    found = environment([step("ab", acting("action"), there), step("bc", there, again)])
    assert {o.verdict for o in found.obligations} == {"proved"}


def test_what_the_surroundings_go_on_doing_stays_assumed() -> None:
    there = acting("environment", "it arrives")
    found = environment(
        [step("ab", acting("action"), there), step("bc", there, acting("environment"))]
    )
    assert [a.text for a in found.carried] == ["it arrives"]
    assert {o.verdict for o in found.obligations} == {"proved"}


def test_a_proof_of_one_condition_is_no_proof_of_the_template(tmp_path: Path) -> None:
    """The step does nothing where the coarse one acts; its menus are fine."""
    wrong = step("ab", acting("action"), acting("action").replace("done := true", "done := false"))
    assert prove(wrong, store=tmp_path, only="menu").verdict == "proved"
    assert prove(wrong, store=tmp_path).verdict != "proved"
    assert prove(wrong, store=tmp_path, only="menu").obligations[0].reused
