"""Study files: what is read, and each fault by name, with its place, before any work."""

from fractions import Fraction
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.walls.study_reader import load_study, shipped_studies

LIBRARY = """
[library]
name = "small"
[fields.shared_bytes]
menu = ["16 KiB", "32 KiB", "64 KiB"]
role = "capacity"
start = "16 KiB"
source = "a test"
[fields.accumulators]
dimension = "count"
menu = [1024, 4096, 16384]
role = "capacity"
start = 1024
source = "a test"
[fields.sms]
value = 4
source = "a test"
[fields.clock]
value = "1 GHz"
source = "a test"
[fields.flops]
value = "1 TFLOP/s"
source = "a test"
[fields.dram_bandwidth]
value = "100 GB/s"
source = "a test"
[fields.barrier_cycles]
value = "40 cycles"
source = "a test"
[area.shared]
value = "chip.shared_bytes / 16384"
source = "a test"
[area.accumulators]
value = "chip.accumulators / 1024"
source = "a test"
"""

STUDY = """
name = "small"
library = "small.toml"
templates = ["shared_memory_tiling"]
budget = "10 mm2"
[kernels.square]
M = 256
N = 256
K = 256
[scenarios.one]
works = { square = 2 }
[methods]
names = ["wall-relaxation", "joint"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(LIBRARY)
    return tmp_path


def written(folder: Path, text: str) -> str:
    path = folder / "study.toml"
    path.write_text(text)
    return str(path)


def test_a_study_is_read(folder: Path) -> None:
    study = load_study(written(folder, STUDY))
    assert study.library.size == 9
    assert study.budgets == (10,)
    assert study.start == study.reference == study.library.start
    ((kernel, count),) = study.scenarios[0].works
    assert (kernel.name, count) == ("square", 2)
    assert dict(kernel.extents) == {"M": 256, "N": 256, "K": 256, "W": 1}
    assert study.search.methods == ("wall-relaxation", "joint")
    assert study.evaluator is None


@pytest.mark.parametrize("name", shipped_studies())
def test_studies_that_ship_are_read(name: str) -> None:
    study = load_study(name)
    assert study.name == name
    assert study.description
    assert study.library.size > 1


def test_coefficients_and_counters(folder: Path) -> None:
    text = (
        STUDY.replace('"shared_memory_tiling"', '"tiled_gpu_gemm"')
        .replace("small.toml", "tiled-gpu")
        .replace("10 mm2", "20 mm2")
    )
    text += "[coefficients.tiled_gpu_gemm]\nfma = 2\n"
    text += '[counters.read]\nfield = "l2_bytes"\ncounts.tiled_gpu_gemm = "M * Tk"\n'
    study = load_study(written(folder, text))
    assert study.problem(None).coefficients == {"tiled_gpu_gemm": {"fma": 2}}
    (counter,) = study.counters
    assert (counter.name, counter.field) == ("read", "l2_bytes")
    assert set(counter.counts) == {"tiled_gpu_gemm"}


def test_a_part_of_the_menus_and_a_sweep(folder: Path) -> None:
    text = STUDY.replace('budget = "10 mm2"', 'budgets = ["4 mm2", "9.5 mm2"]\nfront = "1 %"')
    text += '[menus]\nshared_bytes = ["32 KiB", "64 KiB"]\n'
    study = load_study(written(folder, text))
    assert study.library.fields[0].menu == (32768, 65536)
    assert study.library.fields[0].start == 0
    assert study.budgets == (4, Fraction(19, 2))
    assert study.front_tolerance == Fraction(1, 100)


FAULTS = {
    "an unknown key": ("name =", "nmae = 1\nname =", 'unknown key "nmae"'),
    "no library": ('library = "small.toml"', "", "names no library"),
    "an unknown library": ('"small.toml"', '"gemini"', 'did you mean "gemmini"'),
    "an unknown template": ("shared_memory_tiling", "shared_memory_tilin", "no template"),
    "an unknown objective": ('budget = "10 mm2"', 'objective = "least"', "unknown objective"),
    "energy that no cost has": (
        'budget = "10 mm2"',
        'objective = "energy-delay"',
        "says nothing of energy",
    ),
    "a start over the budget": ("10 mm2", "1.5 mm2", "the start takes 2 mm2, over the budget"),
    "a start outside the menu": (
        "[kernels.square]",
        '[start]\nshared_bytes = "20 KiB"\n[kernels.square]',
        "20 KiB is not in the menu of shared_bytes",
    ),
    "a start with an unknown field": (
        "[kernels.square]",
        "[start]\nshared_byte = 1\n[kernels.square]",
        'did you mean "shared_bytes"',
    ),
    "an empty menu": ("[methods]", "[menus]\nshared_bytes = []\n[methods]", "menu of shared_bytes"),
    "a value outside the menu": (
        "[methods]",
        "[menus]\naccumulators = [2000]\n[methods]",
        "2000 is not in the menu of accumulators",
    ),
    "budgets that fall": ('budget = "10 mm2"', 'budgets = ["9 mm2", "4 mm2"]', "do not ascend"),
    "a budget without a unit": ('"10 mm2"', "10", "needs a unit"),
    "both budgets": ('budget = "10 mm2"', 'budget = "9 mm2"\nbudgets = ["9 mm2"]', "both given"),
    "an extent that is missing": ("K = 256", "", "needs K of kernel square"),
    "an extent too many": ("K = 256", "K = 256\nL = 2", "has no extent L"),
    "an extent that is no number": ("K = 256", 'K = "256"', "K is not a whole number"),
    "an unknown kernel": ("{ square = 2 }", "{ sqare = 2 }", 'did you mean "square"'),
    "an unused kernel": (
        "[scenarios.one]",
        "[kernels.other]\nM=1\nN=1\nK=1\n[scenarios.one]",
        "kernel other is in no scenario",
    ),
    "no works": ("works = { square = 2 }", "", "has no works"),
    "a count of nothing": ("{ square = 2 }", "{ square = 0 }", "square = 0 is out of range"),
    "no scenarios": ("[scenarios.one]\nworks = { square = 2 }", "", "has no scenarios"),
    "a rate without tokens": (
        "works = {",
        "limits = { rate = 3 }\nworks = {",
        "a rate of tokens needs their number",
    ),
    "an unknown method": ('"joint"]', '"jont"]', 'did you mean "joint"'),
    "no method": ('["wall-relaxation", "joint"]', "[]", "no method is named"),
    "an unknown evaluator": ("[methods]", '[evaluator]\nname = "x"\n[methods]', "unknown name"),
    "an evaluator of other templates": (
        "[methods]",
        '[evaluator]\nname = "tiled-gpu"\n[methods]',
        "evaluator tiled-gpu cannot follow designs of shared_memory_tiling",
    ),
    "templates that are no names": ('["shared_memory_tiling"]', "[[]]", "not a list of names"),
    "templates that are tables": ('["shared_memory_tiling"]', "[{}]", "not a list of names"),
    "a budget that no float holds": ('"10 mm2"', '"1e400 mm2"', "out of range"),
    "a start that no float holds": (
        "[kernels.square]",
        '[start]\naccumulators = "1e400"\n[kernels.square]',
        "out of range",
    ),
    "a weight that no float holds": ("works = {", 'weight = "1e400"\nworks = {', "out of range"),
    "a limit that no float holds": (
        "works = {",
        'tokens = 1\nlimits = { rate = "1e-400" }\nworks = {',
        "out of range",
    ),
    "a front that no float holds": (
        'budget = "10',
        'front = "1e400"\nbudget = "10',
        "out of range",
    ),
    "a front without meaning": ('budget = "10', 'front = 2\nbudget = "10', "below 100 %"),
    "an evaluator without a name": (
        "[methods]",
        "[evaluator]\nsamples = 3\n[methods]",
        "the evaluator has no name",
    ),
    "a chip that leaves out a field": (
        "[methods]",
        '[chips.old]\nshared_bytes = "16 KiB"\n[methods]',
        "chip old has no accumulators",
    ),
    "a chip without a source": (
        "[methods]",
        '[chips.old]\nshared_bytes = "16 KiB"\naccumulators = 1024\n[methods]',
        "chip old has no source",
    ),
    "programs beside scenarios": (
        "[methods]",
        "[programs.p.a]\ncost = 1\n[methods]",
        "kernels and programs are both given",
    ),
    "coefficients of no template": (
        "[methods]",
        "[coefficients.tiling]\nfma = 2\n[methods]",
        'the study has no template "tiling"',
    ),
    "an unknown coefficient": (
        "[methods]",
        "[coefficients.shared_memory_tiling]\nfma = 2\n[methods]",
        'unknown key "fma"',
    ),
    "a description that moves the cursor": (
        'name = "small"',
        'name = "small"\ndescription = "\\u001b[31mred"',
        "holds signs that cannot be shown",
    ),
    "a scenario that is markup": ("[scenarios.one]", '[scenarios."[/one]"]', "not a name"),
    "a chip that is markup": (
        "[methods]",
        '[chips."[b]"]\nshared_bytes = "16 KiB"\naccumulators = 1024\nsource = "x"\n[methods]',
        "not a name for a chip",
    ),
    "a counter of no field": (
        "[methods]",
        '[counters.misses]\nfield = "l2"\n[methods]',
        'unknown field "l2"',
    ),
    "a counter that counts by an unknown name": (
        "[methods]",
        '[counters.misses]\nfield = "sms"\ncounts.shared_memory_tiling = "Tm * Tx"\n[methods]',
        'reads an unknown name "Tx"',
    ),
    "listed sets that are too large": (
        "[methods]",
        "[generated]\nhidden = [1]\n[methods]",
        "hidden is not a list",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place(folder: Path, name: str) -> None:
    old, new, told = FAULTS[name]
    assert old in STUDY
    path = written(folder, STUDY.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_study(path)
    text = str(caught.value)
    assert told in text
    assert f"{path}:" in text, "the message says where"
    assert "hint:" in text


def test_all_faults_are_told_at_once(folder: Path) -> None:
    text = STUDY.replace("K = 256", 'K = "x"').replace('"joint"', '"jont"').replace("10 mm2", "x")
    with pytest.raises(InputError) as caught:
        load_study(written(folder, text))
    assert len(caught.value.diagnostics) >= 3


def test_an_area_that_is_not_modelled_is_refused_by_name(folder: Path) -> None:
    (folder / "small.toml").write_text(LIBRARY.replace("value = 4\n", "menu = [4, 8]\nstart = 4\n"))
    with pytest.raises(InputError, match="sms"):
        load_study(written(folder, STUDY))


def test_a_quantity_that_the_library_has_not(folder: Path) -> None:
    cut = LIBRARY.replace('[fields.clock]\nvalue = "1 GHz"\nsource = "a test"\n', "")
    (folder / "small.toml").write_text(cut)
    with pytest.raises(InputError, match=r"reads chip\.clock, which library small has not"):
        load_study(written(folder, STUDY))


PROGRAMS = """
name = "listed"
library = "two-walls"
[programs.p.A]
needs = { one = 1 }
cost = 10
[programs.p.B]
needs = { one = 2, two = 2 }
cost = "1 + chip.one"
"""


def test_listed_programs_are_read(tmp_path: Path) -> None:
    study = load_study(written(tmp_path, PROGRAMS))
    (scenario,) = study.programs
    assert [p.name for p in scenario.programs] == ["A", "B"]
    assert dict(scenario.programs[1].needs) == {"one": 2, "two": 2}
    assert study.budgets == (None,)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{ one = 1 }", "{ on = 1 }", 'did you mean "one"'),
        ("chip.one", "chip.onne", 'reads an unknown name "chip.onne"'),
        ('"1 + chip.one"', '"1 +"', "cost:"),
        ("cost = 10", "", "cost is missing"),
        ("[programs.p.A]", 'objective = "energy-delay"\n[programs.p.A]', "not an energy"),
    ],
)
def test_faults_of_listed_programs(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = written(tmp_path, PROGRAMS.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_study(path)
    assert told in str(caught.value)
    assert f"{path}:" in str(caught.value)


def test_an_unknown_study_is_answered_with_those_that_ship() -> None:
    with pytest.raises(InputError, match='did you mean "pairs"'):
        load_study("pair")


LISTED = """
name = "listed"
library = "small.toml"
[programs.only.a]
cost = 3
[methods]
names = ["sets"]
"""


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ("0", "cost may be 0 or less"),
        ("-10", "cost may be 0 or less"),
        ('"chip.accumulators - 1024"', "cost may be 0 or less"),
        ('"10 / (chip.accumulators - 1024)"', "a divisor of cost may be 0 or less"),
        ('"chip.accumulators > 1024"', "cost is a condition"),
        ('"1e59 * 1e59"', "cost may be out of range"),
        ('"1e6 / chip.accumulators"', ""),
    ],
)
def test_costs_of_listed_programs(cost: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(LIBRARY)
    path = tmp_path / "listed.toml"
    path.write_text(LISTED.replace("cost = 3", f"cost = {cost}"))
    if not told:
        assert load_study(str(path)).programs
        return
    with pytest.raises(InputError, match=told):
        load_study(str(path))
