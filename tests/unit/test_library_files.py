"""Library files: the two that ship, their figures, and every fault by name and place."""

from fractions import Fraction
from itertools import pairwise, product
from math import prod
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.base.toml import read_toml
from formwright.chip import load_chip
from formwright.chip.library import Library
from formwright.chip.library_files import load_library, shipped_libraries
from formwright.chip.library_points import point_of, shown_value
from formwright.chip.library_reader import read_library

SMALL = """
[library]
name = "small"

[fields.banks]
dimension = "count"
menu = [1, 2, 4]
role = "throughput"
start = 2
source = "made up"

[fields.shared_bytes]
menu = { from = "16 KiB", to = "64 KiB", factor = 2 }
role = "capacity"
start = "16 KiB"
source = "made up"

[fields.clock]
value = "1 GHz"
source = "made up"

[derived.rate]
value = "4 * chip.banks * chip.clock"
unit = "byte/s"
source = "made up"

[rules.large]
condition = "chip.banks * 8192 <= chip.shared_bytes"

[area.banks]
value = "200 * chip.banks"
unit = "um2"
source = "made up"

[area.shared]
field = "shared_bytes"
points = [["16 KiB", "1 mm2"], ["32 KiB", "3 mm2"], ["64 KiB", "2 mm2"]]
times = "chip.banks"
source = "made up"
"""


def read(text: str) -> Library:
    return read_library(read_toml(Source("l.toml", text)))


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


def changed(old: str, new: str) -> str:
    assert SMALL.count(old) == 1, old
    return SMALL.replace(old, new)


def test_a_library_is_read_as_written() -> None:
    library = read(SMALL)
    assert library.size == 9
    assert library.start == (1, 0, 0)
    assert library.fields[1].menu == (16384, 32768, 65536)
    assert library.fields[2].role == "fixed"
    values = library.values(library.start)
    assert values["chip.rate"] == 8 * 10**9
    assert library.reads("rate") == ("banks", "clock")
    assert library.reads("banks") == ("banks",)
    assert library.broken(library.start) == ()
    assert library.broken((2, 0, 0)) == ("large",)


def test_a_table_is_raised_to_its_envelope_and_says_so() -> None:
    library = read(SMALL)
    areas = [library.area((0, n, 0)) for n in range(3)]
    assert areas == [Fraction(200, 10**6) + n for n in (1, 3, 3)]
    assert library.area((2, 0, 0)) == 4 + Fraction(800, 10**6)
    assert "not monotone: raised to the envelope at 64 KiB" in library.area_terms[1].error
    between = read(changed('["32 KiB", "3 mm2"], ["64 KiB", "2 mm2"]]', '["64 KiB", "4 mm2"]]'))
    assert between.area((0, 1, 0)) - Fraction(200, 10**6) == 2
    assert between.area_terms[1].error == ""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("menu = [1, 2, 4]", "menu = []", "l.toml:7:8: error: the menu of banks is empty"),
        ("menu = [1, 2, 4]", 'menu = [1, 2, "1e400"]', "out of range"),
        (
            "menu = [1, 2, 4]",
            "menu = { from = 1, to = 10, factor = 1.0000001 }",
            "has more than 1000 values",
        ),
        ('"4 * chip.banks * chip.clock"', '"1e59 * chip.banks * chip.clock"', "rate may be out of"),
        ('"200 * chip.banks"', '"1e59 * 1e59 * chip.banks"', "banks may be out of range"),
        (
            'from = "16 KiB", to = "64 KiB"',
            'from = "64 KiB", to = "16 KiB"',
            "the menu of shared_bytes is empty: from is above to",
        ),
        (
            "menu = [1, 2, 4]",
            "menu = [1, 4, 2]",
            "l.toml:7:15: error: the menu of banks does not ascend: 4 is followed by 2",
        ),
        ("factor = 2", "factor = 1", "the factor of shared_bytes leads nowhere"),
        ("start = 2", "start = 3", "l.toml:9:9: error: the start of banks is not in its menu"),
        ('role = "capacity"', 'role = "fixed"', "shared_bytes is fixed but has 3 values"),
        ('role = "capacity"', 'role = "wide"', 'shared_bytes has the unknown role "wide"'),
        ('role = "capacity"\n', "", "shared_bytes has no role"),
        ('dimension = "count"\n', "", "banks has no dimension"),
        ('"4 * chip.banks * chip.clock"', '"4 * chip.bank"', 'l.toml:23:9: error: "chip.bank" is'),
        ('"4 * chip.banks * chip.clock"', '"4 * * chip.banks"', "l.toml:23:14: error: an expr"),
        ('"4 * chip.banks * chip.clock"', '"1 / (chip.banks - 1)"', "a divisor of rate may be 0"),
        (
            'value = "1 GHz"',
            'menu = ["1 GHz", "2 GHz"]\nstart = "1 GHz"\nrole = "throughput"',
            "clock has a choice, but costs no area",
        ),
        ('times = "chip.banks"', 'times = "4 - chip.banks"', "falls as banks grows from 1 to 2"),
        ('"200 * chip.banks"', '"0 * chip.banks"', "the area banks is 0 for every chip"),
        ('"200 * chip.banks"', '"chip.banks - 2"', "the area banks is negative"),
        ('["64 KiB", "2 mm2"]', '["48 KiB", "2 mm2"]', "the table does not reach 64 KiB"),
        ('unit = "um2"\nsource = "made up"', 'unit = "um2"', "banks has no source"),
        ('value = "1 GHz"', 'value = "1 kB"', 'unknown unit "kB"'),
        ("* 8192 <=", "* 65536 <=", "the chip to start from breaks the rule large"),
        ("[rules.large]", '[unmodelled]\nbanks = "?"\n[rules.large]', "its area is not modelled"),
        ("[rules.large]", '[unmodelled]\nbank = "?"\n[rules.large]', '"bank" is no field'),
        ('condition = "', 'conditoin = "', 'unknown key "conditoin"'),
    ],
)
def test_faults_are_named_and_point(old: str, new: str, message: str) -> None:
    text = refused(changed(old, new))
    assert message in text
    assert "l.toml:" in text


def test_rules_in_conflict_are_named_without_those_that_are_not() -> None:
    rules = {"wide": "chip.banks >= 4", "low": "chip.banks <= 3"}
    more = "".join(f'[rules.{n}]\ncondition = "{c}"\n' for n, c in rules.items())
    text = refused(SMALL + more)
    assert "no chip of the menus keeps wide and low" in text


def test_all_faults_of_a_file_are_told_at_once() -> None:
    text = refused(changed("start = 2", "start = 3").replace('"1 GHz"', '"1 m"') + "[other]\n")
    assert text.count("error: ") == 3


def test_the_gemmini_library_has_the_published_figures() -> None:
    library = load_library("gemmini")
    assert library.size == 128 * 1024 * 1024
    chips = {
        (128, 896, 512): 14.088,
        (128, 192, 384): 10.043,
        (16, 128, 32): 0.708,
    }
    for (array, scratchpad, accumulator), published in chips.items():
        named = {
            "array": array,
            "scratchpad": f"{scratchpad} KiB",
            "accumulator": f"{accumulator} KiB",
        }
        area = float(library.area(point_of(library, named)))
        assert abs(area / published - 1) < 0.18
    assert library.start == point_of(
        library, {"array": 16, "scratchpad": "128 KiB", "accumulator": "32 KiB"}
    )
    values = library.values(library.start)
    pico = 10**12
    assert values["chip.mac_energy"] * pico == Fraction("0.5608")
    assert values["chip.scratchpad_energy"] * pico == Fraction("0.49") + Fraction("0.02513") * 128
    assert values["chip.accumulator_energy"] * pico == Fraction("1.94") + Fraction("0.1005") * 2
    assert values["chip.scratchpad_words"] == 32
    assert library.unmodelled == {}


def test_the_tiled_gpu_holds_the_papers_chip() -> None:
    library = load_library("tiled-gpu")
    assert library.size >= 10_000
    paper = point_of(
        library,
        {
            "sms": 128,
            "threads": 256,
            "accumulators_per_thread": 128,
            "shared_bytes": "96 KiB",
        },
    )
    values = library.values(paper)
    known = load_chip("illustrative").parameters()
    for name in set(known) - {"chip.threads_per_block"}:
        assert values[name] == known[name], name
    assert values["chip.threads"] == known["chip.threads_per_block"]
    assert library.broken(paper) == ()
    assert library.area(library.start) < library.area(paper)
    assert {"clock", "dram_bandwidth", "barrier_cycles"} <= set(library.unmodelled)
    assert all(t.source for t in library.area_terms)


def test_logic_of_the_reference_chip_as_published() -> None:
    # Two multiprocessors of 32 lanes with one channel: the parts the terms are scaled from.
    parts = 2 * 317_497 + 61_684 + 59_068
    assert abs(parts / 762_600 - 1) < 0.01


@pytest.mark.parametrize("name", shipped_libraries())
def test_more_of_anything_costs_more_area(name: str) -> None:
    library = load_library(name)
    for field in library.fields:
        points = [library.stepped(library.start, field.name, n) for n in range(-3, 4)]
        areas = [library.area(p) for p in points if p is not None]
        assert all(a < b for a, b in pairwise(areas))


def test_names_and_values_that_are_not_there() -> None:
    library = load_library("tiled-gpu")
    with pytest.raises(InputError) as caught:
        point_of(library, {"smss": 4, "threads": 100, "shared_bytes": "1 m"})
    text = str(caught.value)
    assert 'did you mean "sms"' in text
    assert "100 is not in the menu of threads" in text
    assert "nearest: 128" in text
    assert text.count("error: ") == 3
    assert shown_value(library.fields[3], 0) == "16 KiB"
    with pytest.raises(InputError, match='did you mean "gemmini"'):
        load_library("gemini")
    with pytest.raises(InputError, match="cannot read"):
        load_library(Path("absent.toml"))


def test_the_chips_of_tiled_gpu_that_keep_its_rule() -> None:
    """What the pages say of the size of the library: combinations, and chips among them."""
    library = load_library("tiled-gpu")
    pair = [library.index(name) for name in ("threads", "accumulators_per_thread")]
    kept = 0
    for places in product(*(range(len(library.fields[at].menu)) for at in pair)):
        point = list(library.start)
        for at, place in zip(pair, places, strict=True):
            point[at] = place
        kept += not library.broken(tuple(point))
    others = prod(len(f.menu) for at, f in enumerate(library.fields) if at not in pair)
    assert (library.size, kept * others) == (100_800, 89_280)
