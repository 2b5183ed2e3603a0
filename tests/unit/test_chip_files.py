"""Chip files: units, sources, and every fault with its line, column and hint."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError, fail
from formwright.base.quantities import BASE
from formwright.base.source import Source
from formwright.base.toml import read_toml, read_toml_file
from formwright.chip import (
    FIELDS,
    HOME_CAPACITY,
    Chip,
    load,
    load_chip,
    local_file,
    machine,
    read_chip,
    shipped_chips,
    write_chip,
)
from formwright.flow.parameters import bind, split_chip_settings
from formwright.lang import load as load_template


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_chip(read_toml(Source("c.toml", text)))
    return str(caught.value)


def test_the_illustrative_chip_has_the_figures_of_the_paper() -> None:
    chip = load_chip("illustrative")
    assert chip.parameters() == {
        "chip.sms": 128,
        "chip.shared_bytes": 96 * 1024,
        "chip.accumulators": 32768,
        "chip.clock": 1_800_000_000,
        "chip.flops": 80 * 10**12,
        "chip.dram_bandwidth": 1_800_000_000_000,
        "chip.barrier_cycles": 40,
        "chip.threads_per_block": 256,
    }
    assert all(field.source for field in chip.fields.values())
    assert "illustrative" in shipped_chips()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("clokc = 3", 'c.toml:4:1: error: unknown key "clokc"'),
        ('clock = "1.8 GB/s"', 'c.toml:4:9: error: clock: "GB/s" measures bandwidth'),
        ('clock = "1.8"', "c.toml:4:9: error: clock: a frequency value needs a unit"),
        ('clock = "900 GHz"', "c.toml:4:9: error: clock (clock of a core) of 900 GHz is absurd"),
        ('clock = "0 Hz"', "is absurd"),
        ("sms = -3", "is absurd"),
        ("sms = 2.5", "c.toml:4:7: error: sms (streaming multiprocessors) is no quantity"),
        ("sms = true", "is no quantity"),
        ("sms = [1]", "is no quantity"),
        ('sms = "1.5"', "is not a whole number"),
        ('shared_bytes = "96 KB"', 'unknown unit "KB"'),
        ('sms = { source = "x" }', "sms has no value"),
        ("sms = { value = 1, source = 3 }", "c.toml:4:29: error: source is a text"),
        ("sms = { value = 1, colour = 3 }", 'c.toml:4:20: error: unknown key "colour"'),
        ('sms = { value = 1, spread = "3 cm" }', "spread: "),
        ('sms = { value = 1, spread = "300 %" }', "a spread lies between"),
    ],
)
def test_faults_point_and_hint(entry: str, message: str) -> None:
    text = refused(f'[chip]\nname = "x"\n[fields]\n{entry}\n')
    assert message in text
    assert "hint: " in text or "spread lies" in text


def test_all_faults_are_told_at_once() -> None:
    text = refused('[chip]\ncolour = 1\n[fields]\nclock = "3 m"\nsms = 0\n[other]\n')
    assert text.count("error: ") == 5
    assert 'unknown key "other"' in text
    assert "a chip needs a name" in text


@pytest.mark.parametrize("text", ["", "chip = 3", '[chip]\nname = "x"\n', "fields = []"])
def test_chips_without_their_parts_are_refused(text: str) -> None:
    assert "error: " in refused(text)


def test_names_and_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='did you mean "illustrative"'):
        load_chip("ilustrative")
    with pytest.raises(InputError, match="cannot read"):
        load_chip(tmp_path / "absent.toml")
    file = tmp_path / "mine.toml"
    file.write_text('[chip]\nname = "mine"\n[fields]\nsms = 4\n')
    chip = load_chip(str(file))
    assert chip.parameters() == {"chip.sms": 4}
    assert "without a source" in chip.fields["sms"].source


def test_written_chips_read_back(tmp_path: Path) -> None:
    chip = load_chip("illustrative")
    fields = dict(chip.fields)
    fields["clock"] = replace(fields["clock"], date="2026-01-02", spread=Fraction(35, 1000))
    chip = Chip("other", fields, 'a "quoted" text', "cpu \\ x", ("avx2", "fma"))
    write_chip(chip, tmp_path / "c.toml")
    assert read_chip(read_toml_file(tmp_path / "c.toml")) == chip


def test_capacities_name_fields() -> None:
    for capacity in HOME_CAPACITY.values():
        assert capacity.field in FIELDS
    assert all(
        BASE[kind.dimension] is not None and kind.low <= kind.high for kind in FIELDS.values()
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder in which ``local`` is measured once for the tests of this file."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        load_chip("local")
        yield folder


def test_local_is_measured_once_and_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_file().is_relative_to(kept)
    before = local_file().read_bytes()
    chip = load_chip("local")
    assert local_file().read_bytes() == before
    measured = [f for f in chip.fields.values() if f.source.startswith("measured")]
    assert chip.fields.keys() >= machine.MEASURED
    assert len(measured) == len(machine.MEASURED) - (chip.parameters()[NAME] == 0)
    assert all(f.date and f.spread is not None for f in measured)
    # What is kept of another CPU is not believed, and measured again.
    calls = []
    monkeypatch.setattr(load, "detect_fields", lambda: calls.append(1) or dict(chip.fields))
    local_file().write_text(before.decode().replace("cpu = ", "cpu = 'another' #"))
    assert load_chip("local") == chip
    assert calls == [1]
    # Nor what is kept of more cores than this process may use, or of fewer.
    cores = f'value = {chip.parameters()["chip.cores"]}, source = "cores'
    assert cores in before.decode()
    local_file().write_text(before.decode().replace(cores, cores.replace("= ", "= 9", 1)))
    assert load_chip("local") == chip
    assert calls == [1, 1]
    # Nor what an earlier version kept, which measured less.
    rows = before.decode().splitlines(keepends=True)
    local_file().write_text("".join(r for r in rows if not r.startswith("core_matrix_flops")))
    assert "core_matrix_flops" not in local_file().read_text()
    assert load_chip("local") == chip
    assert calls == [1, 1, 1]
    assert load_chip("local") == chip
    assert calls == [1, 1, 1]


WORDS = "avx2 fma avx512f avx512dq avx512bw avx512vl"
UNITS = "amx_bf16 avx512_bf16 amx_tile"
NAME = "chip.core_matrix_flops"


def test_matrix_units_are_part_of_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chip that was measured before these words were known is measured again."""
    monkeypatch.setattr(machine, "_cpuinfo", lambda: ({"flags": WORDS},))
    before = machine.isa_words()
    monkeypatch.setattr(machine, "_cpuinfo", lambda: ({"flags": f"{WORDS} {UNITS}"},))
    assert set(machine.isa_words()) == {*before, *UNITS.split()}


def test_every_core_has_what_a_kernel_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    board = {"Hardware": "a board"}
    both = ({"flags": f"{WORDS} {UNITS}"}, {"flags": WORDS}, board)
    monkeypatch.setattr(machine, "_cpuinfo", lambda: both)
    assert set(machine.isa_words()) == set(WORDS.split())
    monkeypatch.setattr(machine, "_cpuinfo", lambda: (board,))
    assert machine.isa_words() == ()


@pytest.mark.parametrize(
    ("flags", "refused", "source"),
    [
        (WORDS, "", "not every core has avx512_bf16"),
        (f"{WORDS} {UNITS}", "", "matrix.c"),
        (f"{WORDS} {UNITS}", "compile", "no code for the matrix units"),
        (f"{WORDS} {UNITS}", "measure", "does not lend"),
        (f"{WORDS} avx512_bf16", "", "matrix.c"),
        (f"{WORDS} amx_tile", "", "not every core has avx512_bf16"),
    ],
)
def test_a_core_without_matrix_units_has_a_rate_of_0(
    flags: str, refused: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_command: Sequence[str], what: str) -> str:
        if refused and what.startswith(refused):
            raise fail("refused")
        return "3000000000\n2000000000\n2500000000\n"

    monkeypatch.setattr(machine, "_cpuinfo", lambda: ({"flags": flags},))
    monkeypatch.setattr(machine, "_run", run)
    program, lacking = machine._matrix_probe(tmp_path)
    field = machine._matrix(machine._matrix_rates(program, 0), lacking)
    assert field.value == (3 * 10**9 if source == "matrix.c" else 0)
    assert field.unit == "flop/s"
    assert source in field.source


def test_a_chip_may_have_no_matrix_units_but_no_absurd_ones(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    text = '[chip]\nname = "c"\n[fields]\ncore_matrix_flops = { value = "%s", source = "test" }\n'
    file.write_text(text % "0 flop/s", encoding="utf-8")
    chip = read_chip(read_toml_file(file))
    assert chip.parameters() == {"chip.core_matrix_flops": 0}
    write_chip(chip, file)
    assert read_chip(read_toml_file(file)) == chip
    assert split_chip_settings("chip.core_matrix_flops=0 flop/s")[1] == chip.parameters()
    file.write_text(text % "5 flop/s", encoding="utf-8")
    with pytest.raises(InputError, match="5 flop/s is absurd"):
        read_chip(read_toml_file(file))
    with pytest.raises(InputError, match="is absurd"):
        split_chip_settings("chip.core_matrix_flops=5 flop/s")
    file.write_text((text % "0 flop/s").replace("core_matrix_flops", "core_flops"))
    with pytest.raises(InputError, match="is absurd"):
        read_chip(read_toml_file(file))


def test_a_template_for_matrix_units_is_not_for_a_chip_without() -> None:
    template = load_template("gemm_matrix_ahead")[1]
    figures = {p.name: 1 << 30 for p in template.scope.chip}
    sizes = {"M": 64, "N": 64, "K": 64}
    assert bind(template, figures, sizes, "test")
    for none in ({**figures, NAME: 0}, {k: v for k, v in figures.items() if k != NAME}):
        with pytest.raises(InputError, match="core_matrix_flops"):
            bind(template, none, sizes, "test")


def test_fewer_cores_are_another_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(load, "usable_cores", lambda: tuple(range(8)))
    assert local_file().name == "local.toml"
    monkeypatch.setattr(load, "usable_cores", lambda: (3,))
    assert local_file().name == "local-1.toml"


@pytest.mark.parametrize(
    ("text", "cores"), [("max 100000", None), ("150000 100000", 2), ("1 9", 1)]
)
def test_cores_are_bounded_by_the_quota(
    text: str, cores: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    file = tmp_path / "cpu.max"
    file.write_text(text)
    monkeypatch.setattr(machine, "_QUOTA", file)
    assert len(machine.usable_cores()) == (cores or 8)


def test_local_is_plausible(kept: Path) -> None:
    values = load_chip("local").parameters()
    assert 1 <= values["chip.cores"] <= len(os.sched_getaffinity(0))
    registers, lanes = values["chip.vector_registers"], values["chip.vector_lanes"]
    assert values["chip.accumulators"] == registers * lanes
    assert values["chip.l1_bytes"] <= values["chip.l2_bytes"] <= values["chip.l3_bytes"]
    assert values["chip.l1_bandwidth"] > values["chip.core_dram_bandwidth"]
    # At most four multiply-add units and at least half of one, else the probe measured overhead.
    assert 1 <= values["chip.core_flops"] / values["chip.clock"] / lanes <= 8
