"""The cost as rows over one column, scaled to what a better design can still gain.

Rows are exact until they are given to HiGHS; what HiGHS tells apart is relative to their
largest coefficient. With a design of cost ``cap`` in hand, a cost above ``cap`` need only stay
above it and one below every design's least need not be told apart, so coefficients are cut to
what lies between. :attr:`Ceiling.resolution` is the difference in cost that may be lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm, log2

from formwright.ir.expr import Cond
from formwright.ir.template import CostBound
from formwright.milp.classes import Form
from formwright.milp.encode import Encoder
from formwright.milp.model import EncodingError, Exactly, Linear, Row, combined, largest_size

TOLERANCE = Fraction(1, 10**9)
"""HiGHS's, relative to the coefficients of a row."""
_SEPARATED = 10
"""Coefficients up to so many times the cost keep a relative error of 1e-8."""
_ROOM = Fraction(1, 10**6)
"""Relative room above the cost of the design in hand."""
_ONE = 1


@dataclass(frozen=True, slots=True)
class _Bound:
    """``form`` counts where the guard holds: ``holds`` is 1 there, ``None`` if always.
    Elsewhere other bounds cover all but ``room`` of it, if that is known."""

    form: Linear
    holds: Form | None
    room: Exactly | None


@dataclass(slots=True)
class Ceiling:
    """The cost is ``floor + scale * column``; :meth:`set` writes the rows that say so."""

    encoder: Encoder
    column: int
    bounds: list[_Bound]
    floor: Exactly
    scale: Fraction = Fraction(1)
    resolution: Fraction = Fraction(0)
    _first: int = 0
    _count: int = 0
    _families: dict[int, list[int]] = field(default_factory=dict)

    @staticmethod
    def of(encoder: Encoder) -> "Ceiling":
        """Encodes every bound of the cost that can count."""
        encoded = (_encoded(encoder, b) for b in encoder.problem.bounds)
        bounds = [b for b in encoded if b is not None]
        always = [b.form for b in bounds if b.holds is None]
        floor = max(f.low for f in always) if always else min(b.form.low for b in bounds)
        told = [
            b if b.holds is None else _Bound(b.form, b.holds, _room(encoder, b.form, always))
            for b in bounds
        ]
        ceiling = Ceiling(encoder, encoder.model.free(), told, floor)
        ceiling._first = len(encoder.model.rows)
        for column, family in enumerate(encoder.model.family):
            ceiling._families.setdefault(family, []).append(column)
        return ceiling

    def set(self, cap: Exactly | None) -> None:
        """Writes the rows, in place of those before, for costs up to ``cap``."""
        model = self.encoder.model
        self.scale = self._scaled(cap)
        limit = None if cap is None else cap + max(cap - self.floor, self.scale)
        rows: list[Row] = []
        size: Exactly = 0
        for bound in self.bounds:
            row = self._row(bound, limit)
            if row is None:
                continue
            terms, low = row
            if terms:
                size = max(size, largest_size(terms.values()))
            scaled = {c: v / self.scale for c, v in terms.items()}
            scaled[self.column] = Fraction(_ONE)
            rows.append(_floats(scaled, (low - self.floor) / self.scale))
        model.rows[self._first : self._first + self._count] = rows
        self._count = len(rows)
        model.lows[self.column] = 0
        if cap is not None:
            model.highs[self.column] = (cap - self.floor) / self.scale + _ROOM
        self.resolution = TOLERANCE * Fraction(max(size, self.scale))

    def sharp(self, value: Exactly) -> bool:
        """Whether rows for ``value`` would tell costs apart no better than the present ones."""
        return self.resolution <= TOLERANCE * _SEPARATED * (value - self.floor)

    def separates(self, value: Exactly) -> bool:
        """Whether a cost below ``value`` would have been told apart from it."""
        size = Fraction(value if value >= 0 else -value)
        if self.resolution <= TOLERANCE * _SEPARATED * size or value == self.floor:
            return True
        step = self._step()
        return step is not None and self.resolution * 2 * _SEPARATED < step

    def _step(self) -> Fraction | None:
        """A number that divides every difference of two costs, if one is known."""
        bottom = 1
        for bound in self.bounds:
            for column, value in bound.form.terms.items():
                if not self._is_choice(column):
                    return None
                bottom = lcm(bottom, value.denominator)
            bottom = lcm(bottom, bound.form.constant.denominator)
        return Fraction(1, bottom)

    def _is_choice(self, column: int) -> bool:
        model = self.encoder.model
        return model.lows[column] == model.highs[column] == 1

    def _scaled(self, cap: Exactly | None) -> Fraction:
        """A power of two near what may be gained, or near the middle of the costs."""
        if cap is not None and cap > self.floor:
            return _power(cap - self.floor)
        if cap is not None:
            return _power(largest_size((cap,)))
        high = max(b.form.high for b in self.bounds)
        gain = _power(largest_size((high - self.floor,)))
        if self.floor > 0:
            return min(gain, _two(round((_log(self.floor) + _log(high)) / 2)))
        return gain

    def _row(self, bound: _Bound, limit: Exactly | None) -> tuple[Form, Exactly] | None:
        """``cost + terms >= low``; ``None`` for a row that says nothing."""
        form = self._cut(bound.form, limit)
        if form.high <= self.floor:
            return None
        terms: Form = combined([(-_ONE, form.terms)])
        if bound.holds is None:
            return terms, form.constant
        room = form.high - self.floor
        if bound.room is not None:
            room = min(room, bound.room)
        if room <= 0:
            return None
        return combined([(_ONE, terms), (-room, bound.holds)]), form.constant - room

    def _cut(self, form: Linear, limit: Exactly | None) -> Linear:
        """``form`` with its choices counted from their least, cut at ``limit`` and the floor."""
        model = self.encoder.model
        constant = form.constant
        terms: Form = dict(form.terms)
        touched = {model.family[c] for c in terms}
        choices = [f for f in touched if all(map(self._is_choice, self._families[f]))]
        single = len(touched) == 1 and len(choices) == 1
        for family in choices:
            columns = self._families[family]
            values = [terms.get(c, 0) for c in columns]
            if single:
                values = [max(v + constant, self.floor) - constant for v in values]
            least = min(values)
            constant += least
            terms.update({c: v - least for c, v in zip(columns, values, strict=True)})
        shifted = model.linear(constant, {c: v for c, v in terms.items() if v != 0})
        if limit is not None and limit <= shifted.low:
            return Linear(limit, {}, limit, limit)
        if limit is None or not choices:
            return shifted
        most = limit - shifted.low
        chosen = {c for f in choices for c in self._families[f]}
        cut = {c: min(v, most) if c in chosen else v for c, v in shifted.terms.items()}
        return model.linear(constant, cut)


def _encoded(encoder: Encoder, bound: CostBound) -> _Bound | None:
    """``None`` for a bound whose guard never holds."""
    if bound.guard is None:
        return _Bound(encoder.linear(bound.value, True), None, None)
    classes = encoder.classes(bound.guard)
    if None in classes.values:
        raise EncodingError("a guard of the cost has no value at some combination")
    if True not in classes.values:
        return None
    holds = dict(zip(classes.values, classes.forms, strict=True))[True]
    if len(classes.values) == 1:
        return _Bound(encoder.linear(bound.value, True), None, None)
    try:
        return _Bound(encoder.linear(bound.value, True), holds, None)
    except EncodingError:
        # It may have no value where the guard fails: another bound stands there instead.
        other = next((b.value for b in encoder.problem.bounds if b.guard is None), None)
        if other is None:
            raise
        return _Bound(encoder.linear(Cond(bound.guard, bound.value, other), True), None, None)


def _room(encoder: Encoder, form: Linear, others: list[Linear]) -> Exactly | None:
    """How far ``form`` can exceed the least exceeded of ``others``."""
    return min((_difference(encoder, form, other) for other in others), default=None)


def _difference(encoder: Encoder, form: Linear, other: Linear) -> Exactly:
    """An upper bound of ``form - other``."""
    terms = combined([(_ONE, form.terms), (-_ONE, other.terms)])
    joint = encoder.model.linear(form.constant - other.constant, terms)
    return min(joint.high, form.high - other.low)


def _floats(terms: Mapping[int, Exactly], low: Exactly) -> Row:
    return Row(float(low), float("inf"), {c: float(v) for c, v in terms.items() if v != 0})


def _log(value: Exactly) -> float:
    """Base 2, of numbers past the range of floats too."""
    exact = Fraction(value)
    return log2(exact.numerator) - log2(exact.denominator)


def _power(value: Exactly) -> Fraction:
    return _two(round(_log(value)))


def _two(power: int) -> Fraction:
    return Fraction(2**power) if power >= 0 else Fraction(1, 2**-power)
