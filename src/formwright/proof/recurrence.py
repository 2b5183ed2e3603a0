"""Streaming recurrences as identities: what each key contributes, before and after a block.

A sum over keys is known by the contribution of one arbitrary key. A block multiplies what was
there by ``carry`` and adds ``add`` for each of its keys; a merge multiplies both sides by
``merge``. What a contribution ``means`` has to stand again afterwards, with the new scalars.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Literal

from formwright.proof.exponentials import Sum, constant, exponential, symbol

Rule = Literal["carry", "add", "merge"]


class RecurrenceError(Exception):
    """A text that is no recurrence."""


@dataclass(frozen=True, slots=True)
class Summed:
    """``sum NAME means e : carry e, add e`` and, where there is one, ``, merge e``."""

    name: str
    means: Sum
    rules: Mapping[Rule, Sum]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """``scalars``: each with its value after a block. ``result``: two sums, and what their
    quotient is by definition: two sums over the keys."""

    name: str
    keys: tuple[str, ...]
    scalars: Mapping[str, Sum]
    sums: Mapping[str, Summed]
    result: tuple[str, str]
    wanted: tuple[Sum, Sum]


@dataclass(frozen=True, slots=True)
class Checked:
    """``failed``: the rules whose identity does not hold, as ``carry l``. ``refuted``: a run that
    shows it, exact with ``exp(x) = 2**x``."""

    identities: int
    failed: tuple[str, ...] = ()
    refuted: str = ""

    @property
    def verdict(self) -> Literal["proved", "refuted", "unresolved"]:
        if not self.failed:
            return "proved"
        return "refuted" if self.refuted else "unresolved"


def check(recurrence: Recurrence) -> Checked:
    """Every identity by normal forms; a false one by a run whose result is wrong."""
    failed: list[str] = []
    count = 0
    for one in recurrence.sums.values():
        after = one.means.put(recurrence.scalars)
        for rule, factor in one.rules.items():
            count += 1
            if (factor if rule == "add" else one.means * factor) != after:
                failed.append(f"{rule} {one.name}")
    count += 1
    if not _same_quotient(recurrence):
        failed.append("result")
    return Checked(count, tuple(failed), _run_that_differs(recurrence) if failed else "")


def _same_quotient(recurrence: Recurrence) -> bool:
    """Both sums are the wanted ones times one factor that no key has a part in."""
    factors = [
        recurrence.sums[name].means.quotient(wanted)
        for name, wanted in zip(recurrence.result, recurrence.wanted, strict=True)
    ]
    first, second = factors
    return first is not None and first == second and not first.names() & set(recurrence.keys)


# runs

SCORES = (Fraction(0), Fraction(2), Fraction(-1))
"""Values of the keys' names in small runs."""


def _run_that_differs(recurrence: Recurrence) -> str:
    """Two blocks of one key, or two such runs merged: the first whose quotient is wrong."""
    width = len(recurrence.keys)
    for merged in (False, True):
        if merged and not any("merge" in s.rules for s in recurrence.sums.values()):
            continue
        for flat in product(SCORES, repeat=2 * width):
            keys = [
                dict(zip(recurrence.keys, flat[n * width : (n + 1) * width], strict=True))
                for n in range(2)
            ]
            got, wanted = _run(recurrence, keys, merged), _direct(recurrence, keys)
            if got != wanted:
                told = "; ".join(", ".join(f"{n} = {v}" for n, v in k.items()) for k in keys)
                how = "merged" if merged else "one after another"
                return f"keys {told} {how}: {got} instead of {wanted}"
    return ""


def _direct(recurrence: Recurrence, keys: Sequence[Mapping[str, Fraction]]) -> Fraction | None:
    known = _parameters(recurrence)
    top, bottom = (
        sum((w.value({**known, **k}) for k in keys), Fraction(0)) for w in recurrence.wanted
    )
    return None if bottom == 0 else top / bottom


@dataclass(slots=True)
class _State:
    scalars: dict[str, Fraction]
    sums: dict[str, Fraction] = field(default_factory=dict)


def _run(
    recurrence: Recurrence, keys: Sequence[Mapping[str, Fraction]], merged: bool
) -> Fraction | None:
    """New scalars are the largest first value of a key so far, as a running maximum is."""
    parts = [[k] for k in keys] if merged else [list(keys)]
    states = [_blocks(recurrence, part) for part in parts]
    state = states[0]
    for other in states[1:]:
        state = _merge(recurrence, state, other)
    top, bottom = (state.sums[n] for n in recurrence.result)
    return None if bottom == 0 else top / bottom


def _fresh_names(recurrence: Recurrence) -> frozenset[str]:
    """Names that a block brings: in the new scalars, and no scalars before."""
    found = {n for s in recurrence.scalars.values() for n in s.names()}
    return frozenset(found - set(recurrence.scalars))


def _parameters(recurrence: Recurrence) -> dict[str, Fraction]:
    """Names that nothing sets are 1 in runs."""
    sums = recurrence.sums.values()
    used = [e for s in sums for e in (s.means, *s.rules.values())]
    names = {n for e in (*used, *recurrence.wanted) for n in e.names()}
    return dict.fromkeys(sorted(names), Fraction(1))


def _blocks(recurrence: Recurrence, keys: Sequence[Mapping[str, Fraction]]) -> _State:
    first = next(iter(keys[0].values()))
    state = _State(
        dict.fromkeys(recurrence.scalars, first), dict.fromkeys(recurrence.sums, Fraction(0))
    )
    best = first
    for key in keys:
        best = max(best, next(iter(key.values())))
        fresh = dict.fromkeys(_fresh_names(recurrence), best)
        known = {**_parameters(recurrence), **state.scalars, **fresh, **key}
        state.sums = {
            n: state.sums[n] * s.rules["carry"].value(known) + s.rules["add"].value(known)
            for n, s in recurrence.sums.items()
        }
        state.scalars = {n: s.value(known) for n, s in recurrence.scalars.items()}
    return state


def _merge(recurrence: Recurrence, left: _State, right: _State) -> _State:
    best = max((*left.scalars.values(), *right.scalars.values()), default=Fraction(0))
    fresh = {**_parameters(recurrence), **dict.fromkeys(_fresh_names(recurrence), best)}
    sums = {
        n: sum(
            (
                side.sums[n]
                * s.rules.get("merge", s.rules["carry"]).value({**side.scalars, **fresh})
                for side in (left, right)
            ),
            Fraction(0),
        )
        for n, s in recurrence.sums.items()
    }
    return replace(left, sums=sums)


# text

_WORD = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|([-+*()/]))")


def parse_recurrence(text: str) -> Recurrence:
    """Reads lines ``recurrence``, ``key``, ``scalar``, ``sum`` and ``result``."""
    name = ""
    keys: tuple[str, ...] = ()
    result = ("", "")
    scalars: dict[str, Sum] = {}
    sums: dict[str, Summed] = {}
    wanted: tuple[Sum, Sum] | None = None
    for line in text.splitlines():
        words = line.split("#")[0].split(maxsplit=1)
        if not words:
            continue
        rest = words[1] if len(words) > 1 else ""
        match words[0]:
            case "recurrence":
                name = rest.strip()
            case "key":
                keys = tuple(n.strip() for n in rest.split(","))
            case "scalar":
                (scalar, value) = _pair(rest, " becomes ")
                scalars[scalar] = _expression(value)
            case "sum":
                one = _summed(rest)
                sums[one.name] = one
            case "result":
                quotient, meaning = _pair(rest, " is ")
                top, bottom = _pair(quotient, "/")
                result = (top, bottom)
                first, second = _pair(meaning, "/")
                wanted = (_expression(first), _expression(second))
            case _:
                raise RecurrenceError(f'"{words[0]}" begins no line')
    if wanted is None or not set(result) <= set(sums) or not keys:
        raise RecurrenceError("a key, sums and a result of two sums are needed")
    return Recurrence(name, keys, scalars, sums, result, wanted)


def _pair(text: str, mark: str) -> tuple[str, str]:
    left, found, right = text.partition(mark)
    if not found:
        raise RecurrenceError(f'"{mark.strip()}" is missing in "{text.strip()}"')
    return left.strip(), right.strip()


def _summed(text: str) -> Summed:
    head, tail = _pair(text, ":")
    name, means = _pair(head, " means ")
    rules: dict[Rule, Sum] = {}
    for part in tail.split(","):
        word, expression = _pair(part.strip(), " ")
        match word:
            case "carry" | "add" | "merge":
                rules[word] = _expression(expression)
            case _:
                raise RecurrenceError(f'"{word}" is no rule of a sum')
    if not {"carry", "add"} <= set(rules):
        raise RecurrenceError(f"{name} needs carry and add")
    return Summed(name, _expression(means), rules)


def _expression(text: str) -> Sum:
    words = _words(text)
    value = _added(words)
    if next(words.rest, None) is not None or words.ahead:
        raise RecurrenceError(f'something is left over in "{text}"')
    return value


@dataclass(slots=True)
class _Words:
    rest: Iterator[str]
    ahead: str = ""

    def next(self) -> str:
        word, self.ahead = self.ahead, next(self.rest, "")
        return word


def _words(text: str) -> _Words:
    found: list[str] = []
    place = 0
    while text[place:].strip():
        match = _WORD.match(text, place)
        if match is None:
            raise RecurrenceError(f'"{text[place:].strip()}" can not be read')
        found.append(match.group().strip())
        place = match.end()
    words = _Words(iter(found))
    words.next()
    return words


def _added(words: _Words) -> Sum:
    sign = Fraction(1)
    if words.ahead == "-":
        words.next()
        sign = Fraction(-1)
    total = _multiplied(words).scaled(sign)
    while words.ahead in ("+", "-"):
        minus = words.next() == "-"
        total = total + _multiplied(words).scaled(Fraction(-1 if minus else 1))
    return total


def _multiplied(words: _Words) -> Sum:
    total = _single(words)
    while words.ahead == "*":
        words.next()
        total = total * _single(words)
    return total


def _single(words: _Words) -> Sum:
    word = words.next()
    if word.isdigit():
        return constant(Fraction(int(word)))
    if word == "(" or (word == "exp" and words.ahead == "("):
        if word == "exp":
            words.next()
        inner = _added(words)
        if words.next() != ")":
            raise RecurrenceError('")" is missing')
        try:
            return exponential(inner) if word == "exp" else inner
        except ValueError as error:
            raise RecurrenceError(str(error)) from error
    if not word or not (word[0].isalpha() or word[0] == "_"):
        raise RecurrenceError(f'"{word}" is no value')
    return symbol(word)
