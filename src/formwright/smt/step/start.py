"""S14: the relation and the ranges hold at the start, for every token."""

from collections.abc import Iterator, Sequence

from formwright.ir.system import Index, Total
from formwright.smt.encode import number
from formwright.smt.goals import Goal, Query
from formwright.smt.step.known import Case, refuted_clause
from formwright.smt.step.setting import Kept, Setting
from formwright.smt.step.state import Initially, inside
from formwright.smt.step.stating import goal, unless_plain
from formwright.smt.step.totals import whole_sum
from formwright.smt.terms import conj, disj, le, negated


def initial_goals(setting: Setting) -> Iterator[Goal]:
    """S14, and that the tokens of the fine system stand for all of the coarse one's."""
    claim = "a token has no value for some parameters, or another range in the coarse system"
    yield goal("initial", "tokens", claim, lambda: _tokens(setting))
    for kept in setting.kept:

        def build(kept: Kept = kept) -> Sequence[Query]:
            case = setting.tokens()
            names = setting.names(Initially(setting.cells), kept.prefix)
            return unless_plain(case, refuted_clause(case, kept.forall, kept.holds, names))

        claim = f"{kept.name} does not hold at the start"
        yield goal("initial", kept.name, claim, build, kept.span)
    for total in setting.refinement.totals:

        def sums(total: Total = total) -> Sequence[Query]:
            names = setting.names(Initially(setting.cells))
            return whole_sum(total, names, setting.tokens())

        claim = f"the total {total.name} is wrong at the start"
        yield goal("initial", f"total {total.name}", claim, sums, total.span)


def _tokens(setting: Setting) -> list[Query]:
    """Tokens of one name have one range, and every token exists: else nothing would be shown."""
    names, queries = setting.names(), []
    coarse = {t.name: t for t in setting.refinement.coarse.tokens}
    case = Case(setting.cells, [])
    for token in setting.refinement.coarse.tokens:
        queries += _no_value(setting, token, case)
    for token in setting.refinement.fine.tokens:
        value = names[token.name]
        if token.name in coarse:
            apart = disj(
                conj((inside(a, value, names), negated(inside(b, value, names))))
                for a, b in ((coarse[token.name], token), (token, coarse[token.name]))
            )
            queries += unless_plain(_only_ranges(setting, token), apart)
        else:
            queries += _no_value(setting, token, case)
    return queries


def _no_value(setting: Setting, token: Index, case: Case) -> list[Query]:
    """That the range of ``token`` is empty; ``case`` learns that the token is in it."""
    names, queries = setting.names(), list[Query]()
    if token.lo is not None and token.hi is not None:
        lo, hi = (number(e, names, setting.atoms) for e in (token.lo, token.hi))
        queries = unless_plain(case.copy(), le(hi, lo))
    case.facts.append(inside(token, names[token.name], names))
    return queries


def _only_ranges(setting: Setting, token: Index) -> Case:
    """The fine tokens before ``token`` in their ranges, which its own may name."""
    case, names = Case(setting.cells, []), setting.names()
    for other in setting.refinement.fine.tokens:
        if other.name == token.name:
            break
        case.facts.append(inside(other, names[other.name], names))
    return case
