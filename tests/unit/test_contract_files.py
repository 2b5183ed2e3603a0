"""Contract files and the contracts of problem files: what they choose, and all their faults."""

from fractions import Fraction
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.contract.contract import contract_digest
from formwright.contract.files import load_contract
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.problem import load_problem


def written(folder: Path, text: str, name: str = "contract.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def faults(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_contract(path)
    assert all(d.span is not None and d.hint for d in caught.value.diagnostics)
    return [f"{d.span.line}: {d.message}" for d in caught.value.diagnostics if d.span]


@pytest.mark.parametrize("name", OPERATORS)
def test_a_file_says_what_python_says(tmp_path, name):
    path = written(tmp_path, f'operator = "{name}"\ndtype = "bf16"\n')
    assert load_contract(path).contract == operator(name).contract(dtypes="bf16")


def test_everything_that_can_be_chosen(tmp_path):
    text = """\
operator = "gemv"
dtypes = { W = "bf16" }
ahead = ["W"]
caches = "cold"
[extents]
N = [1, 4096]
K = 896
[relation]
kind = "absolute_relative"
absolute = 1e-6
relative = 1e-5
norm = 0.001
[special]
nan = "propagated"
empty = "zeros"
[strides]
transposed = "refused"
[workloads.a]
N = 4096
K = 896
"""
    found = load_contract(written(tmp_path, text))
    contract = found.contract
    assert contract.dtype_of("W") == "bf16"
    assert contract.dtype_of("x") == "f32"
    assert contract.ahead == ("W",)
    assert contract.caches == "cold"
    assert [(e.low, e.high) for e in contract.extents] == [(1, 4096), (896, 896)]
    assert contract.relation.relative == Fraction(1, 100000)
    assert contract.relation.norm == Fraction(1, 1000)
    assert [w.extents for w in found.workloads] == [{"N": 4096, "K": 896}]
    assert contract_digest(contract) != contract_digest(operator("gemv").contract())


def test_all_faults_of_a_contract_come_at_once(tmp_path):
    text = """\
operator = "softmax"
dtypes = { X = "bf17", Z = "f32", Y = "i8" }
ahead = ["Y"]
caches = "hot"
aliasing = "anything"
formular = 1
[extents]
R = [0, 4]
D = 3
C = "x"
[relation]
kind = "near"
absolute = -1
slack = 2
[special]
masked_row = "zeros"
[strides]
transposed = "allowed"
sliding = "refused"
"""
    assert sorted(faults(written(tmp_path, text))) == sorted(
        [
            '2: unknown X "bf17"',
            '2: softmax has no tensor "Z"',
            "2: Y may not be i8",
            '3: unknown name "Y" in ahead',
            '4: unknown caches "hot"',
            "5: clause aliasing is 'anything'",
            '6: unknown key "formular"',
            "8: R in 0 .. 4 is outside the contract of softmax",
            '9: softmax has no extent "D"',
            "10: C is not a range",
            '12: unknown kind "near"',
            "13: absolute is not a positive number",
            '14: unknown key "slack"',
            "16: clause special.masked_row is 'zeros'",
            "18: clause strides.transposed is 'allowed'",
            '19: unknown key "sliding"',
        ]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('relation = "ulp"', "relation ulp needs a number of units"),
        ("relation = 3", "relation is not a table"),
        ('[relation]\nkind = "ulp"\nulps = 0', "ulps = 0 is out of range"),
        ('[relation]\nkind = "absolute_relative"', "allows nothing"),
        ("[relation]\nreassociate = false", "without reassociation has no meaning"),
        ("[relation]\nreassociate = 0", "reassociate is not true or false"),
        ('dtype = "f32"\ndtypes = { A = "f32" }', "both name element types"),
        ('dtypes = "f32"', "dtypes is not a table"),
        ('dtype = "i8"', "no tensor of gemm may be i8"),
        ("extents = 3", "extents is not a table"),
        ("special = 3", "special is not a table"),
        ('formula = "C = A"', "clause formula is"),
    ],
)
def test_one_fault_each(tmp_path, text, message):
    assert any(message in fault for fault in faults(written(tmp_path, text + "\n")))


def test_stages_may_be_narrow_where_the_operator_has_them(tmp_path):
    text = 'operator = "gated_mlp"\ndtype = "bf16"\nstages = "bf16"\n'
    contract = load_contract(written(tmp_path, text)).contract
    assert contract == operator("gated_mlp").contract(dtypes="bf16", stages="bf16")
    assert faults(written(tmp_path, text.replace("gated_mlp", "gemm"))) == [
        "3: gemm has no value between two sums that may be rounded"
    ]
    with pytest.raises(InputError) as caught:
        load_contract(written(tmp_path, text.replace('stages = "bf16"', 'stages = "i8"')))
    (found,) = caught.value.diagnostics
    assert found.message == 'unknown stages "i8"'
    assert found.span is not None
    assert (found.span.line, found.hint) == (3, "known: f32, bf16")
    assert faults(written(tmp_path, text.replace('"bf16"\n', "3\n"))) == [
        "2: dtype is not a text",
        "3: stages is not a text",
    ]


def test_a_problem_file_says_it_too(tmp_path):
    text = 'operator = "decode_attention"\nstages = "bf16"\ntemplates = ["mine.fw"]\n'
    shape = "[workloads.a]\nH = 1\nG = 2\nS = 3\nD = 4\n"
    problem = load_problem(written(tmp_path, text + shape))
    assert problem.contract.stages == "bf16"
    written(tmp_path, 'operator = "decode_attention"\n', "other.toml")
    text = 'contract = "other.toml"\nstages = "bf16"\ntemplates = ["mine.fw"]\n'
    with pytest.raises(InputError, match="stages stands in the contract file"):
        load_problem(written(tmp_path, text + shape))


def test_a_problem_names_a_contract_file(tmp_path):
    written(tmp_path, 'operator = "softmax"\ndtype = "bf16"\n')
    text = 'contract = "contract.toml"\ntemplates = ["mine.fw"]\n[workloads.a]\nR = 2\nC = 3\n'
    problem = load_problem(written(tmp_path, text, "problem.toml"))
    assert problem.contract == operator("softmax").contract(dtypes="bf16")
    assert problem.workloads[0].extents == {"R": 2, "C": 3}
    with pytest.raises(InputError, match="dtype stands in the contract file"):
        load_problem(written(tmp_path, 'dtype = "f32"\n' + text, "problem.toml"))


def test_a_problem_has_its_operators_own_extents(tmp_path):
    text = 'operator = "rmsnorm"\ntemplates = ["mine.fw"]\n[workloads.a]\nT = 2\nH = 0\nM = 3\n'
    with pytest.raises(InputError) as caught:
        load_problem(written(tmp_path, text))
    messages = [d.message for d in caught.value.diagnostics]
    assert messages == ['unknown key "M"', "H = 0 is out of range"]
    good = written(tmp_path, text.replace("H = 0\nM = 3", "H = 896"))
    assert load_problem(good, {"H": 7, "T": 3}).workloads[0].extents == {"T": 3, "H": 7}
    with pytest.raises(InputError, match="--set leaves out T"):
        load_problem(good, {"H": 7})
