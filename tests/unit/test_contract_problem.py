"""Problem files: what they say, and every fault of one with its line, column and hint."""

from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.contract.problem import Budget, load_problem, parse_overrides

EXAMPLE = Path(__file__).parents[2] / "examples" / "gemm.toml"

GOOD = """\
templates = ["packed_gemm"]
[workloads.a]
M = 3
N = 4
K = 0
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(text)
    return path


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_problem(written(tmp_path, text))
    error = caught.value
    assert error.source is not None
    assert all(d.span is not None and d.hint for d in error.diagnostics)
    return [f"{d.span.line}:{d.span.column}: {d.message}" for d in error.diagnostics if d.span]


def test_the_example_is_the_three_shapes():
    problem = load_problem(EXAMPLE)
    shapes = {w.name: tuple(w.extents.values()) for w in problem.workloads}
    assert shapes == {
        "square": (1000, 1000, 1000),
        "skinny": (64, 4096, 4096),
        "large": (2048, 2048, 2048),
    }
    assert problem.chip == "local"
    assert problem.templates == ("packed_gemm", "blocked_gemm", "direct_gemm")
    assert problem.contract.dtype_of("A") == "f32"


def test_what_is_left_out_has_a_default(tmp_path):
    problem = load_problem(written(tmp_path, GOOD))
    assert problem.name == "problem"
    assert problem.threads is None
    assert problem.chip == "local"
    assert problem.baselines == ("numpy",)
    assert problem.budget == Budget()
    assert problem.contract.ahead == ()


def test_paths_are_relative_to_the_file_and_names_ship(tmp_path):
    text = GOOD.replace('"packed_gemm"', '"packed_gemm", "mine.fw"') + "\n"
    problem = load_problem(written(tmp_path, 'chip = "chips/c.toml"\n' + text))
    assert problem.templates == ("packed_gemm", str(tmp_path / "mine.fw"))
    assert problem.chip == str(tmp_path / "chips" / "c.toml")


def test_all_faults_of_a_file_come_at_once(tmp_path):
    text = """\
name = "a/b"
dtyp = "f32"
dtype = "f23"
operator = "gem"
templates = []
threads = 0
baselines = ["numpi"]
[workloads.a]
M = 0
N = "x"
[workloads.b]
M = 1000000
N = 1000000
K = 4
[budget]
seconds = true
rounds = 1.5
"""
    assert sorted(faults(tmp_path, text)) == sorted(
        [
            '1:8: "a/b" is not a name for a folder',
            '2:1: unknown key "dtyp"',
            '3:9: unknown dtype "f23"',
            '4:12: unknown operator "gem"',
            "5:13: templates is not a list of names",
            "6:11: threads = 0 is out of range",
            '7:14: unknown name "numpi" in baselines',
            '8:12: workload "a" has no K',
            "9:5: M = 0 is out of range",
            "10:5: N is not a whole number",
            "11:12: the largest operand of 1000000 x 1000000 x 4 has 3725 GiB",
            "16:11: seconds is not a time in seconds",
            "17:10: rounds is not a whole number",
        ]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("templates = 3\n", "templates is not a list of names"),
        ('templates = ["a", "a"]\n', "templates names one thing twice"),
        ('templates = ["a"]\nworkloads = 3\n', "the problem has no workloads"),
        ('templates = ["a"]\n[workloads]\na = 3\n', 'workload "a" is not a table'),
        ('templates = ["a"]\nbudget = 3\n', "budget is not a table"),
        ('templates = ["a"]\n[workloads."x/y"]\nM=1\nN=1\nK=1\n', '"x/y" is not a name'),
        ("templates = [\n", "not TOML"),
        ('chip = ""\ntemplates = ["a"]\n[workloads.a]\nM=1\nN=1\nK=1\n', "chip is empty"),
        ('ahead = ["C"]\n' + GOOD, 'unknown name "C" in ahead'),
        (GOOD + "Q = 1\n", 'unknown key "Q"'),
        (GOOD.replace("3", "true"), "M is not a whole number"),
        (GOOD + "[budget]\nseconds = nan\n", "seconds is not a time"),
    ],
)
def test_one_fault_each(tmp_path, text, message):
    assert any(message in fault for fault in faults(tmp_path, text))


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match="cannot read"):
        load_problem("nowhere.toml")


def test_overrides_replace_the_workloads_by_one():
    problem = load_problem(EXAMPLE, parse_overrides("M=30,N=20,K=10"))
    (workload,) = problem.workloads
    assert workload.name == "30x20x10"
    assert workload.extents == {"M": 30, "N": 20, "K": 10}


def test_the_order_of_overrides_does_not_matter():
    given = {tuple(parse_overrides(t).items()) for t in ("M=3,N=2,K=1", "K=1, N=2, M=3")}
    assert {dict(g)["M"] for g in given} == {3}
    assert load_problem(EXAMPLE, {"K": 1, "N": 2, "M": 3}).workloads[0].name == "3x2x1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M=3", "leaves out N, K"),
        ("M=3,N=x,K=1", '"N=x" is not NAME=INTEGER'),
        ("M=3,M=4,N=1,K=1", "M is set twice"),
        ("M=0,N=1,K=1", "M = 0 is outside the contract"),
        ("M=1,N=1,K=1,Q=1", 'gemm has no extent "Q"'),
        ("M=-1,N=1,K=1", "M = -1 is outside"),
        ("M=1,N=1,K=999999999", "K = 999999999 is outside"),
        ("M=2000000,N=2000000,K=1", "GiB"),
        ("", "is not NAME=INTEGER"),
        ("M=" + "9" * 5000 + ",N=1,K=1", "is not NAME=INTEGER"),
    ],
)
def test_wrong_overrides_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        load_problem(EXAMPLE, parse_overrides(text))
    assert message in str(caught.value)
    assert all(d.hint for d in caught.value.diagnostics)
