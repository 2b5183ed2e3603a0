"""No file hangs or exhausts the process (rule L3): each limit has its message, quickly."""

import time

import pytest

from effort import thinned
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.lang import load, parse
from formwright.lang.limits import FAULTS

TEXT = load("shared_memory_tiling")[0].text
DEFINITION = "KT = ceil(K/Tk)"
BARRIER = "        barrier\n"
SUMS = "".join(f"sum(x{i} in 0 .. 9) " for i in range(70))
DEEP = "\n".join(" " * i + "if 1 = 1:" for i in range(2, 400))


MULTIPLIED = "this expression is too large with its products multiplied out"


def _menu(count: int) -> str:
    return "{" + ", ".join(map(str, range(count))) + "}"


CASES = {
    "bytes": ("#" * 300_000, "the file is larger than 262144 bytes"),
    "words": (";" * 200_000, "the file has more than 65536 words and signs"),
    "statements": (
        TEXT.replace(BARRIER, "        barrier" + "; barrier" * 20_000 + "\n", 1),
        "the program has more than 2048 statements",
    ),
    "brackets": (
        TEXT.replace(DEFINITION, "KT = " + "(" * 30_000 + "K" + ")" * 30_000),
        "nested more than 64 deep",
    ),
    "signs": (TEXT.replace(DEFINITION, "KT = " + "-" * 60_000 + "K"), "nested more than 64 deep"),
    "nots": (
        TEXT.replace(DEFINITION, "KT = " + "not " * 60_000 + "true"),
        "nested more than 64 deep",
    ),
    "sums in sums": (
        TEXT.replace(
            DEFINITION, "KT = " + "".join(f"sum(x{i} in 0 .. 9) " for i in range(70)) + "1"
        ),
        "nested more than 64 deep",
    ),
    "calls": (
        TEXT.replace("acc[r,s] = 0", "acc[r,s] = " + "exp(" * 70 + "0" + ")" * 70),
        "nested more than 64 deep",
    ),
    "chain": (
        TEXT.replace(DEFINITION, "KT = K" + " + K" * 30_000),
        "an expression of more than 100 operators on top of one another",
    ),
    "chain of values": (
        TEXT.replace("acc[r,s] = 0", "acc[r,s] = 0" + " + 1" * 20_000),
        "an expression of more than 100 operators on top of one another",
    ),
    "blocks": (
        TEXT.replace("program\n", f"program\n{DEEP}\n"),
        "blocks are nested more than 64 deep",
    ),
    "blocks on one line": (
        TEXT.replace(BARRIER, "        " + "if 1 = 1: " * 4_000 + "barrier\n", 1),
        "blocks are nested more than 64 deep",
    ),
    "menu": (
        TEXT.replace("{8, 16, 32, 64}", _menu(20_000)),
        "a menu has at most 4096 values, not 20000",
    ),
    "menus": (
        TEXT.replace("Tk   in {8, 16, 32, 64}", f"Tk, Q, R, V in {_menu(1500)}"),
        "the menus span 3.04e15 points, more than 1e12",
    ),
    "doubling definitions": (
        TEXT.replace(
            DEFINITION,
            DEFINITION
            + "\n  d0 = K"
            + "".join(f"\n  d{i} = d{i - 1} + d{i - 1}" for i in range(1, 60)),
        ),
        "this expression is too large with its definitions put in their places",
    ),
    "squares of squares": (
        TEXT.replace(
            DEFINITION,
            DEFINITION
            + "\n  d0 = K"
            + "".join(f"\n  d{i} = d{i - 1}*d{i - 1}" for i in range(1, 60)),
        ),
        MULTIPLIED,
    ),
    "sums as factors": (
        TEXT.replace(DEFINITION, f"KT = {'*'.join(['(M + N + K)'] * 14)}"),
        MULTIPLIED,
    ),
    "sums of numbers in sums": (
        TEXT.replace(
            DEFINITION,
            "KT = " + "".join(f"sum(x{i} in 0 .. 60) " for i in range(4)) + "x0*x1*x2*x3",
        ),
        MULTIPLIED,
    ),
    "sums over menus in sums": (
        TEXT.replace(
            DEFINITION, "D = 4*Tm\n  KT = sum(x in 0 .. D) sum(y in x .. D) sum(z in 0 .. y) 1"
        ),
        MULTIPLIED,
    ),
    "exponent": (
        TEXT.replace(DEFINITION, "KT = 1e999999999"),
        "a number has at most 40 digits and an exponent up to 60",
    ),
    "digits": (
        TEXT.replace(DEFINITION, "KT = " + "7" * 100_000),
        "a number has at most 40 digits and an exponent up to 60",
    ),
    "integer in a menu": (
        TEXT.replace("{8, 16, 32, 64}", "{8, 1e999999999}"),
        "a number has at most 40 digits and an exponent up to 60",
    ),
    "text": (
        TEXT.replace('"A block', '"' + "A" * 9_000),
        "a text has at most 2000 characters, not 9107",
    ),
    "indentation": (" " * 200_000 + "x", "this indentation matches no line above"),
    "zeros": ("\0" * 250_000, "U+0000 has no meaning here"),
    "tabs": ("\t" * 250_000, "a tab"),
    "unknown names": (
        TEXT.replace(
            DEFINITION,
            DEFINITION
            + "".join(f"\n  n{i:050d} = {i}" for i in range(1_500))
            + "".join(f"\n  y{i:050d} = nn{i:050d}" for i in range(100)),
        ),
        f"reading stopped after {FAULTS} messages",
    ),
}


@pytest.mark.parametrize("name", thinned(list(CASES)))
def test_limit(name: str) -> None:
    text, message = CASES[name]
    assert text != TEXT
    start = time.process_time()
    with pytest.raises(InputError) as caught:
        parse(Source("t.fw", text))
    assert time.process_time() - start < 5
    assert message in [d.message for d in caught.value.diagnostics]
    assert len(caught.value.diagnostics) <= FAULTS + 1
    assert len(str(caught.value)) < 40_000


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(DEFINITION, "KT = " + "(" * 60 + "ceil(K/Tk)" + ")" * 60),
        TEXT.replace(DEFINITION, "KT = ceil(K/Tk)" + " + 0" * 97),
        TEXT.replace(DEFINITION, "KT = ceil(K/Tk) + 0 * 1e60 + 0 * 1e-60 + 0 * " + "9" * 40)
        .replace("in 0 .. KT", "in 0 .. floor(KT)")
        .replace("min(P, KT)", "min(P, floor(KT))"),
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT,
        TEXT.rstrip("\n"),
        TEXT.replace("{0, 1, 2} also {3}", _menu(4096)),
    ],
)
def test_what_stays_within_the_limits(text: str) -> None:
    assert parse(Source("t.fw", text)).name == "shared_memory_tiling"


def test_a_name_of_two_sums_inside_one_another_is_told() -> None:
    twice = "KT = sum(x in 0 .. 2) (x + sum(x in 0 .. 3) x)"
    with pytest.raises(InputError, match='"x" is already the name of a sum'):
        parse(Source("t.fw", TEXT.replace(DEFINITION, twice)))
