"""Templates that are not for a chip or a contract: left out where another will do, else said."""

from dataclasses import replace
from pathlib import Path

import pytest
from diagnosed_runs import setting_of

from formwright.base.diagnostics import InputError
from formwright.contract.operators import operator
from formwright.flow.candidates import solutions
from formwright.flow.fitting import require_packing
from formwright.flow.setting import Setting
from formwright.lang import load
from listeners import Heard


def looked_at(setting: Setting) -> tuple[set[str], list[str]]:
    """The templates of which designs come, and what the run says."""
    heard = Heard()
    setting = replace(setting, listener=heard)
    found = solutions(setting, setting.problem.workloads[0], 0)
    return {d["template"] for d in found["designs"]}, heard.told


def ahead(setting: Setting) -> Setting:
    contract = operator("gemm").contract(ahead=("B",))
    return replace(setting, problem=replace(setting.problem, contract=contract))


def test_a_template_for_another_chip_is_left_out(tmp_path: Path) -> None:
    names = ("gemm_matrix_ahead", "direct_gemm")  # the chip has no matrix units
    found, said = looked_at(setting_of(tmp_path, names))
    assert found == {"direct_gemm"}
    assert "gemm_matrix_ahead is left out: error: chip made up has no field core_matrix" in said[0]


def test_a_template_that_packs_nothing_is_left_out(tmp_path: Path) -> None:
    found, said = looked_at(ahead(setting_of(tmp_path, ("direct_gemm", "packed_gemm_ahead"))))
    assert found == {"packed_gemm_ahead"}
    assert "direct_gemm packs nothing before a call" in said[0]


def test_where_none_is_left_the_first_fault_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="core_matrix_flops"):
        looked_at(setting_of(tmp_path / "chip", ("gemm_matrix_ahead",)))
    with pytest.raises(InputError, match=r"ahead = \[B\], and direct_gemm packs nothing"):
        looked_at(ahead(setting_of(tmp_path / "ahead", ("direct_gemm",))))


def test_nothing_is_packed_that_may_change_between_calls() -> None:
    template = load("gated_mlp_panels_ahead")[1]
    mlp = operator("gated_mlp")
    require_packing(template, mlp.contract())
    require_packing(template, mlp.contract(ahead=("Wg", "Wu", "Wd")))
    require_packing(load("packed_gemm_ahead")[1], operator("gemm").contract(ahead=("A", "B")))
    with pytest.raises(InputError, match="packs Wg, Wu, Wd before"):
        require_packing(template, mlp.contract(ahead=("Wg", "Wd")))
