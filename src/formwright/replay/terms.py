"""Values of the interpreter: exact symbolic terms.

A value is the number of a node in a table. Equal constructions share a node, so that cells
can be compared and hashed cheaply. :meth:`Terms.polynomial` gives the meaning: a multiset
of products of tokens, in which a lost, a doubled or a foreign term shows.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import prod
from typing import NamedTuple, cast

Token = tuple[str, tuple[object, ...]]
"""An input element ``("A", (0, 2))``, or an opaque function of polynomials."""

Monomial = tuple[Token, ...]
Factor = int | Fraction
Polynomial = dict[Monomial, Factor]
"""No zero coefficients; tokens of a monomial are sorted. Whole factors are ``int``."""

Frozen = tuple[tuple[Monomial, Factor], ...]
"""The items of a polynomial, sorted."""

INVERSE = "1/"
"""The function that a division is; no tensor is called so."""

FUNCTIONS = frozenset({"exp", "sqrt", "rsqrt", INVERSE, "max", "min"})
"""Names of opaque tokens: those of the language, and no tensor's."""

EXPANSION_LIMIT = 200_000
"""Products of sums that would give more terms than this are refused."""


SHOWN_TERMS = 4
"""Terms of a sum inside a function that a message shows."""


class ExpansionError(Exception):
    """A value has too many terms to be written out."""


class Node(NamedTuple):
    op: str
    args: tuple[int, ...]
    leaf: Token | Fraction | None = None


class Terms:
    """The table of values; one table serves all the runs of a search."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._polynomials: dict[int, Polynomial] = {}
        self.zero = self.literal(Fraction(0))

    def literal(self, value: Fraction) -> int:
        return self._intern(Node("literal", (), Fraction(value)))

    def token(self, name: str, index: tuple[int, ...]) -> int:
        """An element of an input tensor, or a mark such as an undefined cell."""
        return self._intern(Node("token", (), (name, index)))

    def op(self, name: str, args: tuple[int, ...]) -> int:
        """``+ - * / neg exp sqrt rsqrt max min`` of values."""
        if name == "+":
            if args[0] == self.zero:
                return args[1]
            if args[1] == self.zero:
                return args[0]
        if name == "*" and self.zero in args and self._plain(args):
            return self.zero
        return self._intern(Node(name, args))

    def polynomial(self, number: int) -> Polynomial:
        """The multiset of products that the value is (expanded once, kept)."""
        known = self._polynomials.get(number)
        if known is None:
            known = self._expand(number)
            self._polynomials[number] = known
        return known

    def _plain(self, args: tuple[int, ...]) -> bool:
        """Zero times an undefined value stays visible; times a known factor it is zero."""
        return all(not _undefined(self._nodes[a].leaf) for a in args)

    def _intern(self, node: Node) -> int:
        number = self._numbers.get(node)
        if number is None:
            number = len(self._nodes)
            self._nodes.append(node)
            self._numbers[node] = number
        return number

    def _expand(self, number: int) -> Polynomial:
        """Long chains of additions are walked in a loop, not by recursion."""
        total: Polynomial = {}
        pending: list[tuple[int, int]] = [(number, 1)]
        while pending:
            current, sign = pending.pop()
            node = self._nodes[current]
            if node.op == "+":
                pending += [(a, sign) for a in node.args]
            elif node.op == "-":
                pending += [(node.args[0], sign), (node.args[1], -sign)]
            elif node.op == "neg":
                pending.append((node.args[0], -sign))
            else:
                for monomial, factor in self._factor(node).items():
                    total[monomial] = total.get(monomial, 0) + sign * factor
        return {m: c for m, c in total.items() if c != 0}

    def _factor(self, node: Node) -> Polynomial:
        if isinstance(node.leaf, Fraction):
            whole = node.leaf.denominator == 1
            return {(): node.leaf.numerator if whole else node.leaf} if node.leaf else {}
        if node.leaf is not None:
            return {(node.leaf,): 1}
        parts = [self.polynomial(a) for a in node.args]
        if node.op == "*":
            return multiplied(parts)
        if node.op == "/":
            return multiplied([parts[0], _opaque(INVERSE, parts[1:])])
        return _opaque(node.op, parts)


def _undefined(leaf: Token | Fraction | None) -> bool:
    return isinstance(leaf, tuple) and leaf[0].startswith("?")


def multiplied(parts: list[Polynomial]) -> Polynomial:
    """The product of polynomials."""
    if len(parts) == 2 and len(parts[0]) == len(parts[1]) == 1:
        ((left, a),), ((right, b),) = parts[0].items(), parts[1].items()
        return {_merged(left, right): a * b}
    if prod(len(p) for p in parts) > EXPANSION_LIMIT:
        raise ExpansionError(f"a product has more than {EXPANSION_LIMIT} terms")
    total: Polynomial = {(): 1}
    for part in parts:
        grown: Polynomial = {}
        for left, a in total.items():
            for right, b in part.items():
                monomial = _merged(left, right)
                grown[monomial] = grown.get(monomial, 0) + a * b
        total = {m: c for m, c in grown.items() if c != 0}
    return total


def _merged(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right or (len(left) == len(right) == 1 and left[0][0] < right[0][0]):
        return left + right
    return tuple(sorted(left + right, key=_order))


def _opaque(name: str, parts: list[Polynomial]) -> Polynomial:
    """A function that is not expanded; ``max`` and ``min`` forget order and repeats."""
    frozen = [tuple(sorted(p.items(), key=lambda item: repr(item))) for p in parts]
    if name in ("max", "min"):
        return _extreme(name, {piece for part in frozen for piece in _flattened(name, part)})
    return {((name, tuple(frozen)),): 1}


def _extreme(name: str, pieces: set[Frozen]) -> Polynomial:
    """``max`` or ``min`` of different polynomials: of numbers one stays, one alone is itself."""
    numbers = [p for p in pieces if not p or (len(p) == 1 and not p[0][0])]
    if len(numbers) > 1:
        pick = max if name == "max" else min
        kept = pick(numbers, key=lambda p: p[0][1] if p else 0)
        pieces = (pieces - set(numbers)) | {kept}
    if len(pieces) == 1:
        return dict(next(iter(pieces)))
    return {((name, tuple(sorted(pieces, key=repr))),): 1}


def _flattened(name: str, part: Frozen) -> tuple[Frozen, ...]:
    if len(part) == 1 and part[0][1] == 1 and len(part[0][0]) == 1 and part[0][0][0][0] == name:
        return cast(tuple[Frozen, ...], part[0][0][0][1])
    return (part,)


def _order(token: Token) -> tuple[str, str]:
    return (token[0].lstrip("?"), repr(token[1]))


def show_token(token: Token) -> str:
    """``A[0,2]``; a cell that was read before it was written is called undefined."""
    name, index = token
    if name in FUNCTIONS:
        args = ", ".join(show_sum(cast(Frozen, part)) for part in index)
        return f"{name}({args})"
    shown = f"{name.lstrip('?')}[{','.join(str(i) for i in index)}]"
    return f"undefined {shown}" if name.startswith("?") else shown


def show_monomial(monomial: Monomial, factor: Factor = 1) -> str:
    """``A[0,2]*B[4,1]``, with a factor in front when it is not 1."""
    body = "*".join(show_token(t) for t in monomial)
    if not body:
        return str(factor)
    return body if factor == 1 else f"{factor}*{body}"


def show_sum(items: Frozen) -> str:
    """``X[0,1] - 2*max(X[0,0], X[0,1])``; long sums are cut."""
    shown = [show_monomial(m, max(c, -c)) for m, c in items[:SHOWN_TERMS]]
    signs = ["-" if c < 0 else "+" for _, c in items[:SHOWN_TERMS]]
    text = " ".join(f"{s} {t}" for s, t in zip(signs, shown, strict=True))
    more = " + …" if len(items) > SHOWN_TERMS else ""
    return (text.removeprefix("+ ") or "0") + more


def tokens_of(monomials: Iterable[Monomial]) -> frozenset[Token]:
    return frozenset(t for m in monomials for t in m)
