"""Chain files: found by name from any folder, read strictly, every fault at its place."""

from pathlib import Path

import pytest

from chain_texts import STEPS, edited
from formwright.base.diagnostics import InputError
from formwright.lang.chain_sources import load_chain_source, names_chain, shipped_chains
from formwright.lang.chains import load_chain


@pytest.mark.parametrize("reference", ["gemm", "gemm.toml", "chains/gemm", "chains/gemm.toml"])
def test_a_chain_that_ships_is_found_from_any_folder(
    reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemm").mkdir()
    assert names_chain(reference)
    chain = load_chain(reference)
    assert chain.name == "gemm"
    assert [s.fine for s in chain.steps][:-1] == [s.coarse for s in chain.steps][1:]


def test_templates_are_no_chains() -> None:
    assert "gemm" in shipped_chains()
    assert not names_chain("shared_memory_tiling")
    assert not names_chain("gemm.fw")


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edited(tmp_path / "chains", {"chain": {'name = "gemm"': 'name = "mine"'}}, last=2)
    assert load_chain("chains/gemm.toml").name == "mine"
    assert len(load_chain("chains/gemm.toml").steps) == 2


def test_an_unknown_chain_has_a_hint() -> None:
    with pytest.raises(InputError, match=r'no chain gem.toml[\s\S]*"gemm"'):
        load_chain_source("gem.toml")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({'name = "gemm"': 'names = "gemm"'}, r':3:1: error: unknown key "names"'),
        ({'name = "gemm"': "name = 3"}, r":3:8: error: name is one line of text"),
        ({"[assumptions]": "[assumption]"}, r'unknown key "assumption"[\s\S]*"assumptions"'),
        (
            {STEPS["2"]: "2_physical_store.fw"},
            r":8:3: error: cannot read .*\n.*\n.*\n.*2_physical_storage",
        ),
        ({STEPS["2"]: STEPS["1"]}, r":8:3: error: the step .* stands twice"),
        ({"steps = [": "steps = 3\nother = ["}, "a chain has steps, the coarsest first"),
        ({'reals = "sums': 'reals = 1\nmore = "sums'}, r"an assumption is a text"),
        ({"A[M,k] * B[k,N]": "A[M,k] * B[k,N"}, r":5:4\d: error: "),
        ({"A[M,k] * B[k,N]": "A[M,k] * B[j,N]"}, r':5:4\d: error: "j" is no index of the output'),
        ({"A[M,k] * B[k,N]": "A[M,k]; semantics"}, "a workload is one line"),
        ({'"C[M,N]': '"semantics C[M,N]'}, r":5:\d+: error: "),
    ],
)
def test_faults_of_the_file_are_told_at_their_place(
    edit: dict[str, str], told: str, tmp_path: Path
) -> None:
    path = edited(tmp_path, {"chain": edit})
    with pytest.raises(InputError, match=told):
        load_chain(str(path))


def test_steps_out_of_order_are_told_with_the_step_that_fits(tmp_path: Path) -> None:
    two, three = STEPS["2"], STEPS["3"]
    swapped = {two: "?", three: two, "?": three}
    path = edited(tmp_path, {"chain": swapped})
    with pytest.raises(InputError) as caught:
        load_chain(str(path))
    first = caught.value.diagnostics[0]
    assert first.span is not None
    assert first.span.line == 8
    assert "asynchronous_transfer refines stored, but reduction_partition ends at" in first.message
    assert first.hint == "physical_storage begins there"


def test_a_template_with_a_program_is_no_step(tmp_path: Path) -> None:
    path = edited(tmp_path, {}, last=1)
    source = load_chain_source("gemm").steps[0]
    program = (Path(__file__).parents[2] / "src/formwright/templates/direct_gemm.fw").read_text()
    (tmp_path / "gemm" / Path(source.name).name).write_text(program)
    with pytest.raises(InputError, match="direct_gemm has a program, no step"):
        load_chain(str(path))


def test_a_fault_of_a_step_is_told_in_the_step(tmp_path: Path) -> None:
    path = edited(tmp_path, {"1": {"cyclic in {0, 1}": "cyclic in {0, 1"}})
    with pytest.raises(InputError, match=r"gemm/1_reduction_partition.fw:\d+:\d+: error"):
        load_chain(str(path))
