"""A second figure of the cost, and templates that have no program (rules L15a, L15b)."""

from fractions import Fraction

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.digest import canonical, digest
from formwright.base.source import Source
from formwright.codegen.emit import emit_c
from formwright.codegen.target import PLAIN
from formwright.flow.proving import prove
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.lang.format import format_template
from formwright.milp.solve import solve
from formwright.smt.prove import prove as prove_conditions

TEXT = """\
template t : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1
  chip      room >= 1, picojoules_a_word > 0

decisions
  T in {1, 2, 4, 8}

constraints
  C1 wall room : T*T <= chip.room

formulation "the traffic of a tiling alone"

cost cycles cycles
  words = M*K*ceil(N/T) + K*N*ceil(M/T)
  cycles >= words
  energy picojoules = bytes.A*words*chip.picojoules_a_word
"""


def made(text: str = TEXT) -> Template:
    return parse(Source("t.fw", text))


def faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        made(text)
    return [d.message for d in caught.value.diagnostics]


def test_l15a_energy_is_read_and_written() -> None:
    template = made()
    assert template.cost is not None
    assert template.cost.energy_unit == "picojoules"
    assert [p.name for p in template.scope.sizes] == ["bytes.A"]
    assert format_template(template) == TEXT
    closed = inlined(template).cost
    assert closed is not None
    assert closed.energy is not None
    assert "words" not in free_names(closed.energy)


def test_l15a_templates_without_it_keep_their_digest() -> None:
    plain = made(TEXT.replace("  energy picojoules = bytes.A*words*chip.picojoules_a_word\n", ""))
    assert "energy" not in str(canonical(plain.cost))
    assert digest(plain) != digest(made())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("energy watts = 1", '"watts" is no unit of energy'),
        ("energy joules : 1", '"=" is missing behind the unit, before ":"'),
        ("energy joules = 1 < 2", "a number is needed here, not a condition"),
        ("energy joules = nothing", 'the name "nothing" is unknown'),
        ("energy joules = 1; energy joules = 2", "the energy stands twice"),
    ],
)
def test_l15a_faults(line: str, message: str) -> None:
    old = "energy picojoules = bytes.A*words*chip.picojoules_a_word"
    assert message in " | ".join(faults(TEXT.replace(old, line)))


def test_l15a_a_definition_may_still_be_called_energy() -> None:
    text = TEXT.replace("energy picojoules = bytes.A*words*chip.picojoules_a_word", "energy = 2")
    assert made(text).cost is not None


def test_l15b_a_formulation_is_solved() -> None:
    chip = {"chip.room": 16, "chip.picojoules_a_word": Fraction(1, 2)}
    solution = solve(made(), {"M": 8, "N": 8, "K": 8, "bytes.A": 4, **chip})
    assert solution.assignment == {"T": 4}
    assert solution.objective == 2 * 8 * 8 * 2


def test_l15b_nothing_of_a_formulation_is_proved_or_emitted() -> None:
    for ask in (prove, prove_conditions, lambda t: emit_c(t, {"T": 1}, PLAIN)):
        with pytest.raises(InputError, match="t is a formulation without a program"):
            ask(made())


def test_l15b_faults() -> None:
    assert faults(TEXT.replace('"the traffic of a tiling alone"', '""')) == [
        "a formulation says why it has no program"
    ]
    both = TEXT + "\nprogram\n  C[0,0] = 0\n"
    assert "a formulation has no program and no step" in faults(both)
    none = TEXT.replace('formulation "the traffic of a tiling alone"\n', "")
    assert 'section "program" is missing' in faults(none)
